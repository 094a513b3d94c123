//! What was removed is in no answer and no statistic: an index answers to the bit as one in which the removed documents
//! never were.

mod common;
#[path = "common/history.rs"]
mod history;

use common::{Capitals, Folder, assert_sound, everything, sentences};
use history::{Step, answers, difference, id, steps, survivors, write};
use plica::ingest::{Built, Reader, Source};
use plica::{Error, Index, MemoryScope, Options, Snapshot, Writer};
use proptest::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_removed_never_was(steps in steps(), small in any::<bool>()) {
        let options = Options::new().fanout(2).memory_budget_bytes(if small { 20_000 } else { 1 << 20 });
        let (_kept, _, after) = write(&options, &steps);
        let (_other, _, never) = write(&options, &survivors(&steps));
        prop_assert_eq!(difference(&answers(&after), &answers(&never)), None);
    }

    #[test]
    fn many_that_go_at_once_never_were(
        chunks in prop::collection::vec((0u8..10, 0u32..40), 1..25),
        then in prop::collection::vec(prop_oneof![
            6 => (0u8..10).prop_map(|document| Step::Remove { document }),
            1 => (0u8..10, 40u32..60).prop_map(|(document, seed)| Step::Chunk { document, seed }),
            1 => Just(Step::Commit),
        ], 1..20),
        small in any::<bool>(),
    ) {
        let options = Options::new().fanout(2).memory_budget_bytes(if small { 3_000 } else { 1 << 20 });
        let mut steps: Vec<Step> = chunks.into_iter().map(|(document, seed)| Step::Chunk { document, seed }).collect();
        steps.push(Step::Commit);
        steps.extend(then);
        let (_kept, _, after) = write(&options, &steps);
        let (_other, _, never) = write(&options, &survivors(&steps));
        prop_assert_eq!(difference(&answers(&after), &answers(&never)), None);
    }

    #[test]
    fn an_index_wide_memory_stays_sound(steps in steps()) {
        let options = Options::new().fanout(2).memory(MemoryScope::Index).memory_budget_bytes(30_000);
        let (_kept, _, after) = write(&options, &steps);
        let never = survivors(&steps);
        for document in 0u8..4 {
            let lives = never.iter().any(|step| matches!(step, Step::Chunk { document: of, .. } if *of == document));
            prop_assert_eq!(after.document(&id(document)).is_ok(), lives);
        }
        if never.is_empty() {
            after.entities(None, |entity| panic!("{entity:?}")).unwrap();
        }
    }
}

/// Builds `text` as the document `book`, and stops after so many commits.
fn build(path: &Path, text: &str, replace: bool, commits: Option<u32>) -> plica::Result<Built> {
    let mut writer = Writer::open(path)?;
    let stop = AtomicBool::new(false);
    let mut left = commits;
    let mut reader = Reader::new(Some(&Capitals)).replace(replace).commit_every(1).cancel(&stop).on_commit(|_| {
        left = left.map(|left| left - 1);
        stop.store(left == Some(0), Ordering::Relaxed);
    });
    reader.build(&mut writer, Source { id: "book", title: "Book", text, ..Source::default() })
}

fn snapshot(path: &Path) -> Snapshot {
    let snapshot = Index::open(path).unwrap().snapshot();
    assert_sound(&snapshot);
    snapshot
}

fn create(folder: &Folder, name: &str, memory: MemoryScope, text: &str) -> std::path::PathBuf {
    let path = folder.path(name);
    drop(Writer::create(&path, &Options::new().chunk_words(30).fanout(2).memory(memory)).unwrap());
    build(&path, text, false, None).unwrap();
    path
}

