//! Counting the terms of a unit: which there are and how often each stands in it.
//!
//! A chunk of a few hundred words has some hundred terms. They are counted in a small table that stays in the
//! processor's caches and is used again for the next unit, so that the large table of a writer is asked once a term, not
//! once a token, and no token is ever allocated by itself. Each term keeps its hash, so that the writer need not hash it
//! again; counting can be done on another thread, as long as both share one [`TermHasher`].

use super::for_each_token;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// A table with room for more terms than this is not kept for the next unit.
const KEPT_TERMS: usize = 8192;

/// How terms are hashed: a seed of its own for every writer, so that no text can be made to collide. Nothing that is
/// written depends on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct TermHasher(DefaultHashBuilder);

impl TermHasher {
    /// The hash of a term.
    pub(crate) fn hash(&self, term: &[u8]) -> u64 {
        self.0.hash_one(term)
    }
}

/// A term of a unit.
#[derive(Debug, Clone, Copy)]
struct Counted {
    hash: u64,
    /// Where its bytes start.
    start: u32,
    /// Bytes of it; terms are at most 255 long.
    length: u8,
    count: u32,
}

/// The terms of one unit, in the order of their first tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct TermCounts {
    bytes: Vec<u8>,
    terms: Vec<Counted>,
    tokens: u32,
}

impl TermCounts {
    /// Tokens of the unit.
    pub(crate) fn tokens(&self) -> u32 {
        self.tokens
    }

    /// The terms with their hashes and counts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], u64, u32)> {
        self.terms.iter().map(|term| (term_bytes(&self.bytes, term), term.hash, term.count))
    }

    /// The terms as text.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &str> {
        self.iter().filter_map(|(term, _, _)| std::str::from_utf8(term).ok())
    }
}

fn term_bytes<'a>(bytes: &'a [u8], term: &Counted) -> &'a [u8] {
    let start = term.start as usize;
    bytes.get(start..start + usize::from(term.length)).unwrap_or_default()
}

/// Counts units, one after another.
#[derive(Debug, Default)]
pub(crate) struct TermCounter {
    hasher: TermHasher,
    /// Numbers of the terms of the present unit.
    table: HashTable<u32>,
}

impl TermCounter {
    /// A counter whose hashes are those of `hasher`.
    pub(crate) fn new(hasher: TermHasher) -> Self {
        Self { hasher, table: HashTable::new() }
    }

    /// What the counter hashes with.
    pub(crate) fn hasher(&self) -> &TermHasher {
        &self.hasher
    }

    /// Counts texts that are one unit, as if they were joined by a space.
    pub(crate) fn count(&mut self, texts: &[&str]) -> TermCounts {
        match self.table.capacity() > KEPT_TERMS {
            true => self.table = HashTable::new(),
            false => self.table.clear(),
        }
        let Self { hasher, table } = self;
        // A term of six bytes for each ten of text holds for most.
        let bytes: usize = texts.iter().map(|text| text.len()).sum();
        let mut out = TermCounts {
            bytes: Vec::with_capacity(bytes / 2 + 8),
            terms: Vec::with_capacity(bytes / 12 + 4),
            tokens: 0,
        };
        for text in texts {
            for_each_token(text, |token| {
                let token = token.as_bytes();
                let hash = hasher.hash(token);
                out.tokens += 1;
                let TermCounts { bytes, terms, .. } = &mut out;
                let is_it = |&at: &u32| {
                    terms.get(at as usize).is_some_and(|term| term.hash == hash && term_bytes(bytes, term) == token)
                };
                if let Some(&at) = table.find(hash, is_it) {
                    if let Some(term) = terms.get_mut(at as usize) {
                        term.count += 1;
                    }
                    return;
                }
                let at = terms.len() as u32;
                terms.push(Counted { hash, start: bytes.len() as u32, length: token.len() as u8, count: 1 });
                bytes.extend_from_slice(token);
                table.insert_unique(hash, at, |&at| terms.get(at as usize).map_or(0, |term| term.hash));
            });
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn counts_are_those_of_a_plain_map(units in prop::collection::vec(prop::collection::vec("[a-cA-Cß ]{0,40}", 0..3), 1..5)) {
            let mut counter = TermCounter::default();
            for texts in units {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let mut expected: BTreeMap<String, u32> = BTreeMap::new();
                for token in texts.iter().flat_map(|text| crate::text::tokens(text)) {
                    *expected.entry(token).or_default() += 1;
                }
                let counts = counter.count(&texts);
                prop_assert_eq!(counts.tokens(), expected.values().sum::<u32>());
                let got: BTreeMap<String, u32> =
                    counts.iter().map(|(term, _, count)| (String::from_utf8(term.to_vec()).unwrap(), count)).collect();
                prop_assert_eq!(counts.terms().count(), got.len());
                prop_assert_eq!(got, expected);
            }
        }
    }
}
