//! What a text says outright: labelled values, table rows, appositions, copulas, relations, dates and amounts.
//!
//! The outline and the records take the same facts from here, each with the bytes that say it.

pub(super) mod known;
pub(super) mod labels;
pub(super) mod quantities;
pub(super) mod relations;
pub(super) mod said;

use super::cast::squeeze;
use std::ops::Range;

/// A value with the bytes that say it, which contain it up to white space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) text: String,
    pub(super) span: Range<usize>,
}

impl Value {
    /// The text of `span`, on one line.
    pub(super) fn of(text: &str, span: Range<usize>) -> Self {
        let words = text.get(span.clone()).unwrap_or_default().split_whitespace();
        Self { text: words.collect::<Vec<_>>().join(" "), span }
    }
}

/// A label as a record has it: small letters, `_` between words.
pub(super) fn label_of(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for word in words.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        if !out.is_empty() {
            out.push('_');
        }
        out.extend(word.chars().flat_map(char::to_lowercase));
    }
    out
}

/// A name on one line without the marks of Markdown.
pub(super) fn plain(text: &str) -> String {
    let text = squeeze(text);
    let text = text.trim_matches(|c: char| matches!(c, '*' | '`' | '_' | ' '));
    if !text.contains(['*', '`', '[']) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['*', '`', '[']) {
        out.push_str(&rest[..at]);
        if rest[at..].starts_with('[')
            && let Some(close) = rest[at..].find("](").map(|i| at + i)
            && let Some(end) = rest[close..].find(')').map(|i| close + i)
        {
            out.push_str(&rest[at + 1..close]);
            rest = &rest[end + 1..];
            continue;
        }
        if rest[at..].starts_with('[') {
            out.push('[');
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out
}
