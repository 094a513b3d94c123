//! What the model makes of small texts, pattern by pattern, and of hostile ones.

use super::*;
use crate::ingest::Recalled;
use plica_format::limits::{DESCRIPTION_BYTES as MOST_DESCRIPTION_BYTES, KEY_BYTES};
use unicode_normalization::UnicodeNormalization;

fn read_with(title: &str, text: &str, recalled: &[Recalled]) -> Vec<EntityUpdate> {
    let input = UpdateInput { document: "d", document_title: "", ordinal: 0, title, text, recalled, history: &[] };
    Builtin.update(&input).unwrap()
}

fn read(title: &str, text: &str) -> Vec<EntityUpdate> {
    read_with(title, text, &[])
}

fn names(entities: &[EntityUpdate]) -> Vec<&str> {
    entities.iter().map(|e| e.name.as_str()).collect()
}

fn find<'a>(entities: &'a [EntityUpdate], name: &str) -> &'a EntityUpdate {
    entities.iter().find(|e| e.name == name).unwrap_or_else(|| panic!("no {name} among {:?}", names(entities)))
}

#[test]
fn words_that_only_start_sentences_are_no_names() {
    let text = "Upon the hill stood a mill. Perhaps Ada Quill knew it. Window panes shook; every window rattled.\n\n\
                CHAPTER II\n\nTHE STORM AT SEA\n\nNobody saw Hollin Reach that night. “Come,” said Ada.";
    assert_eq!(names(&read("", text)), ["Ada Quill", "Hollin Reach"]);
}

#[test]
fn a_name_at_the_start_needs_other_evidence() {
    assert_eq!(names(&read("", "Ada was late. The boat left.")), ["Ada"]);
    assert_eq!(names(&read("", "Rain fell, and the rain grew. We met Rosa. Rosa sang.")), ["Rosa"]);
}

#[test]
fn short_forms_join_the_one_longer_name() {
    let text = "Mr. Edgar Vane met Ada Quill. Ada laughed, said Vane later; Mr. Vane was sure of it.";
    let entities = read("", text);
    assert_eq!(names(&entities), ["Mr. Edgar Vane", "Ada Quill"]);
    assert_eq!(entities[0].aliases, ["Edgar Vane", "Mr. Vane", "Vane"]);
    assert_eq!(entities[1].aliases, ["Ada"]);
    assert_eq!(entities[0].kind, "person");
}

#[test]
fn a_surname_that_several_bear_is_no_alias() {
    let text = "Rosa Quill met Ada Quill, and Rosa said that Quill was a common name, said Ada.";
    let entities = read("", text);
    assert!(entities.iter().all(|e| e.name == "Quill" || !e.aliases.contains(&"Quill".to_owned())));
    let text = "Miss Quill came. “Quill never came,” said Mr. Orr.";
    assert!(find(&read("", text), "Miss Quill").aliases.is_empty());
}

#[test]
fn a_town_is_not_the_club_named_after_it() {
    let entities = read("", "The Marlow Rovers left Marlow in May. In Marlow the Rovers had no ground.");
    assert!(names(&entities).contains(&"Marlow"));
    assert!(find(&entities, "Marlow Rovers").aliases.iter().all(|a| a != "Marlow"));
}

#[test]
fn appositions_give_kinds_descriptions_and_aliases() {
    let entities = read(
        "",
        "That year Marta Voss, the lighthouse keeper, wrote to her cousin, Jon Hale. He met Ida Orr, a painter.",
    );
    let marta = find(&entities, "Marta Voss");
    assert_eq!(
        (marta.kind.as_str(), marta.aliases.as_slice()),
        ("person", ["the lighthouse keeper".to_owned()].as_slice())
    );
    assert!(marta.descriptions.contains(&"the lighthouse keeper".to_owned()));
    assert_eq!(find(&entities, "Jon Hale").descriptions[0], "her cousin");
    let ida = find(&entities, "Ida Orr");
    assert_eq!((ida.descriptions[0].as_str(), ida.aliases.len()), ("a painter", 0));
    let reverse = read("", "In May the master of Hollin Hall, Edgar Vane, came home.");
    assert_eq!(find(&reverse, "Edgar Vane").aliases, ["the master of Hollin Hall"]);
}

