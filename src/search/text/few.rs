//! The best chunks that hold any of a few rare terms.
//!
//! Lists of some hundred postings are a few blocks each, which reach over most of the ids: there is nothing to pass over.
//! So they are read whole, and beside each posting stands what it adds to a score at most, by its frequency and the least
//! length in its block. The lists are walked side by side, once, without a branch on which of them is ahead, since
//! nothing foretells it; where the sum may reach the worst of the best so far, the chunk is scored.

use super::cursor::END;
use super::rank::Ranking;
use super::top::Top;
use crate::Result;
use plica_format::postings::Bound;
use std::cell::Cell;

/// Postings of all terms together, at most.
const POSTINGS: u64 = 2048;
/// Frequencies that are told apart; all from the last on count as any.
const FREQUENCIES: usize = 16;

thread_local! {
    /// Space that is used again from search to search.
    static KEPT: Cell<Lists> = const { Cell::new(Lists::new()) };
}

/// The postings of all terms, one list behind another, each with [`END`] behind its last.
struct Lists {
    ids: Vec<u32>,
    frequencies: Vec<u32>,
    /// What each adds to a score at most.
    greatest: Vec<f32>,
}

impl Lists {
    const fn new() -> Self {
        Self { ids: Vec::new(), frequencies: Vec::new(), greatest: Vec::new() }
    }

    fn clear(&mut self) {
        self.ids.clear();
        self.frequencies.clear();
        self.greatest.clear();
    }
}

impl Default for Lists {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether the terms are few and rare.
pub(super) fn fits(ranking: &Ranking<'_>) -> bool {
    ranking.terms.len() <= 4 && ranking.terms.iter().map(|term| term.cursor.count).sum::<u64>() <= POSTINGS
}

/// Puts the best chunks into `top`, where the terms [fit](fits).
pub(super) fn rank(ranking: &mut Ranking<'_>, top: &mut Top<'_>) -> Result<()> {
    let mut lists = KEPT.take();
    let done = match ranking.terms.len() {
        0 => Ok(()),
        1 => walk::<1>(ranking, top, &mut lists),
        2 => walk::<2>(ranking, top, &mut lists),
        3 => walk::<3>(ranking, top, &mut lists),
        _ => walk::<4>(ranking, top, &mut lists),
    };
    KEPT.set(lists);
    done
}

/// Walks the lists of `TERMS` terms side by side.
fn walk<const TERMS: usize>(ranking: &mut Ranking<'_>, top: &mut Top<'_>, lists: &mut Lists) -> Result<()> {
    lists.clear();
    let mut at = [0usize; TERMS];
    for (term, at) in at.iter_mut().enumerate() {
        *at = lists.ids.len();
        read(ranking, term, lists)?;
    }
    let (ids, greatest) = (lists.ids.as_slice(), lists.greatest.as_slice());
    let mut least = Ranking::least(top);
    loop {
        let heads = at.map(|at| ids[at]);
        let chunk = heads.iter().fold(END, |least, &id| least.min(id));
        if chunk == END {
            return Ok(());
        }
        let mut sum = 0.0f32;
        for (at, id) in at.iter_mut().zip(heads) {
            let own = greatest[*at];
            sum += if id == chunk { own } else { 0.0 };
            *at += usize::from(id == chunk);
        }
        if sum < least {
            continue;
        }
        let mut found = [0u32; TERMS];
        for ((found, &at), id) in found.iter_mut().zip(&at).zip(heads) {
            if id == chunk {
                *found = lists.frequencies[at - 1];
            }
        }
        let score = ranking.score(chunk, &found)?;
        if score > 0.0 && score >= top.threshold() {
            top.push(score, chunk)?;
            least = Ranking::least(top);
        }
    }
}

/// Reads the list of a term, whole.
fn read(ranking: &mut Ranking<'_>, term: usize, lists: &mut Lists) -> Result<()> {
    let mut from = 0;
    while ranking.cursor(term).seek(from)? != END {
        let bound = ranking.cursor(term).block().and_then(|block| block.bound);
        let length = bound.map_or(0, Bound::least_length);
        let (ids, frequencies) = ranking.cursor(term).rest()?;
        let start = lists.frequencies.len();
        lists.ids.extend_from_slice(ids);
        lists.frequencies.extend_from_slice(frequencies);
        let last = ids.last().copied();
        // By frequency; below 0 where it was not needed yet.
        let mut by_frequency = [-1.0f32; FREQUENCIES];
        for &frequency in &lists.frequencies[start..] {
            let place = (frequency as usize).min(FREQUENCIES - 1);
            let mut greatest = by_frequency[place];
            if greatest < 0.0 {
                let frequency = if place == FREQUENCIES - 1 { u32::MAX } else { frequency };
                greatest = ranking.greatest(term, Some(Bound::one(frequency, length))) as f32;
                by_frequency[place] = greatest;
            }
            lists.greatest.push(greatest);
        }
        match last.and_then(|last| last.checked_add(1)) {
            Some(next) => from = next,
            None => break,
        }
    }
    lists.ids.push(END);
    lists.frequencies.push(0);
    lists.greatest.push(0.0);
    Ok(())
}
