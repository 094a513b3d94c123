//! The built-in extractor: records of what a chunk says outright.
//!
//! Four sources: labelled lines and headings, of the section's subject; rows of tables, of the first cell that is no
//! mere number; appositions, copulas and relations of named things; dates and amounts with the word that governs them.
//! Precision before recall: what cannot be tied to a subject gives no record. A record's entity goes by the name of its
//! record in the entity memory where there is one.

mod coarse;
mod rows;

use super::Builtin;
use super::facts::known::{self, Known};
use super::facts::said::{Said, bytes, said};
use super::facts::{Value, label_of, labels, plain};
use super::names::{self, Usage};
use super::scan::{Gap, Scan};
use crate::Result;
use crate::ingest::{Extractor, RecordInput, RecordKind, RecordUpdate};
use crate::text::key;
use crate::text::layout::{Division, Layout};
use coarse::coarse;
pub(super) use rows::is_empty as is_empty_cell;
use std::collections::HashSet;

/// Most records of a chunk.
const RECORDS: usize = 64;
/// Longest symbolic field, in bytes; longer ones give no record.
const FIELD_BYTES: usize = 600;
/// Label of other names.
const ALSO: &str = "also_called";
/// Longest condition, in bytes.
const CONDITION_BYTES: usize = 160;

impl Extractor for Builtin {
    fn records(&self, input: &RecordInput<'_>) -> Result<Vec<RecordUpdate>> {
        Ok(records(input))
    }
}

fn records(input: &RecordInput<'_>) -> Vec<RecordUpdate> {
    let text = input.text;
    let layout = Layout::new(text);
    let known = Known::new(input.entities);
    let title = Title::new(input.title, text);
    // Records with the place that says so, for the order.
    let mut found: Vec<(usize, RecordUpdate)> = Vec::new();

    aspects(input, &layout, &title, &known, &mut found);
    for labelled in labels::labelled(text, &layout) {
        let subject = subject_at(input, &layout, &title, labelled.start);
        let label = label_of(&labelled.label);
        if !subject.is_empty() && !label.is_empty() {
            let value = plain(&labelled.value.text);
            found.push((labelled.start, property(&known, &subject, &label, value)));
        }
    }
    for table in &layout.tables {
        rows::of_table(text, table, &known, &mut found);
    }
    if let Some(header) = &title.header {
        rows::below(text, header, &known, &mut found);
    }
    sentences(text, &known, &mut found);

    found.sort_by_key(|(at, _)| *at);
    let mut seen = HashSet::new();
    let fits = |r: &RecordUpdate| {
        let fields = [&r.entity, &r.label, &r.value];
        fields.iter().all(|f| f.len() <= FIELD_BYTES) && !r.entity.is_empty() && !r.label.is_empty()
    };
    let identity = |r: &RecordUpdate| {
        (r.entity.clone(), r.kind, r.label.clone(), r.value.clone(), r.condition.clone(), r.valid.clone())
    };
    found.into_iter().map(|(_, record)| record).filter(|r| fits(r) && seen.insert(identity(r))).take(RECORDS).collect()
}

/// The parts of a chunk's title.
struct Title {
    /// The heading path, without caption and header line.
    path: Vec<String>,
    /// The header line of the table that the chunk is a row of.
    header: Option<String>,
}

impl Title {
    fn new(title: &str, text: &str) -> Self {
        let mut path: Vec<String> = title.split(" > ").map(plain).filter(|part| !part.is_empty()).collect();
        let row = text.trim();
        let last = title.rsplit(" > ").next().unwrap_or_default();
        let is_header = !row.contains('\n') && !row.starts_with('#') && rows::agree(last, row);
        let header = is_header.then(|| last.to_owned());
        if header.is_some() {
            path.pop();
            path.pop_if(|caption| caption.starts_with("Table") || caption.ends_with(':'));
        }
        Self { path, header }
    }
}

/// The record of an entity's property.
fn property(known: &Known<'_>, entity: &str, label: &str, value: String) -> RecordUpdate {
    let (entity, entity_type) = named(known, entity);
    RecordUpdate {
        entity,
        entity_type,
        kind: RecordKind::Property,
        coarse: coarse(label).to_owned(),
        label: label.to_owned(),
        value,
        ..RecordUpdate::default()
    }
}

/// Name and type of an entity, by the memory where it is known.
fn named(known: &Known<'_>, name: &str) -> (String, String) {
    match known.find(name) {
        Some(at) => (known.entities[at].name.clone(), known::kind(&known.entities[at]).to_owned()),
        None => (name.to_owned(), String::new()),
    }
}

/// The innermost heading above a place of the chunk, or the chunk's title, or the document's.
fn subject_at(input: &RecordInput<'_>, layout: &Layout, title: &Title, at: usize) -> String {
    let above = layout.headings.partition_point(|heading| heading.start <= at);
    let heading = above.checked_sub(1).map(|h| &layout.headings[h]).filter(|h| h.division.is_none());
    match (heading, title.path.last()) {
        (Some(heading), _) => plain(&input.text[heading.title.clone()]),
        (None, Some(title)) => title.clone(),
        _ => plain(input.document_title),
    }
}

