//! References to a block itself, in a circle, forwards, from two places, and to blocks that are not what is said of them.

use crate::forge::{Block, Forge, encoded};
use crate::trial::{Trial, golden};
use plica::format::block::{BlockKind, Reference};
use plica::format::document::DocumentHead;
use plica::format::fold::{Child, Children, FoldPage};
use plica::format::key;
use plica::format::leaf::LeafBuilder;
use plica::format::separator::SeparatorPage;
use plica::format::state::Segment;

/// Two bits of each byte of a stretch of `a`, to be chosen freely.
fn free_bits(raw: &[u8]) -> Vec<(usize, u8)> {
    let start = raw.windows(40).position(|bytes| bytes == [b'a'; 40]).expect("a stretch to choose bits in");
    (start..start + 40).flat_map(|at| [(at, 0), (at, 1)]).collect()
}

/// Keys of a page with enough bytes that do not matter.
fn loose() -> Vec<u8> {
    [&[key::POSTINGS][..], &[b'a'; 40]].concat()
}

/// A reference to a block that is not there yet.
fn to_come(stored_bytes: u32) -> Reference {
    Reference { offset: 16_000 * 16, stored_bytes, kind: BlockKind::Separator, checksum: 0x1234_5678 }
}

fn page(level: u8, entries: &[(&[u8], Reference)]) -> Vec<u8> {
    let entries = entries.iter().map(|(key, child)| (key.to_vec(), *child)).collect();
    SeparatorPage { level, entries }.encode().unwrap()
}

/// Makes a block the root of the only segment.
fn set_root(forge: &mut Forge, root: Reference) {
    forge.state(|state| state.segments = vec![Segment { root, bytes: 100, level: 0, merging: 0, cursor: Vec::new() }]);
}

/// A small leaf, put before the head.
fn leaf(forge: &mut Forge, keys: &[&[u8]]) -> Reference {
    let mut leaf = LeafBuilder::new();
    keys.iter().for_each(|key| leaf.push(key, b"").unwrap());
    let head = forge.head();
    forge.add(head, BlockKind::Leaf, leaf.finish())
}

#[test]
fn a_separator_page_that_refers_to_itself() {
    let mut forge = golden(0);
    let raw = page(2, &[(&[key::DOCUMENT], to_come(200)), (&loose(), to_come(200))]);
    let length = raw.len() as u32;
    let raw = page(2, &[(&[key::DOCUMENT], to_come(length)), (&loose(), to_come(length))]);
    let head = forge.head();
    let own = forge.add(head, BlockKind::Separator, raw);
    let number = forge.find(&own);
    // Now that it has a name, it can name itself.
    forge.blocks[number].raw = page(2, &[(&[key::DOCUMENT], own), (&loose(), own)]);
    let free = free_bits(&forge.blocks[number].raw);
    forge.fix(&own, free);
    set_root(&mut forge, own);
    Trial::of(&forge).fails("search", "expected children that lie before it, got one behind");
}

#[test]
fn two_separator_pages_that_refer_to_each_other() {
    let mut forge = golden(0);
    let head = forge.head();
    let length = page(2, &[(&[key::DOCUMENT], to_come(200)), (&loose(), to_come(200))]).len() as u32;
    let raw = page(2, &[(&[key::DOCUMENT], to_come(length)), (&loose(), to_come(length))]);
    let first = forge.add(head, BlockKind::Separator, raw.clone());
    let second = forge.add(head + 1, BlockKind::Separator, raw);
    for (own, other) in [(first, second), (second, first)] {
        let number = forge.find(&own);
        forge.blocks[number].raw = page(2, &[(&[key::DOCUMENT], other), (&loose(), other)]);
        let free = free_bits(&forge.blocks[number].raw);
        forge.fix(&own, free);
    }
    set_root(&mut forge, second);
    Trial::of(&forge).fails("search", "expected children that lie before it, got one behind");
}

#[test]
fn a_separator_page_that_refers_to_a_later_leaf() {
    let mut forge = golden(0);
    let after = leaf(&mut forge, &[&[key::DOCUMENT]]);
    let at = forge.find(&after);
    let root = forge.add(at, BlockKind::Separator, page(1, &[(&[key::DOCUMENT], after)]));
    set_root(&mut forge, root);
    Trial::of(&forge).fails("search", "expected children that lie before it, got one behind");
}

#[test]
fn a_level_that_does_not_decrease() {
    let mut forge = golden(0);
    let below = leaf(&mut forge, &[&[key::DOCUMENT]]);
    let head = forge.head();
    let lower = forge.add(head, BlockKind::Separator, page(1, &[(&[key::DOCUMENT], below)]));
    let upper = forge.add(head + 1, BlockKind::Separator, page(3, &[(&[key::DOCUMENT], lower)]));
    set_root(&mut forge, upper);
    Trial::of(&forge).fails("search", "level 2, as the page above says");
    // Levels end at 8; a page of level 0 would hold no references.
    for level in [0, 9, 255] {
        let number = forge.find(&upper);
        forge.blocks[number].raw[0] = level;
        Trial::of(&forge).fails("search", "a level of 1 to 8");
    }
}

