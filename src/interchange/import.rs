//! Taking JSON lines into an index, so that a killed import can be run again.
//!
//! What is there already is recognised and passed over: a chunk by its id, or, without one, by its place; a summary by
//! its place; records only grow by what is new. So the lines that were committed before say nothing new the second
//! time, and an import that is complete changes nothing when it is repeated.
//!
//! *Chunks without an id.* In a document that was there before the import, after a document line they count from the
//! document's first chunk; without a document line, from the first chunk that is the same as the first such line (where
//! there is none, all are new). From there on each must be the same as the chunk in its place, until the document's end
//! is reached and the rest is appended.
//!
//! *Order.* A document line comes before its chunks. Entity, summary, outline and record lines may come before their document or their
//! chunks: they wait, within a bound, and what still waits at the end is an error.

use super::ahead::{ParsedLine, each_line};
use super::held::{Held, SummaryPlace};
use super::line::{ChunkLine, DocumentLine, EntityLine, Line, SummaryLine, at};
use crate::index::{ChunkCounts, MemoryScope, NewChunk, Origin, Stored, Writer};
use crate::ingest::{Acknowledged, EntityUpdate};
use crate::{Error, Result};
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::fold::cover;
use plica_format::key::INDEX_SCOPE;
use std::collections::HashMap;
use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};

/// How lines are imported.
#[derive(Default)]
pub struct ImportOptions<'a> {
    commit_chunks: Option<u32>,
    acknowledge: Option<Box<dyn FnMut(Acknowledged) + 'a>>,
    cancel: Option<&'a AtomicBool>,
}

impl std::fmt::Debug for ImportOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ImportOptions").field("commit_chunks", &self.commit_chunks).finish_non_exhaustive()
    }
}

impl<'a> ImportOptions<'a> {
    /// One commit at the end, no acknowledgement, nothing that cancels.
    pub fn new() -> Self {
        Self::default()
    }

    /// Commits after every `chunks` chunks that are appended, and at the end. A new document is seen by readers from
    /// the first of these commits on.
    pub fn commit_every(mut self, chunks: u32) -> Self {
        self.commit_chunks = Some(chunks.max(1));
        self
    }

    /// Calls `acknowledge` after each commit has returned.
    pub fn on_commit(mut self, acknowledge: impl FnMut(Acknowledged) + 'a) -> Self {
        self.acknowledge = Some(Box::new(acknowledge));
        self
    }

    /// Stops with [`Error::Cancelled`] when `cancel` is set. What was committed stays, and the same import goes on
    /// from there.
    pub fn cancel(mut self, cancel: &'a AtomicBool) -> Self {
        self.cancel = Some(cancel);
        self
    }
}

/// What an import did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Imported {
    /// New documents.
    pub documents: u64,
    /// Chunks that were appended.
    pub chunks: u64,
    /// Entity lines that added something.
    pub entities: u64,
    /// Summaries that were set.
    pub summaries: u64,
    /// Outline and page summary lines that added something.
    pub outline: u64,
    /// Record lines that added something.
    pub records: u64,
    /// Lines that said nothing new.
    pub skipped: u64,
}

/// Imports JSON lines (see [the module](super)) and commits them.
///
/// It may be repeated: an identical chunk or summary line is passed over. Of two summaries for one place in one import
/// the last stays. Entity lines add to the record of that very name, record
/// lines the chunks that they name to that record. A document line sets the title and metadata it
/// has. A new document is seen by readers when the import ends, or from its first commit on
/// ([`ImportOptions::commit_every`]). No model is called.
///
/// # Errors
/// [`Error::Line`] with the number of the line that cannot be taken. On any error what was not committed is dropped;
/// the writer can go on.
pub fn import(writer: &mut Writer, lines: impl BufRead, options: ImportOptions<'_>) -> Result<Imported> {
    if writer.has_changes() {
        return Err(Error::invalid("the writer holds additions that are not committed; commit them before an import"));
    }
    let mut import = Import {
        first_document: writer.next_document(),
        first_chunk: writer.next_chunk(),
        writer,
        options,
        imported: Imported::default(),
        held: Held::default(),
        cursors: HashMap::new(),
        staged: Vec::new(),
        since_commit: 0,
        ends: HashMap::new(),
    };
    match import.run(lines) {
        Ok(()) => Ok(import.imported),
        Err(error @ (Error::InDoubt { .. } | Error::Unusable { .. })) => Err(error),
        Err(error) => {
            import.writer.rollback()?;
            Err(error)
        }
    }
}

