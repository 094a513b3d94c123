//! The one writer of an index: what it holds between commits, and how a commit is made.
//!
//! Additions go to a delta in memory. When that passes the memory budget, and at each commit, it is written out as a
//! segment; the commit names the segments and makes them visible at once. A writer that is dropped leaves nothing that
//! a reader can see.

use super::delta::Delta;
use super::options::{Durability, MemoryScope, Options};
use super::parts::Part;
use super::tail::Tail;
use super::texts::TextBuffer;
use super::view::View;
use super::{flush, merge};
use crate::dictionary::{Dictionary, PageCache, SegmentView};
use crate::store::{self, Head, StoreWriter};
use crate::text::TermCounter;
use crate::{Error, Result};
use plica_format::block::Reference;
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::key::{self, INDEX_SCOPE};
use plica_format::page::Parameters;
use plica_format::state::{IndexState, Totals};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// Documents that a writer keeps open in memory across a flush.
const OPEN_DOCUMENTS: usize = 256;

/// A document that a writer works on.
#[derive(Debug)]
pub(super) struct OpenDocument {
    pub(super) head: DocumentHead,
    pub(super) tail: Tail,
    /// What of it the state's totals count.
    pub(super) counted: Totals,
    /// Texts of the last chunks, newest last, at most as many as the fan-out; with their ids.
    pub(super) recent: Vec<(u32, String)>,
    pub(super) dirty: bool,
}

/// What opening a writer found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// A commit that was in doubt and was found whole: it stands.
    pub adopted: Option<u64>,
    /// Bytes of an unfinished commit that were cut off.
    pub cut_bytes: u64,
}

/// The writer of an index. There is at most one at a time, in any process.
///
/// In a fork of its process it refuses to work ([`Error::Unusable`]), and dropping it there changes nothing. The lock of a
/// process that was killed stays with forks of it until they end.
///
/// ```
/// # fn main() -> plica::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("notes.plica");
/// use plica::{Index, NewChunk, Options, Writer};
///
/// let mut writer = Writer::create(&path, &Options::new())?;
/// writer.add_document("notes", "My notes", "")?;
/// writer.append_chunk("notes", &NewChunk::text("The archive keeps the letters."))?;
/// writer.publish("notes")?;
/// writer.commit()?;
/// assert_eq!(Index::open(&path)?.snapshot().documents()?.len(), 1);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Writer {
    pub(super) store: StoreWriter,
    pub(super) parameters: Parameters,
    pub(super) options: Options,
    pub(super) state: IndexState,
    /// Counts the terms of units; its hasher is the delta's, too.
    pub(super) counter: TermCounter,
    pub(super) delta: Delta,
    pub(super) texts: TextBuffer,
    pub(super) open: BTreeMap<u32, OpenDocument>,
    /// Outlines with changes that are not written.
    pub(super) outlines: BTreeMap<u32, super::outline::PendingOutline>,
    pub(super) summarizer: super::outline::Summarizer,
    /// Ids that mean the staged replacement of their document to this writer, with its number.
    pub(super) replacing: BTreeMap<String, u32>,
    /// Chunks of documents that were not removed.
    pub(super) chunks: u64,
    pub(super) dictionary: Dictionary,
    pub(super) cache: Arc<PageCache>,
    /// Bytes that a commit may merge, where a test wants fewer.
    #[cfg(test)]
    pub(super) merge_budget: Option<u64>,
    recovered: Recovered,
    /// Segments written since the last commit.
    pub(super) flushes: usize,
    /// Parts of records that were shown to a model, for the next time.
    pub(super) shown: HashMap<(u32, u32), Arc<[Part]>>,
    /// What quotes of chunks may begin with.
    pub(super) anchors: super::quote::Anchors,
    /// The dictionary that the store compresses with.
    pub(super) compresses_with: Option<Reference>,
}

impl Writer {
    /// Creates an index. A path that exists is an error.
    pub fn create(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        let parameters = Parameters {
            fanout: options.fanout,
            chunk_words: options.chunk_words,
            memory: options.memory,
            tokenizer: crate::text::TOKENIZER,
        };
        check_parameters(&parameters)?;
        let store = StoreWriter::create(path.as_ref(), parameters, &write_options(options))?;
        Self::over(store, options, Recovered::default())
    }

