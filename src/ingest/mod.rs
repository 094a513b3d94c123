//! Reading documents into an index.

pub mod builtin;
mod model;

pub use model::{EntityUpdate, FoldInput, HistoryUnit, Model, Recalled, UpdateInput};
