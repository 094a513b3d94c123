//! Ranking the chunks of many documents.
//!
//! Every channel is scored exactly over all chunks that match; the pool is the union of the best of each; raw scores of
//! the pool are turned into z-scores over the pool. With a pool of all chunks this is the ranking of one document, over
//! the collection.

use super::bm25::{average, idf};
use super::document::{self, Memory};
use super::fuse::{Candidate, fuse};
use super::query::Statistics;
use super::scope::Reading;
use crate::Result;
use crate::index::view::inconsistent;
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::key::{self, Field};
use std::cmp::Ordering;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Raw scores of the chunks that match in any channel, by chunk.
type Scores = BTreeMap<u32, [f64; 3]>;

/// The pool, best first.
pub(super) fn rank(reading: &Reading<'_>) -> Result<Vec<Candidate>> {
    let visible = Visible::new(reading);
    let scores = score(reading, &visible)?;
    let mut candidates = match reading.query.statistics {
        Statistics::Collection => in_documents(reading, scores)?,
        Statistics::Document => by_document(reading, scores)?,
    };
    let mut kept = Vec::with_capacity(candidates.len());
    for candidate in candidates.drain(..) {
        if visible.passes(reading, candidate.document)? {
            kept.push(candidate);
        }
    }
    let mut pool = pool(reading, &visible, kept)?;
    sort_by_document(reading, &mut pool)?;
    for candidate in &mut pool {
        let head = reading.head(candidate.document)?;
        candidate.covered = reading.is_covered(&head, candidate.ordinal)?;
    }
    fuse(&mut pool, reading.query.weights.array());
    Ok(pool)
}

/// Which documents readers see, and which the filter lets through.
struct Visible {
    /// Whether all chunks belong to documents that readers see, so that none needs to be asked.
    whole: bool,
    passing: std::cell::RefCell<HashMap<u32, bool>>,
}

impl Visible {
    fn new(reading: &Reading<'_>) -> Self {
        let state = reading.view.state;
        // What was removed is in no posting and no link.
        let whole = state.staged == 0;
        Self { whole, passing: Default::default() }
    }

    fn is_live(&self, reading: &Reading<'_>, document: u32) -> Result<bool> {
        Ok(self.whole || reading.head(document)?.state == DocumentState::Live)
    }

    fn passes(&self, reading: &Reading<'_>, document: u32) -> Result<bool> {
        if let Some(&known) = self.passing.borrow().get(&document) {
            return Ok(known);
        }
        let head = reading.head(document)?;
        let passes = head.state == DocumentState::Live && reading.passes(&head)?;
        self.passing.borrow_mut().insert(document, passes);
        Ok(passes)
    }
}

