//! Sections as subjects: the first sentence, labelled lines, tables, definitions.
//!
//! A row of a table with three columns or more is a subject of its own, in the section's category: its name is the first
//! cell, the header over each other cell a field. A row of two columns is a field of the section.

use super::super::facts::{Value, labels, plain};
use super::context::Context;
use super::places::{Mode, Names, limited, subject_of};
use super::{FURTHER, LINKS, tell};
use crate::ingest::{ExtractInput, FieldUpdate, SubjectUpdate};
use crate::text::layout::{Delimiter, Layout, Table, cells};
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// Name of what stands before the first heading.
pub(super) const INTRODUCTION: &str = "Introduction";
/// Longest name of a field, in bytes.
const FIELD_BYTES: usize = 120;
/// Fewest columns of a table whose rows are subjects.
const SUBJECT_COLUMNS: usize = 3;

/// The subjects of a piece's sections and tables.
pub(super) fn extract(
    input: &ExtractInput<'_>,
    text: &str,
    layout: &Layout,
    names: &Names,
    context: &Context,
    out: &mut Vec<SubjectUpdate>,
) {
    let mode = Mode::of(input.schema);
    let labelled = labels::labelled(text, layout);
    let from = out.len();
    // The stretch before the first heading goes on with the section that the piece starts in.
    let open: Vec<String> = context.path.iter().map(|(_, name)| name.clone()).collect();
    let mut sections: Vec<(Range<usize>, &[String], bool)> = Vec::new();
    let first = layout.headings.first().map_or(text.len(), |h| h.start);
    sections.push((0..first, &open, context.is_first));
    for (i, heading) in layout.headings.iter().enumerate() {
        let end = layout.headings.get(i + 1).map_or(text.len(), |h| h.start);
        sections.push((heading.end.min(end)..end, &names.paths[i], true));
    }
    let mut bodies: Vec<(usize, Range<usize>)> = Vec::new();
    for (place, path, opens) in sections {
        let Some(body) = text.get(place.clone()) else { continue };
        if body.trim().is_empty() && (path.is_empty() || !opens) {
            continue;
        }
        let (category, name) = match path {
            // Without sections, what stands before a heading is told by the entities.
            [] if mode.entities => continue,
            [] => (vec![FURTHER.to_owned()], INTRODUCTION.to_owned()),
            path => subject_of(input.schema, mode, path),
        };
        let is_category = category.last() == Some(&name);
        // A category without text of its own is no subject.
        if body.trim().is_empty() && is_category && has_below(layout, place.start) {
            continue;
        }
        let prose = prose(text, layout, place.clone());
        let mut subject = SubjectUpdate { category, name, ..SubjectUpdate::default() };
        if opens {
            subject.summary = opening(text, &prose, layout, place.clone());
        }
        for label in labelled.iter().skip(labelled.partition_point(|l| l.start < place.start)) {
            if label.start >= place.end {
                break;
            }
            push(&mut subject, &label.label, &label.value, label.place());
        }
        definitions(text, &prose, &mut subject);
        let mut rows = Vec::new();
        if let Some(header) = context.table.as_ref().filter(|_| place.start == 0 && !context.is_first) {
            let inherited = inherited(text, layout);
            table_rows(text, header, Delimiter::Pipe, &inherited, &mut subject, &mut rows);
        }
        for table in layout.tables.iter().filter(|t| place.contains(&t.header.start)) {
            table_rows(text, &text[table.header.clone()], table.delimiter, &table.rows, &mut subject, &mut rows);
        }
        bodies.push((out.len(), place));
        out.push(subject);
        out.append(&mut rows);
    }
    link(text, &bodies, names, &mut out[from..], from);
}

/// Whether the heading that ends at `at` has a deeper one right below it.
fn has_below(layout: &Layout, at: usize) -> bool {
    let behind = layout.headings.partition_point(|h| h.end <= at);
    match (behind.checked_sub(1).and_then(|i| layout.headings.get(i)), layout.headings.get(behind)) {
        (Some(heading), Some(next)) => next.level > heading.level,
        // At the end of the piece, what is below comes with the next.
        (Some(_), None) => true,
        _ => false,
    }
}

