//! State goes in as JSON lines and comes out as the same lines, whatever was killed or cut on the way, and ranks as the
//! reference ranks it.
//!
//! `data/small/expected.jsonl` holds the reference's values for `state.jsonl` and `queries.jsonl`, with fan-out 3.

mod common;

use common::{Capitals, Folder, assert_sound, everything, sentences};
use plica::ingest::{Reader, Source};
use plica::interchange::{ImportOptions, Imported, export, import, stated};
use plica::{Error, Index, MemoryScope, Options, Query, Result, Snapshot, Writer};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const STATE: &str = include_str!("data/small/state.jsonl");
const QUERIES: &str = include_str!("data/small/queries.jsonl");
const EXPECTED: &str = include_str!("data/small/expected.jsonl");

fn small() -> Options {
    Options::new().fanout(3)
}

fn index_wide() -> Options {
    small().memory(MemoryScope::Index)
}

fn snapshot(path: &Path) -> Snapshot {
    Index::open(path).unwrap().snapshot()
}

fn exported(snapshot: &Snapshot) -> String {
    let mut out = Vec::new();
    export(snapshot, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Imports lines into an index that may be there.
fn take(path: &Path, options: &Options, lines: &str, every: Option<u32>) -> Result<Imported> {
    let mut writer = match path.exists() {
        true => Writer::open(path)?,
        false => Writer::create(path, options)?,
    };
    let import_options = match every {
        Some(chunks) => ImportOptions::new().commit_every(chunks),
        None => ImportOptions::new(),
    };
    import(&mut writer, lines.as_bytes(), import_options)
}

/// The answers to the questions of `data/small`, with scores to the bit.
fn answers(snapshot: &Snapshot) -> String {
    let mut out = String::new();
    for line in QUERIES.lines() {
        let query: Value = serde_json::from_str(line).unwrap();
        let text = query["text"].as_str().unwrap();
        let document = query["metadata"]["doc_id"].as_str().unwrap();
        for query in [Query::new(text).document(document).k(20), Query::new(text).k(20)] {
            for hit in snapshot.search(&query).unwrap().hits {
                out.push_str(&format!("{} {:016x} ", hit.id, hit.score.to_bits()));
            }
            out.push('\n');
        }
    }
    out
}

#[test]
fn the_ranking_of_an_imported_state_is_that_of_the_reference() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let imported = take(&path, &small(), STATE, None).unwrap();
    assert_eq!((imported.documents, imported.chunks, imported.summaries, imported.skipped), (4, 18, 4, 0));
    let snapshot = snapshot(&path);
    assert_sound(&snapshot);
    let mut ranked = 0;
    for (query, expected) in QUERIES.lines().zip(EXPECTED.lines()) {
        let query: Value = serde_json::from_str(query).unwrap();
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(query["_id"], expected["_id"]);
        let text = query["text"].as_str().unwrap();
        let document = query["metadata"]["doc_id"].as_str().unwrap();
        let hits = snapshot.search(&Query::new(text).document(document).k(20)).unwrap().hits;
        let ids: Vec<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
        assert_eq!(Value::from(ids), expected["ids"], "{text}");
        for (hit, score) in hits.iter().zip(expected["scores"].as_array().unwrap()) {
            assert!((hit.score - score.as_f64().unwrap()).abs() < 1e-6, "{text}: {} {score}", hit.score);
            ranked += 1;
        }
    }
    assert_eq!(ranked, 124);
}

#[test]
fn any_division_into_commits_gives_the_same_export_and_answers() {
    for options in [small(), index_wide()] {
        let folder = Folder::new();
        let mut seen: Option<(String, String, String)> = None;
        for every in [None, Some(1), Some(2), Some(5)] {
            let path = folder.path(&format!("{every:?}.plica"));
            take(&path, &options, STATE, every).unwrap();
            let snapshot = snapshot(&path);
            assert_sound(&snapshot);
            let now = (exported(&snapshot), answers(&snapshot), everything(&snapshot));
            match &seen {
                Some(before) => assert!(*before == now, "{every:?}"),
                None => seen = Some(now),
            }
        }
    }
}

#[test]
fn importing_an_export_gives_the_same_export_and_answers() {
    for options in [small(), index_wide()] {
        let folder = Folder::new();
        take(&folder.path("a.plica"), &options, STATE, None).unwrap();
        let first = snapshot(&folder.path("a.plica"));
        let lines = exported(&first);
        let (parameters, rest) = stated(lines.as_bytes()).unwrap();
        let mut writer = Writer::create(folder.path("b.plica"), &parameters.options(Options::new())).unwrap();
        assert_eq!((writer.options().fanout, writer.options().memory), (3, options.memory));
        import(&mut writer, rest, ImportOptions::new().commit_every(3)).unwrap();
        drop(writer);
        let second = snapshot(&folder.path("b.plica"));
        assert_eq!(exported(&second), lines);
        assert_eq!(answers(&second), answers(&first));
    }
}

#[test]
fn the_lines_of_an_export_are_as_documented() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let lines = concat!(
        r#"{"type":"document","doc":"b","title":"B","metadata":{"z":1, "a":[true,"é"]}}"#,
        "\n",
        r#"{"type":"chunk","doc":"b","id":"b-0","title":"T","text":"One \"é\" \u0001 line","start":0,"end":12}"#,
        "\n",
        r#"{"type":"chunk","doc":"b","text":"Two"}"#,
        "\n",
        r#"{"type":"entity","doc":"b","name":"Ann","kind":"","aliases":["A.","ann","a."],"descriptions":["x","x"],"chunks":["b#1","b-0"]}"#,
        "\n",
        r#"{"type":"entity","doc":"b","name":"ANN","kind":"person"}"#,
        "\n",
        r#"{"type":"entity","doc":"b","name":"Bo"}"#,
        "\n",
        r#"{"type":"summary","doc":"b","level":1,"index":0,"text":"S"}"#,
        "\n",
        r#"{"type":"document","doc":"a"}"#,
        "\n",
    );
    take(&path, &Options::new().fanout(2).chunk_words(100), lines, None).unwrap();
    let expected = concat!(
        r#"{"type":"document","doc":"a","fanout":2,"chunk_words":100,"memory":"document"}"#,
        "\n",
        r#"{"type":"document","doc":"b","title":"B","metadata":{"z":1,"a":[true,"é"]},"fanout":2,"chunk_words":100,"memory":"document"}"#,
        "\n",
        r#"{"type":"chunk","doc":"b","id":"b-0","title":"T","text":"One \"é\" \u0001 line","start":0,"end":12}"#,
        "\n",
        r#"{"type":"chunk","doc":"b","text":"Two"}"#,
        "\n",
        r#"{"type":"entity","doc":"b","name":"Ann","kind":"person","aliases":["A."],"descriptions":["x"],"chunks":["b-0","b#1"]}"#,
        "\n",
        r#"{"type":"entity","doc":"b","name":"Bo"}"#,
        "\n",
        r#"{"type":"summary","doc":"b","level":1,"index":0,"text":"S"}"#,
        "\n",
    );
    assert_eq!(exported(&snapshot(&path)), expected);
}

