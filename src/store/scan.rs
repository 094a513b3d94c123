//! Finding what is sound in a file of which anything may be damaged, page 0 and the slots included.
//!
//! Headers lead from block to block. Where one is damaged, the next place is looked for at which a header and its payload
//! both have their checksums. A header's checksum runs over the id of the file, which stands on page 0, in every slot and
//! in every commit block; where none of these is left, any id will do with which a header passes, since a checksum of 32
//! bits tells no more of the id than 32 bits ([`BlockHeader::like_id`]).

use super::blocks::{Blocks, check_payload, damaged, read_failed};
use super::head::Head;
use super::open::open_read;
use super::positioned::FileSource;
use super::source::Source;
use crate::{Error, Result};
use plica_format::block::{BLOCK_MAGIC, BlockHeader, BlockKind, FileId, HEADER_BYTES, Reference};
use plica_format::commit::Commit;
use plica_format::limits::{BLOCK_ALIGN_BYTES, FIRST_BLOCK_OFFSET, PAGE_BYTES};
use plica_format::page::{FilePage, FilePageError, Parameters, SLOT_PAGES, Slot, SlotState};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Bytes that are read at once where a header is looked for.
const WINDOW_BYTES: usize = 64 << 10;
/// Blocks that may vote for an id before the search for one ends.
const VOTES: u32 = 1000;

/// A stretch of the file that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Where it starts.
    pub(crate) offset: u64,
    /// Its length in bytes.
    pub(crate) bytes: u64,
    /// What lies there, as far as it can be told.
    pub(crate) what: String,
    /// What is wrong.
    pub(crate) detail: String,
}

/// What is left of a file.
#[derive(Debug)]
pub(crate) struct Scan {
    /// The sound blocks, to be read by reference.
    pub(crate) blocks: Blocks,
    /// References to them, in the order of the file. Padding is left out.
    pub(crate) sound: Vec<Reference>,
    /// What is damaged, in the order of the file.
    pub(crate) damage: Vec<Stretch>,
    /// What was fixed at creation, where page 0 says it.
    pub(crate) parameters: Option<Parameters>,
    /// The newest commit that is there.
    pub(crate) newest: Option<Head>,
    /// Whether no later commit was ever made, as far as can be told.
    pub(crate) is_newest: bool,
    /// The greatest number of a commit that a slot names.
    named: Option<u64>,
    /// Length of the file.
    pub(crate) length: u64,
}

/// Looks through a file.
///
/// # Errors
/// [`Error::NotAnIndex`] where it holds no block at all, [`Error::Unsupported`], [`Error::Io`].
pub(crate) fn scan(path: &Path, go_on: &dyn Fn() -> Result<()>) -> Result<Scan> {
    let opened = match open_read(path, &super::ReadOptions { source: super::SourceKind::Positioned }) {
        Ok(opened) => Some(opened.head),
        Err(Error::Damaged { .. } | Error::NotAnIndex { .. }) => None,
        Err(error) => return Err(error),
    };
    let file = File::open(path).map_err(Error::io("open", Some(path)))?;
    let source: Arc<dyn Source> = Arc::new(FileSource::new(Arc::new(file)));
    scan_source(source, opened, go_on).map_err(|error| match error {
        Error::NotAnIndex { path: None, got } => Error::NotAnIndex { path: Some(path.to_path_buf()), got },
        Error::Io { action, path: None, source } => Error::Io { action, path: Some(path.to_path_buf()), source },
        error => error,
    })
}

/// As [`scan`], of any source; `opened` is the head that opening it found, where it could be opened.
fn scan_source(source: Arc<dyn Source>, opened: Option<Head>, go_on: &dyn Fn() -> Result<()>) -> Result<Scan> {
    let length = source.len().map_err(Error::io("read", None))?;
    let mut start = vec![0; length.min(FIRST_BLOCK_OFFSET) as usize];
    source.read_at(&mut start, 0).map_err(read_failed(0, "head pages"))?;
    let mut damage = Vec::new();
    let page = match FilePage::decode(start.get(..PAGE_BYTES).unwrap_or(&start)) {
        Ok(page) => Some(page),
        Err(FilePageError::Version { major }) => {
            return Err(Error::Unsupported { what: format!("format version {major}") });
        }
        Err(error) => {
            let detail = match error {
                FilePageError::Damaged(error) => error.to_string(),
                _ => "expected the file magic".to_owned(),
            };
            let bytes = PAGE_BYTES as u64;
            damage.push(Stretch { offset: 0, bytes, what: "page 0".into(), detail });
            None
        }
    };
    let slots = slots(&start, page.map(|page| page.file_id), &mut damage);
    let known = page.map(|page| page.file_id).or_else(|| slots.first().map(|slot| slot.0));
    let file_id = match known {
        Some(id) => id,
        None => find_id(&*source, length, go_on)?.ok_or_else(|| Error::NotAnIndex {
            path: None,
            got: "other bytes, and no block in it passes its checksum".to_owned(),
        })?,
    };
    let blocks = Blocks::new(source.clone(), file_id, length);
    let mut scan = Scan {
        blocks,
        sound: Vec::new(),
        damage,
        parameters: page.map(|page| page.parameters),
        newest: opened.clone(),
        is_newest: opened.is_some(),
        named: slots.iter().map(|slot| slot.1).max(),
        length,
    };
    scan.walk(&*source, file_id, go_on)?;
    if scan.newest.is_none() {
        scan.newest = scan.newest_commit()?;
        let sequence = scan.newest.as_ref().map(|head| head.commit.sequence);
        scan.is_newest = sequence.is_some() && scan.named.is_some() && scan.named <= sequence;
    }
    if scan.sound.is_empty() && page.is_none() && slots.is_empty() {
        let got = "other bytes, and no block in it passes its checksum".to_owned();
        return Err(Error::NotAnIndex { path: None, got });
    }
    Ok(scan)
}

