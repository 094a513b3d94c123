//! `plica backup`: a copy of an index, while others go on with it.

use crate::arguments::Reading;
use crate::failure::{Failure, Outcome};
use crate::opening::open;
use crate::output::Output;
use crate::removal_arguments::Backup;
use crate::signals;
use plica::Limits;
use serde::Serialize;

#[derive(Serialize)]
struct CopyLine {
    commit: u64,
    bytes: u64,
}

/// Copies an index.
pub fn backup(arguments: &Backup) -> Outcome {
    let reading = Reading { at: arguments.at, json: arguments.json };
    let snapshot = open(&arguments.index, &reading)?;
    let limits = Limits { cancel: Some(signals::shared_stop_flag()), ..Limits::default() };
    let copied = match arguments.new_id {
        true => snapshot.backup_as_new(&arguments.copy, &limits),
        false => snapshot.backup(&arguments.copy, &limits),
    };
    let bytes = copied.map_err(|error| match error {
        plica::Error::Cancelled => Failure::message("stopped; no copy was made"),
        plica::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists => {
            Failure::message(format!("{} is there already; a copy is always a new file", arguments.copy.display()))
        }
        plica::Error::Damaged { .. } => {
            Failure::message(format!("{error}; no copy was made, `plica check` lists all that is damaged"))
        }
        other => other.into(),
    })?;
    let mut out = Output::new();
    match arguments.json {
        true => out.json(&CopyLine { commit: snapshot.sequence(), bytes })?,
        false => {
            let (copy, commit) = (arguments.copy.display(), snapshot.sequence());
            out.line(format!("{copy}: commit {commit} of {}, {bytes} bytes", arguments.index.display()))?;
        }
    }
    out.flush()
}