fn score(reading: &Reading<'_>, visible: &Visible) -> Result<Scores> {
    let mut scores = Scores::new();
    let totals = &reading.view.state.totals;
    let bm25 = reading.query.bm25;
    let live =
        |chunk: u32| -> Result<bool> { Ok(visible.whole || visible.is_live(reading, reading.place(chunk)?.document)?) };
    if reading.wants(0) {
        let average = average(totals.text_tokens, totals.chunks);
        for term in reading.terms {
            reading.query.limits.check()?;
            let mut found = Vec::new();
            for posting in reading.view.postings(Field::Text, term, 0, u32::MAX)? {
                if live(posting.id)? {
                    found.push(posting);
                }
            }
            let idf = idf(totals.chunks, found.len() as u64);
            for posting in found {
                let tokens = reading.place(posting.id)?.tokens;
                scores.entry(posting.id).or_default()[0] += bm25.score(idf, posting.frequency, tokens, average);
            }
        }
    }
    if reading.wants(1) {
        reading.query.limits.check()?;
        let mut fields: HashMap<u32, [f64; 3]> = HashMap::new();
        for (entity, entity_scores) in Memory::of_all(reading).scores(reading)? {
            for chunk in reading.view.set(&key::numbered(key::ENTITY_CHUNKS, entity))? {
                let best = fields.entry(chunk).or_default();
                for (best, score) in best.iter_mut().zip(entity_scores) {
                    *best = best.max(score);
                }
            }
        }
        for (chunk, [name, aliases, descriptions]) in fields {
            if live(chunk)? {
                scores.entry(chunk).or_default()[1] = name + aliases + descriptions;
            }
        }
    }
    if reading.wants(2) && totals.summaries > 0 {
        let average = average(totals.summary_tokens, totals.summaries);
        for term in reading.terms {
            reading.query.limits.check()?;
            let mut found = Vec::new();
            for posting in reading.view.postings(Field::Summary, term, 0, u32::MAX)? {
                if live(posting.id)? {
                    found.push(posting);
                }
            }
            let idf = idf(totals.summaries, found.len() as u64);
            for posting in found {
                let rows = reading.view.summary_rows(posting.id, posting.id)?;
                let tokens = rows.first().map(|row| row.tokens);
                let tokens =
                    tokens.ok_or_else(|| inconsistent(format!("summary of unit {} has no row", posting.id)))?;
                let score = bm25.score(idf, posting.frequency, tokens, average);
                let place = reading.place(posting.id)?;
                let head = reading.head(place.document)?;
                for ordinal in place.ordinal..place.ordinal.saturating_add(reading.fanout).min(head.chunks) {
                    let chunk = reading.snapshot.chunk_id(&head, ordinal)?;
                    scores.entry(chunk).or_default()[2] += score;
                }
            }
        }
    }
    Ok(scores)
}

/// Candidates from scores by chunk.
fn in_documents(reading: &Reading<'_>, scores: Scores) -> Result<Vec<Candidate>> {
    scores
        .into_iter()
        .map(|(chunk, raw)| {
            let place = reading.place(chunk)?;
            Ok(Candidate::new(place.document, place.ordinal, chunk, raw, false))
        })
        .collect()
}

/// Candidates scored with their own documents' statistics. A chunk matches with these exactly where it matches with the
/// collection's, so only the documents that `scores` names need to be scored again.
fn by_document(reading: &Reading<'_>, scores: Scores) -> Result<Vec<Candidate>> {
    let mut documents = BTreeSet::new();
    for &chunk in scores.keys() {
        documents.insert(reading.place(chunk)?.document);
    }
    let mut candidates = Vec::with_capacity(scores.len());
    for document in documents {
        let scored = document::score(reading, reading.head(document)?)?;
        candidates.extend(scored.into_iter().filter(|candidate| candidate.raw.iter().any(|&score| score != 0.0)));
    }
    Ok(candidates)
}