    /// Opens an index to write to it, with the default options; see [`Writer::open_with`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &Options::default())
    }

    /// Opens an index to write to it. What an earlier writer left unfinished is settled first ([`Writer::recovered`]).
    /// What is fixed at creation is taken from the file, not from `options`.
    ///
    /// # Errors
    /// [`Error::Locked`] where another writer holds the file for longer than [`Options::busy_timeout`].
    pub fn open_with(path: impl AsRef<Path>, options: &Options) -> Result<Self> {
        let (store, report) = StoreWriter::open(path.as_ref(), &write_options(options))?;
        let recovered = Recovered { adopted: report.adopted, cut_bytes: report.cut_bytes };
        Self::over(store, options, recovered)
    }

    /// As [`Writer::create`], on a simulated disk.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn create_simulated(disk: &store::simulated::Disk, name: &str, options: &Options) -> Result<Self> {
        let parameters = Parameters {
            fanout: options.fanout,
            chunk_words: options.chunk_words,
            memory: options.memory,
            tokenizer: crate::text::TOKENIZER,
        };
        let store = StoreWriter::create_simulated(disk, name, parameters, &simulated_options(disk, name, options))?;
        Self::over(store, options, Recovered::default())
    }

    /// As [`Writer::open_with`], on a simulated disk.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn open_simulated(disk: &store::simulated::Disk, name: &str, options: &Options) -> Result<Self> {
        let (store, report) = StoreWriter::open_simulated(disk, name, &simulated_options(disk, name, options))?;
        Self::over(store, options, Recovered { adopted: report.adopted, cut_bytes: report.cut_bytes })
    }

    fn over(mut store: StoreWriter, options: &Options, recovered: Recovered) -> Result<Self> {
        let head = store.head().clone();
        let parameters = head.commit.parameters;
        check_parameters(&parameters)?;
        let state = decode_state(&head)?;
        let cache = Arc::new(PageCache::default());
        let dictionary = dictionary(&mut store, &state, &cache)?;
        let counter = TermCounter::default();
        let delta = Delta::new(counter.hasher().clone(), &state);
        let options = Options {
            fanout: parameters.fanout,
            chunk_words: parameters.chunk_words,
            memory: parameters.memory,
            ..options.clone()
        };
        let mut writer = Self {
            store,
            parameters,
            options,
            state,
            delta,
            counter,
            texts: TextBuffer::default(),
            open: BTreeMap::new(),
            outlines: BTreeMap::new(),
            summarizer: super::outline::Summarizer::default(),
            replacing: BTreeMap::new(),
            chunks: 0,
            dictionary,
            cache,
            #[cfg(test)]
            merge_budget: None,
            recovered,
            flushes: 0,
            shown: HashMap::new(),
            anchors: Default::default(),
            compresses_with: None,
        };
        writer.chunks = writer.count_chunks()?;
        Ok(writer)
    }

    /// Chunks of the documents that were not removed, as of the last commit.
    fn count_chunks(&self) -> Result<u64> {
        let state = &self.state;
        if state.totals.documents + u64::from(state.staged) == u64::from(state.documents) {
            return Ok(u64::from(state.chunks));
        }
        let mut chunks = state.totals.chunks;
        if state.staged > 0 {
            // Every document is under its id, but for those that are to replace one.
            let mut numbers = std::collections::BTreeSet::new();
            for kind in [key::DOCUMENT_ID, key::REPLACEMENT] {
                self.dictionary.each_newest(&[kind], b"", |key, _| {
                    let id = std::str::from_utf8(key.get(1..).unwrap_or_default()).unwrap_or_default();
                    let view = self.view();
                    let number =
                        if kind == key::DOCUMENT_ID { view.document_number(id)? } else { view.replacement_number(id)? };
                    numbers.extend(number);
                    Ok(std::ops::ControlFlow::Continue(()))
                })?;
            }
            for number in numbers {
                let head = self.head_of(number)?;
                chunks += if head.state == DocumentState::Staged { u64::from(head.chunks) } else { 0 };
            }
        }
        Ok(chunks)
    }

    /// What opening found and did.
    pub fn recovered(&self) -> &Recovered {
        &self.recovered
    }

    /// The options in force; what is fixed at creation is the file's.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    /// Sequence number of the last commit.
    pub fn sequence(&self) -> u64 {
        self.store.head().commit.sequence
    }

    /// Whether something was added since the last commit.
    pub fn has_changes(&self) -> bool {
        !self.delta.is_empty()
            || self.store.end() != self.store.head().end
            || self.open.values().any(|d| d.dirty)
            || self.outlines.values().any(|outline| outline.dirty)
    }

    /// Commits what was added since the last commit and gives the sequence number. Without additions nothing is
    /// written.
    ///
    /// # Errors
    /// [`Error::NotCommitted`]: nothing was committed, what was added is gone, the writer can go on from the last
    /// commit. [`Error::InDoubt`]: the commit is there whole or not at all; open a new writer to know.
    /// [`Error::Unusable`]: an earlier failure ended this writer.
    pub fn commit(&mut self) -> Result<u64> {
        self.store.demand_usable()?;
        if !self.has_changes() {
            return Ok(self.sequence());
        }
        if self.parameters.memory == MemoryScope::Index && self.state.staged > 0 {
            let staged = self.open.values().find(|d| d.head.state == DocumentState::Staged);
            return Err(Error::invalid(format!(
                "document {:?} is not published, and an index-wide memory commits documents whole: publish it first",
                staged.map_or("", |open| &open.head.id)
            )));
        }
        match self.write_commit() {
            Ok(sequence) => Ok(sequence),
            Err(error @ (Error::InDoubt { .. } | Error::Unusable { .. })) => Err(error),
            Err(error) => {
                self.rollback()?;
                Err(match error {
                    error @ Error::NotCommitted { .. } => error,
                    other => Error::NotCommitted { source: Box::new(other) },
                })
            }
        }
    }

    fn write_commit(&mut self) -> Result<u64> {
        self.flush()?;
        let own = self.store.end() - self.store.head().end;
        merge::step(self, own)?;
        let durability = match self.options.durability {
            Durability::Immediate => store::Durability::Immediate,
            Durability::Deferred => store::Durability::Deferred,
        };
        let head = self.store.commit(self.state.encode(), durability)?;
        let sequence = head.commit.sequence;
        self.flushes = 0;
        Ok(sequence)
    }

    /// Makes deferred commits durable and visible ([`Durability::Deferred`]). What was added since the last commit is
    /// left for the next one.
    pub fn sync(&mut self) -> Result<()> {
        self.store.sync()
    }

    /// Drops what was added since the last commit.
    pub fn rollback(&mut self) -> Result<()> {
        self.store.rollback()?;
        self.texts = TextBuffer::default();
        self.open.clear();
        self.outlines.clear();
        self.replacing.clear();
        self.shown.clear();
        self.anchors = Default::default();
        let head = self.store.head().clone();
        self.state = decode_state(&head)?;
        self.delta = Delta::new(self.counter.hasher().clone(), &self.state);
        self.flushes = 0;
        self.follow_dictionary()?;
        self.refresh_dictionary()?;
        self.chunks = self.count_chunks()?;
        Ok(())
    }

    /// Writes what is in memory as a segment that the next commit will publish.
    pub(super) fn flush(&mut self) -> Result<()> {
        flush::flush(self)?;
        if self.open.len() > OPEN_DOCUMENTS {
            self.open.clear();
        }
        self.refresh_dictionary()
    }

    /// Flushes where the memory budget is reached.
    pub(super) fn flush_if_full(&mut self) -> Result<()> {
        let pages: usize = self.open.len() * 1024;
        let others = self.texts.raw.len() + pages + self.outline_bytes();
        if self.delta.is_full(self.options.memory_budget_bytes.saturating_sub(others)) {
            self.flush()?;
        }
        Ok(())
    }

    /// Makes the dictionary follow the state's segments.
    pub(super) fn refresh_dictionary(&mut self) -> Result<()> {
        self.dictionary = dictionary(&mut self.store, &self.state, &self.cache)?;
        Ok(())
    }

    /// What has been added so far, committed or not, as typed reads.
    pub(crate) fn view(&self) -> View<'_> {
        View {
            dictionary: &self.dictionary,
            delta: Some(&self.delta),
            state: &self.state,
            fanout: self.parameters.fanout,
            unwritten: Some((&self.texts, &self.open)),
        }
    }

    /// The scope of a document's entity memory.
    pub(super) fn scope(&self, document: u32) -> u32 {
        match self.parameters.memory {
            MemoryScope::Document => document,
            MemoryScope::Index => INDEX_SCOPE,
        }
    }
}

