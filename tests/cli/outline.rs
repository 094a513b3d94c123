//! Outlines: `compile`, `outline`, `navigate`, `subject`.

use crate::place::{Place, keys};
use serde_json::{Value, json};
use std::fs;

const MANUAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/manual.md");

fn place() -> Place {
    let place = Place::new();
    place.run(&["build", "m.plica", MANUAL, "--doc", "manual", "--chunk-words", "120"]).good();
    let said = place.run(&["compile", "m.plica"]).good();
    assert!(said.contains("categories") && said.contains("subjects") && said.contains("records"), "{said}");
    place
}

#[test]
fn pages_are_shown_and_written() {
    let place = place();
    let root = place.json(&["outline", "m.plica", "manual"]);
    assert_eq!(keys(&root), ["path", "title", "summary", "cover", "entries", "fields", "links"]);
    assert_eq!((&root["path"], &root["fields"]), (&json!([]), &json!([])));
    assert_eq!(keys(&root["entries"][0]), ["title", "summary", "path"]);
    assert_eq!(root["entries"][0]["path"], json!(["Safety"]));
    assert_eq!(keys(&root["cover"]), ["first", "last", "count"]);
    let fault = place.json(&["outline", "m.plica", "manual", "--path", "faults/fault 3"]);
    assert_eq!(fault["path"], json!(["Faults", "Fault 3"]));
    let cause = fault["fields"].as_array().unwrap().iter().find(|field| field["name"] == "Cause").unwrap();
    assert_eq!(keys(cause), ["name", "value", "start", "end"]);
    let manual = fs::read_to_string(MANUAL).unwrap();
    let (start, end) = (cause["start"].as_u64().unwrap() as usize, cause["end"].as_u64().unwrap() as usize);
    assert!(manual[start..end].contains(cause["value"].as_str().unwrap()));
    let shown = place.run(&["outline", "m.plica", "manual", "--path", r#"["Faults","Fault 3"]"#]).good();
    assert!(shown.contains("Cause: a welded contactor"), "{shown}");
    let said = place.run(&["outline", "m.plica", "manual", "--write", "out"]).good();
    assert!(said.starts_with("out: "), "{said}");
    assert!(fs::read_to_string(place.path("out/Faults/Fault 3.txt")).unwrap().contains("Remedy: "));
    assert!(fs::read_to_string(place.path("out/index.txt")).unwrap().contains("- Fault 3"));
    let again = place.run(&["outline", "m.plica", "manual", "--write", "out"]).failed(1);
    assert!(again.contains("not empty"), "{again}");
    let missing = place.run(&["outline", "m.plica", "manual", "--path", "Faults/Fault 9"]).failed(1);
    assert!(missing.contains("Faults/Fault 9"), "{missing}");
    place.run(&["build", "m.plica", MANUAL, "--doc", "other", "--model", "none"]).good();
    let none = place.run(&["outline", "m.plica", "other"]).failed(1);
    assert!(none.contains("plica compile"), "{none}");
}

#[test]
fn a_question_is_led_to_its_page_and_a_miss_is_learned() {
    let place = place();
    let found = place.json(&["navigate", "m.plica", "manual", "What is the remedy for fault 3?"]);
    assert_eq!(keys(&found), ["question", "path", "pages", "passages", "fallback", "level_ups"]);
    assert_eq!(keys(&found["path"][0]), ["page", "title", "score"]);
    assert_eq!((&found["path"][0]["page"], &found["fallback"]), (&json!([]), &Value::Bool(false)));
    assert_eq!(keys(&found["pages"][0]), ["path", "title", "summary", "fields"]);
    assert_eq!(found["pages"][0]["title"], "Fault 3");
    assert_eq!(keys(&found["passages"][0]), ["id", "chunk", "doc", "ordinal", "score", "text"]);
    let question = "Which makers colour the green wire yellow?";
    let missed = place.json(&["navigate", "m.plica", "manual", question, "--budget", "0", "-k", "2"]);
    assert_eq!((&missed["fallback"], &missed["level_ups"]), (&Value::Bool(true), &json!(0)));
    assert_eq!(missed["passages"].as_array().unwrap().len(), 2);
    let before = place.json(&["log", "m.plica"])["commits"].as_array().unwrap().len();
    let learned = place.json(&["navigate", "m.plica", "manual", question, "--learn"]);
    assert_eq!(learned["learned"][0], "Learned");
    assert_eq!(place.json(&["log", "m.plica"])["commits"].as_array().unwrap().len(), before + 1);
    let again = place.json(&["navigate", "m.plica", "manual", question]);
    assert_eq!((&again["fallback"], &again["pages"][0]["path"]), (&Value::Bool(false), &learned["learned"]));
    assert_eq!(place.run(&["check", "m.plica"]).code, 0);
    let shown = place.run(&["navigate", "m.plica", "manual", "What is the largest current?"]).good();
    assert!(shown.starts_with("way: ") && shown.contains("48 A"), "{shown}");
}

#[test]
fn only_what_is_new_is_compiled() {
    let place = place();
    let commit = place.json(&["stat", "m.plica"])["sequence"].clone();
    let said = place.run(&["compile", "m.plica", "manual"]).good();
    assert!(said.contains("nothing new"), "{said}");
    assert_eq!(place.json(&["stat", "m.plica"])["sequence"], commit);
    place
        .run_with(&["append", "m.plica", "manual", "-"], "\n## Appendix\n\n### Fault 5\n\n**Cause:** a mouse\n")
        .good();
    let lines = place.run(&["compile", "m.plica", "manual", "--json"]).good();
    let line: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(keys(&line), ["commit", "chunks"]);
    let export = place.run(&["export", "m.plica"]).good();
    assert!(export.contains("a mouse") && export.contains("\"type\":\"outline\""));
    place.write("export.jsonl", &export);
    let said = place.run(&["import", "copy.plica", "export.jsonl"]).good();
    assert!(said.contains("outline line"), "{said}");
    assert_eq!(place.run(&["export", "copy.plica"]).good(), export);
    let stat = place.json(&["stat", "m.plica"]);
    assert_eq!(keys(&stat["compile_calls"]), ["discover", "extract", "page_summaries", "records"]);
    assert_eq!(stat["compile_calls"]["discover"], 1);
    assert!(stat["subjects"].as_u64() > Some(40) && stat["bytes"]["outline"].as_u64() > Some(0));
    assert!(place.run(&["compile", "m.plica", "nobody"]).failed(1).contains("nobody"));
    assert!(place.run(&["compile", "m.plica", "--budget", "9000"]).failed(1).contains("2000"));
}

#[test]
fn subjects_are_corrected_and_removed_one_at_a_time() {
    let place = place();
    let line = r#"{"path":["Faults","Fault three"],"summary":"Too hot.","fields":[{"name":"cause","value":"weld"}]}"#;
    let done = place.json(&["subject", "correct", "m.plica", "manual", "Faults/Fault 3", line]);
    assert_eq!((keys(&done), &done["subjects"]), (vec!["commit", "subjects"], &json!(1)));
    place.run(&["outline", "m.plica", "manual", "--path", "Faults/Fault 3"]).failed(1);
    let page = place.json(&["outline", "m.plica", "manual", "--path", "Faults/Fault three"]);
    assert_eq!((&page["summary"], &page["fields"][0]["value"]), (&json!("Too hot."), &json!("weld")));
    place.run(&["subject", "remove", "m.plica", "manual", "Faults/Fault three"]).good();
    let gone = place.run(&["subject", "remove", "m.plica", "manual", "Faults/Fault three"]).failed(1);
    assert!(gone.contains("nothing was changed"), "{gone}");
    place.run(&["subject", "remove", "m.plica", "manual", "Faults"]).failed(2);
    let other = r#"{"path":["Parts","Fault 1"]}"#;
    place.run(&["subject", "correct", "m.plica", "manual", "Faults/Fault 1", other]).failed(2);
    assert_eq!(place.run(&["check", "m.plica"]).code, 0);
}
