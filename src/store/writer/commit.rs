//! Making a commit: append its block, write an intent slot, sync once, write a publish slot.
//!
//! What each failure means is decided by how far the protocol came. Before the intent slot is touched, nothing can have
//! happened. Once a sync has failed, nobody can say what is on the medium: the writer stops, and the next opening
//! looks. After a good sync the commit is durable, whatever happens to the publish slot.

use super::{Durability, StoreWriter};
use crate::store::head::Head;
use crate::store::open::commit_at;
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::commit::{Commit, CoverChecksum, skip_count};
use plica_format::limits::{COMMIT_STATE_BYTES, PAGE_BYTES};
use plica_format::page::{SLOT_PAGES, Slot, SlotRole, SlotState};
use std::time::{SystemTime, UNIX_EPOCH};

/// Slots I0 and P0 among [`SLOT_PAGES`].
const FIRST_OF_PAIR: [usize; 2] = [0, 2];

/// A forged file may claim any number of commits; a writer does not count on from there.
const SEQUENCE_BOUND: u64 = 1 << 62;

/// The slot in page `SLOT_PAGES[index]` that names `head`.
pub(super) fn slot_of(head: &Head, index: usize, state: SlotState) -> Slot {
    Slot {
        role: if index < FIRST_OF_PAIR[1] { SlotRole::Intent } else { SlotRole::Publish },
        state,
        page: SLOT_PAGES[index],
        epoch: head.commit.epoch,
        sequence: head.commit.sequence,
        salt: head.commit.salt,
        file_id: head.commit.file_id,
        commit: head.reference,
    }
}

/// Where a slot lies in the file.
pub(super) fn slot_offset(index: usize) -> u64 {
    u64::from(SLOT_PAGES[index]) * PAGE_BYTES as u64
}

