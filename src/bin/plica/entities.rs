//! `plica entity` and `plica entities`: the entity memory.

use crate::arguments::{Entities, EntityArguments};
use crate::failure::{Failure, Outcome};
use crate::opening::open;
use crate::output::{FAINT, Output, STRONG, counted, visible};
use crate::passage::{COLUMNS, beginning, wrap};
use plica::Entity;
use serde::Serialize;

/// Chunks that are named to people.
const CHUNKS: usize = 24;

#[derive(Serialize)]
struct RecordLine<'a> {
    doc: Option<&'a str>,
    name: &'a str,
    kind: &'a str,
    aliases: &'a [String],
    descriptions: &'a [String],
    chunks: &'a [String],
}

#[derive(Serialize)]
struct RecordsLine<'a> {
    entities: Vec<RecordLine<'a>>,
}

fn record_line(entity: &Entity) -> RecordLine<'_> {
    RecordLine {
        doc: entity.document.as_deref(),
        name: &entity.name,
        kind: &entity.kind,
        aliases: &entity.aliases,
        descriptions: &entity.descriptions,
        chunks: &entity.chunks,
    }
}

/// Shows the records of a name.
pub fn entity(arguments: &EntityArguments) -> Outcome {
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let found = snapshot.entity(&arguments.name, arguments.doc.as_deref())?;
    let mut out = Output::new();
    if arguments.reading.json {
        out.json(&RecordsLine { entities: found.iter().map(record_line).collect() })?;
        return out.flush();
    }
    for (at, entity) in found.iter().enumerate() {
        if at > 0 {
            out.line("")?;
        }
        show(&mut out, entity)?;
    }
    out.flush()
}

fn show(out: &mut Output, entity: &Entity) -> Outcome {
    let kind = if entity.kind.is_empty() { String::new() } else { format!("  ({})", visible(&entity.kind)) };
    let of = entity.document.as_deref().map(|document| format!("  in {}", visible(document))).unwrap_or_default();
    let name = out.styled(STRONG, &visible(&entity.name));
    out.line(format!("{name}{kind}{}", out.styled(FAINT, &of)))?;
    if !entity.aliases.is_empty() {
        let aliases: Vec<String> = entity.aliases.iter().map(|alias| visible(alias)).collect();
        out.line(format!("  {} {}", out.styled(FAINT, "also called:"), aliases.join("; ")))?;
    }
    for description in &entity.descriptions {
        for (at, line) in wrap(description, COLUMNS - 4).iter().enumerate() {
            out.line(format!("  {} {line}", if at == 0 { "-" } else { " " }))?;
        }
    }
    let mut chunks: Vec<String> = entity.chunks.iter().take(CHUNKS).map(|chunk| visible(chunk)).collect();
    if entity.chunks.len() > CHUNKS {
        chunks.push(format!("and {} more", entity.chunks.len() - CHUNKS));
    }
    out.line(format!("  {} {}", out.styled(FAINT, "chunks:"), chunks.join(", ")))
}

/// Lists the records, as they come.
pub fn entities(arguments: &Entities) -> Outcome {
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let mut out = Output::new();
    let json = arguments.reading.json;
    if json {
        out.bytes(b"{\"entities\":[")?;
    }
    let mut count = 0u64;
    let mut failure: Option<Failure> = None;
    let read = snapshot.entities(arguments.doc.as_deref(), |entity| {
        let written = if json {
            let comma = if count > 0 { &b","[..] } else { b"" };
            out.bytes(comma).map_err(Failure::from).and_then(|()| out.json_part(&record_line(&entity)))
        } else {
            let name = out.styled(STRONG, &visible(&entity.name));
            let kind = if entity.kind.is_empty() { String::new() } else { format!(" ({})", visible(&entity.kind)) };
            let chunks = counted(entity.chunks.len() as u64, "chunk");
            let known = entity.descriptions.first().map(|first| format!("  {}", beginning(first, 60)));
            out.line(format!("{name}{kind}, {chunks}{}", out.styled(FAINT, &known.unwrap_or_default())))
        };
        count += 1;
        written.map_err(|error| {
            failure = Some(error);
            plica::Error::Cancelled
        })
    });
    match failure {
        Some(failure) => return Err(failure),
        None => read?,
    }
    match (json, count) {
        (true, _) => out.bytes(b"]}\n")?,
        (false, 0) => out.line("no entities")?,
        (false, _) => {}
    }
    out.flush()
}
