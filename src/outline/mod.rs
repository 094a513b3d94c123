//! The outline of a document: a plain-text index that people and models walk from the root down.
//!
//! The design is that of "Indexing Long Documents for LLM-Based Analysis": a root that gives an overview and points to
//! categories, categories that may have sub-categories, subjects below them with a short summary and named fields; every
//! page small enough for a model's context. What that paper leaves open, one rule decides: what fits the page budget
//! is one page; what does not is split into pages under a page that lists them. So depth follows the content.
//!
//! * [`Snapshot::outline`](crate::Snapshot::outline) reads a page by its path; [`Walker`] goes from page to page.
//! * [`Navigation`]: a question led from the root to a subject, or to passages where the outline has no answer. No model is
//!   called; the [`Scorer`] that chooses may be one's own.
//! * [`learn`] folds what such a miss found back into the outline.
//! * [`write_folder`] writes the paper's own layout: one plain-text file a subject, one overview at the root.
//!
//! Outlines are compiled by [`ingest::Compile`](crate::ingest::Compile) and changed one subject at a time by
//! [`Writer::add_subject`](crate::Writer::add_subject) and its neighbours.

mod folder;
mod learn;
mod navigate;
mod page;
mod score;
mod walk;

pub use crate::index::{PageInput, PageSummarizer, TermSummarizer};
pub use crate::search::Passage;
pub use folder::{Written, write_folder};
pub use learn::{LEARNED, Learned, learn};
pub use navigate::{Navigate, Navigation, Step};
pub use page::{Cover, EntryKind, OutlineEntry, OutlinePage};
pub use plica_format::outline::{Field, Subject, Value};
pub use score::{Bm25Scorer, NamedSubject, Question, QuestionTerm, Scorer};
pub use walk::Walker;
