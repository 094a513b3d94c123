//! Writers are killed at any moment, two at a time, some in the middle of a vacuum, while readers look: no commit that
//! was acknowledged is lost, none comes twice, and no reader meets an error or goes back.
//!
//! `PLICA_KILLS=10000` makes it the whole run.

#[path = "common/child.rs"]
mod child;
mod common;

use child::{effort, role, start};
use common::{Folder, assert_sound};
use plica::{Index, Limits, NewChunk, Options, Refreshed, Snapshot, TextQuery, Writer};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

const NAME: &str = "no_acknowledged_commit_is_lost_whenever_a_writer_is_killed";

/// Writers that are killed over one file; a vacuum of a longer one takes longer.
const KILLS_A_FILE: usize = 500;

fn text(ordinal: u32) -> String {
    format!("shared words of chunk {ordinal}, mark{ordinal}x.")
}

fn file(path: &Path, name: &str) -> std::path::PathBuf {
    path.with_file_name(name)
}

/// Appends and commits until it is killed, and notes each commit that returned.
fn write(path: &Path) {
    let mut acknowledged = std::fs::OpenOptions::new().append(true).open(file(path, "acknowledged")).unwrap();
    let mut chunks = 0;
    let options = Options::new().busy_timeout(Duration::from_secs(60));
    loop {
        let mut writer = Writer::open_with(path, &options).unwrap();
        for _ in 0..5 {
            let next = writer.chunks() as u32;
            assert!(next >= chunks, "a writer went back");
            writer.append_chunk("book", &NewChunk::text(&text(next))).unwrap();
            writer.commit().unwrap();
            chunks = next + 1;
            // One call of the system, so that a kill leaves the whole line or none of it.
            acknowledged.write_all(format!("{next}\n").as_bytes()).unwrap();
        }
        if chunks.is_multiple_of(3) {
            writer.vacuum(&Limits::default()).unwrap();
        }
    }
}

/// Follows the index until it is told to stop.
fn read(path: &Path) {
    let mut seen = 0;
    while !file(path, "stop").exists() {
        let index = Index::open(path).unwrap();
        loop {
            let snapshot = index.snapshot();
            let chunks = snapshot.document("book").unwrap().chunks;
            assert!(chunks >= seen, "a reader went back from {seen} to {chunks}");
            seen = chunks;
            if let Some(last) = chunks.checked_sub(1) {
                assert_eq!(snapshot.chunk_at("book", last).unwrap().text, text(last));
                let hits = snapshot.text_search(&TextQuery::new(format!("mark{last}x"))).unwrap();
                assert_eq!(hits.len(), 1);
            }
            std::thread::sleep(Duration::from_millis(1));
            if file(path, "stop").exists() || index.refresh().unwrap() == Refreshed::Replaced {
                break;
            }
        }
    }
}

/// The commits that returned, each once.
fn acknowledged(path: &Path) -> BTreeSet<u32> {
    let lines = std::fs::read_to_string(file(path, "acknowledged")).unwrap();
    let all: Vec<u32> = lines.lines().map(|line| line.parse().unwrap()).collect();
    let set: BTreeSet<u32> = all.iter().copied().collect();
    assert_eq!(set.len(), all.len(), "an ordinal was given twice");
    set
}

/// Demands that what was acknowledged is there; at most one commit a kill may have come beside it.
fn demand(path: &Path, kills: usize) -> Snapshot {
    let acknowledged = acknowledged(path);
    let snapshot = Index::open(path).unwrap().snapshot();
    let chunks = snapshot.document("book").unwrap().chunks;
    assert!(acknowledged.iter().all(|&ordinal| ordinal < chunks), "{chunks} chunks, acknowledged {acknowledged:?}");
    let beside = chunks as usize - acknowledged.len();
    assert!(beside <= kills, "{beside} commits were never acknowledged, after {kills} kills");
    snapshot
}

#[test]
fn no_acknowledged_commit_is_lost_whenever_a_writer_is_killed() {
    if let Some((role, path)) = role() {
        return if role == "write" { write(&path) } else { read(&path) };
    }
    let kills = effort("PLICA_KILLS", 60);
    let mut random = 88_172_645_463_325_252u64;
    let (mut done, mut commits) = (0, 0);
    while done < kills {
        let round = (kills - done).min(KILLS_A_FILE);
        commits += kill(round, &mut random);
        done += round;
    }
    println!("{kills} kills, {commits} commits");
}

/// Kills so many writers of a new index; gives how many commits they made.
fn kill(kills: usize, random: &mut u64) -> u32 {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    std::fs::write(file(&path, "acknowledged"), "").unwrap();
    let mut writer = Writer::create(&path, &Options::new().fanout(2)).unwrap();
    writer.add_document("book", "", "").unwrap();
    writer.publish("book").unwrap();
    writer.commit().unwrap();
    drop(writer);
    let mut readers = [start(NAME, "read", &path), start(NAME, "read", &path)];
    let mut writers = [start(NAME, "write", &path), start(NAME, "write", &path)];
    for kill in 1..=kills {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        std::thread::sleep(Duration::from_micros(*random % 60_000));
        let writer = &mut writers[kill % 2];
        assert!(writer.0.try_wait().unwrap().is_none(), "a writer ended by itself");
        writer.0.kill().unwrap();
        writer.0.wait().unwrap();
        for reader in &mut readers {
            assert!(reader.0.try_wait().unwrap().is_none(), "a reader ended by itself");
        }
        demand(&path, kill);
        *writer = start(NAME, "write", &path);
    }
    // The last ones are killed, too.
    drop(writers);
    let snapshot = demand(&path, kills + 2);
    assert_sound(&snapshot);
    let chunks = snapshot.document("book").unwrap().chunks;
    assert!((0..chunks).all(|ordinal| snapshot.chunk_at("book", ordinal).unwrap().text == text(ordinal)));
    std::fs::write(file(&path, "stop"), "").unwrap();
    for reader in &mut readers {
        assert!(reader.0.wait().unwrap().success());
    }
    chunks
}
