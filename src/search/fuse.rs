//! From raw scores of three channels to one ranking.

/// A chunk that is ranked.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Which of the files that are searched it is in.
    pub(super) file: usize,
    /// Number of its document.
    pub(super) document: u32,
    /// Place in its document.
    pub(super) ordinal: u32,
    /// Internal id.
    pub(super) chunk: u32,
    /// Raw scores of text, memory and summary.
    pub(super) raw: [f64; 3],
    /// Whether a level-1 summary covers it.
    pub(super) covered: bool,
    /// z-scores of the three channels.
    pub(super) normalised: [f64; 3],
    /// The fused score.
    pub(super) score: f64,
}

impl Candidate {
    pub(super) fn new(document: u32, ordinal: u32, chunk: u32, raw: [f64; 3], covered: bool) -> Self {
        Self { file: 0, document, ordinal, chunk, raw, covered, normalised: [0.0; 3], score: 0.0 }
    }
}

/// Turns raw scores into z-scores over all candidates, and fuses them.
///
/// The candidates must come in the order that breaks ties (document id, then ordinal): sums are taken in it, so that
/// the same candidates give the same bits whatever the history of the file.
pub(super) fn fuse(candidates: &mut [Candidate], weights: [f64; 3]) {
    for (channel, weight) in weights.into_iter().enumerate() {
        // A chunk without a covering summary stays out of that channel's statistics.
        let known = |candidate: &&mut Candidate| channel < 2 || candidate.covered;
        let values: Vec<f64> = candidates
            .iter()
            .filter(|candidate| channel < 2 || candidate.covered)
            .map(|candidate| candidate.raw[channel])
            .collect();
        let Some((mean, deviation)) = moments(&values) else { continue };
        for candidate in candidates.iter_mut().filter(known) {
            candidate.normalised[channel] = (candidate.raw[channel] - mean) / deviation;
            candidate.score += weight * candidate.normalised[channel];
        }
    }
}

/// The best `count`, best first, of candidates in the order that breaks ties; the others are left out.
pub(super) fn best(mut candidates: Vec<Candidate>, count: usize) -> Vec<Candidate> {
    let count = count.min(candidates.len());
    let mut order: Vec<(f64, u32)> = candidates.iter().map(|candidate| candidate.score).zip(0..).collect();
    let worse = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if count > 0 && count < order.len() {
        order.select_nth_unstable_by(count - 1, worse);
    }
    order.truncate(count);
    order.sort_unstable_by(worse);
    let empty = Candidate::new(0, 0, 0, [0.0; 3], false);
    order.into_iter().map(|(_, at)| std::mem::replace(&mut candidates[at as usize], empty.clone())).collect()
}

/// Mean and population deviation; `None` where the values do not differ.
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    if values.is_empty() || most - least <= 1e-12 * most.abs().max(1.0) {
        return None;
    }
    let count = values.len() as f64;
    let mean = sum(values.iter().copied()) / count;
    let deviation = (sum(values.iter().map(|value| (value - mean) * (value - mean))) / count).sqrt();
    Some((mean, deviation))
}

/// A compensated sum (Neumaier), so that long sums of small scores lose nothing that shows.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0f64, 0.0f64);
    for value in values {
        let next = total + value;
        lost += if total.abs() >= value.abs() { (total - next) + value } else { (value - next) + total };
        total = next;
    }
    total + lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_that_do_not_differ_add_nothing() {
        let mut candidates = vec![
            Candidate::new(0, 0, 0, [2.0, 1.0, 5.0], true),
            Candidate::new(0, 1, 1, [1.0, 1.0, 0.0], false),
            Candidate::new(0, 2, 2, [3.0, 1.0, 5.0], true),
        ];
        fuse(&mut candidates, [1.0, 0.5, 0.3]);
        let candidates = best(candidates, 3);
        let order: Vec<u32> = candidates.iter().map(|c| c.ordinal).collect();
        assert_eq!(order, [2, 0, 1]);
        let deviation = (2.0f64 / 3.0).sqrt();
        assert!((candidates[0].score - 1.0 / deviation).abs() < 1e-12);
        assert_eq!(candidates[0].normalised[1..], [0.0, 0.0]);
    }

    #[test]
    fn a_compensated_sum_keeps_what_a_plain_one_loses() {
        assert_eq!(sum([1.0, 1e100, 1.0, -1e100].into_iter()), 2.0);
    }
}
