//! An index that was written by an earlier version must be read for ever, with the same answers.
//!
//! `format/golden/NAME.plica` is an index, `NAME.txt` all that it answers. A missing pair is written where
//! `PLICA_WRITE_GOLDEN=1` is set: when the format gains something, a new pair is added, and no old one is touched.

mod common;

use common::{Capitals, assert_sound, everything, everything_compiled, sentences};
use plica::ingest::{Category, Reader, RecordKind, RecordUpdate};
use plica::outline::{Field, Subject, Value};
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

/// An index with outlines and records: categories named and not, subjects in one page and in several, a large one, summaries of
/// pages, what was removed and corrected, an outline that was compiled in part.
fn write_v1_compiled(path: &Path) {
    let options = Options::new().fanout(3).timestamps(false).file_id(*b"golden index two");
    let mut writer = Writer::create(path, &options).unwrap();
    writer.add_document("letters", "Letters", "").unwrap();
    let mut start = 0;
    for at in 0..6u32 {
        let text = format!("Letter {at} of Ilse, keeper of the lamp. {}", sentences(at, 3));
        let span = Some((start, start + text.len() as u64));
        start += text.len() as u64;
        writer.append_chunk("letters", &NewChunk { span, ..NewChunk::text(&text) }).unwrap();
    }
    writer.publish("letters").unwrap();
    writer.commit().unwrap();
    let names = |path: &[&str]| path.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    writer.set_outline_budget("letters", 512).unwrap();
    for (path, title) in [(&[][..], "The letters"), (&["Letters"], ""), (&["People"], ""), (&["People", "Keepers"], "")]
    {
        let fields = names(&["keeps", "writes to"]);
        let category = Category { path: names(path), summary: "What is in here.".into(), fields };
        writer.add_category("letters", &category, title).unwrap();
    }
    for at in 0..60u32 {
        let value =
            Value { text: format!("lamp {at} on rock {}", at * 7), span: Some((u64::from(at), u64::from(at) + 9)) };
        let fields = vec![Field { name: "keeps".into(), values: vec![value] }];
        let links = vec![names(&["Letters", &format!("Letter {}", at % 6)])];
        let subject = Subject { name: format!("Keeper {at}"), summary: "Keeps a lamp.".into(), fields, links };
        let category = if at % 4 == 0 { names(&["Others"]) } else { names(&["People", "Keepers"]) };
        writer.add_subject("letters", &category, &subject).unwrap();
        if at % 20 == 9 {
            writer.commit().unwrap();
        }
    }
    let values = (0..90u64).map(|at| Value { text: format!("a line of words, number {at}"), span: Some((at, at + 5)) });
    let mut values: Vec<Value> = values.collect();
    values.push(Value { text: String::new(), span: Some((10, 300)) });
    let fields = vec![Field { name: "says".into(), values }];
    let large = Subject { name: "Letter 3".into(), summary: "A long letter.".into(), fields, links: Vec::new() };
    writer.add_subject("letters", &names(&["Letters"]), &large).unwrap();
    assert!(writer.remove_subject("letters", &names(&["Others"]), "keeper 8").unwrap());
    let corrected = Subject { name: "Ilse".into(), summary: "Keeps the first lamp.".into(), ..Subject::default() };
    writer.correct_subject("letters", &names(&["People", "Keepers"]), "Keeper 1", &corrected).unwrap();
    let record = |entity: &str, label: &str, value: &str| RecordUpdate {
        entity: entity.into(),
        entity_type: "person".into(),
        kind: RecordKind::Relation,
        label: label.into(),
        value: value.into(),
        ..RecordUpdate::default()
    };
    for at in 0..40u32 {
        let record = record(&format!("Keeper {}", at % 9), "keeper of", &format!("lamp {at}"));
        writer.add_record("letters", &record, &[at % 6, 5]).unwrap();
    }
    let one = record("Ilse", "writes-to", "Anna");
    writer.add_record("letters", &one, &[2]).unwrap();
    let dated = RecordUpdate { condition: Some(("day".into(), "7".into())), valid: "1901".into(), ..one.clone() };
    let dated = RecordUpdate { kind: RecordKind::Property, coarse: "contact".into(), ..dated };
    writer.add_record("letters", &dated, &[1, 4]).unwrap();
    writer.commit().unwrap();
    writer.remove_record("letters", &record("Keeper 1", "keeper of", "lamp 1")).unwrap();
    writer.correct_record("letters", &one, &record("Ilse", "writes-to", "Bruno")).unwrap();
    writer.commit().unwrap();
}

#[test]
fn outlines_and_records_of_version_1_are_read_as_ever() {
    let (index, answers) = (golden("v1-compiled.plica"), golden("v1-compiled.txt"));
    if !index.exists() && std::env::var_os("PLICA_WRITE_GOLDEN").is_some() {
        write_v1_compiled(&index);
        std::fs::write(&answers, everything_compiled(&Index::open(&index).unwrap().snapshot())).unwrap();
    }
    let snapshot = Index::open(&index).unwrap().snapshot();
    assert_sound(&snapshot);
    assert!(everything_compiled(&snapshot) == std::fs::read_to_string(&answers).unwrap());
    for sequence in 1..=snapshot.sequence() {
        assert_sound(&Index::open_at(&index, sequence).unwrap().snapshot());
    }
    let bytes = std::fs::read(&index).unwrap();
    assert!(bytes.len() <= 96 << 10, "{} bytes", bytes.len());
    let folder = common::Folder::new();
    let path = folder.path("new.plica");
    write_v1_compiled(&path);
    let today = Index::open(&path).unwrap().snapshot();
    assert!(everything_compiled(&today) == std::fs::read_to_string(&answers).unwrap());
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