/// A heading is a side of what the heading above it, or the document, is about.
fn aspects(
    input: &RecordInput<'_>,
    layout: &Layout,
    title: &Title,
    known: &Known<'_>,
    found: &mut Vec<(usize, RecordUpdate)>,
) {
    let document = plain(input.document_title);
    let mut pairs: Vec<(usize, String, String)> = Vec::new();
    let parents = layout.parents();
    for (i, heading) in layout.headings.iter().enumerate().filter(|(_, h)| h.division.is_none()) {
        let name = plain(&input.text[heading.title.clone()]);
        let above = match parents[i] {
            Some(parent) => plain(&input.text[layout.headings[parent].title.clone()]),
            // The chunk's title ends with this heading, or with the one above it.
            None => title.path.iter().rev().find(|part| **part != name).unwrap_or(&document).clone(),
        };
        pairs.push((heading.start, above, name));
    }
    if layout.headings.is_empty()
        && title.header.is_none()
        && let Some((name, above)) = title.path.split_last()
    {
        pairs.push((0, above.last().unwrap_or(&document).clone(), name.clone()));
    }
    for (at, above, name) in pairs {
        let label = label_of(&name);
        // A bare number names no side, nor does a chapter.
        let tells = name.chars().filter(|c| c.is_alphabetic()).count() > 2
            && Layout::style(&name) != crate::text::layout::Style::Markdown;
        if above.is_empty() || above == name || label.is_empty() || !tells || is_chapter(&name) {
            continue;
        }
        let record = property(known, &above, &label, name);
        found.push((at, RecordUpdate { kind: RecordKind::Aspect, ..record }));
    }
}

/// Whether a title is one of a numbered chapter.
fn is_chapter(name: &str) -> bool {
    let layout = Layout::new(&format!("{name}\n\ntext\n"));
    layout.headings.first().is_some_and(|h| matches!(h.division, Some(Division::Numbered | Division::Bare)))
}

/// What sentences say of known entities.
fn sentences(text: &str, known: &Known<'_>, found: &mut Vec<(usize, RecordUpdate)>) {
    let scan = Scan::new(text);
    let mut usage = Usage::default();
    usage.add(&scan);
    for entity in known.entities {
        usage.add_name(&entity.name);
    }
    let spans = names::spans(&scan, &usage);
    let of = known.of_spans(&scan, &spans);
    for (span, at) in spans.iter().zip(&of) {
        let Some(entity) = at.map(|at| &known.entities[at]).filter(|entity| !known::is_junk(entity)) else { continue };
        let name = Value::of(text, bytes(&scan, span.first, span.last)).text;
        if key(&name) != key(&entity.name) {
            found.push((scan.words[span.first].start, property(known, &entity.name, ALSO, name)));
        }
    }
    for said in said(&scan, &spans, &of, known) {
        let subject = &known.entities[said.subject];
        if known::is_junk(subject) {
            continue;
        }
        let mut record = property(known, &subject.name, &label_of(&said.label), said.value.text.clone());
        if let Some(other) = said.other {
            if known::is_junk(&known.entities[other]) {
                continue;
            }
            record.kind = RecordKind::Relation;
            record.coarse = String::new();
            record.value = known.entities[other].name.clone();
        } else if said.label == "is" && record.entity_type == "person" {
            record.coarse = "role".to_owned();
        }
        if !said.is_date {
            record.valid = valid(&scan, &said);
        }
        record.condition = condition(&scan, &said);
        found.push((said.place.start, record));
    }
}

/// A year or date that the sentence says for itself ("In 1805 …", "… in May 1805").
fn valid(scan: &Scan<'_>, said: &Said) -> String {
    let sentence = &scan.sentences[said.sentence];
    let mut at = sentence.first;
    while at < sentence.last {
        if let Some((first, last)) = super::facts::quantities::date(&scan.words, sentence, at) {
            let before = first.checked_sub(1).map_or("", |i| scan.words[i].text);
            let place = super::facts::said::bytes(scan, first, last);
            let outside = place.end <= said.value.span.start || place.start >= said.value.span.end;
            if outside
                && matches!(before, "in" | "In" | "on" | "On" | "since" | "Since" | "until" | "Until" | "by" | "By")
            {
                return scan.slice(first, last).split_whitespace().collect::<Vec<_>>().join(" ");
            }
            at = last;
        } else {
            at += 1;
        }
    }
    String::new()
}

/// The clause with "if", "when" or "unless" that opens the sentence.
fn condition(scan: &Scan<'_>, said: &Said) -> Option<(String, String)> {
    let sentence = &scan.sentences[said.sentence];
    let words = scan.words_of(sentence);
    let first = words.first()?;
    if !matches!(first.text, "If" | "When" | "Unless" | "While") {
        return None;
    }
    let end = words.iter().position(|w| w.gap.has(Gap::COMMA)).filter(|&end| end > 1)?;
    let clause = scan.slice(sentence.first + 1, sentence.first + end);
    (words[end].start <= said.place.start && clause.len() <= CONDITION_BYTES)
        .then(|| (first.text.to_lowercase(), clause.split_whitespace().collect::<Vec<_>>().join(" ")))
}

#[cfg(test)]
mod tests;
