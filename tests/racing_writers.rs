//! Writers of several processes that race to open one file, again and again and across the renames of vacuums: at each
//! moment one has it, the others are told that it is held, and what any of them has acknowledged is in the file that the
//! name leads to.
//!
//! `PLICA_RACES=5000` makes it the whole run.

#[path = "common/child.rs"]
mod child;
mod common;

use child::{effort, role, start};
use common::{Folder, assert_sound};
use plica::{Error, Index, Limits, NewChunk, Options, Writer};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

const NAME: &str = "racing_writers_take_turns_also_across_vacuums";
const WRITERS: usize = 4;

/// Opens the file so many times, and notes each chunk that was acknowledged and how often the file was held.
fn race(path: &Path, opens: usize) {
    let number = std::process::id();
    let notes = path.with_extension(format!("notes-{number}"));
    let mut notes = std::fs::OpenOptions::new().create(true).append(true).open(notes).unwrap();
    let options = Options::new().busy_timeout(Duration::from_millis(1));
    let mut opened = 0;
    while opened < opens {
        let mut writer = match Writer::open_with(path, &options) {
            Ok(writer) => writer,
            Err(Error::Locked { path: held }) => {
                assert_eq!(held.file_name(), path.file_name());
                notes.write_all(b"held\n").unwrap();
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let id = format!("{number}-{opened}");
        let chunk = NewChunk { external_id: Some(&id), ..NewChunk::text("a chunk of a race") };
        writer.append_chunk("book", &chunk).unwrap();
        writer.commit().unwrap();
        notes.write_all(format!("{id}\n").as_bytes()).unwrap();
        opened += 1;
        match (opened + number as usize) % 4 {
            // The file is replaced while others wait for the lock of the old one.
            0 => drop(writer.vacuum(&Limits::default()).unwrap()),
            1 => {
                writer.append_chunk("book", &NewChunk::text("never committed")).unwrap();
                drop(writer);
            }
            _ => drop(writer),
        }
    }
}

#[test]
fn racing_writers_take_turns_also_across_vacuums() {
    let opens = effort("PLICA_RACES", 100) / WRITERS;
    if let Some((_, path)) = role() {
        return race(&path, opens);
    }
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, &Options::new().fanout(4)).unwrap();
    writer.add_document("book", "", "").unwrap();
    writer.publish("book").unwrap();
    writer.commit().unwrap();
    drop(writer);
    let children: Vec<_> = (0..WRITERS).map(|_| start(NAME, "race", &path)).collect();
    children.into_iter().for_each(|child| child.finish());
    let (mut acknowledged, mut held) = (BTreeSet::new(), 0);
    for entry in std::fs::read_dir(path.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        if !path.to_string_lossy().contains("notes-") {
            continue;
        }
        for line in std::fs::read_to_string(path).unwrap().lines() {
            match line {
                "held" => held += 1,
                id => assert!(acknowledged.insert(id.to_owned())),
            }
        }
    }
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_sound(&snapshot);
    let chunks = snapshot.document("book").unwrap().chunks;
    let found = (0..chunks).map(|ordinal| snapshot.chunk_at("book", ordinal).unwrap().external_id.unwrap());
    assert_eq!(found.collect::<BTreeSet<_>>(), acknowledged);
    assert_eq!((chunks as usize, acknowledged.len()), (WRITERS * opens, WRITERS * opens));
    println!("{chunks} commits of {WRITERS} writers, {held} times the file was held");
}

/// The loser of a race with a vacuum may have opened the old file before the rename, and gets its lock after it.
#[test]
fn who_waited_for_the_old_file_never_gets_it() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, &Options::new()).unwrap();
    writer.add_document("book", "", "").unwrap();
    writer.publish("book").unwrap();
    writer.commit().unwrap();
    for round in 0..20 {
        let options = Options::new().busy_timeout(Duration::from_secs(60));
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..3)
                .map(|number| {
                    let (path, options) = (&path, &options);
                    scope.spawn(move || {
                        let mut writer = Writer::open_with(path, options).unwrap();
                        let text = format!("round {round} number {number}");
                        writer.append_chunk("book", &NewChunk::text(&text)).unwrap();
                        writer.commit().unwrap();
                    })
                })
                .collect();
            writer.vacuum(&Limits::default()).unwrap();
            waiting.into_iter().for_each(|thread| thread.join().unwrap());
        });
        assert_eq!(Index::open(&path).unwrap().snapshot().document("book").unwrap().chunks, (round + 1) * 3);
        writer = Writer::open(&path).unwrap();
    }
}

/// Creations race: one makes the index, the others are told that it is there or held, and nobody takes it away again.
#[test]
fn of_racing_creations_one_makes_the_index() {
    let folder = Folder::new();
    for round in 0..40 {
        let path = folder.path(&format!("{round}.plica"));
        if round % 2 == 1 {
            // What a creation leaves that was cut short.
            std::fs::write(&path, []).unwrap();
        }
        let barrier = std::sync::Barrier::new(4);
        let create = |number: u32| {
            barrier.wait();
            match Writer::create(&path, &Options::new()) {
                Ok(mut writer) => {
                    writer.add_document(&format!("of {number}"), "", "").unwrap();
                    writer.publish(&format!("of {number}")).unwrap();
                    writer.commit().unwrap();
                    Some(number)
                }
                Err(Error::Locked { .. }) => None,
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::AlreadyExists => None,
                Err(error) => panic!("{error}"),
            }
        };
        let made = std::thread::scope(|scope| {
            let create = &create;
            let threads: Vec<_> = (0..4).map(|number| scope.spawn(move || create(number))).collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        let [number] = made[..] else { panic!("round {round}: {made:?} made the index") };
        let documents = Index::open(&path).unwrap().snapshot().documents().unwrap();
        assert_eq!(documents.iter().map(|document| &*document.id).collect::<Vec<_>>(), [format!("of {number}")]);
    }
}

/// Who waits for a file that is removed meanwhile must not write to what nobody can find any more.
#[test]
fn who_waited_for_a_file_that_was_removed_is_told_so() {
    let folder = Folder::new();
    for round in 0..10u64 {
        let path = folder.path(&format!("{round}.plica"));
        let writer = Writer::create(&path, &Options::new()).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let options = Options::new().busy_timeout(Duration::from_secs(60));
                Writer::open_with(&path, &options).map(|_| ())
            });
            std::thread::sleep(Duration::from_millis(2 * round));
            std::fs::remove_file(&path).unwrap();
            drop(writer);
            let error = waiting.join().unwrap().unwrap_err();
            assert!(
                matches!(&error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound),
                "{error}"
            );
        });
    }
}