#[test]
fn a_list_is_no_apposition() {
    let entities = read("", "They asked Marta Voss, the lighthouse keeper, and the miller.");
    assert!(find(&entities, "Marta Voss").aliases.is_empty());
}

#[test]
fn definitions_describe_and_tell_the_kind() {
    let entities = read(
        "Hollin Reach",
        "Hollin Reach (formerly Holm) is a small fishing village in Carrow County. It has a mill.",
    );
    let place = find(&entities, "Hollin Reach");
    assert_eq!(place.kind, "place");
    assert_eq!(place.descriptions, ["a small fishing village in Carrow County"]);
    let county = find(&entities, "Carrow County");
    assert_eq!(county.kind, "place");
    assert_eq!(county.descriptions, ["Hollin Reach: Hollin Reach is a small fishing village in Carrow County."]);
}

#[test]
fn full_names_and_other_names_become_aliases() {
    let entities =
        read("Rob Ferris", "Robert James Ferris (born Robert Orr; 1 May 1901), also known as Red Bob, was a sailor.");
    let bob = find(&entities, "Rob Ferris");
    assert_eq!(bob.kind, "person");
    assert!(bob.aliases.contains(&"Red Bob".to_owned()), "{:?}", bob.aliases);
    let entities = read("Robert Ferris", "Robert James Ferris was a sailor. Ferris sang.");
    assert_eq!(find(&entities, "Robert Ferris").aliases, ["Robert James Ferris"]);
    assert_eq!(names(&entities), ["Robert Ferris"]);
}

#[test]
fn acronyms_in_brackets_are_aliases_either_way() {
    let entities =
        read("", "It joined the Northern Fisheries Board (NFB) and trained a long short-term memory (LSTM) net.");
    assert_eq!(find(&entities, "Northern Fisheries Board").aliases, ["NFB"]);
    assert_eq!(find(&entities, "long short-term memory").aliases, ["LSTM"]);
    let entities = read("", "The NFB (Northern Fisheries Board) closed.");
    assert_eq!(find(&entities, "Northern Fisheries Board").aliases, ["NFB"]);
    assert!(find(&read("", "They left Hollin Reach (NFB) then."), "Hollin Reach").aliases.is_empty());
}

#[test]
fn an_acronym_that_a_recalled_record_has_is_left_alone() {
    let known = Recalled {
        name: "National Farmers Bank".into(),
        kind: String::new(),
        aliases: vec!["NFB".into()],
        descriptions: vec![],
    };
    let entities = read_with("", "It joined the Northern Fisheries Board (NFB).", &[known]);
    assert!(find(&entities, "Northern Fisheries Board").aliases.is_empty());
}

#[test]
fn a_chunk_that_names_nobody_is_linked_by_a_description() {
    let marta = Recalled {
        name: "Marta Voss".into(),
        kind: "person".into(),
        aliases: vec!["the lighthouse keeper".into()],
        descriptions: vec![],
    };
    let text = "All night the old lamp burned. The lighthouse keeper climbed the stairs twice.";
    let entities = read_with("", text, std::slice::from_ref(&marta));
    assert_eq!(names(&entities), ["Marta Voss"]);
    assert_eq!(entities[0].descriptions, ["The lighthouse keeper climbed the stairs twice."]);
    assert!(read_with("", "A lighthouse keeper climbed the stairs.", &[marta]).is_empty());
}

#[test]
fn those_who_are_only_described_get_a_record() {
    let entities = read("", "It was the second Quill daughter who spoke to the steward of Hollin Hall.");
    assert_eq!(find(&entities, "the second Quill daughter").kind, "person");
    assert_eq!(find(&entities, "the steward of Hollin Hall").kind, "person");
}

#[test]
fn a_first_name_is_resolved_by_the_one_record_it_fits() {
    let person =
        |name: &str| Recalled { name: name.into(), kind: "person".into(), aliases: vec![], descriptions: vec![] };
    let text = "That evening Rosa said nothing.";
    let one = read_with("", text, &[person("Rosa Hale")]);
    assert_eq!((names(&one), one[0].aliases.as_slice()), (vec!["Rosa Hale"], ["Rosa".to_owned()].as_slice()));
    assert_eq!(names(&read_with("", text, &[person("Rosa Hale"), person("Rosa Orr")])), ["Rosa"]);
}

