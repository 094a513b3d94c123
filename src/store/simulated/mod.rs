//! A disk in memory that remembers what was done to it and fails on demand.
//!
//! A [`Disk`] has one folder with files in it. Everything that a writer does goes through it as single calls of the
//! system: a write, a new length, a sync, a name that comes, changes or goes, a sync of the folder. It keeps them in
//! order, so that every state can be made of them that a power loss could leave (`crash.rs`), a reader can look at any
//! moment between them (`past.rs`), and any of them can be made to fail, in any of the ways in which real ones do
//! (`fault.rs`). Nothing here depends on time or chance.

mod crash;
mod fault;
mod past;
mod place;

pub(crate) use crash::{Choices, Replay};
pub(crate) use fault::Fault;
pub(crate) use past::{Past, PastFile};
pub(crate) use place::SimulatedPlace;

use super::source::{Medium, Source};
use fault::Faults;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

/// A file of a disk, by the order of creation.
pub(crate) type FileNumber = usize;

/// What was done to a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Bytes at an offset.
    Write { file: FileNumber, offset: u64, bytes: Vec<u8> },
    /// A new length.
    SetLen { file: FileNumber, length: u64 },
    /// All that was done to the file before is durable.
    Sync { file: FileNumber },
    /// A sync failed, and what had not been synced counts as written from now on: it is on the medium or not, and no
    /// later sync changes that.
    LostSync { file: FileNumber },
    /// A new file.
    Create { file: FileNumber, name: String },
    /// A file has another name, and what had that name has none.
    Rename { from: String, to: String },
    /// A name is gone.
    Remove { name: String },
    /// All names are durable.
    SyncFolder,
}

/// What is on a disk: files by number, and their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) files: Vec<Vec<u8>>,
    pub(crate) names: BTreeMap<String, FileNumber>,
}

impl Content {
    /// The bytes of the file with this name.
    pub(crate) fn named(&self, name: &str) -> Option<&[u8]> {
        self.files.get(*self.names.get(name)?).map(Vec::as_slice)
    }

    /// The content after these operations.
    #[cfg(test)]
    pub(crate) fn after(mut self, operations: &[&Operation]) -> Self {
        operations.iter().for_each(|operation| self.apply(operation));
        self
    }

    /// Does an operation.
    fn apply(&mut self, operation: &Operation) {
        match operation {
            Operation::Write { file, offset, bytes } => {
                let content = &mut self.files[*file];
                let (start, end) = (*offset as usize, *offset as usize + bytes.len());
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[start..end].copy_from_slice(bytes);
            }
            Operation::SetLen { file, length } => self.files[*file].resize(*length as usize, 0),
            Operation::Create { file, name } => {
                // A file that lost its name in a crash leaves its number unused.
                self.files.resize(self.files.len().max(file + 1), Vec::new());
                self.names.insert(name.clone(), *file);
            }
            Operation::Rename { from, to } => {
                if let Some(file) = self.names.remove(from) {
                    self.names.insert(to.clone(), file);
                }
            }
            Operation::Remove { name } => {
                self.names.remove(name);
            }
            Operation::Sync { .. } | Operation::LostSync { .. } | Operation::SyncFolder => {}
        }
    }
}

#[derive(Debug, Default)]
struct Inner {
    /// What was durable before the first operation.
    base: Content,
    /// What a running system sees.
    now: Content,
    log: Vec<Operation>,
    locked: BTreeSet<FileNumber>,
    /// When locks were taken (true) and given back: after so many operations.
    locks: Vec<(usize, FileNumber, bool)>,
    faults: Faults,
    /// Bytes that all files may have together.
    capacity: Option<u64>,
}

/// The disk; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    inner: Arc<Mutex<Inner>>,
}

impl Disk {
    /// A disk that holds this, all of it durable.
    pub(crate) fn with(content: Content) -> Self {
        let inner = Inner { base: content.clone(), now: content, ..Inner::default() };
        Self { inner: Arc::new(Mutex::new(inner)) }
    }

    /// A disk with one file.
    #[cfg(test)]
    pub(crate) fn with_file(name: &str, bytes: Vec<u8>) -> Self {
        Self::with(Content { files: vec![bytes], names: [(name.to_owned(), 0)].into() })
    }

    /// What was durable before the first operation.
    pub(crate) fn base(&self) -> Content {
        self.inner.lock().base.clone()
    }

    /// What a running system sees.
    pub(crate) fn now(&self) -> Content {
        self.inner.lock().now.clone()
    }

