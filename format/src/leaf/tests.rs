use super::*;
use crate::limits::LEAF_KEYS;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::collections::BTreeMap;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Keys that share prefixes and endings, or are any bytes at all.
fn keys() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[ab]{0,6}(ing|ed|s)?".prop_map(String::into_bytes),
        2 => vec(any::<u8>(), 0..5),
        1 => vec(prop_oneof![Just(b'x'), Just(b'y')], 250..256),
    ]
}

fn models() -> impl Strategy<Value = Model> {
    btree_map(keys(), vec(any::<u8>(), 0..20), 1..120)
}

fn builder(model: &Model) -> LeafBuilder {
    let mut builder = LeafBuilder::new();
    for (key, value) in model {
        assert!(builder.fits(key, value));
        builder.push(key, value).unwrap();
    }
    builder
}

fn encode(model: &Model, form: LeafForm) -> Vec<u8> {
    builder(model).finish_as(form).unwrap()
}

fn collect(mut cursor: LeafCursor<'_>) -> Result<Vec<(Vec<u8>, Vec<u8>)>, FormatError> {
    let mut entries = Vec::new();
    while let Some((key, value)) = cursor.next()? {
        entries.push((key.to_vec(), value.to_vec()));
    }
    Ok(entries)
}

/// Uses all of a leaf that may be anything: what it answers does not matter, that it does so does.
fn use_all(leaf: &Leaf<'_>, keys: &Model) {
    let _ = (leaf.len(), leaf.first_key(), leaf.last_key(), leaf.check_under(b"a", Some(b"b")));
    if let Ok(entries) = collect(leaf.seek(b"")) {
        assert!(entries.len() <= LEAF_KEYS);
    }
    for key in keys.keys() {
        let _ = leaf.get(key);
        let _ = leaf.seek(key).next();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn both_forms_answer_like_a_sorted_map(model in models(), probes in vec(keys(), 30)) {
        let entries: Vec<_> = model.clone().into_iter().collect();
        for form in [LeafForm::Front, LeafForm::Fst] {
            let bytes = encode(&model, form);
            let leaf = Leaf::decode(&bytes).unwrap();
            prop_assert_eq!(leaf.form(), form);
            prop_assert_eq!(leaf.len(), model.len());
            prop_assert_eq!(leaf.first_key().unwrap(), entries.first().unwrap().0.clone());
            prop_assert_eq!(leaf.last_key().unwrap(), entries.last().unwrap().0.clone());
            prop_assert_eq!(&collect(leaf.seek(b"")).unwrap(), &entries);
            for probe in probes.iter().chain(model.keys()) {
                prop_assert_eq!(leaf.get(probe).unwrap(), model.get(probe).map(Vec::as_slice));
                let from: Vec<_> = model.range(probe.clone()..).map(|(k, v)| (k.clone(), v.clone())).collect();
                prop_assert_eq!(collect(leaf.seek(probe)).unwrap(), from);
            }
        }
    }

    #[test]
    fn any_bytes_after_a_good_form_byte_are_survived(form in 1u8..=2, mut bytes in vec(any::<u8>(), 0..300)) {
        bytes.insert(0, form);
        if let Ok(leaf) = Leaf::trusted(&bytes) {
            use_all(&leaf, &Model::new());
        }
        prop_assert!(Leaf::decode(&bytes).is_err() || form == 1);
    }

    /// What the decoder takes is what the builder writes.
    #[test]
    fn a_changed_front_coded_leaf_that_still_passes_has_its_one_form(model in models(), at: prop::sample::Index, to: u8) {
        let mut bytes = encode(&model, LeafForm::Front);
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Ok(leaf) = Leaf::decode(&bytes) {
            let again: Model = collect(leaf.seek(b"")).unwrap().into_iter().collect();
            prop_assert_eq!(encode(&again, LeafForm::Front), bytes);
        }
    }
}

fn sample() -> Model {
    let words = "a an and ant ante any be bed bee been bees being bin bind binding bing bins bit bite biting c ca cab cat \
                 cats eat eating seat seating seats z\u{e9}ro zoo zoos";
    words.split_whitespace().enumerate().map(|(i, word)| (word.into(), vec![i as u8; i % 4])).collect()
}

#[test]
fn every_flipped_bit_and_truncation_is_survived() {
    let model = sample();
    for form in [LeafForm::Front, LeafForm::Fst] {
        let bytes = encode(&model, form);
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            for leaf in [Leaf::decode(&bad), Leaf::trusted(&bad)].into_iter().flatten() {
                use_all(&leaf, &model);
            }
            // An fst carries a checksum; of the rest, only bits of values and of keys can go unnoticed here.
            let keys_end = 5 + u32::from_le_bytes(bytes[1..5].try_into().unwrap()) as usize;
            if form == LeafForm::Fst && bit / 8 < keys_end {
                assert!(Leaf::decode(&bad).is_err(), "bit {bit}");
            }
        }
        for length in 0..bytes.len() {
            assert!(Leaf::decode(&bytes[..length]).is_err(), "{length} bytes");
            if let Ok(leaf) = Leaf::trusted(&bytes[..length]) {
                use_all(&leaf, &model);
            }
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(Leaf::decode(&longer).is_err());
    }
}

/// The byte goldens of SPEC.md.
#[test]
fn the_bytes_are_those_of_the_spec() {
    let model: Model = [(b"cat".to_vec(), b"1".to_vec()), (b"cats".to_vec(), vec![])].into();
    assert_eq!(encode(&model, LeafForm::Front), b"\x01\x02\x00\x03cat\x011\x31s\x00\x03\x00");
    let fst = encode(&model, LeafForm::Fst);
    assert_eq!(fst.len(), 5 + 16 + 9 + 20 + 3 + 2);
    // The node after "cat", lowest byte first: final output, output and distance of "s", "s", widths, state; then "t", "a"
    // and "c", each to the node below.
    assert_eq!(fst[21..30], [0, 1, 0, b's', 0x11, 0x41, 0xc1, 0xc5, 0xca]);
    assert_eq!(fst[50..], *b"\x011\x00\x32\x00");
}

#[test]
fn a_leaf_is_filled_to_its_limits_and_not_beyond() {
    // By bytes: long values.
    let mut builder = LeafBuilder::new();
    let mut i = 0u32;
    while builder.fits(&i.to_be_bytes(), &[7; 100]) {
        builder.push(&i.to_be_bytes(), &[7; 100]).unwrap();
        i += 1;
    }
    assert!(builder.push(&i.to_be_bytes(), &[7; 100]).is_err());
    assert!(builder.raw_bytes() > LEAF_RAW_BYTES - 128);
    let (count, bound) = (builder.len(), builder.raw_bytes());
    let bytes = builder.finish();
    assert!(bytes.len() <= bound && bound <= LEAF_RAW_BYTES);
    assert_eq!(Leaf::decode(&bytes).unwrap().len(), count);

    // By keys: the shortest entries there are.
    let mut builder = LeafBuilder::new();
    let mut i = 0u32;
    while builder.fits(&i.to_be_bytes()[1..], b"") {
        builder.push(&i.to_be_bytes()[1..], b"").unwrap();
        i += 1;
    }
    assert_eq!(builder.len(), LEAF_KEYS);
    let bytes = builder.finish();
    let leaf = Leaf::decode(&bytes).unwrap();
    assert_eq!((leaf.len(), leaf.form()), (LEAF_KEYS, LeafForm::Fst));
    for i in [0, 1, 255, 256, 9999, 16_383u32] {
        assert_eq!(leaf.get(&i.to_be_bytes()[1..]).unwrap(), Some(&b""[..]));
    }
    assert_eq!(leaf.get(&16_384u32.to_be_bytes()[1..]).unwrap(), None);
}

#[test]
fn the_longest_key_and_value_fit_an_empty_leaf_and_longer_ones_are_refused() {
    let mut builder = LeafBuilder::new();
    builder.push(&[b'k'; LEAF_KEY_BYTES], &[b'v'; LEAF_VALUE_BYTES]).unwrap();
    assert!(builder.push(&[b'l'; LEAF_KEY_BYTES + 1], b"").is_err());
    assert!(builder.push(b"l", &[b'v'; LEAF_VALUE_BYTES + 1]).is_err());
    assert!(builder.push(b"a", b"").is_err(), "out of order");
    let bytes = builder.clone().finish();
    assert!(Leaf::decode(&bytes).unwrap().get(&[b'k'; LEAF_KEY_BYTES]).unwrap().is_some());
    assert!(builder.finish_as(LeafForm::Fst).is_none(), "a key over 255 bytes");
    assert!(LeafBuilder::new().finish().is_empty());
}

#[test]
fn a_leaf_under_the_wrong_parent_is_refused() {
    let bytes = encode(&sample(), LeafForm::Front);
    let leaf = Leaf::decode(&bytes).unwrap();
    leaf.check_under(b"a", None).unwrap();
    leaf.check_under(b"a", Some(b"zz")).unwrap_err();
    leaf.check_under(b"a", Some("z\u{e9}rp".as_bytes())).unwrap();
    leaf.check_under(b"aa", None).unwrap_err();
    leaf.check_under(b"a", Some("z\u{e9}ro".as_bytes())).unwrap_err();
}

/// A key written as if it shared less with the one before is the same key in another form.
#[test]
fn a_second_form_of_the_same_entries_is_refused() {
    let good = b"\x01\x02\x00\x03cat\x011\x31s\x00\x03\x00";
    let loose = b"\x01\x02\x00\x03cat\x011\x22ts\x00\x03\x00";
    let descending = b"\x01\x02\x00\x03cat\x011\x21s\x00\x03\x00";
    let equal = b"\x01\x02\x00\x03cat\x011\x30\x00\x03\x00";
    let wrong_restart = b"\x01\x02\x00\x03cat\x011\x31s\x00\x04\x00";
    assert!(Leaf::decode(good).is_ok());
    assert!(Leaf::decode(descending).is_err(), "\"cas\" is below \"cat\"");
    for bad in [&loose[..], equal, wrong_restart] {
        assert!(Leaf::decode(bad).is_err(), "{}", bad.escape_ascii());
    }
}

#[test]
fn the_form_is_that_of_the_rule() {
    let form = |keys: &mut dyn Iterator<Item = String>| {
        let mut builder = LeafBuilder::new();
        keys.for_each(|key| builder.push(key.as_bytes(), b"v").unwrap());
        let front = builder.clone().finish_as(LeafForm::Front).unwrap();
        let bytes = builder.finish();
        assert!(bytes.len() <= front.len());
        Leaf::decode(&bytes).unwrap().form()
    };
    assert_eq!(form(&mut (0..4000).map(|i| format!("pride:{i:06}"))), LeafForm::Fst);
    assert_eq!(form(&mut (0..3999).map(|i| format!("pride:{i:06}"))), LeafForm::Front);
    let irregular = |i: u32| format!("{i:05}{}", i.wrapping_mul(0x9e37_79b1) % 1000);
    assert_eq!(form(&mut (0..5000).map(irregular)), LeafForm::Front);
}

/// An automaton with a million keys that says it has 16,384: the proof refuses it, and without the proof a cursor ends.
#[test]
fn a_cursor_over_shared_nodes_ends() {
    let fst = crate::fst_check::tests::craft(&crate::fst_check::tests::million_keys(), LEAF_KEYS as u64);
    let mut bytes = vec![2];
    bytes.extend_from_slice(&(fst.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&fst);
    let values_at = bytes.len();
    bytes.extend_from_slice(&[0; LEAF_KEYS]);
    for group in 0..LEAF_KEYS / GROUP {
        bytes.extend_from_slice(&((values_at + group * GROUP) as u16).to_le_bytes());
    }
    assert!(Leaf::decode(&bytes).is_err());
    let leaf = Leaf::trusted(&bytes).unwrap();
    assert!(collect(leaf.seek(b"")).is_err());
    use_all(&leaf, &sample());
}
