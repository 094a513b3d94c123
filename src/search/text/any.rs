//! The best chunks that hold any of the terms.
//!
//! The ids are walked in windows. In a window each term has a bound, from the blocks that it crosses: what it adds to a
//! score at most. A window whose bounds sum up to less than the worst of the best so far is passed over. In any other,
//! the terms with the least bounds that together cannot lift a chunk over it are *not essential*: a chunk that only
//! they stand in is not looked at. The essential ones are walked, and what is promising is looked up in the others
//! (MaxScore, on block bounds: Turtle and Flood 1995; Chakrabarti, Chaudhuri and Ganti 2011; Mallia et al. 2017).
//!
//! Sums made on the way are approximate; what comes near the best is scored exactly, in the order of the question.

use super::cursor::END;
use super::rank::Ranking;
use super::top::Top;
use crate::Result;
use plica_format::postings::BLOCK_POSTINGS;
use std::cell::Cell;

/// A window is at least so many ids.
const LEAST_WINDOW: u32 = 256;
/// Ids of an inner window, where several terms are essential.
const INNER: usize = 2048;
/// Terms whose space is kept from search to search.
const KEPT_TERMS: usize = 16;

thread_local! {
    /// Space that is used again from search to search: between two, sums, marks and frequencies are zero.
    static KEPT: Cell<Option<Box<Space>>> = const { Cell::new(None) };
}

/// Space that is used again from window to window.
struct Space {
    /// Approximate sums by place in the inner window.
    sums: [f32; INNER],
    /// Which places have one.
    marks: [u64; INNER / 64],
    /// Frequencies of each term by place in the inner window.
    frequencies: Vec<Box<[u32; INNER]>>,
    /// Approximate scores of a block.
    scores: [f32; BLOCK_POSTINGS],
    /// Frequencies of the terms in one chunk.
    found: Vec<u32>,
}

/// Terms of a window: those that are not essential, with what they add at most.
struct Window {
    last: u32,
    essential: Vec<usize>,
    /// Greatest first.
    others: Vec<(f64, usize)>,
    /// What the others add at most, all together.
    rest: f64,
}

/// Puts the best chunks into `top`.
pub(super) fn rank(ranking: &mut Ranking<'_>, top: &mut Top<'_>) -> Result<()> {
    let mut space = KEPT.take().unwrap_or_else(|| {
        Box::new(Space {
            sums: [0.0; INNER],
            marks: [0; INNER / 64],
            frequencies: Vec::new(),
            scores: [0.0; BLOCK_POSTINGS],
            found: Vec::new(),
        })
    });
    space.found.clear();
    space.found.resize(ranking.terms.len(), 0);
    walk(ranking, top, &mut space)?;
    // After an error it may hold numbers of that search, and is dropped. A question of many terms makes it large.
    space.frequencies.truncate(KEPT_TERMS);
    KEPT.set(Some(space));
    Ok(())
}

/// Walks all windows.
fn walk(ranking: &mut Ranking<'_>, top: &mut Top<'_>, space: &mut Space) -> Result<()> {
    let terms = ranking.terms.len();
    let mut bounds: Vec<(f64, usize)> = Vec::with_capacity(terms);
    let mut window = Window { last: 0, essential: Vec::new(), others: Vec::new(), rest: 0.0 };
    let mut first = 0u32;
    let mut rounds = 0u32;
    loop {
        rounds += 1;
        if rounds.is_multiple_of(256) {
            ranking.limits.check()?;
        }
        let mut nearest = END;
        for term in &mut ranking.terms {
            term.cursor.skip_to(first)?;
            if let Some(block) = term.cursor.block() {
                nearest = nearest.min(block.least_id.max(first));
            }
        }
        if nearest == END {
            return Ok(());
        }
        first = nearest;
        window.last = ranking.window(first, LEAST_WINDOW);
        bounds.clear();
        for (at, term) in ranking.terms.iter().enumerate() {
            bounds.push((ranking.greatest(at, term.cursor.bound_to(window.last)), at));
        }
        let all: f64 = bounds.iter().map(|bound| bound.0).sum();
        if !Ranking::is_below(all, top) {
            bounds.sort_by(|a, b| a.0.total_cmp(&b.0));
            window.essential.clear();
            window.others.clear();
            window.rest = 0.0;
            for &(bound, at) in &bounds {
                if window.essential.is_empty() && Ranking::is_below(window.rest + bound, top) {
                    window.rest += bound;
                    window.others.insert(0, (bound, at));
                } else if bound > 0.0 {
                    window.essential.push(at);
                }
            }
            match window.essential.as_slice() {
                &[only] => walk_one(ranking, top, space, &window, only, first)?,
                _ => walk_several(ranking, top, space, &window, first)?,
            }
        }
        match window.last.checked_add(1) {
            Some(next) if next < END => first = next,
            _ => return Ok(()),
        }
    }
}

