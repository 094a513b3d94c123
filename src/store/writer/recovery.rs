//! Making a file, and opening one for writing.
//!
//! Opening decides what the last writer left. In the clean case, where both newest slots agree and all four are
//! readable, bytes and slots are left alone and only a tail is cut off. Otherwise a crash (or a failed sync) came
//! between: the head is chosen with its covered blocks verified, and then made durable once more, because what was
//! just read may have come from a cache that never reached the medium: its bytes are written again, the file is cut
//! and synced, and the slots are rewritten one at a time, the older first, with a sync after each, so that at no moment
//! all copies of the head are at stake.

use super::append::NewBlock;
use super::commit::{slot_of, slot_offset, unix_time};
use super::{Place, StoreWriter, WriteOptions, reading_source};
use crate::store::blocks::Blocks;
use crate::store::codec::PayloadCompressor;
use crate::store::head::{Head, HeadPages, WriterPresence, choose_head, read_head_pages};
use crate::store::source::{Medium, Source};
use crate::{Error, Result};
use plica_format::block::{BlockKind, Codec};
use plica_format::commit::{Commit, CoverChecksum};
use plica_format::limits::FIRST_BLOCK_OFFSET;
use plica_format::page::{FilePage, Parameters, SLOT_PAGES, SlotState};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// Bytes that are rewritten at a time.
const REWRITE_BYTES: u64 = 1 << 20;

/// What opening for writing found and did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RecoveryReport {
    /// The last writer ended in order, and nothing but the tail was touched.
    pub(crate) clean: bool,
    /// A commit that was in doubt, or acknowledged but not published, and is there.
    pub(crate) adopted: Option<u64>,
    /// A commit that was begun and is not there.
    pub(crate) discarded: Option<u64>,
    /// Bytes after the last commit that were cut off.
    pub(crate) cut_bytes: u64,
}

impl StoreWriter {
    /// Makes a new index in an empty file. Where that fails, the file is removed while the lock is still held: after that
    /// the name could be that of another one.
    pub(in crate::store) fn create_on(place: Place, parameters: Parameters, options: &WriteOptions) -> Result<Self> {
        match Self::write_first(&place, parameters, options) {
            Ok((page, head)) => {
                let salt = head.commit.salt;
                Ok(Self::assemble(place, page, head, salt, [0, 0], options))
            }
            Err(error) => {
                place.remove();
                Err(error)
            }
        }
    }

    /// Writes page 0, the slots and the first commit.
    fn write_first(place: &Place, parameters: Parameters, options: &WriteOptions) -> Result<(FilePage, Head)> {
        let medium = place.medium();
        let io = |action| Error::io(action, Some(place.path()));
        let file_id = match options.file_id {
            Some(file_id) => file_id,
            None => random_file_id()?,
        };
        let page = FilePage::new(file_id, parameters);
        let salt = session_salt(options)?;
        let commit = Commit {
            sequence: 1,
            epoch: options.epoch,
            file_id,
            parameters,
            salt,
            time: if options.timestamps { unix_time() } else { 0 },
            covered_from: FIRST_BLOCK_OFFSET,
            covered_blocks: 0,
            covered_checksum: CoverChecksum::default().checksum(),
            reader_features: 0,
            writer_features: 0,
            previous: None,
            skips: Vec::new(),
            state: Vec::new(),
        };
        let payload = commit.encode();
        let mut bytes = Vec::new();
        let block =
            NewBlock { kind: BlockKind::Commit, codec: Codec::Stored, stored: &payload, raw_bytes: payload.len() };
        let reference = block.encode(&mut bytes, FIRST_BLOCK_OFFSET, &file_id, salt, &mut CoverChecksum::default());
        let head = Head { commit, reference, end: reference.end() };

        medium.write_at(&bytes, FIRST_BLOCK_OFFSET).map_err(io("write to"))?;
        write_head(&*medium, &page, &head).map_err(io("write the head of"))?;
        place.sync_directory()?;
        Ok((page, head))
    }

