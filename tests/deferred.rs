//! Deferred commits: what a sync makes durable, and what it leaves as it was.

mod common;

use common::{Folder, assert_sound};
use plica::{Durability, Index, NewChunk, Options, Writer};

/// A writer that writes a segment for every few additions, so that they are in the file before they are committed.
fn writer(folder: &Folder) -> Writer {
    let options = Options::new().durability(Durability::Deferred).memory_budget_bytes(1);
    let mut writer = Writer::create(folder.path("a.plica"), &options).unwrap();
    writer.add_document("a", "", "").unwrap();
    writer.publish("a").unwrap();
    writer.append_chunk("a", &NewChunk::text("One.")).unwrap();
    writer.commit().unwrap();
    for text in ["Two.", "Three."] {
        writer.append_chunk("a", &NewChunk::text(text)).unwrap();
    }
    writer
}

fn texts(folder: &Folder) -> Vec<String> {
    let snapshot = Index::open(folder.path("a.plica")).unwrap().snapshot();
    assert_sound(&snapshot);
    let chunks = snapshot.document("a").unwrap().chunks;
    (0..chunks).map(|ordinal| snapshot.chunk_at("a", ordinal).unwrap().text).collect()
}

#[test]
fn what_is_not_committed_when_a_sync_comes_can_be_committed_after_it() {
    let folder = Folder::new();
    let mut writer = writer(&folder);
    let before = writer.sequence();
    writer.sync().unwrap();
    assert_eq!(texts(&folder), ["One."]);
    assert!(writer.has_changes());
    assert_eq!(writer.commit().unwrap(), before + 1);
    assert!(!writer.has_changes());
    writer.sync().unwrap();
    assert_eq!(texts(&folder), ["One.", "Two.", "Three."]);
}

#[test]
fn what_is_not_committed_when_a_sync_comes_can_be_rolled_back_after_it() {
    let folder = Folder::new();
    let mut writer = writer(&folder);
    writer.sync().unwrap();
    writer.rollback().unwrap();
    assert!(!writer.has_changes());
    writer.append_chunk("a", &NewChunk::text("Four.")).unwrap();
    writer.commit().unwrap();
    writer.sync().unwrap();
    assert_eq!(texts(&folder), ["One.", "Four."]);
}
