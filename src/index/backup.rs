//! A copy of an index, while readers and a writer go on.

use super::snapshot::Snapshot;
use super::vacuum::write_content;
use crate::Result;
use crate::search::Limits;
use crate::store::{self, Durability, StoreWriter};
use std::path::Path;

impl Snapshot {
    /// Writes a copy of the index as of this commit to a new file, which must not exist. A writer may go on meanwhile; the
    /// copy holds this commit and those before it, and nothing after. Every block is read back from the copy and compared
    /// with its checksum before the copy becomes an index. Gives its length in bytes.
    ///
    /// The copy has the same id as the index: it is the same index at an earlier moment. See
    /// [`Snapshot::backup_as_new`] for one of its own.
    ///
    /// ```
    /// # fn main() -> plica::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let (path, copy) = (folder.path().join("notes.plica"), folder.path().join("copy.plica"));
    /// # let mut writer = plica::Writer::create(&path, &plica::Options::new())?;
    /// # writer.add_document("notes", "", "")?;
    /// # writer.append_chunk("notes", &plica::NewChunk::text("The archive keeps the letters."))?;
    /// # writer.publish("notes")?;
    /// # writer.commit()?;
    /// let snapshot = plica::Index::open(&path)?.snapshot();
    /// snapshot.backup(&copy, &plica::Limits::default())?;
    /// assert_eq!(plica::Index::open(&copy)?.snapshot().documents()?, snapshot.documents()?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) (an existing file among them), [`Error::Damaged`](crate::Error::Damaged) where a
    /// block is, [`Error::Cancelled`](crate::Error::Cancelled). No file is left behind then.
    pub fn backup(&self, copy: impl AsRef<Path>, limits: &Limits) -> Result<u64> {
        store::copy(self.opened(), self.commit_head(), copy.as_ref(), &|| limits.check())
    }

    /// As [`Snapshot::backup`], but the copy has an id of its own, so it can go its own way beside the index. All answers
    /// are the same. It holds one commit with what is live, as after a vacuum.
    ///
    /// # Errors
    /// As of [`Snapshot::backup`].
    pub fn backup_as_new(&self, copy: impl AsRef<Path>, limits: &Limits) -> Result<u64> {
        let options = store::WriteOptions::default();
        let mut writer = StoreWriter::create(copy.as_ref(), *self.parameters(), &options)?;
        let written = write_content(self.view(), self.parameters().fanout, &mut writer, limits)
            .and_then(|state| writer.commit(state, Durability::Immediate));
        match written {
            Ok(head) => Ok(head.end),
            Err(error) => {
                writer.discard();
                Err(error)
            }
        }
    }
}
