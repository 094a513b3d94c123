//! The moments of a disk, for readers that look while a writer is at work.
//!
//! A [`Past`] goes once more through what was done to a disk. Between two operations a reader may open an index, refresh
//! one, or read on, as it could have beside the writer; with a *pace*, time goes on between the reader's own calls, too.

use super::{Choices, Content, Disk, FileNumber, Operation, Source};
use crate::{Error, Result};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What happened to a disk at a moment.
#[derive(Debug)]
enum Event {
    Operation(Operation),
    /// A lock was taken (true) or given back.
    Lock(FileNumber, bool),
}

#[derive(Debug, Clone)]
struct Moment {
    events: Arc<[Event]>,
    /// Events that have been gone through, and operations among them.
    at: usize,
    operations: usize,
    now: Content,
    locked: BTreeSet<FileNumber>,
    /// A reader's call lets fewer than so many events happen.
    pace: Option<(Choices, usize)>,
}

/// A disk at a moment of its past; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Past {
    moment: Arc<Mutex<Moment>>,
}

impl Past {
    /// Before the first operation of a disk.
    pub(crate) fn of(disk: &Disk) -> Self {
        let inner = disk.inner.lock();
        let mut events = Vec::new();
        let mut locks = inner.locks.iter().peekable();
        for at in 0..=inner.log.len() {
            while let Some(&(_, file, is_taken)) = locks.next_if(|(after, ..)| *after == at) {
                events.push(Event::Lock(file, is_taken));
            }
            events.extend(inner.log.get(at).cloned().map(Event::Operation));
        }
        let (now, locked, pace) = (inner.base.clone(), BTreeSet::new(), None);
        let moment = Moment { events: events.into(), at: 0, operations: 0, now, locked, pace };
        Self { moment: Arc::new(Mutex::new(moment)) }
    }

    /// A past of its own at the same moment, in which each call of a reader lets fewer than `pace` events happen.
    pub(crate) fn paced(&self, choices: Choices, pace: usize) -> Self {
        let moment = Moment { pace: Some((choices, pace)), ..self.moment.lock().clone() };
        Self { moment: Arc::new(Mutex::new(moment)) }
    }

    /// Operations that have been gone through.
    pub(crate) fn operations(&self) -> usize {
        self.moment.lock().operations
    }

    /// Goes on by an operation or a lock; false where there is none.
    pub(crate) fn advance(&self) -> bool {
        self.moment.lock().advance()
    }

    /// Opens the file that a name leads to.
    pub(crate) fn open(&self, name: &str) -> Result<PastFile> {
        let path = PathBuf::from(name);
        let named = self.moment.lock().called().now.names.get(name).copied();
        let file = named.ok_or_else(|| Error::io("open", Some(&path))(io::ErrorKind::NotFound.into()))?;
        Ok(PastFile { past: self.clone(), file, path })
    }
}

impl Moment {
    fn advance(&mut self) -> bool {
        let Some(event) = self.events.get(self.at) else { return false };
        self.at += 1;
        match event {
            Event::Operation(operation) => {
                self.operations += 1;
                self.now.apply(operation);
            }
            Event::Lock(file, true) => {
                self.locked.insert(*file);
            }
            Event::Lock(file, false) => {
                self.locked.remove(file);
            }
        }
        true
    }

    /// A reader makes a call.
    fn called(&mut self) -> &Self {
        let events = self.pace.as_mut().map_or(0, |(choices, pace)| choices.below(*pace));
        (0..events).for_each(|_| {
            self.advance();
        });
        self
    }

    /// As [`Moment::called`], mostly without an event.
    fn called_at_times(&mut self) {
        if self.pace.as_mut().is_some_and(|(choices, _)| choices.one_in(8)) {
            self.called();
        }
    }
}

/// A file that was opened in the past of a disk.
#[derive(Debug, Clone)]
pub(crate) struct PastFile {
    past: Past,
    file: FileNumber,
    path: PathBuf,
}

impl PastFile {
    /// The name that it was opened by.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a writer holds it.
    pub(crate) fn is_locked(&self) -> bool {
        self.past.moment.lock().called().locked.contains(&self.file)
    }

    /// Whether its name leads to it, or nowhere.
    pub(crate) fn is_named(&self) -> bool {
        let name = self.path.to_string_lossy();
        self.past.moment.lock().called().now.names.get(&*name).is_none_or(|&file| file == self.file)
    }
}

impl Source for PastFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.past.moment.lock().called().now.files[self.file].len() as u64)
    }

    /// Sectors may be of different moments, as where a system reads while another process writes.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut moment = self.past.moment.lock();
        moment.called();
        let mut start = usize::try_from(offset).map_err(io::Error::other)?;
        for sector in buffer.chunks_mut(512) {
            moment.called_at_times();
            let end = start.checked_add(sector.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
            let bytes = &moment.now.files[self.file];
            sector.copy_from_slice(bytes.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?);
            start = end;
        }
        Ok(())
    }
}
