//! Leaves: keys out of order, automata that are none, lengths that do not fit.

use crate::forge::{Forge, repair_fst};
use crate::trial::{Trial, golden};
use plica::format::block::BlockKind;
use plica::format::bytes::put_varint;
use plica::format::key;
use plica::format::leaf::{Leaf, LeafBuilder, LeafForm};

/// A front-coded leaf of entries in any order, each written whole but for the bytes it is to share.
fn front(entries: &[(usize, &[u8])]) -> Vec<u8> {
    let mut out = vec![1];
    out.extend_from_slice(&(entries.len() as u16).to_le_bytes());
    let mut restarts = Vec::new();
    for (at, (shared, suffix)) in entries.iter().enumerate() {
        if at % 16 == 0 {
            restarts.push(out.len() as u16);
        }
        out.push((*shared as u8) << 4 | suffix.len() as u8);
        out.extend_from_slice(suffix);
        out.push(0);
    }
    restarts.iter().for_each(|at| out.extend_from_slice(&at.to_le_bytes()));
    out
}

/// The golden file with another leaf in the place of its newest segment.
fn with_leaf(raw: Vec<u8>) -> Trial {
    let mut forge: Forge = golden(0);
    let head = forge.head();
    let root = forge.add(head, BlockKind::Leaf, raw);
    forge.state(|state| state.segments.iter_mut().last().unwrap().root = root);
    Trial::of(&forge)
}

#[test]
fn keys_twice_and_keys_out_of_order() {
    for entries in [
        // The same key again; shared with itself, it has no suffix.
        [(0, &[key::DOCUMENT, 1][..]), (2, &[])],
        [(0, &[key::DOCUMENT, 1]), (0, &[key::DOCUMENT, 1])],
        [(0, &[key::DOCUMENT, 2]), (1, &[1])],
        [(0, &[key::POSTINGS, 2]), (0, &[key::DOCUMENT])],
        // In order, and sharing less than there is to share, or more.
        [(0, &[key::DOCUMENT, 1]), (0, &[key::DOCUMENT, 2])],
    ] {
        with_leaf(front(&entries)).fails("search", "keys that ascend and share just their common prefix");
    }
    with_leaf(front(&[(0, &[key::DOCUMENT]), (2, &[2])])).fails("search", "a prefix of the key before");
}

#[test]
fn counts_and_offsets_of_a_leaf() {
    let sound = front(&[(0, &[key::DOCUMENT, 1]), (1, &[2])]);
    assert!(Leaf::decode(&sound).is_ok());
    for (count, words) in [(0u16, "1 to 16384 entries"), (16_385, "1 to 16384 entries"), (u16::MAX, "entries")] {
        let mut leaf = sound.clone();
        leaf[1..3].copy_from_slice(&count.to_le_bytes());
        with_leaf(leaf).fails("search", words);
    }
    // Fewer and more entries than there are, an offset that leads elsewhere, bytes behind the end, another form.
    for change in [
        |leaf: &mut Vec<u8>| leaf[1] = 1,
        |leaf: &mut Vec<u8>| leaf[1] = 3,
        |leaf: &mut Vec<u8>| *leaf.iter_mut().rev().nth(1).unwrap() = 4,
        |leaf: &mut Vec<u8>| leaf.push(0),
        |leaf: &mut Vec<u8>| leaf[0] = 3,
        |leaf: &mut Vec<u8>| leaf.clear(),
    ] {
        let mut leaf = sound.clone();
        change(&mut leaf);
        with_leaf(leaf).fails("search", "leaf");
    }
}

#[test]
fn lengths_near_the_limits_of_numbers() {
    for length in [4097, u64::from(u32::MAX), u64::MAX - 15, u64::MAX] {
        // A key whose suffix has this length, and a value.
        for start in [&[0x0f][..], &[0x02, key::DOCUMENT, 1]] {
            let mut leaf = vec![1, 1, 0];
            leaf.extend_from_slice(start);
            put_varint(&mut leaf, length);
            leaf.extend_from_slice(&[0; 20]);
            leaf.extend_from_slice(&3u16.to_le_bytes());
            with_leaf(leaf).fails("search", "leaf");
        }
    }
}

#[test]
fn a_key_of_an_unknown_kind() {
    with_leaf(front(&[(0, &[0x09, 1])])).is_found("a key of unknown kind 0x09");
}