/// File id and number of the commit of each slot that can be read and stands. One that cannot is damage.
fn slots(start: &[u8], id: Option<FileId>, damage: &mut Vec<Stretch>) -> Vec<(FileId, u64)> {
    let mut found = Vec::new();
    for page in SLOT_PAGES {
        let offset = usize::from(page) * PAGE_BYTES;
        let bytes = start.get(offset..offset + PAGE_BYTES).unwrap_or_default();
        // A slot has the id of its file, too.
        let own = Slot::id_in(bytes);
        match id.or(own).map(|id| (id, Slot::decode(bytes, page, &id))) {
            Some((id, Ok(slot))) if slot.state != SlotState::Invalid => found.push((id, slot.sequence)),
            Some((_, Ok(_))) => {}
            other => {
                let detail = match other {
                    Some((_, Err(error))) => error.to_string(),
                    _ if bytes.is_empty() => "the file ends before it does".to_owned(),
                    _ => "expected the magic of a slot".to_owned(),
                };
                let (offset, bytes) = (offset as u64, PAGE_BYTES as u64);
                damage.push(Stretch { offset, bytes, what: "head slot".into(), detail });
            }
        }
    }
    found
}

/// The first place from `from` on where the magic of a block stands.
fn find_magic(source: &dyn Source, from: u64, length: u64) -> Result<Option<u64>> {
    let align = BLOCK_ALIGN_BYTES as usize;
    let mut at = from;
    let mut window = Vec::new();
    while at.saturating_add(HEADER_BYTES as u64) <= length {
        window.resize((length - at).min(WINDOW_BYTES as u64) as usize, 0);
        source.read_at(&mut window, at).map_err(read_failed(at, "block header"))?;
        let places = window.chunks(align).zip(0u64..);
        if let Some((_, place)) = places.into_iter().find(|(bytes, _)| bytes.starts_with(&BLOCK_MAGIC)) {
            return Ok(Some(at + place * BLOCK_ALIGN_BYTES));
        }
        at += (window.len() / align * align) as u64;
    }
    Ok(None)
}

/// The block at `offset`, where it passes: header, lengths, payload and what fills it up.
fn sound_at(source: &dyn Source, id: &FileId, offset: u64, length: u64) -> Result<Option<Reference>> {
    let mut header = [0; HEADER_BYTES];
    if offset.saturating_add(HEADER_BYTES as u64) > length {
        return Ok(None);
    }
    source.read_at(&mut header, offset).map_err(read_failed(offset, "block header"))?;
    let Ok(header) = BlockHeader::decode(&header, id, offset) else { return Ok(None) };
    let reference = reference(&header, offset);
    Ok(payload_at(source, &reference, length)?.is_ok().then_some(reference))
}

fn reference(header: &BlockHeader, offset: u64) -> Reference {
    let BlockHeader { kind, stored_bytes, payload_checksum: checksum, .. } = *header;
    Reference { offset, stored_bytes, kind, checksum }
}

/// The whole block that a header announced, or what is wrong with it.
fn payload_at(source: &dyn Source, reference: &Reference, length: u64) -> Result<Result<Vec<u8>, String>> {
    if reference.end() > length {
        return Ok(Err(format!("it ends at {}, the file at {length}", reference.end())));
    }
    let mut block = vec![0; (reference.end() - reference.offset) as usize];
    source.read_at(&mut block, reference.offset).map_err(read_failed(reference.offset, "block"))?;
    Ok(match check_payload(reference, &block) {
        Ok(()) => Ok(block),
        Err(Error::Damaged { detail, .. }) => Err(detail),
        Err(error) => return Err(error),
    })
}

