//! Changes to a file that is taken apart, read from bytes.

use crate::forge::{Forge, encoded, entries, leaf_of};
use plica::format::block::BlockKind;
use plica::format::bytes::put_varint;
use plica::format::commit::Commit;

/// Numbers that decoders are likely to trip over.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    127,
    128,
    255,
    256,
    16_383,
    65_535,
    65_536,
    1 << 20,
    (1 << 31) - 1,
    u32::MAX as u64 - 1,
    u32::MAX as u64,
    1 << 32,
    u64::MAX,
];

/// Makes the change that eight bytes say: what, in which block, where, with what.
pub fn edit(forge: &mut Forge, bytes: &[u8; 8]) {
    let &[what, block, a, b, c, d, e, f] = bytes;
    let number = usize::from(block) % forge.blocks.len();
    let place = usize::from(u16::from_le_bytes([a, b]));
    match what % 16 {
        // Half of all goes into values: their leaf is written anew around them.
        0..=7 => edit_value(forge, number, place, [what & 7, c, d, e, f]),
        8 => edit_bytes(&mut forge.blocks[number].raw, [c & 7, a, b, d, e]),
        9 => edit_state(forge, [c & 7, a, b, d, e]),
        // A reference becomes that of another block.
        10 => {
            let held = forge.held(number);
            if let Some(&(at, length, _)) = held.get(place % held.len().max(1)) {
                let other = encoded(&forge.blocks[usize::from(c) % forge.blocks.len()].name);
                forge.blocks[number].raw.splice(at..at + length, other);
            }
        }
        // A block becomes a copy of another.
        11 => forge.blocks[number].raw = forge.blocks[usize::from(c) % forge.blocks.len()].raw.clone(),
        // Two blocks change places.
        12 => {
            let other = usize::from(c) % forge.blocks.len();
            if forge.blocks[number].kind != BlockKind::Commit && forge.blocks[other].kind != BlockKind::Commit {
                forge.blocks.swap(number, other);
            }
        }
        13 => forge.blocks[number].stated_raw = Some(NUMBERS[usize::from(c & 15)] as u32),
        14 => {
            if let Some(kind) = BlockKind::from_number(c % 11) {
                forge.blocks[number].kind = kind;
            }
        }
        _ => {
            let slot = &mut forge.slots[usize::from(c & 3)];
            match d & 3 {
                0 => slot.sequence = slot.sequence.wrapping_add_signed(i64::from(e as i8)).max(1),
                1 => slot.epoch ^= u32::from(e),
                2 => slot.salt ^= u64::from(e),
                _ => slot.commit = forge.blocks[number].name,
            }
        }
    }
}

/// Changes the value or the key of an entry of a leaf. Of another block, the payload.
fn edit_value(forge: &mut Forge, number: usize, place: usize, [what, c, d, e, f]: [u8; 5]) {
    let raw = &mut forge.blocks[number].raw;
    let Some(mut entries) = entries(raw) else { return edit_bytes(raw, [what, c, f, d, e]) };
    let at = place % entries.len();
    if f == 255 {
        let other = entries[usize::from(c) % entries.len()].1.clone();
        entries[at].1 = other;
    } else if f == 254 {
        entries.remove(at);
    } else if f == 253 {
        edit_bytes(&mut entries[at].0, [what, c, 0, d, e]);
    } else {
        edit_bytes(&mut entries[at].1, [what, c, f, d, e]);
    }
    if let Some(leaf) = leaf_of(&entries) {
        *raw = leaf;
    }
}

/// Changes the newest state.
fn edit_state(forge: &mut Forge, how: [u8; 5]) {
    let head = forge.head();
    if let Ok(mut commit) = Commit::decode(&forge.blocks[head].raw) {
        edit_bytes(&mut commit.state, how);
        forge.blocks[head].raw = commit.encode();
    }
}

/// Changes some bytes: one, a number, a stretch.
pub fn edit_bytes(bytes: &mut Vec<u8>, [what, low, high, d, e]: [u8; 5]) {
    let at = usize::from(u16::from_le_bytes([low, high])) % (bytes.len() + 1);
    match what {
        0 | 1 if at < bytes.len() => bytes[at] = d,
        2 if at < bytes.len() => bytes[at] ^= d,
        // A varint becomes another number.
        3 | 4 => {
            let length = bytes[at..].iter().take(10).position(|byte| byte & 128 == 0).map_or(0, |last| last + 1);
            let mut number = Vec::new();
            let near = NUMBERS[usize::from(d & 15)].wrapping_add_signed(i64::from(e as i8 >> 5));
            put_varint(&mut number, near);
            bytes.splice(at..at + length, number);
        }
        5 => drop(bytes.splice(at..at, std::iter::repeat_n(d, usize::from(e & 31)))),
        6 => drop(bytes.drain(at..(at + usize::from(d)).min(bytes.len()))),
        _ => {
            let length = usize::from(e).min(bytes.len() - at);
            let stretch = bytes[at..at + length].to_vec();
            let to = usize::from(d) % (bytes.len() + 1);
            drop(bytes.splice(to..to, stretch));
        }
    }
}