#[test]
fn keys_outside_of_what_the_page_above_says() {
    for (first, keys, words) in [
        (&[key::DOCUMENT][..], [&[key::DOCUMENT, 1][..], &[key::DOCUMENT, 2]], "first key"),
        (&[key::DOCUMENT, 1], [&[key::DOCUMENT, 1], &[key::POSTINGS, 9]], "keys below"),
    ] {
        let mut forge = golden(0);
        let (a, b) = (leaf(&mut forge, &keys), leaf(&mut forge, &[&[key::CHUNK_PLACES]]));
        let head = forge.head();
        let root = forge.add(head, BlockKind::Separator, page(1, &[(first, a), (&[key::CHUNK_PLACES], b)]));
        set_root(&mut forge, root);
        let trial = Trial::of(&forge);
        assert!(
            trial.errors.iter().any(|(_, error)| error.is_damage() && error.to_string().contains(words)),
            "{trial:?}"
        );
        assert!(!trial.findings.is_empty(), "{trial:?}");
    }
}

#[test]
fn one_leaf_referenced_a_thousand_times() {
    let mut forge = golden(0);
    let shared = leaf(&mut forge, &[&[key::DOCUMENT]]);
    let keys: Vec<[u8; 3]> = (0..1000u16).map(|n| [key::DOCUMENT, (n >> 8) as u8, n as u8]).collect();
    let entries: Vec<(&[u8], Reference)> = keys.iter().map(|key| (&key[..], shared)).collect();
    let head = forge.head();
    let root = forge.add(head, BlockKind::Separator, page(1, &entries));
    set_root(&mut forge, root);
    Trial::of(&forge).fails("documents", "first key");
    // As the root of as many segments as there may be: each is asked, and a check says that they are one.
    let mut forge = golden(0);
    let root = forge.read_state().segments[0].clone();
    forge.state(|state| state.segments = vec![Segment { merging: 0, cursor: Vec::new(), ..root }; 256]);
    Trial::of(&forge).is_found("two parents reach the block at");
    let mut forge = golden(0);
    forge.state(|state| state.segments = vec![state.segments[0].clone(); 257]);
    Trial::of(&forge).is_refused_as_damaged("a segment count");
}

#[test]
fn a_shared_subtree() {
    let mut forge = golden(0);
    let below = leaf(&mut forge, &[&[key::DOCUMENT], &[key::POSTINGS]]);
    let head = forge.head();
    let lower = forge.add(head, BlockKind::Separator, page(1, &[(&[key::DOCUMENT], below)]));
    let entries: [(&[u8], Reference); 2] = [(&[key::DOCUMENT], lower), (&[key::POSTINGS], lower)];
    let upper = forge.add(head + 1, BlockKind::Separator, page(2, &entries));
    set_root(&mut forge, upper);
    let trial = Trial::of(&forge);
    trial.is_found("two parents reach the block at");
    assert!(trial.errors.iter().any(|(call, error)| *call == "search" && error.is_damage()), "{trial:?}");
}

#[test]
fn a_reference_to_a_block_of_another_kind_or_none() {
    let mut forge = golden(0);
    let text = forge.blocks[forge.of_kind(BlockKind::Text)[0]].name;
    forge.state(|state| state.segments[0].root = text);
    Trial::of(&forge).is_refused_as_damaged("a leaf or a separator page as root");
    for root in [
        Reference { offset: 90_000 * 16, stored_bytes: 1, kind: BlockKind::Leaf, checksum: 1 },
        Reference { offset: (1 << 62) - 16, stored_bytes: 1, kind: BlockKind::Leaf, checksum: 1 },
    ] {
        let mut forge = golden(0);
        set_root(&mut forge, root);
        Trial::of(&forge).is_refused_as_damaged("a segment lies behind the commit that names it");
    }
    for root in [
        Reference { offset: 20_480, stored_bytes: 1000, kind: BlockKind::Leaf, checksum: 1 },
        Reference { offset: 20_480, stored_bytes: 0, kind: BlockKind::Separator, checksum: 0 },
    ] {
        let mut forge = golden(0);
        set_root(&mut forge, root);
        let trial = Trial::of(&forge);
        assert!(trial.errors.iter().any(|(call, error)| *call == "search" && error.is_damage()), "{trial:?}");
    }
}

