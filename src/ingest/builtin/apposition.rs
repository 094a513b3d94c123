//! Appositions ("X, the Y," and "the Y, X,") and definitions ("X is a Y"): what the text says a thing is.
//!
//! Both give a phrase whose head noun tells the kind. A definite phrase that singles its bearer out ("the master of
//! Pemberley") is also a name by which it may be called.

use super::cast::{Cast, Kind, kind_of, squeeze};
use super::lexicon::{
    CONNECTOR, COPULA, EVENT, FUNCTION, ONE_OF, ORGANISATION, PERSON, PHRASE_END, PLACE, UTTERS, WORK,
};
use super::names::Span;
use super::scan::{Gap, Scan, Word};

/// Words after which a phrase goes on about something else.
const UNBOUND: u16 = COPULA;
/// Longest phrase that serves as a name, in words.
const MOST_NAME_WORDS: usize = 8;
/// Longest phrase, in words.
const PHRASE_WORDS: usize = 14;
/// Words of a definition that are looked through for its head.
const HEAD_WORDS: usize = 16;

/// A phrase that says what the span at `span` is: words `first..last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Phrase {
    pub(super) span: usize,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) kind: Kind,
    /// Whether the phrase, up to `name_end`, fits only one bearer.
    pub(super) singles_out: bool,
    pub(super) name_end: usize,
    /// Whether it is the predicate of a definition, and not an apposition.
    pub(super) defines: bool,
}

const NOUNS: u16 = PERSON | PLACE | ORGANISATION | WORK | EVENT;

/// The phrases of a text.
pub(super) fn phrases(scan: &Scan<'_>, spans: &[Span]) -> Vec<Phrase> {
    let mut out = Vec::new();
    for (i, span) in spans.iter().enumerate() {
        let limit = scan.sentences[span.sentence].last;
        out.extend(behind(&scan.words, span, limit, i));
        out.extend(before(&scan.words, span, scan.sentences[span.sentence].first, limit, i));
        out.extend(definition(scan, spans, span, limit, i));
    }
    out
}

