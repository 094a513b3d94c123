//! An index that was written by an earlier version must be read for ever, with the same answers.
//!
//! `format/golden/NAME.plica` is an index, `NAME.txt` all that it answers. A missing pair is written where
//! `PLICA_WRITE_GOLDEN=1` is set: when the format gains something, a new pair is added, and no old one is touched.

mod common;

use common::{Capitals, assert_sound, everything, sentences};
use plica::ingest::Reader;
use plica::{Index, NewChunk, Options, Origin, Writer};
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("format/golden").join(name)
}

/// An index with every kind of block and of key of version 1: two documents, one with a long title and metadata; several
/// commits and sessions; summaries on two levels; chunks with titles, spans and external ids; long lists and values.
fn write_v1(path: &Path) {
    let options = Options::new().fanout(3).timestamps(false).file_id(*b"golden index one");
    let mut writer = Writer::create(path, &options).unwrap();
    let mut reader = Reader::new(Some(&Capitals));
    writer.add_document("letters", &"A long title. ".repeat(30), r#"{"lang":"en","year":1901}"#).unwrap();
    writer.add_document("notes", "Notes", "").unwrap();
    writer.publish("letters").unwrap();
    for at in 0..12u32 {
        let text = sentences(at, 5);
        reader.read_chunks(&mut writer, &[("letters", NewChunk::text(&text))]).unwrap();
        if at % 3 == 1 {
            writer.commit().unwrap();
        }
    }
    drop(writer);
    let mut writer = Writer::open_with(path, &options).unwrap();
    for at in 0..4u32 {
        let id = format!("n{at}");
        let text = format!("The lamp, number {at}, of the keeper. 書類 ΟΔΥΣΣΕΥΣ {}", "lamp ".repeat(at as usize));
        let chunk = NewChunk { title: "Lamp", text: &text, external_id: Some(&id), span: Some((10, 20)) };
        writer.append_chunk("notes", &chunk).unwrap();
        writer.count_update("notes", Origin::Given).unwrap();
    }
    let long: Vec<String> = (0..60).map(|n| format!("the keeper of lamp {n}, {}", "far away ".repeat(9))).collect();
    let keeper = plica::ingest::EntityUpdate {
        name: "Ilse".into(),
        kind: "person".into(),
        aliases: vec!["the keeper".into()],
        descriptions: long,
    };
    writer.add_entity("notes", &keeper, &[0, 2]).unwrap();
    writer.set_summary("notes", 1, 0, "A keeper and a lamp.", Origin::Given).unwrap();
    writer.publish("notes").unwrap();
    writer.commit().unwrap();
}

#[test]
fn version_1_is_read_as_ever() {
    let (index, answers) = (golden("v1.plica"), golden("v1.txt"));
    if !index.exists() && std::env::var_os("PLICA_WRITE_GOLDEN").is_some() {
        write_v1(&index);
        std::fs::write(&answers, everything(&Index::open(&index).unwrap().snapshot())).unwrap();
    }
    let snapshot = Index::open(&index).unwrap().snapshot();
    assert_sound(&snapshot);
    assert!(everything(&snapshot) == std::fs::read_to_string(&answers).unwrap());
    // Earlier commits, too.
    let earliest = snapshot.log().last().unwrap().unwrap().sequence;
    for sequence in earliest..=snapshot.sequence() {
        assert_sound(&Index::open_at(&index, sequence).unwrap().snapshot());
    }
    let bytes = std::fs::read(&index).unwrap();
    assert!(bytes.len() <= 96 << 10, "{} bytes", bytes.len());
    assert!(everything(&Index::from_bytes(bytes).unwrap().snapshot()) == std::fs::read_to_string(&answers).unwrap());
}

#[test]
fn what_is_written_today_answers_as_what_was_written_then() {
    let folder = common::Folder::new();
    let path = folder.path("new.plica");
    write_v1(&path);
    let answers = std::fs::read_to_string(golden("v1.txt")).unwrap();
    assert!(everything(&Index::open(&path).unwrap().snapshot()) == answers);
}
