//! Where the file of a writer has its name: what has to be done with the file besides reading and writing it.

use super::lock::{LockedFile, parent};
use crate::store::map::MapSource;
use crate::store::named::is_same_file;
#[cfg(any(test, feature = "simulation"))]
use crate::store::simulated::SimulatedPlace;
use crate::store::source::Medium;
use crate::{Error, Result};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A file with the writer's lock, under its name.
#[derive(Debug)]
pub(in crate::store) enum Place {
    /// In a folder of the system.
    File(LockedFile),
    /// On a simulated disk.
    #[cfg(any(test, feature = "simulation"))]
    Simulated(SimulatedPlace),
}

impl Place {
    /// The file's name, links resolved.
    pub(in crate::store) fn path(&self) -> &Path {
        match self {
            Self::File(locked) => &locked.path,
            #[cfg(any(test, feature = "simulation"))]
            Self::Simulated(place) => place.path(),
        }
    }

    /// The file as a writer's medium.
    pub(in crate::store) fn medium(&self) -> Arc<dyn Medium> {
        match self {
            Self::File(locked) => locked.medium(),
            #[cfg(any(test, feature = "simulation"))]
            Self::Simulated(place) => Arc::new(place.medium()),
        }
    }

    /// A map of the file, where it can be mapped.
    pub(super) fn map(&self) -> Option<MapSource> {
        match self {
            Self::File(locked) => MapSource::new(locked.file.clone()).ok(),
            #[cfg(any(test, feature = "simulation"))]
            Self::Simulated(_) => None,
        }
    }

    /// Creates a file in the same folder, locked, which nobody else may read yet. What a dead process left there under
    /// this name goes.
    pub(super) fn create_beside(&self, name: &OsStr) -> Result<Self> {
        match self {
            Self::File(locked) => Ok(Self::File(LockedFile::create_beside(parent(&locked.path).join(name))?)),
            #[cfg(any(test, feature = "simulation"))]
            Self::Simulated(place) => Ok(Self::Simulated(place.create_beside(name)?)),
        }
    }

    /// Refuses where the name leads to no file, or to another one.
    fn demand_named(&self) -> Result<()> {
        let is_named = match self {
            Self::File(locked) => {
                // A file that was deleted meanwhile must not come back.
                std::fs::symlink_metadata(&locked.path).map_err(Error::io("find again", Some(&locked.path)))?;
                is_same_file(&locked.file, &locked.path)?
            }
            #[cfg(any(test, feature = "simulation"))]
            Self::Simulated(place) => place.is_named()?,
        };
        if is_named {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "another file has come in the place of {}; nothing was changed, run it again",
            self.path().display()
        )))
    }

    /// Takes the name of `old`, its owner and its mode, with all that was written on the medium before. From the moment
    /// that the name is taken, `placed` is set.
    pub(super) fn take_over(&self, old: &Self, placed: &mut bool) -> Result<()> {
        match (self, old) {
            (Self::File(new), Self::File(old)) => {
                keep_owner_and_mode(&old.file, &new.file)
                    .map_err(Error::io("set owner and mode of", Some(&new.path)))?;
                new.file.sync_all().map_err(Error::io("sync", Some(&new.path)))?;
            }
            #[cfg(any(test, feature = "simulation"))]
            (new, _) => new.medium().sync_data().map_err(Error::io("sync", Some(new.path())))?,
        }
        old.demand_named()?;
        match self {
            Self::File(new) => std::fs::rename(&new.path, old.path()),
            #[cfg(any(test, feature = "simulation"))]
            Self::Simulated(new) => new.rename(old.path()),
        }
        .map_err(Error::io("rename", Some(self.path())))?;
        *placed = true;
        old.sync_directory()
    }

    /// Makes the file's name durable.
    pub(in crate::store) fn sync_directory(&self) -> Result<()> {
        match self {
            Self::File(locked) => locked.sync_directory(),
            #[cfg(any(test, feature = "simulation"))]
            Self::Simulated(place) => place.sync_folder().map_err(Error::io("sync the folder of", Some(place.path()))),
        }
    }

    /// Removes the name, as far as that can be done.
    pub(super) fn remove(&self) {
        match self {
            Self::File(locked) => drop(std::fs::remove_file(&locked.path)),
            #[cfg(any(test, feature = "simulation"))]
            Self::Simulated(place) => place.remove(),
        }
    }

    /// Bytes that can be written beside the file; `None` where that is not told.
    pub(super) fn free_bytes(&self) -> Option<u64> {
        match self {
            Self::File(locked) => free_bytes(parent(&locked.path)),
            #[cfg(any(test, feature = "simulation"))]
            Self::Simulated(_) => None,
        }
    }
}

/// Bytes that can be written to the file system of a directory.
#[cfg(unix)]
fn free_bytes(directory: &Path) -> Option<u64> {
    let told = rustix::fs::statvfs(directory).ok()?;
    Some(told.f_bavail.saturating_mul(told.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Gives `new` the owner, group and mode of `old`.
#[cfg(unix)]
fn keep_owner_and_mode(old: &File, new: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let (kept, made) = (old.metadata()?, new.metadata()?);
    let differing = |kept: u32, made: u32| (kept != made).then_some(kept);
    let (owner, group) = (differing(kept.uid(), made.uid()), differing(kept.gid(), made.gid()));
    if owner.is_some() || group.is_some() {
        fchown(new, owner, group)?;
    }
    new.set_permissions(kept.permissions())
}

/// Elsewhere the directory decides.
#[cfg(not(unix))]
fn keep_owner_and_mode(_: &File, _: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_told_where_there_is_a_call_for_it() {
        assert!(!cfg!(unix) || free_bytes(&std::env::temp_dir()).is_some_and(|free| free > 0));
    }
}