/// The paragraphs of a stretch that are neither code nor tables nor headings.
pub(super) fn prose(text: &str, layout: &Layout, place: Range<usize>) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut table = layout.tables.partition_point(|t| t.end() <= place.start);
    let mut goes_on = false;
    let first = layout.lines.partition_point(|line| line.start < place.start);
    for line in &layout.lines[first..] {
        if line.start >= place.end {
            break;
        }
        while layout.tables.get(table).is_some_and(|t| t.end() <= line.start) {
            table += 1;
        }
        let tabled = layout.tables.get(table).is_some_and(|t| t.start() <= line.start);
        let content = line.text(text).trim_start();
        if line.is_blank() || line.fenced || tabled || content.starts_with(['|', '<', '!']) || is_mark(content) {
            goes_on = false;
            continue;
        }
        match out.last_mut().filter(|_| goes_on) {
            Some(last) => last.end = line.end,
            None => out.push(line.start..line.end),
        }
        goes_on = true;
    }
    out
}

/// Whether a line only draws one.
fn is_mark(line: &str) -> bool {
    line.chars().all(|c| matches!(c, '-' | '*' | '_' | '=' | ' '))
}

/// The first sentence of a section, or what stands for it.
pub(super) fn opening(text: &str, prose: &[Range<usize>], layout: &Layout, place: Range<usize>) -> String {
    let sentence = |range: &Range<usize>| {
        let part = text[range.clone()].trim_start_matches(['>', ' ']);
        crate::text::sentences(part).next().map(|(_, s)| tell::summary(s.trim_start_matches(['-', '*', '+', '•', ' '])))
    };
    let is_item = |range: &&Range<usize>| {
        let part = text[(*range).clone()].trim_start();
        part.starts_with("- ") || part.starts_with("* ") || part.starts_with("**") && part.contains(":**")
    };
    let first = prose.iter().find(|range| !is_item(range)).or_else(|| prose.first());
    if let Some(summary) = first.and_then(sentence).filter(|s| !s.is_empty()) {
        return summary;
    }
    let table = layout.tables.iter().find(|t| place.contains(&t.header.start));
    table.map_or(String::new(), |table| {
        let names = header_names(&text[table.header.clone()], table.delimiter);
        tell::summary(&format!("A table of {}.", tell::list(&names, 8)))
    })
}

/// Adds a value to a subject.
pub(super) fn push(subject: &mut SubjectUpdate, name: &str, value: &Value, span: Range<usize>) {
    let name = plain(name);
    let name = name[..name.floor_char_boundary(FIELD_BYTES)].trim();
    if name.is_empty() || value.text.is_empty() {
        return;
    }
    if subject.fields.iter().any(|f| f.name == name && f.value == value.text) {
        return;
    }
    subject.fields.push(FieldUpdate {
        name: name.to_owned(),
        value: value.text.clone(),
        span: Some((span.start, span.end)),
    });
}

/// Definitions: a sentence that says what the section's title, or a term in bold, is.
fn definitions(text: &str, prose: &[Range<usize>], subject: &mut SubjectUpdate) {
    let title: Vec<String> = words(&subject.name);
    for block in prose {
        for (at, sentence) in crate::text::sentences(&text[block.clone()]) {
            let start = block.start + at;
            let body = sentence.trim_start_matches(['-', '*', '+', '•', ' ', '>']);
            let skipped = sentence.len() - body.len();
            let bold = sentence[..skipped].ends_with("**");
            let Some((term, value)) = defined(body, bold) else { continue };
            let is_title = {
                let term = words(term);
                !term.is_empty() && (term == title || plural_of(&term, &title))
            };
            let name = if is_title { "definition" } else { term };
            if !(is_title || bold) || name.split_whitespace().count() > 6 {
                continue;
            }
            let place = start + skipped + value..start + sentence.trim_end().len();
            let value = Value::of(text, place.clone());
            push(subject, name, &value, place);
        }
    }
}

/// The term that a sentence defines, and where its predicate starts.
fn defined(sentence: &str, bold: bool) -> Option<(&str, usize)> {
    let head = &sentence[..sentence.floor_char_boundary(120)];
    if bold {
        let close = head.find("**")?;
        let term = &head[..close];
        let rest = &sentence[close + 2..];
        let value = rest.trim_start_matches([' ', '–', '—', ':', '-']);
        let value = ["is ", "are ", "means "].iter().find_map(|verb| value.strip_prefix(verb)).unwrap_or(value);
        let joined = [" is ", " are ", " means ", " – ", " — ", ": ", " - "].iter().any(|j| rest.starts_with(j));
        return (joined && !term.ends_with(':')).then(|| (term, sentence.len() - value.len()));
    }
    let (at, verb) = [" is a ", " is an ", " is the ", " are the ", " means ", " refers to ", " are "]
        .iter()
        .filter_map(|verb| head.find(verb).map(|at| (at, verb)))
        .min()?;
    let keep = if verb.starts_with(" is ") { 4 } else { verb.len() };
    Some((&sentence[..at], at + keep))
}

