//! The outline of a document, as it lies in the file: nodes, their pages, and what a writer changes of them.
//!
//! Subjects live in pages alone. Changing one rewrites the page that lists it and the pages on the way to the root; a
//! subject that goes leaves nothing behind but the bytes of earlier commits.

mod check;
mod edit;
mod order;
mod pending;
mod read;
mod render;
mod summary;
mod tree;
mod write;

pub(crate) use edit::Compiled;
pub(in crate::index) use edit::Summarizer;
pub(in crate::index) use order::bounded as bounded_name;
pub(crate) use order::subject_key;
pub(in crate::index) use order::{path_hash, subject_hash};
pub(in crate::index) use pending::PendingOutline;
pub(crate) use read::{KeyRange, NodeAt, NodesMet, OutlineView};
pub(crate) use render::{DEFAULT_BUDGET, body, item_name, item_text, range_text, range_title, tokens};
pub(crate) use summary::clip;
pub use summary::{PageInput, PageSummarizer, TermSummarizer};
pub(crate) use tree::page_hash;
pub(in crate::index) use write::write_outlines;
