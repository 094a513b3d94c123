//! One writer at a time: the exclusive lock on the file itself.
//!
//! The lock belongs to the open file, so it goes with the process, however that ends. Links are resolved first, so
//! that a vacuum, which puts a new file in the path's place, replaces the file and not the link; after locking, the
//! path is compared with what was locked.

use crate::store::head::UNBORN_BYTES;
use crate::store::named::is_same_file;
use crate::store::positioned::FileSource;
use crate::store::source::Medium;
use crate::{Error, Result};
use plica_format::limits::PAGE_BYTES;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pause between two attempts to get the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(2);
/// A reader may hold the lock for an instant to see whether a writer lives: wait at least this long for it.
const LOCK_PATIENCE: Duration = Duration::from_millis(20);

/// How often a file is created or opened that others create and remove at the same time.
const CREATE_ATTEMPTS: usize = 100;

/// An open file with the writer's lock.
#[derive(Debug)]
pub(in crate::store) struct LockedFile {
    /// The file.
    pub(in crate::store) file: Arc<File>,
    /// Its name, links resolved.
    pub(in crate::store) path: PathBuf,
    /// The process that took the lock.
    process: u32,
}

impl LockedFile {
    /// Creates the file at `path`, which must not exist, and locks it. A file that a creation left when it was cut short
    /// is taken as if it were not there.
    pub(in crate::store) fn create(path: &Path) -> Result<Self> {
        let action = "create";
        let name = path.file_name().ok_or_else(|| Error::invalid(format!("{} names no file", path.display())))?;
        let directory = parent(path).canonicalize().map_err(Error::io(action, Some(path)))?;
        let path = directory.join(name);
        for _ in 0..CREATE_ATTEMPTS {
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
            match file {
                Ok(file) => {
                    let locked = Self::lock(file, path.clone(), LOCK_PATIENCE)?;
                    // Another creation may have taken the file between its making and the lock, and have removed it again.
                    let length = locked.file.metadata().map_err(Error::io(action, Some(&path)))?.len();
                    match locked.is_named()? {
                        true if length == 0 => return Ok(locked),
                        true => return Err(Error::Locked { path }),
                        false => {}
                    }
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    let locked = match Self::open(&path, LOCK_PATIENCE) {
                        // It was there, and is gone.
                        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => continue,
                        locked => locked?,
                    };
                    if !locked.is_unborn().map_err(Error::io(action, Some(&path)))? {
                        return Err(Error::io(action, Some(&path))(error));
                    }
                    locked.file.set_len(0).map_err(Error::io(action, Some(&path)))?;
                    return Ok(locked);
                }
                Err(error) => return Err(Error::io(action, Some(&path))(error)),
            }
        }
        // A link that leads nowhere, say.
        Err(Error::io(action, Some(&path))(ErrorKind::AlreadyExists.into()))
    }

    /// Whether its name still leads to the file. Who waited for the lock may have got that of a file that was removed or
    /// replaced meanwhile, and nobody would find what is written there.
    fn is_named(&self) -> Result<bool> {
        match std::fs::symlink_metadata(&self.path) {
            Ok(_) => is_same_file(&self.file, &self.path),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io("examine", Some(&self.path))(error)),
        }
    }

    /// Whether the file is what a creation leaves that was cut short: nothing can be in it.
    fn is_unborn(&self) -> std::io::Result<bool> {
        let length = self.file.metadata()?.len();
        if length > UNBORN_BYTES {
            return Ok(false);
        }
        let mut first = vec![0; length.min(PAGE_BYTES as u64) as usize];
        self.medium().read_at(&mut first, 0)?;
        Ok(first.iter().all(|&byte| byte == 0))
    }

    /// Opens the file that `path` names and locks it.
    pub(in crate::store) fn open(path: &Path, busy_timeout: Duration) -> Result<Self> {
        let action = "open for writing";
        loop {
            let path = path.canonicalize().map_err(Error::io(action, Some(path)))?;
            let file = OpenOptions::new().read(true).write(true).open(&path);
            let file = file.map_err(Error::io(action, Some(&path)))?;
            let locked = Self::lock(file, path, busy_timeout)?;
            if locked.is_named()? {
                return Ok(locked);
            }
        }
    }

    /// Creates the file at `path`, which nobody else may read yet, and locks it. What a dead process left there goes.
    pub(super) fn create_beside(path: PathBuf) -> Result<Self> {
        let action = "create";
        match std::fs::symlink_metadata(&path) {
            Ok(metadata) => {
                if metadata.is_file()
                    && let Ok(left) = OpenOptions::new().read(true).write(true).open(&path)
                {
                    drop(Self::lock(left, path.clone(), LOCK_PATIENCE)?);
                }
                std::fs::remove_file(&path).map_err(Error::io("remove", Some(&path)))?;
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(action, Some(&path))(error)),
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(Error::io(action, Some(&path)))?;
        Self::lock(file, path, LOCK_PATIENCE)
    }

    /// Takes the lock, trying for a while.
    fn lock(file: File, path: PathBuf, busy_timeout: Duration) -> Result<Self> {
        let started = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { file: Arc::new(file), path, process: std::process::id() }),
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", Some(&path))(error)),
                Err(TryLockError::WouldBlock) if started.elapsed() < busy_timeout.max(LOCK_PATIENCE) => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Err(Error::Locked { path }),
            }
        }
    }

    /// The file as a writer's medium.
    pub(in crate::store) fn medium(&self) -> Arc<dyn Medium> {
        Arc::new(FileSource::new(self.file.clone()))
    }

    /// Makes the file's name durable.
    pub(in crate::store) fn sync_directory(&self) -> Result<()> {
        // Elsewhere a directory cannot be opened as a file.
        if cfg!(unix) {
            let directory = parent(&self.path);
            File::open(directory).and_then(|d| d.sync_all()).map_err(Error::io("sync", Some(directory)))?;
        }
        Ok(())
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // A forked child shares the lock with its parent, and must not give it back for both.
        if std::process::id() == self.process {
            let _ = self.file.unlock();
        }
    }
}

/// The directory that a path lies in.
pub(super) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}