#[test]
fn titles_that_name_nothing_are_no_records() {
    for title in ["Chapter IV", "Introduction", "Results and Discussion", "12", "how it began"] {
        assert!(read(title, "it rained.").is_empty(), "{title}");
    }
    assert_eq!(names(&read("Mercury (planet)", "it is hot.")), ["Mercury (planet)", "Mercury"]);
}

#[test]
fn curly_quotes_and_italics_do_not_stick_to_names() {
    let entities = read("", "He sailed in the _Grey Heron_ to see Ada’s aunt, and “The Salt Road” lay open.");
    assert!(names(&entities).contains(&"Grey Heron") && names(&entities).contains(&"Ada"), "{:?}", names(&entities));
    assert_eq!(find(&entities, "The Salt Road").kind, "work");
}

/// Repeats a piece up to a size.
fn long(piece: &str) -> String {
    piece.repeat((8 << 10) / piece.len())
}

fn hostile() -> Vec<String> {
    let pieces = [
        "A",
        "Ab ",
        ".",
        "\u{301}",
        "a\u{301}",
        "A.",
        "A. ",
        "\"A\" ",
        "(",
        "(AB) ",
        "Aa Bb (AB) ",
        "ABC ",
        "\0",
        "\n",
        "’s ",
        "Ab of the ",
        "Ab is a man. ",
        "the king of Ab ",
        "Ab, the king of Cd, ",
        "Ab (née Cd) ",
        "漢字。",
        "ǅ ",
        "İI ",
        "ß-",
        "(A (b ",
        "``''",
        "_A_",
        "1. ",
        "\u{feff}",
        "🦀 Ab ",
    ];
    let mut texts: Vec<String> = pieces.iter().map(|p| long(p)).collect();
    let (a, b) = ("a".repeat(5000), "b".repeat(5000));
    texts.push(format!("They saw {a} {b} (AB) and AB ({a} {b}), the king of {a}."));
    texts.push(format!("They saw A{0} A{0}, the king of A{0}, there.", "\u{fdfa}".repeat(70)));
    texts.push((0..2_000).map(|i| format!("N{i:x} ")).collect());
    texts
}

#[test]
fn hostile_text_stays_within_the_limits() {
    let hostile = hostile();
    for text in &hostile {
        let known = Recalled {
            name: text.clone(),
            kind: "person".into(),
            aliases: vec!["the king of Ab".into()],
            descriptions: vec![],
        };
        for (title, text) in [("", text.as_str()), (text.as_str(), "Ab is a man.")] {
            for e in read_with(title, text, std::slice::from_ref(&known)) {
                assert!(!e.name.trim().is_empty());
                let key = |n: &String| n.nfkc().flat_map(char::to_lowercase).collect::<String>();
                assert!(e.aliases.iter().chain([&e.name]).all(|n| key(n).len() <= KEY_BYTES));
                assert!(e.descriptions.iter().all(|d| d.len() <= MOST_DESCRIPTION_BYTES));
            }
        }
        for limit in [0, 7, 4096] {
            let input = FoldInput {
                document: "",
                document_title: "",
                level: 1,
                index: 0,
                units: &[text, "", text],
                limit_bytes: limit,
            };
            assert!(Builtin.fold(&input).unwrap().len() <= limit);
        }
    }
}

#[test]
fn the_same_input_gives_the_same_answer() {
    let text = "Mr. Edgar Vane, the master of Hollin Hall, met Ada Quill (born Ada Orr) at the Northern Fisheries Board (NFB).";
    assert_eq!(read("Hollin", text), read("Hollin", text));
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_without_panic(title in ".{0,40}", text in "(.|[A-Z][a-z]{0,3}|[ ,.()'’\"“”_\n-]|the |of |is a |king |Mr. ){0,120}", limit in 0usize..500) {
        let recalled = [Recalled { name: title.clone(), kind: "person".into(), aliases: vec!["the king".into(), text.clone()], descriptions: vec![] }];
        for e in read_with(&title, &text, &recalled) {
            proptest::prop_assert!(!e.name.trim().is_empty());
        }
        let input = FoldInput { document: "", document_title: "", level: 1, index: 0, units: &[&text, &title], limit_bytes: limit };
        proptest::prop_assert!(Builtin.fold(&input).unwrap().len() <= limit);
    }
}
