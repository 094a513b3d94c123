//! Files whose checksums are right and whose content is not.
//!
//! A [`Forge`] takes a sound index apart into blocks with decoded payloads. Any of them can be changed, and blocks can be added;
//! [`Forge::build`] lays the file out again and puts every reference, checksum and slot right, so that what is left wrong is
//! what was made wrong on purpose.
//!
//! *References* are found by their bytes: kind, lengths and checksum of a block are as good as a unique name for it. A payload is
//! searched for the references of the file as it was, and each is replaced by that of the file as it is. So a
//! payload may be changed without being understood. A block that is added has a made-up reference for others to hold.
//! The one condition is that a new reference is as long as the old one; where it is not, the old one stays, and dangles.
//!
//! *Forged checksums.* A block can be told which CRC it is to have ([`Forge::fix`]), by which it, or a block before it, can
//! refer to it: CRC-32 is linear, so a few bits that do not matter can be chosen to give any value.
#![allow(dead_code)]

use plica::format::block::{
    BlockHeader, BlockKind, Codec, FileId, HEADER_BYTES, Reference, payload_checksum, span_bytes,
};
use plica::format::commit::{Commit, CoverChecksum};
use plica::format::leaf::{Leaf, LeafBuilder};
use plica::format::limits::{FIRST_BLOCK_OFFSET, PAGE_BYTES};
use plica::format::page::{FilePage, SLOT_PAGES, Slot};
use plica::format::state::{IndexState, Segment};
use std::collections::HashMap;

/// A block of a file that is taken apart.
#[derive(Clone)]
pub struct Block {
    pub kind: BlockKind,
    /// The decoded payload, with references as they were before.
    pub raw: Vec<u8>,
    /// What others call it.
    pub name: Reference,
    /// A raw length to state in place of the right one.
    pub stated_raw: Option<u32>,
    /// A zstd frame to store in place of the payload.
    pub frame: Option<Vec<u8>>,
    codec: Codec,
    salt: u64,
    /// The payload as it was stored, and the decoded one that this stands for.
    stored: Vec<u8>,
    sound: Vec<u8>,
    /// The checksum to have, and the bits that may be chosen for it.
    fixed: Option<(u32, Vec<(usize, u8)>)>,
    /// References in `sound`: place, length and number of the block.
    held: Vec<(usize, usize, usize)>,
}

/// A file that is taken apart.
#[derive(Clone)]
pub struct Forge {
    pub page: FilePage,
    pub slots: Vec<Slot>,
    pub blocks: Vec<Block>,
    added: u32,
}

/// The bytes of a reference.
pub fn encoded(reference: &Reference) -> Vec<u8> {
    let mut out = Vec::new();
    reference.encode(&mut out);
    out
}

/// The references of some blocks, found by their bytes.
struct Names(HashMap<u32, Vec<(Vec<u8>, usize)>>);

impl Names {
    fn of(blocks: &[Block]) -> Self {
        let mut names: HashMap<u32, Vec<(Vec<u8>, usize)>> = HashMap::new();
        for (number, block) in blocks.iter().enumerate() {
            names.entry(block.name.checksum).or_default().push((encoded(&block.name), number));
        }
        Self(names)
    }

    /// The references in a payload: place, length, block.
    fn find(&self, raw: &[u8]) -> Vec<(usize, usize, usize)> {
        let mut found = Vec::new();
        for end in 5..=raw.len() {
            if raw[end - 5] > BlockKind::Dictionary as u8 {
                continue;
            }
            let checksum = u32::from_le_bytes(raw[end - 4..end].try_into().unwrap());
            for (name, number) in self.0.get(&checksum).into_iter().flatten() {
                if raw[..end].ends_with(name) {
                    found.push((end - name.len(), name.len(), *number));
                }
            }
        }
        found
    }
}

