//! Summaries of pages: what a parent says of a page so that a reader knows whether to open it.
//!
//! A summary is a function of the page's content alone, so it can be kept by that content's hash, and siblings are
//! never read. The built-in one is extractive: of each entry in turn, the words that are most particular to it, and a fact or two.
//! The entries' own names come last, since the page's range and the page itself show them.

use std::collections::{BTreeMap, BTreeSet};

/// Summarises pages of an outline; see the built-in [`TermSummarizer`].
pub trait PageSummarizer: Sync {
    /// A summary of a page, of at most [`PageInput::limit_tokens`] tokens; what is longer is cut.
    fn summarize(&self, page: &PageInput<'_>) -> crate::Result<String>;

    /// Whether a summary costs a call, and so is kept by the page's hash. The built-in one does not.
    fn is_costly(&self) -> bool {
        true
    }
}

/// What a summarizer sees of a page. It must not look elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct PageInput<'a> {
    /// Level within its node: 0 lists subjects (or a subject's values), above lists pages.
    pub level: u8,
    /// Each entry as the page shows it: its name, then summary and fields.
    pub entries: &'a [String],
    /// Tokens that a summary may have.
    pub limit_tokens: u32,
}

/// The built-in summarizer: the most particular words of each entry.
#[derive(Debug, Clone, Copy, Default)]
pub struct TermSummarizer;

impl PageSummarizer for TermSummarizer {
    fn summarize(&self, page: &PageInput<'_>) -> crate::Result<String> {
        Ok(terms(page))
    }

    fn is_costly(&self) -> bool {
        false
    }
}

/// Tokens of a built-in summary, where the limit is higher.
const TOKENS: usize = 60;
/// Words that say little wherever they stand.
const COMMON: [&str; 60] = [
    "about", "after", "again", "against", "because", "before", "being", "between", "cannot", "could", "during",
    "every", "first", "from", "further", "have", "having", "himself", "herself", "into", "itself", "might", "must",
    "never", "other", "others", "should", "since", "some", "still", "such", "than", "that", "their", "theirs", "them",
    "then", "there", "these", "they", "this", "those", "though", "through", "under", "until", "upon", "very", "were",
    "what", "when", "where", "which", "while", "with", "within", "without", "would", "your", "yours",
];

/// A word that may stand for an entry.
struct Word<'a> {
    text: &'a str,
    weight: u32,
}

fn terms(page: &PageInput<'_>) -> String {
    let limit = (page.limit_tokens as usize).min(TOKENS);
    // In how many entries each word stands: the fewer, the more particular.
    let mut spread: BTreeMap<String, u32> = BTreeMap::new();
    let mut entries: Vec<Vec<Word<'_>>> = Vec::new();
    for entry in page.entries {
        let mut words = words(entry);
        for word in &words {
            *spread.entry(crate::text::key(word.text)).or_default() += 1;
        }
        words.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.text.cmp(b.text)));
        entries.push(words);
    }
    for words in &mut entries {
        // A stable sort: weight decides within one spread.
        words.sort_by_key(|word| spread.get(&crate::text::key(word.text)).copied().unwrap_or_default());
    }
    let mut chosen: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    let (mut used, mut round) = (0, 0);
    loop {
        let mut any = false;
        for words in &entries {
            let Some(word) = words.get(round) else { continue };
            any = true;
            if !seen.insert(crate::text::key(word.text)) {
                continue;
            }
            let tokens = super::render::tokens(word.text) as usize;
            if used + tokens > limit {
                return chosen.join(", ");
            }
            used += tokens;
            chosen.push(word.text);
        }
        if !any || round >= 64 {
            return chosen.join(", ");
        }
        round += 1;
    }
}

/// The words of an entry that could stand for it: names within sentences, numbers with letters, long words.
fn words(entry: &str) -> Vec<Word<'_>> {
    let own: BTreeSet<String> = crate::text::tokens(entry.lines().next().unwrap_or_default()).into_iter().collect();
    let mut found: BTreeMap<&str, u32> = BTreeMap::new();
    for (at, line) in entry.lines().enumerate() {
        let mut starts = at > 0;
        for piece in line.split_whitespace() {
            let word = piece.trim_matches(|c: char| !c.is_alphanumeric());
            let starts_here = std::mem::replace(&mut starts, piece.ends_with(['.', '!', '?', ':', '-']));
            let letters = word.chars().filter(|c| c.is_alphabetic()).count();
            if letters < 2 || word.len() > 40 || piece.starts_with('[') {
                continue;
            }
            let lower = crate::text::key(word);
            if COMMON.contains(&lower.as_str()) {
                continue;
            }
            let capital = word.chars().next().is_some_and(char::is_uppercase) && !starts_here;
            let digit = word.chars().any(|c| c.is_ascii_digit());
            let weight = 4 * u32::from(capital) + 2 * u32::from(digit) + (letters as u32).min(12) / 3;
            // What the entry says comes before what it is called: names are in the page's range, and on the page itself.
            let weight = if own.contains(&lower) { weight / 3 } else { weight };
            if weight >= 2 {
                let best = found.entry(word).or_default();
                *best = (*best).max(weight);
            }
        }
    }
    found.into_iter().map(|(text, weight)| Word { text, weight }).collect()
}

/// A text cut to so many tokens and bytes, at a space.
pub(crate) fn clip(text: &str, tokens: u32, bytes: usize) -> String {
    let text = text.trim();
    if text.len() <= bytes && super::render::tokens(text) <= tokens {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        used += super::render::tokens(word);
        if used > tokens || out.len() + word.len() + 1 > bytes {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_takes_a_particular_word_of_each_entry_and_stays_within_its_limit() {
        let entries: Vec<String> =
            ["* Ann\n  She keeps the lighthouse at Skerry.\n", "* Bob\n  He sells lobsters at Skerry.\n"]
                .map(str::to_owned)
                .to_vec();
        let page = PageInput { level: 0, entries: &entries, limit_tokens: 3 };
        let summary = TermSummarizer.summarize(&page).unwrap();
        assert!(summary.contains("lighthouse") && summary.contains("lobsters"), "{summary}");
        assert!(crate::text::tokens(&summary).len() <= 3);
    }

    #[test]
    fn texts_are_cut_at_spaces() {
        assert_eq!(clip("one two three", 2, 100), "one two");
        assert_eq!(clip("one two three", 9, 8), "one two");
        assert_eq!(clip(" whole ", 9, 100), "whole");
        assert_eq!(clip(&"x".repeat(50), 9, 8), "");
    }
}