/// The dictionary over the segments of a state.
fn dictionary(store: &mut StoreWriter, state: &IndexState, cache: &Arc<PageCache>) -> Result<Dictionary> {
    let blocks = store.blocks()?.with_dictionary(state.dictionary);
    Ok(Dictionary { blocks, segments: segment_views(state), cache: Arc::clone(cache) })
}

/// The state that a commit names; that of creation names none.
pub(super) fn decode_state(head: &Head) -> Result<IndexState> {
    if head.commit.state.is_empty() {
        return Ok(IndexState::default());
    }
    IndexState::decode(&head.commit.state).map_err(Error::damaged_block(&head.reference))
}

/// The segments of a state as readers take them.
pub(super) fn segment_views(state: &IndexState) -> Vec<SegmentView> {
    state.views().into_iter().map(|(segment, from)| SegmentView::new(segment.root, from.to_vec())).collect()
}

fn write_options(options: &Options) -> store::WriteOptions {
    store::WriteOptions {
        busy_timeout: options.busy_timeout,
        timestamps: options.timestamps,
        file_id: options.file_id,
        // Tests compare files byte for byte.
        #[cfg(test)]
        salt: options.file_id.map(|_| 7),
        ..store::WriteOptions::default()
    }
}

/// Options for a simulated disk: its sessions have salts of their own, which depend on nothing but its files.
#[cfg(any(test, feature = "simulation"))]
fn simulated_options(disk: &store::simulated::Disk, name: &str, options: &Options) -> store::WriteOptions {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&disk.bytes(name).unwrap_or_default()).update(&disk.calls().to_le_bytes());
    let salt = hasher.finalize().as_bytes().iter().fold(0u64, |salt, &byte| salt.rotate_left(8) ^ u64::from(byte));
    store::WriteOptions { salt: Some(salt), ..write_options(options) }
}