impl Forge {
    /// Takes a sound file apart.
    pub fn new(file: &[u8]) -> Self {
        let page = FilePage::decode(&file[..PAGE_BYTES]).unwrap();
        let slot = |number: u16| {
            let at = usize::from(number) * PAGE_BYTES;
            Slot::decode(&file[at..at + PAGE_BYTES], number, &page.file_id).unwrap()
        };
        let mut forge = Self { page, slots: SLOT_PAGES.map(slot).to_vec(), blocks: Vec::new(), added: 0 };
        let mut at = FIRST_BLOCK_OFFSET as usize;
        let mut dictionary = Vec::new();
        while at < file.len() {
            let header = BlockHeader::decode(&file[at..at + HEADER_BYTES], &page.file_id, at as u64).unwrap();
            let stored = file[at + HEADER_BYTES..][..header.stored_bytes as usize].to_vec();
            let raw_bytes = header.raw_bytes as usize;
            let raw = match header.codec {
                Codec::Stored => stored.clone(),
                Codec::Zstd => zstd::bulk::decompress(&stored, raw_bytes).unwrap(),
                Codec::ZstdWithDictionary => {
                    let mut decoder = zstd::bulk::Decompressor::with_dictionary(&dictionary).unwrap();
                    decoder.decompress(&stored, raw_bytes).unwrap()
                }
            };
            if header.kind == BlockKind::Dictionary {
                dictionary.clone_from(&raw);
            }
            let name = Reference {
                offset: at as u64,
                stored_bytes: header.stored_bytes,
                kind: header.kind,
                checksum: header.payload_checksum,
            };
            forge.blocks.push(Block {
                kind: header.kind,
                sound: raw.clone(),
                raw,
                name,
                stated_raw: None,
                frame: None,
                codec: header.codec,
                salt: header.salt,
                stored,
                fixed: None,
                held: Vec::new(),
            });
            at += header.span_bytes() as usize;
        }
        let names = Names::of(&forge.blocks);
        for block in &mut forge.blocks {
            block.held = names.find(&block.raw);
        }
        forge
    }

    /// Lets a block be stored as it is.
    pub fn unpack(&mut self, number: usize) {
        let block = &mut self.blocks[number];
        (block.codec, block.stored) = (Codec::Stored, block.raw.clone());
    }

    /// Numbers of the blocks of a kind, in the order of the file.
    pub fn of_kind(&self, kind: BlockKind) -> Vec<usize> {
        (0..self.blocks.len()).filter(|&at| self.blocks[at].kind == kind).collect()
    }

    /// Number of the block with a reference.
    pub fn find(&self, reference: &Reference) -> usize {
        self.blocks.iter().position(|block| block.name == *reference).expect("a reference to a block of this file")
    }

    /// The references that a block holds, by number of the block they name, in the order of the bytes.
    pub fn held(&self, number: usize) -> Vec<(usize, usize, usize)> {
        let block = &self.blocks[number];
        if block.raw == block.sound { block.held.clone() } else { Names::of(&self.blocks).find(&block.raw) }
    }

    /// Adds a block, stored as it is, before the block `before`; gives what others call it.
    pub fn add(&mut self, before: usize, kind: BlockKind, raw: Vec<u8>) -> Reference {
        self.added += 1;
        // No real block lies there as long as the file is small, and the number is as long as those of real ones.
        let offset = ((1 << 14) - u64::from(self.added)) * 16;
        let checksum = self.added.wrapping_mul(0x9e37_79b9) ^ 0x5bd1_e995;
        let name = Reference { offset, stored_bytes: raw.len() as u32, kind, checksum };
        let salt = self.blocks[before].salt;
        let block = Block {
            kind,
            raw,
            name,
            stated_raw: None,
            frame: None,
            codec: Codec::Stored,
            salt,
            stored: Vec::new(),
            sound: Vec::new(),
            fixed: None,
            held: Vec::new(),
        };
        self.blocks.insert(before, block);
        name
    }

    /// Number of the newest commit block.
    pub fn head(&self) -> usize {
        self.of_kind(BlockKind::Commit).pop().unwrap()
    }

    /// Changes the newest commit.
    pub fn commit(&mut self, change: impl FnOnce(&mut Commit)) {
        let head = self.head();
        let mut commit = Commit::decode(&self.blocks[head].raw).unwrap();
        change(&mut commit);
        self.blocks[head].raw = commit.encode();
    }

    /// The newest state.
    pub fn read_state(&self) -> IndexState {
        IndexState::decode(&Commit::decode(&self.blocks[self.head()].raw).unwrap().state).unwrap()
    }

    /// Changes the newest state.
    pub fn state(&mut self, change: impl FnOnce(&mut IndexState)) {
        let mut state = self.read_state();
        change(&mut state);
        self.commit(|commit| commit.state = state.encode());
    }

    /// The entries of a leaf.
    pub fn entries(&self, leaf: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        entries(&self.blocks[leaf].raw).unwrap()
    }

    /// Puts entries into a leaf.
    pub fn set_entries(&mut self, leaf: usize, entries: &[(Vec<u8>, Vec<u8>)]) {
        self.blocks[leaf].raw = leaf_of(entries).unwrap();
    }

    /// The first leaf, from the newest back, with a key that `is_it` takes, and the entry's number.
    pub fn seek(&self, is_it: impl Fn(&[u8]) -> bool) -> (usize, usize) {
        let leaves = self.of_kind(BlockKind::Leaf).into_iter().rev();
        let mut found = leaves.filter_map(|leaf| Some((leaf, self.entries(leaf).iter().position(|e| is_it(&e.0))?)));
        found.next().expect("a leaf with such a key")
    }

