//! Commits, interruption, import and export.

use crate::place::{Place, keys};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

#[test]
fn commits_are_acknowledged_by_the_line() {
    let place = Place::new();
    place.write("a.txt", "One is here. Two is here. Three is here. ");
    let built = place.run(&["build", "a.plica", "a.txt", "--chunk-words", "3", "--json"]).good();
    assert_eq!(built, "{\"commit\":2,\"chunks\":3}\n");
    assert_eq!(place.run(&["build", "a.plica", "a.txt", "--json"]).good(), "");
    let arguments = ["append", "a.plica", "a.txt", "-", "--commit-every", "1", "--json"];
    let appended = place.run_with(&arguments, "Four is here. Five is here.").good();
    let lines: Vec<Value> = appended.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| keys(line) == ["commit", "chunks"]));
    assert_eq!((&lines[0]["chunks"], &lines[1]["chunks"]), (&4.into(), &5.into()));
    assert_eq!((&lines[0]["commit"], &lines[1]["commit"]), (&3.into(), &4.into()));
    let text = place.run(&["cat", "a.plica", "a.txt"]).good();
    assert_eq!(text, "One is here. Two is here. Three is here. Four is here. Five is here.");
}

/// A long append, with a commit a chunk, that nobody reads the acknowledgements of but for the first: it cannot end
/// before it is sent a signal, because the pipe fills up.
#[cfg(unix)]
fn interrupt(signal: &str) -> (Place, Option<i32>, String, String) {
    let place = Place::new();
    place.write("a.txt", "The first.");
    let more: String = (0..6000).map(|number| format!("Sentence {number} is added. ")).collect();
    place.write("more.txt", &more);
    place.run(&["build", "a.plica", "a.txt", "--chunk-words", "4", "--model", "none"]).good();
    let mut child = place
        .command(&["append", "a.plica", "a.txt", "more.txt", "--commit-every", "1", "--json", "--model", "none"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    acknowledged.read_line(&mut first).unwrap();
    assert_eq!(first, "{\"commit\":3,\"chunks\":2}\n");
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    let mut rest = String::new();
    acknowledged.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    // A last line may be cut short by a kill.
    let whole = rest.rfind('\n').map_or("", |end| &rest[..end]);
    let last = whole.lines().last().unwrap_or(first.trim_end()).to_owned();
    (place, output.status.code(), String::from_utf8(output.stderr).unwrap(), last)
}

/// What was acknowledged is there, and the same append completes the document.
#[cfg(unix)]
fn goes_on(place: &Place, last: &str) {
    let last: Value = serde_json::from_str(last).unwrap();
    let chunks = last["chunks"].as_u64().unwrap();
    assert!(chunks < 6000, "the append was not interrupted");
    assert!(place.json(&["stat", "a.plica"])["chunks"].as_u64().unwrap() >= chunks);
    place.run(&["append", "a.plica", "a.txt", "more.txt", "--model", "none"]).good();
    let more = fs::read_to_string(place.path("more.txt")).unwrap();
    assert_eq!(place.run(&["cat", "a.plica", "a.txt"]).good(), format!("The first.{more}"));
    assert_eq!(place.run(&["check", "a.plica"]).code, 0);
}

#[cfg(unix)]
#[test]
fn an_interrupted_append_goes_on_where_it_was() {
    let (place, code, err, last) = interrupt("-INT");
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("same command goes on"), "{err}");
    goes_on(&place, &last);
}

#[cfg(unix)]
#[test]
fn a_killed_append_goes_on_where_it_was() {
    let (place, code, _, last) = interrupt("-KILL");
    assert_eq!(code, None);
    goes_on(&place, &last);
}

#[test]
fn an_export_is_imported_again() {
    let place = Place::with_index();
    let lines = place.run(&["export", "i.plica"]).good();
    let piped = place.run_with(&["import", "copy.plica", "-"], &lines).good();
    assert!(piped.contains("2 documents") && piped.starts_with("copy.plica: "), "{piped}");
    assert_eq!(place.run(&["export", "copy.plica"]).good(), lines);
    assert_eq!(place.json(&["stat", "copy.plica"])["fanout"], 2, "the first line says how to create the index");
    place.write("lines.jsonl", &lines);
    let arguments = ["import", "steps.plica", "lines.jsonl", "--commit-every", "2", "--json"];
    let steps = place.run(&arguments).good();
    assert!(steps.lines().count() > 2 && steps.starts_with("{\"commit\":2,\"chunks\":2}\n"), "{steps}");
    assert_eq!(place.run(&["export", "steps.plica"]).good(), lines);
    let wrong = place.run_with(&["import", "w.plica", "-"], "{\"type\":\"chunk\"}\n").failed(1);
    assert!(wrong.contains("line 1"), "{wrong}");
}

#[test]
fn a_beir_folder_is_imported_and_measured() {
    let place = Place::new();
    fs::create_dir_all(place.path("beir/qrels")).unwrap();
    let rows = ["The crane stands on the quay.", "Gulls rose from the roofs.", "The bell was cast inland."];
    let corpus: String = rows
        .iter()
        .enumerate()
        .map(|(at, text)| {
            format!("{{\"_id\":\"r{at}\",\"title\":\"\",\"text\":\"{text}\",\"metadata\":{{\"doc_id\":\"d\"}}}}\n")
        })
        .collect();
    place.write("beir/corpus.jsonl", corpus);
    place.write("beir/queries.jsonl", "{\"_id\":\"q\",\"text\":\"bell\",\"metadata\":{\"doc_id\":\"d\"}}\n");
    place.write("beir/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\tr2\t1\n");
    let imported = place.run(&["import", "b.plica", "--beir", "beir"]).good();
    assert!(imported.contains("1 document, 3 chunks"), "{imported}");
    assert_eq!(place.json(&["chunk", "b.plica", "r2"])["chunk"], "d#2");
    let measured = place.json(&["eval", "b.plica", "--beir", "beir", "-k", "1,2"]);
    assert_eq!(keys(&measured), ["queries", "text", "fused", "difference"]);
    assert_eq!(measured["queries"], 1);
    assert_eq!(measured["text"]["all@1"], 100.0);
    assert_eq!(keys(&measured["difference"]["all@1"]), ["mean", "low", "high"]);
    let human = place.run(&["eval", "b.plica", "--beir", "beir"]).good();
    assert!(human.contains("recall@20"), "{human}");
}
