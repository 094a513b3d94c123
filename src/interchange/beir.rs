//! The BEIR layout: `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv` in one folder.
//!
//! Rows of the corpus are chunks: `_id` is the external id, `title` and `text` are searched. Rows with the same
//! `metadata.doc_id` are one document, in file order, wherever they stand; a row without one is a document of its own
//! with its `_id` as id, and keeps its metadata. The file is read twice: once for where rows lie, once for the rows, so
//! that memory holds a few bytes a row.

use super::line::{Lines, at, parse};
use crate::index::{MemoryScope, NewChunk, Writer};
use crate::ingest::Reader;
use crate::{Error, Result};
use plica_format::document::DocumentState;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What an import of a BEIR corpus did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BeirImported {
    /// Documents that are new, or were not complete before.
    pub documents: u64,
    /// Rows that were read as chunks.
    pub chunks: u64,
    /// Rows that were there already.
    pub skipped: u64,
}

/// A row of the corpus, or a question: both have the same shape. Other keys are passed over.
#[derive(Debug, Deserialize)]
struct Row {
    _id: String,
    title: Option<String>,
    text: Option<String>,
    metadata: Option<Map<String, Value>>,
}

impl Row {
    fn document(&self) -> Result<Option<&str>> {
        match self.metadata.as_ref().and_then(|metadata| metadata.get("doc_id")) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(id)) => Ok(Some(id)),
            Some(other) => Err(Error::invalid(format!("\"metadata.doc_id\" must be a string, got {other}"))),
        }
    }
}

/// Where a row lies in its file.
#[derive(Debug, Clone, Copy)]
struct Place {
    line: u64,
    offset: u64,
    bytes: u32,
}

/// Rows that are one document, in file order.
#[derive(Debug)]
struct Group {
    id: String,
    /// Whether the group is a row without `doc_id`.
    alone: bool,
    rows: Vec<Place>,
}

/// Imports the corpus of a BEIR folder and commits it: rows are chunks, read with the reader's model as in a build.
///
/// `side_by_side` is how many documents are read in lock step, so that the model's calls may overlap (1: one after
/// another); with an index-wide memory documents are read one after another. An import that was stopped goes on where
/// its last commit was when it is run again; rows that are there are passed over.
///
/// # Errors
/// [`Error::Line`] with the number of a row that cannot be taken, or that is in the index with another text.
/// [`Error::Cancelled`] where the reader's flag is set: what was complete is committed.
pub fn import_beir(
    writer: &mut Writer,
    folder: &Path,
    reader: &mut Reader<'_>,
    side_by_side: usize,
) -> Result<BeirImported> {
    let path = folder.join("corpus.jsonl");
    let groups = groups(&path)?;
    let mut corpus = Corpus { file: open(&path)?, path };
    let mut imported = BeirImported::default();
    let width = match writer.options().memory {
        MemoryScope::Document => side_by_side.max(1),
        MemoryScope::Index => 1,
    };
    // As in a build, a document that ends makes room for the next.
    let mut waiting = groups.into_iter();
    let mut open: Vec<Reading> = Vec::new();
    loop {
        while open.len() < width {
            let Some(group) = waiting.next() else { break };
            open.extend(start(writer, &mut corpus, group, &mut imported)?);
        }
        if open.is_empty() {
            reader.commit(writer)?;
            return Ok(imported);
        }
        round(writer, &mut corpus, reader, &open)?;
        imported.chunks += open.len() as u64;
        for reading in &mut open {
            reading.at += 1;
            if reading.at == reading.group.rows.len() {
                writer.publish(&reading.group.id)?;
            }
        }
        open.retain(|reading| reading.at < reading.group.rows.len());
        reader.commit_if_due(writer)?;
        reader.stop_if_cancelled(writer)?;
    }
}

/// A document that is being read.
struct Reading {
    group: Group,
    /// The next row.
    at: usize,
}

/// Finds out what is there of a document. `None` where all is.
fn start(
    writer: &mut Writer,
    corpus: &mut Corpus,
    group: Group,
    imported: &mut BeirImported,
) -> Result<Option<Reading>> {
    let first = group.rows.first().copied().ok_or_else(|| Error::invalid("a document without rows"))?;
    let Some(head) = writer.head(&group.id).map_err(at(first.line))? else {
        let row = corpus.row(first)?;
        let metadata = match row.metadata {
            Some(mut object) if group.alone => {
                object.remove("doc_id");
                if object.is_empty() { String::new() } else { Value::Object(object).to_string() }
            }
            _ => String::new(),
        };
        writer.add_document(&group.id, "", &metadata).map_err(at(first.line))?;
        imported.documents += 1;
        return Ok(Some(Reading { group, at: 0 }));
    };
    if head.pending.is_some() {
        let error =
            Error::invalid(format!("an append to document {:?} is not complete; run that again first", group.id));
        return Err(at(first.line)(error));
    }
    for (ordinal, place) in (0..head.chunks).zip(&group.rows) {
        let row = corpus.row(*place)?;
        let chunk = writer.chunk_id(head.number, ordinal)?;
        let stored = writer.stored(chunk)?;
        let same = stored.external_id.as_deref() == Some(&row._id)
            && stored.title == row.title.unwrap_or_default()
            && stored.text == row.text.unwrap_or_default();
        if !same {
            return Err(at(place.line)(Error::invalid(format!(
                "row {:?} is chunk {}#{ordinal}, and the index has another chunk there",
                row._id, group.id
            ))));
        }
        imported.skipped += 1;
    }
    let done = head.chunks as usize;
    if done >= group.rows.len() {
        if head.state == DocumentState::Staged {
            writer.publish(&group.id)?;
        }
        return Ok(None);
    }
    imported.documents += u64::from(head.state == DocumentState::Staged);
    Ok(Some(Reading { group, at: done }))
}