    /// Changes the newest value of a key that `is_it` takes, where it stands.
    pub fn value(&mut self, is_it: impl Fn(&[u8]) -> bool, change: impl FnOnce(&mut Vec<u8>)) {
        let (leaf, at) = self.seek(is_it);
        let mut entries = self.entries(leaf);
        entries[at].1 = changed(&entries[at].1, change);
        self.set_entries(leaf, &entries);
    }

    /// Writes the newest value of a key that `is_it` takes once more, changed, in a new segment. So nothing that was there
    /// before moves.
    pub fn value_anew(&mut self, is_it: impl Fn(&[u8]) -> bool, change: impl FnOnce(&mut Vec<u8>)) {
        let (leaf, at) = self.seek(is_it);
        let (key, value) = self.entries(leaf).swap_remove(at);
        self.add_segment(&[(key, changed(&value, change))]);
    }

    /// Adds a segment of one leaf.
    pub fn add_segment(&mut self, entries: &[(Vec<u8>, Vec<u8>)]) {
        let head = self.head();
        let root = self.add(head, BlockKind::Leaf, leaf_of(entries).unwrap());
        let segment = Segment { root, bytes: 100, level: 0, merging: 0, cursor: Vec::new() };
        self.state(|state| state.segments.push(segment));
    }

    /// Lets a block have a checksum that is known before its content; `free` are bits of its payload that may be chosen.
    pub fn fix(&mut self, reference: &Reference, free: Vec<(usize, u8)>) {
        let number = self.find(reference);
        self.blocks[number].fixed = Some((reference.checksum, free));
    }

    /// The file, and how many references could not be put right.
    pub fn build_with_dangling(&self) -> (Vec<u8>, usize) {
        self.lay_out(1)
    }

    /// The file; every reference is right.
    pub fn build(&self) -> Vec<u8> {
        // A reference to a later block is right once that block's place is known: in the second round, or the third.
        let (file, dangling) = self.lay_out(4);
        assert_eq!(dangling, 0, "references are longer or shorter than before");
        file
    }

    fn lay_out(&self, rounds: usize) -> (Vec<u8>, usize) {
        let names = Names::of(&self.blocks);
        let id = &self.page.file_id;
        let mut now: Vec<Reference> = self.blocks.iter().map(|block| block.name).collect();
        let mut file = Vec::new();
        let mut dangling = 0;
        for _ in 0..rounds {
            file.clear();
            file.extend_from_slice(&self.page.encode());
            file.resize(FIRST_BLOCK_OFFSET as usize, 0);
            dangling = 0;
            for (number, block) in self.blocks.iter().enumerate() {
                let is_sound = block.raw == block.sound;
                let mut raw = block.raw.clone();
                let held = if is_sound { block.held.clone() } else { names.find(&raw) };
                for (at, length, target) in held {
                    let new = encoded(&now[target]);
                    match new.len() == length {
                        true => raw[at..at + length].copy_from_slice(&new),
                        false => dangling += 1,
                    }
                }
                if block.kind == BlockKind::Commit {
                    cover(&mut raw, &file, id);
                }
                if let Some((checksum, free)) = &block.fixed {
                    choose_bits(&mut raw, free, *checksum);
                }
                let (codec, stored) = match &block.frame {
                    Some(frame) => (Codec::Zstd, frame.clone()),
                    None if is_sound && raw == block.sound => (block.codec, block.stored.clone()),
                    None => encode(&raw, block.codec),
                };
                let header = BlockHeader {
                    kind: block.kind,
                    codec,
                    stored_bytes: stored.len() as u32,
                    raw_bytes: block.stated_raw.unwrap_or(raw.len() as u32),
                    payload_checksum: payload_checksum(&stored),
                    salt: block.salt,
                };
                let offset = file.len() as u64;
                let (stored_bytes, checksum) = (header.stored_bytes, header.payload_checksum);
                now[number] = Reference { offset, stored_bytes, kind: block.kind, checksum };
                file.extend_from_slice(&header.encode(id, offset));
                file.extend_from_slice(&stored);
                file.resize((offset + span_bytes(stored_bytes)) as usize, 0);
            }
        }
        let named: HashMap<Reference, Reference> = self.blocks.iter().map(|b| b.name).zip(now).collect();
        for slot in &self.slots {
            let commit = named.get(&slot.commit).copied().unwrap_or(slot.commit);
            let at = usize::from(slot.page) * PAGE_BYTES;
            file[at..at + PAGE_BYTES].copy_from_slice(&Slot { commit, ..*slot }.encode());
        }
        (file, dangling)
    }
}

