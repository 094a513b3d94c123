//! How an index is created and written.

use crate::text::DEFAULT_CHUNK_WORDS;
pub use plica_format::page::MemoryScope;
use std::time::Duration;

/// What is fixed when an index is created, and how a writer works.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Units that fold into one: 2 to 16. Fixed at creation.
    pub fanout: u8,
    /// Words of a chunk at most, as the chunker counts them. Fixed at creation.
    pub chunk_words: u32,
    /// Whether each document has an entity memory of its own or the whole index has one. Fixed at creation.
    pub memory: MemoryScope,
    /// How long to wait for another writer to finish.
    pub busy_timeout: Duration,
    /// Bytes of additions that a writer holds in memory before it writes them out as a segment. The commit publishes
    /// all segments at once.
    pub memory_budget_bytes: usize,
    /// Threads that an import may use, the caller's included: the others read lines ahead. Nothing that is written depends
    /// on it. With 1, no thread is started, and a line is taken in before the next is read.
    pub threads: usize,
    /// When a commit is on the medium.
    pub durability: Durability,
    /// Whether commits record the time.
    pub timestamps: bool,
    /// The file id of a new index, where it must not be random: for files that are to be equal byte for byte.
    pub file_id: Option<[u8; 16]>,
}

/// When a commit is on the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Before `commit` returns: it survives a crash of the process and a loss of power.
    #[default]
    Immediate,
    /// With the next immediate commit. Until then the commit is seen by nobody but this writer, and if the process or
    /// the machine stops before, it is lost, whole; the index is never damaged by it. For bulk work that can be
    /// repeated.
    Deferred,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fanout: 5,
            chunk_words: DEFAULT_CHUNK_WORDS,
            memory: MemoryScope::Document,
            busy_timeout: Duration::from_secs(2),
            memory_budget_bytes: 256 << 20,
            threads: 1,
            durability: Durability::Immediate,
            timestamps: true,
            file_id: None,
        }
    }
}

impl Options {
    /// The defaults: fan-out 5, chunks of 500 words, a memory a document, 2 s of patience, 256 MiB, one thread,
    /// durable commits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`Options::fanout`].
    pub fn fanout(mut self, fanout: u8) -> Self {
        self.fanout = fanout;
        self
    }

    /// Sets [`Options::chunk_words`].
    pub fn chunk_words(mut self, chunk_words: u32) -> Self {
        self.chunk_words = chunk_words;
        self
    }

    /// Sets [`Options::memory`].
    pub fn memory(mut self, memory: MemoryScope) -> Self {
        self.memory = memory;
        self
    }

    /// Sets [`Options::busy_timeout`].
    pub fn busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    /// Sets [`Options::memory_budget_bytes`].
    pub fn memory_budget_bytes(mut self, bytes: usize) -> Self {
        self.memory_budget_bytes = bytes;
        self
    }

    /// Sets [`Options::threads`].
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets [`Options::durability`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets [`Options::timestamps`].
    pub fn timestamps(mut self, timestamps: bool) -> Self {
        self.timestamps = timestamps;
        self
    }

    /// Sets [`Options::file_id`].
    pub fn file_id(mut self, file_id: [u8; 16]) -> Self {
        self.file_id = Some(file_id);
        self
    }
}
