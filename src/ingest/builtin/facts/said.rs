//! What sentences say of known things, with the bytes that say it.

use super::super::apposition::{self, Phrase};
use super::super::lexicon::{self, PERSON, PHRASE_END};
use super::super::names::Span;
use super::super::scan::{Gap, Scan};
use super::known::{self, Known};
use super::{Value, quantities, relations};
use std::ops::Range;

/// Longest predicate that is kept, in bytes; a longer one ends at a mark before that, or is none.
const PREDICATE_BYTES: usize = 240;

/// Of what is named in fewer chunks, a predicate is taken only where its noun tells a kind: "Bitter is the ascent".
const KNOWN_CHUNKS: u32 = 3;

/// What a sentence says of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Said {
    /// The record that it is about.
    pub(in super::super) subject: usize,
    /// "is", "sister of", "price", ….
    pub(in super::super) label: String,
    /// The value, as it stands there.
    pub(in super::super) value: Value,
    /// The other record, of a relation.
    pub(in super::super) other: Option<usize>,
    /// From the subject to the value.
    pub(in super::super) place: Range<usize>,
    /// Of a date or an amount.
    pub(in super::super) is_date: bool,
    pub(in super::super) sentence: usize,
}

/// Everything that the sentences of a text say outright of known records.
pub(in super::super) fn said(scan: &Scan<'_>, spans: &[Span], of: &[Option<usize>], known: &Known<'_>) -> Vec<Said> {
    let mut out = Vec::new();
    for phrase in apposition::phrases(scan, spans) {
        out.extend(of_phrase(scan, spans, of, known, &phrase));
    }
    for relation in relations::between(scan, spans) {
        if let (Some(subject), Some(other)) = (of[relation.from], of[relation.to])
            && subject != other
        {
            out.push(Said {
                subject,
                label: relation.label,
                value: name_of(scan, &spans[relation.to]),
                other: Some(other),
                place: bytes(scan, relation.first, relation.last),
                is_date: false,
                sentence: spans[relation.from].sentence,
            });
        }
    }
    let mut span = 0;
    for (i, sentence) in scan.sentences.iter().enumerate() {
        while spans.get(span).is_some_and(|s| s.sentence < i) {
            span += 1;
        }
        let Some(first) = spans.get(span).filter(|s| s.sentence == i && s.first <= sentence.first + 1) else {
            continue;
        };
        let Some(subject) = of[span] else { continue };
        if scan.words[first.last - 1].possessive {
            continue;
        }
        for quantity in quantities::quantities(scan, sentence) {
            // Another name or a mark between them leaves open whose it is.
            let alone = spans.get(span + 1).is_none_or(|s| s.first >= quantity.governor);
            let direct = quantity.governor >= first.last && quantity.governor - first.last <= 6;
            let marked = scan.words[first.last..=quantity.governor].iter().any(|w| !w.gap.is_space());
            if alone && direct && !marked {
                out.push(Said {
                    subject,
                    label: quantity.label.to_owned(),
                    value: Value::of(scan.text, bytes(scan, quantity.first, quantity.last)),
                    other: None,
                    place: bytes(scan, first.first, quantity.last),
                    is_date: quantity.is_date,
                    sentence: i,
                });
            }
        }
    }
    out.sort_by(|a, b| {
        (a.place.start, a.place.end, a.subject, &a.label).cmp(&(b.place.start, b.place.end, b.subject, &b.label))
    });
    out.dedup();
    out
}

fn of_phrase(
    scan: &Scan<'_>,
    spans: &[Span],
    of: &[Option<usize>],
    known: &Known<'_>,
    phrase: &Phrase,
) -> Option<Said> {
    let span = &spans[phrase.span];
    let subject = of[phrase.span]?;
    let (from, to) = (span.first.min(phrase.first), span.last.max(phrase.last));
    if let Some((to_span, label)) = relations::of_phrase(scan, spans, phrase.span, phrase.first, phrase.last) {
        let other = of[to_span].filter(|&o| o != subject)?;
        return Some(Said {
            subject,
            label,
            value: name_of(scan, &spans[to_span]),
            other: Some(other),
            place: bytes(scan, from, to),
            is_date: false,
            sentence: span.sentence,
        });
    }
    let last = predicate_end(scan, phrase)?;
    let entity = &known.entities[subject];
    if phrase.kind.is_empty() && entity.chunks < KNOWN_CHUNKS || !fits(scan, phrase, last, known::kind(entity)) {
        return None;
    }
    Some(Said {
        subject,
        label: "is".to_owned(),
        value: Value::of(scan.text, bytes(scan, phrase.first, last)),
        other: None,
        place: bytes(scan, from, span.last.max(last)),
        is_date: false,
        sentence: span.sentence,
    })
}

