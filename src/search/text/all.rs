//! The best chunks that hold all of the terms.
//!
//! The rarest term leads, a block of its ids at a time; of these each other term keeps those that it has, too. Where the
//! bounds of the blocks at hand sum up to less than the worst of the best so far, all of them are passed over. As in
//! [`super::any`], sums are approximate until a chunk comes near the best.

use super::cursor::END;
use super::rank::Ranking;
use super::top::Top;
use crate::Result;
use plica_format::postings::BLOCK_POSTINGS;
use std::cell::Cell;

/// Ids over at most this many places lie close together.
const NEAR: usize = 4096;
/// Terms whose space is kept from search to search.
const KEPT_TERMS: usize = 16;

thread_local! {
    /// Space that is used again from search to search.
    static KEPT: Cell<Option<Box<Common>>> = const { Cell::new(None) };
}

/// Chunks of the leading term that all the terms hold that were asked so far, and how often those stand in them.
struct Common {
    /// Ids of the leading term in the window.
    ids: [u32; BLOCK_POSTINGS],
    /// Places in `ids` of those that all have, ascending.
    places: [u8; BLOCK_POSTINGS],
    /// How many of those there are.
    count: usize,
    /// By term and place in `ids`; of the last term alone, also where the term is not: 0.
    frequencies: Vec<[u32; BLOCK_POSTINGS]>,
    /// Frequencies of the term at hand by id less the first, where the ids lie close together.
    near: [u32; NEAR],
    /// Ids of those that all have, their frequencies of one term, its scores and the sums of all.
    found_ids: [u32; BLOCK_POSTINGS],
    found: [u32; BLOCK_POSTINGS],
    scores: [f32; BLOCK_POSTINGS],
    sums: [f32; BLOCK_POSTINGS],
    /// Frequencies of the terms in one chunk.
    of_chunk: Vec<u32>,
}

impl Common {
    fn new() -> Box<Self> {
        Box::new(Self {
            ids: [0; BLOCK_POSTINGS],
            places: [0; BLOCK_POSTINGS],
            count: 0,
            frequencies: Vec::new(),
            near: [0; NEAR],
            found_ids: [0; BLOCK_POSTINGS],
            found: [0; BLOCK_POSTINGS],
            scores: [0.0; BLOCK_POSTINGS],
            sums: [0.0; BLOCK_POSTINGS],
            of_chunk: Vec::new(),
        })
    }
}

/// Puts the best chunks into `top`.
pub(super) fn rank(ranking: &mut Ranking<'_>, top: &mut Top<'_>) -> Result<()> {
    let terms = ranking.terms.len();
    if !ranking.is_complete || terms == 0 {
        return Ok(());
    }
    let mut common = KEPT.take().unwrap_or_else(Common::new);
    common.frequencies.resize(terms, [0; BLOCK_POSTINGS]);
    common.of_chunk.clear();
    common.of_chunk.resize(terms, 0);
    let done = walk(ranking, top, &mut common);
    common.frequencies.truncate(KEPT_TERMS);
    KEPT.set(Some(common));
    done
}

/// Walks all windows.
fn walk(ranking: &mut Ranking<'_>, top: &mut Top<'_>, common: &mut Common) -> Result<()> {
    let mut order: Vec<usize> = (0..ranking.terms.len()).collect();
    order.sort_by_key(|&at| ranking.terms[at].cursor.count);
    let mut from = 0u32;
    let mut rounds = 0u32;
    loop {
        rounds += 1;
        if rounds.is_multiple_of(256) {
            ranking.limits.check()?;
        }
        let Some(last) = window(ranking, top, &order, &mut from)? else { return Ok(()) };
        if let Some(last) = last {
            lead(ranking, common, order[0], (from, last))?;
            for &term in &order[1..] {
                if common.count > 0 {
                    keep(ranking, common, term)?;
                }
            }
            if common.count > 0 {
                score(ranking, top, common)?;
            }
            from = last;
        }
        match from.checked_add(1) {
            Some(next) if next < END => from = next,
            _ => return Ok(()),
        }
    }
}

/// Moves `from` to where all terms have a block. Gives the end of the window there, which is the end of the leading
/// term's block, or before where another term's list at hand ends; `Some(None)` where the window can be passed over,
/// `from` being its end then; `None` where a term has no more.
fn window(ranking: &mut Ranking<'_>, top: &Top<'_>, order: &[usize], from: &mut u32) -> Result<Option<Option<u32>>> {
    for &at in order {
        let cursor = ranking.cursor(at);
        cursor.skip_to(*from)?;
        match cursor.block() {
            Some(block) => *from = block.least_id.max(*from),
            None => return Ok(None),
        }
    }
    let mut last = END - 1;
    for (place, &at) in order.iter().enumerate() {
        let cursor = ranking.cursor(at);
        cursor.skip_to(*from)?;
        let Some(block) = cursor.block() else { return Ok(None) };
        last = last.min(if place == 0 { block.last_id } else { cursor.reach() });
    }
    let mut greatest = 0.0;
    for (at, term) in ranking.terms.iter().enumerate() {
        match term.cursor.bound_to(last) {
            Some(bound) => greatest += ranking.greatest(at, Some(bound)),
            None => {
                // A term has nothing in the window.
                *from = last;
                return Ok(Some(None));
            }
        }
    }
    if Ranking::is_below(greatest, top) {
        *from = last;
        return Ok(Some(None));
    }
    Ok(Some(Some(last)))
}

