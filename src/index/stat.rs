//! What an index holds, in numbers.

use super::budget::Budget;
use super::merge;
use super::snapshot::Snapshot;
use crate::Result;
use plica_format::limits::FIRST_BLOCK_OFFSET;
use std::collections::BTreeMap;

/// Numbers of an index at one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stat {
    /// Documents that readers see.
    pub documents: u64,
    /// Documents whose first build is not complete.
    pub staged: u64,
    /// Chunks of the documents that readers see.
    pub chunks: u64,
    /// Records of the entity memory.
    pub entities: u64,
    /// Level-1 summaries.
    pub summaries: u64,
    /// Subjects of their outlines.
    pub subjects: u64,
    /// Values of those.
    pub values: u64,
    /// Calls of a compiler or an extractor: to discover categories, to extract subjects, to summarise pages of outlines,
    /// to extract records. They are no part of T(N, f).
    pub compile_calls: [u64; 4],
    /// Records ([`crate::records`]) of the documents that readers see.
    pub records: u64,
    /// Tokens of all chunks.
    pub text_tokens: u64,
    /// Sequence number of the commit.
    pub sequence: u64,
    /// Segments.
    pub segments: usize,
    /// Bytes of segments that wait to be merged.
    pub merge_debt: u64,
    /// Bytes of the file.
    pub bytes: Bytes,
    /// Calls of a model.
    pub calls: Calls,
    /// The same a document, in the order of ids.
    pub docs: Vec<DocumentStat>,
}

/// Bytes of a file up to the end of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bytes {
    /// All.
    pub total: u64,
    /// What the commit reaches, and the pages at the start.
    pub live: u64,
    /// The rest: earlier commits, and what was merged or rewritten since.
    pub dead: u64,
    /// Live bytes by kind of block.
    pub structures: BTreeMap<&'static str, u64>,
    /// Live bytes by what they are spent on.
    pub budget: Budget,
    /// Bytes of the texts, as they are in the sources.
    pub text: u64,
}

/// Calls of a model, against what the fold tree asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Calls {
    /// Accepted calls: updates and folds.
    pub accepted: u64,
    /// Units that came from outside, and took no call.
    pub given: u64,
    /// T(N, f) = N + Σ ⌊N / fⁱ⌋: one update a chunk, one fold a completed unit.
    pub expected: u64,
}

/// Numbers of one document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentStat {
    /// Its id.
    pub id: String,
    /// Chunks.
    pub chunks: u32,
    /// Subjects of its outline.
    pub subjects: u32,
    /// Records ([`crate::records`]).
    pub records: u64,
    /// Calls of a model.
    pub calls: Calls,
}

/// T(N, f) of SAADI: the calls that reading `chunks` chunks at fan-out `fanout` takes.
pub fn expected_calls(chunks: u64, fanout: u8) -> u64 {
    let mut total = chunks;
    let mut units = chunks / u64::from(fanout.max(2));
    while units > 0 {
        total += units;
        units /= u64::from(fanout.max(2));
    }
    total
}

impl Snapshot {
    /// Counts what the index holds. Reads every page and leaf, no text.
    pub fn stat(&self) -> Result<Stat> {
        let state = self.view().state;
        let mut docs = Vec::new();
        let mut calls = Calls::default();
        let mut text = 0;
        let (mut values, mut compile_calls) = (0, [0; 4]);
        for head in self.heads()? {
            let expected = expected_calls(u64::from(head.chunks), self.parameters().fanout);
            let own =
                Calls { accepted: head.updates + head.folds, given: head.given_updates + head.given_folds, expected };
            calls.accepted += own.accepted;
            calls.given += own.given;
            calls.expected += own.expected;
            text += head.text_bytes;
            let records = self.count_records_of(&head)?;
            let outline = self.view().outline_head(head.number)?.unwrap_or_default();
            let subjects = outline.root.map_or(0, |root| root.count);
            values += outline.values;
            for (total, calls) in compile_calls.iter_mut().zip(outline.calls) {
                *total += calls;
            }
            docs.push(DocumentStat { id: head.id, chunks: head.chunks, subjects, records, calls: own });
        }
        let reached = self.reachable(Err)?;
        let mut structures: BTreeMap<&'static str, u64> = BTreeMap::new();
        for reference in reached.values() {
            *structures.entry(reference.kind.name()).or_default() += reference.end() - reference.offset;
        }
        let budget = self.budget(&reached)?;
        let total = self.commit_head().end;
        let live = structures.values().sum::<u64>() + FIRST_BLOCK_OFFSET;
        Ok(Stat {
            documents: state.totals.documents,
            staged: u64::from(state.staged),
            chunks: state.totals.chunks,
            entities: state.totals.entities,
            summaries: state.totals.summaries,
            subjects: docs.iter().map(|document| u64::from(document.subjects)).sum(),
            values,
            compile_calls,
            records: docs.iter().map(|document| document.records).sum(),
            text_tokens: state.totals.text_tokens,
            sequence: self.sequence(),
            segments: state.segments.len(),
            merge_debt: merge::debt(state),
            bytes: Bytes { total, live, dead: total.saturating_sub(live), structures, budget, text },
            calls,
            docs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::expected_calls;

    #[test]
    fn calls_are_one_a_chunk_and_one_a_completed_unit() {
        assert_eq!(expected_calls(163, 5), 163 + 32 + 6 + 1);
        assert_eq!(expected_calls(0, 5), 0);
        assert_eq!(expected_calls(8, 2), 8 + 4 + 2 + 1);
    }
}
