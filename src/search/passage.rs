//! A passage: a chunk of the source as an answer shows it.

use crate::index::Chunk;

/// A chunk that records or a subject lead to, or that a search found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Passage {
    /// External id, else `DOC#ORDINAL`.
    pub id: String,
    /// `DOC#ORDINAL`.
    pub chunk: String,
    /// Id of the document.
    pub document: String,
    /// Place in the document, from 0.
    pub ordinal: u32,
    /// Its score: the best of the records that it supports, that of the page which names it, or that of the search.
    pub score: f64,
    /// Title of the chunk, or empty.
    pub title: String,
    /// Text of the chunk.
    pub text: String,
    /// Start and end in the source, in bytes, where known.
    pub span: Option<(u64, u64)>,
}

impl Passage {
    /// A chunk with a score.
    pub(crate) fn of(chunk: Chunk, score: f64) -> Self {
        Self {
            id: chunk.id,
            chunk: chunk.chunk,
            document: chunk.document,
            ordinal: chunk.ordinal,
            score,
            title: chunk.title,
            text: chunk.text,
            span: chunk.span,
        }
    }
}
