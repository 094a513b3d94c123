//! Compiling documents: the outline by pieces, the records by chunks.
//!
//! A document is compiled after it was read, and only as far as it has grown since: pieces of 30,000 characters that
//! overlap by 2,000 go to the compiler, chunks to the extractor. How far it is, the index knows, so a compile that was
//! interrupted goes on where its last commit was.

use super::build::Acknowledged;
use super::compiler::{Compiler, DiscoverInput, ExtractInput, Extracted, Extractor, KnownEntity, RecordInput, Schema};
use crate::index::Writer;
use crate::index::outline::{Compiled as Progress, clip};
use crate::index::records::RECORD_CHUNKS;
use crate::ingest::{Category, SubjectUpdate};
use crate::text::{Chunker, Chunking, key};
use crate::{Error, Result};
use plica_format::document::DocumentState;
use plica_format::limits::{CONTEXT_BYTES, SUBJECT_LINKS, SUMMARY_BYTES};
use plica_format::outline::{Field, Subject, Value};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Characters of a piece, unless asked otherwise.
pub const PIECE_CHARACTERS: usize = 30_000;
/// Characters that a piece has in common with the one before, unless asked otherwise.
pub const OVERLAP_CHARACTERS: usize = 2_000;
/// Descriptions of a record that a compiler is shown.
const DESCRIPTIONS: usize = 8;
/// Text before a chunk that its headings and its table's header are looked for in.
const CONTEXT_WINDOW_BYTES: usize = 32 << 10;
/// Time after which a long compile commits what it has.
const COMMIT_TIME: Duration = Duration::from_secs(2);

/// What compiling a document did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compiled {
    /// Categories that were discovered.
    pub categories: u32,
    /// Pieces that were read.
    pub pieces: u32,
    /// Subjects that are new or have grown, counted once a piece.
    pub subjects: u64,
    /// Chunks whose records were extracted.
    pub chunks: u32,
    /// Records that are new or have another passage.
    pub records: u64,
}

/// Told of a document's id, the bytes of it that are compiled, and all its bytes.
type ProgressSink<'a> = Box<dyn FnMut(&str, u64, u64) + 'a>;

/// Compiles documents with a compiler, an extractor, or both.
pub struct Compile<'a> {
    compiler: Option<&'a dyn Compiler>,
    extractor: Option<&'a dyn Extractor>,
    piece: usize,
    overlap: usize,
    budget: Option<u32>,
    cancel: Option<&'a AtomicBool>,
    acknowledge: Box<dyn FnMut(Acknowledged) + 'a>,
    progress: ProgressSink<'a>,
    last_commit: Instant,
}

impl std::fmt::Debug for Compile<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compile")
            .field("compiler", &self.compiler.is_some())
            .field("extractor", &self.extractor.is_some())
            .field("piece", &self.piece)
            .field("overlap", &self.overlap)
            .finish_non_exhaustive()
    }
}

impl<'a> Compile<'a> {
    /// Compiles outlines with `compiler` and records with `extractor`; without one, that part is left alone.
    pub fn new(compiler: Option<&'a dyn Compiler>, extractor: Option<&'a dyn Extractor>) -> Self {
        Self {
            compiler,
            extractor,
            piece: PIECE_CHARACTERS,
            overlap: OVERLAP_CHARACTERS,
            budget: None,
            cancel: None,
            acknowledge: Box::new(|_| ()),
            progress: Box::new(|_, _, _| ()),
            last_commit: Instant::now(),
        }
    }

    /// Reads pieces of `characters` characters, of which `overlap` are those of the piece before.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the overlap is more than half of the piece.
    pub fn pieces(mut self, characters: usize, overlap: usize) -> Result<Self> {
        if characters < 2 || overlap > characters / 2 {
            return Err(Error::invalid(format!(
                "a piece of {characters} characters cannot overlap by {overlap}: at most by half"
            )));
        }
        (self.piece, self.overlap) = (characters, overlap);
        Ok(self)
    }

    /// Page budget of outlines that have no subject yet, in tokens: 512 to 16,384.
    pub fn budget(mut self, tokens: u32) -> Self {
        self.budget = Some(tokens);
        self
    }

