//! People, places and other things of the entity memory as subjects.
//!
//! One that is named in too few chunks of a long text to matter is left out; how few that is, discovery decides and says
//! in the summaries of the categories ([`floor`]). Its summary is the sentence that says what it is, or in which it does
//! something; a piece that has no good one leaves it to a later piece, unless the thing is named so seldom that there
//! may be none.

use super::super::facts::Value;
use super::super::facts::known::{self, Known};
use super::super::facts::said::{Said, bytes, said};
use super::super::lexicon::COPULA;
use super::super::names::{self, Span, Usage};
use super::super::scan::{Gap, Scan, Shape};
use super::places::limited;
use super::sections::push;
use super::{ALSO, KINDS, LINKS, OTHER, tell};
use crate::ingest::{ExtractInput, KnownEntity, Schema, SubjectUpdate};
use std::collections::{BTreeMap, HashMap};

/// Words of a text from which on entities that are named seldom are left out.
const LONG_WORDS: usize = 20_000;
/// For each so many words, an entity must be named in one chunk more; up to the greatest floor.
const FLOOR_WORDS: usize = 100_000;
const FLOOR_MOST: usize = 6;
/// What the summary of a category says before and behind the floor.
const FLOOR_BEFORE: &str = "named in at least ";
const FLOOR_BEHIND: &str = " passages";
/// Chunks up to which any sentence will do for a summary.
const SELDOM: u32 = 12;
/// Most other names that are kept.
const ALIASES: usize = 8;
/// Sentences that two must share in a piece to be linked.
const SHARED: u32 = 2;

/// A piece read for its names.
pub(super) struct Reading<'a> {
    pub(super) scan: Scan<'a>,
    pub(super) spans: Vec<Span>,
    pub(super) known: Known<'a>,
    /// The record that each span names.
    pub(super) of: Vec<Option<usize>>,
    /// Of each record, its kind.
    pub(super) kinds: Vec<&'static str>,
    /// Of each record, whether it is one that no reader would look up.
    pub(super) junk: Vec<bool>,
    /// Of each sentence, whether it is spoken, or has speech in it.
    pub(super) spoken: Vec<bool>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(entities: &'a [KnownEntity], text: &'a str) -> Self {
        let scan = Scan::new(text);
        let mut usage = Usage::default();
        usage.add(&scan);
        for entity in entities {
            usage.add_name(&entity.name);
        }
        let spans = names::spans(&scan, &usage);
        let known = Known::new(entities);
        let of = known.of_spans(&scan, &spans);
        let kinds = entities.iter().map(known::kind).collect();
        let junk = entities.iter().map(known::is_junk).collect();
        let spoken = spoken(&scan);
        Self { scan, spans, known, of, kinds, junk, spoken }
    }

    /// The records that a sentence names, with their spans.
    pub(super) fn names_in(&self, sentence: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let from = self.spans.partition_point(|s| s.sentence < sentence);
        let spans = self.spans[from..].iter().take_while(move |s| s.sentence == sentence).enumerate();
        spans.filter_map(move |(i, _)| self.of[from + i].filter(|&at| !self.junk[at]).map(|at| (at, from + i)))
    }

    /// The name at a span.
    pub(super) fn name_at(&self, span: usize) -> Value {
        let span = &self.spans[span];
        Value::of(self.scan.text, bytes(&self.scan, span.first, span.last))
    }
}

/// In how many chunks an entity must be named to be a subject: in one of a text up to 20,000 words; in two of a longer
/// one, and one more for each 100,000 words, six at most.
pub(super) fn floor_for(words: usize) -> usize {
    if words < LONG_WORDS { 1 } else { (2 + words / FLOOR_WORDS).min(FLOOR_MOST) }
}

/// The part of a category's summary that says the floor.
pub(super) fn floor_text(floor: usize) -> String {
    if floor > 1 { format!(", {FLOOR_BEFORE}{floor}{FLOOR_BEHIND}") } else { String::new() }
}

/// The floor that a schema tells; 1 where it tells none.
pub(super) fn floor(schema: &Schema) -> u32 {
    let told = schema.categories.iter().find_map(|category| {
        let from = category.summary.find(FLOOR_BEFORE)? + FLOOR_BEFORE.len();
        let rest = &category.summary[from..];
        rest.get(..rest.find(FLOOR_BEHIND)?)?.parse().ok()
    });
    told.unwrap_or(1)
}

