use super::*;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

fn reference(kind: BlockKind, n: u32) -> Reference {
    Reference {
        offset: 20_480 + 16 * u64::from(n),
        stored_bytes: n % 16_000,
        kind,
        checksum: n.wrapping_mul(0x9e37_79b1),
    }
}

fn pages() -> impl Strategy<Value = SeparatorPage> {
    let keys = prop_oneof!["[ab]{0,8}".prop_map(String::into_bytes), vec(any::<u8>(), 0..30)];
    (1u8..=SEPARATOR_LEVELS, btree_map(keys, any::<u32>(), 1..60)).prop_map(|(level, entries)| {
        let kind = if level == 1 { BlockKind::Leaf } else { BlockKind::Separator };
        let entries = entries.into_iter().map(|(key, n)| (key, reference(kind, n))).collect();
        SeparatorPage { level, entries }
    })
}

proptest! {
    #[test]
    fn a_page_reads_back_and_finds_like_a_sorted_list(page in pages(), probe in "[ab]{0,8}") {
        prop_assert_eq!(&SeparatorPage::decode(&page.encode().unwrap()).unwrap(), &page);
        let expected = page.entries.iter().rposition(|(key, _)| key.as_slice() <= probe.as_bytes());
        prop_assert_eq!(page.find(probe.as_bytes()), expected);
    }

    #[test]
    fn a_changed_page_is_refused_or_in_its_one_form(page in pages(), at: prop::sample::Index, to: u8) {
        let mut bytes = page.encode().unwrap();
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Ok(page) = SeparatorPage::decode(&bytes) {
            prop_assert_eq!(page.encode().unwrap(), bytes);
        }
    }
}

fn sample() -> SeparatorPage {
    let entry = |key: &str, n| (key.as_bytes().to_vec(), reference(BlockKind::Leaf, n));
    SeparatorPage { level: 1, entries: vec![entry("apple", 1), entry("applied", 300), entry("bee", 70_000)] }
}

#[test]
fn every_flipped_bit_and_truncation_is_survived() {
    let bytes = sample().encode().unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut bad = bytes.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        if let Ok(page) = SeparatorPage::decode(&bad) {
            assert_ne!(page, sample(), "bit {bit}");
            let _ = (page.find(b"b"), page.check_under(1, b"apple", None));
        }
    }
    for length in 0..bytes.len() {
        assert!(SeparatorPage::decode(&bytes[..length]).is_err(), "{length} bytes");
    }
    assert!(SeparatorPage::decode(&[&bytes[..], &[0]].concat()).is_err());
}

#[test]
fn levels_and_kinds_of_children_go_together() {
    let mut page = sample();
    for level in [0, 2, SEPARATOR_LEVELS + 1] {
        page.level = level;
        assert!(page.encode().is_err(), "level {level}");
        let mut bytes = sample().encode().unwrap();
        bytes[0] = level;
        assert!(SeparatorPage::decode(&bytes).is_err(), "level {level}");
    }
    page.entries.clear();
    page.level = 1;
    assert!(page.encode().is_err(), "no entries");
    assert!(SeparatorPage::decode(&[1, 0]).is_err(), "no entries");
}

#[test]
fn a_page_under_the_wrong_parent_is_refused() {
    let page = sample();
    page.check_under(1, b"apple", None).unwrap();
    page.check_under(1, b"apple", Some(b"bef")).unwrap();
    page.check_under(2, b"apple", None).unwrap_err();
    page.check_under(1, b"appl", None).unwrap_err();
    page.check_under(1, b"apple", Some(b"bee")).unwrap_err();
}

#[test]
fn a_builder_fills_a_page_to_its_limits() {
    let mut builder = SeparatorBuilder::new(1).unwrap();
    let mut n = 0u32;
    while builder.fits(format!("key {n:08}").as_bytes()) {
        builder.push(format!("key {n:08}").as_bytes(), reference(BlockKind::Leaf, n)).unwrap();
        n += 1;
    }
    assert!(builder.push(format!("key {n:08}").as_bytes(), reference(BlockKind::Leaf, n)).is_err());
    assert_eq!((builder.first_key(), builder.len()), (&b"key 00000000"[..], n as usize));
    let bytes = builder.finish().unwrap();
    assert!((SEPARATOR_RAW_BYTES - 64..=SEPARATOR_RAW_BYTES).contains(&bytes.len()));
    assert_eq!(SeparatorPage::decode(&bytes).unwrap().entries.len(), n as usize);
}

/// Three keys of the greatest length fit, so every level is at most a third of the one below.
#[test]
fn three_of_the_longest_keys_fit_and_their_sum_is_limited() {
    let mut builder = SeparatorBuilder::new(1).unwrap();
    for n in 0..3u8 {
        builder.push(&[n; LEAF_KEY_BYTES], reference(BlockKind::Leaf, 1)).unwrap();
    }
    assert!(!builder.fits(&[3; LEAF_KEY_BYTES]));

    // Long keys that share all but their end take little of the page, but all of their length in memory.
    let mut builder = SeparatorBuilder::new(1).unwrap();
    let key = |n: usize| [&[b'k'; LEAF_KEY_BYTES - 1][..], &[n as u8]].concat();
    let count = SEPARATOR_KEYS_BYTES / LEAF_KEY_BYTES;
    for n in 0..count {
        builder.push(&key(n), reference(BlockKind::Leaf, 1)).unwrap();
    }
    assert!(builder.push(&key(count), reference(BlockKind::Leaf, 1)).is_err());
    let mut bytes = builder.finish().unwrap();
    assert!(bytes.len() < 6000 && SeparatorPage::decode(&bytes).is_ok());
    // One more entry, written by hand.
    bytes[1] += 1;
    put_lengths(&mut bytes, LEAF_KEY_BYTES - 1, 1);
    bytes.push(count as u8);
    reference(BlockKind::Leaf, 1).encode(&mut bytes);
    assert!(SeparatorPage::decode(&bytes).unwrap_err().to_string().contains("262144"));
}
