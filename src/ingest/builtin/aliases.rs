//! Other names: short forms, acronyms, and names that the text itself gives as another name.

use super::cast::{Cast, squeeze, words_of};
use super::lexicon::{self, CONNECTOR, FUNCTION, MONTH};
use super::names::{Span, is_roman};
use super::scan::{Gap, Scan, Shape, Word};
use crate::ingest::Recalled;

/// Longest and shortest acronym, in letters.
const ACRONYM_LETTERS: std::ops::RangeInclusive<usize> = 2..=8;

/// Finds which entities are short forms of others and merges them. `local` says that a short form holds only under
/// this chunk's title, so that it must not become an alias.
pub(super) fn short_forms(cast: &mut Cast, local: bool) {
    let mut holders: std::collections::HashMap<String, Vec<usize>> = std::collections::HashMap::new();
    for (i, e) in cast.entities.iter().enumerate() {
        let n = e.words.len();
        if n > 1 {
            let skip = e.honorifics();
            let mut ends = vec![e.words[n - 1].as_str(), e.words[skip].as_str(), e.words[0].as_str()];
            ends.sort_unstable();
            ends.dedup();
            for w in ends {
                holders.entry(w.to_owned()).or_default().push(i);
            }
        }
    }
    for short in 0..cast.entities.len() {
        let e = &cast.entities[short];
        if e.is_title || e.same_as.is_some() {
            continue;
        }
        let Some(candidates) = e.words.last().and_then(|w| holders.get(w)).or_else(|| holders.get(&e.words[0])) else {
            continue;
        };
        // A word held by very many names tells nothing (and must not cost a square).
        if candidates.len() > 8 {
            continue;
        }
        let first = holders.get(&e.words[0]).filter(|c| c.len() <= 8);
        let mut fits: Vec<usize> = Vec::new();
        for &long in candidates.iter().chain(first.into_iter().flatten()) {
            if !fits.contains(&long) && is_short_form(cast, short, long) {
                fits.push(long);
            }
        }
        // The one the chunk is about comes first; else it must be the only one.
        let title = fits.iter().copied().find(|&f| cast.entities[f].is_title);
        let long = match (title, fits.as_slice()) {
            (Some(title), _) => title,
            (None, [one]) => *one,
            _ => continue,
        };
        let alias = cast.entities[short].name.clone();
        cast.merge(short, long);
        if !local {
            let long = cast.entities[long].same_as.unwrap_or(long);
            cast.alias(long, alias);
        }
    }
}

/// Gives "Miss Elizabeth Bennet" the alias "Elizabeth Bennet". A wife is not named by her husband's first name alone,
/// and what a saint or a general heads may be a town or a company, so those are left.
pub(super) fn without_honorifics(cast: &mut Cast) {
    const PLAIN: [&str; 13] = [
        "mr",
        "miss",
        "ms",
        "dr",
        "doctor",
        "professor",
        "prof",
        "sir",
        "captain",
        "colonel",
        "lieutenant",
        "senator",
        "president",
    ];
    for at in 0..cast.entities.len() {
        let e = &cast.entities[at];
        let bare = e.words.len() - e.honorifics();
        if e.is_title || e.honorifics() != 1 || !(2..=4).contains(&bare) || !PLAIN.contains(&e.words[0].as_str()) {
            continue;
        }
        if e.words.iter().skip(1).any(|w| lexicon::classes(w) & !CONNECTOR != 0) {
            continue;
        }
        let Some((_, name)) = e.name.split_once(' ') else { continue };
        let name = name.to_owned();
        if let Some(other) = cast.find(&name)
            && !cast.entities[other].is_title
        {
            cast.merge(other, at);
        }
        cast.alias(at, name);
    }
}

