//! Chapters as subjects: how they open, and whom and what they name.

use super::super::facts::known;
use super::context::Context;
use super::entities::{Reading, floor};
use super::places::{Mode, Names, subject_of};
use super::sections::{opening, prose, push};
use super::{LINKS, PEOPLE, tell};
use crate::ingest::{ExtractInput, SubjectUpdate};
use crate::text::layout::Layout;
use std::collections::BTreeMap;
use std::ops::Range;

/// Sentences at the start of a chapter among which the most telling is looked for.
const OPENING_SENTENCES: usize = 12;
/// Names of one kind that are kept of a chapter in a piece.
const NAMES: usize = 12;
/// Mentions in a piece that make a name one that the chapter tells of.
const MENTIONS: usize = 2;
/// Field of the places that a chapter names.
pub(super) const PLACES: &str = "places";

/// The subjects of a piece's chapters.
pub(super) fn extract(
    input: &ExtractInput<'_>,
    reading: &Reading<'_>,
    layout: &Layout,
    names: &Names,
    context: &Context,
    out: &mut Vec<SubjectUpdate>,
) {
    let text = reading.scan.text;
    let mode = Mode::of(input.schema);
    let open: Vec<String> = context.path.iter().map(|(_, name)| name.clone()).collect();
    let first = layout.headings.first().map_or(text.len(), |h| h.start);
    let mut sections: Vec<(Range<usize>, &[String], bool)> = vec![(0..first, &open, false)];
    for (i, heading) in layout.headings.iter().enumerate() {
        let end = layout.headings.get(i + 1).map_or(text.len(), |h| h.start);
        sections.push((heading.end.min(end)..end, &names.paths[i], true));
    }
    for (place, path, opens) in sections {
        // What stands before the first chapter is no part of the book.
        if path.is_empty() || text[place.clone()].trim().is_empty() {
            continue;
        }
        let (category, name) = subject_of(input.schema, mode, path);
        let mut subject = SubjectUpdate { category, name, ..SubjectUpdate::default() };
        if opens {
            subject.summary = telling(reading, layout, place.clone());
        }
        for (kind, field) in [("person", PEOPLE), ("place", PLACES)] {
            named(reading, place.clone(), floor(input.schema), (kind, field), &mut subject);
        }
        subject.links.truncate(LINKS);
        out.push(subject);
    }
}

/// The first of the opening sentences that names somebody and is not spoken, or else the first.
fn telling(reading: &Reading<'_>, layout: &Layout, place: Range<usize>) -> String {
    let scan = &reading.scan;
    let from = scan.sentences.partition_point(|s| s.start < place.start);
    let near = scan.sentences[from..].iter().enumerate().take(OPENING_SENTENCES);
    for (i, sentence) in near.take_while(|(_, s)| s.end <= place.end) {
        let part = &scan.text[sentence.start..sentence.end];
        let spoken = reading.spoken[from + i];
        if !spoken && sentence.last - sentence.first >= 6 && reading.names_in(from + i).next().is_some() {
            return tell::summary(part);
        }
    }
    opening(scan.text, &prose(scan.text, layout, place.clone()), layout, place)
}

/// Adds the names of a kind that stand in a chapter as values, the most frequent first, and links to them.
fn named(
    reading: &Reading<'_>,
    place: Range<usize>,
    floor: u32,
    (kind, field): (&str, &str),
    subject: &mut SubjectUpdate,
) {
    // Of each record: how often, and its first mention, one by its own name before others.
    let mut found: BTreeMap<usize, (usize, usize, bool)> = BTreeMap::new();
    let scan = &reading.scan;
    let from = reading.spans.partition_point(|s| scan.words[s.first].start < place.start);
    for (i, span) in reading.spans.iter().enumerate().skip(from) {
        if scan.words[span.last - 1].end() > place.end {
            break;
        }
        let Some(at) = reading.of[i].filter(|&at| reading.kinds[at] == kind && !reading.junk[at]) else { continue };
        let own = scan.slice(span.first, span.last) == reading.known.subject(at);
        let entry = found.entry(at).or_insert((0, i, own));
        entry.0 += 1;
        if own && !entry.2 {
            (entry.1, entry.2) = (i, true);
        }
    }
    let mut found: Vec<(usize, usize, usize)> =
        found.into_iter().map(|(at, (count, first, _))| (at, count, first)).collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let tells = |f: &(usize, usize, usize)| f.1 >= MENTIONS || reading.known.entities[f.0].chunks >= floor;
    for (at, _, span) in found.into_iter().filter(tells).take(NAMES) {
        let value = reading.name_at(span);
        let place = value.span.clone();
        push(subject, field, &value, place);
        let name = reading.known.subject(at);
        if known::kind(&reading.known.entities[at]) == "person" && subject.links.len() < LINKS {
            subject.links.push(vec![name.to_owned()]);
        }
    }
}
