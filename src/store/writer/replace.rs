//! Putting a new file in the place of one that a writer holds.
//!
//! The new file is written beside the old one under a name of its own, with its own lock held from the start. It has the
//! old file's id, the next epoch, and one commit; its salt derives from id and epoch, and it records no time, so its bytes
//! depend on nothing but what is appended. Only when all of it is on the medium it takes the old one's name, in one step; before
//! that the old file is whole, after it the new one. A name that is a link stays a link: what it leads to is replaced.

use super::{StoreWriter, WriteOptions};
use crate::store::head::Head;
use crate::{Error, Result};
use plica_format::block::{BlockKind, FileId, Reference};
use plica_format::commit::{Commit, CoverChecksum};
use plica_format::limits::{COMMIT_STATE_BYTES, FIRST_BLOCK_OFFSET};
use std::io;
use std::path::Path;

/// A file that is being written to take another's place. Dropped before that, it is removed.
pub(crate) struct Replacement {
    /// The new file.
    store: StoreWriter,
    /// Whether it has the old file's name by now.
    is_placed: bool,
}

/// The salt of the one session that writes a replacement.
fn salt_of(file_id: &FileId, epoch: u32) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(file_id);
    hasher.update(&epoch.to_le_bytes());
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// Refuses where fewer bytes are free than a new file can take.
fn demand_space(path: &Path, needed: u64, free: u64) -> Result<()> {
    if free >= needed {
        return Ok(());
    }
    let detail = format!(
        "a new file beside it can take {needed} bytes, and {free} are free; make room and run it again, nothing was changed"
    );
    Err(Error::io("vacuum", Some(path))(io::Error::new(io::ErrorKind::StorageFull, detail)))
}

impl StoreWriter {
    /// Refuses where a file of up to `most` bytes cannot be written beside this one. If it is close, `exact` says how many
    /// there will be, which may take long.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] of the kind `StorageFull`.
    pub(crate) fn demand_space_beside(&self, most: u64, exact: impl FnOnce() -> Result<u64>) -> Result<()> {
        let Some(free) = self.place.free_bytes() else { return Ok(()) };
        if free >= most { Ok(()) } else { demand_space(self.path(), exact()?, free) }
    }

    /// Begins a file that is to take the place of this one, which must have no changes.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], [`Error::Locked`] where another process writes such a file.
    pub(crate) fn begin_replacement(&self) -> Result<Replacement> {
        self.demand_usable()?;
        let old_name = self.path().file_name().unwrap_or_default();
        let mut name = std::ffi::OsString::from(".");
        match old_name.len() <= NAME_BYTES {
            true => name.push(old_name),
            false => name.push(blake3::hash(old_name.as_encoded_bytes()).to_hex().as_str()),
        }
        name.push(".vacuum");
        let place = self.place.create_beside(&name)?;
        let before = &self.synced.commit;
        let epoch = before.epoch.checked_add(1).ok_or(Error::Limit {
            what: "the number of vacuums",
            limit: u64::from(u32::MAX),
            got: 1 << 32,
        })?;
        let salt = salt_of(&self.page.file_id, epoch);
        // Stands for "no commit yet", and is never written.
        let commit = Commit {
            sequence: 0,
            epoch,
            salt,
            time: 0,
            covered_from: FIRST_BLOCK_OFFSET,
            covered_blocks: 0,
            covered_checksum: 0,
            previous: None,
            skips: Vec::new(),
            state: Vec::new(),
            ..before.clone()
        };
        let reference = Reference { offset: FIRST_BLOCK_OFFSET, stored_bytes: 0, kind: BlockKind::Commit, checksum: 0 };
        let head = Head { commit, reference, end: FIRST_BLOCK_OFFSET };
        let options = WriteOptions { timestamps: false, ..WriteOptions::default() };
        let store = StoreWriter::assemble(place, self.page, head, salt, [0, 0], &options);
        Ok(Replacement { store, is_placed: false })
    }
}

/// A longer name leaves no room for what is put around it, where names have at most 255 bytes; its hash stands for it.
const NAME_BYTES: usize = 240;

impl Replacement {
    /// Where the new file's blocks go.
    pub(crate) fn store(&mut self) -> &mut StoreWriter {
        &mut self.store
    }

    /// Makes the new file whole with `state` as that of its one commit, puts it in the place of `old`, and tells readers of
    /// `old`. Gives the length of the new file.
    ///
    /// # Errors
    ///
    /// [`Error::Io`], also where the old file was deleted; [`Error::Invalid`] where another has its name by now. Whatever fails, one of the two
    /// files has the name, whole.
    pub(crate) fn finish(mut self, old: &mut StoreWriter, state: Vec<u8>) -> Result<u64> {
        let end = self.write_head(state)?;
        self.store.place.take_over(&old.place, &mut self.is_placed)?;
        // Where it cannot be told, readers notice by the name.
        let _ = old.mark_superseded();
        Ok(end)
    }

    /// The commit, the slots and page 0, each on the medium before the next.
    fn write_head(&mut self, state: Vec<u8>) -> Result<u64> {
        let store = &mut self.store;
        store.demand_usable()?;
        store.demand_whole()?;
        if state.len() > COMMIT_STATE_BYTES {
            let (limit, got) = (COMMIT_STATE_BYTES as u64, state.len() as u64);
            return Err(Error::Limit { what: "the state of a commit in bytes", limit, got });
        }
        let commit = Commit {
            sequence: 1,
            covered_blocks: store.cover.blocks(),
            covered_checksum: store.cover.checksum(),
            state,
            ..store.head.commit.clone()
        };
        let reference = store.append_block(BlockKind::Commit, &commit.encode(), false)?;
        store.flush()?;
        let head = Head { commit, reference, end: reference.end() };
        super::recovery::write_head(&*store.medium, &store.page, &head).map_err(store.io("write the head of"))?;
        let end = head.end;
        store.synced = head.clone();
        store.head = head;
        store.cover = CoverChecksum::default();
        Ok(end)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if !self.is_placed && self.store.process == std::process::id() {
            // The lock is still held, so the name is this file's.
            self.store.place.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_space_says_how_much_is_needed_and_how_much_there_is() {
        let path = Path::new("book.plica");
        assert!(demand_space(path, 1000, 1000).is_ok());
        let error = demand_space(path, 1001, 1000).unwrap_err();
        assert!(matches!(&error, Error::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull));
        let text = error.to_string();
        assert!(text.contains("book.plica") && text.contains("1001") && text.contains("1000"), "{text}");
    }

    #[test]
    fn salts_differ_by_file_and_epoch_and_by_nothing_else() {
        assert_eq!(salt_of(&[1; 16], 2), salt_of(&[1; 16], 2));
        assert_ne!(salt_of(&[1; 16], 2), salt_of(&[1; 16], 3));
        assert_ne!(salt_of(&[1; 16], 2), salt_of(&[2; 16], 2));
    }
}
