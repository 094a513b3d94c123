//! Readers that stay: a snapshot answers the same to its end, whatever is committed meanwhile and whatever file takes the
//! place of its own; and readers that come before, during and after a vacuum find the same answers.
//!
//! `PLICA_HELD_COMMITS=5000` makes it the whole run.

#[path = "common/child.rs"]
mod child;
mod common;

use child::{effort, role, start};
use common::{Capitals, Folder, assert_sound, everything, sentences};
use plica::ingest::Reader;
use plica::{Index, Limits, NewChunk, Options, ReadOptions, Refreshed, Snapshot, SourceKind, VacuumOptions, Writer};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const NAME: &str = "a_held_snapshot_answers_the_same_while_thousands_of_commits_and_vacuums_pass";
const SOURCES: [SourceKind; 2] = [SourceKind::Map, SourceKind::Positioned];

fn append(writer: &mut Writer, seed: u32, sentences_each: u32) {
    let text = sentences(seed, sentences_each);
    Reader::new(Some(&Capitals)).read_chunks(writer, &[("book", NewChunk::text(&text))]).unwrap();
    writer.commit().unwrap();
}

fn index(path: &Path, chunks: u32) {
    let mut writer = Writer::create(path, &Options::new().fanout(4)).unwrap();
    writer.add_document("book", "A book", "").unwrap();
    writer.publish("book").unwrap();
    (0..chunks).for_each(|seed| append(&mut writer, seed, 3));
}

fn open(path: &Path, source: SourceKind) -> Index {
    Index::open_with(path, &ReadOptions::new().source(source)).unwrap()
}

/// Commits, with three vacuums among them, and says when it is done.
fn write(path: &Path, commits: usize) {
    let mut writer = Writer::open(path).unwrap();
    for commit in 1..=commits {
        append(&mut writer, 1_000 + commit as u32, 1);
        if commit % (commits / 3).max(1) == 0 {
            writer.vacuum(&Limits::default()).unwrap();
            writer = Writer::open(path).unwrap();
        }
    }
    drop(writer);
    std::fs::write(path.with_extension("done"), "").unwrap();
}

#[test]
fn a_held_snapshot_answers_the_same_while_thousands_of_commits_and_vacuums_pass() {
    let commits = effort("PLICA_HELD_COMMITS", 240);
    if let Some((_, path)) = role() {
        return write(&path, commits);
    }
    let folder = Folder::new();
    let path = folder.path("a.plica");
    index(&path, 12);
    let right = everything(&open(&path, SourceKind::Map).snapshot());
    // Some were read before, some are read for the first time when the file is long gone.
    let read: Vec<Snapshot> = SOURCES.map(|source| open(&path, source).snapshot()).into();
    let unread: Vec<Snapshot> = SOURCES.map(|source| open(&path, source).snapshot()).into();
    read.iter().for_each(|snapshot| assert!(everything(snapshot) == right));
    let writer = start(NAME, "write", &path);
    let (followed, mut replaced, mut seen) = (open(&path, SourceKind::Map), 0, 12);
    let mut follower = followed;
    while !path.with_extension("done").exists() {
        match follower.refresh().unwrap() {
            Refreshed::Replaced => {
                follower = open(&path, SourceKind::Map);
                replaced += 1;
            }
            Refreshed::Advanced(_) => {}
            Refreshed::Unchanged => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
        let chunks = follower.snapshot().document("book").unwrap().chunks;
        assert!(chunks >= seen, "a follower went back");
        seen = chunks;
        read.iter().for_each(|snapshot| assert!(everything(snapshot) == right));
    }
    writer.finish();
    for snapshot in read.iter().chain(&unread) {
        assert!(everything(snapshot) == right);
        assert_sound(snapshot);
    }
    let snapshot = open(&path, SourceKind::Positioned).snapshot();
    assert_eq!(snapshot.document("book").unwrap().chunks as usize, 12 + commits);
    assert_sound(&snapshot);
    println!("{commits} commits, {replaced} times replaced");
}

#[test]
fn readers_that_open_before_during_and_after_vacuums_find_the_same() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    index(&path, 10);
    let right = everything(&open(&path, SourceKind::Map).snapshot());
    let before: Vec<Index> = SOURCES.map(|source| open(&path, source)).into();
    let (done, during) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for source in SOURCES {
            let (path, right, done, during) = (&path, &right, &done, &during);
            scope.spawn(move || {
                let mut held = Vec::new();
                while !done.load(Ordering::Relaxed) || held.is_empty() {
                    let index = open(path, source);
                    // Read at once, or later, when its file has been replaced.
                    match held.len() % 2 {
                        0 => assert!(everything(&index.snapshot()) == *right),
                        _ => drop(index.refresh().unwrap()),
                    }
                    held.push(index.snapshot());
                    if held.len() > 9 {
                        held.drain(..8).for_each(|snapshot| assert!(everything(&snapshot) == *right));
                    }
                    during.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut vacuums = 0;
        while vacuums < 25 || during.load(Ordering::Relaxed) < 50 {
            plica::vacuum(&path, &VacuumOptions::new()).unwrap();
            vacuums += 1;
        }
        done.store(true, Ordering::Relaxed);
    });
    for index in before {
        assert!(everything(&index.snapshot()) == right);
        assert_eq!(index.refresh().unwrap(), Refreshed::Replaced);
        assert!(everything(&index.snapshot()) == right);
    }
    SOURCES.iter().for_each(|&source| assert!(everything(&open(&path, source).snapshot()) == right));
}
