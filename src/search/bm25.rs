//! BM25, as every channel computes it.

/// The two constants of BM25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// How soon repeated terms stop to count: 1.5 by default.
    pub k1: f64,
    /// How much a unit's length counts: 0.75 by default.
    pub b: f64,
}

impl Default for Bm25 {
    fn default() -> Self {
        Self { k1: 1.5, b: 0.75 }
    }
}

impl Bm25 {
    /// What one term adds to the score of a unit: `frequency` times in `length` tokens, where `average` is the mean
    /// length of the units.
    pub fn score(&self, idf: f64, frequency: u32, length: u32, average: f64) -> f64 {
        self.score_by_norm(idf, frequency, self.norm(length, average))
    }

    /// What the length of a unit counts in the score of any term.
    pub(crate) fn norm(&self, length: u32, average: f64) -> f64 {
        self.k1 * (1.0 - self.b + self.b * f64::from(length) / average)
    }

    /// [`Bm25::score`] in a unit with this [`Bm25::norm`].
    pub(crate) fn score_by_norm(&self, idf: f64, frequency: u32, norm: f64) -> f64 {
        let frequency = f64::from(frequency);
        idf * frequency * (self.k1 + 1.0) / (frequency + norm)
    }
}

/// Inverse document frequency: `ln(1 + (N − n + 0.5) / (n + 0.5))` for a term in `with` of `units` units.
pub fn idf(units: u64, with: u64) -> f64 {
    let (units, with) = (units as f64, with as f64);
    libm::log(1.0 + (units - with + 0.5) / (with + 0.5))
}

/// Mean length, or 1 where there is nothing to divide.
pub(crate) fn average(tokens: u64, units: u64) -> f64 {
    if tokens == 0 || units == 0 { 1.0 } else { tokens as f64 / units as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_scores_as_worked_out_by_hand() {
        // 2 of 10 units, frequency 3, length twice the average.
        let idf = idf(10, 2);
        assert!((idf - (1.0f64 + 8.5 / 2.5).ln()).abs() < 1e-15);
        let score = Bm25::default().score(idf, 3, 20, 10.0);
        assert!((score - idf * 3.0 * 2.5 / (3.0 + 1.5 * (0.25 + 0.75 * 2.0))).abs() < 1e-15);
    }

    #[test]
    fn a_term_in_every_unit_still_scores_above_zero() {
        assert!(idf(5, 5) > 0.0);
    }
}
