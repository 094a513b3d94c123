//! A file that is read, under its name: what following an index needs besides the bytes.

use super::head::WriterPresence;
use super::map::MapSource;
use super::open::SourceKind;
use super::positioned::FileSource;
#[cfg(any(test, feature = "simulation"))]
use super::simulated::PastFile;
use super::source::Source;
use crate::{Error, Result};
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// An open file and the name that it was opened by; cheap to clone.
#[derive(Debug, Clone)]
pub(super) enum NamedFile {
    /// A file of the system.
    File {
        /// As it was given, so that a replaced file is noticed.
        path: PathBuf,
        /// The open file.
        file: Arc<File>,
        /// How its blocks are read.
        kind: SourceKind,
        /// What tells the open file from others, once it was asked for: it never changes.
        identity: Arc<OnceLock<(u64, u64)>>,
    },
    /// A file of a simulated disk's past.
    #[cfg(any(test, feature = "simulation"))]
    Past(PastFile),
}

impl NamedFile {
    /// Opens the file at `path` to read it.
    pub(super) fn open(path: &Path, kind: SourceKind) -> Result<Self> {
        let file = Arc::new(File::open(path).map_err(Error::io("open", Some(path)))?);
        Ok(Self::File { path: path.to_path_buf(), file, kind, identity: Arc::default() })
    }

    /// Its name.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File { path, .. } => path,
            #[cfg(any(test, feature = "simulation"))]
            Self::Past(file) => file.path(),
        }
    }

    /// Positioned reads, for what may change.
    pub(super) fn positioned(&self) -> Arc<dyn Source> {
        match self {
            Self::File { file, .. } => Arc::new(FileSource::new(file.clone())),
            #[cfg(any(test, feature = "simulation"))]
            Self::Past(file) => Arc::new(file.clone()),
        }
    }

    /// The source of its blocks. Where a map is refused, positioned reads do as well.
    pub(super) fn block_source(&self) -> Arc<dyn Source> {
        match self {
            Self::File { file, kind: SourceKind::Map, .. } => match MapSource::new(file.clone()) {
                Ok(map) => Arc::new(map),
                Err(_) => self.positioned(),
            },
            _ => self.positioned(),
        }
    }

    /// Asks whether a writer holds the file, by a shared lock that is given back at once.
    pub(super) fn probe_writer(&self) -> WriterPresence {
        match self {
            Self::File { file, .. } => match file.try_lock_shared() {
                Ok(()) => {
                    let _ = file.unlock();
                    WriterPresence::None
                }
                // Held by a writer, or locks do not work here: the last published commit is right in either case.
                Err(_) => WriterPresence::Possible,
            },
            #[cfg(any(test, feature = "simulation"))]
            Self::Past(file) if file.is_locked() => WriterPresence::Possible,
            #[cfg(any(test, feature = "simulation"))]
            Self::Past(_) => WriterPresence::None,
        }
    }

    /// Whether its name still leads to it. A name that leads nowhere does not lead to another file.
    pub(super) fn is_named(&self) -> Result<bool> {
        match self {
            Self::File { path, file, identity: known, .. } => {
                let open = match known.get() {
                    Some(open) => *open,
                    None => {
                        let open = identity(&file.metadata().map_err(Error::io("examine", Some(path)))?);
                        *known.get_or_init(|| open)
                    }
                };
                is_named(path, open)
            }
            #[cfg(any(test, feature = "simulation"))]
            Self::Past(file) => Ok(file.is_named()),
        }
    }
}

/// Whether `path` still names the open file. A path that names nothing does not name another file.
pub(super) fn is_same_file(file: &File, path: &Path) -> Result<bool> {
    is_named(path, identity(&file.metadata().map_err(Error::io("examine", Some(path)))?))
}

/// Whether `path` still names the file of this identity. A path that names nothing does not name another file.
fn is_named(path: &Path, open: (u64, u64)) -> Result<bool> {
    match std::fs::metadata(path) {
        Ok(named) => Ok(open == identity(&named)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Error::io("examine", Some(path))(error)),
    }
}

/// What tells one file from another.
#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Where files have no stable number: nothing, since an open file cannot be replaced there.
#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}
