//! `plica vacuum`: an index is rewritten without what is dead in it.

use crate::failure::{Failure, Outcome};
use crate::opening::explain;
use crate::output::Output;
use crate::removal_arguments::Vacuum;
use crate::signals;
use plica::{Limits, Writer};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct ReportLine {
    before_bytes: u64,
    after_bytes: u64,
    epoch: u32,
}

/// Vacuums an index.
pub fn vacuum(arguments: &Vacuum) -> Outcome {
    let writer = Writer::open(&arguments.index).map_err(|error| explain(&arguments.index, error))?;
    let mut out = Output::new();
    run(writer, &arguments.index, arguments.json, &mut out)?;
    out.flush()
}

/// Vacuums the index that a writer holds, and says what that did. Ctrl-C stops it, and nothing is changed.
pub fn run(writer: Writer, index: &Path, json: bool, out: &mut Output) -> Outcome {
    let limits = Limits { cancel: Some(signals::shared_stop_flag()), ..Limits::default() };
    let report = writer.vacuum(&limits).map_err(|error| match error {
        plica::Error::Cancelled => {
            Failure::message(format!("stopped; {} was not vacuumed, and is as it was before", index.display()))
        }
        other => other.into(),
    })?;
    match json {
        true => out.json(&ReportLine {
            before_bytes: report.before_bytes,
            after_bytes: report.after_bytes,
            epoch: report.epoch,
        }),
        false => out.line(format!(
            "{}: {} bytes instead of {}, commits are numbered from 1 again, vacuum {}",
            index.display(),
            report.after_bytes,
            report.before_bytes,
            report.epoch
        )),
    }
}
