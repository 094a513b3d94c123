//! A file that goes from under its readers: removed, replaced by a rename, overwritten in place, cut.
//!
//! With positioned reads each answer is right or a typed error. Through a map the same holds of what was removed or
//! replaced; a file that another program cuts in spite of the contract can end the process by a signal, and only a
//! process of its own can show it.

#[path = "common/child.rs"]
mod child;
mod common;

use child::{command, role};
use common::{Folder, everything};
use plica::{Error, Index, Limits, NewChunk, Options, Query, ReadOptions, Refreshed, Snapshot, SourceKind, Writer};
use std::path::Path;

const SOURCES: [SourceKind; 2] = [SourceKind::Map, SourceKind::Positioned];

fn write(path: &Path, word: &str) {
    let mut writer = Writer::create(path, &Options::new().fanout(2)).unwrap();
    writer.add_document("book", "A book", "").unwrap();
    for at in 0..40 {
        let text =
            format!("{word} number {at}, and words about {word} that nobody reads twice but once, {}", at * 7919);
        writer.append_chunk("book", &NewChunk::text(&text)).unwrap();
        if at % 10 == 9 {
            writer.commit().unwrap();
        }
    }
    writer.publish("book").unwrap();
    writer.commit().unwrap();
}

fn open(path: &Path, source: SourceKind) -> Index {
    Index::open_with(path, &ReadOptions::new().source(source)).unwrap()
}

/// All answers as far as there are any, each right or damage; how many were an error.
fn ask(snapshot: &Snapshot, right: &[String]) -> usize {
    let mut errors = 0;
    for (ordinal, right) in right.iter().enumerate() {
        match snapshot.chunk_at("book", ordinal as u32) {
            Ok(chunk) => assert_eq!(chunk.text, *right),
            Err(error) => {
                assert!(error.is_damage(), "{error}");
                errors += 1;
            }
        }
    }
    match snapshot.search(&Query::new("lantern").k(100)) {
        Ok(answer) => assert_eq!(answer.hits.len(), right.len()),
        Err(error) => {
            assert!(error.is_damage(), "{error}");
            errors += 1;
        }
    }
    match snapshot.check(&Limits::default()) {
        Ok(report) => errors += report.findings.len(),
        Err(error) => {
            // The check reads the head pages anew.
            assert!(error.is_damage() || matches!(error, Error::NotAnIndex { .. }), "{error}");
            errors += 1;
        }
    }
    errors
}

fn texts(snapshot: &Snapshot) -> Vec<String> {
    (0..40).map(|ordinal| snapshot.chunk_at("book", ordinal).unwrap().text).collect()
}

#[test]
fn a_removed_file_is_read_on() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    write(&path, "lantern");
    let right = everything(&open(&path, SourceKind::Map).snapshot());
    let readers = SOURCES.map(|source| open(&path, source));
    std::fs::remove_file(&path).unwrap();
    for reader in readers {
        assert_eq!(reader.refresh().unwrap(), Refreshed::Unchanged);
        assert!(everything(&reader.snapshot()) == right);
    }
    assert!(matches!(Index::open(&path).unwrap_err(), Error::Io { .. }));
    assert!(matches!(Writer::open(&path).unwrap_err(), Error::Io { .. }));
}

#[test]
fn a_replaced_file_is_read_on_and_noticed() {
    let folder = Folder::new();
    let (path, other) = (folder.path("a.plica"), folder.path("b.plica"));
    write(&path, "lantern");
    write(&other, "candle");
    let right = everything(&open(&path, SourceKind::Map).snapshot());
    let readers = SOURCES.map(|source| open(&path, source));
    std::fs::rename(&other, &path).unwrap();
    for reader in &readers {
        assert_eq!(reader.refresh().unwrap(), Refreshed::Replaced);
        assert!(everything(&reader.snapshot()) == right);
    }
    // By what is no index: the readers go on, and who opens anew is told.
    std::fs::write(&other, "Dear diary").unwrap();
    std::fs::rename(&other, &path).unwrap();
    for reader in &readers {
        assert_eq!(reader.refresh().unwrap(), Refreshed::Replaced);
        assert!(everything(&reader.snapshot()) == right);
    }
    assert!(matches!(Index::open(&path).unwrap_err(), Error::NotAnIndex { .. }));
}