#[test]
fn a_replacement_shows_with_one_commit_when_it_is_complete() {
    let folder = Folder::new();
    let (old, new, other) = (sentences(1, 12), sentences(2, 15), sentences(3, 9));
    let path = create(&folder, "a.plica", MemoryScope::Document, &old);
    let before = everything(&snapshot(&path));
    let refused = build(&path, &new, false, None).unwrap_err().to_string();
    assert!(refused.contains("--replace") && refused.contains("another text"), "{refused}");
    // Nothing is done for the same text.
    let commits = snapshot(&path).sequence();
    assert_eq!(build(&path, &old, true, None).unwrap(), Built::Unchanged);
    assert_eq!(snapshot(&path).sequence(), commits);
    // Interrupted again and again, and once for another text; until the end the old one answers.
    for text in [&new, &new, &other, &new, &new] {
        assert!(matches!(build(&path, text, true, Some(1)), Err(Error::Cancelled)));
        let at = snapshot(&path);
        assert_eq!(at.stat().unwrap().staged, 1);
        assert!(everything(&at) == before);
    }
    let Built::Replaced { chunks } = build(&path, &new, true, None).unwrap() else { panic!("it was not replaced") };
    let after = snapshot(&path);
    assert_eq!((after.text("book").unwrap().as_str(), after.document("book").unwrap().chunks), (new.as_str(), chunks));
    assert_eq!(after.stat().unwrap().staged, 0);
    let never = create(&folder, "b.plica", MemoryScope::Document, &new);
    assert!(everything(&after) == everything(&snapshot(&never)));
    // Each commit but the last shows the old one.
    for sequence in commits..after.sequence() {
        assert!(everything(&Index::open_at(&path, sequence).unwrap().snapshot()) == before);
    }
    // It goes on as any document does.
    let grown = format!("{new}{other}");
    assert!(matches!(build(&path, &grown, false, None).unwrap(), Built::Extended { .. }));
    assert_eq!(snapshot(&path).text("book").unwrap(), grown);
}

#[test]
fn a_replacement_that_is_not_wanted_any_more_leaves_nothing() {
    let folder = Folder::new();
    let (old, new) = (sentences(1, 12), sentences(2, 15));
    let path = create(&folder, "a.plica", MemoryScope::Document, &old);
    let before = everything(&snapshot(&path));
    for discard in [true, false] {
        assert!(matches!(build(&path, &new, true, Some(1)), Err(Error::Cancelled)));
        let mut writer = Writer::open(&path).unwrap();
        if discard {
            assert!(writer.discard_replacement("book").unwrap());
            writer.commit().unwrap();
        } else {
            // The text is again what it was.
            drop(writer);
            assert_eq!(build(&path, &old, true, None).unwrap(), Built::Unchanged);
        }
        let at = snapshot(&path);
        assert_eq!(at.stat().unwrap().staged, 0);
        assert!(everything(&at) == before);
    }
    // Removing the document removes what was to replace it.
    assert!(matches!(build(&path, &new, true, Some(1)), Err(Error::Cancelled)));
    let mut writer = Writer::open(&path).unwrap();
    writer.remove_document("book").unwrap();
    writer.commit().unwrap();
    assert_eq!(writer.chunks(), 0);
    let at = snapshot(&path);
    assert_eq!((at.documents().unwrap().len(), at.stat().unwrap().staged), (0, 0));
}

#[test]
fn an_index_wide_memory_replaces_in_one_commit_too() {
    let folder = Folder::new();
    let (old, new) = (sentences(1, 12), sentences(2, 15));
    let path = create(&folder, "a.plica", MemoryScope::Index, &old);
    let commits = snapshot(&path).sequence();
    assert!(matches!(build(&path, &new, true, None).unwrap(), Built::Replaced { .. }));
    let after = snapshot(&path);
    assert_eq!((after.sequence(), after.text("book").unwrap()), (commits + 1, new.clone()));
    let never = create(&folder, "b.plica", MemoryScope::Index, &new);
    assert!(everything(&after) == everything(&snapshot(&never)));
}

