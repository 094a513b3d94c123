//! What the tests share: a tiny model, and indexes in temporary folders.
#![allow(dead_code)]

use plica::ingest::{EntityUpdate, FoldInput, Model, UpdateInput};
use plica::{Result, Snapshot};
use std::path::PathBuf;

/// A model that takes capitalised words as entities, and first words as a summary.
pub struct Capitals;

impl Model for Capitals {
    fn update(&self, input: &UpdateInput<'_>) -> Result<Vec<EntityUpdate>> {
        let mut names: Vec<&str> = input
            .text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.chars().next().is_some_and(char::is_uppercase))
            .collect();
        names.sort_unstable();
        names.dedup();
        Ok(names
            .into_iter()
            .map(|name| EntityUpdate {
                name: name.to_owned(),
                kind: "name".into(),
                aliases: vec![format!("{name} of chunk {}", input.ordinal % 3)],
                descriptions: vec![format!("seen beside {}", input.recalled.first().map_or("none", |r| &r.name))],
            })
            .collect())
    }

    fn fold(&self, input: &FoldInput<'_>) -> Result<String> {
        let starts = input.units.iter().map(|unit| unit.split(' ').take(6).collect::<Vec<_>>().join(" "));
        let mut summary = starts.collect::<Vec<_>>().join("; ");
        while summary.len() > input.limit_bytes {
            summary.pop();
        }
        Ok(summary)
    }
}

/// A place for an index.
pub struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// Sentences about a few people, the same for the same number.
pub fn sentences(seed: u32, count: u32) -> String {
    let people = ["Anna", "Bruno", "Clara", "Dorian", "Elif", "Farid", "Greta", "Hideo"];
    let verbs = ["met", "wrote to", "waited for", "followed", "painted", "forgot"];
    let places = ["the harbour", "the old mill", "Marsh Lane", "the library", "a garden in Tarn", "the station"];
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let mut next = |n: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % n
    };
    let mut out = String::new();
    for _ in 0..count {
        out.push_str(&format!(
            "{} {} {} at {} on day {}. ",
            people[next(people.len())],
            verbs[next(verbs.len())],
            people[next(people.len())],
            places[next(places.len())],
            next(30)
        ));
    }
    out
}

/// Everything that a snapshot answers, in one string: documents, chunks, trees, records, and searches to the bit.
pub fn everything(snapshot: &Snapshot) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    for document in snapshot.documents().unwrap() {
        writeln!(out, "{document:?}").unwrap();
        for ordinal in 0..document.chunks {
            writeln!(out, "{:?}", snapshot.chunk_at(&document.id, ordinal).unwrap()).unwrap();
            writeln!(out, "{:?}", snapshot.covering_summaries(&document.id, ordinal).unwrap()).unwrap();
        }
        writeln!(out, "{:?}", snapshot.tree(&document.id, &[]).unwrap()).unwrap();
        snapshot
            .entities(Some(&document.id), |entity| {
                writeln!(out, "{entity:?}").unwrap();
                Ok(())
            })
            .unwrap();
    }
    for question in
        ["Anna at the mill", "who painted Greta", "seen beside Clara", "day 7 harbour garden Tarn", "nothing"]
    {
        let mut queries = vec![plica::Query::new(question).k(50).explain(true)];
        for document in snapshot.documents().unwrap() {
            queries.push(plica::Query::new(question).document(document.id).k(50).explain(true));
        }
        queries.push(plica::Query { pool: 5, all: true, ..plica::Query::new(question).k(3) });
        queries.push(plica::Query { statistics: plica::Statistics::Document, ..plica::Query::new(question) });
        for query in queries {
            let answer = snapshot.search(&query).unwrap();
            for hit in &answer.hits {
                writeln!(out, "{question} {} {:016x} {hit:?}", hit.chunk, hit.score.to_bits()).unwrap();
            }
        }
    }
    out
}

/// Demands that a check finds nothing.
pub fn assert_sound(snapshot: &Snapshot) {
    let report = snapshot.check(&plica::Limits::default()).unwrap();
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

/// All lines of an export, and everything that records and, where there is one, the outline of the document `letters`
/// answer.
pub fn everything_compiled(snapshot: &Snapshot) -> String {
    use plica::records::{RecordField, RecordQuery, VocabularyQuery};
    use std::fmt::Write;
    let mut lines = Vec::new();
    plica::interchange::export(snapshot, &mut lines).unwrap();
    let mut out = String::from_utf8(lines).unwrap();
    let has_outline = snapshot.has_outline("letters").is_ok_and(|has| has);
    let mut waiting = if has_outline { vec![Vec::new()] } else { Vec::new() };
    while let Some(path) = waiting.pop() {
        let page = snapshot.outline("letters", &path).unwrap();
        writeln!(out, "{path:?} {:?}\n{}", page.cover, page.text()).unwrap();
        waiting.extend(page.entries.into_iter().rev().map(|entry| entry.path));
    }
    for query in [
        RecordQuery::new().entity("keeper 3"),
        RecordQuery::new().entity("Keper 3").fuzzy(1),
        RecordQuery::new().label("writes to"),
        RecordQuery::new().value("lamp 1").prefix(true),
    ] {
        writeln!(out, "{:?}", snapshot.records(&query).unwrap()).unwrap();
    }
    for field in [RecordField::Entity, RecordField::Label, RecordField::Type, RecordField::Value] {
        writeln!(out, "{:?}", snapshot.vocabulary(&VocabularyQuery::new(field)).unwrap()).unwrap();
    }
    out
}

/// Where questions to the document `letters` lead.
pub fn navigations(snapshot: &Snapshot) -> String {
    use plica::outline::Navigate;
    use std::fmt::Write;
    let mut out = String::new();
    for question in ["What does Ilse keep?", "Who keeps lamp 9 on rock 63?", "What happened at Marsh Lane?"] {
        writeln!(out, "{:?}", snapshot.navigate(&Navigate::new("letters", question)).unwrap()).unwrap();
    }
    out
}