    /// The bytes of a file as a running system sees them.
    pub(crate) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.inner.lock().now.named(name).map(<[u8]>::to_vec)
    }

    /// How many operations there were.
    pub(crate) fn operations(&self) -> usize {
        self.inner.lock().log.len()
    }

    /// The operations so far.
    pub(crate) fn log(&self) -> Vec<Operation> {
        self.inner.lock().log.clone()
    }

    /// Calls so far, reads among them: the numbers that [`Disk::fail`] counts in.
    pub(crate) fn calls(&self) -> usize {
        self.inner.lock().faults.calls()
    }

    /// Lets the call after `after` more ones fail; with `stuck` all later ones, too.
    pub(crate) fn fail(&self, after: usize, fault: Fault, stuck: bool) {
        self.inner.lock().faults.set(after, fault, stuck);
    }

    /// No further failures; returns whether there was one.
    pub(crate) fn heal(&self) -> bool {
        self.inner.lock().faults.heal()
    }

    /// Bytes that all files may have together from now on.
    pub(crate) fn set_capacity(&self, capacity: Option<u64>) {
        self.inner.lock().capacity = capacity;
    }

    /// Does a call, or what is left of it where it is to fail.
    fn call<T>(&self, operation: Operation, done: T) -> io::Result<T> {
        let mut inner = self.inner.lock();
        let fault = inner.faults.next();
        inner.carry_out(operation, fault)?;
        Ok(done)
    }
}

impl Inner {
    /// Takes a lock, if it is free.
    fn lock(&mut self, file: FileNumber) -> bool {
        let is_free = self.locked.insert(file);
        if is_free {
            self.locks.push((self.log.len(), file, true));
        }
        is_free
    }

    fn unlock(&mut self, file: FileNumber) {
        self.locked.remove(&file);
        self.locks.push((self.log.len(), file, false));
    }

    fn record(&mut self, operation: Operation) {
        self.now.apply(&operation);
        self.log.push(operation);
    }

    /// Bytes that a write would add, and those that there is room for.
    fn room(&self, file: FileNumber, end: u64) -> (u64, u64) {
        let total: u64 = self.now.files.iter().map(|file| file.len() as u64).sum();
        let grown = end.saturating_sub(self.now.files[file].len() as u64);
        (grown, self.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(total)))
    }

    fn carry_out(&mut self, operation: Operation, fault: Option<Fault>) -> io::Result<()> {
        if let Operation::Write { file, offset, bytes } = &operation {
            let (grown, room) = self.room(*file, offset + bytes.len() as u64);
            if grown > room {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        let Some(fault) = fault else {
            self.record(operation);
            return Ok(());
        };
        match (fault, operation) {
            (Fault::All, operation) => self.record(operation),
            (Fault::Half, Operation::Write { file, offset, bytes }) => {
                let bytes = bytes[..bytes.len() / 2].to_vec();
                self.record(Operation::Write { file, offset, bytes });
            }
            (Fault::LostPages { forgotten }, Operation::Sync { file }) => {
                self.record(Operation::LostSync { file });
                if forgotten {
                    // As if the pages had left the cache, and were read again.
                    self.now.files[file] = self.durable(file);
                }
            }
            _ => {}
        }
        Err(fault.error())
    }

    /// The bytes of a file that a power loss is sure to leave.
    fn durable(&self, file: FileNumber) -> Vec<u8> {
        let mut durable = self.base.clone();
        durable.files.resize(self.now.files.len(), Vec::new());
        let mut pending: Vec<&Operation> = Vec::new();
        for operation in &self.log {
            match operation {
                Operation::Write { file: of, .. } | Operation::SetLen { file: of, .. } if *of == file => {
                    pending.push(operation);
                }
                Operation::Sync { file: of } if *of == file => {
                    pending.drain(..).for_each(|operation| durable.apply(operation));
                }
                Operation::LostSync { file: of } if *of == file => pending.clear(),
                _ => {}
            }
        }
        std::mem::take(&mut durable.files[file])
    }
}

/// A file of a [`Disk`], as a medium.
#[derive(Debug, Clone)]
pub(crate) struct SimulatedMedium {
    disk: Disk,
    file: FileNumber,
}

impl Source for SimulatedMedium {
    fn len(&self) -> io::Result<u64> {
        let mut inner = self.disk.inner.lock();
        inner.faults.next().map_or(Ok(()), Fault::refuse_read)?;
        Ok(inner.now.files[self.file].len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut inner = self.disk.inner.lock();
        inner.faults.next().map_or(Ok(()), Fault::refuse_read)?;
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let end = start.checked_add(buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        let bytes = inner.now.files[self.file].get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

impl Medium for SimulatedMedium {
    fn try_write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut inner = self.disk.inner.lock();
        let fault = inner.faults.next();
        // What fits, where not all does, as a system does it.
        let (grown, room) = inner.room(self.file, offset + bytes.len() as u64);
        let fits = bytes.len() - grown.saturating_sub(room).min(bytes.len() as u64) as usize;
        let (count, fault) = match fault {
            Some(Fault::Short) => (fits.div_ceil(2), None),
            fault => (if fits == 0 { bytes.len() } else { fits }, fault),
        };
        inner.carry_out(Operation::Write { file: self.file, offset, bytes: bytes[..count].to_vec() }, fault)?;
        Ok(count)
    }

    fn try_set_len(&self, length: u64) -> io::Result<()> {
        self.disk.call(Operation::SetLen { file: self.file, length }, ())
    }

    fn try_sync_data(&self) -> io::Result<()> {
        self.disk.call(Operation::Sync { file: self.file }, ())
    }
}
