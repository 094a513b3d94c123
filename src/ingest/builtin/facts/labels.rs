//! "Label: value" lines, also as Markdown writes them: `**Label:** value`, `- Label: value`.
//!
//! A label is short, starts with a capital and has no verb. In plain text it must start a paragraph or a list item, or
//! follow another labelled line, so that a colon in the midst of prose makes none.

use super::super::lexicon::{self, COPULA, FUNCTION, UTTERS};
use super::Value;
use crate::text::layout::{Layout, Line};
use std::ops::Range;

/// Longest label, in bytes and words.
const LABEL_BYTES: usize = 60;
const LABEL_WORDS: usize = 5;
/// Longest value, in bytes.
const VALUE_BYTES: usize = 4096;

/// A labelled value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Labelled {
    /// Start of its line.
    pub(in super::super) start: usize,
    /// The label, without marks.
    pub(in super::super) label: String,
    pub(in super::super) value: Value,
}

/// The labelled values of a text, those within code fences, headings and tables left out.
pub(in super::super) fn labelled(text: &str, layout: &Layout) -> Vec<Labelled> {
    let mut out: Vec<Labelled> = Vec::new();
    let (mut heading, mut table) = (0, 0);
    let mut last: Option<usize> = None;
    for (i, line) in layout.lines.iter().enumerate() {
        while layout.headings.get(heading).is_some_and(|h| h.end <= line.start) {
            heading += 1;
        }
        while layout.tables.get(table).is_some_and(|t| t.end() <= line.start) {
            table += 1;
        }
        let within = layout.headings.get(heading).is_some_and(|h| h.start <= line.start)
            || layout.tables.get(table).is_some_and(|t| t.start() <= line.start);
        if within || line.fenced || line.is_blank() {
            continue;
        }
        let content = line.text(text);
        let (skipped, marked) = without_mark(content);
        let free = marked || i == 0 || layout.lines[i - 1].is_blank() || last == Some(i - 1);
        let Some((label, value, bold)) = split(&content[skipped..]) else { continue };
        if !(free || bold) {
            continue;
        }
        let (end, behind) = continued(text, layout, i);
        let span = line.start + skipped + value..end;
        let value = Value::of(text, span);
        if value.text.is_empty() || value.text.len() > VALUE_BYTES {
            continue;
        }
        last = Some(behind - 1);
        out.push(Labelled { start: line.start, label, value });
    }
    out
}

/// Bytes of the indent and of a list mark, and whether there was one.
fn without_mark(line: &str) -> (usize, bool) {
    let content = line.trim_start();
    let indent = line.len() - content.len();
    let mark = if content.starts_with(['-', '*', '+', '•']) {
        content.chars().next().map_or(0, char::len_utf8)
    } else {
        let digits = content.bytes().take_while(u8::is_ascii_digit).count();
        if (1..=3).contains(&digits) && content[digits..].starts_with(['.', ')']) { digits + 1 } else { 0 }
    };
    let rest = &content[mark..];
    if mark > 0 && rest.starts_with([' ', '\t']) {
        (indent + mark + (rest.len() - rest.trim_start().len()), true)
    } else {
        (indent, false)
    }
}

/// Label, offset of the value, and whether the label is set off by marks.
fn split(line: &str) -> Option<(String, usize, bool)> {
    let bold = ["**", "__"].into_iter().find(|mark| line.starts_with(mark));
    if let Some(mark) = bold {
        let close = line.get(2..)?.find(mark)? + 2;
        let inner = &line[2..close];
        let rest = &line[close + 2..];
        let colon = inner.ends_with(':');
        let label = inner.trim_end_matches(':').trim();
        let value = if colon { rest } else { rest.strip_prefix(':')? };
        let at = line.len() - value.trim_start().len();
        return (is_label(label, true) && !value.trim().is_empty()).then(|| (label.to_owned(), at, true));
    }
    let colon = line.get(..line.floor_char_boundary(LABEL_BYTES + 1))?.find(':')?;
    let (label, value) = (&line[..colon], &line[colon + 1..]);
    let spaced = value.starts_with([' ', '\t']) && !value.trim().is_empty();
    (spaced && is_label(label.trim(), false))
        .then(|| (label.trim().to_owned(), line.len() - value.trim_start().len(), false))
}

fn is_label(label: &str, set_off: bool) -> bool {
    let words: Vec<&str> = label.split_whitespace().collect();
    if words.is_empty() {
        return false;
    }
    let shape = label.len() <= LABEL_BYTES
        && (1..=LABEL_WORDS).contains(&words.len())
        && (set_off || label.starts_with(|c: char| c.is_uppercase() || c.is_numeric()))
        && label.chars().any(char::is_alphabetic)
        && label
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '/' | '(' | ')' | '\'' | '’' | '&' | '%'));
    let joints = ["of", "and", "to", "for", "in", "by", "per", "the", "on", "or", "at", "with", "from", "no"];
    let verbal = |w: &&str| {
        let class = lexicon::classes(w);
        class & (COPULA | UTTERS) != 0 || (class & FUNCTION != 0 && !joints.contains(&w.to_lowercase().as_str()))
    };
    // "Released: 1921" and "Born: 1804" are labels, "Said he: no" is not.
    let alone = words.len() == 1
        && matches!(
            label.to_lowercase().as_str(),
            "born"
                | "died"
                | "released"
                | "founded"
                | "published"
                | "written"
                | "directed"
                | "produced"
                | "located"
                | "known"
                | "used"
                | "made"
                | "created"
                | "second"
                | "first"
                | "last"
                | "inside"
                | "outside"
        );
    // A caption is no value, whether its table is in sight or not.
    let caption = matches!(words[0], "Table" | "Figure" | "Fig" | "Tab") && label.contains(|c: char| c.is_numeric());
    shape && !caption && (alone || !words.iter().any(verbal))
}

/// Where the value that starts on line `i` ends, and the line behind it: lines that go on in the same paragraph or item.
fn continued(text: &str, layout: &Layout, i: usize) -> (usize, usize) {
    let first = &layout.lines[i];
    let mut end = first.end;
    let mut at = i + 1;
    while let Some(line) = layout.lines.get(at) {
        if line.is_blank() || line.fenced || end - first.start > VALUE_BYTES || !goes_on(text, line) {
            break;
        }
        end = line.end;
        at += 1;
    }
    (end, at)
}

fn goes_on(text: &str, line: &Line) -> bool {
    let content = line.text(text);
    let (skipped, marked) = without_mark(content);
    let starts = content.trim_start().starts_with(['#', '|', '>', '=']);
    !marked && !starts && split(&content[skipped..]).is_none() && !content.trim_start().starts_with("---")
}

/// The range of bytes that a labelled line takes, its label included.
impl Labelled {
    /// From the start of the line to the end of the value.
    pub(in super::super) fn place(&self) -> Range<usize> {
        self.start..self.value.span.end
    }
}
