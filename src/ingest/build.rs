//! The reading loop (SAADI): recall, read the history, update, link, append, and fold every level that is complete.
//!
//! Documents can be read side by side in lock step: a round takes the next chunk of each, so that the model's calls of
//! a round may overlap. With a memory a document the result is the one of reading them one after another; with an
//! index-wide memory it would not be, so there they are read one after another.

use super::model::{FoldInput, HistoryUnit, Model, Recalled, UpdateInput};
use super::overlap::overlap;
use crate::index::{MemoryScope, NewChunk, Origin, Writer};
use crate::text::{ChunkPlan, Chunker, Chunking};
use crate::{Error, Result};
use plica_format::document::DocumentState;
use plica_format::limits::SUMMARY_BYTES;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bytes of text after which a long build commits what it has, where nothing else is asked for: so much is read again
/// after a crash. By bytes, so that the file does not depend on how quick the machine is.
const COMMIT_BYTES: usize = 1 << 20;
/// And the time after which it does where a model's answers cannot be had again for nothing.
const COMMIT_TIME: Duration = Duration::from_secs(2);
/// Level of zstd for what is read with a model: next to understanding a text, compressing it well costs little.
const READ_LEVEL: i32 = 9;

/// A document to read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Source<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its title, or empty.
    pub title: &'a str,
    /// Metadata: a JSON object, or empty.
    pub metadata: &'a str,
    /// Its text, whole.
    pub text: &'a str,
}

/// What [`Reader::build`] did with a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Built {
    /// It was not known, or its first build had not been completed; now it is read whole.
    New {
        /// Its chunks.
        chunks: u32,
    },
    /// It was known with another text; the new one has taken its place.
    Replaced {
        /// Its chunks.
        chunks: u32,
    },
    /// Its text had grown; the rest was read.
    Extended {
        /// Chunks that were added.
        added: u32,
    },
    /// The index holds this text already.
    Unchanged,
}

/// A commit that has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledged {
    /// Its sequence number.
    pub commit: u64,
    /// Chunks in the index, those of documents in the making included.
    pub chunks: u64,
}

/// Told of a document's id, the bytes of it that are read, and all its bytes.
type Progress<'a> = Box<dyn FnMut(&str, u64, u64) + 'a>;

/// Reads documents into an index with a model, or with none.
pub struct Reader<'a> {
    model: Option<&'a dyn Model>,
    commit_chunks: Option<u32>,
    threads: usize,
    again: bool,
    replace: bool,
    chunking: Chunking,
    cancel: Option<&'a AtomicBool>,
    acknowledge: Box<dyn FnMut(Acknowledged) + 'a>,
    progress: Progress<'a>,
    since_commit: u32,
    bytes_since_commit: usize,
    last_commit: Instant,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader")
            .field("model", &self.model.is_some())
            .field("commit_chunks", &self.commit_chunks)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// What a build found of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    New,
    Known,
    Replacing,
}

/// A document that is being read.
struct Reading<'a> {
    source: Source<'a>,
    /// Where the next chunk starts in the text.
    at: usize,
    added: u32,
}

impl<'a> Reader<'a> {
    /// A reader with a model; without one, chunks are stored and nothing is understood.
    pub fn new(model: Option<&'a dyn Model>) -> Self {
        Self {
            model,
            commit_chunks: None,
            threads: 1,
            again: false,
            replace: false,
            chunking: Chunking::Sentences,
            cancel: None,
            acknowledge: Box::new(|_| ()),
            progress: Box::new(|_, _, _| ()),
            since_commit: 0,
            bytes_since_commit: 0,
            last_commit: Instant::now(),
        }
    }

    /// Commits after every `chunks` chunks, instead of after each MiB of text; with a model whose answers cannot be
    /// had again for nothing ([`Model::answers_are_free`]), instead of about every two seconds.
    pub fn commit_every(mut self, chunks: u32) -> Self {
        self.commit_chunks = Some(chunks.max(1));
        self
    }

    /// Lets as many model calls overlap as there are documents read side by side, on up to `threads` threads. One
    /// thread, the caller's, by default.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Lets [`Reader::append`] add a text that the document ends with already, and leave an append of another text that
    /// was not completed as it is.
    pub fn again(&mut self, again: bool) -> &mut Self {
        self.again = again;
        self
    }

