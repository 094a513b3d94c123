//! `plica export`: an index as JSON lines.

use crate::arguments::Export;
use crate::failure::{Failure, Outcome};
use crate::opening::open;
use crate::output::Output;
use std::io;

/// Writes the lines. They are JSON with or without `--json`.
pub fn export(arguments: &Export) -> Outcome {
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let mut out = Output::new();
    plica::interchange::export(&snapshot, &mut out).map_err(|error| match error {
        plica::Error::Io { path: None, source, .. } if source.kind() == io::ErrorKind::BrokenPipe => Failure::Closed,
        other => other.into(),
    })?;
    out.flush()
}
