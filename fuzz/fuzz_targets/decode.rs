//! The first byte chooses a structure; the rest is decoded as it, or, where that byte is 128 or more, says how a sound
//! encoding of it is changed. What is accepted is used, and must encode again to the same bytes where the structure has an
//! encoder.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plica_format::block::BlockHeader;
use plica_format::bytes::Reader;
use plica_format::commit::Commit;
use plica_format::document::{DocumentHead, Information};
use plica_format::entity::{
    decode_part, decode_rows, decode_summary_rows, encode_part, encode_rows, encode_summary_rows,
};
use plica_format::fold::{Expected, FoldPage};
use plica_format::key::{self, RecordKey};
use plica_format::leaf::Leaf;
use plica_format::outline::{self, OutlinePage};
use plica_format::outline_head::{CategoryRow, OutlineHead};
use plica_format::page::{FilePage, Slot};
use plica_format::postings::{Posting, PostingList, PostingValue};
use plica_format::quote::Quoted;
use plica_format::record::RecordRow;
use plica_format::separator::SeparatorPage;
use plica_format::state::IndexState;
use plica_format::{chunk, idset};
use plica_fuzz::harvest::{STRUCTURES, changed};

fuzz_target!(|data: &[u8]| {
    let Some((&which, bytes)) = data.split_first() else { return };
    let structure = usize::from(which & 127) % STRUCTURES;
    let changed = (which >= 128).then(|| changed(structure, bytes));
    let bytes = changed.as_deref().unwrap_or(bytes);
    match structure {
        0 => drop(FilePage::decode(bytes)),
        1 => drop(Slot::decode(bytes, 1, &[7; 16])),
        2 => drop(BlockHeader::decode(bytes, &[7; 16], 20_480)),
        3 => drop(Commit::decode(bytes)),
        4 => {
            for leaf in [Leaf::decode(bytes), Leaf::trusted(bytes)].into_iter().flatten() {
                let _ = leaf.get(b"key");
                let mut cursor = leaf.seek(b"");
                let mut left = 20_000;
                while let Ok(Some(_)) = cursor.next() {
                    left -= 1;
                    assert!(left > 0, "a leaf has at most 16,384 keys");
                }
            }
        }
        5 => drop(SeparatorPage::decode(bytes)),
        6 => {
            if let Ok(list) = PostingList::decode(bytes) {
                let mut out: Vec<Posting> = Vec::new();
                if list.read_into(0, u32::MAX, &mut out).is_ok() {
                    assert_eq!(out.len(), list.len());
                    assert!(out.windows(2).all(|pair| pair[0].id < pair[1].id));
                }
            }
        }
        7 => drop(PostingValue::decode(bytes)),
        8 => {
            if let Ok((replaces, ids)) = idset::decode_update(bytes) {
                let mut again = Vec::new();
                let encode = if replaces { idset::encode_replacing } else { idset::encode };
                encode(&ids, &mut again).expect("what was decoded can be encoded");
                assert_eq!(again, bytes);
            }
        }
        9 => {
            if let Ok(rows) = chunk::decode_places(3, bytes) {
                let mut again = Vec::new();
                chunk::encode_places(&rows, &mut again);
                assert_eq!(again, bytes);
            }
        }
        10 => {
            if let Ok(rows) = chunk::decode_texts(3, bytes) {
                let mut again = Vec::new();
                chunk::encode_texts(&rows, &mut again);
                assert_eq!(again, bytes);
            }
        }
        11 => {
            if let Ok(part) = decode_part(bytes) {
                let mut again = Vec::new();
                encode_part(&part, &mut again);
                assert_eq!(again, bytes);
            }
        }
        12 => {
            if let Ok(rows) = decode_rows(3, bytes) {
                let mut again = Vec::new();
                encode_rows(&rows, &mut again);
                assert_eq!(again, bytes);
            }
        }
        13 => {
            if let Ok(rows) = decode_summary_rows(3, bytes) {
                let mut again = Vec::new();
                encode_summary_rows(&rows, &mut again);
                assert_eq!(again, bytes);
            }
        }
        14 => {
            if let Ok(number) = Reader::new("number", bytes).varint32()
                && let Ok(head) = DocumentHead::decode(number, bytes)
            {
                let mut again = Vec::new();
                head.encode(&mut again);
                assert_eq!(again, bytes);
            }
            let _ = Information::decode(bytes);
        }
        15 => {
            // What its parent would say is believed, so that more than one page in 2^64 gets past the comparison.
            let mut reader = Reader::new("page", bytes);
            let mut next = || reader.varint32().unwrap_or(1);
            let (document, level, first, count) = (next(), next() as u8, next(), next());
            let expected = Expected { document, level, first, count };
            for fanout in [2, 3, 5] {
                if let Ok(page) = FoldPage::decode(bytes, 1 << 40, fanout, expected) {
                    assert_eq!(page.encode(), bytes);
                }
            }
        }
        16 => {
            if let Ok(row) = RecordRow::decode(bytes) {
                let mut again = Vec::new();
                row.encode(&mut again).expect("what was decoded can be encoded");
                assert_eq!(again, bytes);
            }
        }
        17 => {
            if let Some((key, other)) = RecordKey::parse(bytes) {
                let again = match bytes[0] {
                    key::RECORD => key.row(),
                    key::RECORD_OF_DOCUMENT => key.of_document(),
                    key::RECORD_BY_LABEL => key.by_label(other),
                    key::RECORD_BY_VALUE => key.by_value(other),
                    _ => key.by_coarse(other),
                };
                assert_eq!(again, bytes);
            }
        }
        18 => {
            let Some((&flags, bytes)) = bytes.split_first() else { return };
            let level = flags >> 4;
            // The count is believed, so that more than one page in 2^32 gets past the comparison.
            let mut reader = Reader::new("page", bytes);
            let count = reader.varint32().and_then(|_| reader.take(17)).and_then(|_| reader.varint32()).unwrap_or(1);
            let is_subject = flags & 1 == 1;
            let node = bytes.get(1..17).and_then(|node| node.try_into().ok()).unwrap_or([0; 16]);
            let expected = outline::Expected { document: u32::from(flags >> 1 & 7), node, is_subject, level, count };
            if let Ok(page) = OutlinePage::decode(bytes, 1 << 40, expected) {
                let _ = page.children();
                assert_eq!(page.encode(), bytes);
            }
        }
        19 => {
            if let Ok(head) = OutlineHead::decode(bytes) {
                let mut again = Vec::new();
                head.encode(&mut again);
                assert_eq!(again, bytes);
            }
        }
        20 => {
            if let Ok(row) = CategoryRow::decode(bytes) {
                let mut again = Vec::new();
                row.encode(&mut again);
                assert_eq!(again, bytes);
            }
        }
        21 => {
            let mut reader = Reader::new("text", bytes);
            if let Ok(quoted) = Quoted::decode(&mut reader, &mut 9, 4_096) {
                let mut again = Vec::new();
                quoted.encode(&mut 9, &mut again);
                assert_eq!(again, bytes[..reader.position()]);
            }
        }
        _ => {
            if let Ok(state) = IndexState::decode(bytes) {
                assert_eq!(state.encode(), bytes);
            }
        }
    }
});
