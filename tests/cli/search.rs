//! `plica search`.

use crate::place::{Place, keys};
use serde_json::Value;

#[test]
fn search_answers_with_stable_keys() {
    let place = Place::with_index();
    let answer = place.json(&["search", "i.plica", "church bell", "-k", "2"]);
    assert_eq!(keys(&answer), ["query", "doc", "stats", "hits"]);
    assert_eq!(answer["stats"], "collection");
    assert_eq!(answer["doc"], Value::Null);
    let hit = &answer["hits"][0];
    assert_eq!(keys(hit), ["rank", "id", "chunk", "doc", "ordinal", "score", "text", "start", "end"]);
    assert_eq!(answer["hits"].as_array().unwrap().len(), 2);
    assert!(hit["text"].as_str().unwrap().contains("bell"));
    let second = place.json(&["search", "i.plica", "church bell", "-k", "1", "--offset", "1"]);
    assert_eq!(second["hits"][0], answer["hits"][1]);

    let line = place.run(&["search", "i.plica", "bell", "--doc", "harbour.txt", "--json"]).good();
    assert!(line.starts_with("{\"query\":\"bell\",\"doc\":\"harbour.txt\",\"stats\":\"document\",\"hits\":["));
    for score in line.split("\"score\":").skip(1) {
        let (_, decimals) = score.split_once(',').unwrap().0.split_once('.').unwrap();
        assert!(decimals.len() >= 6, "{score}");
    }

    let explained = place.json(&["search", "i.plica", "Berta Holm", "--doc", "harbour.txt", "--explain"]);
    let explain = &explained["hits"][0]["explain"];
    assert_eq!(keys(explain), ["text", "memory", "summary", "records", "covering_summary"]);
    assert_eq!(keys(&explain["memory"]), ["raw", "z", "weight"]);
    assert_eq!(keys(&explain["records"][0]), ["name", "aliases", "descriptions", "scores"]);
    assert_eq!(explain["records"][0]["name"], "Berta Holm");

    let human = place.run(&["search", "i.plica", "church bell", "--explain"]).good();
    assert!(human.starts_with("1. harbour.txt#") && human.contains("why: text"), "{human}");
    assert!(!human.contains('\x1b'));
    assert!(place.run(&["search", "i.plica", "zebra"]).good().starts_with("no hits"));
    let all = place.json(&["search", "i.plica", "zebra", "--all", "--pool", "all", "-k", "100"]);
    assert!(all["hits"].as_array().unwrap().len() > 5);
    for wrong in [["--weights", "1,2"], ["--pool", "0"], ["--where", "x"], ["-k", "0"], ["--b", "2"]] {
        assert_eq!(place.run(&["search", "i.plica", "bell", wrong[0], wrong[1]]).code, 2);
    }
}

#[test]
fn queries_come_by_the_line() {
    let place = Place::with_index();
    let queries = "church bell\n{\"_id\":\"q7\",\"text\":\"bell\",\"metadata\":{\"doc_id\":\"sub/notes.md\"}}\n\n";
    place.write("queries.txt", queries);
    let arguments = ["search", "i.plica", "--queries", "queries.txt", "--json", "--doc", "harbour.txt", "--timings"];
    let out = place.run(&arguments).good();
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(keys(&lines[0]), ["query", "doc", "stats", "hits", "micros"]);
    assert_eq!(keys(&lines[1]), ["_id", "query", "doc", "stats", "hits", "micros"]);
    assert_eq!((&lines[0]["doc"], &lines[1]["doc"]), (&"harbour.txt".into(), &"sub/notes.md".into()));
    assert_eq!(lines[1]["_id"], "q7");
    // Answers stay in step with the lines, empty ones included.
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2]["hits"], Value::Array(vec![]));

    let piped = place.run_with(&["search", "i.plica", "--queries", "-", "--json"], "bell\n").json();
    assert_eq!(piped["query"], "bell");
    let wrong = place.run_with(&["search", "i.plica", "--queries", "-"], "bell\n{\"text\":\n").failed(1);
    assert!(wrong.contains("line 2"), "{wrong}");
    let unknown = place.run_with(&["search", "i.plica", "--queries", "-", "--doc", "x"], "bell\n").failed(1);
    assert!(unknown.contains("\"x\""), "{unknown}");
}

#[test]
fn several_indexes_answer_as_one() {
    let place = Place::new();
    for name in ["a", "b", "c"] {
        place
            .write(&format!("{name}.txt"), format!("The bell of {name} rings at noon. The keeper sleeps. ").repeat(40));
    }
    place.run(&["build", "whole.plica", "a.txt", "b.txt", "c.txt", "--chunk-words", "50"]).good();
    place.run(&["build", "one.plica", "b.txt", "--chunk-words", "50"]).good();
    place.run(&["build", "two.plica", "a.txt", "c.txt", "--chunk-words", "50"]).good();
    for options in [&[][..], &["--doc", "b.txt"], &["--explain", "-k", "3"], &["--stats", "document"]] {
        let ask = |files: &[&str]| {
            let arguments = [&["search"], files, &["bell of b", "--json"], options].concat();
            place.run(&arguments).good()
        };
        assert_eq!(ask(&["two.plica", "one.plica"]), ask(&["whole.plica"]), "{options:?}");
    }
    place.write("queries.txt", "bell\nkeeper\n");
    let lines =
        |files: &[&str]| place.run(&[&["search"], files, &["--queries", "queries.txt", "--json"]].concat()).good();
    assert_eq!(lines(&["one.plica", "two.plica"]), lines(&["whole.plica"]));

    assert!(place.run(&["search", "one.plica", "whole.plica", "bell"]).failed(1).contains("\"b.txt\""));
    assert!(place.run(&["search", "one.plica", "none.plica", "bell"]).failed(1).contains("none.plica"));
    let mistaken = place.run(&["search", "one.plica", "bell", "--queries", "queries.txt"]).failed(1);
    assert!(mistaken.contains("--queries"), "{mistaken}");
    assert_eq!(place.run(&["search", "one.plica", "two.plica", "bell", "--at", "1"]).code, 2);
    assert_eq!(place.run(&["search", "one.plica", "two.plica"]).code, 2);
}