/// Reads the next row of each document.
fn round(writer: &mut Writer, corpus: &mut Corpus, reader: &mut Reader<'_>, open: &[Reading]) -> Result<()> {
    let mut rows = Vec::with_capacity(open.len());
    for reading in open {
        let place = reading.group.rows.get(reading.at).copied();
        let place = place.ok_or_else(|| Error::invalid("a document without further rows"))?;
        rows.push((reading.group.id.as_str(), corpus.row(place)?, place.line));
    }
    let chunks: Vec<(&str, NewChunk<'_>)> = rows
        .iter()
        .map(|(id, row, _)| {
            let chunk = NewChunk {
                title: row.title.as_deref().unwrap_or_default(),
                text: row.text.as_deref().unwrap_or_default(),
                external_id: Some(&row._id),
                span: None,
            };
            (*id, chunk)
        })
        .collect();
    let line = rows.first().map_or(0, |(_, _, line)| *line);
    reader.read_chunks(writer, &chunks).map_err(at(line))
}

/// The corpus, to read rows from where they lie.
struct Corpus {
    file: File,
    path: PathBuf,
}

impl Corpus {
    fn row(&mut self, place: Place) -> Result<Row> {
        let mut bytes = vec![0; place.bytes as usize];
        self.file
            .seek(SeekFrom::Start(place.offset))
            .and_then(|_| self.file.read_exact(&mut bytes))
            .map_err(Error::io("read", Some(&self.path)))?;
        row(&bytes).map_err(at(place.line))
    }
}

fn row(bytes: &[u8]) -> Result<Row> {
    let text = super::line::text(bytes)?;
    let row: Row = parse(text)?;
    if row._id.is_empty() {
        return Err(Error::invalid("\"_id\" must not be empty"));
    }
    Ok(row)
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(Error::io("open", Some(path)))
}

/// An error that names the file beside the line.
fn in_file(path: &Path) -> impl FnOnce(Error) -> Error {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    move |error| match error {
        Error::Line { line, source } => {
            Error::Line { line, source: Box::new(Error::invalid(format!("{name}: {source}"))) }
        }
        other => other,
    }
}

/// The rows of a corpus by document, documents in the order of their first rows.
fn groups(path: &Path) -> Result<Vec<Group>> {
    let mut lines = Lines::new(BufReader::new(open(path)?));
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    while let Some((line, bytes)) = lines.next()? {
        let bytes_in_row = bytes.len() as u32;
        let row = row(bytes).map_err(at(line)).map_err(in_file(path))?;
        let document = row.document().map_err(at(line)).map_err(in_file(path))?.map(str::to_owned);
        let alone = document.is_none();
        let id = document.unwrap_or(row._id);
        let place = Place { line, offset: lines.offset(), bytes: bytes_in_row };
        let group = match known.get(&id) {
            Some(&group) => group,
            None => {
                known.insert(id.clone(), groups.len());
                groups.push(Group { id, alone, rows: Vec::new() });
                groups.len() - 1
            }
        };
        let Some(group) = groups.get_mut(group) else { continue };
        if !group.rows.is_empty() && (alone || group.alone) {
            let error = Error::invalid(format!("a second document {:?}", group.id));
            return Err(in_file(path)(at(line)(error)));
        }
        group.rows.push(place);
    }
    Ok(groups)
}

/// A question of a BEIR folder.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) id: String,
    pub(crate) text: String,
    /// The document that is asked; else all are.
    pub(crate) document: Option<String>,
}

/// The questions of a BEIR folder, in file order.
pub(crate) fn queries(folder: &Path) -> Result<Vec<Query>> {
    let path = folder.join("queries.jsonl");
    let mut lines = Lines::new(BufReader::new(open(&path)?));
    let mut queries = Vec::new();
    while let Some((line, bytes)) = lines.next()? {
        let query = row(bytes).and_then(|row| {
            let document = row.document()?.map(str::to_owned);
            Ok(Query { document, id: row._id, text: row.text.unwrap_or_default() })
        });
        queries.push(query.map_err(at(line)).map_err(in_file(&path))?);
    }
    Ok(queries)
}

/// The ids of the relevant chunks (those with a positive score) of each question.
pub(crate) fn relevant(folder: &Path) -> Result<HashMap<String, HashSet<String>>> {
    let path = folder.join("qrels").join("test.tsv");
    let mut lines = Lines::new(BufReader::new(open(&path)?));
    let mut relevant: HashMap<String, HashSet<String>> = HashMap::new();
    // The first line names the columns.
    lines.next()?;
    while let Some((line, bytes)) = lines.next()? {
        let judgement = super::line::text(bytes).and_then(|text| {
            let columns: Vec<&str> = text.split('\t').collect();
            match columns.as_slice() {
                [query, chunk, score] => match score.trim().parse::<i64>() {
                    Ok(score) => Ok((query.to_string(), chunk.to_string(), score)),
                    Err(_) => Err(Error::invalid(format!("expected a whole number for a score, got {score:?}"))),
                },
                other => Err(Error::invalid(format!(
                    "expected question, chunk and score, parted by tabs; got {} columns",
                    other.len()
                ))),
            }
        });
        let (query, chunk, score) = judgement.map_err(at(line)).map_err(in_file(&path))?;
        if score > 0 {
            relevant.entry(query).or_default().insert(chunk);
        }
    }
    Ok(relevant)
}