/// Whether a predicate says what a thing of this kind is. Of a person it must name a person; an apposition must name
/// something of the same kind, or it may be the next of a list.
fn fits(scan: &Scan<'_>, phrase: &Phrase, last: usize, kind: &str) -> bool {
    let words = &scan.words[phrase.first..last];
    let Some(second) = words.get(1) else { return false };
    let opened = matches!(words[0].text, "my" | "our" | "your" | "one" | "some");
    let vague = matches!(
        second.text,
        "first"
            | "last"
            | "only"
            | "same"
            | "little"
            | "most"
            | "more"
            | "other"
            | "great"
            | "few"
            | "lot"
            | "very"
            | "sort"
            | "kind"
    ) && !words.iter().any(|w| w.text == "of" || w.is(PERSON));
    // The head of "his former fellow students" is several.
    let end = words.iter().skip(1).position(|w| w.is(PHRASE_END) || !w.gap.is_space()).map_or(words.len(), |i| i + 1);
    let head = &words[end - 1];
    let plural =
        head.class & PERSON == 0 && head.text.strip_suffix('s').is_some_and(|one| lexicon::classes(one) & PERSON != 0);
    // "the superintendent of the district himself, X": the phrase starts too late.
    let cut = !phrase.defines
        && phrase.first > 0
        && matches!(
            scan.words[phrase.first - 1].text,
            "of" | "in" | "at" | "to" | "for" | "by" | "with" | "from" | "on"
        );
    if plural || vague || cut || (opened && words[0].text != "one") {
        return false;
    }
    // Of "her daughter sat in dread" the end is no noun; "His father, X" speaks to X.
    let named = head.is(PERSON) || BEARERS.contains(&format!(" {} ", head.text));
    if !phrase.defines && (kind == "person" && !named || matches!(words[0].text, "His" | "Her" | "Their")) {
        return false;
    }
    let person = phrase.kind == "person" || words[..end].iter().any(|w| BEARERS.contains(&format!(" {} ", w.text)));
    match kind {
        "person" => person,
        _ if phrase.defines => true,
        kind => phrase.kind == kind || kind.is_empty() && !phrase.kind.is_empty(),
    }
}

/// People that the lexicon has no noun for.
const BEARERS: &str = " fellow lady gentleman landlady landlord pawnbroker magistrate superintendent moneylender official \
    assessor porter huckster drunkard comrade colleague betrothed relation relative scoundrel ";

/// Where a predicate ends so that it is short enough: at its end, or at the last mark before the limit.
fn predicate_end(scan: &Scan<'_>, phrase: &Phrase) -> Option<usize> {
    let words = &scan.words;
    if phrase.last - phrase.first < 2 {
        return None;
    }
    let start = words[phrase.first].start;
    // What is said in another breath, or by somebody else, is not part of it.
    let stop = (phrase.first + 1..phrase.last).find(|&i| words[i].gap.has(Gap::QUOTE.with(Gap::OPEN)));
    let last = stop.unwrap_or(phrase.last);
    // ", and he had …" is a sentence of its own.
    let clause = (phrase.first + 2..last.saturating_sub(1)).find(|&i| {
        words[i].gap.has(Gap::COMMA)
            && matches!(words[i].text, "and" | "but" | "so" | "for")
            && matches!(words[i + 1].text, "he" | "she" | "it" | "they" | "I" | "you" | "we" | "that" | "there")
    });
    let last = clause.unwrap_or(last);
    if words[last - 1].end() - start <= PREDICATE_BYTES {
        return (last - phrase.first > 1).then_some(last);
    }
    (phrase.first + 3..last).rev().find(|&i| {
        words[i].gap.has(Gap::COMMA.with(Gap::DASH).with(Gap::OTHER)) && words[i - 1].end() - start <= PREDICATE_BYTES
    })
}

fn name_of(scan: &Scan<'_>, span: &Span) -> Value {
    Value::of(scan.text, bytes(scan, span.first, span.last))
}

/// Bytes of the words `first..last`.
pub(in super::super) fn bytes(scan: &Scan<'_>, first: usize, last: usize) -> Range<usize> {
    scan.words[first].start..scan.words[last - 1].end()
}
