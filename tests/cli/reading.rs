//! What an index holds, read back; and damage.

use crate::place::{Place, data, harbour, keys, texts};
use serde_json::Value;
use std::fs;

#[test]
fn a_folder_is_built_and_read_back() {
    let place = Place::with_index();
    let docs = place.json(&["docs", "i.plica"]);
    assert_eq!(keys(&docs), ["docs"]);
    let names = ["doc", "title", "chunks", "words", "bytes", "entities", "summaries", "hash", "metadata"];
    assert_eq!(keys(&docs["docs"][0]), names);
    assert_eq!(docs["docs"][0]["doc"], "harbour.txt");
    assert_eq!(docs["docs"][1]["doc"], "sub/notes.md");
    assert_eq!(docs["docs"][1]["title"], "Notes on bells");
    assert_eq!(docs["docs"].as_array().unwrap().len(), 2);

    assert_eq!(place.run(&["cat", "i.plica", "harbour.txt"]).good(), harbour());
    let text = place.json(&["cat", "i.plica", "harbour.txt"]);
    assert_eq!(keys(&text), ["doc", "text"]);

    let chunk = place.json(&["chunk", "i.plica", "harbour.txt#1"]);
    let names = ["id", "chunk", "doc", "ordinal", "title", "text", "words", "start", "end", "entities", "summaries"];
    assert_eq!(keys(&chunk), names);
    let (start, end) = (chunk["start"].as_u64().unwrap() as usize, chunk["end"].as_u64().unwrap() as usize);
    assert_eq!(chunk["text"], harbour()[start..end]);

    let again = place.run(&["build", "i.plica", &data("folder")]).good();
    assert!(again.starts_with("harbour.txt: unchanged\nsub/notes.md: unchanged\n"), "{again}");
}

#[test]
fn the_fold_tree_is_walked_from_the_top() {
    let place = Place::with_index();
    let top = place.json(&["tree", "i.plica", "harbour.txt"]);
    assert_eq!(keys(&top), ["doc", "path", "level", "first", "count", "summary", "entries"]);
    assert_eq!(keys(&top["entries"][0]), ["level", "first", "count", "summary", "chunk"]);
    let mut path = Vec::new();
    let mut page = top;
    // The first entry of each page covers the beginning, one level further down.
    while page["entries"][0]["chunk"].is_null() {
        let entry = page["entries"][0].clone();
        assert_eq!(entry["first"], 0);
        assert!(!entry["summary"].as_str().unwrap().is_empty());
        path.push("0");
        page = place.json(&["tree", "i.plica", "harbour.txt", "--path", &path.join("/")]);
        assert_eq!(page["level"], entry["level"]);
        assert_eq!(page["summary"], entry["summary"]);
    }
    assert!(path.len() >= 2, "the test document must fold twice");
    assert_eq!(page["entries"][0]["chunk"], "harbour.txt#0");
    let human = place.run(&["tree", "i.plica", "harbour.txt", "--path", "0"]).good();
    assert!(human.contains("0/1  level"), "{human}");
    place.run(&["tree", "i.plica", "harbour.txt", "--path", "0/9"]).failed(1);
    assert_eq!(place.run(&["tree", "i.plica", "harbour.txt", "--path", "x"]).code, 2);
}

#[test]
fn the_entity_memory_is_shown() {
    let place = Place::with_index();
    let found = place.json(&["entity", "i.plica", "berta holm", "--doc", "harbour.txt"]);
    assert_eq!(keys(&found), ["entities"]);
    let record = &found["entities"][0];
    assert_eq!(keys(record), ["doc", "name", "kind", "aliases", "descriptions", "chunks"]);
    assert_eq!(record["name"], "Berta Holm");
    assert!(texts(&record["chunks"]).contains(&"harbour.txt#0"));
    let all = place.json(&["entities", "i.plica"]);
    assert_eq!(keys(&all["entities"][0]), keys(record));
    let of_one = place.json(&["entities", "i.plica", "--doc", "sub/notes.md"]);
    assert!(of_one["entities"].as_array().unwrap().len() < all["entities"].as_array().unwrap().len());
    assert!(place.run(&["entities", "i.plica"]).good().contains("Berta Holm"));
    assert!(place.run(&["entity", "i.plica", "nobody"]).failed(1).contains("nobody"));
}