/// Whether the name of `short` may stand for `long`.
fn is_short_form(cast: &Cast, short: usize, long: usize) -> bool {
    let (s, l) = (&cast.entities[short], &cast.entities[long]);
    if short == long || s.words.len() >= l.words.len() {
        return false;
    }
    let person = l.kind == "person" || (matches!(l.kind, "" | "work") && s.kind == "person");
    let titled = s.honorifics() > 0;
    if l.words.ends_with(&s.words) {
        // "Darcy" is Mr. Darcy before it is Miss Darcy; "Carolina" is not "North Carolina".
        return if s.words.len() == 1 { (person && !l.is_female()) || l.is_title } else { true };
    }
    if titled {
        // "Lady Catherine" of "Lady Catherine de Bourgh", "Mr. Darcy" of "Mr. Fitzwilliam Darcy".
        // (A family has several misses.)
        let bare = l.words[0] == s.words[0] && s.words.len() == 2 && l.words.last() == s.words.last();
        return l.words.starts_with(&s.words) || (bare && !l.is_female());
    }
    person && s.kind != "place" && !l.is_noble() && l.words[l.honorifics()..].starts_with(&s.words)
}

/// A name given for another: the first is the place of a span, the second the alias.
pub(super) type Given = (usize, String);

/// Finds acronyms in brackets behind what they stand for, or before it; an expansion in small letters is entered.
pub(super) fn acronyms(scan: &Scan<'_>, cast: &mut Cast, recalled: &[Recalled]) {
    let words = &scan.words;
    for at in 1..words.len() {
        let word = &words[at];
        if !word.gap.has(Gap::OPEN) || word.gap.has(Gap::CLOSE) {
            continue;
        }
        let closed = words.get(at + 1).is_none_or(|w| w.gap.has(Gap::CLOSE));
        if closed && is_acronym(word) {
            if let Some(first) = expansion_before(words, at, word.text) {
                let name = squeeze(scan.slice(first, at));
                if let Some(entity) = cast.find(&name).or_else(|| cast.enter(name)) {
                    adopt(cast, entity, word.text, recalled);
                }
            }
        } else if is_acronym(&words[at - 1]) {
            let limit = (at + 12).min(words.len());
            if let Some(last) = (at + 1..limit).find(|&i| words[i].gap.has(Gap::CLOSE))
                && last - at > 1
                && expansion_before(words, last, words[at - 1].text) == Some(at)
            {
                let name = squeeze(scan.slice(at, last));
                let acronym = words[at - 1].text;
                if let Some(entity) = cast.find(&name).or_else(|| cast.enter(name)) {
                    adopt(cast, entity, acronym, recalled);
                }
            }
        }
    }
}

/// Gives the entity its acronym, unless a recalled record of another name has it already.
fn adopt(cast: &mut Cast, entity: usize, acronym: &str, recalled: &[Recalled]) {
    let words = &cast.entities[entity].words;
    let taken = |r: &Recalled| {
        let own = std::iter::once(&r.name).chain(&r.aliases).any(|n| words_of(n) == *words);
        !own && r.name.contains(' ') && r.aliases.iter().any(|a| a.eq_ignore_ascii_case(acronym))
    };
    if recalled.iter().any(taken) {
        return;
    }
    if let Some(short) = cast.find(acronym)
        && !cast.entities[short].is_title
    {
        cast.merge(short, entity);
    }
    cast.alias(entity, acronym.to_owned());
}

fn is_acronym(word: &Word<'_>) -> bool {
    let letters = word.text.chars().filter(|c| c.is_alphabetic()).count();
    let capitals = word.text.chars().filter(|c| c.is_uppercase()).count();
    ACRONYM_LETTERS.contains(&letters) && capitals >= 2 && capitals * 2 > letters && !is_roman(word.text)
}

