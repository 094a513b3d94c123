//! `plica salvage`: a new index with what is left of a damaged one.

use crate::check::{FindingLine, show_finding};
use crate::failure::{Failure, Outcome};
use crate::output::{Output, counted, visible};
use crate::removal_arguments::Salvage;
use crate::signals;
use plica::{Limits, Loss, Salvaged};
use serde::Serialize;

/// Losses that are printed, and as many things that no commit vouches for.
const SHOWN: usize = 30;

#[derive(Serialize)]
struct SalvagedLine<'a> {
    commit: Option<u64>,
    documents: u64,
    chunks: u64,
    summaries: u64,
    entities: u64,
    subjects: u64,
    records: u64,
    damage: Vec<FindingLine<'a>>,
    lost: Vec<LossLine<'a>>,
    unvouched: Vec<LossLine<'a>>,
}

#[derive(Serialize)]
struct LossLine<'a> {
    doc: &'a str,
    what: &'a str,
    chunks: &'a [(u32, u32)],
    detail: &'a str,
}

impl<'a> LossLine<'a> {
    fn of(loss: &'a Loss) -> Self {
        let Loss { document, what, detail, chunks, .. } = loss;
        Self { doc: document, what, chunks, detail }
    }
}

/// Salvages an index.
pub fn salvage(arguments: &Salvage) -> Outcome {
    let limits = Limits { cancel: Some(signals::shared_stop_flag()), ..Limits::default() };
    let salvaged = plica::salvage(&arguments.damaged, &arguments.new, &limits).map_err(|error| match error {
        plica::Error::Cancelled => Failure::message("stopped; no new index was made"),
        plica::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists => {
            Failure::message(format!("{} is there already; a salvage writes a new file", arguments.new.display()))
        }
        plica::Error::NotAnIndex { .. } => {
            Failure::message(format!("{error}; nothing can be salvaged from {}", arguments.damaged.display()))
        }
        other => other.into(),
    })?;
    let mut out = Output::new();
    match arguments.json {
        true => out.json(&line(&salvaged))?,
        false => show(&mut out, &salvaged, arguments)?,
    }
    out.flush()?;
    if salvaged.is_whole() { Ok(()) } else { Err(Failure::Findings) }
}

fn line(salvaged: &Salvaged) -> SalvagedLine<'_> {
    SalvagedLine {
        commit: salvaged.commit,
        documents: salvaged.documents,
        chunks: salvaged.chunks,
        summaries: salvaged.summaries,
        entities: salvaged.entities,
        subjects: salvaged.subjects,
        records: salvaged.records,
        damage: salvaged.damage.iter().map(FindingLine::of).collect(),
        lost: salvaged.lost.iter().map(LossLine::of).collect(),
        unvouched: salvaged.unvouched.iter().map(LossLine::of).collect(),
    }
}

fn show(out: &mut Output, salvaged: &Salvaged, arguments: &Salvage) -> Outcome {
    for finding in &salvaged.damage {
        show_finding(out, finding)?;
    }
    for (list, word) in [(&salvaged.lost, "lost"), (&salvaged.unvouched, "no commit vouches for")] {
        for loss in list.iter().take(SHOWN) {
            let of = if loss.document.is_empty() { String::new() } else { format!(" of {}", visible(&loss.document)) };
            let shown = |&(first, last): &(u32, u32)| match first == last {
                true => first.to_string(),
                false => format!("{first} to {last}"),
            };
            let which = loss.chunks.iter().map(shown).collect::<Vec<_>>().join(", ");
            let which = if which.is_empty() { which } else { format!(" {which}") };
            out.line(format!("{word}: {}{which}{of}: {}", visible(&loss.what), visible(&loss.detail)))?;
        }
        if let Some(more) = list.len().checked_sub(SHOWN).filter(|&more| more > 0) {
            out.line(format!("{word}: {more} more; --json lists all"))?;
        }
    }
    let from = match salvaged.commit {
        Some(commit) => format!("as of commit {commit}"),
        None => "without any commit, in the order of the file".to_owned(),
    };
    out.line(format!(
        "{}: {}, {}, {}, {}, {}, {} of {}, {from}",
        arguments.new.display(),
        counted(salvaged.documents, "document"),
        counted(salvaged.chunks, "chunk"),
        counted(salvaged.summaries, "summary"),
        counted(salvaged.entities, "entity"),
        counted(salvaged.subjects, "subject"),
        counted(salvaged.records, "record"),
        arguments.damaged.display()
    ))
}
