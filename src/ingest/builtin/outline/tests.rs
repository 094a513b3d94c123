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

/// Reads a text with the built-in model, and gives its entity memory.
fn memory(text: &str) -> Vec<Linked> {
    use crate::ingest::{Reader, Source};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.plica");
    let mut writer = crate::Writer::create(&path, &crate::Options::new()).unwrap();
    Reader::new(Some(&Builtin)).build(&mut writer, Source { id: "d", text, ..Source::default() }).unwrap();
    let mut ends = vec![0];
    for chunk in crate::text::Chunker::default().chunks(text) {
        ends.push(ends[ends.len() - 1] + chunk.len());
    }
    let mut out = Vec::new();
    crate::Index::open(&path)
        .unwrap()
        .snapshot()
        .entities(Some("d"), |e| {
            let mut descriptions = e.descriptions;
            descriptions.truncate(4);
            let ordinal = |id: &String| id[2..].parse::<usize>().unwrap();
            let places = e.chunks.iter().map(ordinal).map(|n| ends[n]..ends[n + 1]).collect();
            let entity = KnownEntity {
                name: e.name,
                kind: e.kind,
                aliases: e.aliases,
                descriptions,
                chunks: e.chunks.len() as u32,
            };
            out.push((entity, places));
            Ok(())
        })
        .unwrap();
    out
}

/// Prints the outline of the file that `PLICA_OUTLINE` names, for a person to judge.
#[test]
#[ignore = "prints an outline"]
fn print_an_outline() {
    let text = std::fs::read_to_string(std::env::var("PLICA_OUTLINE").unwrap()).unwrap();
    let linked = memory(&text);
    let entities: Vec<KnownEntity> = linked.iter().map(|(e, _)| e.clone()).collect();
    let began = std::time::Instant::now();
    let (schema, subjects) = compiled_with(&text, &entities, &linked, 30_000, 2_000);
    println!("# {}\n{}\n({:?}, {} subjects)", schema.title, schema.summary, began.elapsed(), subjects.len());
    for category in &schema.categories {
        println!("\n## {}\n{}\nfields: {:?}", category.path.join(" > "), category.summary, category.fields);
        for ((_, _), subject) in subjects.iter().filter(|((path, _), _)| *path == category.path) {
            println!("* {} — {}", subject.name, subject.summary);
            for field in &subject.fields {
                println!("    {}: {}", field.name, field.value);
            }
            println!("    -> {}", subject.links.iter().map(|l| l.join("/")).collect::<Vec<_>>().join(", "));
        }
    }
}
