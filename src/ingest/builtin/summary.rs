//! Extractive summaries: sentences of the units, chosen for what they name and tell, within the budget.
//!
//! Each unit has an even share of the budget; what one leaves goes to those behind it. A unit's first sentence is
//! kept, for it mostly says what the rest is about; then, up to a part of the unit, whichever sentence has the greatest
//! gain for its length. The gain of a sentence is the weight of its words that the summary does not have yet: rarer
//! words more, names twice. Sentences stay in reading order; one too long for what is left is cut at a word.

use super::descriptions::clean;
use super::lexicon::{CONNECTOR, FUNCTION};
use super::scan::Scan;
use std::collections::HashMap;

/// Beyond its first sentence a unit gives at most one byte in this many.
const SHRINK: usize = 5;
/// Sentences of one unit that are weighed in full.
const CANDIDATES: usize = 256;
/// Shortest piece of a sentence worth keeping, in bytes.
const PIECE_BYTES: usize = 40;

/// A sentence to choose from: its bytes and its words, by number.
struct Candidate {
    start: usize,
    end: usize,
    words: Vec<(u32, f32)>,
}

/// Folds units into at most `limit` bytes.
pub(super) fn fold(units: &[&str], limit: usize) -> String {
    let mut numbers: HashMap<u64, u32> = HashMap::new();
    let mut counts: Vec<f32> = Vec::new();
    let candidates: Vec<Vec<Candidate>> = units.iter().map(|u| read(u, &mut numbers, &mut counts)).collect();
    let mut covered = vec![false; counts.len()];
    let mut out = String::new();
    for (i, (unit, sentences)) in units.iter().zip(&candidates).enumerate() {
        let lead = sentences.first().map_or(0, |c| c.end - c.start + 1);
        let share = (limit - out.len()) / (units.len() - i);
        let share = share.min(lead.max(unit.len() / SHRINK));
        let chosen = choose(sentences, &counts, &mut covered, share);
        let mut left = share;
        for c in chosen {
            let text = clean(&unit[sentences[c].start..sentences[c].end], left.saturating_sub(1));
            if text.is_empty() {
                continue;
            }
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&text);
            left = left.saturating_sub(text.len() + 1);
        }
    }
    out
}

/// The sentences of a unit, their words numbered and counted.
fn read(unit: &str, numbers: &mut HashMap<u64, u32>, counts: &mut Vec<f32>) -> Vec<Candidate> {
    let scan = Scan::new(unit);
    let mut out = Vec::with_capacity(scan.sentences.len());
    for sentence in &scan.sentences {
        let mut words: Vec<(u32, f32)> = Vec::new();
        for (i, word) in scan.words_of(sentence).iter().enumerate() {
            if word.is(FUNCTION | CONNECTOR) {
                continue;
            }
            let next = numbers.len() as u32;
            let number = *numbers.entry(word.key).or_insert(next);
            if number == next {
                counts.push(0.0);
            }
            let emphasis: f32 = if word.is_capital() && i > 0 { 2.0 } else { 1.0 };
            counts[number as usize] += 1.0;
            words.push((number, emphasis));
        }
        words.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        words.dedup_by_key(|w| w.0);
        out.push(Candidate { start: sentence.start, end: sentence.end, words });
    }
    out
}

/// Places of the sentences to keep, in reading order; marks their words as covered.
fn choose(sentences: &[Candidate], counts: &[f32], covered: &mut [bool], share: usize) -> Vec<usize> {
    let value = |i: usize, covered: &[bool]| -> f32 {
        let c = &sentences[i];
        let fresh = c.words.iter().filter(|w| !covered[w.0 as usize]);
        let gain: f32 = fresh.map(|&(n, emphasis)| emphasis / counts[n as usize].sqrt()).sum();
        if i == 0 { f32::MAX } else { gain / ((c.end - c.start + PIECE_BYTES) as f32).sqrt() }
    };
    let mut open: Vec<usize> = (0..sentences.len()).collect();
    if open.len() > CANDIDATES {
        let worth: Vec<f32> = open.iter().map(|&i| value(i, covered)).collect();
        open.sort_by(|&a, &b| worth[b].total_cmp(&worth[a]).then(a.cmp(&b)));
        open.truncate(CANDIDATES);
        open.sort_unstable();
    }
    let (mut chosen, mut left) = (Vec::new(), share);
    while (left >= PIECE_BYTES || (left > 0 && chosen.is_empty())) && !open.is_empty() {
        let mut best = (0, f32::MIN);
        for (place, &i) in open.iter().enumerate() {
            let v = value(i, covered);
            if v > best.1 {
                best = (place, v);
            }
        }
        if best.1 <= 0.0 {
            break;
        }
        let i = open.remove(best.0);
        for w in &sentences[i].words {
            covered[w.0 as usize] = true;
        }
        chosen.push(i);
        left = left.saturating_sub(sentences[i].end - sentences[i].start + 1);
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lead_of_each_unit_and_then_what_is_new() {
        let filler = "It was so and so. They said so again, and so did we. ".repeat(8);
        let one = format!("Ada Quill kept the mill. {filler}Later she sold it to Edgar Vane of Hollin Hall. {filler}");
        assert_eq!(
            fold(&[&one, "The river froze. Nothing moved."], 170),
            "Ada Quill kept the mill. Later she sold it to Edgar Vane of Hollin Hall. The river froze."
        );
    }

    #[test]
    fn short_units_leave_room_to_long_ones() {
        assert_eq!(fold(&["", "One line."], 4096), "One line.");
        assert_eq!(fold(&[], 4096), "");
        assert_eq!(fold(&["One line."], 0), "");
    }
}
