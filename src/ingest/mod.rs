//! Reading documents into an index: the loop that calls a model for each chunk and each fold.

mod build;
pub mod builtin;
mod model;

pub use build::{Acknowledged, Built, Reader, Source};
pub use model::{EntityUpdate, FoldInput, HistoryUnit, Model, Recalled, UpdateInput};
