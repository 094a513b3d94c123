//! Opening an index to read it.

use super::snapshot::Snapshot;
use crate::store;
use crate::{Error, Result};
use parking_lot::RwLock;
use std::path::Path;
use std::sync::Arc;

pub use crate::store::SourceKind;

/// How to open an index for reading.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// How blocks are read.
    pub source: SourceKind,
    /// The commit to read, by sequence number; the newest where not given.
    pub commit: Option<u64>,
}

impl ReadOptions {
    /// The newest commit, through a memory map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`ReadOptions::source`].
    pub fn source(mut self, source: SourceKind) -> Self {
        self.source = source;
        self
    }

    /// Sets [`ReadOptions::commit`].
    pub fn commit(mut self, sequence: u64) -> Self {
        self.commit = Some(sequence);
        self
    }
}

/// What [`Index::refresh`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refreshed {
    /// No newer commit.
    Unchanged,
    /// A newer commit, with this sequence number; new snapshots show it.
    Advanced(u64),
    /// The file was replaced by another; open the path again. Snapshots stay what they are.
    Replaced,
}

/// An index opened for reading. It writes nothing, takes no lock that a writer could notice, and works from a read-only
/// directory.
///
/// An index is a handle that can follow a writer; what is read are its [`Snapshot`]s.
#[derive(Debug)]
pub struct Index {
    current: RwLock<Snapshot>,
    /// Set where an earlier commit was asked for: that one stays.
    pinned: bool,
}

impl Index {
    /// Opens the newest commit of an index, through a memory map.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &ReadOptions::default())
    }

    /// Opens the commit with this sequence number. Every commit since the last vacuum can be opened.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is no such commit.
    pub fn open_at(path: impl AsRef<Path>, sequence: u64) -> Result<Self> {
        Self::open_with(path, &ReadOptions::default().commit(sequence))
    }

    /// Opens an index.
    pub fn open_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        let opened = store::open_read(path.as_ref(), &store::ReadOptions { source: options.source })?;
        Self::over(opened, options.commit)
    }

    /// Opens an index that is in memory, whole.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<Self> {
        Self::over(store::open_bytes(bytes.into())?, None)
    }

    /// As [`Index::from_bytes`], at an earlier commit.
    pub fn from_bytes_at(bytes: impl Into<Arc<[u8]>>, sequence: u64) -> Result<Self> {
        Self::over(store::open_bytes(bytes.into())?, Some(sequence))
    }

    /// Opens an index on a simulated disk, as its past has it at this moment.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn open_past(past: &store::simulated::Past, name: &str) -> Result<Self> {
        Self::over(store::open_past(past, name)?, None)
    }

    fn over(opened: store::Opened, commit: Option<u64>) -> Result<Self> {
        let mut snapshot = Snapshot::new(opened)?;
        if let Some(sequence) = commit {
            snapshot = snapshot.at(sequence)?;
        }
        Ok(Self { current: RwLock::new(snapshot), pinned: commit.is_some() })
    }

    /// What the index holds, as of the newest commit that [`Index::refresh`] has seen. The snapshot never changes.
    pub fn snapshot(&self) -> Snapshot {
        self.current.read().clone()
    }

    /// Looks for a newer commit. It never goes back to an older one.
    pub fn refresh(&self) -> Result<Refreshed> {
        if self.pinned {
            return Ok(Refreshed::Unchanged);
        }
        let before = self.snapshot();
        match before.opened().refresh()? {
            store::Refresh::Unchanged => Ok(Refreshed::Unchanged),
            store::Refresh::Replaced => Ok(Refreshed::Replaced),
            store::Refresh::Newer(opened) => {
                let newer = before.advanced(*opened)?;
                let sequence = newer.sequence();
                let mut current = self.current.write();
                if current.sequence() < sequence {
                    *current = newer;
                }
                Ok(Refreshed::Advanced(current.sequence()))
            }
        }
    }

    /// Whether a commit may be under way, or was left in doubt by a writer that died: then the last commit that is
    /// certain is shown, and the next writer settles the other.
    pub fn recovery_pending(&self) -> bool {
        self.current.read().opened().recovery_pending
    }
}

/// An error for a file that has no chunk, document or entity of a name.
pub(super) fn not_found(what: &'static str, name: impl Into<String>) -> Error {
    Error::NotFound { what, name: name.into() }
}