/// An import at work.
pub(super) struct Import<'w, 'o> {
    pub(super) writer: &'w mut Writer,
    options: ImportOptions<'o>,
    pub(super) imported: Imported,
    pub(super) held: Held,
    /// Where lines of chunks without an id are, in documents that were there before: the next ordinal.
    cursors: HashMap<u32, u32>,
    /// Ids of documents that are new and not published yet.
    staged: Vec<String>,
    since_commit: u32,
    /// Where the sources of documents end by now, where outline lines asked.
    pub(super) ends: HashMap<u32, u64>,
    /// Documents and chunks with these numbers or greater ones are new in this import.
    first_document: u32,
    first_chunk: u32,
}

impl Import<'_, '_> {
    fn run(&mut self, lines: impl BufRead) -> Result<()> {
        let (threads, hasher) = (self.writer.options().threads, self.writer.term_hasher());
        each_line(lines, threads, &hasher, |parsed| {
            if self.options.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
                return Err(Error::Cancelled);
            }
            let ParsedLine { number, length, line, counts } = parsed;
            match line {
                Line::Chunk(line) => self.chunk(line, counts),
                line => self.take(number, line, length),
            }
            .map_err(at(number))?;
            match self.options.commit_chunks.is_some_and(|chunks| self.since_commit >= chunks) {
                true => self.commit(),
                false => Ok(()),
            }
        })?;
        for (chunk, entity, line) in self.held.take_links(INDEX_SCOPE) {
            match self.resolve(None, &chunk).map_err(at(line))? {
                Some(found) => {
                    self.link(entity, found)?;
                }
                None => self.held.hold_link(INDEX_SCOPE, &chunk, entity, line).map_err(at(line))?,
            }
        }
        self.late_outlines()?;
        std::mem::take(&mut self.held).finish()?;
        self.commit()
    }

    fn take(&mut self, number: u64, line: Line, length: usize) -> Result<()> {
        match line {
            Line::Document(line) => self.document(line),
            Line::Chunk(line) => self.chunk(line, None),
            Line::Entity(line) => match line.doc.as_deref() {
                Some(id) if self.find(id)?.is_none() => {
                    let id = id.to_owned();
                    self.held.hold_line(&id, number, Line::Entity(line), length)
                }
                _ => self.entity(number, line),
            },
            Line::Record(line) => match self.find(&line.doc)? {
                Some(_) => self.record(number, line),
                None => {
                    let id = line.doc.clone();
                    self.held.hold_line(&id, number, Line::Record(line), length)
                }
            },
            Line::Outline(line) => match self.find(&line.doc)? {
                Some(_) => self.outline(number, line, length),
                None => {
                    let id = line.doc.clone();
                    self.held.hold_line(&id, number, Line::Outline(line), length)
                }
            },
            Line::PageSummary(line) => match self.find(&line.doc)? {
                Some(_) => self.page_summary(line),
                None => {
                    let id = line.doc.clone();
                    self.held.hold_line(&id, number, Line::PageSummary(line), length)
                }
            },
            Line::Summary(line) => match self.find(&line.doc)? {
                Some(_) => self.summary(number, line),
                None => {
                    let id = line.doc.clone();
                    self.held.hold_line(&id, number, Line::Summary(line), length)
                }
            },
        }
    }

    /// Number of a document and its chunks; `None` where it is not known.
    fn find(&self, id: &str) -> Result<Option<(u32, u32)>> {
        let facts = |head: &DocumentHead| (head.number, head.chunks, head.state, head.pending.is_some());
        let Some((number, chunks, state, pending)) = self.writer.peek_by_id(id, facts)? else { return Ok(None) };
        if state == DocumentState::Staged && number < self.first_document || pending {
            return Err(Error::invalid(format!(
                "a build or an append of document {id:?} is not complete; run that again first"
            )));
        }
        Ok(Some((number, chunks)))
    }

    pub(super) fn known(&self, id: &str) -> Result<(u32, u32)> {
        self.find(id)?.ok_or_else(|| {
            Error::invalid(format!("no document {id:?}; a line of type \"document\" must come before its chunks"))
        })
    }

    fn document(&mut self, line: DocumentLine) -> Result<()> {
        let stated = line.stated()?;
        let options = self.writer.options();
        let (fanout, words, memory) = (options.fanout, options.chunk_words, options.memory);
        if stated.fanout.is_some_and(|stated| stated != fanout) {
            return Err(differs("fan-out", fanout, stated.fanout.unwrap_or_default()));
        }
        if stated.chunk_words.is_some_and(|stated| stated != words) {
            return Err(differs("number of words a chunk", words, stated.chunk_words.unwrap_or_default()));
        }
        if stated.memory.is_some_and(|stated| stated != memory) {
            return Err(differs("memory", scope_name(memory), line.memory.as_deref().unwrap_or_default()));
        }
        let metadata = line.metadata.map(|object| match object.is_empty() {
            true => String::new(),
            false => serde_json::Value::Object(object).to_string(),
        });
        if let Some((number, _)) = self.find(&line.doc)? {
            if number < self.first_document {
                self.cursors.entry(number).or_insert(0);
            }
            let (title_before, metadata_before) = self.writer.described(&line.doc)?;
            let title = line.title.unwrap_or_else(|| title_before.clone());
            let metadata = metadata.unwrap_or_else(|| metadata_before.clone());
            if title == title_before && metadata == metadata_before {
                self.imported.skipped += 1;
                return Ok(());
            }
            return self.writer.describe(&line.doc, &title, &metadata);
        }
        let (title, metadata) = (line.title.unwrap_or_default(), metadata.unwrap_or_default());
        self.writer.add_document(&line.doc, &title, &metadata)?;
        self.staged.push(line.doc.clone());
        self.imported.documents += 1;
        for (number, waiting) in self.held.lines_of(&line.doc) {
            self.take(number, waiting, 0).map_err(at(number))?;
        }
        Ok(())
    }

    fn chunk(&mut self, line: ChunkLine, counts: Option<ChunkCounts>) -> Result<()> {
        let (number, chunks) = self.known(&line.doc)?;
        let span = match (line.start, line.end) {
            (None, None) => None,
            (Some(start), Some(end)) if start <= end => Some((start, end)),
            (Some(start), Some(end)) => {
                return Err(Error::invalid(format!("\"start\" must not be behind \"end\", got {start} and {end}")));
            }
            _ => return Err(Error::invalid("\"start\" and \"end\" come together or not at all")),
        };
        let chunk = NewChunk {
            title: line.title.as_deref().unwrap_or_default(),
            text: &line.text,
            external_id: line.id.as_deref(),
            span,
        };
        let is_new = number >= self.first_document;
        if let Some(id) = chunk.external_id
            && let Some(known) = self.writer.chunk_by_external_id(number, id)?
        {
            let stored = self.writer.stored(known)?;
            if let Some(difference) = difference(&stored, &chunk) {
                return Err(Error::invalid(format!(
                    "document {:?} has a chunk {id:?} with another {difference}; use another id for another chunk",
                    line.doc
                )));
            }
            if !is_new {
                self.cursors.insert(number, self.writer.place_of(known)?.1 + 1);
            }
            self.imported.skipped += 1;
            return Ok(());
        }
        if !is_new && chunk.external_id.is_none() && self.is_there(&line.doc, (number, chunks), &chunk)? {
            self.imported.skipped += 1;
            return Ok(());
        }
        let appended = self.writer.give_chunk(&line.doc, &chunk, counts)?;
        if let Some(end) = self.ends.get_mut(&number) {
            let grown = self.writer.text_bytes(&line.doc)?;
            *end = (*end).max(grown).max(chunk.span.map_or(0, |(_, end)| end));
        }
        self.imported.chunks += 1;
        self.since_commit += 1;
        if !is_new {
            self.cursors.insert(number, appended.ordinal + 1);
        }
        if self.held.waits_for_chunks(number) {
            let chunk = self.writer.next_chunk() - 1;
            let names = [line.id, Some(format!("{}#{}", line.doc, appended.ordinal))];
            for name in names.into_iter().flatten() {
                for (entity, _) in self.held.links_to(number, &name) {
                    self.link(entity, chunk)?;
                }
                for (record, line) in self.held.records_of(number, &name) {
                    self.give_record(number, record, chunk).map_err(at(line))?;
                }
            }
        }
        for (level, index) in appended.complete {
            if let Some((from, text)) = self.held.summary_of((number, level, index)) {
                self.set_summary(&line.doc, (number, level, index), from, &text).map_err(at(from))?;
            }
        }
        Ok(())
    }

    /// Whether a chunk without an id is the one in its place of a document that was there before.
    fn is_there(&mut self, id: &str, (number, chunks): (u32, u32), chunk: &NewChunk<'_>) -> Result<bool> {
        match self.cursors.get(&number).copied() {
            Some(ordinal) if ordinal >= chunks => Ok(false),
            Some(ordinal) => {
                let known = self.writer.chunk_id(number, ordinal)?;
                let stored = self.writer.stored(known)?;
                if let Some(difference) = difference(&stored, chunk) {
                    return Err(Error::invalid(format!(
                        "the chunk {id}#{ordinal}, whose place this line has, is there with another {difference}; to append to the document give new chunks an id, or leave the document line out"
                    )));
                }
                self.cursors.insert(number, ordinal + 1);
                Ok(true)
            }
            None => {
                for ordinal in 0..chunks {
                    let known = self.writer.chunk_id(number, ordinal)?;
                    if difference(&self.writer.stored(known)?, chunk).is_none() {
                        self.cursors.insert(number, ordinal + 1);
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }

    fn entity(&mut self, number: u64, line: EntityLine) -> Result<()> {
        let document = match &line.doc {
            Some(id) => Some((self.known(id)?.0, id.as_str())),
            None if self.writer.options().memory == MemoryScope::Index => None,
            None => {
                return Err(Error::invalid(
                    "an entity line without \"doc\"; in this index each document has a memory of its own",
                ));
            }
        };
        let given = EntityUpdate {
            name: line.name,
            kind: line.kind.unwrap_or_default(),
            aliases: line.aliases.unwrap_or_default(),
            descriptions: line.descriptions.unwrap_or_default(),
        };
        let (entity, mut grew) = self.writer.give_entity(document.map(|(number, _)| number), &given)?;
        for chunk in line.chunks.unwrap_or_default() {
            match self.resolve(document, &chunk)? {
                Some(found) => grew |= self.link(entity, found)?,
                None => {
                    let scope = document.map_or(INDEX_SCOPE, |(number, _)| number);
                    self.held.hold_link(scope, &chunk, entity, number)?;
                    grew = true;
                }
            }
        }
        match grew {
            true => self.imported.entities += 1,
            false => self.imported.skipped += 1,
        }
        Ok(())
    }

    /// The chunk that an entity line names: by its id, else as `DOC#ORDINAL`.
    pub(super) fn resolve(&mut self, document: Option<(u32, &str)>, name: &str) -> Result<Option<u32>> {
        if let Some((number, id)) = document {
            if let Some(chunk) = self.writer.chunk_by_external_id(number, name)? {
                return Ok(Some(chunk));
            }
            return self.at_place(id, name);
        }
        let mut found: Vec<u32> = self.writer.chunks_by_external_id(name)?.iter().map(|(_, chunk)| *chunk).collect();
        if let Some((id, _)) = name.rsplit_once('#') {
            found.extend(self.at_place(id, name)?);
        }
        found.sort_unstable();
        found.dedup();
        match found.as_slice() {
            [] => Ok(None),
            [chunk] => Ok(Some(*chunk)),
            several => {
                let candidates = several.iter().map(|&chunk| self.writer.place_name(chunk)).collect::<Result<_>>()?;
                Err(Error::Ambiguous { what: "chunk", name: name.to_owned(), candidates })
            }
        }
    }

    /// The chunk of document `id` that `name` names as `DOC#ORDINAL`, where it is there.
    fn at_place(&mut self, id: &str, name: &str) -> Result<Option<u32>> {
        let Some(ordinal) = crate::index::ordinal_of(id, name) else { return Ok(None) };
        match self.writer.peek_by_id(id, |head| (head.number, head.chunks))? {
            Some((number, chunks)) if ordinal < chunks => self.writer.chunk_id(number, ordinal).map(Some),
            _ => Ok(None),
        }
    }

    /// Links a chunk to a record; gives whether that was new.
    fn link(&mut self, entity: u32, chunk: u32) -> Result<bool> {
        self.writer.give_link(entity, chunk, chunk >= self.first_chunk)
    }

    fn summary(&mut self, number: u64, line: SummaryLine) -> Result<()> {
        let (document, chunks) = self.known(&line.doc)?;
        let covered = match line.level {
            0 => return Err(Error::invalid("summaries have levels from 1, got 0")),
            level => cover(self.writer.options().fanout, level),
        };
        let end = covered.and_then(|cover| line.index.checked_add(1)?.checked_mul(cover));
        let end = end.ok_or_else(|| {
            Error::invalid(format!("summary {} of level {} lies outside any document", line.index, line.level))
        })?;
        let place = (document, line.level, line.index);
        if end > chunks {
            return self.held.hold_summary(place, number, line.text);
        }
        self.set_summary(&line.doc, place, number, &line.text)
    }

    /// Sets the summary of a complete unit, or finds it there.
    fn set_summary(&mut self, id: &str, place: SummaryPlace, line: u64, text: &str) -> Result<()> {
        let (_, level, index) = place;
        match self.writer.summary(id, level, index)? {
            Some(before) if before == text => {
                self.imported.skipped += 1;
                self.held.own(place);
                Ok(())
            }
            Some(_) if !self.held.is_ours(place) => self.held.conflict(place, line),
            _ => {
                self.writer.set_summary(id, level, index, text, Origin::Given)?;
                self.imported.summaries += 1;
                self.held.own(place);
                Ok(())
            }
        }
    }

    fn commit(&mut self) -> Result<()> {
        self.since_commit = 0;
        for id in self.staged.drain(..) {
            self.writer.publish(&id)?;
        }
        if self.writer.has_changes() {
            let commit = self.writer.commit()?;
            if let Some(acknowledge) = &mut self.options.acknowledge {
                acknowledge(Acknowledged { commit, chunks: self.writer.chunks() });
            }
        }
        Ok(())
    }
}

/// What of a chunk differs from the one that is there.
fn difference(stored: &Stored, chunk: &NewChunk<'_>) -> Option<&'static str> {
    match () {
        () if stored.text != chunk.text => Some("text"),
        () if stored.title != chunk.title => Some("title"),
        () if stored.span != chunk.span => Some("\"start\" or \"end\""),
        () if stored.external_id.as_deref() != chunk.external_id => Some("id"),
        () => None,
    }
}

fn scope_name(memory: MemoryScope) -> &'static str {
    match memory {
        MemoryScope::Document => "document",
        MemoryScope::Index => "index",
    }
}

fn differs(what: &str, index: impl std::fmt::Display, line: impl std::fmt::Display) -> Error {
    Error::invalid(format!(
        "the index has {what} {index}, the line says {line}; these are fixed when an index is created: import into a new index that is created with the line's"
    ))
}