    /// Opens the index in a file that no other writer has.
    ///
    /// # Errors
    ///
    /// See [`StoreWriter::open`].
    pub(in crate::store) fn open_on(place: Place, options: &WriteOptions) -> Result<(Self, RecoveryReport)> {
        let medium = place.medium();
        let io = |action| Error::io(action, Some(place.path()));
        let source: Arc<dyn Source> = medium.clone();
        let pages = read_head_pages(&*source, Some(place.path()))?;
        let chosen = choose_head(&source, &pages, || WriterPresence::None)?;
        let head = chosen.head;
        if let Some(what) = head.commit.unknown_writer_features() {
            return Err(Error::Unsupported { what });
        }
        let older = if chosen.clean {
            older_slots(&pages)
        } else {
            settle(&*medium, &pages, &head).map_err(io("recover"))?;
            [0, 0]
        };
        let cut_bytes = pages.length - head.end;
        if chosen.clean && cut_bytes > 0 {
            // Needs no sync: no slot points there, and what comes to lie there has another salt.
            medium.set_len(head.end).map_err(io("cut"))?;
        }
        let report = RecoveryReport {
            clean: chosen.clean,
            adopted: chosen.adopted.then_some(head.commit.sequence),
            discarded: chosen.discarded,
            cut_bytes,
        };
        let salt = session_salt(options)?;
        Ok((Self::assemble(place, pages.page, head, salt, older, options), report))
    }

    /// A writer at `head`.
    pub(super) fn assemble(
        place: Place,
        page: FilePage,
        head: Head,
        salt: u64,
        older: [usize; 2],
        options: &WriteOptions,
    ) -> Self {
        let medium = place.medium();
        let view = Blocks::new(reading_source(&medium, &place), page.file_id, head.end);
        let mut writer = Self {
            view,
            medium,
            place,
            page,
            process: std::process::id(),
            salt,
            timestamps: options.timestamps,
            unusable: None,
            append_failed: false,
            synced: head.clone(),
            older,
            ladder: BTreeMap::new(),
            opened_at: head.clone(),
            buffer: Vec::new(),
            written: head.end,
            cover: CoverChecksum::default(),
            cover_at_head: CoverChecksum::default(),
            compressor: PayloadCompressor::new(),
            head: head.clone(),
        };
        writer.adopt_head(head);
        writer.extend_map();
        writer
    }
}

/// Writes the head of a new file whose blocks are written: all slots name `head`. Page 0 comes when all else is on the
/// medium: without it the file is no index.
pub(super) fn write_head(medium: &dyn Medium, page: &FilePage, head: &Head) -> io::Result<()> {
    for index in 0..SLOT_PAGES.len() {
        medium.write_at(&slot_of(head, index, SlotState::Valid).encode(), slot_offset(index))?;
    }
    medium.sync_data()?;
    medium.write_at(&page.encode(), 0)?;
    medium.sync_data()
}

/// Which slot of each pair names the older commit.
fn older_slots(pages: &HeadPages) -> [usize; 2] {
    let sequence = |index: usize| pages.slots[index].as_ref().map_or(0, |slot| slot.sequence);
    [0, 2].map(|first| usize::from(sequence(first + 1) < sequence(first)))
}

/// Makes the chosen head durable and puts it into every slot.
fn settle(medium: &dyn Medium, pages: &HeadPages, head: &Head) -> io::Result<()> {
    let mut at = head.commit.covered_from;
    let mut bytes = Vec::new();
    while at < head.end {
        bytes.resize(REWRITE_BYTES.min(head.end - at) as usize, 0);
        medium.read_at(&mut bytes, at)?;
        medium.write_at(&bytes, at)?;
        at += bytes.len() as u64;
    }
    medium.set_len(head.end)?;
    medium.sync_data()?;
    for pair in [[0, 1], [2, 3]] {
        let mut pair = pair;
        // Unreadable first, then the older, a copy of the head last.
        pair.sort_by_key(|&index: &usize| match &pages.slots[index] {
            Ok(slot) => (slot.commit == head.reference && slot.state == SlotState::Valid, slot.sequence),
            Err(_) => (false, 0),
        });
        for index in pair {
            medium.write_at(&slot_of(head, index, SlotState::Valid).encode(), slot_offset(index))?;
            medium.sync_data()?;
        }
    }
    Ok(())
}

/// The salt of a new session.
fn session_salt(options: &WriteOptions) -> Result<u64> {
    match options.salt {
        Some(salt) => Ok(salt),
        None => Ok(u64::from_le_bytes(random()?)),
    }
}

/// A new file id.
fn random_file_id() -> Result<[u8; 16]> {
    random()
}

/// Random bytes of the system.
fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Error::io("get random bytes", None)(io::Error::other(error)))?;
    Ok(bytes)
}
