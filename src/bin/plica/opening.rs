//! Opening an index for a reading command.

use crate::arguments::Reading;
use crate::failure::{Failure, Outcome};
use plica::{Index, Snapshot};
use std::path::Path;

/// The commit that a reading command shows.
pub fn open(path: &Path, reading: &Reading) -> Outcome<Snapshot> {
    let opened = match reading.at {
        Some(commit) => Index::open_at(path, commit),
        None => Index::open(path),
    };
    Ok(opened.map_err(|error| explain(path, error))?.snapshot())
}

/// Adds what to do to the errors that newcomers meet.
pub fn explain(path: &Path, error: plica::Error) -> Failure {
    match error {
        plica::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            Failure::message(format!("there is no index {}; `plica build` makes one", path.display()))
        }
        plica::Error::NotFound { what: "commit", name } => {
            Failure::message(format!("{} has no commit {name}; `plica log` lists those it has", path.display()))
        }
        plica::Error::NotFound { what: "outline of document", name } => {
            Failure::message(format!("document {name:?} has no outline; `plica compile` makes one"))
        }
        other => other.into(),
    }
}
