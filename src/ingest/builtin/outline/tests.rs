//! Outlines of small texts, and what holds of any.

use super::*;
use crate::ingest::{KnownEntity, SubjectUpdate};
use crate::text::key;
use std::collections::BTreeMap;

fn known(name: &str, kind: &str, chunks: u32) -> KnownEntity {
    KnownEntity { name: name.into(), kind: kind.into(), aliases: vec![], descriptions: vec![], chunks }
}

fn discovered(text: &str, entities: &[KnownEntity]) -> Schema {
    Builtin.discover(&DiscoverInput { document: "d", document_title: "", text, entities }).unwrap()
}

/// Compiles a text in pieces of so many bytes, and checks every value. Subjects that are found again grow.
fn compiled(text: &str, entities: &[KnownEntity], piece: usize, overlap: usize) -> Outline {
    compiled_with(text, entities, &[], piece, overlap)
}

/// The categories, and the subjects by category and key.
type Outline = (Schema, BTreeMap<(Vec<String>, String), SubjectUpdate>);
/// A record with the places of the chunks that it is linked to.
type Linked = (KnownEntity, Vec<std::ops::Range<usize>>);

/// The same, each piece with those records alone that are linked to its chunks, where `linked` has any.
fn compiled_with(text: &str, entities: &[KnownEntity], linked: &[Linked], piece: usize, overlap: usize) -> Outline {
    let schema = discovered(text, entities);
    let mut out: BTreeMap<(Vec<String>, String), SubjectUpdate> = BTreeMap::new();
    let (mut at, mut context, mut seen) = (0, String::new(), 0);
    loop {
        let end = text.floor_char_boundary((at + piece).min(text.len()));
        let part = &text[at..end];
        let near: Vec<KnownEntity> = linked
            .iter()
            .filter(|(_, places)| places.iter().any(|p| p.start < end && p.end > at))
            .map(|(e, _)| e.clone())
            .collect();
        let entities = if linked.is_empty() { entities } else { &near };
        let input = ExtractInput {
            document: "d",
            document_title: "",
            schema: &schema,
            text: part,
            overlap: seen - at,
            context: &context,
            entities,
        };
        let found = Builtin.extract(&input).unwrap();
        assert!(found.context.len() <= 1024);
        for update in found.subjects {
            checked(&schema, part, &update);
            let subject = out.entry((update.category.clone(), key(&update.name))).or_insert_with(|| SubjectUpdate {
                category: update.category.clone(),
                name: update.name.clone(),
                ..SubjectUpdate::default()
            });
            if subject.summary.is_empty() {
                subject.summary = update.summary;
            }
            for mut field in update.fields {
                field.span = field.span.map(|(a, b)| (at + a, at + b));
                if !subject.fields.iter().any(|f| f.name == field.name && f.value == field.value) {
                    subject.fields.push(field);
                }
            }
            for link in update.links {
                if !subject.links.contains(&link) {
                    subject.links.push(link);
                }
            }
        }
        context = found.context;
        if end == text.len() {
            return (schema, out);
        }
        (seen, at) = (end, text.ceil_char_boundary(end.saturating_sub(overlap).max(at + 1)));
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn checked(schema: &Schema, part: &str, update: &SubjectUpdate) {
    assert!(schema.categories.iter().any(|c| c.path == update.category), "no category {:?}", update.category);
    assert!(!update.name.is_empty() && update.name.len() <= 1024 && update.name.split_whitespace().count() <= 100);
    assert!(update.summary.split_whitespace().count() <= 60 && update.summary.len() <= 480);
    assert!(update.links.len() <= LINKS);
    for field in &update.fields {
        let (start, end) = field.span.expect("every value has its place");
        assert!(!field.name.is_empty() && !field.value.is_empty());
        assert!(
            squeezed(&part[start..end]).contains(&field.value),
            "{:?} is not in {:?}",
            field.value,
            &part[start..end]
        );
    }
}

fn manual() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/manual.md")).unwrap()
}

fn find<'a>(outline: &'a Outline, path: &[&str], name: &str) -> &'a SubjectUpdate {
    let path: Vec<String> = path.iter().map(|s| (*s).to_owned()).collect();
    let names = || outline.1.keys().map(|(p, n)| format!("{}: {n}", p.join("/"))).collect::<Vec<_>>();
    outline.1.get(&(path.clone(), key(name))).unwrap_or_else(|| panic!("no {name} in {path:?}, but {:#?}", names()))
}

fn values<'a>(subject: &'a SubjectUpdate, field: &str) -> Vec<&'a str> {
    subject.fields.iter().filter(|f| f.name == field).map(|f| f.value.as_str()).collect()
}