/// Seconds since 1970, or 0 when the clock stands before.
pub(super) fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl StoreWriter {
    /// Commits everything appended since the last commit, with `state` as the new state.
    ///
    /// # Errors
    ///
    /// [`Error::Limit`] for a state over its limit: nothing has changed, and the commit can be tried again.
    /// [`Error::NotCommitted`]: what was appended is cut off, the last commit stands, and the writer can go on (unless
    /// the file could not be cut: then the next call says so). [`Error::InDoubt`]: the commit is there whole or not at
    /// all, the writer is done, and the next opening settles it.
    pub(crate) fn commit(&mut self, state: Vec<u8>, durability: Durability) -> Result<Head> {
        self.demand_usable()?;
        self.demand_whole()?;
        if state.len() > COMMIT_STATE_BYTES {
            let (limit, got) = (COMMIT_STATE_BYTES as u64, state.len() as u64);
            return Err(Error::Limit { what: "the state of a commit in bytes", limit, got });
        }
        let head = self.append_commit(state).map_err(|error| self.not_committed(error))?;
        if durability == Durability::Immediate {
            if let Err(error) = self.flush() {
                return Err(self.not_committed(error));
            }
            self.make_durable(&head, true)?;
        }
        self.adopt_head(head.clone());
        Ok(head)
    }

    /// Makes the deferred commits durable. What was appended after the last of them stays uncommitted.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit), but after [`Error::NotCommitted`] the deferred commits still wait.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.demand_usable()?;
        self.demand_whole()?;
        if self.head.end == self.synced.end {
            return Ok(());
        }
        self.flush().map_err(|error| Error::NotCommitted { source: Box::new(error) })?;
        let head = self.head.clone();
        // What comes after the head is covered by the next commit, and has to be added up anew.
        let mut cover = CoverChecksum::default();
        for walked in self.view.walk(head.end) {
            cover.add(&walked?.encoded);
        }
        self.make_durable(&head, false)?;
        self.cover = cover;
        self.cover_at_head = CoverChecksum::default();
        Ok(())
    }

    /// Says in a publish slot that another file has taken this one's place, for readers that still have it open. For a
    /// vacuum, after the new file has its name. It is the older slot that is written over, so that a reader that comes
    /// meanwhile, or a crash, finds the newest one whole.
    ///
    /// # Errors
    ///
    /// [`Error::Io`]; readers then find out by the path.
    pub(crate) fn mark_superseded(&mut self) -> Result<()> {
        self.demand_usable()?;
        let older = FIRST_OF_PAIR[1] + self.older[1];
        let slot = slot_of(&self.synced, older, SlotState::Superseded);
        self.medium.write_at(&slot.encode(), slot_offset(older)).map_err(self.io("write to"))
    }

    /// Appends the block of the next commit.
    fn append_commit(&mut self, state: Vec<u8>) -> Result<Head> {
        let sequence = self.head.commit.sequence.checked_add(1).filter(|&sequence| sequence < SEQUENCE_BOUND);
        let sequence = sequence.ok_or(Error::Limit {
            what: "the number of commits between vacuums",
            limit: SEQUENCE_BOUND,
            got: self.head.commit.sequence,
        })?;
        let commit = Commit {
            sequence,
            epoch: self.head.commit.epoch,
            file_id: self.page.file_id,
            parameters: self.page.parameters,
            salt: self.salt,
            time: if self.timestamps { unix_time() } else { 0 },
            covered_from: self.synced.end,
            covered_blocks: self.cover.blocks(),
            covered_checksum: self.cover.checksum(),
            reader_features: self.head.commit.reader_features,
            writer_features: self.head.commit.writer_features,
            previous: Some(self.head.reference),
            skips: self.skips(sequence)?,
            state,
        };
        let reference = self.append_block(BlockKind::Commit, &commit.encode(), false)?;
        Ok(Head { commit, reference, end: reference.end() })
    }

    /// The skip references of commit `sequence`: kept ones, or those found in the file.
    fn skips(&self, sequence: u64) -> Result<Vec<Reference>> {
        (1u32..)
            .take(skip_count(sequence))
            .map(|k| {
                let target = sequence - (1 << k);
                match self.ladder.get(&k) {
                    Some(&(kept, reference)) if kept == target => Ok(reference),
                    // Not made by this writer, or it would be kept.
                    _ => commit_at(&self.view, &self.opened_at, target).map(|head| head.reference),
                }
            })
            .collect()
    }

    /// Takes a commit as the newest.
    pub(super) fn adopt_head(&mut self, head: Head) {
        let sequence = head.commit.sequence;
        for k in 0..=sequence.trailing_zeros() {
            self.ladder.insert(k, (sequence, head.reference));
        }
        self.cover_at_head = self.cover.clone();
        self.head = head;
    }

    /// The protocol from the intent slot on. With `cut_back`, what comes after the last commit is cut off on failure.
    fn make_durable(&mut self, head: &Head, cut_back: bool) -> Result<()> {
        let sequence = head.commit.sequence;
        let in_doubt = |error: Error| Error::InDoubt { sequence, source: Box::new(error) };
        let [intent, publish] = [0, 1].map(|pair| FIRST_OF_PAIR[pair] + self.older[pair]);
        if let Err(error) = self.write_slot(head, intent, SlotState::Valid) {
            // The slot may have been written all the same. Only a durable refusal of it makes sure.
            return Err(match self.refuse_intent(head, intent, cut_back) {
                Ok(()) => Error::NotCommitted { source: Box::new(error) },
                Err(_) => {
                    self.unusable = Some("an intent slot could not be written; open the index again");
                    in_doubt(error)
                }
            });
        }
        if let Err(error) = self.medium.sync_data() {
            // What is on the medium cannot be known, and a second sync would not tell.
            let _ = self.write_slot(head, intent, SlotState::Invalid);
            let _ = self.medium.set_len(self.synced.end);
            self.unusable = Some("a sync failed; open the index again, which settles the last commit");
            return Err(in_doubt(self.io("sync")(error)));
        }
        if let Err(error) = self.write_slot(head, publish, SlotState::Valid) {
            self.unusable = Some("a commit is durable but could not be published; open the index again to adopt it");
            return Err(in_doubt(error));
        }
        self.older = self.older.map(|older| 1 - older);
        self.synced = head.clone();
        self.cover = CoverChecksum::default();
        self.extend_map();
        Ok(())
    }

    /// Writes the slot with index `index`.
    fn write_slot(&self, head: &Head, index: usize, state: SlotState) -> Result<()> {
        let bytes = slot_of(head, index, state).encode();
        self.medium.write_at(&bytes, slot_offset(index)).map_err(self.io("write to"))
    }

    /// Makes sure that an intent slot whose write failed is not taken for a commit.
    fn refuse_intent(&mut self, head: &Head, index: usize, cut_back: bool) -> Result<()> {
        self.write_slot(head, index, SlotState::Invalid)?;
        if cut_back {
            self.rollback()?;
        }
        self.medium.sync_data().map_err(self.io("sync"))
    }

    /// Cuts back after a failure that came before the intent slot.
    fn not_committed(&mut self, error: Error) -> Error {
        // If the file cannot be cut, the writer is unusable, and what is too long is cut by the next one.
        let _ = self.rollback();
        Error::NotCommitted { source: Box::new(error) }
    }

    /// Lets the map reach the end of the last synced commit; in vain, blocks are read by position.
    pub(super) fn extend_map(&mut self) {
        if !self.view.source().spans(self.synced.end) {
            let source = super::reading_source(&self.medium, &self.place);
            self.view = self.view.with_end(self.written, Some(source));
        }
        let _ = self.view.source().prove(self.synced.end);
    }
}