/// Another index, of equal length and more, is written over the bytes of the same file, as `cp` does.
#[test]
fn a_file_that_is_overwritten_in_place_gives_damage_by_positioned_reads() {
    let folder = Folder::new();
    let (path, other) = (folder.path("a.plica"), folder.path("b.plica"));
    write(&path, "lantern");
    write(&other, "lattice");
    let texts = texts(&open(&path, SourceKind::Map).snapshot());
    let reader = open(&path, SourceKind::Positioned);
    let unread = reader.snapshot();
    std::fs::copy(&other, &path).unwrap();
    assert!(ask(&unread, &texts) >= texts.len());
    assert_eq!(reader.refresh().unwrap(), Refreshed::Replaced);
    // A copy of itself changes nothing.
    let reader = open(&path, SourceKind::Positioned);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(reader.refresh().unwrap(), Refreshed::Unchanged);
    reader.snapshot().chunk_at("book", 0).unwrap();
}

#[test]
fn a_file_that_is_cut_gives_damage_by_positioned_reads() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    write(&path, "lantern");
    let bytes = std::fs::read(&path).unwrap();
    let right = texts(&open(&path, SourceKind::Map).snapshot());
    let mut noticed = 0;
    for length in (0..bytes.len()).step_by(701).chain([4096, 8192, 20_480, bytes.len() - 1]) {
        std::fs::write(&path, &bytes).unwrap();
        let (unread, read) = (open(&path, SourceKind::Positioned), open(&path, SourceKind::Positioned));
        assert_eq!(ask(&read.snapshot(), &right), 0);
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length as u64).unwrap();
        noticed += usize::from(ask(&unread.snapshot(), &right) > 0);
        // What it keeps in memory may be all that it needs.
        ask(&read.snapshot(), &right);
        for reader in [&unread, &read] {
            match reader.refresh() {
                Ok(found) => assert_eq!(found, Refreshed::Unchanged),
                Err(error) => {
                    assert!(matches!(error, Error::Damaged { .. } | Error::NotAnIndex { .. } | Error::Io { .. }))
                }
            }
        }
    }
    assert!(noticed > 20, "{noticed}");
}

#[cfg(unix)]
const CUT: &str = "a_mapped_file_that_is_cut_ends_the_process_by_a_bus_error_or_gives_damage";

/// The contract of the map: nobody cuts the file below a commit. Where somebody does, the system ends the process that
/// touches what is gone; what is still there is right, or noticed.
#[cfg(unix)]
#[test]
fn a_mapped_file_that_is_cut_ends_the_process_by_a_bus_error_or_gives_damage() {
    use std::os::unix::process::ExitStatusExt;
    if let Some((length, path)) = role() {
        let reader = open(&path, SourceKind::Map);
        let unread = reader.snapshot();
        let right = texts(&open(&path, SourceKind::Positioned).snapshot());
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(length.parse().unwrap()).unwrap();
        // Every answer is right or damage; of a last page of which a part is gone, zeros are left.
        ask(&unread, &right);
        return;
    }
    let folder = Folder::new();
    let path = folder.path("a.plica");
    write(&path, "lantern");
    let bytes = std::fs::read(&path).unwrap();
    let (mut signalled, mut told) = (0, 0);
    for length in [0, 4096, 20_480, 21_000, bytes.len() * 9 / 10, bytes.len() - 1] {
        std::fs::write(&path, &bytes).unwrap();
        let mut command = command(CUT, &length.to_string(), &path);
        let status = command.status().unwrap();
        // SIGBUS has this number on Linux and another one elsewhere.
        let bus_error = if cfg!(target_os = "linux") { 7 } else { 10 };
        match (status.signal(), status.success()) {
            (Some(signal), _) if signal == bus_error => signalled += 1,
            (None, true) => told += 1,
            _ => panic!("cut at {length}: {status}"),
        }
    }
    println!("{signalled} ended by a bus error, {told} had damage or right answers");
    // Without a map there is no bus error, and an empty file has no page left.
    assert!(signalled > 0 || !cfg!(target_os = "linux"));
}
