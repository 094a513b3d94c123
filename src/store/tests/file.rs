//! Files: one writer, readers beside it, links, read-only places, what is left behind.

use super::super::{Durability, ReadOptions, Refresh, SourceKind, StoreWriter, WriteOptions, open_read};
use super::{commit_blocks, decode_state, options, parameters, payload};
use crate::Error;
use crate::format::block::BlockKind;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

/// A directory, an index in it, and its writer.
fn created() -> (TempDir, PathBuf, StoreWriter) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("book.plica");
    let writer = StoreWriter::create(&path, parameters(), &options(1)).unwrap();
    (directory, path, writer)
}

fn impatient() -> WriteOptions {
    WriteOptions { busy_timeout: Duration::ZERO, ..options(2) }
}

#[test]
fn a_second_writer_is_told_which_file_is_held_and_gets_it_when_the_first_is_gone() {
    let (_directory, path, mut writer) = created();
    let held = writer.blocks().unwrap();
    let error = StoreWriter::open(&path, &impatient()).unwrap_err();
    assert!(matches!(&error, Error::Locked { path: held } if *held == path.canonicalize().unwrap()));
    assert!(error.to_string().contains("book.plica"));
    drop(writer);
    let (_, report) = StoreWriter::open(&path, &impatient()).unwrap();
    assert!(report.clean, "blocks that are still held do not hold the lock");
    drop(held);
}

