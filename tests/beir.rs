//! Corpora and judgements in the BEIR layout: what becomes of the rows, and what is measured.

mod common;

use common::{Capitals, Folder, assert_sound, everything};
use plica::eval::{EvalOptions, evaluate};
use plica::ingest::{Acknowledged, Reader};
use plica::interchange::{export, import_beir};
use plica::{Error, Index, MemoryScope, Options, Snapshot, Writer};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/beir")
}

fn built(path: &Path, options: &Options, side_by_side: usize) -> Snapshot {
    let mut writer = Writer::create(path, options).unwrap();
    let mut reader = Reader::new(Some(&Capitals)).threads(side_by_side);
    let imported = import_beir(&mut writer, &data(), &mut reader, side_by_side).unwrap();
    assert_eq!((imported.documents, imported.chunks, imported.skipped), (4, 7, 0));
    drop(writer);
    let snapshot = Index::open(path).unwrap().snapshot();
    assert_sound(&snapshot);
    snapshot
}

fn exported(snapshot: &Snapshot) -> String {
    let mut out = Vec::new();
    export(snapshot, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn rows_of_one_document_come_together_in_file_order() {
    let folder = Folder::new();
    let snapshot = built(&folder.path("a.plica"), &Options::new().fanout(2), 1);
    let documents = snapshot.documents().unwrap();
    let seen: Vec<_> = documents.iter().map(|d| (d.id.as_str(), d.chunks, d.metadata.as_str())).collect();
    assert_eq!(seen, [("bare", 1, ""), ("coast", 2, ""), ("river", 3, ""), ("solo", 1, r#"{"year":1903}"#)]);
    for (ordinal, id) in (0..).zip(["p0", "p1", "p2"]) {
        assert_eq!(snapshot.chunk_at("river", ordinal).unwrap().id, id);
    }
    assert_eq!(snapshot.chunk("p0").unwrap().title, "The mill");
    assert_eq!(snapshot.chunk("p2").unwrap().title, "");
    // The model has read it.
    assert_eq!(snapshot.entity("Bruno", Some("river")).unwrap()[0].chunks, ["river#0", "river#1"]);
    assert!(snapshot.covering_summaries("river", 0).unwrap()[0].is_some());
    let stat = snapshot.stat().unwrap();
    assert_eq!((stat.calls.accepted, stat.calls.expected), (9, 9));
}

#[test]
fn side_by_side_is_as_one_after_another() {
    let folder = Folder::new();
    let one = built(&folder.path("1.plica"), &Options::new().fanout(2), 1);
    for width in [2, 3, 9] {
        let other = built(&folder.path(&format!("{width}.plica")), &Options::new().fanout(2), width);
        assert_eq!(exported(&one), exported(&other));
        assert_eq!(everything(&one), everything(&other));
    }
    // With an index-wide memory the order of reading matters, and stays.
    let index_wide = Options::new().fanout(2).memory(MemoryScope::Index);
    let one = built(&folder.path("4.plica"), &index_wide, 1);
    let other = built(&folder.path("5.plica"), &index_wide, 4);
    assert_eq!(everything(&one), everything(&other));
}

#[test]
fn an_import_that_was_stopped_goes_on() {
    for options in [Options::new().fanout(2), Options::new().fanout(2).memory(MemoryScope::Index)] {
        let folder = Folder::new();
        let whole = built(&folder.path("whole.plica"), &options, 1);
        for stop in 1..7u64 {
            let path = folder.path(&format!("{stop}.plica"));
            let cancel = AtomicBool::new(false);
            let mut writer = Writer::create(&path, &options).unwrap();
            let stop_at = |done: Acknowledged| cancel.store(done.chunks >= stop, Ordering::Relaxed);
            let mut reader = Reader::new(Some(&Capitals)).commit_every(1).cancel(&cancel).on_commit(stop_at);
            let stopped = import_beir(&mut writer, &data(), &mut reader, 1);
            assert!(matches!(stopped, Err(Error::Cancelled)), "{stopped:?}");
            drop(reader);
            drop(writer);
            let mut writer = Writer::open(&path).unwrap();
            let again = import_beir(&mut writer, &data(), &mut Reader::new(Some(&Capitals)), 1).unwrap();
            assert!(again.skipped >= stop && again.skipped + again.chunks == 7, "{again:?}");
            drop(writer);
            let snapshot = Index::open(&path).unwrap().snapshot();
            assert_sound(&snapshot);
            assert_eq!(exported(&snapshot), exported(&whole), "stopped after {stop}");
        }
    }
}

#[test]
fn a_repeated_import_changes_nothing_and_a_changed_row_is_refused() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    built(&path, &Options::new(), 1);
    let before = std::fs::read(&path).unwrap();
    let mut writer = Writer::open(&path).unwrap();
    let again = import_beir(&mut writer, &data(), &mut Reader::new(Some(&Capitals)), 2).unwrap();
    assert_eq!((again.documents, again.chunks, again.skipped), (0, 0, 7));
    let corpus = std::fs::read_to_string(data().join("corpus.jsonl")).unwrap();
    let changed = folder.path("changed");
    std::fs::create_dir(&changed).unwrap();
    for (from, to, line, said) in [
        ("until he died", "for years", 3, "another chunk there"),
        (r#""_id":"q1""#, r#""_id":"q2""#, 8, "another chunk there"),
        (r#""_id":"bare""#, r#""_id":"coast""#, 7, "a second document \"coast\""),
        (r#""_id":"bare""#, r#""_id":5"#, 7, "invalid type"),
        (r#""_id":"bare","#, "", 7, "missing field `_id`"),
        (r#"{"doc_id":"coast"}"#, r#"{"doc_id":7}"#, 4, "must be a string"),
        (r#""Harbour""#, "Harbour", 4, "expected value"),
    ] {
        std::fs::write(changed.join("corpus.jsonl"), corpus.replacen(from, to, 1)).unwrap();
        let error = import_beir(&mut writer, &changed, &mut Reader::new(None), 1).unwrap_err();
        assert!(matches!(error, Error::Line { line: at, .. } if at == line), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
    drop(writer);
    assert!(std::fs::read(&path).unwrap() == before);
    let mut writer = Writer::open(&path).unwrap();
    let missing = import_beir(&mut writer, &folder.path("none"), &mut Reader::new(None), 1).unwrap_err();
    assert!(missing.to_string().contains("corpus.jsonl"), "{missing}");
}

#[test]
fn an_evaluation_counts_what_it_should() {
    let folder = Folder::new();
    let snapshot = built(&folder.path("a.plica"), &Options::new().fanout(2), 1);
    let evaluation = evaluate(&snapshot, &data(), &EvalOptions::new().ks([1, 3])).unwrap();
    // By hand, of the text channel: 1 finds p0 first and p1 second; 2 finds p2 alone; 3 finds bare first, then solo,
    // then a chunk with "in" or "winter"; 4 finds q1 first; 6 finds nothing; 5 has no relevant chunk.
    assert_eq!(evaluation.queries, 5);
    let json = serde_json::to_value(&evaluation).unwrap();
    assert_eq!(json["text"]["all@1"], 40.0);
    assert_eq!(json["text"]["any@1"], 80.0);
    assert_eq!(json["text"]["recall@1"], 56.67);
    assert_eq!(json["text"]["any@3"], 80.0);
    let keys: Vec<&String> = json["difference"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["all@1", "any@1", "recall@1", "all@3", "any@3", "recall@3"]);
    let again = evaluate(&snapshot, &data(), &EvalOptions::new().ks([1, 3])).unwrap();
    assert_eq!(evaluation, again);
    assert!(evaluate(&snapshot, &data(), &EvalOptions::new().ks([])).is_err());
    let empty = folder.path("empty.plica");
    drop(plica::Writer::create(&empty, &plica::Options::new()).unwrap());
    let error = evaluate(&plica::Index::open(&empty).unwrap().snapshot(), &data(), &EvalOptions::new()).unwrap_err();
    assert!(error.to_string().contains("import the corpus"), "{error}");
    assert!(evaluate(&snapshot, &folder.path("none"), &EvalOptions::new()).is_err());
}