/// The category of a kind, as far as the schema has it.
fn category_of(schema: &Schema, kind: &str) -> Option<Vec<String>> {
    let own = KINDS.iter().find(|(k, _)| *k == kind).map_or(OTHER, |(_, name)| *name);
    let has = |name: &str| schema.categories.iter().any(|c| c.path == [name]);
    [own, OTHER].into_iter().find(|name| has(name)).map(|name| vec![name.to_owned()])
}

/// Whether a record is to be a subject of a text with this floor.
pub(super) fn is_subject(entity: &KnownEntity, floor: u32) -> bool {
    entity.chunks >= floor && !known::is_junk(entity)
}

/// The subjects that a piece tells of.
pub(super) fn extract(input: &ExtractInput<'_>, reading: &Reading<'_>, out: &mut Vec<SubjectUpdate>) {
    let floor = floor(input.schema);
    let said = said(&reading.scan, &reading.spans, &reading.of, &reading.known);
    // Spans of each record that is to be a subject.
    let mut mentions: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, at) in reading.of.iter().enumerate() {
        if let Some(at) = at.filter(|&at| is_subject(&reading.known.entities[at], floor)) {
            mentions.entry(at).or_default().push(i);
        }
    }
    let mut about: HashMap<usize, Vec<&Said>> = HashMap::new();
    for fact in &said {
        about.entry(fact.subject).or_default().push(fact);
        if let Some(other) = fact.other {
            about.entry(other).or_default().push(fact);
        }
    }
    let together = together(reading);
    for (at, spans) in &mentions {
        let entity = &reading.known.entities[*at];
        let Some(category) = category_of(input.schema, reading.kinds[*at]) else { continue };
        let name = limited(reading.known.subject(*at));
        let mut subject = SubjectUpdate { category, name, ..SubjectUpdate::default() };
        let facts = about.get(at).map_or(&[][..], Vec::as_slice);
        also_called(reading, spans, &mut subject);
        let mut linked: Vec<usize> = Vec::new();
        for fact in facts {
            let place = fact.place.clone();
            match fact.other {
                Some(other) if other == *at => {
                    // The other end of a relation: "sister of" is "sister" to the one named.
                    if let Some(label) = fact.label.strip_suffix(" of") {
                        let name = mention_within(reading, fact);
                        if let Some(value) = name {
                            push(&mut subject, label, &value, place);
                        }
                    }
                    linked.push(fact.subject);
                }
                other => {
                    push(&mut subject, &fact.label, &fact.value, place);
                    linked.extend(other);
                }
            }
        }
        subject.summary = summary(reading, *at, spans, facts, entity.chunks <= SELDOM);
        let company = together.get(at).map_or(&[][..], Vec::as_slice);
        linked.extend(company.iter().filter(|(_, n)| *n >= SHARED).map(|(other, _)| *other));
        for other in linked {
            let entity = &reading.known.entities[other];
            let link = vec![limited(reading.known.subject(other))];
            if is_subject(entity, floor) && subject.links.len() < LINKS && !subject.links.contains(&link) {
                subject.links.push(link);
            }
        }
        out.push(subject);
    }
}

/// Other names by which the piece calls a record.
fn also_called(reading: &Reading<'_>, spans: &[usize], subject: &mut SubjectUpdate) {
    let own = crate::text::key(&subject.name);
    let mut seen: Vec<String> = vec![own];
    for &span in spans {
        if seen.len() > ALIASES {
            break;
        }
        let value = reading.name_at(span);
        let key = crate::text::key(&value.text);
        if !seen.contains(&key) {
            seen.push(key);
            let place = value.span.clone();
            push(subject, ALSO, &value, place);
        }
    }
}

/// The name of a relation's bearer within what says so.
fn mention_within(reading: &Reading<'_>, fact: &Said) -> Option<Value> {
    let (_, span) = reading.names_in(fact.sentence).find(|(at, span)| {
        let place = reading.name_at(*span).span;
        *at == fact.subject && place.start >= fact.place.start && place.end <= fact.place.end
    })?;
    Some(reading.name_at(span))
}

