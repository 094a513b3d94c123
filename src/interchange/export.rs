//! Writing an index as JSON lines.

use crate::index::Snapshot;
use crate::{Error, Result};
use std::io::Write;

/// Writes what a snapshot holds as JSON lines.
pub fn export(snapshot: &Snapshot, out: &mut impl Write) -> Result<()> {
    let _ = (snapshot, out);
    Err(Error::invalid("export is not there yet"))
}