/// Refuses parameters that this version cannot work with.
pub(crate) fn check_parameters(parameters: &Parameters) -> Result<()> {
    use plica_format::limits::{FANOUT_LEAST, FANOUT_MOST};
    if !(FANOUT_LEAST..=FANOUT_MOST).contains(&parameters.fanout) {
        return Err(Error::invalid(format!(
            "the fan-out must be {FANOUT_LEAST} to {FANOUT_MOST}, got {}",
            parameters.fanout
        )));
    }
    if parameters.chunk_words == 0 {
        return Err(Error::invalid("a chunk must hold at least 1 word, got 0"));
    }
    if parameters.tokenizer != crate::text::TOKENIZER {
        return Err(Error::Unsupported { what: format!("tokenizer {}", parameters.tokenizer) });
    }
    Ok(())
}

/// What the totals count of a document that readers see.
pub(super) fn totals_of(head: &DocumentHead) -> Totals {
    if head.state != DocumentState::Live {
        return Totals::default();
    }
    Totals {
        documents: 1,
        chunks: u64::from(head.chunks),
        text_tokens: head.text_tokens,
        summaries: u64::from(head.summaries),
        summary_tokens: head.summary_tokens,
        entities: u64::from(head.entities),
        entity_tokens: head.entity_tokens,
    }
}

/// `totals` with what they count of one document exchanged.
pub(super) fn recount(totals: &mut Totals, before: &Totals, after: &Totals) {
    let exchange =
        |total: &mut u64, before: u64, after: u64| *total = total.saturating_sub(before).saturating_add(after);
    exchange(&mut totals.documents, before.documents, after.documents);
    exchange(&mut totals.chunks, before.chunks, after.chunks);
    exchange(&mut totals.text_tokens, before.text_tokens, after.text_tokens);
    exchange(&mut totals.summaries, before.summaries, after.summaries);
    exchange(&mut totals.summary_tokens, before.summary_tokens, after.summary_tokens);
    exchange(&mut totals.entities, before.entities, after.entities);
    for ((total, before), after) in totals.entity_tokens.iter_mut().zip(before.entity_tokens).zip(after.entity_tokens) {
        exchange(total, before, after);
    }
}
