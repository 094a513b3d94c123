//! Proper names: which runs of words are written as names.
//!
//! A capital in the middle of a sentence is good evidence of a name, a capital at its start is none. So a single word
//! at the start of a sentence counts only if something else speaks for it: the same word with a capital elsewhere (in
//! the chunk, its title, the history or a recalled record), a possessive ending, or a verb behind it; and a word that
//! the chunk also has in small letters is no name. Words of a grammatical duty never start or end one.

use super::lexicon::{self, CONNECTOR, COPULA, FUNCTION, HEADING, HONORIFIC, MONTH, UTTERS};
use super::scan::{Gap, Scan, Sentence, Shape, Word};
use std::collections::HashMap;

/// Most words of one name; a longer run of capitals is cut.
const NAME_WORDS: usize = 12;
/// Most bytes of one name; longer ones are dropped.
pub(super) const NAME_BYTES: usize = 240;

/// A name in a text: words `first..last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first: usize,
    pub(super) last: usize,
    /// Place of its sentence.
    pub(super) sentence: usize,
    /// Whether quotation marks or italics enclose it, as they do a title.
    pub(super) quoted: bool,
}

/// How often each word is written how, whatever its case.
#[derive(Debug, Default)]
pub(super) struct Usage {
    words: HashMap<u64, Written>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Written {
    small: u32,
    /// With a capital where none is due.
    capital: u32,
}

impl Usage {
    /// Counts the words of a text.
    pub(super) fn add(&mut self, scan: &Scan<'_>) {
        for word in &scan.words {
            match word.shape {
                Shape::Lower => self.words.entry(word.key).or_default().small += 1,
                Shape::Capital | Shape::Caps if !is_capital_due(word) => {
                    self.words.entry(word.key).or_default().capital += 1;
                }
                _ => {}
            }
        }
    }

    /// Counts the capitals of a name that is known already, its first word left out: that one may only have started it.
    pub(super) fn add_name(&mut self, name: &str) {
        for word in name.split_whitespace().skip(1).filter(|w| w.starts_with(char::is_uppercase)) {
            self.words.entry(lexicon::key(word)).or_default().capital += 1;
        }
    }

    /// Counts only capitals, for text from elsewhere.
    pub(super) fn add_capitals(&mut self, scan: &Scan<'_>) {
        for word in scan.words.iter().filter(|w| w.shape == Shape::Capital && !is_capital_due(w)) {
            self.words.entry(word.key).or_default().capital += 1;
        }
    }

