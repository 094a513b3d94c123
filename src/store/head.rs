//! The newest commit: reading the head pages, choosing a slot, and verifying what a commit covers.
//!
//! When the newest intent slot and the newest publish slot agree, that is the head, and nothing else is read but its
//! commit block. When an intent is newer, a commit is being made right now, or a writer has died; which of the two is
//! known from the writer's lock. With no writer alive each newer intent, from the newest down, is taken if all that
//! its commit covers is there.

use super::blocks::{Blocks, check_payload, damaged, read_failed};
use super::source::Source;
use crate::{Error, Result};
use plica_format::FormatError;
use plica_format::block::{FileId, Reference};
use plica_format::commit::{Commit, CoverChecksum};
use plica_format::limits::{FIRST_BLOCK_OFFSET, PAGE_BYTES};
use plica_format::page::{FilePage, FilePageError, SLOT_PAGES, Slot, SlotRole, SlotState};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Times that the head pages are read before two torn slots of a pair are called damage, and the pause between.
const TORN_READS: u32 = 100;
/// See [`TORN_READS`].
const TORN_PAUSE: Duration = Duration::from_micros(100);

/// A commit and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    /// The decoded commit block.
    pub(crate) commit: Commit,
    /// The commit block.
    pub(crate) reference: Reference,
    /// Where the file ends that this commit makes.
    pub(crate) end: u64,
}

/// Page 0 and the slots as they were read.
#[derive(Debug)]
pub(crate) struct HeadPages {
    /// Page 0.
    pub(crate) page: FilePage,
    /// I0, I1, P0, P1.
    pub(crate) slots: [Result<Slot, FormatError>; 4],
    /// Length of the file after the slots were read.
    pub(crate) length: u64,
}

/// Whether a writer holds the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriterPresence {
    /// It does, or that cannot be told.
    Possible,
    /// None does.
    None,
}

/// The head that was chosen, and what else the slots say.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The newest commit.
    pub(crate) head: Head,
    /// A newer intent was left alone because a writer may be alive.
    pub(crate) recovery_pending: bool,
    /// The head comes from an intent that no publish slot confirms.
    pub(crate) adopted: bool,
    /// The newest commit that was begun after the head and is not there.
    pub(crate) discarded: Option<u64>,
    /// All four slots are readable and valid, and the newest of both pairs are the head.
    pub(crate) clean: bool,
    /// The file has been replaced by a vacuumed one.
    pub(crate) superseded: bool,
}

/// Reads page 0 and the slots with positioned reads.
pub(crate) fn read_head_pages(source: &dyn Source, path: Option<&Path>) -> Result<HeadPages> {
    let mut round = 0;
    loop {
        let pages = read_head_pages_once(source, path)?;
        let [i0, i1, p0, p1] = &pages.slots;
        // Two torn slots of a pair may be a race with a writer that is quicker than this reader.
        let torn = [(i0, i1, "intent slots"), (p0, p1, "publish slots")]
            .into_iter()
            .find_map(|(a, b, what)| Some((a.as_ref().err()?, b.as_ref().err()?, what)));
        let Some((first, second, what)) = torn else { return Ok(pages) };
        round += 1;
        if round >= TORN_READS {
            let offset = PAGE_BYTES as u64 * if what == "intent slots" { 1 } else { 3 };
            return Err(damaged(offset, what, format!("both are unreadable: {first}; {second}")));
        }
        std::thread::sleep(TORN_PAUSE);
    }
}

/// Reads all five pages in one go, so that the intents are read before the publish slots.
/// A file that is no longer than this holds at most the commit of its creation, which publishes nothing. While its page 0,
/// the last thing that creation writes, is zeros, it is no index yet.
pub(in crate::store) const UNBORN_BYTES: u64 = FIRST_BLOCK_OFFSET + 256;

