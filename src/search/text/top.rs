//! The best chunks so far.

use crate::Result;
use std::cmp::Ordering;

/// What tells apart chunks of one score: the id of the document, then the ordinal.
pub(super) trait Order {
    /// How `a` and `b` follow one another where their scores are equal.
    fn compare(&self, a: u32, b: u32) -> Result<Ordering>;
    /// Whether a chunk may be among the hits at all.
    fn accepts(&self, chunk: u32) -> Result<bool>;
}

/// The best `k` chunks so far: a heap whose first is the worst of them.
pub(super) struct Top<'a> {
    k: usize,
    order: &'a dyn Order,
    heap: Vec<(f64, u32)>,
}

impl<'a> Top<'a> {
    /// Room for the best `k`, at least one.
    pub(super) fn new(k: usize, order: &'a dyn Order) -> Self {
        Self { k: k.max(1), order, heap: Vec::new() }
    }

    /// What a score must reach to be of use: less is worse than all that are kept.
    pub(super) fn threshold(&self) -> f64 {
        match self.heap.first() {
            Some(worst) if self.heap.len() == self.k => worst.0,
            _ => 0.0,
        }
    }

    /// Whether the first comes after the second.
    fn is_worse(&self, a: (f64, u32), b: (f64, u32)) -> Result<bool> {
        Ok(match a.0.total_cmp(&b.0) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => self.order.compare(a.1, b.1)? == Ordering::Greater,
        })
    }

    /// Keeps a chunk if it is among the best.
    pub(super) fn push(&mut self, score: f64, chunk: u32) -> Result<()> {
        let new = (score, chunk);
        let is_full = self.heap.len() == self.k;
        if let Some(&worst) = self.heap.first().filter(|_| is_full)
            && !self.is_worse(worst, new)?
        {
            return Ok(());
        }
        if !self.order.accepts(chunk)? {
            return Ok(());
        }
        if is_full {
            if let Some(worst) = self.heap.first_mut() {
                *worst = new;
            }
            self.sink()
        } else {
            self.heap.push(new);
            self.rise()
        }
    }

    /// Moves the last up to its place.
    fn rise(&mut self) -> Result<()> {
        let mut at = self.heap.len() - 1;
        while at > 0 {
            let above = (at - 1) / 2;
            if !self.is_worse(self.heap[at], self.heap[above])? {
                break;
            }
            self.heap.swap(at, above);
            at = above;
        }
        Ok(())
    }

    /// Moves the first down to its place.
    fn sink(&mut self) -> Result<()> {
        let mut at = 0;
        loop {
            let mut least = at;
            for below in [2 * at + 1, 2 * at + 2] {
                if below < self.heap.len() && self.is_worse(self.heap[below], self.heap[least])? {
                    least = below;
                }
            }
            if least == at {
                return Ok(());
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// The chunks, best first.
    pub(super) fn into_sorted(mut self) -> Result<Vec<(f64, u32)>> {
        let mut out = Vec::with_capacity(self.heap.len());
        while let Some(&worst) = self.heap.first() {
            out.push(worst);
            let last = self.heap.pop().unwrap_or(worst);
            if let Some(first) = self.heap.first_mut() {
                *first = last;
            }
            self.sink()?;
        }
        out.reverse();
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Chunks of one score follow by the rest of their number by 7; of the multiples of 5 none is accepted.
    struct Strange;

    impl Order for Strange {
        fn compare(&self, a: u32, b: u32) -> Result<Ordering> {
            Ok((a % 7, a).cmp(&(b % 7, b)))
        }

        fn accepts(&self, chunk: u32) -> Result<bool> {
            Ok(!chunk.is_multiple_of(5))
        }
    }

    proptest! {
        #[test]
        fn the_best_are_those_of_a_sort(scores in prop::collection::vec(1u8..6, 0..80), k in 1usize..20) {
            let mut top = Top::new(k, &Strange);
            for (chunk, &score) in scores.iter().enumerate() {
                top.push(f64::from(score), chunk as u32).unwrap();
            }
            let mut all: Vec<(f64, u32)> =
                scores.iter().enumerate().map(|(chunk, &score)| (f64::from(score), chunk as u32)).collect();
            all.retain(|&(_, chunk)| !chunk.is_multiple_of(5));
            all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1 % 7, a.1).cmp(&(b.1 % 7, b.1))));
            all.truncate(k);
            prop_assert_eq!(top.into_sorted().unwrap(), all);
        }
    }
}