/// An automaton of nodes with two transitions, both to the node below: 2^levels keys. Each node is what the format says, but
/// that outputs over 16 bits are cut.
fn doubling(levels: u32) -> Vec<u8> {
    let mut fst = Vec::new();
    fst.extend_from_slice(&3u64.to_le_bytes());
    fst.extend_from_slice(&0u64.to_le_bytes());
    for level in 0..levels {
        let below = (1u64 << level) as u16;
        let wide = below > 255;
        let distance = u8::from(level > 0);
        // Outputs, distances and inputs of the greater input first.
        match wide {
            true => fst.extend_from_slice(&[&below.to_le_bytes()[..], &[0, 0]].concat()),
            false => fst.extend_from_slice(&[below as u8, 0]),
        }
        fst.extend_from_slice(&[distance, distance, b'b', b'a', 0x10 | if wide { 2 } else { 1 }, 2]);
    }
    let root = fst.len() as u64 - 1;
    fst.extend_from_slice(&(1u64 << levels).to_le_bytes());
    fst.extend_from_slice(&root.to_le_bytes());
    fst.extend_from_slice(&[0; 4]);
    fst
}

/// A leaf around an automaton, with empty values for so many keys.
fn fst_leaf(fst: &[u8], keys: usize) -> Vec<u8> {
    let mut leaf = vec![2];
    leaf.extend_from_slice(&(fst.len() as u32).to_le_bytes());
    leaf.extend_from_slice(fst);
    let start = leaf.len();
    leaf.resize(start + keys, 0);
    (0..keys).step_by(16).for_each(|at| leaf.extend_from_slice(&((start + at) as u16).to_le_bytes()));
    repair_fst(&mut leaf);
    leaf
}

#[test]
fn two_to_the_20_keys_in_a_leaf_of_a_few_bytes() {
    // With few levels the leaf is a sound one, so what is refused below is the number of keys.
    for levels in [1, 5, 9, 14] {
        let leaf = fst_leaf(&doubling(levels), 1 << levels);
        let leaf = Leaf::decode(&leaf).unwrap_or_else(|error| panic!("{levels} levels: {error}"));
        assert_eq!(leaf.len(), 1 << levels);
    }
    for (levels, keys) in [(15, 1 << 14), (20, 16), (20, 1 << 14)] {
        with_leaf(fst_leaf(&doubling(levels), keys)).fails("search", "1 to 16384");
    }
    // The count in the foot is no more than is allowed, and there are more.
    let mut fst = doubling(15);
    let foot = fst.len() - 20;
    fst[foot..foot + 8].copy_from_slice(&16_384u64.to_le_bytes());
    with_leaf(fst_leaf(&fst, 16_384)).fails("search", "leaf");
}

/// A target is written as a distance downwards, so a circle cannot be written; what comes nearest is a distance beyond the start.
#[test]
fn an_automaton_whose_targets_leave_it() {
    for distance in [2, 3, 9, 10, 17, 100, 255] {
        let mut fst = doubling(3);
        // The second node's distances are bytes 2 and 3 of it; each node has 8 bytes.
        fst[16 + 8 + 2] = distance;
        let leaf = fst_leaf(&fst, 8);
        assert!(Leaf::decode(&leaf).is_err(), "{distance}");
        with_leaf(leaf).fails("search", "leaf");
    }
}

/// Every byte of a sound automaton changed in every way, with its checksum put right: the leaf is refused, or is a sound leaf of
/// other keys.
#[test]
fn an_automaton_with_any_byte_changed() {
    let mut builder = LeafBuilder::new();
    for key in ["cat", "cats", "dog", "dogs", "ducks", "eel"] {
        builder.push(key.as_bytes(), b"").unwrap();
    }
    let sound = builder.finish_as(LeafForm::Fst).unwrap();
    let mut refused = 0;
    for at in 1..sound.len() {
        for change in 1..=255u8 {
            let mut leaf = sound.clone();
            leaf[at] ^= change;
            repair_fst(&mut leaf);
            let Ok(leaf) = Leaf::decode(&leaf) else {
                refused += 1;
                continue;
            };
            let mut cursor = leaf.seek(b"");
            let mut keys: Vec<Vec<u8>> = Vec::new();
            while let Some((key, value)) = cursor.next().unwrap() {
                assert_eq!(leaf.get(key).unwrap(), Some(value));
                keys.push(key.to_vec());
            }
            assert!(keys.len() == leaf.len() && keys.is_sorted_by(|a, b| a < b), "{at} ^ {change}: {keys:?}");
        }
    }
    assert!(refused > 10 * sound.len(), "{refused}");
}
