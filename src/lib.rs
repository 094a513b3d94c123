//! Plica: an embedded, single-file, on-disk index storage engine for long documents.
#![deny(unsafe_code)]

mod error;
pub mod ingest;
mod store;
pub mod text;

pub use error::{Error, Result};
pub use plica_format as format;
