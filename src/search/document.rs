//! Ranking the chunks of one document, all of them, with the document's own statistics.

use super::bm25::{average, idf};
use super::fuse::{Candidate, fuse};
use super::scope::Reading;
use crate::Result;
use plica_format::chunk::Place;
use plica_format::document::DocumentHead;
use plica_format::key::{self, Field, INDEX_SCOPE};
use plica_format::page::MemoryScope;
use plica_format::postings::Posting;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// The chunks of a document by ordinal.
pub(super) struct Units {
    pub(super) head: Arc<DocumentHead>,
    /// Places by ordinal.
    places: Vec<Place>,
}

impl Units {
    pub(super) fn load(reading: &Reading<'_>, head: Arc<DocumentHead>) -> Result<Self> {
        if head.chunks == 0 {
            return Ok(Self { head, places: Vec::new() });
        }
        let mut places = reading.view.places(head.first_chunk, head.last_chunk)?;
        places.retain(|place| place.document == head.number);
        let in_order = places.len() == head.chunks as usize
            && places.iter().zip(0..).all(|(place, ordinal): (&Place, u32)| place.ordinal == ordinal);
        if !in_order {
            return Err(crate::index::view::inconsistent(format!(
                "document {} has {} chunks, and other places",
                head.number, head.chunks
            )));
        }
        Ok(Self { head, places })
    }

    /// The ordinal of a chunk, where it is one of this document.
    fn ordinal(&self, chunk: u32) -> Option<usize> {
        let first = self.head.first_chunk;
        let guess = chunk.checked_sub(first)? as usize;
        if self.places.get(guess).is_some_and(|place| place.chunk == chunk) {
            return Some(guess);
        }
        self.places.binary_search_by_key(&chunk, |place| place.chunk).ok()
    }
}

/// All chunks of a document, best first.
pub(super) fn rank(reading: &Reading<'_>, head: Arc<DocumentHead>) -> Result<Vec<Candidate>> {
    let mut candidates = score(reading, head)?;
    fuse(&mut candidates, reading.query.weights.array());
    Ok(candidates)
}

/// All chunks of a document with their raw scores, in reading order.
pub(super) fn score(reading: &Reading<'_>, head: Arc<DocumentHead>) -> Result<Vec<Candidate>> {
    reading.query.limits.check()?;
    let units = Units::load(reading, head)?;
    let count = units.places.len();
    let zeros = vec![0.0; count];
    let text = if reading.wants(0) { text_scores(reading, &units)? } else { zeros.clone() };
    let memory = if reading.wants(1) { memory_scores(reading, &units)? } else { zeros.clone() };
    let (summary, covered) = summary_scores(reading, &units)?;
    let candidates = units.places.iter().enumerate().map(|(at, place)| {
        let raw = [text[at], memory[at], summary[at]];
        Candidate::new(units.head.number, place.ordinal, place.chunk, raw, covered[at])
    });
    Ok(candidates.collect())
}

fn text_scores(reading: &Reading<'_>, units: &Units) -> Result<Vec<f64>> {
    let mut scores = vec![0.0; units.places.len()];
    let head = &units.head;
    let average = average(head.text_tokens, u64::from(head.chunks));
    let mut cache: HashMap<&str, Vec<(usize, u32)>> = HashMap::new();
    for term in reading.terms {
        if !cache.contains_key(term.as_str()) {
            let postings = reading.view.postings(Field::Text, term, head.first_chunk, head.last_chunk)?;
            let found = postings
                .into_iter()
                .filter_map(|posting| Some((units.ordinal(posting.id)?, posting.frequency)))
                .collect();
            cache.insert(term, found);
        }
        let Some(found) = cache.get(term.as_str()) else { continue };
        let idf = idf(u64::from(head.chunks), found.len() as u64);
        for &(at, frequency) in found {
            if let (Some(score), Some(place)) = (scores.get_mut(at), units.places.get(at)) {
                *score += reading.query.bm25.score(idf, frequency, place.tokens, average);
            }
        }
    }
    Ok(scores)
}

/// The records of a document's memory, as one field after another is scored.
pub(super) struct Memory {
    /// Range of entity ids to look at.
    range: (u32, u32),
    /// Records, and tokens of each field.
    records: u64,
    tokens: [u64; 3],
    members: Members,
}

enum Members {
    /// All ids of the range.
    All,
    /// Those whose row has this scope.
    Scope(u32),
    /// These.
    These(HashSet<u32>),
}

impl Memory {
    /// The memory that a document is scored with: its own; or, of an index-wide memory, the records linked to it.
    pub(super) fn of(reading: &Reading<'_>, head: &DocumentHead) -> Result<Self> {
        if reading.snapshot.parameters().memory == MemoryScope::Index {
            let linked = reading.view.set(&key::numbered(key::DOCUMENT_ENTITIES, head.number))?;
            let mut tokens = [0u64; 3];
            for &entity in &linked {
                for (total, tokens) in tokens.iter_mut().zip(reading.row(entity)?.tokens) {
                    *total += u64::from(tokens);
                }
            }
            let range = (linked.first().copied().unwrap_or(0), linked.last().copied().unwrap_or(0));
            let records = linked.len() as u64;
            return Ok(Self { range, records, tokens, members: Members::These(linked.into_iter().collect()) });
        }
        let range = (head.first_entity, head.last_entity);
        let records = u64::from(head.entities);
        let whole = u64::from(range.1 - range.0) + 1 == records;
        let members = if whole { Members::All } else { Members::Scope(head.number) };
        Ok(Self { range, records, tokens: head.entity_tokens, members })
    }

