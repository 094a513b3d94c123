//! Search: one pass, three channels, one ranking of original chunks, and no model call.
//!
//! The *text* channel scores chunks by BM25. The *memory* channel scores the records of the entity memory, one BM25 for
//! each of name, aliases and descriptions; a chunk takes the greatest score among the records linked to it, field by
//! field, and the fields add up: so a chunk is found by what its people are called elsewhere. The *summary* channel
//! scores level-1 summaries; a chunk takes its covering summary's score. Each channel is turned into z-scores over the
//! pool, and the weighted sum (1, 0.5, 0.3) ranks the chunks. (SAADI.)
//!
//! Within one document the pool is the whole document and the statistics are its own. In a collection the pool is the
//! union of the best chunks of each channel, and the statistics are those of the collection unless asked otherwise.

pub mod bm25;
mod collection;
mod document;
mod explain;
mod fuse;
mod memory;
mod passage;
mod query;
mod scope;
mod several;
mod text;

pub use bm25::Bm25;
pub use passage::Passage;
pub use query::{Answer, Channel, Explanation, Hit, Limits, LinkedRecord, Query, Scope, Statistics, Weights};
pub use several::Several;
pub use text::{TextHit, TextMode, TextQuery};

use crate::index::Snapshot;
use crate::{Error, Result};
use plica_format::limits::QUERY_TERMS;

impl Snapshot {
    /// Answers a query. See [`Query`] for what can be asked.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown document, [`Error::Limit`] for more than 1,024 terms, [`Error::Cancelled`],
    /// and [`Error::Damaged`] where the file is.
    pub fn search(&self, query: &Query) -> Result<Answer> {
        several::answer(std::slice::from_ref(self), query)
    }
}

/// The tokens of a question.
fn terms_of(question: &str) -> Result<Vec<String>> {
    let terms = crate::text::tokens(question);
    if terms.len() > QUERY_TERMS {
        let got = terms.len() as u64;
        return Err(Error::Limit { what: "the terms of a query", limit: QUERY_TERMS as u64, got });
    }
    Ok(terms)
}
