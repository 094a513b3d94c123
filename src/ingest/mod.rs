//! Reading documents into an index: the loop that calls a model for each chunk and each fold; and compiling what was
//! read into outlines and records.

mod build;
pub mod builtin;
mod compile;
mod compiler;
mod model;
mod overlap;

pub use build::{Acknowledged, Built, Reader, Source};
pub(crate) use compile::Piece;
pub use compile::{Compile, Compiled, OVERLAP_CHARACTERS, PIECE_CHARACTERS};
pub use compiler::{
    Category, Compiler, DiscoverInput, ExtractInput, Extracted, Extractor, FieldUpdate, KnownEntity, RecordInput,
    RecordKind, RecordUpdate, Schema, SubjectUpdate,
};
pub use model::{EntityUpdate, FoldInput, HistoryUnit, Model, Recalled, UpdateInput};