/// Puts right what a commit says of the blocks before it.
fn cover(raw: &mut Vec<u8>, file: &[u8], id: &FileId) {
    // What is said of the covered blocks may not fit the blocks before any more; anything is sound that starts with the first.
    if let Some(from) = raw.get_mut(52..60) {
        from.copy_from_slice(&FIRST_BLOCK_OFFSET.to_le_bytes());
    }
    let Ok(mut commit) = Commit::decode(raw) else { return };
    let mut at = FIRST_BLOCK_OFFSET;
    let (mut checksum, mut from) = (CoverChecksum::default(), FIRST_BLOCK_OFFSET);
    while let Some(bytes) = file.get(at as usize..).and_then(|rest| rest.first_chunk::<HEADER_BYTES>()) {
        // A header that was made wrong on purpose ends the walk.
        let Ok(header) = BlockHeader::decode(bytes, id, at) else { return };
        checksum.add(bytes);
        at += header.span_bytes();
        if commit.previous.is_some_and(|previous| previous.end() == at) {
            (checksum, from) = (CoverChecksum::default(), at);
        }
    }
    (commit.covered_from, commit.covered_blocks) = (from, checksum.blocks());
    commit.covered_checksum = checksum.checksum();
    *raw = commit.encode();
}

/// A value, changed, as a leaf holds it: behind a 0 where it begins with 0 or 1.
fn changed(stored: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut value = stored.strip_prefix(&[0]).unwrap_or(stored).to_vec();
    change(&mut value);
    if value.first().is_some_and(|&first| first <= 1) {
        value.insert(0, 0);
    }
    value
}

/// A payload as a writer would store it.
fn encode(raw: &[u8], codec: Codec) -> (Codec, Vec<u8>) {
    if codec != Codec::Stored {
        let packed = zstd::bulk::compress(raw, 3).unwrap();
        if packed.len() < raw.len() && packed.len() * 64 + 4096 >= raw.len() {
            return (Codec::Zstd, packed);
        }
    }
    (Codec::Stored, raw.to_vec())
}

/// The entries of a leaf, as far as it is one.
pub fn entries(raw: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let leaf = Leaf::decode(raw).ok()?;
    let mut cursor = leaf.seek(b"");
    let mut out = Vec::new();
    while let Some((key, value)) = cursor.next().ok()? {
        out.push((key.to_vec(), value.to_vec()));
    }
    Some(out)
}

/// A leaf of entries, where they can be one.
pub fn leaf_of(entries: &[(Vec<u8>, Vec<u8>)]) -> Option<Vec<u8>> {
    let mut leaf = LeafBuilder::new();
    for (key, value) in entries {
        leaf.push(key, value).ok()?;
    }
    (!leaf.is_empty()).then(|| leaf.finish())
}

/// Puts right the checksum within an fst leaf.
pub fn repair_fst(leaf: &mut [u8]) {
    let Some(length) = leaf.get(1..5).and_then(|length| length.first_chunk()).map(|&length| u32::from_le_bytes(length))
    else {
        return;
    };
    if leaf[0] != 2 {
        return;
    }
    let Some(fst) = leaf.get_mut(5..).and_then(|rest| rest.get_mut(..length as usize)) else { return };
    let Some((body, place)) = fst.split_last_chunk_mut::<4>() else { return };
    let mut sum = u32::MAX;
    for &mut byte in body {
        sum ^= u32::from(byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0x82f6_3b78 } else { sum >> 1 };
        }
    }
    *place = (!sum).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes();
}

/// Chooses the bits `free` so that the CRC-32 of `bytes` is `target`.
fn choose_bits(bytes: &mut [u8], free: &[(usize, u8)], target: u32) {
    let flip = |bytes: &mut [u8], (at, bit): (usize, u8)| bytes[at] ^= 1 << bit;
    let base = payload_checksum(bytes);
    // What each bit does to the checksum does not depend on the others; the rows are brought into echelon form.
    let mut rows: Vec<(u32, Vec<usize>)> = Vec::new();
    let mut wanted = (base ^ target, Vec::new());
    let reduce = |(value, used): &mut (u32, Vec<usize>), rows: &[(u32, Vec<usize>)]| {
        for (row, bits) in rows {
            if *value & (1 << row.ilog2()) != 0 {
                *value ^= row;
                used.extend(bits);
            }
        }
    };
    for (number, &place) in free.iter().enumerate() {
        flip(bytes, place);
        let mut row = (payload_checksum(bytes) ^ base, vec![number]);
        flip(bytes, place);
        reduce(&mut row, &rows);
        if row.0 != 0 {
            rows.push(row);
            rows.sort_by_key(|row| std::cmp::Reverse(row.0));
        }
    }
    reduce(&mut wanted, &rows);
    assert_eq!(wanted.0, 0, "more free bits are needed");
    let mut flips = vec![false; free.len()];
    wanted.1.into_iter().for_each(|number| flips[number] ^= true);
    for (number, _) in flips.iter().enumerate().filter(|(_, flips)| **flips) {
        flip(bytes, free[number]);
    }
    assert_eq!(payload_checksum(bytes), target);
}
