//! What an import refuses, with the number of the line, and that it leaves nothing behind.

mod common;

use common::Folder;
use plica::interchange::Imported;
use plica::interchange::{ImportOptions, import};
use plica::{Error, Index, Options, Result, Writer};
use std::path::Path;

fn small() -> Options {
    Options::new().fanout(3)
}

fn take(path: &Path, lines: &str) -> Result<Imported> {
    let mut writer = match path.exists() {
        true => Writer::open(path)?,
        false => Writer::create(path, &small())?,
    };
    import(&mut writer, lines.as_bytes(), ImportOptions::new())
}

/// What is there before each of the lines that cannot be taken.
const BEFORE: &str = concat!(
    r#"{"type":"document","doc":"d"}"#,
    "\n",
    r#"{"type":"chunk","doc":"d","id":"c","title":"T","text":"one","start":5,"end":9}"#,
    "\n",
    r#"{"type":"chunk","doc":"d","text":"two"}"#,
    "\n",
);

#[test]
fn a_line_that_cannot_be_taken_is_named_by_its_number() {
    let long_name = "n".repeat(1025);
    let cases: Vec<(String, &str)> = [
        ("no json", "not a JSON object"),
        ("[1]", "not a JSON object"),
        (r#"{"type":"chunk","doc":"d","text":"cut"#, "EOF while parsing"),
        (r#"{"type":"chunk","doc":"d","text":"x"} {}"#, "trailing characters"),
        (r#"{"doc":"d","text":"x"}"#, "without \"type\""),
        (r#"{"type":"chonk","doc":"d"}"#, "a line of type \"chonk\""),
        (r#"{"type":"outline","doc":"d","path":["x"]}"#, "a category and its name"),
        (r#"{"type":"record","doc":"d"}"#, "all three are empty"),
        (r#"{"type":"page_summary","doc":"d"}"#, "hash"),
        (r#"{"type":"chunk","doc":"d","text":"x","txet":"y"}"#, "unknown field `txet`"),
        (r#"{"type":"chunk","doc":"d","text":"x","text":"y"}"#, "duplicate field `text`"),
        (r#"{"type":"chunk","doc":"d"}"#, "missing field `text`"),
        (r#"{"type":"chunk","doc":"d","text":5}"#, "invalid type"),
        (r#"{"type":"chunk","doc":"d","text":"\ud800"}"#, "hex escape"),
        (r#"{"type":"chunk","doc":"e","text":"x"}"#, "no document \"e\""),
        (r#"{"type":"chunk","doc":"d","id":"c","title":"T","text":"three","start":5,"end":9}"#, "another text"),
        (r#"{"type":"chunk","doc":"d","id":"c","title":"U","text":"one","start":5,"end":9}"#, "another title"),
        (r#"{"type":"chunk","doc":"d","id":"c","title":"T","text":"one"}"#, "another \"start\" or \"end\""),
        (r#"{"type":"chunk","doc":"d","id":"","text":"x"}"#, "cannot be a chunk's id"),
        (r#"{"type":"chunk","doc":"d","id":"d#1","text":"x"}"#, "cannot be a chunk's id"),
        (r#"{"type":"chunk","doc":"d","text":"x","start":9,"end":5}"#, "must not be behind"),
        (r#"{"type":"chunk","doc":"d","text":"x","start":9}"#, "come together"),
        (r#"{"type":"chunk","doc":"d","text":"x","start":-1,"end":5}"#, "invalid value"),
        (r#"{"type":"document","doc":"e","metadata":[1]}"#, "invalid type"),
        (r#"{"type":"document","doc":""}"#, "must not be empty"),
        (r#"{"type":"document","doc":"e","fanout":4}"#, "the index has fan-out 3, the line says 4"),
        (r#"{"type":"document","doc":"e","chunk_words":4}"#, "the index has number of words a chunk 500"),
        (r#"{"type":"document","doc":"e","memory":"index"}"#, "the index has memory document"),
        (r#"{"type":"document","doc":"e","memory":"none"}"#, "memory \"none\""),
        (r#"{"type":"entity","name":"x"}"#, "without \"doc\""),
        (r#"{"type":"entity","doc":"d","name":" "}"#, "name must not be empty"),
        (r#"{"type":"entity","doc":"d","name":"x","chunks":["none"]}"#, "no chunk \"none\""),
        (r#"{"type":"entity","doc":"d","name":"x","chunks":["d#2"]}"#, "no chunk \"d#2\""),
        (r#"{"type":"entity","doc":"d","name":"x","chunks":["d#00"]}"#, "no chunk \"d#00\""),
        (r#"{"type":"entity","doc":"e","name":"x"}"#, "no document \"e\""),
        (r#"{"type":"summary","doc":"e","level":1,"index":0,"text":"x"}"#, "no document \"e\""),
        (r#"{"type":"summary","doc":"d","level":1,"index":0,"text":"x"}"#, "chunks that have not come"),
        (r#"{"type":"summary","doc":"d","level":0,"index":0,"text":"x"}"#, "levels from 1"),
        (r#"{"type":"summary","doc":"d","level":300,"index":0,"text":"x"}"#, "invalid value"),
        (r#"{"type":"summary","doc":"d","level":200,"index":4000000000,"text":"x"}"#, "outside any document"),
    ]
    .map(|(line, said)| (line.to_owned(), said))
    .into_iter()
    .chain([
        (format!(r#"{{"type":"entity","doc":"d","name":"{long_name}"}}"#), "limited to 1024, got 1025"),
        (format!(r#"{{"type":"chunk","doc":"d","text":"{}"}}"#, "x".repeat((256 << 10) + 1)), "limited to 262144"),
        (
            format!(r#"{{"type":"document","doc":"e","metadata":{{"a":{}}}}}"#, "[".repeat(300) + &"]".repeat(300)),
            "recursion limit",
        ),
    ])
    .collect();
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, &small()).unwrap();
    for (line, said) in cases {
        let lines = format!("{BEFORE}\n{line}\n{}", r#"{"type":"document","doc":"after"}"#);
        let error = import(&mut writer, lines.as_bytes(), ImportOptions::new()).unwrap_err();
        assert!(matches!(error, Error::Line { line: 5, .. }), "{line}: {error:?}");
        assert!(error.to_string().contains(said), "{line}: {error}");
        assert!(!writer.has_changes());
    }
    let bytes = [BEFORE.as_bytes(), b"\n{\"type\":\"chunk\",\"doc\":\"d\",\"text\":\"\xff\"}\n"].concat();
    let error = import(&mut writer, bytes.as_slice(), ImportOptions::new()).unwrap_err();
    assert_eq!(error.to_string(), "line 5: not UTF-8: a bad byte at column 35");
}

#[test]
fn chunks_without_an_id_are_held_to_their_places() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let chunk = |text: &str| format!(r#"{{"type":"chunk","doc":"d","text":"{text}"}}"#);
    let document = r#"{"type":"document","doc":"d"}"#;
    let lines = |texts: &[&str]| texts.iter().map(|text| chunk(text)).collect::<Vec<_>>().join("\n");
    take(&path, &format!("{document}\n{}", lines(&["a", "b", "a"]))).unwrap();
    assert_eq!(take(&path, &format!("{document}\n{}", lines(&["a", "b", "a", "c"]))).unwrap().chunks, 1);
    let changed = take(&path, &format!("{document}\n{}", lines(&["a", "x"]))).unwrap_err();
    assert!(matches!(changed, Error::Line { line: 3, .. }), "{changed}");
    assert!(changed.to_string().contains("d#1"), "{changed}");
    let changed = take(&path, &lines(&["b", "x"])).unwrap_err();
    assert!(matches!(changed, Error::Line { line: 2, .. }), "{changed}");
    assert_eq!(take(&path, &lines(&["e", "f"])).unwrap().chunks, 2);
    assert_eq!(take(&path, &lines(&["e", "f"])).unwrap().chunks, 0);
    assert_eq!(Index::open(&path).unwrap().snapshot().text("d").unwrap(), "abacef");
}

#[test]
fn a_document_whose_build_is_not_complete_is_refused() {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Writer::create(&path, &small()).unwrap();
    writer.add_document("d", "", "").unwrap();
    writer.commit().unwrap();
    let error = import(&mut writer, BEFORE.as_bytes(), ImportOptions::new()).unwrap_err();
    assert!(matches!(error, Error::Line { line: 1, .. }), "{error}");
    assert!(error.to_string().contains("is not complete"), "{error}");
    writer.add_document("e", "", "").unwrap();
    let error = import(&mut writer, BEFORE.as_bytes(), ImportOptions::new()).unwrap_err();
    assert!(error.to_string().contains("commit them before"), "{error}");
    assert!(writer.has_changes());
}