/// Looks a promising chunk up in the terms that are not essential, and scores it if it may be among the best. `sum` is
/// what the essential terms give, `space.found` their frequencies.
fn complete(
    ranking: &mut Ranking<'_>,
    top: &mut Top<'_>,
    space: &mut Space,
    window: &Window,
    (chunk, mut sum): (u32, f64),
) -> Result<()> {
    let mut rest = window.rest;
    for &(bound, at) in &window.others {
        if Ranking::is_below(sum + rest, top) {
            return Ok(());
        }
        rest -= bound;
        let cursor = ranking.cursor(at);
        space.found[at] = if cursor.seek(chunk)? == chunk { cursor.frequency()? } else { 0 };
        if space.found[at] > 0 {
            let mut score = [0.0f32];
            ranking.approximate(at, &[chunk], &[space.found[at]], &mut score)?;
            sum += f64::from(score[0]);
        }
    }
    if Ranking::is_below(sum + rest.max(0.0), top) {
        return Ok(());
    }
    let score = ranking.score(chunk, &space.found)?;
    if score > 0.0 && score >= top.threshold() {
        top.push(score, chunk)?;
    }
    Ok(())
}

/// A window in which one term is essential.
fn walk_one(
    ranking: &mut Ranking<'_>,
    top: &mut Top<'_>,
    space: &mut Space,
    window: &Window,
    term: usize,
    first: u32,
) -> Result<()> {
    let mut from = first;
    let mut ids = [0u32; BLOCK_POSTINGS];
    let mut frequencies = [0u32; BLOCK_POSTINGS];
    loop {
        if ranking.cursor(term).seek(from)? > window.last {
            return Ok(());
        }
        let (block_ids, block_frequencies) = ranking.cursor(term).rest()?;
        let count = block_ids.partition_point(|&id| id <= window.last);
        ids[..count].copy_from_slice(&block_ids[..count]);
        frequencies[..count].copy_from_slice(&block_frequencies[..count]);
        let mut scores = space.scores;
        ranking.approximate(term, &ids[..count], &frequencies[..count], &mut scores[..count])?;
        for at in 0..count {
            let sum = f64::from(scores[at]);
            if !Ranking::is_below(sum + window.rest, top) {
                space.found.fill(0);
                space.found[term] = frequencies[at];
                complete(ranking, top, space, window, (ids[at], sum))?;
            }
        }
        match ids[..count].last().and_then(|last| last.checked_add(1)) {
            Some(next) if next <= window.last => from = next,
            _ => return Ok(()),
        }
    }
}

/// A window in which several terms are essential: their scores are summed up by place, an inner window at a time.
fn walk_several(
    ranking: &mut Ranking<'_>,
    top: &mut Top<'_>,
    space: &mut Space,
    window: &Window,
    first: u32,
) -> Result<()> {
    while space.frequencies.len() < ranking.terms.len() {
        space.frequencies.push(Box::new([0; INNER]));
    }
    let mut from = first;
    loop {
        let mut start = END;
        for &term in &window.essential {
            start = start.min(ranking.cursor(term).seek(from)?);
        }
        if start > window.last {
            return Ok(());
        }
        let last = start.saturating_add(INNER as u32 - 1).min(window.last);
        for &term in &window.essential {
            add(ranking, space, term, (start, last))?;
        }
        for word in 0..space.marks.len() {
            let mut marks = std::mem::take(&mut space.marks[word]);
            while marks != 0 {
                let place = word * 64 + marks.trailing_zeros() as usize;
                marks &= marks - 1;
                let sum = f64::from(std::mem::take(&mut space.sums[place]));
                let promising = !Ranking::is_below(sum + window.rest, top);
                if promising {
                    space.found.fill(0);
                }
                for &term in &window.essential {
                    let frequency = std::mem::take(&mut space.frequencies[term][place]);
                    if promising {
                        space.found[term] = frequency;
                    }
                }
                if promising {
                    complete(ranking, top, space, window, (start + place as u32, sum))?;
                }
            }
        }
        if last == window.last {
            return Ok(());
        }
        from = last + 1;
    }
}

/// Adds the scores of a term in the chunks from `start` to `last`.
fn add(ranking: &mut Ranking<'_>, space: &mut Space, term: usize, (start, last): (u32, u32)) -> Result<()> {
    let mut ids = [0u32; BLOCK_POSTINGS];
    let mut from = start;
    loop {
        if ranking.cursor(term).seek(from)? > last {
            return Ok(());
        }
        let (block_ids, block_frequencies) = ranking.cursor(term).rest()?;
        let count = block_ids.partition_point(|&id| id <= last);
        ids[..count].copy_from_slice(&block_ids[..count]);
        let mut frequencies = [0u32; BLOCK_POSTINGS];
        frequencies[..count].copy_from_slice(&block_frequencies[..count]);
        ranking.approximate(term, &ids[..count], &frequencies[..count], &mut space.scores[..count])?;
        let by_place = &mut space.frequencies[term];
        for ((&id, &frequency), &score) in ids.iter().zip(&frequencies).zip(&space.scores).take(count) {
            let place = (id - start) as usize;
            space.sums[place] += score;
            space.marks[place / 64] |= 1 << (place % 64);
            by_place[place] = frequency;
        }
        match ids[..count].last().and_then(|last| last.checked_add(1)) {
            Some(next) if next <= last => from = next,
            _ => return Ok(()),
        }
    }
}