/// The id of a file without page 0 and slots: from a commit block, or else the one that most headers pass with.
fn find_id(source: &dyn Source, length: u64, go_on: &dyn Fn() -> Result<()>) -> Result<Option<FileId>> {
    let mut votes: HashMap<FileId, u32> = HashMap::new();
    let (mut at, mut cast) = (0, 0);
    while let Some(offset) = find_magic(source, at, length)? {
        go_on()?;
        at = offset + BLOCK_ALIGN_BYTES;
        let mut header = [0; HEADER_BYTES];
        source.read_at(&mut header, offset).map_err(read_failed(offset, "block header"))?;
        let id = BlockHeader::like_id(&header, offset);
        let Ok(decoded) = BlockHeader::decode(&header, &id, offset) else { continue };
        let reference = reference(&decoded, offset);
        let Ok(block) = payload_at(source, &reference, length)? else { continue };
        at = reference.end();
        if decoded.kind == BlockKind::Commit
            && let Some(payload) = block.get(HEADER_BYTES..HEADER_BYTES + decoded.stored_bytes as usize)
            && let Ok(commit) = Commit::decode(payload)
            && BlockHeader::decode(&header, &commit.file_id, offset).is_ok()
        {
            return Ok(Some(commit.file_id));
        }
        *votes.entry(id).or_default() += 1;
        cast += 1;
        if cast >= VOTES && length - at > (4 << 20) {
            // The last commit is at the end, and knows the id.
            at = at.max(length - (4 << 20));
            cast = 0;
        }
    }
    Ok(votes.into_iter().max_by_key(|&(id, count)| (count, id)).map(|(id, _)| id))
}

/// What is met on a walk.
#[derive(Debug)]
pub(crate) enum Met {
    /// A block that was verified.
    Sound(Reference),
    /// A stretch without one.
    Damaged(Stretch),
}

/// Walks the blocks of a file up to `end`, in order. Each with a sound header is put before `verify`, which says that it is
/// damaged by [`Error::Damaged`]. Behind a damaged header the walk goes on at the next block that is sound.
pub(crate) fn each_block(
    source: &dyn Source,
    id: &FileId,
    end: u64,
    mut verify: impl FnMut(&Reference) -> Result<()>,
    mut sink: impl FnMut(Met) -> Result<()>,
) -> Result<()> {
    let mut at = FIRST_BLOCK_OFFSET;
    let mut header = [0; HEADER_BYTES];
    while at < end {
        let decoded = match at + HEADER_BYTES as u64 <= end {
            true => {
                source.read_at(&mut header, at).map_err(read_failed(at, "block header"))?;
                BlockHeader::decode(&header, id, at).map_err(|error| error.to_string())
            }
            false => Err("the file ends within a header".to_owned()),
        };
        let (what, detail) = match decoded.map(|header| reference(&header, at)) {
            // A sound header says where the next block is, unless the file ends before.
            Ok(reference) if reference.end() <= end => {
                let verified = verify(&reference);
                sink(match verified {
                    Ok(()) => Met::Sound(reference),
                    // Of another block: the dictionary that this one, itself sound, is compressed with.
                    Err(Error::Damaged { offset, .. }) if offset != at => Met::Sound(reference),
                    Err(Error::Damaged { detail, .. }) => {
                        let (bytes, what) = (reference.end() - at, format!("{} block", reference.kind.name()));
                        Met::Damaged(Stretch { offset: at, bytes, what, detail })
                    }
                    Err(error) => return Err(error),
                })?;
                at = reference.end();
                continue;
            }
            Ok(reference) => {
                let detail = format!("it ends at {}, the file at {end}", reference.end());
                (format!("{} block", reference.kind.name()), detail)
            }
            Err(detail) => ("block header".to_owned(), detail),
        };
        let next = next_sound(source, id, at + BLOCK_ALIGN_BYTES, end)?;
        sink(Met::Damaged(Stretch { offset: at, bytes: next - at, what, detail }))?;
        at = next;
    }
    Ok(())
}

/// The next sound block, or the end.
fn next_sound(source: &dyn Source, id: &FileId, from: u64, end: u64) -> Result<u64> {
    let mut at = from;
    while let Some(offset) = find_magic(source, at, end)? {
        if sound_at(source, id, offset, end)?.is_some() {
            return Ok(offset);
        }
        at = offset + BLOCK_ALIGN_BYTES;
    }
    Ok(end)
}

impl Scan {
    /// Number of a commit that a slot names and of which the commit block is lost, with all that was not there before.
    pub(crate) fn later_commit(&self) -> Option<u64> {
        let newest = self.newest.as_ref().map(|head| head.commit.sequence);
        self.named.filter(|_| !self.is_newest).filter(|&named| newest.is_none_or(|newest| newest < named))
    }

