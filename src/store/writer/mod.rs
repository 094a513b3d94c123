//! The writer: appends blocks, makes commits, and recovers what a dead writer left.
//!
//! A [`StoreWriter`] holds the file's lock. Blocks go through a buffer to the end of the file, where no reader looks;
//! a commit appends a commit block that covers them, writes an intent slot, syncs once, and writes a publish slot. All
//! that is not committed is cut off again by [`StoreWriter::rollback`], by dropping the writer, or by the next one.
//!
//! * `append.rs`: blocks and the buffer; `commit.rs`: the protocol and its failures; `recovery.rs`: what opening
//!   does; `lock.rs`: one writer at a time; `place.rs`: the file's name; `replace.rs`: a new file in the place of this
//!   one; `copy.rs`: a copy of what a reader sees.

mod append;
mod commit;
mod copy;
mod lock;
mod place;
mod recovery;
mod replace;

use super::blocks::Blocks;
use super::codec::PayloadCompressor;
use super::head::Head;
use super::map::MapSource;
#[cfg(any(test, feature = "simulation"))]
use super::simulated::Disk;
use super::source::{Medium, Source};
use crate::{Error, Result};
pub(crate) use copy::copy;
use lock::LockedFile;
use place::Place;
use plica_format::block::{FileId, Reference};
use plica_format::commit::CoverChecksum;
use plica_format::page::{FilePage, Parameters};
pub(crate) use recovery::RecoveryReport;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How a writer behaves.
#[derive(Debug, Clone)]
pub(crate) struct WriteOptions {
    /// How long to wait for another writer.
    pub(crate) busy_timeout: Duration,
    /// Whether commits record the time.
    pub(crate) timestamps: bool,
    /// Salt of this session instead of a random one, for files that must come out the same.
    pub(crate) salt: Option<u64>,
    /// Id of a created file instead of a random one.
    pub(crate) file_id: Option<FileId>,
    /// Epoch of a created file: the number of vacuums that led to it.
    pub(crate) epoch: u32,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(2), timestamps: true, salt: None, file_id: None, epoch: 0 }
    }
}

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Durability {
    /// Returns when the commit survives a power loss. One sync.
    #[default]
    Immediate,
    /// Returns at once. The commit is seen only through this writer until the next immediate one, or
    /// [`StoreWriter::sync`], makes it durable together with all before it. If the process or the machine dies first,
    /// or the writer is dropped, the deferred commits are lost whole; the file is as sound as before them.
    Deferred,
}

/// The one writer of an index file.
pub(crate) struct StoreWriter {
    /// The file.
    medium: Arc<dyn Medium>,
    /// The file's name and lock. Blocks that were handed out do not hold the lock.
    place: Place,
    /// Page 0.
    page: FilePage,
    /// The process that opened the writer.
    process: u32,
    /// Salt of this session.
    salt: u64,
    /// Whether commits record the time.
    timestamps: bool,
    /// Why the writer cannot be used any more.
    unusable: Option<&'static str>,
    /// An append failed, so that what was appended since the last commit may have a hole.
    append_failed: bool,
    /// The last commit, synced or deferred.
    head: Head,
    /// The last synced commit.
    synced: Head,
    /// Which of the intent slots, and of the publish slots, is the older.
    older: [usize; 2],
    /// For each k the newest commit whose number 2^k divides: its number and place.
    ladder: BTreeMap<u32, (u64, Reference)>,
    /// The commit that the file had when it was opened; earlier ones are found from it.
    opened_at: Head,
    /// Appended bytes that are not yet in the file.
    buffer: Vec<u8>,
    /// Where in the file the buffer goes.
    written: u64,
    /// Blocks since the last synced commit.
    cover: CoverChecksum,
    /// The same as of the last commit, for a rollback.
    cover_at_head: CoverChecksum,
    /// The blocks in the file, committed or not.
    view: Blocks,
    /// Kept from block to block.
    compressor: PayloadCompressor,
}

impl std::fmt::Debug for StoreWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreWriter")
            .field("path", &self.path())
            .field("sequence", &self.head.commit.sequence)
            .field("end", &self.end())
            .finish_non_exhaustive()
    }
}

impl StoreWriter {
    /// Creates an index with an empty first commit. The path must not exist.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] (an existing path among them); nothing is left behind then, as far as it can be removed.
    pub(crate) fn create(path: &Path, parameters: Parameters, options: &WriteOptions) -> Result<Self> {
        let locked = LockedFile::create(path)?;
        Self::create_on(Place::File(locked), parameters, options)
    }

