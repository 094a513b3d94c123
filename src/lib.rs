//! Plica: an embedded, single-file, on-disk index storage engine for long documents.
#![deny(unsafe_code)]

mod dictionary;
mod error;
pub mod eval;
mod index;
pub mod ingest;
pub mod interchange;
pub mod search;
mod store;
pub mod text;

pub use error::{Error, Result};
pub use index::{
    Appended, Bytes, Calls, Chunk, CommitInfo, Document, DocumentStat, Durability, Entity, Entry, Finding, Index,
    MemoryScope, NewChunk, Options, Origin, Page, ReadOptions, Recovered, Refreshed, Report, Snapshot, SourceKind,
    Stat, Writer,
};
pub use plica_format as format;
pub use search::{Answer, Hit, Limits, Query, Scope, Statistics, Weights};
