//! The best chunks that hold all of the terms.
//!
//! The rarest term leads; the others are sought at its ids. Where the bounds of the blocks at hand sum up to less than
//! the worst of the best so far, all of them are passed over.

use super::cursor::END;
use super::rank::Ranking;
use super::top::Top;
use crate::Result;

/// Puts the best chunks into `top`.
pub(super) fn rank(ranking: &mut Ranking<'_>, top: &mut Top<'_>) -> Result<()> {
    let terms = ranking.terms.len();
    if !ranking.is_complete || terms == 0 {
        return Ok(());
    }
    let mut by_count: Vec<usize> = (0..terms).collect();
    by_count.sort_by_key(|&at| ranking.terms[at].cursor.count);
    let (lead, others) = (by_count[0], &by_count[1..]);
    let mut frequencies = vec![0; terms];
    let mut chunk = 0u32;
    let mut last = None;
    let mut rounds = 0u32;
    loop {
        rounds += 1;
        if rounds.is_multiple_of(4096) {
            ranking.limits.check()?;
        }
        // Blocks that cannot hold one of the best are passed over before an id of them is read.
        if last.is_none_or(|last| chunk > last) {
            for at in 0..terms {
                ranking.cursor(at).skip_to(chunk)?;
                match ranking.cursor(at).block() {
                    Some(block) => chunk = chunk.max(block.least_id),
                    None => return Ok(()),
                }
            }
            let mut end = END - 1;
            let mut greatest = 0.0;
            for at in 0..terms {
                ranking.cursor(at).skip_to(chunk)?;
                let cursor = &ranking.terms[at].cursor;
                let Some(block) = cursor.block() else { return Ok(()) };
                end = end.min(block.last_id);
                greatest += ranking.greatest(at, cursor.bound_to(block.last_id));
            }
            if Ranking::is_below(greatest, top) {
                match end.checked_add(1) {
                    Some(next) if next < END => chunk = next,
                    _ => return Ok(()),
                }
                continue;
            }
            last = Some(end);
        }
        chunk = ranking.cursor(lead).seek(chunk)?;
        if chunk == END {
            return Ok(());
        }
        if last.is_some_and(|last| chunk > last) {
            continue;
        }
        let mut next = chunk;
        for &at in others {
            next = ranking.cursor(at).seek(chunk)?;
            if next != chunk {
                break;
            }
        }
        if next != chunk {
            if next == END {
                return Ok(());
            }
            chunk = next;
            continue;
        }
        for (at, frequency) in frequencies.iter_mut().enumerate() {
            *frequency = ranking.cursor(at).frequency()?;
        }
        let score = ranking.score(chunk, &frequencies)?;
        if frequencies.iter().all(|&frequency| frequency > 0) && score >= top.threshold() {
            top.push(score, chunk)?;
        }
        match chunk.checked_add(1) {
            Some(next) if next < END => chunk = next,
            _ => return Ok(()),
        }
    }
}