#[test]
fn an_existing_file_is_never_created_over() {
    let (_directory, path, writer) = created();
    drop(writer);
    let before = std::fs::read(&path).unwrap();
    let error = StoreWriter::create(&path, parameters(), &options(9)).unwrap_err();
    assert!(
        matches!(&error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_writer_dropped_without_commit_leaves_nothing() {
    let (_directory, path, mut writer) = created();
    commit_blocks(&mut writer, 3, Durability::Immediate).unwrap();
    let before = std::fs::read(&path).unwrap();
    for block in 0..200 {
        writer.append(BlockKind::Text, &payload(9, block, 5_000), false).unwrap();
    }
    assert!(std::fs::metadata(&path).unwrap().len() > before.len() as u64, "it was more than the buffer holds");
    commit_blocks(&mut writer, 3, Durability::Deferred).unwrap();
    drop(writer);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_rolled_back_writer_goes_on_and_stale_references_are_refused() {
    let (_directory, path, mut writer) = created();
    let stale = writer.append(BlockKind::Text, &payload(2, 0, 3_000), true).unwrap();
    let blocks = writer.blocks().unwrap();
    assert!(blocks.read(&stale).is_ok());
    writer.rollback().unwrap();
    assert!(writer.read(&stale).is_err());
    assert_eq!(writer.end(), writer.head().end);
    let fresh = writer.append(BlockKind::Text, &payload(3, 0, 3_000), true).unwrap();
    assert_eq!(fresh.offset, stale.offset);
    let blocks = writer.blocks().unwrap();
    assert!(blocks.read(&stale).is_err());
    assert_eq!(*blocks.read(&fresh).unwrap(), payload(3, 0, 3_000)[..]);
    commit_blocks(&mut writer, 2, Durability::Immediate).unwrap();
    drop(writer);
    assert_eq!(open_read(&path, &ReadOptions::default()).unwrap().head.commit.sequence, 2);
}

#[test]
fn deferred_commits_are_seen_when_the_next_immediate_one_is_made() {
    let (_directory, path, mut writer) = created();
    for _ in 0..3 {
        commit_blocks(&mut writer, 3, Durability::Deferred).unwrap();
    }
    let reader = open_read(&path, &ReadOptions::default()).unwrap();
    assert_eq!(reader.head.commit.sequence, 1);
    writer.append(BlockKind::Text, b"not committed", false).unwrap();
    writer.sync().unwrap();
    let Refresh::Newer(reader) = reader.refresh().unwrap() else { panic!("nothing newer") };
    assert_eq!(reader.head.commit.sequence, 4);
    commit_blocks(&mut writer, 3, Durability::Deferred).unwrap();
    let head = commit_blocks(&mut writer, 3, Durability::Immediate).unwrap();
    let Refresh::Newer(reader) = reader.refresh().unwrap() else { panic!("nothing newer") };
    assert_eq!(reader.head, head);
    for sequence in 1..=6 {
        for reference in decode_state(&reader.commit_at(sequence).unwrap().commit.state) {
            assert!(reader.blocks.read(&reference).is_ok());
        }
    }
    drop(writer);
    let (writer, report) = StoreWriter::open(&path, &options(2)).unwrap();
    assert!(report.clean && report.cut_bytes == 0);
    assert_eq!(*writer.head(), head);
}

#[test]
fn many_commits_over_several_sessions_keep_every_earlier_one_within_reach() {
    let (_directory, path, mut writer) = created();
    for session in 0..20u64 {
        for _ in 0..session % 7 + 1 {
            commit_blocks(&mut writer, 0, Durability::Immediate).unwrap();
        }
        drop(writer);
        writer = StoreWriter::open(&path, &options(session + 2)).unwrap().0;
    }
    let reader = open_read(&path, &ReadOptions::default()).unwrap();
    for sequence in 1..=reader.head.commit.sequence {
        assert_eq!(reader.commit_at(sequence).unwrap().commit.sequence, sequence);
    }
}

#[test]
fn a_reader_beside_a_writer_in_mid_commit_uses_what_is_published() {
    let (_directory, path, mut writer) = created();
    commit_blocks(&mut writer, 3, Durability::Immediate).unwrap();
    let before = std::fs::read(&path).unwrap();
    commit_blocks(&mut writer, 3, Durability::Immediate).unwrap();
    // The intent of commit 3 stands, its publish slot does not: as between the sync and the last write.
    let after = std::fs::read(&path).unwrap();
    let mid = [&after[..3 * 4096], &before[3 * 4096..5 * 4096], &after[5 * 4096..]].concat();
    std::fs::write(&path, &mid).unwrap();
    let reader = open_read(&path, &ReadOptions::default()).unwrap();
    assert!(reader.recovery_pending);
    assert_eq!(reader.head.commit.sequence, 2);
    // With the writer gone the commit is adopted, for reading and for writing; only the latter writes.
    std::mem::drop(writer);
    let reader = open_read(&path, &ReadOptions::default()).unwrap();
    assert_eq!((reader.head.commit.sequence, reader.recovery_pending), (3, false));
    assert_eq!(std::fs::read(&path).unwrap(), mid);
    let (writer, report) = StoreWriter::open(&path, &options(3)).unwrap();
    assert_eq!((report.clean, report.adopted, report.discarded), (false, Some(3), None));
    drop(writer);
    assert!(StoreWriter::open(&path, &options(3)).unwrap().1.clean);
}

#[cfg(unix)]
#[test]
fn a_read_only_file_in_a_read_only_directory_is_read_and_not_written() {
    use std::os::unix::fs::PermissionsExt;
    let (directory, path, mut writer) = created();
    commit_blocks(&mut writer, 3, Durability::Immediate).unwrap();
    drop(writer);
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(&path, mode(0o444)).unwrap();
    std::fs::set_permissions(directory.path(), mode(0o555)).unwrap();
    for source in [SourceKind::Map, SourceKind::Positioned] {
        let reader = open_read(&path, &ReadOptions { source }).unwrap();
        assert_eq!(reader.head.commit.sequence, 2);
    }
    // A superuser may write all the same.
    if std::fs::OpenOptions::new().write(true).open(&path).is_err() {
        let error = StoreWriter::open(&path, &impatient()).unwrap_err();
        assert!(error.to_string().contains("open for writing"), "{error}");
    }
    std::fs::set_permissions(directory.path(), mode(0o755)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_a_replaced_file_is_noticed() {
    let (directory, path, mut writer) = created();
    let link = directory.path().join("link.plica");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    commit_blocks(&mut writer, 1, Durability::Immediate).unwrap();
    let reader = open_read(&link, &ReadOptions::default()).unwrap();
    assert!(matches!(StoreWriter::open(&link, &impatient()), Err(Error::Locked { .. })));
    drop(writer);
    assert_eq!(StoreWriter::open(&link, &impatient()).unwrap().0.path(), path.canonicalize().unwrap());

    let other = directory.path().join("other.plica");
    drop(StoreWriter::create(&other, parameters(), &options(4)).unwrap());
    std::fs::rename(&other, &path).unwrap();
    assert!(matches!(reader.refresh().unwrap(), Refresh::Replaced));
    let first = decode_state(&reader.head.commit.state)[0];
    assert!(reader.blocks.read(&first).is_ok(), "the snapshot stays good");
}

#[test]
fn a_superseded_file_is_left_by_its_readers() {
    let (_directory, path, mut writer) = created();
    commit_blocks(&mut writer, 1, Durability::Immediate).unwrap();
    let reader = open_read(&path, &ReadOptions::default()).unwrap();
    writer.mark_superseded().unwrap();
    drop(writer);
    assert!(matches!(reader.refresh().unwrap(), Refresh::Replaced));
    // A copy of it can be opened as it is, also where one of the two slots cannot be read.
    assert_eq!(open_read(&path, &ReadOptions::default()).unwrap().head.commit.sequence, 2);
    let bytes = std::fs::read(&path).unwrap();
    for page in [3, 4] {
        let mut torn = bytes.clone();
        torn[page * 4096 + 20] ^= 1;
        assert_eq!(crate::store::open_bytes(torn.into()).unwrap().head.commit.sequence, 2);
    }
    assert!(!StoreWriter::open(&path, &options(2)).unwrap().1.clean);
    assert!(matches!(reader.refresh().unwrap(), Refresh::Unchanged));
}

#[test]
fn readers_follow_a_quick_writer_without_an_error() {
    let (_directory, path, mut writer) = created();
    std::thread::scope(|scope| {
        for source in [SourceKind::Map, SourceKind::Positioned] {
            let path = &path;
            scope.spawn(move || {
                let mut reader = open_read(path, &ReadOptions { source }).unwrap();
                while reader.head.commit.sequence < 200 {
                    let before = reader.head.commit.sequence;
                    match reader.refresh().unwrap() {
                        Refresh::Newer(newer) => reader = *newer,
                        Refresh::Unchanged => std::thread::yield_now(),
                        Refresh::Replaced => panic!("nobody replaced the file"),
                    }
                    assert!(reader.head.commit.sequence >= before);
                    for reference in decode_state(&reader.head.commit.state) {
                        reader.blocks.read(&reference).unwrap();
                    }
                }
            });
        }
        while writer.head().commit.sequence < 200 {
            commit_blocks(&mut writer, 1, Durability::Immediate).unwrap();
        }
    });
}

#[test]
fn a_payload_or_a_state_over_its_limit_is_refused_and_changes_nothing() {
    let (_directory, _path, mut writer) = created();
    let end = writer.end();
    assert!(matches!(writer.append(BlockKind::Leaf, &[0; (64 << 10) + 1], false), Err(Error::Limit { .. })));
    assert!(matches!(writer.commit(vec![0; (60 << 10) + 1], Durability::Immediate), Err(Error::Limit { .. })));
    assert!(writer.append(BlockKind::Commit, b"forged", false).is_err());
    assert_eq!(writer.end(), end);
    writer.append(BlockKind::Leaf, &[0; 64 << 10], true).unwrap();
    writer.commit(vec![0; 60 << 10], Durability::Immediate).unwrap();
}
