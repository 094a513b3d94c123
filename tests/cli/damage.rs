//! Checking and salvaging.

use crate::place::{Place, keys};
use std::fs;

/// Where the first text block is.
fn first_text(bytes: &[u8]) -> usize {
    use plica::format::block::{BLOCK_MAGIC, BlockKind};
    let is_text = |at: &usize| bytes[*at..].starts_with(&BLOCK_MAGIC) && bytes[at + 4] == BlockKind::Text as u8;
    (20_480..bytes.len()).step_by(16).find(is_text).unwrap()
}

#[test]
fn what_is_left_of_a_damaged_index_comes_into_a_new_one() {
    let place = Place::with_index();
    let export = place.run(&["export", "i.plica"]).good();
    let mut bytes = fs::read(place.path("i.plica")).unwrap();
    bytes[..20_480].fill(0);
    place.write("d.plica", &bytes);
    let check = place.run(&["check", "d.plica"]);
    assert!(check.code == 1 || check.code == 3, "{}", check.err);
    let new = place.json(&["salvage", "d.plica", "new.plica"]);
    assert_eq!(
        keys(&new),
        [
            "commit",
            "documents",
            "chunks",
            "summaries",
            "entities",
            "subjects",
            "records",
            "damage",
            "lost",
            "unvouched"
        ]
    );
    assert_eq!(keys(&new["damage"][0]), ["offset", "bytes", "what", "detail", "depends"]);
    assert_eq!(place.run(&["export", "new.plica"]).good(), export);
    let again = place.run(&["salvage", "d.plica", "new.plica"]).failed(1);
    assert!(again.contains("new.plica is there already"), "{again}");

    let text = first_text(&bytes);
    bytes[text + 50] ^= 1;
    place.write("d.plica", &bytes);
    let text = place.run(&["salvage", "d.plica", "n2.plica"]);
    assert_eq!(text.code, 3, "{}", text.err);
    assert!(text.out.contains("lost: chunk 0"), "{}", text.out);
    assert!(text.out.contains("n2.plica: ") && text.out.contains("of d.plica, as of commit"), "{}", text.out);
    assert!(place.run(&["export", "n2.plica"]).good().contains(r#""salvage":{"lost_chunks":[["#));
    assert_eq!(place.run(&["check", "n2.plica"]).code, 0);
    place.write("text.plica", "no index");
    let none = place.run(&["salvage", "text.plica", "n3.plica"]).failed(1);
    assert!(none.contains("nothing can be salvaged from text.plica"), "{none}");
    assert!(!place.path("n3.plica").exists());
}

#[test]
fn a_check_names_damage_and_what_needs_it() {
    let place = Place::with_index();
    let mut bytes = fs::read(place.path("i.plica")).unwrap();
    let text = first_text(&bytes);
    bytes[text + 50] ^= 1;
    place.write("d.plica", &bytes);
    for arguments in [&["check", "d.plica"][..], &["check", "d.plica", "--quick"]] {
        let check = place.run(arguments);
        assert_eq!(check.code, 3, "{}", check.err);
        assert!(check.out.starts_with(&format!("damaged text block at offset {text}, ")), "{}", check.out);
        assert!(check.out.contains("\n  needed for texts of chunks 0"), "{}", check.out);
        assert!(check.out.contains("plica salvage d.plica NEW"), "{}", check.out);
    }
    assert!(place.run(&["check", "i.plica", "--quick"]).good().starts_with("sound: "));
}