    /// Lets [`Reader::build`] put a text in the place of a document that is known with another one, instead of refusing
    /// it. Readers see the old one until the new one is complete, and then, with one commit, the new one. The outline and
    /// the records of the old one go with it. A replacement that was interrupted goes on where its last commit was.
    pub fn replace(mut self, replace: bool) -> Self {
        self.replace = replace;
        self
    }

    /// Cuts texts so, instead of by sentences alone. What was cut already stays; of a text that is appended, headings
    /// and tables count from its own start. A reading that was interrupted must go on with the same.
    pub fn chunking(mut self, chunking: Chunking) -> Self {
        self.chunking = chunking;
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

    /// Calls `progress` with a document's id, the bytes of it that are read and all its bytes.
    pub fn on_progress(mut self, progress: impl FnMut(&str, u64, u64) + 'a) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Reads one document and commits it. See [`Reader::build_all`].
    pub fn build(&mut self, writer: &mut Writer, source: Source<'_>) -> Result<Built> {
        let built = self.build_all(writer, &[source])?;
        built.into_iter().next().ok_or_else(|| Error::invalid("a build of one document built none"))
    }

    /// Reads documents side by side and commits them. One that the index does not know is new, and is seen by readers
    /// when it is complete; one that begins with what the index has of it is extended; one that the index has whole is
    /// left alone. A build that was interrupted goes on where its last commit was.
    ///
    /// # Errors
    /// [`Error::Invalid`] where a document is known with another text, unless [`Reader::replace`] was set.
    pub fn build_all(&mut self, writer: &mut Writer, sources: &[Source<'_>]) -> Result<Vec<Built>> {
        if writer.options().memory == MemoryScope::Index && sources.len() > 1 {
            let mut built = Vec::new();
            for source in sources {
                built.extend(self.build_all(writer, std::slice::from_ref(source))?);
            }
            return Ok(built);
        }
        let mut readings = Vec::new();
        let mut starts = Vec::new();
        for source in sources {
            let (at, start) = self.start(writer, source)?;
            readings.push(Reading { source: *source, at, added: 0 });
            starts.push(start);
        }
        self.read(writer, &mut readings)?;
        for source in sources {
            writer.publish(source.id)?;
        }
        self.commit(writer)?;
        let mut built = Vec::new();
        for (reading, start) in readings.iter().zip(starts) {
            let chunks = writer.head(reading.source.id)?.map_or(0, |head| head.chunks);
            built.push(match (start, reading.added) {
                (Start::Known, 0) => Built::Unchanged,
                (Start::Known, added) => Built::Extended { added },
                (Start::New, _) => Built::New { chunks },
                (Start::Replacing, _) => Built::Replaced { chunks },
            });
        }
        Ok(built)
    }

    /// Finds out what is there of a document, and where in its text to go on.
    fn start(&mut self, writer: &mut Writer, source: &Source<'_>) -> Result<(usize, Start)> {
        let Source { id, title, metadata, text } = *source;
        if text.is_empty() {
            return Err(Error::invalid(format!("document {id:?} is empty; there is nothing to read")));
        }
        writer.set_replacement_aside(id);
        let Some(head) = writer.head(id)? else {
            writer.add_document(id, title, metadata)?;
            return Ok((0, Start::New));
        };
        let is_complete = head.pending.is_none_or(|(_, before)| before == head.chunks);
        if !is_complete && !self.replace {
            return Err(Error::invalid(format!(
                "an append to document {id:?} is not complete; run it again to complete it, then build"
            )));
        }
        if is_complete && let Some(at) = writer.prefix_of(id, text)? {
            if self.replace {
                // One that was begun for another text is wanted no more.
                writer.discard_replacement(id)?;
            }
            return Ok((at, if head.state == DocumentState::Live { Start::Known } else { Start::New }));
        }
        if !self.replace {
            return Err(Error::invalid(format!(
                "document {id:?} is in the index with another text ({} bytes; the new one has {}, and does not begin with it); to put the new one in its place build with --replace, or use another id for it",
                head.text_bytes,
                text.len()
            )));
        }
        writer.replace_document(id, title, metadata)?;
        if let Some(at) = writer.prefix_of(id, text)? {
            return Ok((at, Start::Replacing));
        }
        writer.discard_replacement(id)?;
        writer.replace_document(id, title, metadata)?;
        Ok((0, Start::Replacing))
    }

    /// Appends text to a document that readers see, and commits it: its tree is extended, nothing is rebuilt. An append
    /// that was interrupted goes on where its last commit was, when it is called with the same text; one that was complete
    /// adds nothing when it is called with the same text once more, so that a caller who was not told may ask again
    /// ([`Reader::again`] adds it). Gives the chunks that were added.
    pub fn append(&mut self, writer: &mut Writer, id: &str, text: &str) -> Result<u32> {
        let head = writer.head(id)?.ok_or_else(|| Error::NotFound { what: "document", name: id.to_owned() })?;
        if head.state == DocumentState::Staged {
            return Err(Error::invalid(format!(
                "the first build of document {id:?} is not complete; complete it first"
            )));
        }
        let hash = *blake3::hash(text.as_bytes()).as_bytes();
        let done = match head.pending {
            // A hash that was noted with the present chunk count is that of the last append, which is complete.
            Some((pending, before)) if pending == hash && before == head.chunks && !self.again => return Ok(0),
            Some((pending, before)) if pending == hash && before < head.chunks => head.chunks - before,
            Some((_, before)) if before < head.chunks && !self.again => {
                return Err(Error::invalid(format!(
                    "an append of another text to document {id:?} is not complete; run that one again first"
                )));
            }
            _ => {
                writer.set_pending(id, Some((hash, head.chunks)))?;
                0
            }
        };
        let plan = self.chunking.plan(Chunker::new(writer.options().chunk_words), text);
        let at = plan.chunks(0).take(done as usize).map(|(place, _)| place.len()).sum();
        drop(plan);
        let mut readings = [Reading { source: Source { id, text, ..Source::default() }, at, added: 0 }];
        self.read(writer, &mut readings)?;
        let chunks = writer.head(id)?.map_or(0, |head| head.chunks);
        writer.set_pending(id, Some((hash, chunks)))?;
        self.commit(writer)?;
        let [reading] = readings;
        Ok(done + reading.added)
    }

    /// Reads what is left of all documents, a chunk of each a round.
    fn read(&mut self, writer: &mut Writer, readings: &mut [Reading<'_>]) -> Result<()> {
        let chunker = Chunker::new(writer.options().chunk_words);
        let plans: Vec<ChunkPlan<'_>> =
            readings.iter().map(|reading| self.chunking.plan(chunker, reading.source.text)).collect();
        // A fold that a stopped reader left out comes first.
        let ids: Vec<String> = readings.iter().map(|reading| reading.source.id.to_owned()).collect();
        self.fold(writer, &ids)?;
        loop {
            self.stop_if_cancelled(writer)?;
            let mut round = Vec::new();
            for (reading, plan) in readings.iter_mut().zip(&plans) {
                if reading.at < reading.source.text.len() {
                    let (end, title) = plan.next(reading.at);
                    round.push((reading.source, reading.at, end, title));
                    reading.at = end;
                    reading.added += 1;
                }
            }
            if round.is_empty() {
                return Ok(());
            }
            let chunks: Vec<(&str, NewChunk<'_>)> = round
                .iter()
                .map(|(source, start, end, title)| {
                    (source.id, NewChunk { title, ..NewChunk::text(source.text.get(*start..*end).unwrap_or_default()) })
                })
                .collect();
            self.read_chunks(writer, &chunks)?;
            for (source, _, end, _) in &round {
                (self.progress)(source.id, *end as u64, source.text.len() as u64);
                if *end == source.text.len() {
                    writer.publish(source.id)?;
                }
            }
            self.commit_if_due(writer)?;
        }
    }

    /// Reads one chunk of each of several documents, which must differ: asks the model, appends the chunks, links them
    /// to their entities, and folds what is complete.
    pub fn read_chunks(&mut self, writer: &mut Writer, chunks: &[(&str, NewChunk<'_>)]) -> Result<()> {
        let Some(model) = self.model else {
            for (id, chunk) in chunks {
                writer.append_chunk(id, &placed(writer, id, chunk)?)?;
                self.count(chunk);
            }
            return Ok(());
        };
        writer.compress_with_level(READ_LEVEL);
        let mut inputs = Vec::with_capacity(chunks.len());
        for (id, chunk) in chunks {
            inputs.push(Prepared {
                recalled: writer.recall(id, chunk.title, chunk.text)?,
                history: writer.history(id)?,
                ordinal: writer.head(id)?.map_or(0, |head| head.chunks),
                document_title: writer.title(id)?,
            });
        }
        let answers = overlap(self.threads, chunks.len(), |at| {
            let ((id, chunk), prepared) = (&chunks[at], &inputs[at]);
            model.update(&UpdateInput {
                document: id,
                document_title: &prepared.document_title,
                ordinal: prepared.ordinal,
                title: chunk.title,
                text: chunk.text,
                recalled: &prepared.recalled,
                history: &prepared.history,
            })
        })?;
        for ((id, chunk), updates) in chunks.iter().zip(&answers) {
            let appended = writer.append_chunk(id, &placed(writer, id, chunk)?)?;
            writer.apply_update(id, appended.ordinal, updates)?;
            writer.count_update(id, Origin::Model)?;
            self.count(chunk);
        }
        let ids: Vec<String> = chunks.iter().map(|(id, _)| (*id).to_owned()).collect();
        self.fold(writer, &ids)
    }

    /// Counts a chunk that waits for its commit.
    fn count(&mut self, chunk: &NewChunk<'_>) {
        self.since_commit += 1;
        self.bytes_since_commit += chunk.text.len();
    }

    /// Folds every complete unit of the documents that has no summary and whose units are all there, level by level.
    fn fold(&mut self, writer: &mut Writer, ids: &[String]) -> Result<()> {
        let Some(model) = self.model else { return Ok(()) };
        let mut skipped = std::collections::BTreeSet::new();
        loop {
            let mut tasks = Vec::new();
            for id in ids {
                for node in writer.unfolded(id)? {
                    if skipped.contains(&(id.clone(), node)) {
                        continue;
                    }
                    match writer.fold_units(id, node.0, node.1)? {
                        Some(units) => {
                            tasks.push((id.clone(), writer.title(id)?, node, units));
                            break;
                        }
                        None => {
                            skipped.insert((id.clone(), node));
                        }
                    }
                }
            }
            if tasks.is_empty() {
                return Ok(());
            }
            let summaries = overlap(self.threads, tasks.len(), |at| {
                let (id, title, (level, index), units) = &tasks[at];
                let units: Vec<&str> = units.iter().map(String::as_str).collect();
                model.fold(&FoldInput {
                    document: id,
                    document_title: title,
                    level: *level,
                    index: *index,
                    units: &units,
                    limit_bytes: SUMMARY_BYTES,
                })
            })?;
            for ((id, _, (level, index), _), summary) in tasks.iter().zip(summaries) {
                writer.set_summary(id, *level, *index, &summary, Origin::Model)?;
            }
        }
    }

    /// Where the cancel flag is set: commits what is complete, and ends with [`Error::Cancelled`].
    pub(crate) fn stop_if_cancelled(&mut self, writer: &mut Writer) -> Result<()> {
        if self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            self.commit_part(writer)?;
            return Err(Error::Cancelled);
        }
        Ok(())
    }

    /// Commits where it is time to.
    pub fn commit_if_due(&mut self, writer: &mut Writer) -> Result<()> {
        let due = match self.commit_chunks {
            Some(chunks) => self.since_commit >= chunks,
            None => {
                let costs = self.model.is_some_and(|model| !model.answers_are_free());
                self.bytes_since_commit >= COMMIT_BYTES || costs && self.last_commit.elapsed() >= COMMIT_TIME
            }
        };
        if due { self.commit_part(writer) } else { Ok(()) }
    }

    /// Commits what is complete in the midst of work. An index-wide memory commits documents whole, so it waits.
    fn commit_part(&mut self, writer: &mut Writer) -> Result<()> {
        if writer.options().memory == MemoryScope::Index && writer.has_staged() {
            return Ok(());
        }
        self.commit(writer)
    }

    /// Commits and acknowledges.
    pub fn commit(&mut self, writer: &mut Writer) -> Result<()> {
        (self.since_commit, self.bytes_since_commit) = (0, 0);
        self.last_commit = Instant::now();
        if writer.has_changes() {
            let commit = writer.commit()?;
            (self.acknowledge)(Acknowledged { commit, chunks: writer.chunks() });
        }
        Ok(())
    }
}

/// What a model is shown of a document besides the chunk.
struct Prepared {
    recalled: Vec<Recalled>,
    history: Vec<HistoryUnit>,
    ordinal: u32,
    document_title: String,
}

/// A chunk of a source with its place in it: it starts where the document ends.
fn placed<'a>(writer: &Writer, id: &str, chunk: &NewChunk<'a>) -> Result<NewChunk<'a>> {
    if chunk.span.is_some() || chunk.external_id.is_some() {
        return Ok(*chunk);
    }
    let start = writer.head(id)?.map_or(0, |head| head.text_bytes);
    Ok(NewChunk { span: Some((start, start + chunk.text.len() as u64)), ..*chunk })
}