#[test]
fn what_a_model_read_comes_out_and_goes_in_again() {
    for options in [Options::new().fanout(2).chunk_words(20), Options::new().chunk_words(20).memory(MemoryScope::Index)]
    {
        let folder = Folder::new();
        let mut writer = Writer::create(folder.path("a.plica"), &options).unwrap();
        let mut reader = Reader::new(Some(&Capitals));
        for (at, id) in ["zeta", "alpha", "mid"].into_iter().enumerate() {
            let text = sentences(at as u32, 40);
            reader.build(&mut writer, Source { id, text: &text, ..Source::default() }).unwrap();
        }
        drop(writer);
        let first = snapshot(&folder.path("a.plica"));
        let lines = exported(&first);
        take(&folder.path("b.plica"), &options, &lines, Some(4)).unwrap();
        let second = snapshot(&folder.path("b.plica"));
        assert_sound(&second);
        assert_eq!(exported(&second), lines);
        for question in ["Anna at the mill", "who painted Greta on day 7", "seen beside Clara"] {
            for query in [Query::new(question).k(40), Query::new(question).k(40).document("mid")] {
                let bits = |snapshot: &Snapshot| -> Vec<(String, u64)> {
                    let hits = snapshot.search(&query).unwrap().hits;
                    hits.into_iter().map(|hit| (hit.chunk, hit.score.to_bits())).collect()
                };
                assert_eq!(bits(&first), bits(&second), "{question}");
            }
        }
        // The lines without an id and without a document line, too, are known by their places.
        let lines = lines.lines().filter(|line| !line.contains(r#""type":"document""#)).collect::<Vec<_>>().join("\n");
        let again = take(&folder.path("b.plica"), &options, &lines, None).unwrap();
        assert_eq!((again.chunks, again.entities, again.summaries), (0, 0, 0));
    }
}

#[test]
fn an_import_that_is_repeated_changes_nothing() {
    for options in [small(), index_wide()] {
        let folder = Folder::new();
        let path = folder.path("a.plica");
        take(&path, &options, STATE, None).unwrap();
        let before = std::fs::read(&path).unwrap();
        let again = take(&path, &options, STATE, Some(1)).unwrap();
        assert_eq!((again.documents, again.chunks, again.entities, again.summaries), (0, 0, 0, 0));
        assert_eq!(again.skipped, STATE.lines().count() as u64);
        assert!(std::fs::read(&path).unwrap() == before);
    }
}

#[test]
fn an_import_killed_after_any_commit_is_completed_by_running_it_again() {
    let folder = Folder::new();
    let whole = folder.path("whole.plica");
    take(&whole, &small(), STATE, None).unwrap();
    let expected = (exported(&snapshot(&whole)), answers(&snapshot(&whole)));
    for kill in 1..18u64 {
        let path = folder.path(&format!("{kill}.plica"));
        let cancel = AtomicBool::new(false);
        let mut writer = Writer::create(&path, &small()).unwrap();
        let mut acknowledged = 0;
        let options = ImportOptions::new().commit_every(1).cancel(&cancel).on_commit(|commit| {
            acknowledged = commit.chunks;
            cancel.store(commit.chunks >= kill, Ordering::Relaxed);
        });
        assert!(matches!(import(&mut writer, STATE.as_bytes(), options), Err(Error::Cancelled)));
        assert_eq!(acknowledged, kill);
        drop(writer);
        let chunks: u64 = snapshot(&path).documents().unwrap().iter().map(|document| u64::from(document.chunks)).sum();
        assert_eq!(chunks, kill);
        take(&path, &small(), STATE, Some(2)).unwrap();
        let now = snapshot(&path);
        assert_sound(&now);
        assert!((exported(&now), answers(&now)) == expected, "killed after {kill} chunks");
    }
}

#[test]
fn nothing_is_seen_of_a_new_document_before_its_first_commit() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, &small()).unwrap();
    let cancel = AtomicBool::new(true);
    let cancelled = import(&mut writer, STATE.as_bytes(), ImportOptions::new().cancel(&cancel));
    assert!(matches!(cancelled, Err(Error::Cancelled)));
    let bad = format!("{STATE}\nnot a line");
    assert!(import(&mut writer, bad.as_bytes(), ImportOptions::new()).is_err());
    assert!(!writer.has_changes());
    assert!(snapshot(&path).documents().unwrap().is_empty());
    // The writer goes on.
    import(&mut writer, STATE.as_bytes(), ImportOptions::new()).unwrap();
    assert_eq!(snapshot(&path).documents().unwrap().len(), 4);
}