/// "X, the Y,": the words between the comma behind the name and the next mark.
fn behind(words: &[Word<'_>], span: &Span, limit: usize, place: usize) -> Option<Phrase> {
    let first = span.last;
    let head = words[..limit].get(first)?;
    if head.gap != Gap::COMMA || words[span.last - 1].possessive || !starts_phrase(head) {
        return None;
    }
    let last = phrase_end(words, first, limit)?;
    // "X, the Y, and the Z" is a list.
    if words[..limit].get(last).is_some_and(|w| matches!(w.text, "and" | "or" | "&")) {
        return None;
    }
    phrase(words, first, last, place)
}

/// "the Y, X,": the words between a mark and the comma before the name.
fn before(words: &[Word<'_>], span: &Span, start: usize, limit: usize, place: usize) -> Option<Phrase> {
    let last = span.first;
    if words[last].gap != Gap::COMMA || words[..limit].get(span.last).is_some_and(|w| w.gap.is_space()) {
        return None;
    }
    let mut first = last;
    while first > start && last - first < PHRASE_WORDS {
        first -= 1;
        if !words[first].gap.is_space() || opens(&words[first]) {
            break;
        }
    }
    if last - first < 2 || !opens(&words[first]) || words[first + 1..last].iter().any(|w| w.is(COPULA)) {
        return None;
    }
    phrase(words, first, last, place)
}

fn opens(word: &Word<'_>) -> bool {
    matches!(word.text, "the" | "The" | "his" | "her" | "their" | "His" | "Her" | "Their")
}

/// "X is a Y", where X starts the sentence.
fn definition(scan: &Scan<'_>, spans: &[Span], span: &Span, limit: usize, place: usize) -> Option<Phrase> {
    let words = &scan.words;
    let start = scan.sentences[span.sentence].first;
    if span.first > start + 1 || (place > 0 && spans[place - 1].sentence == span.sentence) {
        return None;
    }
    // Brackets and an apposition may stand between.
    let verb = copula_after(words, span.last, limit)?;
    let article = words[..limit].get(verb + 1)?;
    if !article.gap.is_space() || !matches!(article.text, "a" | "an" | "the" | "one") {
        return None;
    }
    let last = (verb + 2..limit).find(|&i| words[i].gap.has(Gap::OTHER)).unwrap_or(limit);
    let kind = kind_of(head_class(words, verb + 1, last));
    let name_end = (verb + 2..last)
        .find(|&i| !words[i].gap.is_space() || words[i].is(UNBOUND) || words[i].text == "by")
        .unwrap_or(last);
    let singles_out = article.text == "the" && singles_out(&words[verb + 1..name_end]);
    Some(Phrase { span: place, first: verb + 1, last, kind, singles_out, name_end, defines: true })
}

/// The verb of "X (born …), the Y, is a Z": behind the name, or behind its closed brackets or second comma.
fn copula_after(words: &[Word<'_>], from: usize, limit: usize) -> Option<usize> {
    let mut depth = false;
    for (i, word) in words[..limit].iter().enumerate().skip(from).take(40) {
        depth = word.gap.has(Gap::OPEN) || (depth && !word.gap.has(Gap::CLOSE));
        if depth {
            continue;
        }
        if word.is(COPULA) {
            return (i == from || word.gap.has(Gap::CLOSE.with(Gap::COMMA))).then_some(i);
        }
        if i == from && !word.gap.has(Gap::OPEN.with(Gap::CLOSE).with(Gap::COMMA)) {
            return None;
        }
    }
    None
}

fn starts_phrase(word: &Word<'_>) -> bool {
    matches!(word.text, "the" | "a" | "an" | "his" | "her" | "their" | "its" | "our" | "my")
        || (word.possessive && word.is_capital())
        || (!word.is_capital() && word.is(PERSON) && !word.is(FUNCTION))
}

/// End of the run of words without a mark between them; a clause is no phrase.
fn phrase_end(words: &[Word<'_>], first: usize, limit: usize) -> Option<usize> {
    let mut last = first + 1;
    while last < limit && words[last].gap.is_space() {
        last += 1;
        if last - first > PHRASE_WORDS {
            return None;
        }
    }
    Some(last)
}

fn phrase(words: &[Word<'_>], first: usize, last: usize, span: usize) -> Option<Phrase> {
    let run = &words[first..last];
    let class = head_class(words, first, last);
    if class & NOUNS == 0 {
        return None;
    }
    Some(Phrase {
        span,
        first,
        last,
        kind: kind_of(class),
        singles_out: singles_out(run),
        name_end: last,
        defines: false,
    })
}

/// Whether a phrase is definite and narrow enough to be a name: it holds another name ("the master of Pemberley"), is
/// two words that are no mere class ("the lighthouse keeper"), or is a relation of which there is one ("Ada's mother").
fn singles_out(run: &[Word<'_>]) -> bool {
    let Some((article, rest)) = run.split_first() else { return false };
    let narrow = (2..=MOST_NAME_WORDS).contains(&run.len())
        && !run.iter().any(|w| w.is(COPULA) || matches!(w.text, "who" | "which" | "that"));
    let named = rest.iter().any(|w| w.is_capital());
    let relation = run.len() == 2 && article.possessive && run[1].is(ONE_OF);
    let compound = run.len() == 3 && rest.iter().all(|w| !w.is(FUNCTION)) && rest[1].is(NOUNS);
    // "the poet Virgil" is the poet's name, and no description.
    let names = rest.iter().rev().take_while(|w| w.is_capital()).count();
    let called = names > 0 && names < rest.len() && !rest[rest.len() - names - 1].is(PHRASE_END | CONNECTOR);
    narrow && !called && (matches!(article.text, "the" | "The") && (named || compound) || relation)
}

/// Enters those who are only described: "the master of Pemberley", "the second Bennet daughter".
pub(super) fn roles(scan: &Scan<'_>, spans: &[Span], phrases: &[Phrase], cast: &mut Cast) {
    let words = &scan.words;
    let mut taken = vec![false; words.len()];
    for phrase in phrases {
        taken[phrase.first..phrase.last].fill(true);
    }
    for span in spans {
        let start = scan.sentences[span.sentence].first;
        // Back from the name to "the", with a person's noun on the way or right behind the name.
        let Some(first) = (start.max(span.first.saturating_sub(5))..span.first)
            .rev()
            .find(|&f| matches!(words[f].text, "the" | "The"))
        else {
            continue;
        };
        let between = &words[first + 1..span.first];
        if between.iter().any(|w| !w.gap.is_space()) || !words[span.first].gap.is_space() {
            continue;
        }
        let of = between.len() > 1 && between[between.len() - 1].text == "of" && is_role(&between[between.len() - 2]);
        let noun = words.get(span.last).filter(|w| w.gap.is_space() && !words[span.last - 1].possessive && is_role(w));
        let last = match (of, noun) {
            (true, _) => span.last,
            (false, Some(_)) if between.iter().all(|w| !w.is(PHRASE_END)) => span.last + 1,
            _ => continue,
        };
        if taken[first] || between.iter().any(|w| w.is(COPULA)) {
            continue;
        }
        let name = format!("the {}", squeeze(scan.slice(first + 1, last)));
        if let Some(at) = cast.enter(name) {
            let entity = &mut cast.entities[at];
            entity.kind = "person";
            entity.mentions.push(Span { first, last, sentence: span.sentence, quoted: false });
        }
    }
}

fn is_role(word: &Word<'_>) -> bool {
    word.is(PERSON) && !word.is_capital() && !word.is(FUNCTION | UTTERS) && !matches!(word.text, "model" | "character")
}

/// Classes of the head of a noun phrase: its last noun before a preposition or a clause.
pub(super) fn head_class(words: &[Word<'_>], first: usize, last: usize) -> u16 {
    let mut class = 0;
    for (i, word) in words[first..last].iter().enumerate().take(HEAD_WORDS) {
        // "an old comrade at the university" is no university, "one of the founders" is a founder.
        let part = i > 0
            && word.text == "of"
            && matches!(words[first + i - 1].text, "one" | "some" | "part" | "kind" | "type" | "form");
        if i > 0 && (word.is(PHRASE_END) || word.gap.has(Gap::COMMA)) && (class != 0 || (i > 1 && !part)) {
            break;
        }
        let singular = word.text.strip_suffix('s').map_or(0, super::lexicon::classes);
        let nouns = (word.class | singular) & NOUNS;
        if nouns != 0 && !word.is_capital() {
            class = nouns;
        }
    }
    class
}
