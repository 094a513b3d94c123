//! Eight processes search one file while a ninth appends to it: no error, every answer belongs to some commit, and
//! refreshing shows new ones.

#[path = "common/child.rs"]
mod child;
mod common;

use child::{Reaped, role, start};
use common::Folder;
use plica::{Index, NewChunk, Options, Query, Refreshed, Writer};
use std::path::Path;
use std::time::Duration;

const COMMITS: u32 = 1000;
const READERS: usize = 8;

/// Commit 1 is creation, commit 2 publishes the document, each later one adds a chunk.
fn chunks_at(sequence: u64) -> u32 {
    (sequence - 2) as u32
}

/// What each reading process does until it sees the last commit.
fn read(path: &Path) {
    let index = Index::open(path).unwrap();
    std::fs::write(path.with_extension(format!("ready-{}", std::process::id())), "").unwrap();
    let (mut seen, mut advanced) = (0, 0);
    loop {
        let snapshot = index.snapshot();
        let chunks = chunks_at(snapshot.sequence());
        assert!(snapshot.sequence() >= seen, "a refresh went back");
        seen = snapshot.sequence();
        assert_eq!(snapshot.document("book").unwrap().chunks, chunks);
        let answer = snapshot.search(&Query::new("shared").k(usize::MAX)).unwrap();
        assert_eq!(answer.hits.len(), chunks as usize);
        let mut ordinals: Vec<u32> = answer.hits.iter().map(|hit| hit.ordinal).collect();
        ordinals.sort_unstable();
        assert!(ordinals.into_iter().eq(0..chunks));
        if chunks > 0 {
            let last = snapshot.search(&Query::new(format!("mark{}", chunks - 1))).unwrap();
            assert_eq!(last.hits.len(), 1);
            assert!(snapshot.search(&Query::new(format!("mark{chunks}"))).unwrap().hits.is_empty());
        }
        if chunks == COMMITS {
            assert!(advanced > 0, "no refresh showed a new commit");
            return;
        }
        match index.refresh().unwrap() {
            Refreshed::Advanced(_) => advanced += 1,
            Refreshed::Unchanged => std::thread::sleep(Duration::from_millis(1)),
            Refreshed::Replaced => panic!("nothing replaces the file"),
        }
    }
}

#[test]
fn eight_readers_beside_a_writer() {
    if let Some((_, path)) = role() {
        return read(&path);
    }
    let folder = Folder::new();
    let path = folder.path("shared.plica");
    let mut writer = Writer::create(&path, &Options::new()).unwrap();
    writer.add_document("book", "", "").unwrap();
    writer.publish("book").unwrap();
    writer.commit().unwrap();
    let mut readers: Vec<Reaped> =
        (0..READERS).map(|_| start("eight_readers_beside_a_writer", "read", &path)).collect();
    // The writer begins when all have opened the file.
    let ready = || {
        let names = std::fs::read_dir(path.parent().unwrap()).unwrap();
        names.filter(|name| name.as_ref().unwrap().path().to_string_lossy().contains("ready-")).count()
    };
    while ready() < READERS {
        assert!(readers.iter_mut().all(|reader| reader.0.try_wait().unwrap().is_none()), "a reader ended early");
        std::thread::sleep(Duration::from_millis(5));
    }
    for at in 0..COMMITS {
        let text = format!("shared words of chunk {at}, mark{at}.");
        writer.append_chunk("book", &NewChunk::text(&text)).unwrap();
        writer.commit().unwrap();
    }
    readers.into_iter().for_each(Reaped::finish);
}

#[test]
fn a_second_writer_is_told_which_file_and_what_to_do() {
    let folder = Folder::new();
    let path = folder.path("one.plica");
    let _writer = Writer::create(&path, &Options::new()).unwrap();
    let options = Options::new().busy_timeout(Duration::from_millis(20));
    let error = Writer::open_with(&path, &options).unwrap_err().to_string();
    assert!(error.contains("one.plica") && error.contains("wait"), "{error}");
}

#[test]
fn a_reader_is_not_hindered_by_a_writer_nor_sees_what_is_not_committed() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, &Options::new()).unwrap();
    writer.add_document("a", "", "").unwrap();
    writer.append_chunk("a", &NewChunk::text("One two three.")).unwrap();
    writer.publish("a").unwrap();
    assert!(Index::open(&path).unwrap().snapshot().documents().unwrap().is_empty());
    writer.rollback().unwrap();
    writer.add_document("b", "", "").unwrap();
    writer.append_chunk("b", &NewChunk::text("Four five six.")).unwrap();
    writer.commit().unwrap();
    // Staged: committed, and not seen.
    let index = Index::open(&path).unwrap();
    assert!(index.snapshot().documents().unwrap().is_empty());
    assert!(index.snapshot().search(&Query::new("five")).unwrap().hits.is_empty());
    writer.publish("b").unwrap();
    writer.commit().unwrap();
    assert!(matches!(index.refresh().unwrap(), Refreshed::Advanced(_)));
    assert_eq!(index.snapshot().search(&Query::new("five")).unwrap().hits.len(), 1);
    drop(writer);
    let mut writer = Writer::open(&path).unwrap();
    writer.append_chunk("b", &NewChunk::text("Seven eight five.")).unwrap();
    drop(writer);
    assert!(matches!(index.refresh().unwrap(), Refreshed::Unchanged));
    assert_eq!(Index::open(&path).unwrap().snapshot().document("b").unwrap().chunks, 1);
}

#[test]
fn deferred_commits_are_seen_when_they_are_synced() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let options = Options::new().durability(plica::Durability::Deferred);
    let mut writer = Writer::create(&path, &options).unwrap();
    writer.add_document("a", "", "").unwrap();
    writer.publish("a").unwrap();
    for at in 0..5 {
        writer.append_chunk("a", &NewChunk::text(&format!("Chunk {at}."))).unwrap();
        writer.commit().unwrap();
    }
    assert!(Index::open(&path).unwrap().snapshot().documents().unwrap().is_empty());
    writer.sync().unwrap();
    let index = Index::open(&path).unwrap();
    assert_eq!(index.snapshot().document("a").unwrap().chunks, 5);
    common::assert_sound(&index.snapshot());
    drop(writer);
    assert_eq!(index.snapshot().log().count() as u64, index.snapshot().sequence());
}