#[test]
fn lines_that_come_before_their_document_or_chunks_wait_for_them() {
    let folder = Folder::new();
    take(&folder.path("a.plica"), &small(), STATE, None).unwrap();
    let expected = snapshot(&folder.path("a.plica"));
    let of = |kind: &str| {
        let tag = format!(r#""type": "{kind}""#);
        STATE.lines().filter(|line| line.contains(&tag)).map(|line| format!("{line}\n")).collect::<String>()
    };
    let late = [of("summary"), of("entity"), of("document"), of("chunk")].concat();
    let between = [of("document"), of("summary"), of("entity"), of("chunk")].concat();
    let after = [of("document"), of("chunk"), of("entity"), of("summary")].concat();
    for (name, lines) in [("late", late), ("between", between), ("after", after)] {
        for every in [None, Some(1)] {
            let path = folder.path(&format!("{name}-{every:?}.plica"));
            take(&path, &small(), &lines, every).unwrap();
            let now = snapshot(&path);
            assert_sound(&now);
            assert_eq!(exported(&now), exported(&expected), "{name} {every:?}");
            assert_eq!(answers(&now), answers(&expected), "{name} {every:?}");
        }
    }
}

#[test]
fn of_two_summaries_for_a_place_in_one_import_the_last_stays_also_when_it_is_run_again() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let lines = concat!(
        r#"{"type":"document","doc":"d"}"#,
        "\n",
        r#"{"type":"summary","doc":"d","level":1,"index":0,"text":"zero"}"#,
        "\n",
        r#"{"type":"summary","doc":"d","level":1,"index":0,"text":"first words"}"#,
        "\n",
        r#"{"type":"chunk","doc":"d","text":"a"}"#,
        "\n",
        r#"{"type":"chunk","doc":"d","text":"b"}"#,
        "\n",
        r#"{"type":"summary","doc":"d","level":1,"index":0,"text":"last"}"#,
        "\n",
    );
    let options = Options::new().fanout(2);
    for every in [Some(1), None, Some(2)] {
        take(&path, &options, lines, every).unwrap();
        let snapshot = snapshot(&path);
        assert_sound(&snapshot);
        assert_eq!(snapshot.covering_summaries("d", 0).unwrap(), [Some("last".to_owned())]);
        assert_eq!(snapshot.search(&Query::new("words")).unwrap().hits.len(), 0);
        assert_eq!(snapshot.search(&Query::new("last")).unwrap().hits.len(), 2);
    }
    let other = r#"{"type":"summary","doc":"d","level":1,"index":0,"text":"other"}"#;
    let error = take(&path, &options, other, None).unwrap_err();
    assert!(error.to_string().starts_with("line 1: the index has another text for summary 0"), "{error}");
}

