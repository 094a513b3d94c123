//! How the items of a node are ordered and named: keys and hashes.
//!
//! Categories come first, as they were discovered, then subjects by the key of their name; numbers in names count by
//! their value, so chapter 2 comes before chapter 10, and chapter IV before chapter IX.

use crate::index::records;
use crate::text::key;
use plica_format::outline::Item;

/// Words before a number in Roman figures.
const NUMBERED: [&str; 14] = [
    "chapter", "part", "book", "volume", "section", "act", "scene", "canto", "letter", "appendix", "article", "stave",
    "lesson", "epilogue",
];

/// Stands between the value of a number in Roman figures and the number itself; no byte of UTF-8.
const ROMAN: u8 = 0xff;

/// A name as it stands in the key space: as fields of records do.
pub(crate) fn bounded(name: &str) -> String {
    records::bounded(records::symbol(name))
}

/// Hash of a category's or large subject's path: of the keys of its names, each with its length before it.
pub(crate) fn path_hash<S: AsRef<str>>(path: &[S]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for name in path {
        let name = key(name.as_ref());
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
    }
    first16(&hasher.finalize())
}

/// The first 16 bytes of a hash.
pub(crate) fn first16(hash: &blake3::Hash) -> [u8; 16] {
    let mut out = [0; 16];
    out.copy_from_slice(&hash.as_bytes()[..16]);
    out
}

/// Hash of the node of a large subject: told from a category of the same path.
pub(crate) fn subject_hash<S: AsRef<str>>(category: &[S], name: &str) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"subject");
    hasher.update(&path_hash(category));
    hasher.update(key(name).as_bytes());
    first16(&hasher.finalize())
}

/// Key by which a subject is ordered in its category.
pub(crate) fn subject_key(name: &str) -> Vec<u8> {
    let mut out = vec![1];
    natural(&key(name), &mut out);
    out
}

/// Key by which a category is ordered in the category above.
pub(crate) fn category_key(position: u32, name: &str) -> Vec<u8> {
    let mut out = vec![0];
    out.extend_from_slice(&position.to_be_bytes());
    natural(&key(name), &mut out);
    out
}

/// Key by which an item is ordered in its node.
pub(crate) fn item_key(item: &Item) -> Vec<u8> {
    match item {
        Item::Category { name, position, .. } => category_key(*position, name),
        Item::Subject(subject) => subject_key(&subject.name),
        Item::LargeSubject { name, .. } => subject_key(name),
        Item::Value { field, number, .. } => {
            let mut out = vec![2];
            out.extend_from_slice(&field.to_be_bytes());
            out.extend_from_slice(&number.to_be_bytes());
            out
        }
        Item::Link { number, .. } => {
            let mut out = vec![3];
            out.extend_from_slice(&number.to_be_bytes());
            out
        }
    }
}

/// Appends a key whose numbers sort by value; a key of `limits::KEY_BYTES` stays within `limits::ORDER_KEY_BYTES`. Different keys give different bytes, whatever they hold: a run of digits
/// is preceded by its length, a number in Roman figures by its value and followed by itself.
fn natural(key: &str, out: &mut Vec<u8>) {
    let mut numbered = false;
    for (at, word) in key.split(' ').enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        let trimmed = word.trim_end_matches(|c: char| !c.is_alphanumeric());
        match roman(trimmed).filter(|_| numbered) {
            Some(value) => {
                digits(&value.to_string(), out);
                out.push(ROMAN);
                out.extend_from_slice(word.as_bytes());
            }
            None => {
                let mut rest = word;
                while let Some(first) = rest.find(|c: char| c.is_ascii_digit()) {
                    let (before, run) = rest.split_at(first);
                    out.extend_from_slice(before.as_bytes());
                    let end = run.find(|c: char| !c.is_ascii_digit()).unwrap_or(run.len());
                    let (run, after) = run.split_at(end);
                    digits(run, out);
                    rest = after;
                }
                out.extend_from_slice(rest.as_bytes());
            }
        }
        numbered = NUMBERED.contains(&trimmed);
    }
}

/// Appends a run of digits with its length before it: one figure, or `:` and four.
fn digits(run: &str, out: &mut Vec<u8>) {
    match run.len() {
        length @ 0..=9 => out.push(b'0' + length as u8),
        length => out.extend_from_slice(format!(":{length:04}").as_bytes()),
    }
    out.extend_from_slice(run.as_bytes());
}

/// The value of a number in lower-case Roman figures, in their usual form.
fn roman(word: &str) -> Option<u32> {
    const FIGURES: [(&str, u32); 13] = [
        ("m", 1000),
        ("cm", 900),
        ("d", 500),
        ("cd", 400),
        ("c", 100),
        ("xc", 90),
        ("l", 50),
        ("xl", 40),
        ("x", 10),
        ("ix", 9),
        ("v", 5),
        ("iv", 4),
        ("i", 1),
    ];
    if word.is_empty() || word.len() > 15 {
        return None;
    }
    let (mut rest, mut value) = (word, 0);
    for (figure, worth) in FIGURES {
        // Figures of one letter may stand up to three times (m more often), those of two once; v, l and d once.
        let times = match (figure.len(), worth) {
            (_, 1000) => 15,
            (1, 1 | 10 | 100) => 3,
            _ => 1,
        };
        for _ in 0..times {
            let Some(after) = rest.strip_prefix(figure) else { break };
            rest = after;
            value += worth;
        }
    }
    rest.is_empty().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plica_format::limits::{KEY_BYTES, ORDER_KEY_BYTES};
    use proptest::prelude::*;

    #[test]
    fn numbers_sort_by_value() {
        let names = [
            "Chapter 2",
            "Chapter 10",
            "Chapter 10b",
            "Chapter I.",
            "Chapter IV",
            "Chapter IX",
            "Chapter XL",
            "civil",
            "mix 3",
            "mix 21",
        ];
        let keys: Vec<Vec<u8>> = names.iter().map(|name| subject_key(name)).collect();
        assert!(keys[0] < keys[1] && keys[1] < keys[2]);
        assert!(keys[3] < keys[4] && keys[4] < keys[5] && keys[5] < keys[6]);
        assert!(keys[8] < keys[9]);
        assert_eq!(roman("mcmxciv"), Some(1994));
        assert_eq!((roman("iiii"), roman("vx"), roman("il"), roman("")), (None, None, None, None));
    }

    proptest! {
        #[test]
        fn names_are_the_same_exactly_if_their_keys_are(a in "[0-3a ivx.~:]{0,12}", b in "[0-3a ivx.~:]{0,12}", part: bool) {
            let prefix = if part { "part " } else { "" };
            let (a, b) = (format!("{prefix}{a}"), format!("{prefix}{b}"));
            prop_assert_eq!(subject_key(&a) == subject_key(&b), key(&a) == key(&b));
        }

        #[test]
        fn keys_stay_within_their_limit(name in "[0-9 ]{1024}|(part i ){146}|(1 ){512}") {
            prop_assert!(key(&name).len() <= KEY_BYTES);
            prop_assert!(category_key(1, &name).len() <= ORDER_KEY_BYTES);
        }
    }
}
