//! Names that differ by a few characters, found without reading all of them.
//!
//! The sorted names are walked beside the table of edit distances between the question and what has been read of a
//! name (Levenshtein; a column a character). Where no continuation of a beginning can come within the distance, the walk
//! goes on at the least beginning that can, by one seek.

use crate::Result;

/// The walk. Names come in the order of their bytes.
pub(super) struct Similar {
    /// What is looked for.
    question: Vec<char>,
    /// Greatest distance.
    edits: usize,
    /// Whether a beginning of the name is compared, not all of it.
    prefix: bool,
    /// What was read of the present name.
    read: Vec<char>,
    /// Distances between the beginnings of the question and `read`: a row for each length of `read`.
    rows: Vec<Vec<usize>>,
}

/// What is known of a name.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It is so many edits away.
    Near(usize),
    /// It is too far away, but one that it begins may not be.
    Far,
    /// So many characters of it can begin no name that is near.
    Dead(usize),
}

impl Similar {
    pub(super) fn new(question: &str, edits: u8, prefix: bool) -> Self {
        let question: Vec<char> = question.chars().collect();
        let rows = vec![(0..=question.len()).collect()];
        Self { question, edits: usize::from(edits), prefix, read: Vec::new(), rows }
    }

    /// Hands each name that is near enough to `sink`, with its distance. `next` gives the first name from some bytes on.
    pub(super) fn walk(
        mut self,
        mut next: impl FnMut(&[u8]) -> Result<Option<String>>,
        mut sink: impl FnMut(&str, usize) -> Result<()>,
    ) -> Result<()> {
        let mut from = Vec::new();
        while let Some(name) = next(&from)? {
            match self.judge(&name) {
                Verdict::Near(distance) => {
                    sink(&name, distance)?;
                    from = after(&name);
                }
                Verdict::Far => from = after(&name),
                Verdict::Dead(length) => match self.skip(&name, length) {
                    Some(further) => from = further,
                    None => return Ok(()),
                },
            }
        }
        Ok(())
    }

    fn judge(&mut self, name: &str) -> Verdict {
        let shared = name.chars().zip(&self.read).take_while(|(a, b)| a == *b).count();
        self.read.truncate(shared);
        self.rows.truncate(shared + 1);
        let mut best = usize::MAX;
        if self.prefix {
            best = self.rows.iter().filter_map(|row| row.last()).copied().min().unwrap_or(best);
        }
        for character in name.chars().skip(shared) {
            if !self.alive(self.rows.last()) && best > self.edits {
                return Verdict::Dead(self.read.len());
            }
            let row = self.next_row(character);
            best = if self.prefix { best.min(row.last().copied().unwrap_or(best)) } else { best };
            self.read.push(character);
            self.rows.push(row);
        }
        let distance = match self.prefix {
            true => best,
            false => self.rows.last().and_then(|row| row.last()).copied().unwrap_or(usize::MAX),
        };
        match distance {
            near if near <= self.edits => Verdict::Near(near),
            _ if self.alive(self.rows.last()) => Verdict::Far,
            _ => Verdict::Dead(self.read.len()),
        }
    }

    /// Whether something behind a beginning with this row can be near.
    fn alive(&self, row: Option<&Vec<usize>>) -> bool {
        row.is_some_and(|row| row.iter().any(|&distance| distance <= self.edits))
    }

    /// The row of what was read and one character more.
    fn next_row(&self, character: char) -> Vec<usize> {
        step(&self.question, self.rows.last().map(Vec::as_slice).unwrap_or_default(), character)
    }

    /// The least bytes behind all names that begin with `length` characters of `name` and could begin one that is near.
    fn skip(&mut self, name: &str, length: usize) -> Option<Vec<u8>> {
        let mut characters: Vec<char> = name.chars().take(length).collect();
        while let Some(last) = characters.pop() {
            self.rows.truncate(characters.len() + 1);
            self.read.truncate(characters.len());
            if !self.alive(self.rows.last()) {
                continue;
            }
            // A character that the question does not have is as good as any other such.
            let next = char::from_u32(u32::from(last) + 1).or((last == '\u{d7ff}').then_some('\u{e000}'));
            let foreign = next.filter(|_| {
                let row = step(&self.question, self.rows.last().map(Vec::as_slice).unwrap_or_default(), '\0');
                self.alive(Some(&row))
            });
            let own = self.question.iter().copied().filter(|&own| own > last).filter(|&own| {
                let row = self.next_row(own);
                self.alive(Some(&row))
            });
            if let Some(next) = foreign.or(own.min()) {
                let mut bytes: Vec<u8> = characters.iter().collect::<String>().into_bytes();
                bytes.extend(next.encode_utf8(&mut [0; 4]).bytes());
                return Some(bytes);
            }
        }
        None
    }
}

/// The row of distances behind one character more.
fn step(question: &[char], row: &[usize], character: char) -> Vec<usize> {
    let mut out = Vec::with_capacity(row.len());
    out.push(row.first().map_or(0, |first| first + 1));
    for ((pair, own), at) in row.windows(2).zip(question).zip(0..) {
        let (diagonal, above) = match pair {
            [diagonal, above] => (*diagonal, *above),
            _ => (0, 0),
        };
        let left = out.get(at).copied().unwrap_or_default();
        out.push((diagonal + usize::from(*own != character)).min(above + 1).min(left + 1));
    }
    out
}

/// The first bytes behind a name.
fn after(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.push(1);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Levenshtein distance in the plainest way.
    fn distance(a: &[char], b: &[char]) -> usize {
        let mut row: Vec<usize> = (0..=a.len()).collect();
        for &character in b {
            row = step(a, &row, character);
        }
        row[a.len()]
    }

    fn walked(names: &BTreeSet<String>, question: &str, edits: u8, prefix: bool) -> (Vec<(String, usize)>, usize) {
        let (mut found, mut seeks) = (Vec::new(), 0);
        Similar::new(question, edits, prefix)
            .walk(
                |from| {
                    seeks += 1;
                    Ok(names.iter().find(|name| name.as_bytes() >= from).cloned())
                },
                |name, distance| {
                    found.push((name.to_owned(), distance));
                    Ok(())
                },
            )
            .unwrap();
        (found, seeks)
    }

    proptest! {
        #[test]
        fn the_walk_finds_what_comparing_all_finds(
            names in prop::collection::btree_set("[abcé漢]{0,6}", 0..60),
            question in "[abcé漢z]{0,5}",
            edits in 0u8..3,
            prefix: bool,
        ) {
            let chars: Vec<char> = question.chars().collect();
            let expected: Vec<(String, usize)> = names.iter().filter_map(|name| {
                let name_chars: Vec<char> = name.chars().collect();
                let lengths = if prefix { 0..=name_chars.len() } else { name_chars.len()..=name_chars.len() };
                let least = lengths.map(|length| distance(&chars, &name_chars[..length])).min().unwrap();
                (least <= usize::from(edits)).then(|| (name.clone(), least))
            }).collect();
            prop_assert_eq!(walked(&names, &question, edits, prefix).0, expected);
        }
    }

    #[test]
    fn most_names_are_passed_over() {
        let names: BTreeSet<String> = (0..20_000u32).map(|n| format!("{:x}", n.wrapping_mul(2_654_435_761))).collect();
        let question = names.iter().nth(7_000).unwrap();
        let (found, seeks) = walked(&names, question, 1, false);
        assert!(found.contains(&(question.clone(), 0)));
        assert!(seeks < 200, "{seeks} seeks");
    }
}