    /// Opens an index for writing, and settles what a dead writer may have left.
    ///
    /// # Errors
    ///
    /// [`Error::Locked`] when another writer holds it for longer than the busy time-out; as
    /// [`open_read`](super::open_read) otherwise.
    pub(crate) fn open(path: &Path, options: &WriteOptions) -> Result<(Self, RecoveryReport)> {
        let locked = LockedFile::open(path, options.busy_timeout)?;
        Self::open_on(Place::File(locked), options)
    }

    /// Creates an index on a simulated disk.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn create_simulated(
        disk: &Disk,
        name: &str,
        parameters: Parameters,
        options: &WriteOptions,
    ) -> Result<Self> {
        Self::create_on(Place::Simulated(disk.create(name)?), parameters, options)
    }

    /// Opens an index on a simulated disk for writing.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn open_simulated(disk: &Disk, name: &str, options: &WriteOptions) -> Result<(Self, RecoveryReport)> {
        Self::open_on(Place::Simulated(disk.open(name)?), options)
    }

    /// The last commit of this writer, synced or deferred.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// Where the next block goes.
    pub(crate) fn end(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// The file's name with links resolved.
    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Closes a writer whose file is not to stay.
    pub(crate) fn discard(self) {
        // The lock is still held, so the name is this file's.
        self.place.remove();
    }

    /// Refuses work after a failure that poisoned the writer: what it holds may not be what the file holds.
    pub(crate) fn demand_sane(&self) -> Result<()> {
        self.unusable.map_or(Ok(()), |reason| Err(Error::Unusable { reason }))
    }

    /// As [`StoreWriter::demand_sane`], and refuses work in a forked process.
    pub(crate) fn demand_usable(&self) -> Result<()> {
        self.demand_sane()?;
        if std::process::id() != self.process {
            return Err(Error::Unusable {
                reason: "the process was forked; the writer belongs to the parent. Open the index in the child after the parent has closed it",
            });
        }
        Ok(())
    }

    /// An error of the system while doing `action` on the file.
    fn io(&self, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        Error::io(action, Some(self.path()))
    }
}

impl Drop for StoreWriter {
    fn drop(&mut self) {
        // A poisoned writer must not cut: its last commit may be durable. A forked child must not touch the file.
        let has_tail = self.written > self.synced.end || self.append_failed;
        if self.unusable.is_none() && std::process::id() == self.process && has_tail {
            let _ = self.medium.set_len(self.synced.end);
        }
    }
}

/// What a writer reads from: the map for what is committed for good, the medium for all above, since it may be cut.
#[derive(Debug)]
struct WriterSource {
    /// Proven only up to synced commits.
    map: MapSource,
    /// The file itself.
    medium: Arc<dyn Medium>,
}

/// The source that a writer's blocks are read from.
fn reading_source(medium: &Arc<dyn Medium>, place: &Place) -> Arc<dyn Source> {
    match place.map() {
        Some(map) => Arc::new(WriterSource { map, medium: medium.clone() }),
        _ => medium.clone(),
    }
}

impl Source for WriterSource {
    fn len(&self) -> io::Result<u64> {
        self.medium.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.medium.read_at(buffer, offset)
    }

    fn mapped(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.map.mapped(offset, length)
    }

    fn prove(&self, end: u64) -> io::Result<()> {
        self.map.prove(end)
    }

    fn spans(&self, end: u64) -> bool {
        self.map.spans(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Durability;
    use plica_format::block::BlockKind;
    use plica_format::page::MemoryScope;

    #[test]
    fn a_forked_child_can_neither_write_nor_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("book.plica");
        let parameters = Parameters { fanout: 2, chunk_words: 1, memory: MemoryScope::Document, tokenizer: 1 };
        let mut writer = StoreWriter::create(&path, parameters, &WriteOptions::default()).unwrap();
        writer.append(BlockKind::Text, b"the parent's", false).unwrap();
        writer.blocks().unwrap();
        let before = std::fs::read(&path).unwrap();
        // As if the process had been forked since.
        writer.process ^= 1;
        assert!(matches!(writer.append(BlockKind::Text, b"the child's", false), Err(Error::Unusable { .. })));
        assert!(matches!(writer.commit(Vec::new(), Durability::Immediate), Err(Error::Unusable { .. })));
        assert!(matches!(writer.rollback(), Err(Error::Unusable { .. })));
        drop(writer);
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
