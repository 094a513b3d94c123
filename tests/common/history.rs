//! Random histories of additions, removals and all that may lie between them, for tests that hold two against each
//! other.
#![allow(dead_code)]

use crate::common::{Capitals, Folder, assert_sound, everything, sentences};
use plica::ingest::{Reader, RecordUpdate};
use plica::outline::{Field, Subject, Value};
use plica::records::{RecordField, RecordQuery, VocabularyQuery};
use plica::{Error, Index, MemoryScope, NewChunk, Options, Snapshot, VacuumOptions, Writer};
use proptest::prelude::*;
use std::fmt::Write as _;
use std::path::PathBuf;

/// A step of a history.
#[derive(Debug, Clone)]
pub enum Step {
    /// A chunk of a document, which is made where it is not there, with all that comes with one.
    Chunk {
        document: u8,
        seed: u32,
    },
    Remove {
        document: u8,
    },
    /// Two chunks take the place of a document; between them, where that can be, lie a commit and a new session.
    Replace {
        document: u8,
        seed: u32,
    },
    Commit,
    Reopen,
    Vacuum,
}

pub fn id(document: u8) -> String {
    format!("doc-{document}")
}

pub fn append(writer: &mut Writer, document: u8, seed: u32) {
    let id = id(document);
    if writer.is_published(&id).unwrap().is_none() {
        writer.add_document(&id, &title(seed), r#"{"lang":"en"}"#).unwrap();
        writer.publish(&id).unwrap();
    }
    let text = format!("{} unique{document}x{seed}", sentences(seed, 3));
    let external = format!("{document}:{}", writer.next_ordinal(&id));
    let external = Some(external.as_str()).filter(|_| document.is_multiple_of(2));
    let chunk = NewChunk { external_id: external, title: "Heading", ..NewChunk::text(&text) };
    Reader::new(Some(&Capitals)).read_chunks(writer, &[(&id, chunk)]).unwrap();
    let record = RecordUpdate {
        entity: format!("Person {}", seed % 4),
        entity_type: "person".into(),
        label: format!("label {}", seed % 3),
        value: format!("value {}", seed % 5),
        ..RecordUpdate::default()
    };
    writer.add_record(&id, &record, &[0]).unwrap();
    if seed.is_multiple_of(3) {
        let value = Value { text: format!("value {seed}"), span: None };
        let fields = vec![Field { name: "says".into(), values: vec![value] }];
        let subject = Subject { name: format!("Subject {}", seed % 7), fields, ..Subject::default() };
        writer.add_subject(&id, &["People".to_owned()], &subject).unwrap();
    }
}

fn title(seed: u32) -> String {
    "A title of some length. ".repeat(if seed.is_multiple_of(2) { 1 } else { 12 })
}

/// Begins to replace a document, or goes on with that, and appends a chunk.
fn replace(writer: &mut Writer, document: u8, first: u32, seed: u32) {
    writer.replace_document(&id(document), &title(first), r#"{"lang":"en"}"#).unwrap();
    append(writer, document, seed);
}

trait NextOrdinal {
    fn next_ordinal(&mut self, id: &str) -> u32;
}

impl NextOrdinal for Writer {
    /// How many chunks a document has, by asking for the first that is not there.
    fn next_ordinal(&mut self, id: &str) -> u32 {
        (0..).find(|&at| self.add_record(id, &RecordUpdate::default(), &[at]).is_err_and(is_missing)).unwrap()
    }
}

pub fn is_missing(error: Error) -> bool {
    matches!(error, Error::NotFound { .. })
}

/// All answers, as text.
pub fn answers(snapshot: &Snapshot) -> String {
    let mut export = Vec::new();
    plica::interchange::export(snapshot, &mut export).unwrap();
    let mut out = String::from_utf8(export).unwrap();
    out.push_str(&everything(snapshot));
    for field in RecordField::ALL {
        writeln!(out, "{:?}", snapshot.vocabulary(&VocabularyQuery::new(field)).unwrap()).unwrap();
    }
    for person in 0..4 {
        let query = RecordQuery::new().entity(format!("person {person}"));
        writeln!(out, "{:?}", snapshot.records(&query).unwrap()).unwrap();
    }
    snapshot
        .entities(None, |entity| {
            writeln!(out, "{entity:?}").unwrap();
            Ok(())
        })
        .unwrap();
    let stat = snapshot.stat().unwrap();
    writeln!(out, "{:?}", (stat.documents, stat.chunks, stat.entities, stat.summaries, stat.subjects, stat.records))
        .unwrap();
    writeln!(out, "{:?}", (stat.text_tokens, stat.values, stat.calls, stat.docs)).unwrap();
    out
}

/// An index with this history.
pub fn write(options: &Options, steps: &[Step]) -> (Folder, PathBuf, Snapshot) {
    let folder = Folder::new();
    let path = folder.path("a.plica");
    let mut writer = Some(Writer::create(&path, options).unwrap());
    for step in steps {
        let open = writer.as_mut().unwrap();
        match step {
            Step::Chunk { document, seed } => append(open, *document, *seed),
            Step::Remove { document } => match open.is_published(&id(*document)).unwrap() {
                Some(_) => open.remove_document(&id(*document)).unwrap(),
                None => assert!(open.remove_document(&id(*document)).is_err_and(is_missing)),
            },
            &Step::Replace { document, seed } => {
                replace(open, document, seed, seed);
                if options.memory == MemoryScope::Document {
                    open.commit().unwrap();
                    let is_new = open.is_published(&id(document)).unwrap();
                    assert_eq!(is_new, Some(false));
                    drop(writer.take());
                    let open = writer.insert(Writer::open_with(&path, options).unwrap());
                    if open.is_published(&id(document)).unwrap() == Some(true) {
                        replace(open, document, seed, seed + 1);
                    } else {
                        append(open, document, seed + 1);
                    }
                } else {
                    append(open, document, seed + 1);
                }
                writer.as_mut().unwrap().publish(&id(document)).unwrap();
            }
            Step::Commit => {
                open.commit().unwrap();
            }
            Step::Reopen => {
                open.commit().unwrap();
                drop(writer.take());
                writer = Some(Writer::open_with(&path, options).unwrap());
            }
            Step::Vacuum => {
                open.commit().unwrap();
                drop(writer.take());
                plica::vacuum(&path, &VacuumOptions::new()).unwrap();
                writer = Some(Writer::open_with(&path, options).unwrap());
            }
        }
    }
    writer.unwrap().commit().unwrap();
    let snapshot = Index::open(&path).unwrap().snapshot();
    assert_sound(&snapshot);
    (folder, path, snapshot)
}

/// The steps that made what is there at the end.
pub fn survivors(steps: &[Step]) -> Vec<Step> {
    let mut kept: Vec<Step> = Vec::new();
    for step in steps {
        match step {
            Step::Remove { document: removed } | Step::Replace { document: removed, .. } => {
                kept.retain(|step| !matches!(step, Step::Chunk { document, .. } if document == removed));
                if let &Step::Replace { document, seed } = step {
                    kept.extend([seed, seed + 1].map(|seed| Step::Chunk { document, seed }));
                }
            }
            step => kept.push(step.clone()),
        }
    }
    kept.retain(|step| matches!(step, Step::Chunk { .. }));
    kept
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0u8..4, 0u32..40).prop_map(|(document, seed)| Step::Chunk { document, seed }),
        2 => (0u8..4).prop_map(|document| Step::Remove { document }),
        2 => (0u8..4, 0u32..40).prop_map(|(document, seed)| Step::Replace { document, seed }),
        2 => Just(Step::Commit),
        1 => Just(Step::Reopen),
        1 => Just(Step::Vacuum),
    ];
    prop::collection::vec(step, 1..40)
}

/// The first line in which two answers differ; nothing where they are the same.
pub fn difference(left: &str, right: &str) -> Option<String> {
    if left == right {
        return None;
    }
    let lines = left.lines().zip(right.lines()).find(|(left, right)| left != right);
    let (left, right) = lines.unwrap_or(("one is longer", "than the other"));
    Some(format!("{left}\n{right}"))
}
