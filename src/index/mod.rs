//! The index: transactions, documents, the entity memory, segments and their merging, and reading it all back.

mod check;
mod check_records;
mod compile;
mod delta;
mod documents;
mod entities;
mod flush;
mod given;
mod log;
mod memory;
mod merge;
mod open;
mod options;
pub(crate) mod outline;
mod reach;
pub(crate) mod records;
mod snapshot;
mod stat;
mod tail;
mod texts;
mod tree;
pub(crate) mod view;
mod writer;

pub use check::{Finding, Report};
pub use documents::{Appended, NewChunk, Origin};
pub use entities::Entity;
pub(crate) use given::{Stored, ordinal_of};
pub use log::CommitInfo;
pub use open::{Index, ReadOptions, Refreshed, SourceKind};
pub use options::{Durability, MemoryScope, Options};
pub use outline::{PageInput, PageSummarizer, TermSummarizer};
pub use snapshot::{Chunk, Document, Snapshot};
pub use stat::{Bytes, Calls, DocumentStat, Stat};
pub use tree::{Entry, Page};
pub use writer::{Recovered, Writer};
