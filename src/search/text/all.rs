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

/// Chunks that hold all the terms that were asked so far, and how often each of those stands in them.
struct Common {
    ids: [u32; BLOCK_POSTINGS],
    count: usize,
    /// By term.
    frequencies: Vec<[u32; BLOCK_POSTINGS]>,
    /// Frequencies of the term at hand by place, where the ids lie close together.
    by_place: Box<[u32; NEAR]>,
}

/// Ids over this many places lie close together.
const NEAR: usize = 2048;

/// Puts the best chunks into `top`.
pub(super) fn rank(ranking: &mut Ranking<'_>, top: &mut Top<'_>) -> Result<()> {
    let terms = ranking.terms.len();
    if !ranking.is_complete || terms == 0 {
        return Ok(());
    }
    let mut order: Vec<usize> = (0..terms).collect();
    order.sort_by_key(|&at| ranking.terms[at].cursor.count);
    let mut common = Common {
        ids: [0; BLOCK_POSTINGS],
        count: 0,
        frequencies: vec![[0; BLOCK_POSTINGS]; terms],
        by_place: Box::new([0; NEAR]),
    };
    let mut scores = ([0.0f32; BLOCK_POSTINGS], [0.0f32; BLOCK_POSTINGS]);
    let mut found = vec![0; terms];
    let mut from = 0u32;
    let mut rounds = 0u32;
    loop {
        rounds += 1;
        if rounds.is_multiple_of(256) {
            ranking.limits.check()?;
        }
        let Some(last) = window(ranking, top, &mut from)? else { return Ok(()) };
        if let Some(last) = last {
            lead(ranking, &mut common, order[0], (from, last))?;
            for &term in &order[1..] {
                if common.count > 0 {
                    keep(ranking, &mut common, &order, term)?;
                }
            }
            if common.count > 0 {
                score(ranking, top, &common, &mut scores, &mut found)?;
            }
            from = last;
        }
        match from.checked_add(1) {
            Some(next) if next < END => from = next,
            _ => return Ok(()),
        }
    }
}

/// Moves `from` to where all terms have a block. Gives the end of the window there: up to it the blocks at hand reach;
/// `Some(None)` where they can be passed over, `from` being their end then; `None` where a term has no more.
fn window(ranking: &mut Ranking<'_>, top: &Top<'_>, from: &mut u32) -> Result<Option<Option<u32>>> {
    let terms = ranking.terms.len();
    for at in 0..terms {
        ranking.cursor(at).skip_to(*from)?;
        match ranking.cursor(at).block() {
            Some(block) => *from = block.least_id.max(*from),
            None => return Ok(None),
        }
    }
    let mut last = END - 1;
    let mut greatest = 0.0;
    for at in 0..terms {
        ranking.cursor(at).skip_to(*from)?;
        let cursor = &ranking.terms[at].cursor;
        let Some(block) = cursor.block() else { return Ok(None) };
        last = last.min(block.last_id);
        greatest += ranking.greatest(at, Some(block.bound.unwrap_or(plica_format::postings::Bound::ANY)));
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
    common.count = count;
    Ok(())
}

/// Keeps what another term has, too.
fn keep(ranking: &mut Ranking<'_>, common: &mut Common, order: &[usize], term: usize) -> Result<()> {
    let before = order.iter().take_while(|&&at| at != term).count();
    let last = common.ids[common.count - 1];
    if ((last - common.ids[0]) as usize) < NEAR {
        return keep_near(ranking, common, &order[..before], term, last);
    }
    let mut kept = 0;
    let mut at = 0;
    // Places of what is kept, among the ids so far and in the block at hand.
    let mut places = [(0u8, 0u8); BLOCK_POSTINGS];
    while at < common.count {
        let id = ranking.cursor(term).seek(common.ids[at])?;
        if id == END {
            break;
        }
        let first = kept;
        let ids = ranking.cursor(term).rest_of_ids()?;
        let mut there = 0;
        // Without a branch on which of the two is the lesser, since nothing foretells it.
        while let (Some(&own), Some(&other)) = (common.ids[..common.count].get(at), ids.get(there)) {
            places[kept.min(BLOCK_POSTINGS - 1)] = (at as u8, there as u8);
            kept += usize::from(own == other);
            at += usize::from(own <= other);
            there += usize::from(other <= own);
        }
        if kept > first {
            let (_, frequencies) = ranking.cursor(term).rest()?;
            for (place, &(_, there)) in places.iter().enumerate().take(kept).skip(first) {
                common.frequencies[term][place] = frequencies[usize::from(there)];
            }
        }
    }
    for (place, &(from, _)) in places.iter().enumerate().take(kept) {
        common.ids[place] = common.ids[usize::from(from)];
        for &earlier in &order[..before] {
            common.frequencies[earlier][place] = common.frequencies[earlier][usize::from(from)];
        }
    }
    common.count = kept;
    Ok(())
}

/// [`keep`], where the ids lie close together: those of the other term are marked by place, with their frequencies.
fn keep_near(ranking: &mut Ranking<'_>, common: &mut Common, before: &[usize], term: usize, last: u32) -> Result<()> {
    let first = common.ids[0];
    let mut marks = [0u64; NEAR / 64];
    let mut from = first;
    while ranking.cursor(term).seek(from)? <= last {
        let (ids, frequencies) = ranking.cursor(term).rest()?;
        for (&id, &frequency) in ids.iter().zip(frequencies) {
            if id > last {
                break;
            }
            let place = (id - first) as usize;
            marks[place / 64] |= 1 << (place % 64);
            common.by_place[place] = frequency;
        }
        match ids.last().and_then(|last| last.checked_add(1)) {
            Some(next) if next <= last => from = next,
            _ => break,
        }
    }
    let mut kept = 0;
    for at in 0..common.count {
        let id = common.ids[at];
        let place = (id - first) as usize;
        // Written in any case, and kept by counting: nothing foretells which ids are common.
        common.ids[kept] = id;
        common.frequencies[term][kept] = common.by_place[place];
        for &earlier in before {
            common.frequencies[earlier][kept] = common.frequencies[earlier][at];
        }
        kept += (marks[place / 64] >> (place % 64) & 1) as usize;
    }
    common.count = kept;
    Ok(())
}

/// Scores what all terms have.
fn score(
    ranking: &mut Ranking<'_>,
    top: &mut Top<'_>,
    common: &Common,
    (sums, scores): &mut ([f32; BLOCK_POSTINGS], [f32; BLOCK_POSTINGS]),
    found: &mut [u32],
) -> Result<()> {
    let count = common.count;
    sums[..count].fill(0.0);
    for (term, frequencies) in common.frequencies.iter().enumerate() {
        ranking.approximate(term, &common.ids[..count], &frequencies[..count], &mut scores[..count])?;
        sums[..count].iter_mut().zip(&scores[..count]).for_each(|(sum, score)| *sum += score);
    }
    for (at, &chunk) in common.ids.iter().enumerate().take(count) {
        if Ranking::is_below(f64::from(sums[at]), top) {
            continue;
        }
        for (found, frequencies) in found.iter_mut().zip(&common.frequencies) {
            *found = frequencies[at];
        }
        let score = ranking.score(chunk, found)?;
        if found.iter().all(|&frequency| frequency > 0) && score >= top.threshold() {
            top.push(score, chunk)?;
        }
    }
    Ok(())
}
