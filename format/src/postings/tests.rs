use super::*;
use crate::block::{BlockKind, Reference};
use crate::leaf::LEAF_VALUE_BYTES;
use proptest::collection::vec;
use proptest::prelude::*;

/// Lists of all lengths: mostly close ids and frequencies of 1, now and then any.
fn lists() -> impl Strategy<Value = Vec<Posting>> {
    let gap = prop_oneof![20 => 0u32..3, 5 => 0u32..1000, 1 => any::<u32>()];
    let frequency = prop_oneof![20 => Just(1u32), 5 => 1u32..5, 1 => Just(0), 1 => any::<u32>()];
    let ones = vec((0u32..50, Just(1u32)), 1..600);
    (any::<u32>(), prop_oneof![vec((gap.clone(), frequency.clone()), 1..20), vec((gap, frequency), 1..400), ones])
        .prop_map(|(start, items)| {
            let mut next = u64::from(start % 100_000);
            let mut postings = Vec::new();
            for (gap, frequency) in items {
                let Ok(id) = u32::try_from(next + u64::from(gap)) else { break };
                postings.push(Posting { id, frequency });
                next = u64::from(id) + 1;
            }
            if postings.is_empty() { vec![Posting { id: start, frequency: 1 }] } else { postings }
        })
}

fn encoded(postings: &[Posting]) -> Vec<u8> {
    let mut out = Vec::new();
    encode(postings, None, &mut out).unwrap();
    out
}

fn all(list: &PostingList<'_>) -> Result<Vec<Posting>, FormatError> {
    let mut out = Vec::new();
    list.read_into(0, u32::MAX, &mut out)?;
    Ok(out)
}

/// Reads all of what may be anything, and demands that a list that reads well is in its one form.
fn use_all(bytes: &[u8]) -> Option<Vec<Posting>> {
    let list = PostingList::decode(bytes).ok()?;
    let mut part = Vec::new();
    let _ = list.read_into(list.first_id().saturating_add(1), list.last_id().saturating_sub(1), &mut part);
    let postings = all(&list).ok()?;
    assert_eq!(postings.len(), list.len());
    let (mut blocks, mut buffer) = (Vec::new(), BlockBuffer::default());
    for block in list.blocks() {
        let block = block.unwrap();
        block.read(bytes, &mut buffer).unwrap();
        blocks.extend(buffer.ids().iter().zip(buffer.frequencies()).map(|(&id, &frequency)| Posting { id, frequency }));
        if let Some(bound) = block.bound {
            assert!(buffer.frequencies().iter().all(|&frequency| frequency <= bound.greatest_frequency()));
        }
    }
    assert_eq!(blocks, postings);
    if !list.is_bounded() {
        assert_eq!(encoded(&postings), bytes);
    }
    Some(postings)
}

proptest! {
    #[test]
    fn a_list_reads_back_whole_and_by_ranges(postings in lists(), ranges in vec(any::<[prop::sample::Index; 2]>(), 5)) {
        let bytes = encoded(&postings);
        let list = PostingList::decode(&bytes).unwrap();
        let (first, last) = (postings[0].id, postings.last().unwrap().id);
        prop_assert_eq!((list.len(), list.first_id(), list.last_id()), (postings.len(), first, last));
        prop_assert_eq!(&all(&list).unwrap(), &postings);
        for [a, b] in ranges {
            let (a, b) = (postings[a.index(postings.len())].id, postings[b.index(postings.len())].id);
            for (from, to) in [(a, b), (a.saturating_add(1), b), (a, b.saturating_sub(1)), (0, b), (a, u32::MAX)] {
                let mut out = vec![Posting { id: 7, frequency: 7 }];
                list.read_into(from, to, &mut out).unwrap();
                let expected: Vec<_> = postings.iter().copied().filter(|p| from <= p.id && p.id <= to).collect();
                prop_assert_eq!(&out[1..], &expected[..]);
            }
        }
    }

    #[test]
    fn bounds_stand_beside_the_blocks_and_hold(postings in lists(), length in 0u32..1000, at: prop::sample::Index, to: u8) {
        let lengths: Vec<u32> = (0..postings.len() as u32).map(|i| length + i * 7 % 50).collect();
        let mut bytes = Vec::new();
        encode(&postings, Some(&lengths), &mut bytes).unwrap();
        let list = PostingList::decode(&bytes).unwrap();
        prop_assert_eq!(list.is_bounded(), postings.len() > PLAIN_POSTINGS);
        let read = use_all(&bytes);
        prop_assert_eq!(read.as_ref(), Some(&postings));
        let parts = postings.chunks(BLOCK_POSTINGS).zip(lengths.chunks(BLOCK_POSTINGS));
        let bounded = list.is_bounded();
        for (block, (postings, lengths)) in list.blocks().zip(parts) {
            prop_assert_eq!(block.unwrap().bound, bounded.then(|| Bound::of(postings, lengths)));
        }
        let at = at.index(bytes.len());
        bytes[at] = to;
        use_all(&bytes);
    }

    #[test]
    fn a_changed_list_is_refused_or_in_its_one_form(postings in lists(), at: prop::sample::Index, to: u8) {
        let mut bytes = encoded(&postings);
        let at = at.index(bytes.len());
        bytes[at] = to;
        use_all(&bytes);
    }

    #[test]
    fn any_bytes_are_survived(form in 1u8..=7, mut bytes in vec(any::<u8>(), 0..300)) {
        bytes.insert(0, form);
        use_all(&bytes);
        let _ = PostingValue::decode(&bytes);
    }
}

