//! Several files as one.
//!
//! The numbers that scores are computed with (units, tokens, how many units hold a term) are added up over the files
//! first; then each file gives its best, and these are ranked together. So the answer is that of one file with all the
//! documents.

use super::query::{Answer, Query, Statistics};
use super::scope::{Reading, Resolved};
use super::text::{self, TextHit, TextQuery};
use super::{collection, document, fuse, terms_of};
use crate::index::Snapshot;
use crate::{Error, Result};
use plica_format::page::MemoryScope;
use std::collections::HashMap;

/// Snapshots of several indexes that are searched as one.
///
/// ```no_run
/// # fn main() -> plica::Result<()> {
/// use plica::{Index, Query, search::Several};
/// let files = ["law.plica", "letters.plica"];
/// let snapshots = files.iter().map(|path| Ok(Index::open(path)?.snapshot())).collect::<plica::Result<Vec<_>>>()?;
/// let answer = Several::new(snapshots)?.search(&Query::new("who keeps the archive?"))?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Several {
    snapshots: Vec<Snapshot>,
}

impl Several {
    /// Takes snapshots of indexes that have no document in common.
    ///
    /// # Errors
    /// [`Error::Invalid`] where there are none, where one has an index-wide memory (records of several documents could
    /// not be told apart), or where two have a document of one id.
    pub fn new(snapshots: Vec<Snapshot>) -> Result<Self> {
        if snapshots.is_empty() {
            return Err(Error::invalid("at least one index is needed"));
        }
        let mut known: HashMap<String, usize> = HashMap::new();
        for (file, snapshot) in snapshots.iter().enumerate() {
            if snapshots.len() > 1 && snapshot.parameters().memory == MemoryScope::Index {
                return Err(Error::invalid(format!(
                    "index {} has an index-wide memory; several indexes are searched as one only where each document \
                     has a memory of its own",
                    file + 1
                )));
            }
            for head in snapshot.heads()? {
                if let Some(other) = known.insert(head.id.clone(), file) {
                    return Err(Error::invalid(format!(
                        "indexes {} and {} both have a document {:?}; remove it from one of them",
                        other + 1,
                        file + 1,
                        head.id
                    )));
                }
            }
        }
        Ok(Self { snapshots })
    }

    /// The snapshots, in the order in which they were given.
    pub fn snapshots(&self) -> &[Snapshot] {
        &self.snapshots
    }

    /// Answers a query as one index with all the documents would; see [`Snapshot::search`].
    pub fn search(&self, query: &Query) -> Result<Answer> {
        answer(&self.snapshots, query)
    }

    /// Finds the chunks whose texts answer best; see [`Snapshot::text_search`].
    pub fn text_search(&self, query: &TextQuery) -> Result<Vec<TextHit>> {
        text::search(&self.snapshots, query)
    }
}

/// Answers a query over some snapshots.
pub(super) fn answer(snapshots: &[Snapshot], query: &Query) -> Result<Answer> {
    let terms = terms_of(&query.text)?;
    let readings: Vec<Reading<'_>> = snapshots.iter().map(|snapshot| Reading::new(snapshot, query, &terms)).collect();
    let (statistics, mut ranked) = match Resolved::of(&readings)? {
        Resolved::Document(file, head) => {
            let reading = &readings[file];
            let ranked = if reading.passes(&head)? { document::rank(reading, &head)? } else { Vec::new() };
            (Statistics::Document, ranked.into_iter().map(|candidate| fuse::Candidate { file, ..candidate }).collect())
        }
        Resolved::Collection => (query.statistics, collection::rank(&readings)?),
    };
    if !query.all {
        ranked.retain(|candidate| candidate.raw.iter().any(|&score| score != 0.0));
    }
    let total = ranked.len();
    let mut hits = Vec::new();
    let ranked = fuse::best(ranked, query.offset.saturating_add(query.k));
    for (at, candidate) in ranked.into_iter().enumerate().skip(query.offset) {
        hits.push(readings[candidate.file].hit(&readings, at + 1, &candidate, statistics == Statistics::Document)?);
    }
    Ok(Answer { statistics, hits, total })
}