#[test]
fn a_later_import_adds_to_documents_that_are_there() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let first = concat!(
        r#"{"type":"document","doc":"d","title":"Old","metadata":{"k":1}}"#,
        "\n",
        r#"{"type":"chunk","doc":"d","text":"the first"}"#,
        "\n",
        r#"{"type":"entity","doc":"d","name":"First","chunks":["d#0"]}"#,
        "\n",
    );
    take(&path, &small(), first, None).unwrap();
    let second = concat!(
        r#"{"type":"chunk","doc":"d","text":"the second"}"#,
        "\n",
        r#"{"type":"chunk","doc":"d","text":"the second"}"#,
        "\n",
        r#"{"type":"entity","doc":"d","name":"first","kind":"thing","aliases":["one"],"chunks":["d#2"]}"#,
        "\n",
        r#"{"type":"document","doc":"d","title":"New"}"#,
        "\n",
        r#"{"type":"summary","doc":"d","level":1,"index":0,"text":"all three"}"#,
        "\n",
    );
    for round in 0..2 {
        let imported = take(&path, &small(), second, None).unwrap();
        assert_eq!(imported.chunks, if round == 0 { 2 } else { 0 });
        let expected = concat!(
            r#"{"type":"document","doc":"d","title":"New","metadata":{"k":1},"fanout":3,"chunk_words":500,"memory":"document"}"#,
            "\n",
            r#"{"type":"chunk","doc":"d","text":"the first"}"#,
            "\n",
            r#"{"type":"chunk","doc":"d","text":"the second"}"#,
            "\n",
            r#"{"type":"chunk","doc":"d","text":"the second"}"#,
            "\n",
            r#"{"type":"entity","doc":"d","name":"First","kind":"thing","aliases":["one"],"chunks":["d#0","d#2"]}"#,
            "\n",
            r#"{"type":"summary","doc":"d","level":1,"index":0,"text":"all three"}"#,
            "\n",
        );
        assert_eq!(exported(&snapshot(&path)), expected);
    }
    let stat = snapshot(&path).stat().unwrap();
    assert_eq!((stat.calls.accepted, stat.chunks), (0, 3), "what is given is no call");
}