#[test]
fn headings_of_a_manual_are_its_categories() {
    let text = manual();
    let outline = compiled(&text, &[], 30_000, 2_000);
    let schema = &outline.0;
    assert_eq!(schema.title, "Tarn Kiln Controller Manual");
    assert!(schema.summary.split_whitespace().count() < 100 && schema.summary.contains("controller for pottery kilns"));
    let top: Vec<&str> = schema.categories.iter().filter(|c| c.path.len() == 1).map(|c| c.path[0].as_str()).collect();
    let expected = [
        "Safety",
        "Parts",
        "Installation",
        "Programs",
        "Operation",
        "Faults",
        "Maintenance",
        "Warranty",
        "Glossary",
        FURTHER,
    ];
    assert_eq!(top, expected);
    let thermocouple = find(&outline, &["Parts"], "Thermocouple");
    assert!(thermocouple.summary.starts_with("A thermocouple is a pair of wires"));
    assert_eq!(values(thermocouple, "Part number"), ["TK-207"]);
    assert!(values(thermocouple, "definition")[0].starts_with("a pair of wires"));
    let fault = find(&outline, &["Faults"], "Fault 3");
    assert_eq!(values(fault, "Cause"), ["a welded contactor"]);
    assert!(fault.links.contains(&vec!["Contactor".to_owned()]));
    // Rows of a table with many columns are subjects of their section's category; of one with two, fields.
    let cone = find(&outline, &["Programs", "Cones"], "Cone 6");
    assert_eq!((values(cone, "Slow firing"), values(cone, "Use")), (vec!["1,222 °C"], vec!["stoneware"]));
    assert_eq!(
        values(find(&outline, &["Operation"], "Firing log"), "probe"),
        ["temperature of the first thermocouple"]
    );
    assert_eq!(
        values(find(&outline, &["Glossary"], "Glossary"), "Hold"),
        ["the time for which a segment keeps its target."]
    );
    assert!(outline.1.keys().all(|(_, name)| !name.contains("terminal strip")), "code is no heading");
    assert_eq!(values(find(&outline, &[FURTHER], "Tarn Kiln Controller Manual"), "Model"), ["Tarn 4"]);
}

#[test]
fn pieces_of_any_size_give_the_same_values() {
    let ledger = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/ledger.md")).unwrap();
    // A manual of several volumes, and a long ledger.
    let volumes = ["", "Second ", "Third "].map(|volume| {
        manual().replace("\n## ", &format!("\n## {volume}")).replacen("# Tarn", "Tarn", usize::from(!volume.is_empty()))
    });
    let row = ledger.lines().find(|line| line.starts_with("| No.")).unwrap().to_owned();
    let rows: String = (1000..1600).map(|i| format!("{}\n", row.replace("No. 1", &format!("No. {i}")))).collect();
    for text in [volumes.concat(), ledger.replace(&format!("{row}\n"), &rows)] {
        let whole = compiled(&text, &[], 1 << 20, 0);
        for piece in [20_100, 21_700, 26_300, 30_000] {
            let parts = compiled(&text, &[], piece, 2_000);
            assert_eq!(parts.0, whole.0);
            assert_eq!(parts.1.keys().collect::<Vec<_>>(), whole.1.keys().collect::<Vec<_>>(), "{piece}");
            for (key, subject) in &whole.1 {
                let mut one: Vec<(&str, &str)> =
                    subject.fields.iter().map(|f| (f.name.as_str(), f.value.as_str())).collect();
                let mut other: Vec<(&str, &str)> =
                    parts.1[key].fields.iter().map(|f| (f.name.as_str(), f.value.as_str())).collect();
                one.sort_unstable();
                other.sort_unstable();
                assert_eq!(one, other, "{key:?} in pieces of {piece}");
                assert_eq!(subject.summary, parts.1[key].summary, "{key:?} in pieces of {piece}");
            }
        }
    }
}

#[test]
fn a_section_that_discovery_did_not_see_is_a_further_one() {
    let schema = discovered(&manual(), &[]);
    let text = "## Recycling\n\nThe casing is steel.\n\n### Batteries\n\n**Where:** the depot\n\n## Parts\n\n### Door Switch\n\nIt stops the heat.\n";
    let input = ExtractInput {
        document: "d",
        document_title: "",
        schema: &schema,
        text,
        overlap: 0,
        context: "",
        entities: &[],
    };
    let found = Builtin.extract(&input).unwrap();
    let places: Vec<(String, &str)> = found.subjects.iter().map(|s| (s.category.join("/"), s.name.as_str())).collect();
    let expected = [(FURTHER, "Recycling"), (FURTHER, "Recycling / Batteries"), ("Parts", "Door Switch")];
    assert_eq!(places, expected.map(|(c, n)| (c.to_owned(), n)));
}