#[test]
fn of_what_two_documents_told_an_index_wide_memory_keeps_what_the_other_one_added() {
    use plica::ingest::EntityUpdate;
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, &Options::new().memory(MemoryScope::Index)).unwrap();
    let told = |name: &str, kind: &str, alias: &str, description: &str| EntityUpdate {
        name: name.into(),
        kind: kind.into(),
        aliases: vec![alias.into()],
        descriptions: vec![description.into()],
    };
    for id in ["first", "second"] {
        writer.add_document(id, "", "").unwrap();
        writer.append_chunk(id, &plica::NewChunk::text("Ilse keeps the lamp.")).unwrap();
        writer.publish(id).unwrap();
    }
    let first = [told("Ilse", "person", "the keeper", "keeps the lamp"), told("Bruno", "", "the cook", "cooks")];
    writer.apply_update("first", 0, &first).unwrap();
    let second = [told("ILSE", "woman", "the keeper", "keeps the lamp"), told("ilse", "", "the widow", "is old")];
    writer.apply_update("second", 0, &second).unwrap();
    writer.commit().unwrap();
    writer.remove_document("first").unwrap();
    writer.commit().unwrap();
    let mut after = snapshot(&path);
    for vacuumed in [false, true] {
        if vacuumed {
            drop(std::mem::replace(&mut writer, Writer::create(folder.path("b.plica"), &Options::new()).unwrap()));
            plica::vacuum(&path, &plica::VacuumOptions::new()).unwrap();
            after = snapshot(&path);
        }
        assert!(after.entity("Bruno", None).is_err() && after.entity("the cook", None).is_err());
        assert!(after.entity("the keeper", None).is_err());
        let ilse = after.entity("the widow", None).unwrap().remove(0);
        assert_eq!((ilse.name.as_str(), ilse.kind.as_str()), ("Ilse", ""));
        assert_eq!((ilse.aliases, ilse.descriptions), (vec!["the widow".to_owned()], vec!["is old".to_owned()]));
        assert_eq!(ilse.chunks, ["second#0"]);
        assert_eq!(after.stat().unwrap().entities, 1);
    }
    // What is told again is new.
    let mut writer = Writer::open(&path).unwrap();
    writer.apply_update("second", 0, &[told("Ilse", "woman", "the keeper", "keeps the lamp")]).unwrap();
    writer.apply_update("second", 0, &[told("Bruno", "", "the cook", "cooks")]).unwrap();
    writer.commit().unwrap();
    let after = snapshot(&path);
    let ilse = after.entity("the keeper", None).unwrap().remove(0);
    assert_eq!((ilse.kind.as_str(), ilse.descriptions.len(), ilse.aliases.len()), ("woman", 2, 2));
    assert_eq!(after.entity("the cook", None).unwrap().len(), 1);
}

#[test]
fn an_unknown_id_is_an_error_that_changes_nothing() {
    let folder = Folder::new();
    let path = create(&folder, "a.plica", MemoryScope::Document, &sentences(1, 12));
    let before = everything(&snapshot(&path));
    let mut writer = Writer::open(&path).unwrap();
    let error = writer.remove_document("other").unwrap_err();
    assert!(matches!(&error, Error::NotFound { what: "document", name } if name == "other"));
    assert!(!writer.has_changes());
    assert!(everything(&snapshot(&path)) == before);
}

#[test]
fn an_id_that_was_removed_can_be_used_again_at_once() {
    let folder = Folder::new();
    let (old, new) = (sentences(1, 12), sentences(2, 15));
    let path = create(&folder, "a.plica", MemoryScope::Document, &old);
    let mut writer = Writer::open(&path).unwrap();
    writer.remove_document("book").unwrap();
    Reader::new(Some(&Capitals))
        .build(&mut writer, Source { id: "book", title: "Book", text: &new, ..Source::default() })
        .unwrap();
    let never = create(&folder, "b.plica", MemoryScope::Document, &new);
    assert!(everything(&snapshot(&path)) == everything(&snapshot(&never)));
}
