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
pub(super) fn short_forms(cast: &mut Cast, local: bool, recalled: &[Recalled]) {
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
    // "Mr. Vane" is settled before "Vane".
    let mut shorts: Vec<usize> = (0..cast.entities.len()).collect();
    shorts.sort_by_key(|&i| std::cmp::Reverse(cast.entities[i].words.len()));
    for short in shorts {
        let e = &cast.entities[short];
        if e.is_title || e.same_as.is_some() {
            continue;
        }
        // A word held by very many names tells nothing (and must not cost a square).
        let held = |w: &String| holders.get(w).filter(|h| h.len() <= MOST_HOLDERS).into_iter().flatten();
        let mut fits: Vec<(usize, usize)> = Vec::new();
        for &long in e.words.last().into_iter().flat_map(held).chain(held(&e.words[0])) {
            let root = cast.entities[long].same_as.unwrap_or(long);
            if root != short && !fits.iter().any(|f| f.0 == root) && fits_words(cast, short, long) {
                fits.push((root, long));
            }
        }
        let Some((root, long)) = pick(cast, &fits, e.words.len() == 1) else { continue };
        if !stands_for(cast, short, root, long) {
            continue;
        }
        let alias = cast.entities[short].name.clone();
        let contested = contested(recalled, &cast.entities[short].words, &cast.entities[root].words);
        cast.merge(short, root);
        if !local && !contested {
            cast.alias(root, alias);
        }
    }
}

/// Whether a recalled record has the short name for another full name, so that it may not become an alias.
fn contested(recalled: &[Recalled], short: &[String], long: &[String]) -> bool {
    recalled.iter().any(|r| {
        let names: Vec<Vec<String>> =
            std::iter::once(&r.name).chain(&r.aliases).take(32).map(|n| words_of(n)).collect();
        let holds = |n: &Vec<String>| n.len() > short.len() && (n.starts_with(short) || n.ends_with(short));
        let same = |n: &Vec<String>| n.ends_with(long) || long.ends_with(n);
        names.iter().any(|n| n == short)
            && names.iter().any(|n| holds(n) && !same(n))
            && !names.iter().any(|n| n == long)
    })
}

/// Names that may hold a word before it says nothing about any of them.
const MOST_HOLDERS: usize = 8;

/// The one that is meant: the one the chunk is about, else the only one, else, for a bare word, the only one with a
/// title before the name ("Darcy" is Mr. Darcy before he is a namesake).
fn pick(cast: &Cast, fits: &[(usize, usize)], bare: bool) -> Option<(usize, usize)> {
    if let Some(&title) = fits.iter().find(|f| cast.entities[f.0].is_title) {
        return Some(title);
    }
    if let [one] = fits {
        return Some(*one);
    }
    let mut titled = fits.iter().filter(|f| bare && cast.entities[f.0].honorifics() > 0);
    titled.next().copied().filter(|_| titled.next().is_none())
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

/// Whether the words of `short` are a short form of those of `long`.
fn fits_words(cast: &Cast, short: usize, long: usize) -> bool {
    let (s, l) = (&cast.entities[short], &cast.entities[long]);
    if short == long || s.words.len() >= l.words.len() {
        return false;
    }
    if l.words.ends_with(&s.words) {
        // "Darcy" is not Miss Darcy.
        if s.words.len() == 1 {
            return !l.is_female();
        }
        // "Marfa Petrovna" in "Poor Marfa Petrovna", but not in what happens to stand before it.
        let before = &l.words[..l.words.len() - s.words.len()];
        return l.is_title || before.iter().all(|w| lexicon::classes(w) & !CONNECTOR != 0);
    }
    if s.honorifics() > 0 {
        // "Lady Catherine" of "Lady Catherine de Bourgh", "Mr. Darcy" of "Mr. Fitzwilliam Darcy".
        // (A family has several misses.)
        let bare = l.words[0] == s.words[0] && s.words.len() == 2 && l.words.last() == s.words.last();
        return l.words.starts_with(&s.words) || (bare && !l.is_female() && !l.is_noble());
    }
    !l.is_noble() && l.words[l.honorifics()..].starts_with(&s.words)
}

/// Whether a fitting short form is to be believed: first names and surnames are those of people ("Carolina" is not
/// "North Carolina"), while several words, or a title, speak for themselves.
fn stands_for(cast: &Cast, short: usize, root: usize, long: usize) -> bool {
    let (s, l) = (&cast.entities[short], &cast.entities[root]);
    let person = l.kind == "person" || (matches!(l.kind, "" | "work") && s.kind == "person");
    // "Rosa Edgar" beside a Rosa and an Edgar who both act is two who happen to stand side by side.
    if let ([one], [first, last]) = (s.words.as_slice(), cast.entities[long].words.as_slice()) {
        let other = cast.bare(if one == first { last } else { first });
        if s.kind == "person" && !l.is_title && l.honorifics() == 0 && other.is_some_and(|o| o.kind == "person") {
            return false;
        }
    }
    if cast.entities[long].words.ends_with(&s.words) {
        // A surname used before the full name is someone's who is known already; the full name may be a relative's.
        let later = l.honorifics() > 0
            || l.is_title
            || s.mentions.first().map(|m| m.first) > l.mentions.first().map(|m| m.first);
        return s.words.len() > 1 || (person && later) || l.is_title;
    }
    s.honorifics() > 0 || (person && s.kind != "place")
}

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