    fn written(&self, word: &Word<'_>) -> Written {
        self.words.get(&word.key).copied().unwrap_or_default()
    }
}

/// Whether the place alone calls for a capital.
fn is_capital_due(word: &Word<'_>) -> bool {
    let starts = Gap::SENTENCE.with(Gap::QUOTE).with(Gap::STOP).with(Gap::OTHER).with(Gap::DASH);
    word.gap.has(starts)
}

/// The names of a text, in order.
pub(super) fn spans(scan: &Scan<'_>, usage: &Usage) -> Vec<Span> {
    let mut out = Vec::new();
    for (i, sentence) in scan.sentences.iter().enumerate() {
        if !is_heading(scan.words_of(sentence)) {
            spans_of(scan, sentence, i, usage, &mut out);
        }
    }
    out
}

/// Whether a sentence is a line of capitals, or "Chapter 3".
fn is_heading(words: &[Word<'_>]) -> bool {
    let loud = words.iter().filter(|w| w.shape == Shape::Caps).count();
    let quiet = words.iter().any(|w| match w.shape {
        Shape::Lower => true,
        Shape::Capital => w.text.chars().nth(1).is_some_and(char::is_alphabetic),
        _ => false,
    });
    let numbered =
        matches!(words, [head, number] if head.is(HEADING) && (number.shape == Shape::Number || is_roman(number.text)));
    (loud > 0 && words.len() > 1 && !quiet) || numbered
}

pub(super) fn is_roman(text: &str) -> bool {
    !text.is_empty() && text.len() <= 8 && text.bytes().all(|b| b"IVXLC".contains(&b))
}

fn spans_of(scan: &Scan<'_>, sentence: &Sentence, place: usize, usage: &Usage, out: &mut Vec<Span>) {
    let words = &scan.words;
    let mut at = sentence.first;
    while at < sentence.last {
        if !words[at].is_capital() {
            at += 1;
            continue;
        }
        let end = extend(words, at, sentence.last, usage);
        let (mut first, mut last) = (at, end);
        at = end;
        // A title in quotation marks is kept whole ("My Fair Lady").
        let enclosed =
            end - first > 1 && words[first].gap.has(Gap::QUOTE) && words.get(end).is_none_or(|w| w.gap == Gap::QUOTE);
        if !enclosed {
            trim(words, &mut first, &mut last, usage);
        }
        if first == last || !is_name(words, first, last, sentence.last, usage) {
            continue;
        }
        if words[last - 1].end() - words[first].start <= NAME_BYTES {
            let quotes = Gap::QUOTE.with(Gap::ITALIC);
            let quoted =
                words[first].gap.has(quotes) && words.get(last).is_none_or(|w| w.gap.has(quotes.with(Gap::STOP)));
            out.push(Span { first, last, sentence: place, quoted });
        }
    }
}

/// End of the run of name words that starts at `first`.
fn extend(words: &[Word<'_>], first: usize, limit: usize, usage: &Usage) -> usize {
    let mut end = first + 1;
    while end < limit && end - first < NAME_WORDS {
        let (word, before) = (&words[end], &words[end - 1]);
        let ampersand = word.gap == Gap::AMPERSAND;
        if !(word.gap.is_space() || ampersand) {
            break;
        }
        // "Susan's Edmund" are two, "Child's Play" is one: a possessor that is a name of its own tells.
        if before.possessive && (end - first > 1 || before.is(HONORIFIC) || usage.written(before).capital > 1) {
            break;
        }
        // "At Petersburg Prince Andrew": a title starts another name.
        if is_title_of_address(word)
            && !before.is(HONORIFIC | CONNECTOR)
            && words[..limit].get(end + 1).is_some_and(|w| w.gap.is_space() && w.shape == Shape::Capital)
        {
            break;
        }
        // "In Moscow Pierre": of two words behind a preposition, the second is known by itself.
        if end - first == 1
            && is_fronted(words, first)
            && words[..limit].get(end + 1).is_none_or(|w| !w.is_capital())
            && usage.written(word).capital > usage.written(before).capital + 1
        {
            break;
        }
        // "Elizabeth I of England", but "Elizabeth I think".
        let pronoun = word.text == "I"
            && (words[first].is(HONORIFIC) || words.get(end + 1).is_some_and(|w| w.gap.is_space() && !w.is(CONNECTOR)));
        if (word.is_capital() && !pronoun) || (word.shape == Shape::Number && word.text.len() <= 4 && !before.is(MONTH))
        {
            end += 1;
            continue;
        }
        // One or two small words may join ("Joan of the Tower").
        let joined = (1..=2).find(|&n| {
            let reach = end + n;
            reach < limit
                && words[end..reach].iter().all(|w| {
                    w.is(CONNECTOR) && w.gap.is_space() && !w.possessive && is_joint(words, first, end, w.text, usage)
                })
                && words[reach].is_capital()
                && words[reach].gap.is_space()
                && !words[reach].is(MONTH)
        });
        match joined {
            Some(n) if end + n - first < NAME_WORDS => end += n + 1,
            _ => break,
        }
    }
    end
}

/// Whether a small word joins two names into one: "and" within the name of a body ("Ministry of Steel and Power"), "of"
/// unless the word before it is known by itself ("told Rosa of Hollin Hall").
fn is_joint(words: &[Word<'_>], first: usize, end: usize, joint: &str, usage: &Usage) -> bool {
    match joint {
        "and" => words[first..end].iter().any(|w| w.text == "of"),
        "of" => {
            let known = end - first == 1 && words[first].class == 0 && usage.written(&words[first]).capital > 2;
            !known && words.get(end + 1).is_none_or(|w| !is_title_of_address(w))
        }
        _ => true,
    }
}

/// Titles that stand before a name and hardly ever within one.
fn is_title_of_address(word: &Word<'_>) -> bool {
    word.is(HONORIFIC)
        && matches!(
            word.text,
            "Mr."
                | "Mr"
                | "Mrs."
                | "Mrs"
                | "Ms."
                | "Miss"
                | "Lady"
                | "Sir"
                | "Prince"
                | "Princess"
                | "Count"
                | "Countess"
                | "Emperor"
                | "Monsieur"
                | "Madame"
                | "Mademoiselle"
        )
}

/// Whether a preposition that starts the sentence stands before the word.
fn is_fronted(words: &[Word<'_>], first: usize) -> bool {
    first > 0 && words[first].gap.is_space() && words[first - 1].gap.has(Gap::SENTENCE) && words[first - 1].is(FUNCTION)
}

/// Cuts words of a grammatical duty from both ends.
fn trim(words: &[Word<'_>], first: &mut usize, last: &mut usize, usage: &Usage) {
    while first < last {
        let word = &words[*first];
        let alone = *last - *first == 1;
        let duty = word.is(FUNCTION | CONNECTOR) && (alone || !word.is(HONORIFIC))
            || word.shape == Shape::Number
            || (is_capital_due(word) && !alone && !word.is(HONORIFIC) && is_common(usage.written(word)));
        if !duty {
            break;
        }
        *first += 1;
    }
    while first < last {
        let word = &words[*last - 1];
        if !word.is(FUNCTION | CONNECTOR) || is_roman(word.text) {
            break;
        }
        *last -= 1;
    }
}

fn is_common(written: Written) -> bool {
    written.small > 0 && written.capital <= written.small
}

/// Whether a trimmed run of capitals is a name.
fn is_name(words: &[Word<'_>], first: usize, last: usize, limit: usize, usage: &Usage) -> bool {
    let run = &words[first..last];
    let word = &run[0];
    if run.iter().all(|w| w.is(MONTH) || w.shape == Shape::Number) {
        return false;
    }
    if run.len() > 1 {
        return !(word.is(HEADING) && run[1..].iter().all(|w| w.shape == Shape::Number || is_roman(w.text)));
    }
    let letters = word.text.chars().filter(|c| c.is_alphabetic()).count();
    if letters < 2 || word.is(HEADING | HONORIFIC) || is_roman(word.text) {
        return false;
    }
    let written = usage.written(word);
    if is_common(written) {
        return false;
    }
    if !is_capital_due(word) || written.capital > 0 {
        return true;
    }
    let next = words[..limit].get(last);
    let enclosed =
        word.gap.has(Gap::QUOTE) && !word.gap.has(Gap::SENTENCE) && next.is_some_and(|w| w.gap == Gap::QUOTE);
    let acts = |w: &Word<'_>| w.gap.is_space() && (w.is(COPULA | UTTERS) || matches!(w.text, "had" | "has"));
    word.possessive || enclosed || word.shape == Shape::Caps || next.is_some_and(acts)
}
