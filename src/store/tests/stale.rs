//! Stale tails: whole, valid blocks of the same file that lie where the next ones are expected are never taken.
//!
//! A block's header vouches for its place in the file, so a commit block that was cut off and whose bytes come up again
//! passes as a block. What keeps it out is that only a slot names a commit, with the payload checksum and the salt of
//! the session, and that a commit vouches for the headers that it covers.

use super::super::head::Head;
use super::super::memory::MemorySource;
use super::super::open::open_source;
use super::super::simulated::{Disk, Operation};
use super::super::{Blocks, Durability, StoreWriter};
use super::{create, decode_state, encode_state, open, options, payload};
use crate::format::block::{BlockHeader, BlockKind, HEADER_BYTES};
use crate::format::commit::Commit;
use std::sync::Arc;

const NAME: &str = "a.plica";

/// Appends a block whose length depends on nothing but `length`, and commits it.
fn commit(writer: &mut StoreWriter, mark: u64, length: usize) -> Head {
    let mut references = decode_state(&writer.head().commit.state);
    references.push(writer.append(BlockKind::Text, &payload(mark, 0, length), false).unwrap());
    // The block and the commit block are written by a call each.
    writer.blocks().unwrap();
    writer.commit(encode_state(&references), Durability::Immediate).unwrap()
}

/// A file of `commits` commits of one block each by one session.
fn written(commits: u64, salt: u64) -> (Vec<u8>, Vec<Head>) {
    let disk = Disk::default();
    let mut writer = create(&disk, NAME, &options(salt)).unwrap();
    let mut heads = vec![writer.head().clone()];
    heads.extend((1..commits).map(|number| commit(&mut writer, number, 700)));
    drop(writer);
    (disk.bytes(NAME).unwrap(), heads)
}

/// The head pages of one file before the blocks of another.
fn with_head_pages(of: &[u8], blocks: &[u8]) -> Vec<u8> {
    [&of[..20_480], &blocks[20_480..]].concat()
}

/// Demands that the commit block of `head` lies in the file, whole and right for its place.
fn demand_whole(bytes: &[u8], head: &Head) {
    let (at, reference) = (head.reference.offset as usize, &head.reference);
    let header: &[u8; HEADER_BYTES] = bytes[at..].first_chunk().unwrap();
    let header = BlockHeader::decode(header, &[7; 16], reference.offset).unwrap();
    assert_eq!((header.kind, header.payload_checksum), (BlockKind::Commit, reference.checksum));
    let payload = &bytes[at + HEADER_BYTES..at + HEADER_BYTES + reference.stored_bytes as usize];
    assert_eq!(Commit::decode(payload).unwrap(), head.commit);
}

/// What a reader and a writer find must be this commit, with its blocks; the writer goes on from it.
fn demand(bytes: Vec<u8>, expected: &Head) {
    let opened = open_source(Arc::new(MemorySource::new(bytes.clone().into()))).unwrap();
    assert_eq!(opened.head, *expected);
    let read = |blocks: &Blocks| {
        decode_state(&expected.commit.state).iter().for_each(|reference| drop(blocks.read(reference).unwrap()));
    };
    read(&opened.blocks);
    let disk = Disk::with_file(NAME, bytes);
    let (mut writer, _) = open(&disk, NAME, &options(77)).unwrap();
    assert_eq!(writer.head(), expected);
    assert_eq!(disk.bytes(NAME).unwrap().len() as u64, expected.end, "what is stale is cut off");
    read(&writer.blocks().unwrap());
    let next = commit(&mut writer, 99, 700);
    assert_eq!(next.commit.sequence, expected.commit.sequence + 1);
    drop(writer);
    let opened = open_source(Arc::new(MemorySource::new(disk.bytes(NAME).unwrap().into()))).unwrap();
    assert_eq!(opened.head, next);
}

/// The writes of a session that opened `bytes` and made one commit: a block, the commit block, the intent slot, the
/// publish slot; and the commit.
fn session(bytes: Vec<u8>, salt: u64, mark: u64) -> ([Operation; 4], Head) {
    let disk = Disk::with_file(NAME, bytes);
    let (mut writer, _) = open(&disk, NAME, &options(salt)).unwrap();
    let start = disk.log().len();
    let head = commit(&mut writer, mark, 700);
    let writes = disk.log().split_off(start);
    let [block, commit, intent, Operation::Sync { .. }, publish] = &writes[..] else { panic!("{writes:?}") };
    ([block.clone(), commit.clone(), intent.clone(), publish.clone()], head)
}