fn read_head_pages_once(source: &dyn Source, path: Option<&Path>) -> Result<HeadPages> {
    let length = source.len().map_err(Error::io("read", path))?;
    let mut bytes = vec![0; length.min(FIRST_BLOCK_OFFSET) as usize];
    source.read_at(&mut bytes, 0).map_err(Error::io("read", path))?;
    let (first, rest) = bytes.split_at(bytes.len().min(PAGE_BYTES));
    if length <= UNBORN_BYTES && first.iter().all(|&byte| byte == 0) {
        let got = "nothing yet (its creation was cut short; create it again)".to_owned();
        return Err(Error::NotAnIndex { path: path.map(Path::to_path_buf), got });
    }
    let page = FilePage::decode(first).map_err(|error| match error {
        FilePageError::NotAnIndex { .. } if rest.chunks(PAGE_BYTES).any(Slot::is_slot) => {
            damaged(0, "page 0", "expected the file magic, got other bytes before the slots of an index")
        }
        FilePageError::NotAnIndex { got } => Error::NotAnIndex { path: path.map(Path::to_path_buf), got },
        FilePageError::Version { major } => Error::Unsupported { what: format!("format version {major}") },
        FilePageError::Damaged(error) => damaged(0, "page 0", error.to_string()),
    })?;
    if length < FIRST_BLOCK_OFFSET {
        return Err(damaged(length, "head pages", format!("the file ends at {length}, before its first block")));
    }
    let slots = SLOT_PAGES.map(|number| {
        let start = usize::from(number - 1) * PAGE_BYTES;
        Slot::decode(rest.get(start..start + PAGE_BYTES).unwrap_or_default(), number, &page.file_id)
    });
    // Asked for last: the file only grows while it is read, so no slot can point past this without being damaged.
    let length = source.len().map_err(Error::io("read", path))?;
    Ok(HeadPages { page, slots, length })
}

/// Chooses the head. `writer` is asked only if an intent is newer than every publish slot.
pub(crate) fn choose_head(
    source: &Arc<dyn Source>,
    pages: &HeadPages,
    writer: impl FnOnce() -> WriterPresence,
) -> Result<Chosen> {
    let readable = || pages.slots.iter().flatten();
    let stands = |slot: &&Slot| slot.state != SlotState::Invalid;
    let mut intents: Vec<&Slot> = readable().filter(|s| s.role == SlotRole::Intent).filter(stands).collect();
    intents.sort_by_key(|slot| std::cmp::Reverse(slot.sequence));
    let published = readable().filter(|s| s.role == SlotRole::Publish).filter(stands).max_by_key(|slot| slot.sequence);
    let published_sequence = published.map_or(0, |slot| slot.sequence);
    if let Some(published) = published {
        demand_published(pages, published, &intents)?;
    }

    let newer: Vec<&Slot> = intents.iter().filter(|slot| slot.sequence > published_sequence).copied().collect();
    let mut recovery_pending = false;
    let mut adopted = None;
    if !newer.is_empty() {
        match writer() {
            WriterPresence::Possible => recovery_pending = true,
            WriterPresence::None => {
                for intent in &newer {
                    adopted = sound_head(source, pages, intent)?;
                    if adopted.is_some() {
                        break;
                    }
                }
            }
        }
    }
    let is_adopted = adopted.is_some();
    let head = match (adopted, published) {
        (Some(head), _) => head,
        (None, Some(published)) => read_head(source, pages, published)?,
        (None, None) => {
            return Err(damaged(PAGE_BYTES as u64, "slots", "no slot names a commit that is there"));
        }
    };
    let begun = readable().filter(|s| s.role == SlotRole::Intent).map(|slot| slot.sequence).max();
    let newest_is_head = intents.first().is_some_and(|slot| slot.sequence == head.commit.sequence);
    let all_valid = pages.slots.iter().all(|slot| slot.as_ref().is_ok_and(|slot| slot.state == SlotState::Valid));
    Ok(Chosen {
        clean: all_valid && newest_is_head && !is_adopted,
        discarded: begun.filter(|&sequence| sequence > head.commit.sequence && !recovery_pending),
        superseded: readable()
            .filter(|slot| slot.role == SlotRole::Publish && slot.sequence == published_sequence)
            .any(|slot| slot.state == SlotState::Superseded),
        adopted: is_adopted,
        recovery_pending,
        head,
    })
}