fn words(text: &str) -> Vec<String> {
    let all = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_lowercase);
    all.filter(|w| !matches!(w.as_str(), "a" | "an" | "the")).collect()
}

fn plural_of(one: &[String], other: &[String]) -> bool {
    let stem = |words: &[String]| words.join(" ").trim_end_matches('s').to_owned();
    stem(one) == stem(other)
}

/// Rows at the start of a piece that belong to a table of the piece before.
fn inherited(text: &str, layout: &Layout) -> Vec<Range<usize>> {
    let rows = layout.lines.iter().take_while(|line| line.text(text).contains('|'));
    rows.map(|line| line.start..line.next).collect()
}

pub(super) fn header_names(header: &str, delimiter: Delimiter) -> Vec<String> {
    cells(header, delimiter).into_iter().map(|cell| plain(&header[cell])).collect()
}

/// Whether the rows of a table are subjects.
pub(super) fn rows_are_subjects(text: &str, table: &Table) -> bool {
    cells(&text[table.header.clone()], table.delimiter).len() >= SUBJECT_COLUMNS
}

/// Makes subjects, or fields of the section, of a table's rows.
fn table_rows(
    text: &str,
    header: &str,
    delimiter: Delimiter,
    rows: &[Range<usize>],
    section: &mut SubjectUpdate,
    out: &mut Vec<SubjectUpdate>,
) {
    let names = header_names(header, delimiter);
    for row in rows {
        let line = text[row.clone()].trim_end();
        let place = row.start..row.start + line.len();
        let found = cells(line, delimiter);
        let Some(first) = found.first() else { continue };
        let key = plain(&line[first.clone()]);
        let value = |cell: &Range<usize>| Value::of(text, row.start + cell.start..row.start + cell.end);
        if names.len() < SUBJECT_COLUMNS {
            if let Some(cell) = found.get(1).filter(|_| !key.is_empty()) {
                push(section, &key, &value(cell), place);
            }
            continue;
        }
        // A number alone is no name.
        let lettered = key.chars().any(char::is_alphabetic);
        let name = if lettered { limited(&key) } else { limited(&format!("{} {key}", names[0])) };
        if key.is_empty() || name.is_empty() {
            continue;
        }
        let mut subject = SubjectUpdate { category: section.category.clone(), name, ..SubjectUpdate::default() };
        for (name, cell) in names.iter().zip(&found).skip(1) {
            let value = value(cell);
            if !super::super::records::is_empty_cell(&value.text) {
                push(&mut subject, name, &value, place.clone());
            }
        }
        let said: Vec<String> = subject.fields.iter().map(|f| format!("{}: {}", f.name, f.value)).collect();
        subject.summary = tell::summary(&said.join("; "));
        out.push(subject);
    }
}

/// Links each section to the subjects that its text names.
fn link(text: &str, bodies: &[(usize, Range<usize>)], names: &Names, subjects: &mut [SubjectUpdate], from: usize) {
    // Names by their first word; a name of one short word would be found everywhere.
    let mut by_first: HashMap<String, BTreeSet<(Vec<String>, String)>> = HashMap::new();
    let own = names.own.iter().cloned();
    let rows = subjects.iter().map(|s| s.name.clone());
    for name in own.chain(rows) {
        let words = words(&name);
        if let Some(first) = words.first().filter(|first| words.len() > 1 || first.len() > 3) {
            let at = by_first.entry(first.clone()).or_default();
            if at.len() < LINKS {
                at.insert((words.clone(), name));
            }
        }
    }
    for (subject, place) in bodies {
        let subject = &mut subjects[subject - from];
        let body = words(&text[place.clone()]);
        let own = crate::text::key(&subject.name);
        let (mut found, mut seen): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for i in 0..body.len() {
            for (name, original) in by_first.get(&body[i]).into_iter().flatten() {
                let key = || crate::text::key(original);
                if body[i..].starts_with(name) && key() != own && !seen.contains(&key()) {
                    seen.push(key());
                    found.push(original.clone());
                }
            }
            if found.len() >= LINKS {
                break;
            }
        }
        found.truncate(LINKS);
        subject.links = found.into_iter().map(|name| vec![name]).collect();
    }
}
