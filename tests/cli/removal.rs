//! Removing, replacing, vacuuming.

use crate::place::{Place, keys};
use serde_json::Value;
use std::fs;

#[test]
fn what_is_removed_is_in_no_answer() {
    let place = Place::with_index();
    let before = place.json(&["stat", "i.plica"]);
    let commit = before["sequence"].as_u64().unwrap();
    let docs = before["docs"].as_array().unwrap();
    let harbour = docs.iter().find(|doc| doc["doc"] == "harbour.txt").unwrap();
    let unknown = place.run(&["remove", "i.plica", "harbour.txt", "other.txt"]).failed(1);
    assert!(unknown.contains("no document \"other.txt\"") && unknown.contains("nothing was removed"), "{unknown}");
    assert_eq!(place.json(&["stat", "i.plica"]), before);
    let removed = place.json(&["remove", "i.plica", "harbour.txt"]);
    assert_eq!(keys(&removed), ["commit", "chunks"]);
    let left = before["chunks"].as_u64().unwrap() - harbour["chunks"].as_u64().unwrap();
    assert_eq!((&removed["commit"], &removed["chunks"]), (&(commit + 1).into(), &left.into()));
    let after = place.json(&["stat", "i.plica"]);
    assert_eq!(after["chunks"], left);
    assert_eq!(after["documents"].as_u64().unwrap() + 1, before["documents"].as_u64().unwrap());
    assert!(place.run(&["cat", "i.plica", "harbour.txt"]).failed(1).contains("no document"));
    // An earlier commit still shows it.
    let earlier = place.run(&["cat", "i.plica", "harbour.txt", "--at", &commit.to_string()]).good();
    assert_eq!(earlier, crate::place::harbour());
    assert_eq!(place.run(&["check", "i.plica"]).code, 0);
    let text = place.run(&["remove", "i.plica", "harbour.txt"]).failed(1);
    assert!(text.contains("no document"), "{text}");
}

#[test]
fn a_vacuum_keeps_all_answers_and_says_what_it_saved() {
    let place = Place::with_index();
    let export = place.run(&["export", "i.plica"]).good();
    let report = place.json(&["vacuum", "i.plica"]);
    assert_eq!(keys(&report), ["before_bytes", "after_bytes", "epoch"]);
    assert_eq!(report["epoch"], 1);
    assert_eq!(report["after_bytes"], fs::metadata(place.path("i.plica")).unwrap().len());
    assert_eq!(place.run(&["export", "i.plica"]).good(), export);
    let text = place.run(&["vacuum", "i.plica"]).good();
    assert!(text.starts_with("i.plica: ") && text.contains("bytes") && text.ends_with("vacuum 2\n"), "{text}");
    assert!(place.run(&["cat", "i.plica", "harbour.txt", "--at", "2"]).failed(1).contains("no commit"));
    assert!(place.run(&["vacuum", "other.plica"]).failed(1).contains("there is no index other.plica"));
    place.write("text.plica", "no index");
    assert!(place.run(&["vacuum", "text.plica"]).failed(1).contains("no Plica index"));
}

#[test]
fn an_erased_document_is_removed_and_vacuumed() {
    let place = Place::with_index();
    let out = place.run(&["remove", "i.plica", "harbour.txt", "--erase", "--json"]).good();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        lines.iter().map(keys).collect::<Vec<_>>(),
        [vec!["commit", "chunks"], vec!["before_bytes", "after_bytes", "epoch"]]
    );
    let bytes = fs::read(place.path("i.plica")).unwrap();
    assert!(!bytes.windows(11).any(|found| found == b"harbour.txt"));
    assert_eq!(place.run(&["check", "i.plica"]).code, 0);
    let place = Place::with_index();
    let text = place.run(&["remove", "i.plica", "harbour.txt", "--erase"]).good();
    assert!(text.starts_with("harbour.txt: removed\ni.plica: commit 4\ni.plica: "), "{text}");
}

#[test]
fn a_changed_text_takes_the_place_of_the_old_one_where_that_is_asked_for() {
    let place = Place::with_index();
    place.write("harbour.txt", "Quite another text. It is short.");
    let refused = place.run(&["build", "i.plica", "harbour.txt"]).failed(1);
    assert!(refused.contains("another text") && refused.contains("--replace"), "{refused}");
    let text = place.run(&["build", "i.plica", "harbour.txt", "--replace"]).good();
    assert_eq!(text.lines().next(), Some("harbour.txt: replaced, 1 chunk"));
    assert_eq!(place.run(&["cat", "i.plica", "harbour.txt"]).good(), "Quite another text. It is short.");
    assert_eq!(place.run(&["build", "i.plica", "harbour.txt", "--replace", "--json"]).good(), "");
    assert_eq!(place.run(&["check", "i.plica"]).code, 0);
}

#[test]
fn an_erasure_that_stopped_half_way_says_how_to_finish_it() {
    let place = Place::with_index();
    place.run(&["remove", "i.plica", "harbour.txt"]).good();
    let again = place.run(&["remove", "i.plica", "harbour.txt", "--erase"]).failed(1);
    assert!(again.contains("plica vacuum"), "{again}");
    // A name that leaves no room for more is no obstacle; what stands in the way of the new file is.
    let long = format!("{}.plica", "n".repeat(244));
    place.write("a.txt", "The keeper sleeps. ".repeat(9));
    place.run(&["build", &long, "a.txt", "--model", "none"]).good();
    place.run(&["remove", &long, "a.txt", "a.txt", "--erase"]).good();
    place.run(&["build", "b.plica", "a.txt", "--model", "none"]).good();
    std::fs::create_dir_all(place.path(".b.plica.vacuum/in/the/way")).unwrap();
    let stopped = place.run(&["remove", "b.plica", "a.txt", "--erase"]).failed(1);
    assert!(stopped.contains("removed, but not erased") && stopped.contains("plica vacuum"), "{stopped}");
}
