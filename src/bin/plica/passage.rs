//! Showing a passage: wrapped, with what was found in it marked, and cut to the lines that say most.

use crate::output::{FOUND, Output, shown};
use plica::search::Passage;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a line of a passage.
pub const COLUMNS: usize = 92;

/// What is looked for in passages: the terms of a question.
#[derive(Debug, Default)]
pub struct Terms {
    terms: HashSet<String>,
}

/// Worths of windows that differ by less are equal.
const TIE: f64 = 1e-9;

/// Words of questions and texts that say nothing of what is asked for.
const COMMON: [&str; 32] = [
    "about", "after", "also", "been", "before", "could", "does", "from", "have", "into", "long", "many", "much",
    "than", "that", "their", "them", "then", "there", "these", "they", "this", "those", "were", "what", "when",
    "where", "which", "whom", "whose", "with", "would",
];

/// How much a term says, as far as the term alone shows.
fn weight(term: &str) -> f64 {
    let common = term.is_ascii() && (term.len() <= 3 || COMMON.contains(&term));
    if common { 0.05 } else { 1.0 }
}

impl Terms {
    /// The terms of a text.
    pub fn of(text: &str) -> Self {
        Self { terms: plica::text::tokens(text).into_iter().collect() }
    }

    /// These and the terms of another text.
    pub fn and(&self, text: &str) -> Self {
        Self { terms: self.terms.iter().cloned().chain(plica::text::tokens(text)).collect() }
    }

    /// How much of what is looked for stands in `text`: the weight of the terms, each counted once.
    pub fn overlap(&self, text: &str) -> f64 {
        let there: HashSet<String> = plica::text::tokens(text).into_iter().collect();
        self.terms.intersection(&there).map(|term| weight(term)).sum()
    }

    /// Whether a word is or holds one of the terms that say something.
    fn marks(&self, word: &str) -> bool {
        plica::text::tokens(word).iter().any(|token| weight(token) >= 1.0 && self.terms.contains(token))
    }

    /// `text` on at most `lines` lines, those that hold most of the terms, and rare ones before frequent ones; an
    /// ellipsis stands for what is left out.
    pub fn passage(&self, text: &str, lines: usize) -> Vec<String> {
        let all = wrap(text, COLUMNS);
        if all.len() <= lines {
            return all;
        }
        let mut counts: HashMap<String, f64> = HashMap::new();
        let found: Vec<Vec<String>> = all
            .iter()
            .map(|line| {
                let tokens = plica::text::tokens(line);
                let found: Vec<String> = tokens.into_iter().filter(|token| self.terms.contains(token)).collect();
                found.iter().for_each(|token| *counts.entry(token.clone()).or_default() += 1.0);
                found
            })
            .collect();
        let worth = |window: &[Vec<String>]| -> f64 {
            let terms: HashSet<&String> = window.iter().flatten().collect();
            terms.into_iter().map(|term| weight(term) / counts.get(term).copied().unwrap_or(1.0)).sum()
        };
        let worths: Vec<f64> = found.windows(lines).map(worth).collect();
        let most = worths.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Of neighbouring windows that say the same, the middle one shows what stands around it.
        let first = worths.iter().position(|&worth| worth > most - TIE).unwrap_or(0);
        let ties = worths.iter().skip(first).take_while(|&&worth| worth > most - TIE).count();
        let start = first + ties.saturating_sub(1) / 2;
        let mut chosen: Vec<String> = all.iter().skip(start).take(lines).cloned().collect();
        if start > 0
            && let Some(first) = chosen.first_mut()
        {
            first.insert_str(0, "… ");
        }
        if start + lines < all.len()
            && let Some(last) = chosen.last_mut()
        {
            last.push_str(" …");
        }
        chosen
    }

    /// A line with the words marked that hold a term.
    pub fn marked(&self, out: &Output, line: &str) -> String {
        if !out.has_colour() {
            return line.to_owned();
        }
        let words = line.split_inclusive(' ').map(|word| match self.marks(word) {
            true => out.styled(FOUND, word),
            false => word.to_owned(),
        });
        words.collect()
    }
}

/// Text in lines of at most `columns`, with white space squeezed and control characters made visible. A word that is
/// longer is cut.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut width = 0;
    for word in text.split_whitespace() {
        let word: String = word.chars().map(shown).collect();
        let word_width = word.width();
        if width > 0 && width + 1 + word_width > columns {
            lines.push(std::mem::take(&mut line));
            width = 0;
        }
        if width > 0 {
            line.push(' ');
            width += 1;
        }
        for character in word.chars() {
            let wide = character.width().unwrap_or(0);
            if width + wide > columns {
                lines.push(std::mem::take(&mut line));
                width = 0;
            }
            line.push(character);
            width += wide;
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// The beginning of a text on one line.
pub fn beginning(text: &str, columns: usize) -> String {
    let lines = wrap(text, columns);
    match lines.as_slice() {
        [] => String::new(),
        [line] => line.clone(),
        [line, ..] => format!("{line} …"),
    }
}

/// A passage as JSON.
#[derive(Serialize)]
pub struct PassageLine<'a> {
    id: &'a str,
    chunk: &'a str,
    doc: &'a str,
    ordinal: u32,
    score: f64,
    text: &'a str,
}

/// A passage as JSON.
pub fn passage_line(passage: &Passage) -> PassageLine<'_> {
    PassageLine {
        id: &passage.id,
        chunk: &passage.chunk,
        doc: &passage.document,
        ordinal: passage.ordinal,
        score: passage.score,
        text: &passage.text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_no_longer_than_asked_and_lose_nothing() {
        let text =
            "The keeper of the north light\nclimbed  the stairs. 漢字漢字漢字漢字漢字漢字 abcdefghijklmnopqrstuvwxyz";
        for columns in [4, 10, 30] {
            let lines = wrap(text, columns);
            assert!(lines.iter().all(|line| line.width() <= columns), "{lines:?}");
            let joined: String = lines.concat().split_whitespace().collect();
            assert_eq!(joined, text.split_whitespace().collect::<String>());
        }
        assert!(wrap(" \n", 10).is_empty());
    }

    #[test]
    fn a_passage_is_the_part_that_holds_the_rare_terms() {
        let filler = "The sea was grey and the wind was cold on the stones of the quay. ".repeat(20);
        let text = format!("{filler}She buried the letters under the cairn. {filler}");
        let passage = Terms::of("Where are the letters in the cairn?").passage(&text, 3);
        assert_eq!(passage.len(), 3);
        assert!(passage.concat().contains("letters") && passage.concat().contains("cairn"), "{passage:?}");
        assert!(passage[0].starts_with('…') && passage[2].ends_with('…'));
    }
}
