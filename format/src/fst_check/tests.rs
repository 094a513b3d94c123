//! What a hostile file could say with a checksum that is right.

use super::*;

/// An fst of these node bytes, with head, foot and a good checksum.
pub(crate) fn craft(nodes: &[u8], count: u64) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&0u64.to_le_bytes());
    out.extend_from_slice(nodes);
    let root = if nodes.is_empty() { 0 } else { out.len() as u64 - 1 };
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&root.to_le_bytes());
    let sum = crc32c::masked(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

fn check(bytes: &[u8]) -> Result<usize, FormatError> {
    let fst = Fst::open(bytes)?;
    fst.check()?;
    Ok(fst.count())
}

fn refusal(nodes: &[u8], count: u64) -> String {
    let bytes = craft(nodes, count);
    // Traversal without the check must end as well.
    if let Ok(fst) = Fst::open(&bytes) {
        let mut node = fst.root();
        for _ in 0..1000 {
            node = node.and_then(|node| fst.node(node.transition(0)?.target));
        }
    }
    check(&bytes).expect_err("refused").to_string()
}

/// One transition on "t" to the node just below.
const NEXT_T: u8 = 0xc1;
/// One transition on "t", a one-byte distance of 0, so to the end: a node of its own.
const END_T: [u8; 3] = [0x00, 0x10, 0x81];

/// A node without a key of its own with two transitions, "a" and "b", both to the node just below.
fn fork(is_final: bool, outputs: Option<[u8; 2]>) -> Vec<u8> {
    let mut node = Vec::new();
    if let Some([a, b]) = outputs {
        if is_final {
            node.push(0);
        }
        node.extend_from_slice(&[b, a]);
    }
    node.extend_from_slice(&[1, 1, b'b', b'a', if outputs.is_some() { 0x11 } else { 0x10 }]);
    node.push(2 | if is_final { 0x40 } else { 0 });
    node
}

#[test]
fn what_the_crate_writes_passes_and_what_is_crafted_alike_too() {
    let mut builder = fst::MapBuilder::memory();
    for (i, key) in ["", "a", "ab", "abc", "b", "xyz\u{0}", "\u{ff}tt"].iter().enumerate() {
        builder.insert(key, i as u64).unwrap();
    }
    assert_eq!(check(&builder.into_inner().unwrap()), Ok(7));
    let mut only = fst::MapBuilder::memory();
    only.insert("", 0).unwrap();
    let only = only.into_inner().unwrap();
    assert_eq!(check(&only), Ok(1));
    assert_eq!(only, craft(&[], 1));
    let mut t = fst::MapBuilder::memory();
    t.insert("tt", 0).unwrap();
    assert_eq!(t.into_inner().unwrap(), craft(&[&END_T[..], &[NEXT_T]].concat(), 1));
    assert_eq!(check(&craft(&[&END_T[..], &fork(false, Some([0, 1]))].concat(), 2)), Ok(2));
}

#[test]
fn every_byte_as_input_passes() {
    let mut builder = fst::MapBuilder::memory();
    let mut ordinal = 0;
    for first in 0..=255u8 {
        for second in (0..=255u8).step_by(1 + usize::from(first % 64)) {
            builder.insert([first, second], ordinal).unwrap();
            ordinal += 1;
        }
    }
    assert_eq!(check(&builder.into_inner().unwrap()), Ok(ordinal as usize));
}

#[test]
fn outputs_that_are_no_ordinals_are_refused() {
    for values in [[0, 2, 3], [1, 2, 3], [0, 1, 1 << 30]] {
        let mut builder = fst::MapBuilder::memory();
        for (key, value) in ["a", "ab", "b"].iter().zip(values) {
            builder.insert(key, value).unwrap();
        }
        assert!(check(&builder.into_inner().unwrap()).is_err(), "{values:?}");
    }
    assert!(refusal(&[&END_T[..], &fork(false, Some([0, 2]))].concat(), 2).contains("output 1"));
    assert!(refusal(&[&END_T[..], &fork(false, None)].concat(), 2).contains("output 1"));
}

#[test]
fn a_cycle_is_refused() {
    // "t" to a distance that would be the node itself or above: distances only go down, so all there is is underflow.
    assert!(refusal(&[0x80, 0x10, 0x81], 1).contains("whole node"));
    assert!(refusal(&[0xff, 0xff, 0x20, 0x81], 1).contains("whole node"));
    // The step to the node below from the lowest node.
    assert!(refusal(&[NEXT_T], 1).contains("whole node"));
}

/// Twenty forks, one on the other: a million keys from 125 bytes.
pub(crate) fn million_keys() -> Vec<u8> {
    let mut nodes = END_T.to_vec();
    for _ in 0..20 {
        nodes.extend(fork(false, None));
    }
    nodes
}

#[test]
fn shared_nodes_with_a_million_keys_are_refused() {
    let nodes = million_keys();
    assert!(nodes.len() + 36 < 170);
    refusal(&nodes, 1 << 20);
    refusal(&nodes, 16_384);
    // With outputs that would be right, where a byte can say them.
    let mut nodes = END_T.to_vec();
    for level in 0..16 {
        match level {
            0..8 => nodes.extend(fork(false, Some([0, 1 << level]))),
            _ => {
                let [low, high] = (1u16 << level).to_le_bytes();
                nodes.extend_from_slice(&[low, high, 0, 0, 1, 1, b'b', b'a', 0x12, 2]);
            }
        }
        let count = 2u64 << level;
        match level {
            0..14 => assert_eq!(check(&craft(&nodes, count)), Ok(count as usize)),
            _ => assert!(refusal(&nodes, count.min(16_384)).contains("keys")),
        }
    }
}

/// Paths that lead to no key would cost a cursor as much as keys, without being counted.
#[test]
fn nodes_without_a_key_below_are_refused() {
    // No transition and not final: the general form with 0 transitions does not exist.
    assert!(refusal(&[0x10, 0x00, 0x00], 1).contains("whole node"));
    let mut nodes = vec![0x10, 0x00, 0x00];
    for _ in 0..20 {
        nodes.extend(fork(false, None));
    }
    refusal(&nodes, 1);
}

#[test]
fn a_wrong_key_count_is_refused() {
    let nodes = [&END_T[..], &fork(false, Some([0, 1]))].concat();
    assert!(refusal(&nodes, 1).contains("keys"));
    assert!(refusal(&nodes, 3).contains("keys"));
    assert!(refusal(&nodes, 0).contains("key count"));
    assert!(refusal(&nodes, u64::MAX).contains("key count"));
    assert!(refusal(&[], 2).contains("keys"));
}

#[test]
fn a_key_over_255_bytes_is_refused() {
    let deep = |steps: usize| [&END_T[..], &vec![NEXT_T; steps - 1]].concat();
    assert_eq!(check(&craft(&deep(255), 1)), Ok(1));
    assert!(refusal(&deep(256), 1).contains("255 bytes"));
    refusal(&deep(60_000), 1);
}

#[test]
fn nodes_that_nothing_points_to_or_that_overlap_are_refused() {
    assert!(refusal(&[&END_T[..], &END_T[..]].concat(), 1).contains("points to"));
    // A fork whose "a" goes to the node below and whose "b" goes into the middle of it.
    let inside = [&END_T[..], &[NEXT_T], &[1, 0, 3, 1, b'b', b'a', 0x11, 2]].concat();
    assert!(refusal(&inside, 2).contains("targets that are nodes"));
}

#[test]
fn other_forms_of_the_same_node_are_refused() {
    // "t" as a byte; a two-byte distance; one transition in the general form; the long form of the step below.
    refusal(&[0x00, 0x10, b't', 0x80], 1);
    refusal(&[0x00, 0x00, 0x20, 0x81], 1);
    refusal(&[0x00, b't', 0x10, 0x01], 1);
    refusal(&[&END_T[..], &[0x01, 0x10, 0x81]].concat(), 1);
    // Inputs out of order, and twice the same.
    refusal(&[&END_T[..], &[1, 0, 1, 1, b'a', b'b', 0x11, 2]].concat(), 2);
    refusal(&[&END_T[..], &[1, 0, 1, 1, b'a', b'a', 0x11, 2]].concat(), 2);
    // A final output, which only unsorted ordinals would need.
    refusal(&[1, 0, 0, b't', 0x11, 0x41], 2);
}

#[test]
fn a_table_that_disagrees_with_the_inputs_is_refused() {
    let mut builder = fst::MapBuilder::memory();
    for byte in 0..40u8 {
        builder.insert([byte], u64::from(byte)).unwrap();
    }
    let good = builder.into_inner().unwrap();
    let nodes = good[16..good.len() - 20].to_vec();
    assert_eq!(craft(&nodes, 40), good);
    let table = nodes.len() - 2 - 256;
    for at in [0, 39, 40, 255] {
        let mut bad = nodes.clone();
        bad[table + at] ^= 1;
        assert!(refusal(&bad, 40).contains("table"), "{at}");
    }
}

#[test]
fn a_wrong_head_foot_or_checksum_is_refused() {
    let good = craft(&END_T, 1);
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(check(&bad).is_err(), "bit {bit}");
    }
    for length in 0..good.len() {
        assert!(check(&good[..length]).is_err(), "{length} bytes");
    }
}
