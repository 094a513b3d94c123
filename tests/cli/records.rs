//! Symbolic keys to passages: `records`, `hop`, `record`.

use crate::place::{Place, keys};
use serde_json::Value;

const LINES: &str = r#"{"type":"document","doc":"pride"}
{"type":"chunk","doc":"pride","id":"pride:0","text":"Jane and Elizabeth are sisters."}
{"type":"chunk","doc":"pride","id":"pride:1","text":"Mr. Darcy admires Elizabeth."}
{"type":"chunk","doc":"pride","text":"Pemberley is Mr. Darcy's."}
{"type":"record","doc":"pride","entity":"Jane Bennet","entity_type":"person","kind":"relation","label":"sister_of","value":"Elizabeth Bennet","chunks":["pride:0"]}
{"type":"record","doc":"pride","entity":"Elizabeth Bennet","entity_type":"person","kind":"relation","label":"admired_by","value":"Mr. Darcy","condition":{"label":"since","value":"the ball"},"valid":"1811","chunks":["pride:1"]}
{"type":"record","doc":"pride","entity":"Mr. Darcy","entity_type":"person","kind":"property","label":"estate","value":"Pemberley","coarse":"wealth","chunks":["pride#2"]}
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("lines.jsonl", LINES);
    let said = place.run(&["import", "i.plica", "lines.jsonl"]).good();
    assert!(said.contains("3 record lines"), "{said}");
    place
}

#[test]
fn records_are_looked_up_and_lead_to_passages() {
    let place = place();
    let found = place.json(&["records", "i.plica", "--entity", "elizabeth bennet", "--label", "Admired by"]);
    assert_eq!(keys(&found), ["records", "passages"]);
    let record = &found["records"][0];
    assert_eq!(keys(record), ["entity", "entity_type", "kind", "label", "value", "condition", "score", "passages"]);
    assert_eq!((&record["value"], &record["passages"][0]), (&Value::from("Mr. Darcy"), &Value::from("pride:1")));
    assert_eq!(record["condition"], serde_json::json!({"label":"since","value":"the ball"}));
    assert_eq!(record["score"], 1.0);
    let passage = &found["passages"][0];
    assert_eq!(keys(passage), ["id", "chunk", "doc", "ordinal", "score", "text"]);
    assert_eq!((&passage["id"], &passage["chunk"]), (&Value::from("pride:1"), &Value::from("pride#1")));
    assert_eq!(passage["text"], "Mr. Darcy admires Elizabeth.");
    let none = place.json(&["records", "i.plica", "--entity", "Jane Bennet", "--kind", "property"]);
    assert_eq!(none, serde_json::json!({"records":[],"passages":[]}));
    let begun = place.json(&["records", "i.plica", "--entity", "J", "--prefix"]);
    assert_eq!(begun["records"][0]["condition"], Value::Null);
    assert_eq!(place.json(&["records", "i.plica"])["records"].as_array().unwrap().len(), 3);
    let shown = place.run(&["records", "i.plica", "--entity", "Jane Benet", "--fuzzy", "1"]).good();
    assert!(shown.contains("sister_of: Elizabeth Bennet") && shown.contains("similar names were taken"), "{shown}");
}

#[test]
fn vocabularies_are_listed_with_counts() {
    let place = place();
    let labels = place.json(&["records", "i.plica", "--vocabulary", "label"]);
    let one = |value: &str| serde_json::json!({"value": value, "count": 1});
    assert_eq!(
        labels,
        serde_json::json!({"field":"label","values":[one("admired_by"), one("estate"), one("sister_of")]})
    );
    let of = place.json(&["records", "i.plica", "--vocabulary", "label", "--entity", "Mr. Darcy", "--type", "person"]);
    assert_eq!(of["values"], serde_json::json!([one("estate")]));
    let begun = place.json(&["records", "i.plica", "--vocabulary", "entity", "--entity", "jane", "--prefix"]);
    assert_eq!(begun["values"], serde_json::json!([one("Jane Bennet")]));
    let types = place.run(&["records", "i.plica", "--vocabulary", "type"]).good();
    assert_eq!(types, "records  type\n      3  person\n");
    assert_eq!(place.run(&["records", "i.plica", "--vocabulary", "label", "--value", "x"]).code, 2);
    assert_eq!(place.json(&["stat", "i.plica"])["records"], 3);
}

#[test]
fn a_plan_is_run_from_a_file_and_from_standard_input() {
    let place = place();
    let plan = r#"{"hops":[{"id":"h1","match":{"entity":"Jane Bennet","label":"sister_of"},"mode":"point"},{"id":"h2","match":{"entity":"$h1.value","label":"admired_by"},"mode":"all"},{"id":"h3","match":{"entity":"$h2.value","label":"wealth"},"mode":"all"}]}"#;
    place.write("plan.json", plan);
    let answer = place.json(&["hop", "i.plica", "--plan", "plan.json"]);
    assert_eq!(keys(&answer), ["hops"]);
    assert_eq!(keys(&answer["hops"][0]), ["id", "bindings", "passages"]);
    assert_eq!(keys(&answer["hops"][2]["bindings"][0]), ["entity", "entity_type", "kind", "label", "value"]);
    assert_eq!(answer["hops"][2]["bindings"][0]["value"], "Pemberley");
    assert_eq!(answer["hops"][2]["passages"][0]["id"], "pride#2");
    let shown = place.run(&["hop", "i.plica", "--plan", "plan.json"]).good();
    assert!(shown.contains("h3  1 binding"), "{shown}");
    place.write("plan.json", plan.replace("$h1", "$h9"));
    let refused = place.run(&["hop", "i.plica", "--plan", "plan.json"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("no hop \"h9\""), "{}", refused.err);
}

#[test]
fn records_are_corrected_and_removed_one_at_a_time() {
    let place = place();
    let old = r#"{"doc":"pride","entity":"mr. darcy","entity_type":"Person","label":"estate","value":"pemberley"}"#;
    let new =
        r#"{"doc":"pride","entity":"Mr. Darcy","entity_type":"person","label":"estate","value":"Pemberley House"}"#;
    let said = place.run(&["record", "correct", "i.plica", old, new]).good();
    assert!(said.contains("corrected 1 record"), "{said}");
    let found = place.json(&["records", "i.plica", "--entity", "Mr. Darcy"]);
    assert_eq!(found["records"][0]["value"], "Pemberley House");
    assert_eq!(found["records"][0]["passages"][0], "pride#2");
    assert_eq!(place.run(&["record", "remove", "i.plica", old]).code, 1);
    let removed = place.run(&["record", "remove", "i.plica", new, "--json"]).good();
    let removed: Value = serde_json::from_str(&removed).unwrap();
    assert_eq!((keys(&removed), &removed["records"]), (vec!["commit", "records"], &Value::from(1)));
    assert_eq!(place.json(&["records", "i.plica"])["records"].as_array().unwrap().len(), 2);
    assert_eq!(place.run(&["check", "i.plica"]).code, 0);
}