#[test]
fn a_value_that_lies_behind_its_leaf() {
    let mut forge = golden(0);
    let (leaf, at) = forge.seek(|key| key[0] == key::CHUNK_PLACES);
    let value = forge.add(leaf + 1, BlockKind::Value, vec![0; 40]);
    let mut entries = forge.entries(leaf);
    entries[at].1 = [&[1], &encoded(&value)[..]].concat();
    forge.set_entries(leaf, &entries);
    Trial::of(&forge).fails("text", "a value that lies before its leaf");
}

/// The newest fold page above level 1 that is right, decoded.
fn fold_page(forge: &Forge, is_it: impl Fn(&Block, &[Child]) -> bool) -> (usize, FoldPage) {
    forge
        .of_kind(BlockKind::Fold)
        .into_iter()
        .rev()
        .find_map(|at| {
            let raw = &forge.blocks[at].raw;
            let mut reader = plica::format::bytes::Reader::new("page", raw);
            let (document, level) = (reader.varint32().unwrap(), reader.u8().unwrap());
            let (first, count) = (reader.varint32().unwrap(), reader.varint32().unwrap());
            let expected = plica::format::fold::Expected { document, level, first, count };
            let page = FoldPage::decode(raw, u64::MAX, forge.page.parameters.fanout, expected).unwrap();
            let is_right = matches!(&page.children, Children::Nodes(nodes) if is_it(&forge.blocks[at], nodes));
            is_right.then_some((at, page))
        })
        .expect("a fold page with pages below")
}

/// The golden file with the children of its newest fold page changed.
fn with_children(change: impl FnOnce(&mut Vec<Child>)) -> Forge {
    let mut forge = golden(0);
    let (at, mut page) = fold_page(&forge, |_, nodes| nodes.len() > 1);
    let Children::Nodes(nodes) = &mut page.children else { unreachable!() };
    change(nodes);
    forge.blocks[at].raw = page.encode();
    forge
}

#[test]
fn overlapping_covers_of_fold_pages() {
    // Two children that are the same page.
    let forge = with_children(|nodes| {
        assert!(nodes.len() >= 2);
        nodes[1].page = nodes[0].page;
    });
    Trial::of(&forge).is_found("Expected { document: 0");
}

#[test]
fn a_cover_outside_of_the_parents() {
    let mut forge = golden(0);
    let (at, page) = fold_page(&forge, |_, nodes| nodes.len() > 1);
    let Children::Nodes(nodes) = &page.children else { unreachable!() };
    let below = forge.find(&nodes[0].page);
    // document and level, then `first`.
    assert_eq!(forge.blocks[below].raw[2], 0);
    forge.blocks[below].raw[2] = 100;
    assert!(below < at);
    Trial::of(&forge).is_found("first: 100");
}

#[test]
fn a_fold_page_that_refers_to_itself() {
    let mut forge = golden(0);
    let is_head = |key: &[u8]| key == key::numbered(key::DOCUMENT, 0);
    let (leaf, entry) = forge.seek(is_head);
    let value = forge.entries(leaf).swap_remove(entry).1;
    let open = DocumentHead::decode(0, value.strip_prefix(&[0]).unwrap_or(&value)).unwrap().pages;
    let (at, mut page) = fold_page(&forge, |block, _| open.contains(&block.name));
    let old = forge.blocks[at].name;
    let with = |page: &mut FoldPage, own: Reference| {
        let Children::Nodes(nodes) = &mut page.children else { unreachable!() };
        nodes[0].summary = Some("a".repeat(200).as_str().into());
        nodes[0].page = own;
        page.encode()
    };
    let head = forge.head();
    let raw = with(&mut page, Reference { stored_bytes: 300, ..old });
    let name = forge.add(head, BlockKind::Fold, raw);
    let number = forge.find(&name);
    forge.blocks[number].raw = with(&mut page, name);
    assert_eq!(forge.blocks[number].raw.len(), name.stored_bytes as usize);
    let free = free_bits(&forge.blocks[number].raw);
    forge.fix(&name, free);
    forge.value_anew(is_head, |value| {
        let mut document = DocumentHead::decode(0, value).unwrap();
        let place = document.pages.iter_mut().find(|page| **page == old).expect("an open page");
        *place = name;
        value.clear();
        document.encode(value);
    });
    Trial::of(&forge).is_found("a page that lies before this one");
}

#[test]
fn a_commit_that_refers_to_itself() {
    let mut forge = golden(0);
    let own = forge.blocks[forge.head()].name;
    forge.commit(|commit| {
        commit.previous = Some(own);
        // A commit has no bytes that do not matter but its time, the features and the totals; the time is 64 of them.
        commit.time = 0;
    });
    let head = forge.head();
    let free = (44..52).flat_map(|at| (0..8).map(move |bit| (at, bit))).collect();
    let number = forge.blocks[head].name;
    forge.fix(&number, free);
    Trial::of(&forge).is_refused_as_damaged("it refers to what comes after it");
}
