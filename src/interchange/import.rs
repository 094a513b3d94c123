//! Taking JSON lines into an index.

use crate::index::Writer;
use crate::ingest::Acknowledged;
use crate::{Error, Result};
use std::io::BufRead;
use std::sync::atomic::AtomicBool;

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

    /// Commits after every `chunks` chunks, and at the end.
    pub fn commit_every(mut self, chunks: u32) -> Self {
        self.commit_chunks = Some(chunks.max(1));
        self
    }

    /// Calls `acknowledge` after each commit has returned.
    pub fn on_commit(mut self, acknowledge: impl FnMut(Acknowledged) + 'a) -> Self {
        self.acknowledge = Some(Box::new(acknowledge));
        self
    }

    /// Stops with [`Error::Cancelled`] when `cancel` is set.
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
    /// Lines that said nothing new.
    pub skipped: u64,
}

/// Imports JSON lines.
pub fn import(writer: &mut Writer, lines: impl BufRead, options: ImportOptions<'_>) -> Result<Imported> {
    let _ = (writer, lines, options.commit_chunks, options.acknowledge, options.cancel);
    Err(Error::invalid("import is not there yet"))
}
