//! `plica ask`, and the story that ships with the repository.

use crate::place::{Place, harbour, keys};
use std::fs;
use std::path::Path;

#[test]
fn ask_builds_extends_and_rebuilds() {
    let place = Place::new();
    let commit = || place.json(&["stat", "h.txt.plica"])["sequence"].as_u64().unwrap();
    let of = || place.run(&["cat", "h.txt.plica", "h.txt"]).good();
    place.write("h.txt", harbour());
    let human = place.run(&["ask", "h.txt", "Who is Berta Holm?"]).good();
    assert!(human.contains("why: ") && human.contains("Berta Holm"), "{human}");
    let built = commit();
    let answer = place.json(&["ask", "h.txt", "church bell", "-k", "3"]);
    assert_eq!(keys(&answer), ["query", "doc", "stats", "hits"]);
    assert!(answer["hits"][0]["explain"].is_object());
    assert_eq!(commit(), built, "nothing changed, so nothing is written");

    let longer = format!("{}\nThen the bell was hung in the chapel of Vann.\n", harbour());
    place.write("h.txt", &longer);
    let answer = place.json(&["ask", "h.txt", "chapel"]);
    assert!(answer["hits"][0]["text"].as_str().unwrap().contains("chapel"));
    assert!(commit() > built, "a longer file extends the index");
    assert_eq!(of(), longer);

    place.write("h.txt", "A zebra came to Vann. ".repeat(3));
    place.write("h.txt.plica.new", fs::read(place.path("h.txt.plica")).unwrap());
    let answer = place.json(&["ask", "h.txt", "zebra"]);
    assert_eq!(answer["hits"].as_array().unwrap().len(), 1);
    assert_eq!(of(), "A zebra came to Vann. ".repeat(3));
    assert!(!place.path("h.txt.plica.new").exists());
    // What stands where the new index is to be built is left alone where it is nothing of the kind.
    place.write("h.txt.plica.new", "my own file");
    place.write("h.txt", "A gnu came to Vann. ");
    let error = place.run(&["ask", "h.txt", "gnu"]).failed(1);
    assert!(error.contains("h.txt.plica.new is no index"), "{error}");
    assert_eq!(of(), "A zebra came to Vann. ".repeat(3));
    fs::remove_file(place.path("h.txt.plica.new")).unwrap();
    // Shorter than the index has it is changed, too.
    place.write("h.txt", "A zebra came to Vann. ");
    place.json(&["ask", "h.txt", "zebra"]);
    assert_eq!(of(), "A zebra came to Vann. ");
}

#[test]
fn ask_leaves_alone_what_is_not_its_own() {
    let place = Place::with_index();
    place.write("h.txt", harbour());
    place.write("h.txt.plica", "my own file");
    let error = place.run(&["ask", "h.txt", "bell"]).failed(1);
    assert!(error.contains("h.txt.plica is no index") && error.contains("plica build"), "{error}");
    assert_eq!(fs::read(place.path("h.txt.plica")).unwrap(), b"my own file");
    fs::copy(place.path("i.plica"), place.path("h.txt.plica")).unwrap();
    assert!(place.run(&["ask", "h.txt", "bell"]).failed(1).contains("2 documents"));
    assert!(place.run(&["ask", "i.plica", "bell"]).failed(1).contains("plica search"));
    assert!(place.run(&["ask", "none.txt", "bell"]).failed(1).contains("none.txt"));
    assert!(place.run(&["ask", ".", "bell"]).failed(1).contains("cannot read"));
}

#[cfg(target_os = "linux")]
#[test]
fn ask_says_what_to_do_where_it_cannot_write() {
    let place = Place::new();
    let error = place.run(&["ask", "/proc/version", "linux"]).failed(1);
    assert!(error.contains("plica build ELSEWHERE.plica /proc/version"), "{error}");
}

/// The README's first command: a passage that names nobody is found by who it tells of, and says so.
#[test]
fn the_story_answers_with_a_passage_that_names_nobody() {
    let place = Place::new();
    let story = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/story.txt");
    fs::copy(story, place.path("story.txt")).unwrap();
    for (question, name, described, names) in [
        ("Where did Ilse Maren hide the green book?", "Ilse Maren", "the lighthouse keeper", ["Ilse", "Maren"]),
        ("How did Jonas Pell get rid of the silver watch?", "Jonas Pell", "the ferry pilot", ["Jonas", "Pell"]),
        ("What became of Jonas Pell's silver watch?", "Jonas Pell", "the ferry pilot", ["Jonas", "Pell"]),
    ] {
        let answer = place.json(&["ask", "story.txt", question, "-k", "3"]);
        let hits = answer["hits"].as_array().unwrap();
        let hit = hits
            .iter()
            .find(|hit| {
                let text = hit["text"].as_str().unwrap();
                text.to_lowercase().contains(described) && !names.iter().any(|name| text.contains(name))
            })
            .unwrap_or_else(|| panic!("{question}: no such passage among the first three"));
        let records = hit["explain"]["records"].as_array().unwrap();
        assert!(records.iter().any(|record| record["name"] == name), "{question}");
        assert!(hit["explain"]["memory"]["z"].as_f64().unwrap() > 0.0, "{question}");
        let human = place.run(&["ask", "story.txt", question]).good();
        assert!(human.contains(&format!("tells of {name}, here called \"{described}\"")), "{human}");
    }
}