const TALE: &str = "THE FERRY\n\nCONTENTS\n\nPART ONE\n\nCHAPTER I\n\nCHAPTER II\n\nPART ONE\n\nCHAPTER I\n\nAda Quill was a ferryman’s daughter \
    in Hollin. “Yes,” said Ada Quill. “God knows Edgar Vane is late.”\n\nEdgar Vane’s sister, Rosa Vane, laughed.\n\nCHAPTER II\n\n\
    THE STORM\n\nIn March the river rose. Edgar Vane married Ada Quill in Hollin.\n\nEPILOGUE\n\nAll was well in Hollin, said Rosa Vane.\n";

fn cast() -> Vec<KnownEntity> {
    vec![
        known("Ada Quill", "person", 2),
        known("Edgar Vane", "person", 2),
        known("Rosa Vane", "person", 1),
        known("Hollin", "place", 2),
        known("God", "person", 1),
        known("Yes", "", 1),
        known("March", "", 1),
        known("Chapter", "", 3),
    ]
}

#[test]
fn a_tale_has_parts_chapters_and_a_cast() {
    let outline = compiled(TALE, &cast(), 30_000, 2_000);
    let paths: Vec<String> = outline.0.categories.iter().map(|c| c.path.join("/")).collect();
    assert_eq!(paths, ["Chapters", "Chapters/Part One", "People", "Places", OTHER, FURTHER]);
    let names: Vec<String> = outline.1.values().map(|s| format!("{}/{}", s.category.join("/"), s.name)).collect();
    let expected = [
        "Chapters/Epilogue",
        "Chapters/Part One/Chapter I",
        "Chapters/Part One/Chapter II: The Storm",
        "People/Ada Quill",
        "People/Edgar Vane",
        "People/Rosa Vane",
        "Places/Hollin",
    ];
    assert_eq!(names, expected);
    let ada = find(&outline, &["People"], "Ada Quill");
    assert!(ada.summary.starts_with("Ada Quill was a ferryman’s daughter"));
    assert_eq!(values(find(&outline, &["People"], "Rosa Vane"), "sister of"), ["Edgar Vane’s".trim_end_matches("’s")]);
    assert_eq!(values(find(&outline, &["People"], "Edgar Vane"), "sister"), ["Rosa Vane"]);
    assert_eq!(values(find(&outline, &["People"], "Edgar Vane"), "married"), ["Ada Quill"]);
    let storm = find(&outline, &["Chapters", "Part One"], "Chapter II: The Storm");
    assert_eq!((values(storm, "people"), values(storm, "places")), (vec!["Ada Quill", "Edgar Vane"], vec!["Hollin"]));
}

#[test]
fn seldom_named_things_of_a_long_text_are_left_out() {
    let text = format!("{}Ada Quill met Edgar Vane.", "The rain fell on. ".repeat(12_000));
    let mut entities = cast();
    entities[0].chunks = 40;
    let outline = compiled(&text, &entities, 30_000, 2_000);
    assert!(outline.0.categories[0].summary.contains("in at least 2 passages"));
    assert_eq!(outline.1.keys().map(|(_, name)| name.as_str()).collect::<Vec<_>>(), ["ada quill", "edgar vane"]);
}

#[test]
fn any_text_is_compiled_in_linear_time() {
    let entities = cast();
    for piece in [
        "#",
        "# a\n",
        "## a\n\n# b\n\n",
        "|",
        "|a|b|c|\n|-|-|-|\n",
        "| a ",
        "**a:** b\n",
        "**a** is b. ",
        "Ada Quill, the ",
        "Ada Quill’s ",
        "“",
        "CHAPTER I\n\n",
        "I\n\n",
        "```\n",
        "a: b\n",
        "\u{301}",
        "Ada Quill. ",
        "é",
        "[a](b)",
        "12 May ",
        "- ",
        "Title\n===\n\n",
    ] {
        let text = piece.repeat(60_000 / piece.len());
        compiled(&text, &entities, 30_000, 2_000);
    }
}

mod any {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_value_stands_where_it_says(pieces in prop::collection::vec(prop::sample::select(vec![
            "# One\n", "## Two\n\n", "### Three\n", "\n", "Ada Quill is a baker. ", "Edgar Vane, the mayor of Hollin, slept. ", "- Key: a\n  b\n",
            "**Key:** *value*\n", "| a | b | c |\n|---|---|---|\n", "| x | 2 | `3` |\n", "```\n", "CHAPTER I\n\n", "PART II\n\n", "Two\nlines, ",
            "“Ada,” he said. ", "\r\n", "é\u{301}", "**Zone** is a group. ", "\t", "A,B,C\n1,2,3\n4,5,6\n",
        ]), 0..80), piece in 40usize..400) {
            compiled(&pieces.concat(), &cast(), piece, piece / 3);
        }
    }
}