#[test]
fn every_flipped_bit_and_truncation_is_survived() {
    let posting = |i: u32| Posting { id: 1000 + i * 3 + i % 2, frequency: 1 + (i % 7) / 6 };
    for count in [1, 3, 16, 17, 100, 128, 129, 300] {
        let mut postings: Vec<_> = (0..count).map(posting).collect();
        for tombstone in [false, true] {
            if tombstone {
                postings[count as usize / 2].frequency = 0;
            }
            let good = encoded(&postings);
            assert_eq!(use_all(&good).as_ref(), Some(&postings));
            for bit in 0..good.len() * 8 {
                let mut bad = good.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert_ne!(use_all(&bad).as_ref(), Some(&postings), "{count} postings, bit {bit}");
            }
            for length in 0..good.len() {
                assert_ne!(use_all(&good[..length]).as_ref(), Some(&postings), "{count} postings, {length} bytes");
            }
            assert_ne!(use_all(&[&good[..], &[0]].concat()).as_ref(), Some(&postings));
        }
    }
}

/// The byte goldens of SPEC.md.
#[test]
fn the_bytes_are_those_of_the_spec() {
    let postings = |items: &[(u32, u32)]| -> Vec<Posting> {
        items.iter().map(|&(id, frequency)| Posting { id, frequency }).collect()
    };
    assert_eq!(encoded(&postings(&[(5, 1)])), [2, 0x0b]);
    assert_eq!(encoded(&postings(&[(5, 1), (6, 3), (200, 0)])), [2, 0x0b, 0x00, 0x03, 0x82, 0x03, 0x00]);
    // Ids 10, 13 … 58: gaps 0 and 16 times 2, two bits each.
    let blocks: Vec<_> = (0..17).map(|i| (10 + 3 * i, 1)).collect();
    assert_eq!(encoded(&postings(&blocks)), [3, 17, 10, 48, 2, 0, 0xa8, 0xaa, 0xaa, 0xaa, 0x02]);
}

#[test]
fn frequencies_of_one_take_no_bits() {
    let every = |step: u32| (0..12_800).map(|i| Posting { id: i * step, frequency: 1 }).collect::<Vec<_>>();
    // 100 blocks: their last ids and widths, and no data at all.
    assert_eq!(encoded(&every(1)).len(), 1 + 2 + 1 + 2 + 99 * 4 + 100 * 2);
    // Gaps of 3 between ids, two bits each but for the first.
    assert_eq!(encoded(&every(4)).len(), 1 + 2 + 1 + 3 + 99 * 4 + 100 * 2 + 100 * 32);
}