#[test]
fn links_of_an_index_wide_memory_are_named_without_doubt() {
    let folder = Folder::new();
    let options = Options::new().fanout(2).memory(MemoryScope::Index);
    let lines = concat!(
        r#"{"type":"document","doc":"a"}"#,
        "\n",
        r#"{"type":"document","doc":"b"}"#,
        "\n",
        r#"{"type":"chunk","doc":"b","id":"same","text":"one"}"#,
        "\n",
        r#"{"type":"chunk","doc":"b","id":"a#0","text":"two"}"#,
        "\n",
        r#"{"type":"chunk","doc":"b","id":"own","text":"three"}"#,
        "\n",
        r#"{"type":"chunk","doc":"a","text":"four"}"#,
        "\n",
        r#"{"type":"chunk","doc":"a","id":"same","text":"five"}"#,
        "\n",
        r#"{"type":"entity","doc":"b","name":"Everyone","chunks":["own","a#0","same"]}"#,
        "\n",
        r#"{"type":"entity","doc":"a","name":"Everyone","chunks":["a#0","same"]}"#,
        "\n",
        r#"{"type":"entity","name":"No one","kind":"nobody"}"#,
        "\n",
        r#"{"type":"entity","name":"Some","chunks":["own","b#0"]}"#,
        "\n",
    );
    take(&folder.path("a.plica"), &options, lines, None).unwrap();
    let first = snapshot(&folder.path("a.plica"));
    let out = exported(&first);
    let entities: Vec<&str> = out.lines().filter(|line| line.contains(r#""type":"entity""#)).collect();
    assert_eq!(
        entities,
        [
            r#"{"type":"entity","name":"Everyone","chunks":["a#1","b#0","b#1","own"]}"#,
            r#"{"type":"entity","doc":"a","name":"Everyone","chunks":["a#0"]}"#,
            r#"{"type":"entity","name":"No one","kind":"nobody"}"#,
            r#"{"type":"entity","name":"Some","chunks":["b#0","own"]}"#,
        ]
    );
    take(&folder.path("b.plica"), &options, &out, Some(1)).unwrap();
    let second = snapshot(&folder.path("b.plica"));
    assert_sound(&second);
    assert_eq!(exported(&second), out);
    let ambiguous = r#"{"type":"entity","name":"Some","chunks":["same"]}"#;
    let error = take(&folder.path("b.plica"), &options, ambiguous, None).unwrap_err();
    assert_eq!(error.to_string(), r#"line 1: chunk "same" is ambiguous; it could be a#1, b#0"#);
}

#[test]
fn a_mark_blank_lines_and_other_line_ends_are_harmless() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let lines = format!("\u{feff}\r\n\n{}\r\n   \n", STATE.trim_end().replace('\n', "\r\n"));
    take(&path, &small(), &lines, None).unwrap();
    take(&folder.path("b.plica"), &small(), STATE, None).unwrap();
    assert_eq!(exported(&snapshot(&path)), exported(&snapshot(&folder.path("b.plica"))));
}

#[test]
fn what_the_first_line_states_is_looked_at_without_being_taken() {
    let first = r#"{"type":"document","doc":"d","fanout":7,"chunk_words":60,"memory":"index"}"#;
    for lines in [format!("\u{feff}\n\n{first}\nrest"), first.to_owned()] {
        let (parameters, mut rest) = stated(lines.as_bytes()).unwrap();
        assert_eq!(
            (parameters.fanout, parameters.chunk_words, parameters.memory),
            (Some(7), Some(60), Some(MemoryScope::Index))
        );
        let mut all = String::new();
        std::io::Read::read_to_string(&mut rest, &mut all).unwrap();
        assert_eq!(all, lines);
    }
    for lines in ["", "\n\n", "no line", r#"{"type":"chunk","doc":"d","text":""}"#] {
        assert_eq!(stated(lines.as_bytes()).unwrap().0, Default::default());
    }
}

/// Found by a fuzzer: the export of an outline of which nothing is known made no outline.
#[test]
fn an_outline_of_which_nothing_is_known_comes_back() {
    let folder = Folder::new();
    let lines =
        "{\"type\":\"document\",\"doc\":\"a\"}\n{\"type\":\"outline\",\"doc\":\"a\",\"path\":[],\"summary\":\"\"}\n";
    take(&folder.path("a"), &small(), lines, None).unwrap();
    let once = exported(&snapshot(&folder.path("a")));
    assert!(once.contains("\"type\":\"outline\""), "{once}");
    take(&folder.path("b"), &small(), &once, None).unwrap();
    assert_eq!(exported(&snapshot(&folder.path("b"))), once);
    let again = take(&folder.path("b"), &small(), &once, None).unwrap();
    assert_eq!((again.skipped, again.outline), (2, 0));
}