fn after(bytes: &[u8], operations: &[&Operation]) -> Vec<u8> {
    Disk::with_file(NAME, bytes.to_vec()).base().after(operations).named(NAME).unwrap().to_vec()
}

/// The commits behind the head are whole, of the same session, chained to it, and begin where it ends; but no slot names
/// them. So is a file whose head pages are older than its blocks.
#[test]
fn valid_commits_right_behind_the_head_are_left_and_cut_off() {
    let (old, heads) = written(3, 5);
    let (new, longer) = written(6, 5);
    assert_eq!(heads[..], longer[..3]);
    let bytes = with_head_pages(&old, &new);
    assert_eq!(longer[3].commit.previous, Some(longer[2].reference));
    longer[3..].iter().for_each(|head| demand_whole(&bytes, head));
    demand(bytes, &heads[2]);
}

/// A session died after writing its commit, and its slot never came to the medium. The next one cut that off and
/// committed as many bytes; the cut, its block and its intent came to the medium, or only some of them, and its commit
/// block did not. So at the offset and with the number that the intent names lies an old commit, whole.
#[test]
fn an_old_commit_block_where_a_newer_intent_names_one_is_not_taken() {
    let (base, heads) = written(3, 5);
    let ([old_block, old_commit, ..], old) = session(base.clone(), 11, 40);
    let ([block, _, intent, publish], new) = session(base.clone(), 12, 50);
    assert_eq!((old.reference.offset, old.commit.sequence), (new.reference.offset, new.commit.sequence));
    for operations in [vec![&old_block, &old_commit, &intent], vec![&old_block, &old_commit, &block, &intent]] {
        let bytes = after(&base, &operations);
        demand_whole(&bytes, &old);
        demand(bytes, &heads[2]);
    }
    // A publish slot says that the commit was synced, so then its loss is damage, and not the old commit either.
    let bytes = after(&base, &[&old_block, &old_commit, &block, &intent, &publish]);
    let found = open_source(Arc::new(MemorySource::new(bytes.into())));
    assert!(found.unwrap_err().is_damage());
}

/// The other way round: the commit block is the new one, and a block that it covers is an old one, whole.
#[test]
fn an_old_block_where_a_commit_covers_another_is_not_taken() {
    let (base, heads) = written(3, 5);
    for (salt, mark) in [(11, 40), (12, 40), (12, 41)] {
        let ([old_block, ..], _) = session(base.clone(), salt, mark);
        let ([block, commit, intent, _], new) = session(base.clone(), 12, 50);
        assert_ne!(old_block, block);
        demand(after(&base, &[&old_block, &commit, &intent]), &heads[2]);
        demand(after(&base, &[&old_block, &block, &commit, &intent]), &new);
    }
}

/// The file was cut back, grew again by one commit, and right behind that lies the commit after the one that had been
/// there: it has the next number and begins at exactly the next offset.
#[test]
fn the_commit_after_one_that_was_cut_off_is_not_the_next_of_another() {
    let (base, _) = written(3, 5);
    let disk = Disk::with_file(NAME, base.clone());
    let (mut writer, _) = open(&disk, NAME, &options(11)).unwrap();
    let (first, second) = (commit(&mut writer, 40, 700), commit(&mut writer, 41, 700));
    drop(writer);
    let tail = disk.bytes(NAME).unwrap().split_off(base.len());
    let ([block, commit, intent, publish], new) = session(base.clone(), 12, 50);
    assert_eq!((new.end, new.commit.sequence), (first.end, first.commit.sequence));
    for slots in [vec![&intent, &publish], vec![&intent]] {
        let bytes = [&base[..], &tail].concat();
        let bytes = after(&bytes, &[&[&block, &commit], &slots[..]].concat());
        demand_whole(&bytes, &second);
        demand(bytes, &new);
    }
}

/// Deferred commits that were written and died with their session.
#[test]
fn deferred_commits_that_were_never_synced_are_not_there() {
    let (base, heads) = written(3, 5);
    let disk = Disk::with_file(NAME, base);
    let (mut writer, _) = open(&disk, NAME, &options(11)).unwrap();
    let mut deferred = Vec::new();
    for mark in 0..3 {
        let mut references = decode_state(&writer.head().commit.state);
        references.push(writer.append(BlockKind::Text, &payload(mark, 0, 500), false).unwrap());
        deferred.push(writer.commit(encode_state(&references), Durability::Deferred).unwrap());
    }
    writer.blocks().unwrap();
    // The process ends here.
    let bytes = disk.bytes(NAME).unwrap();
    deferred.iter().for_each(|head| demand_whole(&bytes, head));
    demand(bytes, &heads[2]);
}
