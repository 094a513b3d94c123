//! Scores of the records of all documents' memories, in a collection.

use super::bm25::{average, idf};
use super::scope::Reading;
use crate::Result;
use plica_format::key::Field;
use plica_format::postings::Posting;
use std::collections::{BTreeMap, BTreeSet};

/// What the records of one file hold of the question.
pub(super) struct Memory {
    records: u64,
    tokens: [u64; 3],
    /// Postings of each term in each field: of the records that count.
    found: [BTreeMap<String, Vec<Posting>>; 3],
}

/// The numbers that scores are computed with, of one file or of several together.
pub(super) struct MemoryStatistics {
    records: u64,
    tokens: [u64; 3],
    /// Records with a term.
    with: [BTreeMap<String, u64>; 3],
}

impl MemoryStatistics {
    /// The numbers of all `memories`.
    pub(super) fn of(memories: &[Memory]) -> Self {
        let mut all = Self { records: 0, tokens: [0; 3], with: Default::default() };
        for memory in memories {
            all.records += memory.records;
            for at in 0..3 {
                all.tokens[at] += memory.tokens[at];
                for (term, postings) in &memory.found[at] {
                    *all.with[at].entry(term.clone()).or_default() += postings.len() as u64;
                }
            }
        }
        all
    }
}

impl Memory {
    /// The memory of all documents that readers see.
    pub(super) fn of_all(reading: &Reading<'_>) -> Result<Self> {
        let state = reading.view.state;
        let mut memory =
            Self { records: state.totals.entities, tokens: state.totals.entity_tokens, found: Default::default() };
        if memory.records == 0 {
            return Ok(memory);
        }
        for (found, field) in memory.found.iter_mut().zip(Field::MEMORY) {
            for term in reading.terms {
                if found.contains_key(term) {
                    continue;
                }
                reading.query.limits.check()?;
                let mut postings = reading.view.postings(field, term, 0, u32::MAX)?;
                if state.staged > 0 {
                    let mut kept = Vec::with_capacity(postings.len());
                    for posting in postings {
                        if reading.counts(posting.id)? {
                            kept.push(posting);
                        }
                    }
                    postings = kept;
                }
                found.insert(term.clone(), postings);
            }
        }
        Ok(memory)
    }

    /// The records that match.
    pub(super) fn matching(&self) -> BTreeSet<u32> {
        self.found.iter().flat_map(BTreeMap::values).flatten().map(|posting| posting.id).collect()
    }

    /// Scores of name, aliases and descriptions of every record that shares a term with the question.
    pub(super) fn scores(
        &self,
        reading: &Reading<'_>,
        statistics: &MemoryStatistics,
    ) -> Result<BTreeMap<u32, [f64; 3]>> {
        let mut scores: BTreeMap<u32, [f64; 3]> = BTreeMap::new();
        for at in 0..3 {
            let average = average(statistics.tokens[at], statistics.records);
            for term in reading.terms {
                let Some(postings) = self.found[at].get(term) else { continue };
                let with = statistics.with[at].get(term).copied().unwrap_or_default();
                let idf = idf(statistics.records, with);
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