/// The union of the best `pool` chunks of each channel; where a channel matches fewer, chunks without a match fill it
/// up in reading order.
fn pool(reading: &Reading<'_>, visible: &Visible, candidates: Vec<Candidate>) -> Result<Vec<Candidate>> {
    let size = reading.query.pool.max(reading.query.offset.saturating_add(reading.query.k)).max(1);
    let mut chosen = BTreeSet::new();
    let mut fill = 0;
    for channel in (0..3).filter(|&channel| reading.wants(channel)) {
        let mut matching: Vec<usize> = (0..candidates.len()).filter(|&at| candidates[at].raw[channel] != 0.0).collect();
        fill = fill.max(size.saturating_sub(matching.len()));
        if matching.len() > size {
            matching.sort_by(|&a, &b| candidates[b].raw[channel].total_cmp(&candidates[a].raw[channel]));
            let least = candidates[matching[size - 1]].raw[channel];
            let better = matching.partition_point(|&at| candidates[at].raw[channel] > least);
            let equal = matching.partition_point(|&at| candidates[at].raw[channel] >= least);
            // Only where scores tie at the edge of the pool does the order of the documents matter.
            let mut tied: Vec<Candidate> = matching[better..equal].iter().map(|&at| candidates[at].clone()).collect();
            sort_by_document(reading, &mut tied)?;
            let keep: BTreeSet<u32> = tied.iter().take(size - better).map(|candidate| candidate.chunk).collect();
            matching.truncate(equal);
            matching.retain(|&at| candidates[at].raw[channel] > least || keep.contains(&candidates[at].chunk));
        }
        chosen.extend(matching);
    }
    // A channel that matches m < size chunks takes the first size − m others in reading order; of those the first
    // `fill` in all are enough, since a chunk that matches elsewhere is passed over by none of them.
    let mut pool = Vec::with_capacity(chosen.len());
    let by_chunk: HashMap<u32, usize> = candidates.iter().enumerate().map(|(at, c)| (c.chunk, at)).collect();
    if fill > 0 {
        let wanted: Vec<(usize, usize)> = (0..3)
            .filter(|&channel| reading.wants(channel))
            .map(|channel| {
                let matching = candidates.iter().filter(|candidate| candidate.raw[channel] != 0.0).count();
                (channel, size.saturating_sub(matching))
            })
            .collect();
        let mut left: Vec<(usize, usize)> = wanted.into_iter().filter(|&(_, left)| left > 0).collect();
        each_chunk(reading, visible, |head, ordinal, chunk| {
            let known = by_chunk.get(&chunk).copied();
            let mut taken = false;
            for (channel, left) in &mut left {
                let zero = known.is_none_or(|at| candidates[at].raw[*channel] == 0.0);
                if zero && *left > 0 {
                    *left -= 1;
                    taken = true;
                }
            }
            if taken {
                match known {
                    Some(at) => {
                        chosen.insert(at);
                    }
                    None => pool.push(Candidate::new(head.number, ordinal, chunk, [0.0; 3], false)),
                }
            }
            left.iter().any(|&(_, left)| left > 0)
        })?;
    }
    pool.extend(chosen.into_iter().map(|at| candidates[at].clone()));
    Ok(pool)
}

/// Hands the chunks of all documents that readers see and the filter lets through to `use_it`, in the order of document
/// id and ordinal, until it answers false.
fn each_chunk(
    reading: &Reading<'_>,
    visible: &Visible,
    mut use_it: impl FnMut(&DocumentHead, u32, u32) -> bool,
) -> Result<()> {
    for &number in reading.snapshot.ordered_documents()?.iter() {
        reading.query.limits.check()?;
        if !visible.passes(reading, number)? {
            continue;
        }
        let head = reading.head(number)?;
        let mut ordinal = 0;
        let mut chunk = head.first_chunk;
        // Chunks of other documents may lie between; every step is a chunk whose place was read.
        while ordinal < head.chunks {
            let place = reading.place(chunk)?;
            if place.document == number {
                if place.ordinal != ordinal {
                    return Err(inconsistent(format!("chunk {ordinal} of document {number} has another place")));
                }
                if !use_it(&head, ordinal, chunk) {
                    return Ok(());
                }
                ordinal += 1;
            }
            chunk = chunk.saturating_add(1);
        }
    }
    Ok(())
}

/// Sorts by document id, then ordinal: the order that breaks ties.
fn sort_by_document(reading: &Reading<'_>, candidates: &mut [Candidate]) -> Result<()> {
    let mut ids: HashMap<u32, Arc<DocumentHead>> = HashMap::new();
    for candidate in candidates.iter() {
        if let Entry::Vacant(place) = ids.entry(candidate.document) {
            place.insert(reading.head(candidate.document)?);
        }
    }
    let id = |candidate: &Candidate| ids.get(&candidate.document).map(|head| head.id.as_bytes());
    candidates.sort_by(|a, b| {
        let documents = if a.document == b.document { Ordering::Equal } else { id(a).cmp(&id(b)) };
        documents.then(a.ordinal.cmp(&b.ordinal))
    });
    Ok(())
}
