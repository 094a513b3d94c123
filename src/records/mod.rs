//! Records (EnSI-RAG): symbolic keys that lead to passages.
//!
//! A record is (entity, type, kind, label, value) with an optional condition and valid time, and leads to a set of
//! chunks. It is a handle for retrieval and never the answer: the passages are. Alternatives stand side by side.
//!
//! * [`Snapshot::look_up`] finds records by any subset of their fields, exactly or by beginnings.
//! * [`Snapshot::records`] ranks records by keys first (aliases of the entity memory and similar names included), and
//!   gives the passages they lead to.
//! * [`Snapshot::vocabulary`] lists the values of a field with counts: what a planner chooses from.
//! * [`Snapshot::hop`] runs a [`Plan`]: what one hop finds fills the next.
//!
//! What is answered depends on the records that stand, not on the order or the commits in which they came.

mod fuzzy;
mod hops;
mod names;
mod query;
mod rank;
mod reading;
mod score;
mod vocabulary;

pub use crate::search::Passage;
pub use hops::{Hop, HopAnswer, HopCondition, HopFields, HopMode, HopOptions, Plan};
pub use query::{Fallback, Record, RecordAnswer, RecordQuery, RecordWeights, ScoredRecord};
pub use vocabulary::{FieldValue, RecordField, VocabularyQuery};

use crate::Result;
use crate::index::Snapshot;
use plica_format::document::DocumentHead;
use plica_format::key;
use plica_format::record::RecordRow;
use reading::{Filter, Reading};
use std::ops::ControlFlow;

impl Snapshot {
    /// The records that have all the fields that the query gives, in the order of their compared entities and labels;
    /// at most [`RecordQuery::limit`]. Weights, floor and `fuzzy` mean nothing here.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) for an unknown document,
    /// [`Error::Cancelled`](crate::Error::Cancelled), and [`Error::Damaged`](crate::Error::Damaged) where the file is.
    pub fn look_up(&self, query: &RecordQuery) -> Result<Vec<Record>> {
        let reading = Reading::new(self, &query.limits)?;
        let filter = Filter::new(self, query)?;
        let mut found: Vec<(Place, Record)> = Vec::new();
        let order =
            |a: &(Place, Record), b: &(Place, Record)| a.0.cmp(&b.0).then_with(|| a.1.document.cmp(&b.1.document));
        reading.each_match(&filter, |at, row| {
            found.push((at.place(), reading.record(row, at.head)?));
            if found.len() / 2 > query.limit {
                found.sort_by(order);
                found.truncate(query.limit);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if !found.is_sorted_by(|a, b| order(a, b).is_le()) {
            found.sort_by(order);
        }
        found.truncate(query.limit);
        Ok(found.into_iter().map(|(_, record)| record).collect())
    }

    /// How many records a document has.
    pub(crate) fn count_records_of(&self, head: &DocumentHead) -> Result<u64> {
        let mut count = 0;
        let start = key::numbered(key::RECORD_OF_DOCUMENT, head.number);
        self.view().dictionary.each_newest(&start, b"", |_, value| {
            count += u64::from(!value.is_empty());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(count)
    }

    /// Hands every record of a document to `sink`, in the order of its compared entity and label, with the ordinals of
    /// its chunks.
    pub(crate) fn each_record_of(
        &self,
        head: &DocumentHead,
        mut sink: impl FnMut(&RecordRow<'_>, &[u32]) -> Result<()>,
    ) -> Result<()> {
        let limits = Default::default();
        let reading = Reading::new(self, &limits)?;
        reading.each(
            &key::numbered(key::RECORD_OF_DOCUMENT, head.number),
            |_, _| true,
            |found| {
                let row = found.decoded()?;
                let ordinals =
                    row.chunks.iter().map(|&chunk| reading.ordinal(head, chunk)).collect::<Result<Vec<_>>>()?;
                sink(&row, &ordinals)?;
                Ok(ControlFlow::Continue(()))
            },
        )
    }
}

/// Place of a record in the order that no history shows in: its compared entity and label, a zero byte behind each, and
/// the start of its hash. Records of several documents that share it follow one another by document id.
type Place = Vec<u8>;
