//! What recalled records tell of a chunk: whom a description or a short name in it means.
//!
//! A chunk may name nobody and still tell of someone: "the lighthouse keeper" is Marta Voss once a record says so. And
//! a bare "Charlotte" is Charlotte Lucas where just one recalled record can be meant.

use super::cast::{Cast, words_of};
use super::names::Span;
use super::scan::{Scan, Shape};
use crate::ingest::Recalled;

/// Names of one record that are looked at.
const NAMES: usize = 32;

/// Links the records that the chunk means by a description or, unless names hold only under the chunk's title
/// (`local`), by a short name.
pub(super) fn resolve(cast: &mut Cast, scan: &Scan<'_>, recalled: &[Recalled], local: bool) {
    for record in recalled {
        for name in std::iter::once(&record.name).chain(&record.aliases).take(NAMES) {
            if let Some(span) = described(scan, name) {
                mention(cast, record, span);
            }
        }
    }
    if local {
        return;
    }
    for at in 0..cast.entities.len() {
        let e = &cast.entities[at];
        if e.same_as.is_some() || e.words.len() > 1 || matches!(e.kind, "place" | "organisation" | "work" | "event") {
            continue;
        }
        let word = e.words[0].clone();
        let known = recalled.iter().any(|r| names(r).any(|n| words_of(n) == [word.as_str()]));
        let mut holders =
            recalled.iter().filter(|r| r.kind == "person" && names(r).any(|n| starts_with_first_name(n, &word)));
        if let (false, Some(one), None) = (known, holders.next(), holders.next())
            && let Some(long) = cast.find(&one.name).or_else(|| cast.enter(one.name.clone()))
        {
            let alias = cast.entities[at].name.clone();
            cast.merge(at, long);
            cast.alias(long, alias);
        }
    }
}

fn names(record: &Recalled) -> impl Iterator<Item = &String> {
    std::iter::once(&record.name).chain(&record.aliases).take(NAMES)
}

/// Whether the name is a first name, which is `word`, and more.
fn starts_with_first_name(name: &str, word: &str) -> bool {
    let words = words_of(name);
    words.len() > 1 && words[0] == word && name.chars().next().is_some_and(char::is_uppercase)
}

/// Where the text has a name that starts with a small "the", article or not; `None` for other names.
fn described(scan: &Scan<'_>, name: &str) -> Option<Span> {
    let phrase: Vec<&str> = name.strip_prefix("the ")?.split_whitespace().collect();
    let (head, rest) = phrase.split_first()?;
    let words = &scan.words;
    for (i, sentence) in scan.sentences.iter().enumerate() {
        for first in sentence.first + 1..sentence.last {
            let last = first + phrase.len();
            let article = words[first - 1].shape != Shape::Number && is_definite(words[first - 1].text);
            if article
                && last <= sentence.last
                && words[first].text.eq_ignore_ascii_case(head)
                && rest
                    .iter()
                    .zip(&words[first + 1..last])
                    .all(|(p, w)| w.text.eq_ignore_ascii_case(p) && w.gap.is_space())
            {
                return Some(Span { first, last, sentence: i, quoted: false });
            }
        }
    }
    None
}

fn is_definite(word: &str) -> bool {
    matches!(word, "the" | "The" | "that" | "That" | "this" | "This" | "our" | "Our" | "their" | "his" | "her")
}

fn mention(cast: &mut Cast, record: &Recalled, span: Span) {
    if let Some(at) = cast.find(&record.name).or_else(|| cast.enter(record.name.clone())) {
        let entity = &mut cast.entities[at];
        entity.mentions.push(span);
        entity.mentions.sort_by_key(|m| m.first);
        entity.count += 1;
    }
}
