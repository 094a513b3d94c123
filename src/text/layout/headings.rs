//! Markdown headings, and code fences, which hide what looks like one.

use super::{Division, Line, trimmed};
use std::ops::Range;

/// Longest line that may be a heading, in bytes.
pub(super) const HEADING_BYTES: usize = 400;

/// How a text marks its headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// With `#`, or underlined.
    Markdown,
    /// "CHAPTER IV".
    Chapters,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    /// Byte offset of its first line.
    pub(crate) start: usize,
    /// Byte offset behind its last line.
    pub(crate) end: usize,
    /// 1 for the highest; of chapters, the rank of the division.
    pub(crate) level: u8,
    /// The title, in bytes of the text.
    pub(crate) title: Range<usize>,
    /// A title on a line below ("CHAPTER IV" / "The Storm").
    pub(crate) subtitle: Option<Range<usize>>,
    /// Of a chapter heading, what it opens.
    pub(crate) division: Option<Division>,
}

/// The fence that opened a block of code: its character and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence {
    pub(crate) mark: u8,
    pub(crate) length: usize,
}

/// The lines of a text, and where code fences open and close.
pub(super) fn lines(text: &str, mut open: Option<Fence>) -> (Vec<Line>, Vec<(usize, Option<Fence>)>) {
    let mut lines = Vec::new();
    let mut fences = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let content = line.trim_end();
        let mut fenced = open.is_some();
        if let Some(fence) = fence_of(content) {
            match open {
                None if fence.mark != b'`' || !content.trim_start().trim_start_matches('`').contains('`') => {
                    open = Some(fence);
                    fenced = true;
                    fences.push((at, open));
                }
                Some(o) if o.mark == fence.mark && fence.length >= o.length && is_bare(content, o.mark) => {
                    open = None;
                    fences.push((at, open));
                }
                _ => {}
            }
        }
        lines.push(Line { start, end: start + content.len(), next: at, fenced });
    }
    (lines, fences)
}

fn fence_of(line: &str) -> Option<Fence> {
    let content = line.trim_start_matches(' ');
    let mark = *content.as_bytes().first()?;
    if line.len() - content.len() > 3 || !matches!(mark, b'`' | b'~') {
        return None;
    }
    let length = content.bytes().take_while(|&b| b == mark).count();
    (length >= 3).then_some(Fence { mark, length })
}

fn is_bare(line: &str, mark: u8) -> bool {
    line.trim_start().bytes().all(|b| b == mark)
}

/// Markdown where there is a line with `#`, or one underlined with `=`.
pub(super) fn style(text: &str, lines: &[Line]) -> Style {
    let hashed = lines.iter().any(|line| !line.fenced && atx(line.text(text)).is_some());
    let underlined = || (1..lines.len()).any(|i| underline(text, lines, i) == Some(1));
    if hashed || underlined() { Style::Markdown } else { Style::Chapters }
}

/// The Markdown headings of a text.
pub(super) fn markdown(text: &str, lines: &[Line]) -> Vec<Heading> {
    let mut out = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        if line.fenced || line.is_blank() || line.end - line.start > HEADING_BYTES {
            continue;
        }
        let plain =
            |level, title, end| Heading { start: line.start, end, level, title, subtitle: None, division: None };
        if let Some((level, title)) = atx(line.text(text)) {
            let title = line.start + title.start..line.start + title.end;
            out.push(plain(level, title, line.next));
        } else if let Some(level) = underline(text, lines, i + 1) {
            out.push(plain(level, trimmed(text, line.start..line.end), lines[i + 1].next));
        }
    }
    out
}

/// Level and title of a line that starts with `#`.
fn atx(line: &str) -> Option<(u8, Range<usize>)> {
    let line = line.strip_prefix('\u{feff}').map_or((0, line), |rest| (3, rest));
    let (skipped, line) = (line.0, line.1);
    let content = line.trim_start_matches(' ');
    let indent = line.len() - content.len();
    let rest = content.trim_start_matches('#');
    let level = content.len() - rest.len();
    if indent > 3 || !(1..=6).contains(&level) || !rest.starts_with([' ', '\t']) || line.len() > HEADING_BYTES {
        return None;
    }
    let title = rest.trim();
    let open = title.trim_end_matches('#');
    let title = if open.is_empty() || open.ends_with([' ', '\t']) { open.trim_end() } else { title };
    if title.is_empty() {
        return None;
    }
    let start = skipped + indent + level + (rest.len() - rest.trim_start().len());
    Some((level as u8, start..start + title.len()))
}

/// Level of the heading that line `i` underlines: one line of text, with nothing right above it.
fn underline(text: &str, lines: &[Line], i: usize) -> Option<u8> {
    let line = lines.get(i)?;
    let rule = line.text(text);
    let level = match rule.bytes().next()? {
        b'=' => 1,
        b'-' => 2,
        _ => return None,
    };
    if rule.len() < 3 || rule.len() > HEADING_BYTES || line.fenced || !is_bare(rule, rule.as_bytes()[0]) {
        return None;
    }
    let title = lines.get(i.checked_sub(1)?)?;
    let alone = i < 2 || lines[i - 2].is_blank() || atx(lines[i - 2].text(text)).is_some();
    let words = title.text(text).trim_start();
    let item = words.starts_with(['|', '>', '-', '*', '+', '#']) || words.contains('|');
    (alone && !title.is_blank() && !title.fenced && !item && words.len() <= HEADING_BYTES).then_some(level)
}
