//! The folder of a simulated disk.

use super::{Disk, FileNumber, Operation, SimulatedMedium};
use crate::{Error, Result};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// A file with the writer's lock, under its name on a [`Disk`].
#[derive(Debug)]
pub(crate) struct SimulatedPlace {
    disk: Disk,
    file: FileNumber,
    path: PathBuf,
}

impl Disk {
    /// Creates a file, which must not be there, and locks it.
    pub(crate) fn create(&self, name: &str) -> Result<SimulatedPlace> {
        let path = PathBuf::from(name);
        let file = {
            let inner = self.inner.lock();
            if inner.now.names.contains_key(name) {
                return Err(Error::io("create", Some(&path))(io::ErrorKind::AlreadyExists.into()));
            }
            inner.now.files.len()
        };
        self.call(Operation::Create { file, name: name.to_owned() }, ()).map_err(Error::io("create", Some(&path)))?;
        self.inner.lock().lock(file);
        Ok(SimulatedPlace { disk: self.clone(), file, path })
    }

    /// Opens a file and locks it.
    pub(crate) fn open(&self, name: &str) -> Result<SimulatedPlace> {
        let path = PathBuf::from(name);
        let mut inner = self.inner.lock();
        let Some(&file) = inner.now.names.get(name) else {
            return Err(Error::io("open for writing", Some(&path))(io::ErrorKind::NotFound.into()));
        };
        if !inner.lock(file) {
            return Err(Error::Locked { path });
        }
        Ok(SimulatedPlace { disk: self.clone(), file, path })
    }
}

impl SimulatedPlace {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    pub(crate) fn medium(&self) -> SimulatedMedium {
        SimulatedMedium { disk: self.disk.clone(), file: self.file }
    }

    /// Creates a file in the same folder. What was left there under this name goes.
    pub(crate) fn create_beside(&self, name: &OsStr) -> Result<Self> {
        let name = name.to_string_lossy().into_owned();
        if self.disk.inner.lock().now.names.contains_key(&name) {
            let removed = self.disk.call(Operation::Remove { name: name.clone() }, ());
            removed.map_err(Error::io("remove", Some(Path::new(&name))))?;
        }
        self.disk.create(&name)
    }

    /// Whether the name leads to this file.
    pub(crate) fn is_named(&self) -> Result<bool> {
        match self.disk.inner.lock().now.names.get(&self.name()) {
            Some(&file) => Ok(file == self.file),
            None => Err(Error::io("find again", Some(&self.path))(io::ErrorKind::NotFound.into())),
        }
    }

    pub(crate) fn rename(&self, to: &Path) -> io::Result<()> {
        let to = to.to_string_lossy().into_owned();
        self.disk.call(Operation::Rename { from: self.name(), to }, ())
    }

    pub(crate) fn sync_folder(&self) -> io::Result<()> {
        self.disk.call(Operation::SyncFolder, ())
    }

    pub(crate) fn remove(&self) {
        let _ = self.disk.call(Operation::Remove { name: self.name() }, ());
    }
}

impl Drop for SimulatedPlace {
    fn drop(&mut self) {
        self.disk.inner.lock().unlock(self.file);
    }
}
