//! `plica tree`, `chunk`, `cat` and `docs`: what an index holds, read back.

use crate::arguments::{Cat, ChunkArguments, Docs, Tree};
use crate::failure::Outcome;
use crate::opening::open;
use crate::output::{FAINT, Output, STRONG, counted, grouped, table, visible};
use crate::passage::{COLUMNS, beginning, wrap};
use plica::{Entry, Snapshot};
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
struct PageLine<'a> {
    doc: &'a str,
    path: &'a [usize],
    level: u8,
    first: u32,
    count: u32,
    summary: Option<&'a str>,
    entries: Vec<EntryLine<'a>>,
}

#[derive(Serialize)]
struct EntryLine<'a> {
    level: u8,
    first: u32,
    count: u32,
    summary: Option<&'a str>,
    chunk: Option<&'a str>,
}

/// Shows a page of a fold tree.
pub fn tree(arguments: &Tree) -> Outcome {
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let page = snapshot.tree(&arguments.doc, &arguments.path.0)?;
    let mut out = Output::new();
    if arguments.reading.json {
        let entry = |entry: &'_ Entry| (entry.level, entry.cover);
        let line = PageLine {
            doc: &page.document,
            path: &page.path,
            level: page.level,
            first: page.cover.0,
            count: page.cover.1,
            summary: page.summary.as_deref(),
            entries: page
                .entries
                .iter()
                .map(|listed| {
                    let (level, (first, count)) = entry(listed);
                    EntryLine {
                        level,
                        first,
                        count,
                        summary: listed.summary.as_deref(),
                        chunk: listed.chunk.as_deref(),
                    }
                })
                .collect(),
        };
        out.json(&line)?;
        return out.flush();
    }
    let path = path_text(&page.path);
    let place = if path.is_empty() { "top".to_owned() } else { format!("page {path}, level {}", page.level) };
    let heading = format!("{}: {place}, {}", visible(&page.document), cover(page.cover));
    out.line(out.styled(STRONG, &heading))?;
    for line in page.summary.iter().flat_map(|summary| wrap(summary, COLUMNS)) {
        out.line(format!("   {line}"))?;
    }
    for (at, entry) in page.entries.iter().enumerate() {
        let own = if path.is_empty() { at.to_string() } else { format!("{path}/{at}") };
        show_entry(&mut out, &snapshot, &own, entry)?;
    }
    out.flush()
}

fn show_entry(out: &mut Output, snapshot: &Snapshot, path: &str, entry: &Entry) -> Outcome {
    if let Some(chunk) = &entry.chunk {
        let text = snapshot.chunk(chunk)?.text;
        out.line(format!("{}  {}", out.styled(STRONG, path), out.styled(FAINT, &visible(chunk))))?;
        return out.line(format!("   {}", beginning(&text, COLUMNS)));
    }
    let what = format!("level {}, {}", entry.level, cover(entry.cover));
    out.line(format!("{}  {}", out.styled(STRONG, path), out.styled(FAINT, &what)))?;
    let summary = entry.summary.as_deref().unwrap_or("(no summary)");
    for line in wrap(summary, COLUMNS) {
        out.line(format!("   {line}"))?;
    }
    Ok(())
}

fn path_text(path: &[usize]) -> String {
    path.iter().map(usize::to_string).collect::<Vec<_>>().join("/")
}

/// Which chunks a node covers.
fn cover((first, count): (u32, u32)) -> String {
    match count {
        0 => "no chunks".to_owned(),
        1 => format!("chunk {first}"),
        _ => format!("chunks {first} to {}", first.saturating_add(count - 1)),
    }
}

#[derive(Serialize)]
struct ChunkLine<'a> {
    id: &'a str,
    chunk: &'a str,
    doc: &'a str,
    ordinal: u32,
    title: &'a str,
    text: &'a str,
    words: u32,
    start: Option<u64>,
    end: Option<u64>,
    entities: &'a [String],
    summaries: &'a [Option<String>],
}

