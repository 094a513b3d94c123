//! Plica: an embedded, single-file, on-disk index storage engine for long documents.
//!
//! Read a document once, keep what was understood, extend it by folding, and answer many times, from many processes,
//! with no model call when a question is asked. A [`Writer`] appends chunks, entities and summaries and commits them; an
//! [`Index`] gives [`Snapshot`]s, which search ([`Query`]), walk the fold tree ([`Snapshot::tree`]) and read everything
//! back. What reads a document is a [`ingest::Model`]: your own, or [`ingest::builtin::Builtin`].
//!
//! ```
//! use plica::ingest::{EntityUpdate, FoldInput, Model, Reader, Source, UpdateInput};
//! use plica::{Index, Options, Query, Writer};
//!
//! /// A model of one's own: who is named, and the first sentence as a summary.
//! struct Toy;
//!
//! impl Model for Toy {
//!     fn update(&self, input: &UpdateInput<'_>) -> plica::Result<Vec<EntityUpdate>> {
//!         Ok(Vec::from_iter(input.text.contains("Ada").then(|| EntityUpdate {
//!             name: "Ada Byron".into(),
//!             aliases: vec!["the engineer".into()],
//!             ..EntityUpdate::default()
//!         })))
//!     }
//!     fn fold(&self, input: &FoldInput<'_>) -> plica::Result<String> {
//!         Ok(input.units[0].split_inclusive('.').next().unwrap_or("").to_owned())
//!     }
//! }
//!
//! # fn main() -> plica::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("book.plica");
//! let text = "Ada wrote the first program. It was never run. The machine was not built. Nobody minded.";
//! let mut writer = Writer::create(&path, &Options::new().chunk_words(5).fanout(2))?;
//! let mut reader = Reader::new(Some(&Toy));
//! reader.build(&mut writer, Source { id: "book", text, ..Source::default() })?; // commits
//! reader.append(&mut writer, "book", " Ada went home.")?;
//!
//! let snapshot = Index::open(&path)?.snapshot();
//! let answer = snapshot.search(&Query::new("What did the engineer write?").document("book"))?;
//! assert_eq!(answer.hits[0].chunk, "book#0");
//! let top = snapshot.tree("book", &[])?; // the root: each entry's cover and summary
//! assert_eq!(top.entries[0].summary.as_deref(), Some("Ada wrote the first program."));
//! # Ok(()) }
//! ```
#![deny(unsafe_code)]

mod dictionary;
mod error;
pub mod eval;
mod index;
pub mod ingest;
pub mod interchange;
pub mod outline;
pub mod records;
pub mod search;
#[cfg(any(test, feature = "simulation"))]
#[doc(hidden)]
pub mod simulation;
mod store;
pub mod text;

pub use error::{Error, Result};
pub use index::{
    Appended, Budget, Bytes, Calls, CheckOptions, Chunk, CommitInfo, Document, DocumentStat, Durability, Entity, Entry,
    Finding, Index, Loss, MemoryScope, NewChunk, Options, Origin, Page, ReadOptions, Recovered, Refreshed, Report,
    Salvaged, Snapshot, SourceKind, Stat, VacuumOptions, VacuumReport, Writer, check, salvage, vacuum,
};
pub use plica_format as format;
pub use search::{Answer, Bm25, Hit, Limits, Query, Scope, Statistics, TextHit, TextMode, TextQuery, Weights};
