//! What is committed reads back, by every source, at every commit.

use super::super::{Durability, ReadOptions, Refresh, SourceKind, StoreWriter, open_bytes, open_read};
use super::{commit_blocks, decode_state, options, parameters, payload};
use crate::Error;
use crate::format::block::{BlockKind, Reference};

/// The blocks of commit `number`, as [`commit_blocks`] made them.
fn expected(number: u64, block: u64) -> Vec<u8> {
    payload(number, block, 40 + (number * 977 + block * 1_731) as usize % 5_000)
}

#[test]
fn every_commit_reads_back_by_every_source() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("book.plica");
    let mut writer = StoreWriter::create(&path, parameters(), &options(1)).unwrap();
    let first = open_read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((first.head.commit.sequence, first.head.commit.state.len()), (1, 0));
    for _ in 0..20 {
        commit_blocks(&mut writer, 5, Durability::Immediate).unwrap();
    }
    let bytes = std::fs::read(&path).unwrap();
    let positioned = ReadOptions { source: SourceKind::Positioned };
    let Refresh::Newer(refreshed) = first.refresh().unwrap() else { panic!("no newer commit found") };
    let all = [
        open_read(&path, &ReadOptions::default()).unwrap(),
        open_read(&path, &positioned).unwrap(),
        open_bytes(bytes.into()).unwrap(),
        *refreshed,
    ];
    for opened in &all {
        assert_eq!(opened.head.commit.sequence, 21);
        assert!(!opened.recovery_pending);
        for sequence in 1..=21 {
            let head = opened.commit_at(sequence).unwrap();
            assert_eq!(head.commit.sequence, sequence);
            let blocks = opened.blocks_at(&head);
            for (at, reference) in decode_state(&head.commit.state).iter().enumerate() {
                let (number, block) = (at as u64 / 5 + 2, at as u64 % 5);
                assert_eq!(blocks.is_checked(reference), number != sequence, "only the newest blocks are new");
                assert_eq!(*blocks.read(reference).unwrap(), expected(number, block)[..]);
            }
        }
        let log: Vec<u64> = opened.log().map(|head| head.unwrap().commit.sequence).collect();
        assert_eq!(log, (1..=21).rev().collect::<Vec<_>>());
        for none in [0, 22] {
            assert!(matches!(opened.commit_at(none), Err(Error::NotFound { .. })));
        }
        let kinds: Vec<_> = opened.blocks.walk(20_480).map(|walked| walked.unwrap().reference).collect();
        assert_eq!(kinds.last().map(Reference::end), Some(opened.blocks.end()));
    }
    assert!(matches!(all[0].refresh().unwrap(), Refresh::Unchanged));
}

#[test]
fn small_tree_blocks_stay_in_their_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("book.plica");
    let mut writer = StoreWriter::create(&path, parameters(), &options(1)).unwrap();
    for length in 0..400 {
        writer.append(BlockKind::Text, &payload(2, length, length as usize), false).unwrap();
        let reference = writer.append(BlockKind::Separator, &payload(2, length, 11 * length as usize), false).unwrap();
        let span = reference.end() - reference.offset;
        assert!(span > 4096 || reference.offset % 4096 + span <= 4096);
        assert_eq!(*writer.read(&reference).unwrap(), payload(2, length, 11 * length as usize)[..]);
    }
    writer.commit(Vec::new(), Durability::Immediate).unwrap();
    let opened = open_read(&path, &ReadOptions::default()).unwrap();
    assert!(opened.blocks.walk(20_480).all(|walked| walked.is_ok()));
}

#[test]
fn the_same_appends_make_the_same_bytes() {
    let make = || {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("book.plica");
        let mut writer = StoreWriter::create(&path, parameters(), &options(1)).unwrap();
        for number in 2..10 {
            let reference = writer.append(BlockKind::Fold, &payload(number, 0, 3_000), false).unwrap();
            writer.append(BlockKind::Text, &payload(number, 1, 900), false).unwrap();
            writer.commit(super::encode_state(&[reference]), Durability::Immediate).unwrap();
        }
        drop(writer);
        std::fs::read(&path).unwrap()
    };
    let bytes = make();
    assert_eq!(bytes, make());
    // The layout of format 1.0, pinned: page 0, slots, padding, blocks, commit blocks with their skip references.
    // (No CRC: one over a page that ends with its own would come out the same whatever the page holds.)
    let hash = blake3::hash(&bytes).to_hex();
    assert_eq!((bytes.len(), &hash[..16]), (53_648, "aab347a60d6e73e8"));
}

#[test]
fn what_readers_and_writers_hold_can_go_to_other_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    fn sent<T: Send + 'static>() {}
    shared::<super::super::Blocks>();
    shared::<super::super::Opened>();
    shared::<super::super::Head>();
    sent::<StoreWriter>();
}