/// What must be true of the newest publish slot: its commit was synced.
fn demand_published(pages: &HeadPages, published: &Slot, intents: &[&Slot]) -> Result<()> {
    let at = u64::from(published.page) * PAGE_BYTES as u64;
    if published.end() > pages.length {
        let detail = format!(
            "commit {} ends at {}, but the file ends at {}: it has been cut",
            published.sequence,
            published.end(),
            pages.length
        );
        return Err(damaged(at, "publish slot", detail));
    }
    let agrees = |intent: &&&Slot| {
        (intent.commit, intent.salt, intent.epoch) == (published.commit, published.salt, published.epoch)
    };
    match intents.iter().find(|slot| slot.sequence == published.sequence && !agrees(slot)) {
        None => Ok(()),
        Some(_) => {
            Err(damaged(at, "publish slot", format!("it and the intent slot differ on commit {}", published.sequence)))
        }
    }
}

/// The head that an unconfirmed intent names, if all its commit covers is there.
fn sound_head(source: &Arc<dyn Source>, pages: &HeadPages, intent: &Slot) -> Result<Option<Head>> {
    if intent.end() > pages.length {
        return Ok(None);
    }
    let checked = read_head(source, pages, intent).and_then(|head| {
        verify_covered(source, &pages.page.file_id, &head)?;
        Ok(head)
    });
    match checked {
        Ok(head) => Ok(Some(head)),
        // What is missing or torn was never acknowledged. An error of the system proves nothing, so it is passed on.
        Err(Error::Damaged { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the commit block that a slot names; slot, block and page 0 must agree.
fn read_head(source: &Arc<dyn Source>, pages: &HeadPages, slot: &Slot) -> Result<Head> {
    let blocks = Blocks::new(source.clone(), pages.page.file_id, slot.end());
    let head = read_commit(&blocks, &slot.commit, slot.sequence, slot.epoch)?;
    if head.commit.salt != slot.salt {
        return Err(damaged(head.reference.offset, "commit block", "its salt is not the slot's"));
    }
    if head.commit.parameters != pages.page.parameters {
        return Err(damaged(0, "page 0", "its creation parameters are not those of the commit block"));
    }
    Ok(head)
}

/// Reads the commit block at `reference`, which must be commit `sequence` of this file and epoch.
pub(crate) fn read_commit(blocks: &Blocks, reference: &Reference, sequence: u64, epoch: u32) -> Result<Head> {
    let payload = blocks.read(reference)?;
    let commit = Commit::decode(&payload).map_err(Error::damaged_block(reference))?;
    if let Some(what) = commit.unknown_reader_features() {
        return Err(Error::Unsupported { what });
    }
    let found = (commit.sequence, commit.epoch, &commit.file_id);
    if found != (sequence, epoch, blocks.file_id()) {
        return Err(damaged(
            reference.offset,
            "commit block",
            format!(
                "expected commit {sequence} of epoch {epoch} of this file, got commit {} of epoch {}",
                commit.sequence, commit.epoch
            ),
        ));
    }
    if commit.previous.is_some_and(|previous| previous.end() > reference.offset)
        || commit.covered_from > reference.offset
    {
        return Err(damaged(reference.offset, "commit block", "it refers to what comes after it"));
    }
    Ok(Head { commit, reference: *reference, end: reference.end() })
}

/// Verifies that every block that a commit covers is on the medium as it was written.
fn verify_covered(source: &Arc<dyn Source>, file_id: &FileId, head: &Head) -> Result<()> {
    let commit = &head.commit;
    let blocks = Blocks::new(source.clone(), *file_id, head.reference.offset);
    let mut cover = CoverChecksum::default();
    let mut block = Vec::new();
    for walked in blocks.walk(commit.covered_from) {
        let walked = walked?;
        let reference = walked.reference;
        if walked.header.salt != commit.salt {
            return Err(damaged(reference.offset, "block header", "it is of another writer session than its commit"));
        }
        block.resize((reference.end() - reference.offset) as usize, 0);
        source.read_at(&mut block, reference.offset).map_err(read_failed(reference.offset, "block"))?;
        check_payload(&reference, &block)?;
        cover.add(&walked.encoded);
    }
    if (cover.blocks(), cover.checksum()) == (commit.covered_blocks, commit.covered_checksum) {
        return Ok(());
    }
    let detail = format!("it covers {} blocks, {} other ones are there", commit.covered_blocks, cover.blocks());
    Err(damaged(head.reference.offset, "commit block", detail))
}