#[test]
fn numbers_and_commits_are_shown() {
    let place = Place::with_index();
    let stat = place.json(&["stat", "i.plica"]);
    let first = ["documents", "chunks", "sequence", "segments", "merge_debt", "bytes", "calls", "docs"];
    assert_eq!(keys(&stat)[..first.len()], first);
    assert_eq!(keys(&stat["bytes"])[..3], ["total", "live", "dead"]);
    assert!(keys(&stat["bytes"]).contains(&"fold"));
    assert_eq!(stat["bytes"]["total"], fs::metadata(place.path("i.plica")).unwrap().len());
    assert_eq!(keys(&stat["calls"]), ["accepted", "expected", "given"]);
    assert_eq!(stat["calls"]["accepted"], stat["calls"]["expected"]);
    assert_eq!(keys(&stat["docs"][0]), ["doc", "chunks", "calls", "expected", "given", "subjects", "records"]);
    assert_eq!((&stat["fanout"], &stat["chunk_words"]), (&2.into(), &30.into()));

    let log = place.json(&["log", "i.plica"]);
    assert_eq!(keys(&log["commits"][0]), ["commit", "time", "documents", "chunks", "segments", "bytes"]);
    assert_eq!(log["commits"][0]["commit"], stat["sequence"]);
    assert_eq!(log["commits"][0]["documents"], 2);
    let before = log["commits"][1]["commit"].to_string();
    let docs = place.json(&["docs", "i.plica", "--at", &before]);
    assert_eq!(docs["docs"].as_array().unwrap().len(), 1);
    assert!(place.run(&["docs", "i.plica", "--at", "99"]).failed(1).contains("plica log"));

    let check = place.json(&["check", "i.plica"]);
    assert_eq!(keys(&check), ["blocks", "bytes", "documents", "chunks", "entities", "subjects", "records", "findings"]);
    assert_eq!(check["findings"], Value::Array(vec![]));
    assert!(place.run(&["check", "i.plica"]).good().starts_with("sound: "));
    assert!(place.run(&["stat", "i.plica"]).good().contains("T(N, f)"));
    assert!(place.run(&["log", "i.plica"]).good().starts_with("commit"));
}

#[test]
fn damage_is_exit_status_3_whichever_command_meets_it() {
    let place = Place::with_index();
    let sound = fs::read(place.path("i.plica")).unwrap();
    let mut met = 0;
    for at in (20_480..sound.len()).step_by(701) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        place.write("d.plica", &bytes);
        let check = place.run(&["check", "d.plica", "--json"]);
        if check.code == 0 {
            // A byte of padding, or behind the last commit.
            continue;
        }
        assert_eq!((check.code, check.err.as_str()), (3, ""), "at {at}");
        let report: Value = serde_json::from_str(&check.out).unwrap();
        assert_eq!(keys(&report["findings"][0]), ["offset", "bytes", "what", "detail", "depends"]);
        let cat = place.run(&["cat", "d.plica", "harbour.txt"]);
        assert!(cat.code == 3 || cat.code == 0 && cat.out == harbour(), "at {at}: {}", cat.err);
        met += usize::from(cat.code == 3);
    }
    assert!(met > 0, "no command but check met any damage");
    // Both publish slots and both intent slots.
    let mut bytes = sound;
    bytes[4096..20_480].fill(0x55);
    place.write("d.plica", &bytes);
    place.run(&["docs", "d.plica"]).failed(3);
    let check = place.run(&["check", "d.plica"]);
    assert_eq!(check.code, 3);
    assert!(check.out.starts_with("damaged "), "{}", check.out);
}

#[cfg(unix)]
#[test]
fn reading_writes_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with_index();
    let folder = place.path("read-only");
    fs::create_dir(&folder).unwrap();
    fs::copy(place.path("i.plica"), folder.join("i.plica")).unwrap();
    fs::set_permissions(folder.join("i.plica"), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let before = fs::read(folder.join("i.plica")).unwrap();
    for arguments in [
        &["search", "read-only/i.plica", "bell"][..],
        &["stat", "read-only/i.plica"],
        &["check", "read-only/i.plica"],
        &["export", "read-only/i.plica"],
    ] {
        place.run(arguments).good();
    }
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(names, ["i.plica"]);
    assert_eq!(fs::read(folder.join("i.plica")).unwrap(), before);
}