/// Takes the ids of the leading term from the first to the last of a window, which ends with its block or before.
fn lead(ranking: &mut Ranking<'_>, common: &mut Common, term: usize, (first, last): (u32, u32)) -> Result<()> {
    common.count = 0;
    if ranking.cursor(term).seek(first)? > last {
        return Ok(());
    }
    let (ids, frequencies) = ranking.cursor(term).rest()?;
    let count = ids.partition_point(|&id| id <= last);
    common.ids[..count].copy_from_slice(&ids[..count]);
    common.frequencies[term][..count].copy_from_slice(&frequencies[..count]);
    (0u8..).zip(&mut common.places[..count]).for_each(|(at, place)| *place = at);
    common.count = count;
    Ok(())
}

/// Keeps what another term has, too.
fn keep(ranking: &mut Ranking<'_>, common: &mut Common, term: usize) -> Result<()> {
    let of = |place: u8| common.ids[usize::from(place) % BLOCK_POSTINGS];
    let (first, last) = (of(common.places[0]), of(common.places[common.count - 1]));
    if ((last - first) as usize) < NEAR {
        keep_near(ranking, common, term, (first, last))
    } else {
        keep_far(ranking, common, term)
    }
}

/// [`keep`], where the ids lie close together: the frequencies of the other term are laid out by id.
fn keep_near(ranking: &mut Ranking<'_>, common: &mut Common, term: usize, (first, last): (u32, u32)) -> Result<()> {
    common.near[..=(last - first) as usize].fill(0);
    let mut from = first;
    while ranking.cursor(term).seek(from)? <= last {
        let (ids, frequencies) = ranking.cursor(term).rest()?;
        let within = if ids.last().is_some_and(|&behind| behind <= last) {
            ids.len()
        } else {
            ids.partition_point(|&id| id <= last)
        };
        for (&id, &frequency) in ids[..within].iter().zip(frequencies) {
            common.near[(id - first) as usize % NEAR] = frequency;
        }
        match ids.last().and_then(|last| last.checked_add(1)) {
            Some(next) if next <= last => from = next,
            _ => break,
        }
    }
    let Common { ids, places, frequencies, near, count, .. } = common;
    let frequencies = &mut frequencies[term];
    let mut kept = 0;
    for at in 0..*count {
        let place = usize::from(places[at]) % BLOCK_POSTINGS;
        let frequency = near[ids[place].wrapping_sub(first) as usize % NEAR];
        frequencies[place] = frequency;
        // Written in any case, and kept by counting: nothing foretells which ids are common.
        places[kept] = place as u8;
        kept += usize::from(frequency != 0);
    }
    *count = kept;
    Ok(())
}

/// [`keep`], where the ids lie far apart.
fn keep_far(ranking: &mut Ranking<'_>, common: &mut Common, term: usize) -> Result<()> {
    let mut kept = 0;
    let mut at = 0;
    // Places in the block at hand of what is kept.
    let mut there_of = [0u8; BLOCK_POSTINGS];
    while at < common.count {
        let id = ranking.cursor(term).seek(common.ids[usize::from(common.places[at])])?;
        if id == END {
            break;
        }
        let first = kept;
        let ids = ranking.cursor(term).rest_of_ids()?;
        let mut there = 0;
        // Without a branch on which of the two is the lesser, since nothing foretells it.
        while at < common.count && there < ids.len() {
            let place = common.places[at];
            let (own, other) = (common.ids[usize::from(place) % BLOCK_POSTINGS], ids[there]);
            // Of what is looked at, no more was kept.
            common.places[kept] = place;
            there_of[kept] = there as u8;
            kept += usize::from(own == other);
            at += usize::from(own <= other);
            there += usize::from(other <= own);
        }
        if kept > first {
            let (_, frequencies) = ranking.cursor(term).rest()?;
            for kept in first..kept {
                common.frequencies[term][usize::from(common.places[kept])] = frequencies[usize::from(there_of[kept])];
            }
        }
    }
    common.count = kept;
    Ok(())
}

/// Scores what all terms have.
fn score(ranking: &mut Ranking<'_>, top: &mut Top<'_>, common: &mut Common) -> Result<()> {
    let count = common.count;
    let places = &common.places[..count];
    for (id, &place) in common.found_ids.iter_mut().zip(places) {
        *id = common.ids[usize::from(place) % BLOCK_POSTINGS];
    }
    common.sums[..count].fill(0.0);
    for (term, frequencies) in common.frequencies.iter().enumerate() {
        for (found, &place) in common.found.iter_mut().zip(places) {
            *found = frequencies[usize::from(place) % BLOCK_POSTINGS];
        }
        let scores = &mut common.scores[..count];
        ranking.approximate(term, &common.found_ids[..count], &common.found[..count], scores)?;
        common.sums[..count].iter_mut().zip(scores).for_each(|(sum, score)| *sum += *score);
    }
    for (at, &place) in places.iter().enumerate() {
        if Ranking::is_below(f64::from(common.sums[at]), top) {
            continue;
        }
        for (found, frequencies) in common.of_chunk.iter_mut().zip(&common.frequencies) {
            *found = frequencies[usize::from(place)];
        }
        let chunk = common.found_ids[at];
        let score = ranking.score(chunk, &common.of_chunk)?;
        if common.of_chunk.iter().all(|&frequency| frequency > 0) && score >= top.threshold() {
            top.push(score, chunk)?;
        }
    }
    Ok(())
}