#[test]
fn lists_beyond_the_limits_are_refused_and_pieces_stay_within_them() {
    let many =
        |count: u32, frequency: u32| (0..count).map(|i| Posting { id: i * 60_000, frequency }).collect::<Vec<_>>();
    let mut out = vec![1];
    let unsorted = [Posting { id: 2, frequency: 1 }, Posting { id: 2, frequency: 1 }];
    assert!(encode(&[], None, &mut out).is_err() && encode(&unsorted, None, &mut out).is_err());
    let large = many(60_000, 70_000);
    assert!(encode(&large, None, &mut out).is_err());
    assert_eq!(out, [1], "nothing is appended on an error");

    let mut rest = &large[..];
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(piece_postings(rest, false));
        assert!(!piece.is_empty());
        let bytes = encoded(piece);
        assert!(bytes.len() <= LEAF_RAW_BYTES && (after.is_empty() || bytes.len() > LEAF_RAW_BYTES - 700));
        rest = after;
    }
    let dense: Vec<_> = (0..70_000).map(|id| Posting { id, frequency: 1 }).collect();
    assert_eq!(piece_postings(&dense, false), LIST_POSTINGS);
    assert_eq!(piece_postings(&dense[..100], true), 100);
    assert_eq!(piece_postings(&[], false), 0);
}

fn pieces() -> Vec<Piece> {
    let piece = |first_id, last_id, count, n: u64| Piece {
        first_id,
        last_id,
        count,
        bound: None,
        reference: Reference { offset: 20_480 + 16 * n, stored_bytes: 40_000, kind: BlockKind::Postings, checksum: 77 },
    };
    vec![piece(3, 90_000, 60_000, 1), piece(90_001, 90_001, 1, 5000), piece(100_000, u32::MAX, 65_536, 9_000_000)]
}

#[test]
fn a_value_in_pieces_reads_back_and_every_flip_is_survived() {
    let mut good = Vec::new();
    PostingValue::encode_pieces(&pieces(), &mut good).unwrap();
    let decode = |bytes: &[u8]| match PostingValue::decode(bytes) {
        Ok(PostingValue::Pieces(pieces)) => Some(pieces),
        _ => None,
    };
    assert_eq!(decode(&good), Some(pieces()));
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        if let Some(other) = decode(&bad) {
            assert_ne!(other, pieces(), "bit {bit}");
            let mut again = Vec::new();
            PostingValue::encode_pieces(&other, &mut again).unwrap();
            assert_eq!(again, bad, "bit {bit}");
        }
    }
    for length in 0..good.len() {
        assert_ne!(decode(&good[..length]), Some(pieces()), "{length} bytes");
    }
    let inline = encoded(&[Posting { id: 4, frequency: 2 }]);
    assert!(matches!(PostingValue::decode(&inline), Ok(PostingValue::Inline(list)) if list.len() == 1));
}

#[test]
fn pieces_that_cannot_be_are_refused() {
    let refuse = |change: fn(&mut Vec<Piece>)| {
        let mut pieces = pieces();
        change(&mut pieces);
        let mut out = Vec::new();
        PostingValue::encode_pieces(&pieces, &mut out).unwrap_err();
        assert!(out.is_empty());
    };
    refuse(Vec::clear);
    refuse(|pieces| pieces.swap(0, 1));
    refuse(|pieces| pieces[1].first_id = 90_000);
    refuse(|pieces| pieces[1].count = 2);
    refuse(|pieces| pieces[0].count = 0);
    refuse(|pieces| pieces[2].count = 65_537);
    refuse(|pieces| pieces[0].reference.kind = BlockKind::Leaf);
    refuse(|pieces| {
        *pieces =
            (0..LEAF_VALUE_BYTES as u32).map(|i| Piece { first_id: i, last_id: i, count: 1, ..pieces[0] }).collect();
    });
}

#[test]
fn a_piece_is_compared_with_what_is_said_of_it() {
    let bytes = encoded(&[Posting { id: 4, frequency: 2 }, Posting { id: 9, frequency: 1 }]);
    let list = PostingList::decode(&bytes).unwrap();
    let good = Piece { first_id: 4, last_id: 9, count: 2, ..pieces()[0] };
    good.check(&list).unwrap();
    Piece { first_id: 3, ..good }.check(&list).unwrap_err();
    Piece { last_id: 10, ..good }.check(&list).unwrap_err();
    Piece { count: 3, ..good }.check(&list).unwrap_err();
}