    /// Stops with [`Error::Cancelled`] when `cancel` is set, after committing what is complete.
    pub fn cancel(mut self, cancel: &'a AtomicBool) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Calls `acknowledge` after each commit has returned.
    pub fn on_commit(mut self, acknowledge: impl FnMut(Acknowledged) + 'a) -> Self {
        self.acknowledge = Box::new(acknowledge);
        self
    }

    /// Calls `progress` with a document's id, the bytes of it that are compiled and all its bytes.
    pub fn on_progress(mut self, progress: impl FnMut(&str, u64, u64) + 'a) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Compiles what is new of a document, and commits it.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the document's build or append is not complete, [`Error::Model`] where the compiler names a
    /// category that was not discovered or a place outside the piece. What was committed stays.
    pub fn compile(&mut self, writer: &mut Writer, document: &str) -> Result<Compiled> {
        let head = writer.head(document)?;
        let head = head.ok_or_else(|| Error::NotFound { what: "document", name: document.to_owned() })?;
        if head.state != DocumentState::Live || head.pending.is_some_and(|(_, before)| before < head.chunks) {
            return Err(Error::invalid(format!(
                "a build or an append of document {document:?} is not complete; run that again first"
            )));
        }
        if writer.has_changes() {
            return Err(Error::invalid(
                "the writer holds additions that are not committed; commit them before a compile",
            ));
        }
        self.last_commit = Instant::now();
        let mut done = Compiled::default();
        let result = self.outline(writer, document, &mut done).and_then(|()| self.records(writer, document, &mut done));
        match result {
            Ok(()) => self.commit(writer)?,
            Err(Error::Cancelled) => {
                self.commit(writer)?;
                return Err(Error::Cancelled);
            }
            Err(error @ (Error::InDoubt { .. } | Error::Unusable { .. })) => return Err(error),
            Err(error) => {
                writer.rollback()?;
                return Err(error);
            }
        }
        Ok(done)
    }

    fn outline(&mut self, writer: &mut Writer, document: &str, done: &mut Compiled) -> Result<()> {
        let Some(compiler) = self.compiler else { return Ok(()) };
        let number = writer.document_number(document)?;
        if let Some(budget) = self.budget {
            writer.set_outline_budget(document, budget)?;
        }
        let total = writer.text_bytes(document)?;
        if !writer.compiled(number)?.discovered {
            done.categories = self.discover(compiler, writer, document)?;
        }
        let schema = schema(writer, document)?;
        let title = writer.title(document)?;
        loop {
            let state = writer.compiled(number)?;
            (self.progress)(document, state.compiled, total);
            if state.compiled >= total {
                return Ok(());
            }
            self.stop_if_cancelled()?;
            let piece = writer.piece(document, state.compiled, self.overlap, self.piece)?;
            let input = ExtractInput {
                document,
                document_title: &title,
                schema: &schema,
                text: &piece.text,
                overlap: piece.overlap,
                context: &state.context,
                entities: &known(writer, Some(&piece.chunks), document)?,
            };
            let extracted = compiler.extract(&input)?;
            done.subjects += take(writer, document, &schema, &piece, &extracted)?;
            done.pieces += 1;
            let [discover, extract, summarise, records] = writer.compiled(number)?.calls;
            let progress = Progress {
                compiled: piece.start + piece.text.len() as u64,
                context: clip_bytes(&extracted.context, CONTEXT_BYTES).to_owned(),
                calls: [discover, extract + 1, summarise, records],
                ..state
            };
            writer.set_compiled(number, &progress)?;
            self.commit_if_due(writer)?;
        }
    }

    fn discover(&mut self, compiler: &dyn Compiler, writer: &mut Writer, document: &str) -> Result<u32> {
        let text = writer.whole_text(document)?;
        let entities = known(writer, None, document)?;
        let title = writer.title(document)?;
        let input = DiscoverInput { document, document_title: &title, text: &text, entities: &entities };
        let schema = compiler.discover(&input)?;
        let limit = writer.outline_budget(document)? / 8;
        // What was given before stays.
        let (title, summary) = writer.outline_root(document)?;
        let or = |given: String, found: &str| if given.is_empty() { clip(found, limit, SUMMARY_BYTES) } else { given };
        let root = Category { path: Vec::new(), summary: or(summary, &schema.summary), fields: Vec::new() };
        writer.add_category(document, &root, &or(title, &schema.title))?;
        let known = writer.categories(document)?;
        for category in &schema.categories {
            if category.path.is_empty() {
                return Err(Error::Model { message: "a category without a name was discovered".into() });
            }
            let keys = |path: &[String]| path.iter().map(|name| key(name)).collect::<Vec<_>>();
            let before = known.iter().find(|before| keys(&before.path) == keys(&category.path));
            let summary = or(before.map_or(String::new(), |before| before.summary.clone()), &category.summary);
            writer.add_category(document, &Category { summary, ..category.clone() }, "")?;
        }
        let number = writer.document_number(document)?;
        let mut state = writer.compiled(number)?;
        state.discovered = true;
        if let Some(calls) = state.calls.first_mut() {
            *calls += 1;
        }
        writer.set_compiled(number, &state)?;
        Ok(schema.categories.len() as u32)
    }

    fn records(&mut self, writer: &mut Writer, document: &str, done: &mut Compiled) -> Result<()> {
        let Some(extractor) = self.extractor else { return Ok(()) };
        let number = writer.document_number(document)?;
        let title = writer.title(document)?;
        let chunks = writer.head(document)?.map_or(0, |head| head.chunks);
        let mut before = writer.text_before(number, writer.compiled(number)?.extracted, CONTEXT_WINDOW_BYTES)?;
        loop {
            let mut state = writer.compiled(number)?;
            if state.extracted >= chunks {
                return Ok(());
            }
            self.stop_if_cancelled()?;
            let ordinal = state.extracted;
            let chunk = writer.chunk_id(number, ordinal)?;
            let stored = writer.stored(chunk)?;
            let under = if stored.title.is_empty() { title_at(&mut before, &stored.text) } else { stored.title };
            let input = RecordInput {
                document,
                document_title: &title,
                ordinal,
                title: &under,
                text: &stored.text,
                entities: &known(writer, Some(&[chunk]), document)?,
            };
            for record in extractor.records(&input)? {
                match writer.add_record(document, &record, &[ordinal]) {
                    // What stands in so many chunks that no more can be listed keeps those it has.
                    Err(Error::Limit { what: RECORD_CHUNKS, .. }) => {}
                    added => done.records += u64::from(added?),
                }
            }
            done.chunks += 1;
            state.extracted += 1;
            if let Some(calls) = state.calls.last_mut() {
                *calls += 1;
            }
            writer.set_compiled(number, &state)?;
            self.commit_if_due(writer)?;
        }
    }

    fn stop_if_cancelled(&self) -> Result<()> {
        match self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            true => Err(Error::Cancelled),
            false => Ok(()),
        }
    }

    fn commit_if_due(&mut self, writer: &mut Writer) -> Result<()> {
        if self.last_commit.elapsed() >= COMMIT_TIME { self.commit(writer) } else { Ok(()) }
    }

    fn commit(&mut self, writer: &mut Writer) -> Result<()> {
        self.last_commit = Instant::now();
        if writer.has_changes() {
            let commit = writer.commit()?;
            (self.acknowledge)(Acknowledged { commit, chunks: writer.chunks() });
        }
        Ok(())
    }
}

/// A piece of a document.
pub(crate) struct Piece {
    /// Where it begins in the text of the document.
    pub(crate) start: u64,
    pub(crate) text: String,
    /// Bytes at its start that the piece before had.
    pub(crate) overlap: usize,
    /// The chunks that it touches, with the places of their texts: in the document's text, and in the source.
    pub(crate) places: Vec<(u64, u64)>,
    /// Internal ids of those chunks.
    pub(crate) chunks: Vec<u32>,
}

impl Piece {
    /// The place in the source of a place in the piece. An end belongs to the chunk before it.
    fn in_source(&self, at: usize, is_end: bool) -> u64 {
        let at = self.start + at as u64;
        let found = self.places.iter().rev().find(|(text, _)| if is_end { *text < at } else { *text <= at });
        found.map_or(at, |(text, source)| source + (at - text))
    }
}

/// The categories of a document, as a compiler sees them.
fn schema(writer: &Writer, document: &str) -> Result<Schema> {
    let (title, summary) = writer.outline_root(document)?;
    Ok(Schema { title, summary, categories: writer.categories(document)? })
}

/// Records of the entity memory: of some chunks, or of the document.
fn known(writer: &Writer, chunks: Option<&[u32]>, document: &str) -> Result<Vec<KnownEntity>> {
    let entities: BTreeSet<u32> = match chunks {
        Some(chunks) => {
            let mut entities = BTreeSet::new();
            for &chunk in chunks {
                entities.extend(writer.entities_of_chunk(chunk)?);
            }
            entities
        }
        None => writer.entities_of(document)?.into_iter().collect(),
    };
    entities.into_iter().map(|entity| writer.known_entity(document, entity, DESCRIPTIONS)).collect()
}

/// Adds what a piece says, and counts the subjects that changed.
fn take(writer: &mut Writer, document: &str, schema: &Schema, piece: &Piece, extracted: &Extracted) -> Result<u64> {
    let keys = |path: &[String]| path.iter().map(|name| key(name)).collect::<Vec<_>>();
    let categories: BTreeSet<Vec<String>> = schema.categories.iter().map(|category| keys(&category.path)).collect();
    let budget = writer.outline_budget(document)?;
    let mut changed = 0;
    for update in &extracted.subjects {
        if !categories.contains(&keys(&update.category)) {
            return Err(Error::Model {
                message: format!(
                    "subject {:?} is put into category {:?}, which was not discovered",
                    update.name,
                    update.category.join(" / ")
                ),
            });
        }
        let name = named(writer, document, update)?;
        // A subject of a long document is linked to more than one may keep; the first are kept.
        let linked = writer.subject(document, &update.category, &name)?.map_or(0, |known| known.links.len());
        let mut subject = Subject {
            name,
            summary: clip(&update.summary, budget / 8, SUMMARY_BYTES),
            fields: Vec::new(),
            links: update.links.iter().take(SUBJECT_LINKS.saturating_sub(linked)).cloned().collect(),
        };
        for field in &update.fields {
            let span = match field.span {
                Some((start, end)) if start <= end && piece.text.get(start..end).is_some() => {
                    Some((piece.in_source(start, false), piece.in_source(end, true)))
                }
                Some((start, end)) => {
                    return Err(Error::Model {
                        message: format!(
                            "field {:?} of {:?} is said to stand at {start}..{end}, which are no characters of a piece of {} bytes",
                            field.name,
                            update.name,
                            piece.text.len()
                        ),
                    });
                }
                None => None,
            };
            let value = Value { text: field.value.clone(), span };
            subject.fields.push(Field { name: field.name.clone(), values: vec![value] });
        }
        changed += u64::from(writer.add_subject(document, &update.category, &subject)?);
    }
    Ok(changed)
}

/// The name of the subject that an update is of: the one of that name; else one that the entity memory knows by another
/// name; else the memory's own name, or the one given.
fn named(writer: &Writer, document: &str, update: &SubjectUpdate) -> Result<String> {
    if writer.subject(document, &update.category, &update.name)?.is_some() {
        return Ok(update.name.clone());
    }
    let records = writer.entities_named(document, &update.name)?;
    for &entity in &records {
        let record = writer.known_entity(document, entity, 0)?;
        for name in std::iter::once(&record.name).chain(&record.aliases) {
            if let Some(subject) = writer.subject(document, &update.category, name)? {
                return Ok(subject.name);
            }
        }
    }
    match records.as_slice() {
        [only] => Ok(writer.known_entity(document, *only, 0)?.name),
        _ => Ok(update.name.clone()),
    }
}

/// Headings and table header that stand over the start of a chunk, by the text before it, which then ends with the chunk.
fn title_at(before: &mut String, text: &str) -> String {
    let at = before.len();
    before.push_str(text);
    let title = Chunking::Rows.plan(Chunker::default(), before).next(at).1;
    let mut cut = before.len().saturating_sub(CONTEXT_WINDOW_BYTES);
    while !before.is_char_boundary(cut) {
        cut += 1;
    }
    before.drain(..cut);
    title
}

fn clip_bytes(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