/// First word of the run before `at` whose initials spell the acronym. Words of duty may be skipped; a word with
/// hyphens may give one initial for each part.
fn expansion_before(words: &[Word<'_>], at: usize, acronym: &str) -> Option<usize> {
    let letters: Vec<char> =
        acronym.trim_end_matches('s').chars().filter(|c| c.is_alphabetic()).flat_map(char::to_lowercase).collect();
    let mut left = letters.len();
    let mut first = at;
    while left > 0 {
        first = first.checked_sub(1)?;
        if at - first > letters.len() + 4 || (first + 1 < at && !joins(&words[first + 1])) {
            return None;
        }
        let word = &words[first];
        let parts: Vec<char> =
            word.text.split('-').filter_map(|p| p.chars().next()).flat_map(char::to_lowercase).collect();
        if left >= parts.len() && !parts.is_empty() && letters[left - parts.len()..left] == parts[..] {
            left -= parts.len();
        } else if parts.first() == Some(&letters[left - 1]) {
            left -= 1;
        } else if !word.is(FUNCTION) || first + 1 == at {
            return None;
        }
    }
    (at - first > 1).then_some(first)
}

fn joins(word: &Word<'_>) -> bool {
    word.gap.is_space() || word.gap == Gap::DASH || word.gap == Gap::COMMA || word.gap == Gap::AMPERSAND
}

/// Finds "X (born Y)", "X, also known as Y", "X, better known as Y" and the like. Returns the place of X among the
/// spans and of Y.
pub(super) fn given(scan: &Scan<'_>, spans: &[Span]) -> Vec<(usize, usize)> {
    let words = &scan.words;
    let mut out = Vec::new();
    for (place, span) in spans.iter().enumerate().skip(1) {
        let Some(cue) = cue_before(words, span) else { continue };
        let same: Vec<usize> = {
            let mut near = place;
            let mut found = Vec::new();
            while near > 0 && spans[near - 1].sentence == span.sentence && found.len() < 6 {
                near -= 1;
                found.push(near);
            }
            found
        };
        // The nearest name that ends at the cue, else the one that starts the sentence.
        let touching = same.first().copied().filter(|&s| spans[s].last == cue);
        let start = scan.sentences[span.sentence].first;
        let subject = same.last().copied().filter(|&s| spans[s].first <= start + 1);
        if let Some(target) = touching.or(subject) {
            out.push((target, place));
        }
    }
    out
}

/// First word of the cue that ends right before the span, if there is one.
fn cue_before(words: &[Word<'_>], span: &Span) -> Option<usize> {
    let at = span.first;
    let word = |back: usize| at.checked_sub(back).map(|i| &words[i]);
    let start = &words[at];
    let quoted = start.gap.has(Gap::QUOTE) && !start.gap.has(Gap::STOP.with(Gap::CLOSE));
    if !(start.gap.is_space() || quoted) {
        return None;
    }
    let skip = usize::from(word(1).is_some_and(|w| matches!(w.text, "the" | "as") && !w.gap.has(Gap::STOP)));
    let last = |n: usize| word(n + skip).map_or("", |w| w.text);
    let opened = |n: usize| word(n + skip).is_some_and(|w| w.gap.has(Gap::OPEN.with(Gap::COMMA)));
    let is_date = words[span.first..span.last].iter().any(|w| w.is(MONTH) || w.shape == Shape::Number);
    if is_date {
        return None;
    }
    match last(1) {
        "née" | "né" | "nee" | "aka" | "alias" | "nicknamed" => Some(at - 1 - skip),
        "born" if opened(1) && skip == 0 => Some(at - 1),
        "or" if word(1).is_some_and(|w| w.gap.has(Gap::OPEN)) && skip == 0 => Some(at - 1),
        "known" | "called" | "named" | "titled" if skip == 1 || last(1) == "called" => {
            let adverb = matches!(
                last(2),
                "also"
                    | "better"
                    | "best"
                    | "formerly"
                    | "originally"
                    | "previously"
                    | "commonly"
                    | "otherwise"
                    | "sometimes"
                    | "professionally"
                    | "popularly"
                    | "simply"
                    | "now"
                    | "often"
            );
            adverb.then(|| at - 2 - skip)
        }
        "professionally" | "simply" | "commonly" | "formally" | "popularly" if skip == 1 && last(2) == "known" => {
            Some(at - 3)
        }
        _ => None,
    }
}