    /// Walks the file and sorts what is sound from what is damaged.
    fn walk(&mut self, source: &dyn Source, id: FileId, go_on: &dyn Fn() -> Result<()>) -> Result<()> {
        let (sound, damage, length) = (&mut self.sound, &mut self.damage, self.length);
        let verify = |reference: &Reference| {
            go_on()?;
            match payload_at(source, reference, length)? {
                Ok(_) => Ok(()),
                Err(detail) => Err(damaged(reference.offset, "", detail)),
            }
        };
        each_block(source, &id, length, verify, |met| {
            match met {
                Met::Sound(reference) if reference.kind == BlockKind::Padding => {}
                Met::Sound(reference) => sound.push(reference),
                Met::Damaged(stretch) => damage.push(stretch),
            }
            Ok(())
        })
    }

    /// The newest commit of which the commit block is sound.
    fn newest_commit(&self) -> Result<Option<Head>> {
        let mut newest: Option<Head> = None;
        for reference in self.sound.iter().filter(|reference| reference.kind == BlockKind::Commit) {
            let Ok(commit) = Commit::decode(&self.blocks.read(reference)?) else { continue };
            let place = |commit: &Commit| (commit.epoch, commit.sequence);
            if newest.as_ref().is_none_or(|known| place(&known.commit) < place(&commit)) {
                newest = Some(Head { commit, reference: *reference, end: reference.end() });
            }
        }
        if let Some(what) = newest.as_ref().and_then(|head| head.commit.unknown_reader_features()) {
            return Err(Error::Unsupported { what });
        }
        Ok(newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::MemorySource;
    use crate::store::{Durability, StoreWriter, WriteOptions};

    /// A file of 20 text blocks in two commits.
    fn file() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.plica");
        let parameters =
            Parameters { fanout: 5, chunk_words: 500, memory: plica_format::page::MemoryScope::Document, tokenizer: 1 };
        let mut writer = StoreWriter::create(&path, parameters, &WriteOptions::default()).unwrap();
        for at in 0..20u8 {
            writer.append(BlockKind::Text, &[at; 100], false).unwrap();
            if at % 10 == 9 {
                writer.commit(vec![at], Durability::Immediate).unwrap();
            }
        }
        drop(writer);
        std::fs::read(&path).unwrap()
    }

    fn scanned(bytes: &[u8]) -> Result<Scan> {
        scan_source(Arc::new(MemorySource::new(bytes.into())), None, &|| Ok(()))
    }

    #[test]
    fn a_sound_file_is_sound() {
        let bytes = file();
        let scan = scanned(&bytes).unwrap();
        assert_eq!((scan.sound.len(), scan.damage.len()), (23, 0));
        assert!(scan.is_newest && scan.newest.unwrap().commit.sequence == 3);
    }

    #[test]
    fn blocks_are_found_without_page_slots_and_commits() {
        let mut bytes = file();
        let whole = scanned(&bytes).unwrap();
        bytes[..FIRST_BLOCK_OFFSET as usize].fill(0xAA);
        let scan = scanned(&bytes).unwrap();
        assert_eq!((&scan.sound, scan.damage.len()), (&whole.sound, 5));
        assert!(!scan.is_newest && scan.newest.is_some_and(|head| head.commit.sequence == 3));
        // Without a commit block, nothing says the id.
        for reference in whole.sound.iter().filter(|reference| reference.kind == BlockKind::Commit) {
            bytes[reference.offset as usize + 40] ^= 1;
        }
        let scan = scanned(&bytes).unwrap();
        assert_eq!((scan.sound.len(), scan.newest), (20, None));
        for (reference, at) in scan.sound.iter().zip(0u8..) {
            assert_eq!(*scan.blocks.read(reference).unwrap(), [at; 100]);
        }
    }

    #[test]
    fn a_damaged_header_costs_its_block_alone() {
        let bytes = file();
        let whole = scanned(&bytes).unwrap();
        for lost in &whole.sound {
            for at in [0, 3, 9, 30, 40] {
                let mut bad = bytes.clone();
                bad[lost.offset as usize + at] ^= 0x10;
                let scan = scanned(&bad).unwrap();
                let left: Vec<_> = whole.sound.iter().filter(|reference| *reference != lost).copied().collect();
                assert_eq!(scan.sound, left, "byte {at} of {lost:?}");
                let stretch = &scan.damage[0];
                assert_eq!((stretch.offset, stretch.offset + stretch.bytes), (lost.offset, lost.end()));
            }
        }
    }

    #[test]
    fn other_files_are_none() {
        for bytes in [vec![0; 100_000], b"a text".to_vec(), Vec::new()] {
            assert!(matches!(scanned(&bytes), Err(Error::NotAnIndex { .. })));
        }
    }
}