/// Of each record, those that stand in a sentence with it, the most frequent first.
fn together(reading: &Reading<'_>) -> HashMap<usize, Vec<(usize, u32)>> {
    let mut pairs: BTreeMap<(usize, usize), u32> = BTreeMap::new();
    let mut at = 0;
    while let Some(span) = reading.spans.get(at) {
        let mut here: Vec<usize> = Vec::new();
        while reading.spans.get(at).is_some_and(|s| s.sentence == span.sentence) {
            // A sentence that names very many is a list.
            if let Some(found) = reading.of[at].filter(|found| here.len() < LINKS && !here.contains(found)) {
                here.push(found);
            }
            at += 1;
        }
        for (i, a) in here.iter().enumerate() {
            for b in &here[i + 1..] {
                *pairs.entry((*a.min(b), *a.max(b))).or_default() += 1;
            }
        }
    }
    let mut out: HashMap<usize, Vec<(usize, u32)>> = HashMap::new();
    for ((a, b), count) in pairs {
        out.entry(a).or_default().push((b, count));
        out.entry(b).or_default().push((a, count));
    }
    for company in out.values_mut() {
        company.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    }
    out
}

/// The most telling sentence on a record; without `any`, only one that tells what it is or does.
fn summary(reading: &Reading<'_>, at: usize, spans: &[usize], facts: &[&Said], any: bool) -> String {
    // Places seldom start a sentence.
    let good = if reading.kinds[at] == "person" { 6 } else { 3 };
    let scan = &reading.scan;
    let mut best: Option<(i32, usize)> = None;
    for &span in spans {
        let span = &reading.spans[span];
        let sentence = &scan.sentences[span.sentence];
        let words = scan.words_of(sentence);
        let part = &scan.text[sentence.start..sentence.end];
        let spoken = reading.spoken[span.sentence] || part.contains('?');
        let length = words.len();
        let next = scan.words.get(span.last).filter(|_| span.last < sentence.last);
        let acts = next.is_some_and(|w| w.gap.is_space() && w.shape == Shape::Lower);
        let defines = facts.iter().any(|f| f.sentence == span.sentence && f.subject == at && !f.is_date);
        let possessive = scan.words[span.last - 1].possessive;
        let mut score = 0;
        score += if defines { 5 } else { 0 };
        score += if span.first <= sentence.first + 1 && !possessive { 3 } else { 0 };
        score += if spoken { -4 } else { 2 };
        score += if (8..=50).contains(&length) { 1 } else { -3 };
        score += i32::from(acts && !possessive);
        score += i32::from(next.is_some_and(|w| w.gap.is_space() && w.is(COPULA)));
        if best.is_none_or(|(b, _)| score > b) {
            best = Some((score, span.sentence));
        }
    }
    match best {
        Some((score, sentence)) if any || score >= good => {
            // What somebody says in passing tells less than what another chunk said it is.
            let entity = &reading.known.entities[at];
            let told = entity.descriptions.iter().find(|d| score < good && is_phrase(d));
            let sentence = &scan.sentences[sentence];
            match told {
                Some(told) => tell::summary(&format!("{}: {told}", reading.known.subject(at))),
                None => tell::summary(&scan.text[sentence.start..sentence.end]),
            }
        }
        _ => String::new(),
    }
}

/// Whether a description is a phrase and no sentence: "the old woman’s sister".
fn is_phrase(description: &str) -> bool {
    let first = description.split(' ').next().unwrap_or_default();
    matches!(first, "the" | "a" | "an" | "his" | "her" | "their")
        && (8..80).contains(&description.len())
        && !description.contains(['.', '!', '?', ',', '“', '"'])
}

/// Of each sentence, whether a part of it stands in quotation marks. A quotation ends with its paragraph.
fn spoken(scan: &Scan<'_>) -> Vec<bool> {
    let mut out = Vec::with_capacity(scan.sentences.len());
    let (mut at, mut open) = (0, false);
    for sentence in &scan.sentences {
        let before = scan.text.get(at..sentence.start).unwrap_or_default();
        let first = &scan.words[sentence.first];
        if first.gap.has(Gap::PARAGRAPH) {
            open = false;
        }
        // Of what stands before a paragraph, the marks right at its start count.
        let marks = if first.gap.has(Gap::PARAGRAPH) { before.rsplit('\n').next().unwrap_or_default() } else { before };
        let mut any = false;
        for c in marks.chars() {
            turn(&mut open, c);
        }
        any |= open;
        for c in scan.text.get(sentence.start..sentence.end).unwrap_or_default().chars() {
            turn(&mut open, c);
            any |= open || matches!(c, '“' | '”' | '"');
        }
        at = sentence.end.max(at);
        out.push(any);
    }
    out
}

/// Opens or closes a quotation.
fn turn(open: &mut bool, c: char) {
    match c {
        '“' => *open = true,
        '”' => *open = false,
        '"' => *open = !*open,
        _ => {}
    }
}