    /// The memory of all documents that readers see.
    pub(super) fn of_all(reading: &Reading<'_>) -> Self {
        let state = reading.view.state;
        Self {
            range: (0, u32::MAX),
            records: state.totals.entities,
            tokens: state.totals.entity_tokens,
            members: if state.staged == 0 { Members::All } else { Members::Scope(INDEX_SCOPE) },
        }
    }

    fn holds(&self, reading: &Reading<'_>, entity: u32) -> Result<bool> {
        match &self.members {
            Members::All => Ok(true),
            Members::These(ids) => Ok(ids.contains(&entity)),
            Members::Scope(INDEX_SCOPE) => match reading.row(entity)?.scope {
                INDEX_SCOPE => Ok(true),
                document => Ok(reading.head(document)?.state == plica_format::document::DocumentState::Live),
            },
            Members::Scope(scope) => Ok(reading.row(entity)?.scope == *scope),
        }
    }

    /// Scores of name, aliases and descriptions of every record that shares a term with the question.
    pub(super) fn scores(&self, reading: &Reading<'_>) -> Result<BTreeMap<u32, [f64; 3]>> {
        let mut scores: BTreeMap<u32, [f64; 3]> = BTreeMap::new();
        if self.records == 0 {
            return Ok(scores);
        }
        for (at, field) in Field::MEMORY.into_iter().enumerate() {
            let average = average(self.tokens[at], self.records);
            let mut cache: HashMap<&str, Vec<Posting>> = HashMap::new();
            for term in reading.terms {
                if !cache.contains_key(term.as_str()) {
                    let mut kept = Vec::new();
                    for posting in reading.view.postings(field, term, self.range.0, self.range.1)? {
                        if self.holds(reading, posting.id)? {
                            kept.push(posting);
                        }
                    }
                    cache.insert(term, kept);
                }
                let Some(postings) = cache.get(term.as_str()) else { continue };
                let idf = idf(self.records, postings.len() as u64);
                for posting in postings {
                    let length = reading.row(posting.id)?.tokens[at];
                    let score = reading.query.bm25.score(idf, posting.frequency, length, average);
                    scores.entry(posting.id).or_default()[at] += score;
                }
            }
        }
        Ok(scores)
    }
}

fn memory_scores(reading: &Reading<'_>, units: &Units) -> Result<Vec<f64>> {
    let mut fields = vec![[0.0f64; 3]; units.places.len()];
    let memory = Memory::of(reading, &units.head)?;
    for (entity, scores) in memory.scores(reading)? {
        for chunk in reading.view.set(&key::numbered(key::ENTITY_CHUNKS, entity))? {
            if let Some(best) = units.ordinal(chunk).and_then(|at| fields.get_mut(at)) {
                for (best, score) in best.iter_mut().zip(scores) {
                    *best = best.max(score);
                }
            }
        }
    }
    Ok(fields.into_iter().map(|[name, aliases, descriptions]| name + aliases + descriptions).collect())
}

/// Scores of the summary channel, and which chunks have a covering summary.
fn summary_scores(reading: &Reading<'_>, units: &Units) -> Result<(Vec<f64>, Vec<bool>)> {
    let head = &units.head;
    let count = units.places.len();
    let fanout = reading.fanout as usize;
    let complete = count / fanout;
    let (mut scores, mut covered) = (vec![0.0; count], vec![false; count]);
    if head.summaries == 0 {
        return Ok((scores, covered));
    }
    let rows = reading.view.summary_rows(head.first_chunk, head.last_chunk)?;
    let lengths: HashMap<usize, u32> =
        rows.into_iter().filter_map(|row| Some((units.ordinal(row.unit)? / fanout, row.tokens))).collect();
    for (ordinal, covered) in covered.iter_mut().enumerate() {
        let index = ordinal / fanout;
        *covered = index < complete && lengths.contains_key(&index);
    }
    if !reading.wants(2) {
        return Ok((scores, covered));
    }
    let average = average(head.summary_tokens, u64::from(head.summaries));
    for term in reading.terms {
        let postings = reading.view.postings(Field::Summary, term, head.first_chunk, head.last_chunk)?;
        let found: Vec<(usize, u32)> = postings
            .into_iter()
            .filter_map(|posting| Some((units.ordinal(posting.id)? / fanout, posting.frequency)))
            .collect();
        let idf = idf(u64::from(head.summaries), found.len() as u64);
        for (index, frequency) in found {
            let length = lengths.get(&index).copied().unwrap_or_default();
            let score = reading.query.bm25.score(idf, frequency, length, average);
            for chunk in scores.iter_mut().skip(index * fanout).take(fanout) {
                *chunk += score;
            }
        }
    }
    Ok((scores, covered))
}
