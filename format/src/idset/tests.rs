use super::*;
use proptest::collection::btree_set;
use proptest::prelude::*;
use roaring::RoaringBitmap;
use std::collections::BTreeSet;

fn encoded(values: &[u16]) -> Vec<u8> {
    let mut out = Vec::new();
    encode(values, &mut out).unwrap();
    out
}

/// Sets of each form: few members, an array, a bitmap, runs.
fn sets() -> impl Strategy<Value = Vec<u16>> {
    let spans = prop::collection::vec((any::<u16>(), 1u16..3000), 1..30).prop_map(|spans| {
        spans.into_iter().flat_map(|(start, length)| start..=start.saturating_add(length)).collect::<BTreeSet<u16>>()
    });
    let step = (1u16..40, 0u16..40).prop_map(|(step, start)| (start..=u16::MAX).step_by(step.into()).collect());
    prop_oneof![btree_set(any::<u16>(), 0..20), btree_set(any::<u16>(), 17..5000), spans, step]
        .prop_map(|set: BTreeSet<u16>| set.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_set_reads_back_and_is_what_a_roaring_library_writes(values in sets()) {
        let bytes = encoded(&values);
        prop_assert_eq!(&decode(&bytes).unwrap(), &values);
        if values.len() > SMALL_IDS {
            let mut bitmap: RoaringBitmap = values.iter().map(|&value| u32::from(value)).collect();
            bitmap.optimize();
            let mut theirs = vec![FORM_ROARING];
            bitmap.serialize_into(&mut theirs).unwrap();
            prop_assert_eq!(&theirs, &bytes);
            prop_assert_eq!(RoaringBitmap::deserialize_from(&bytes[1..]).unwrap(), bitmap);
        }
    }

    #[test]
    fn an_update_is_added_as_it_reads(values in sets(), replaces: bool, piece: u16, before in btree_set(any::<u32>(), 0..9)) {
        let mut bytes = Vec::new();
        if replaces { encode_replacing(&values, &mut bytes) } else { encode(&values, &mut bytes) }.unwrap();
        prop_assert_eq!(&decode_update(&bytes).unwrap(), &(replaces, values.clone()));
        let own = |low: u16| u32::from(piece) << 16 | u32::from(low);
        let mut out: Vec<u32> = before.iter().copied().chain([own(7)]).collect();
        let mut expected: Vec<u32> = out.iter().copied().filter(|id| !replaces || id >> 16 != u32::from(piece)).collect();
        expected.extend(values.iter().map(|&low| own(low)));
        add_update(&bytes, piece, &mut out).unwrap();
        prop_assert_eq!(out, expected);
        for end in 0..bytes.len().min(40) {
            let mut out = vec![own(7)];
            prop_assert!(add_update(&bytes[..end], piece, &mut out).is_err());
            prop_assert!(out.len() <= 1);
        }
    }

    #[test]
    fn a_changed_set_is_refused_or_in_its_one_form(values in sets(), at: prop::sample::Index, to: u8) {
        let mut bytes = encoded(&values);
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Ok(values) = decode(&bytes) {
            prop_assert_eq!(encoded(&values), bytes);
        }
    }

    #[test]
    fn any_bytes_are_survived(mut bytes in prop::collection::vec(any::<u8>(), 0..200), roaring: bool) {
        if roaring {
            bytes.splice(0..0, [FORM_ROARING, 0x3b, 0x30, 0, 0, 1, 0, 0]);
        }
        if let Ok(values) = decode(&bytes) {
            prop_assert_eq!(encoded(&values), bytes);
        }
    }
}

#[test]
fn every_flipped_bit_and_truncation_is_refused_or_another_set() {
    let few: Vec<u16> = vec![3, 4, 700, 65_535];
    let array: Vec<u16> = (0..40).map(|n| n * 7).collect();
    let runs: Vec<u16> = (100..180).chain(200..250).collect();
    let bitmap: Vec<u16> = (0..=u16::MAX).step_by(3).collect();
    for values in [few, array, runs, bitmap] {
        let good = encoded(&values);
        for bit in (0..good.len() * 8).step_by(if good.len() > 1000 { 37 } else { 1 }) {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            if let Ok(other) = decode(&bad) {
                assert_ne!(other, values, "bit {bit}");
                assert_eq!(encoded(&other), bad, "bit {bit}");
            }
        }
        for length in (0..good.len()).step_by(if good.len() > 1000 { 97 } else { 1 }) {
            assert!(decode(&good[..length]).is_err(), "{length} bytes");
        }
        assert!(decode(&[&good[..], &[0]].concat()).is_err());
    }
}

#[test]
fn forms_change_where_the_spec_says() {
    assert_eq!(encoded(&[]), [0]);
    assert_eq!(encoded(&[5, 6, 10]), [3, 5, 0, 3]);
    let sixteen: Vec<u16> = (0..16).map(|n| n * 2).collect();
    assert_eq!(encoded(&sixteen)[0], 16);
    let seventeen: Vec<u16> = (0..17).map(|n| n * 2).collect();
    assert_eq!(encoded(&seventeen)[..5], [FORM_ROARING, 0x3a, 0x30, 0, 0]);
    let all: Vec<u16> = (0..=u16::MAX).collect();
    assert_eq!(encoded(&all), [17, 0x3b, 0x30, 0, 0, 1, 0, 0, 0xff, 0xff, 1, 0, 0, 0, 0xff, 0xff]);
    assert_eq!(decode(&encoded(&all)).unwrap(), all);
    assert_eq!(encoded(&all[..4096].iter().map(|n| n * 2).collect::<Vec<_>>()).len(), 1 + 16 + 8192);
}

#[test]
fn members_out_of_order_or_twice_are_refused() {
    let mut out = vec![9];
    assert!(encode(&[1, 1], &mut out).is_err() && encode(&[2, 1], &mut out).is_err());
    assert_eq!(out, [9]);
}

#[test]
fn a_set_that_replaces_is_told_from_one_that_adds() {
    for values in [vec![], vec![7], (0..900).collect::<Vec<u16>>()] {
        let mut replacing = Vec::new();
        encode_replacing(&values, &mut replacing).unwrap();
        assert_eq!(decode_update(&replacing).unwrap(), (true, values.clone()));
        assert_eq!(decode_update(&encoded(&values)).unwrap(), (false, values));
        assert!(decode(&replacing).is_err());
        // Not twice.
        let twice = [&[FORM_REPLACING], replacing.as_slice()].concat();
        assert!(decode_update(&twice).is_err());
    }
    let mut out = vec![1];
    assert!(encode_replacing(&[2, 1], &mut out).is_err());
    assert_eq!(out, [1]);
}