/// Shows a chunk.
pub fn chunk(arguments: &ChunkArguments) -> Outcome {
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let chunk = snapshot.chunk(&arguments.id)?;
    let summaries = snapshot.covering_summaries(&chunk.document, chunk.ordinal)?;
    let mut out = Output::new();
    if arguments.reading.json {
        out.json(&ChunkLine {
            id: &chunk.id,
            chunk: &chunk.chunk,
            doc: &chunk.document,
            ordinal: chunk.ordinal,
            title: &chunk.title,
            text: &chunk.text,
            words: chunk.words,
            start: chunk.span.map(|span| span.0),
            end: chunk.span.map(|span| span.1),
            entities: &chunk.entities,
            summaries: &summaries,
        })?;
        return out.flush();
    }
    let id = out.styled(STRONG, &visible(&chunk.id));
    let mut place = counted(u64::from(chunk.words), "word");
    if let Some((start, end)) = chunk.span {
        place.push_str(&format!(", bytes {start} to {end}"));
    }
    if chunk.id != chunk.chunk {
        place.push_str(&format!(", {}", visible(&chunk.chunk)));
    }
    out.line(format!("{id}  {}", out.styled(FAINT, &place)))?;
    if !chunk.title.is_empty() {
        out.line(out.styled(STRONG, &visible(&chunk.title)))?;
    }
    for line in chunk.text.lines() {
        out.line(visible(line))?;
    }
    if !chunk.entities.is_empty() {
        let names: Vec<String> = chunk.entities.iter().map(|name| visible(name)).collect();
        out.line(format!("{} {}", out.styled(FAINT, "entities:"), names.join("; ")))?;
    }
    for (level, summary) in (1..).zip(&summaries) {
        let Some(summary) = summary else { continue };
        out.line(out.styled(FAINT, &format!("summary, level {level}:")))?;
        for line in wrap(summary, COLUMNS) {
            out.line(format!("   {line}"))?;
        }
    }
    out.flush()
}

#[derive(Serialize)]
struct TextLine<'a> {
    doc: &'a str,
    text: &'a str,
}

/// Writes a document's text as it was read.
pub fn cat(arguments: &Cat) -> Outcome {
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let mut out = Output::new();
    if arguments.reading.json {
        out.json(&TextLine { doc: &arguments.doc, text: &snapshot.text(&arguments.doc)? })?;
        return out.flush();
    }
    let mut failure = None;
    let read = snapshot.read_text(&arguments.doc, |text| {
        out.bytes(text.as_bytes()).map_err(|error| {
            failure = Some(error);
            plica::Error::Cancelled
        })
    });
    match failure {
        Some(error) => return Err(error.into()),
        None => read?,
    }
    out.flush()
}

#[derive(Serialize)]
struct DocumentsLine<'a> {
    docs: Vec<DocumentLine<'a>>,
}

#[derive(Serialize)]
struct DocumentLine<'a> {
    doc: &'a str,
    title: &'a str,
    chunks: u32,
    words: u64,
    bytes: u64,
    entities: u64,
    summaries: u32,
    hash: &'a str,
    metadata: Option<Value>,
}

/// Lists the documents.
pub fn docs(arguments: &Docs) -> Outcome {
    let snapshot = open(&arguments.index, &arguments.reading)?;
    let documents = snapshot.documents()?;
    let mut out = Output::new();
    if arguments.reading.json {
        let docs = documents.iter().map(|document| DocumentLine {
            doc: &document.id,
            title: &document.title,
            chunks: document.chunks,
            words: document.words,
            bytes: document.text_bytes,
            entities: document.entities,
            summaries: document.summaries,
            hash: &document.content_hash,
            metadata: serde_json::from_str(&document.metadata).ok(),
        });
        out.json(&DocumentsLine { docs: docs.collect() })?;
        return out.flush();
    }
    if documents.is_empty() {
        out.line("no documents")?;
        return out.flush();
    }
    let rows: Vec<Vec<String>> = documents
        .iter()
        .map(|document| {
            vec![
                visible(&document.id),
                grouped(u64::from(document.chunks)),
                grouped(document.words),
                grouped(document.text_bytes),
                grouped(document.entities),
                beginning(&document.title, 48),
            ]
        })
        .collect();
    table(&mut out, &["document", "chunks", "words", "bytes", "entities", "title"], &[1, 2, 3, 4], &rows)?;
    out.flush()
}
