//! Tables: of Markdown, and of lines that a delimiter or alignment cuts into the same number of cells.
//!
//! A Markdown table is known by the line of dashes under its header. Lines of tab, comma or semicolon separated cells,
//! and aligned columns, are a table only where three lines agree and a column holds numbers below a header that does
//! not: prose has commas, too.

use super::{Heading, Line, trimmed};
use std::ops::Range;

/// Fewest lines of a table that no line of dashes tells of.
const LINES: usize = 3;
/// Longest caption, in bytes.
const CAPTION_BYTES: usize = 300;
/// Longest line whose cells are looked at, in bytes, unless it is one of a Markdown table.
const LINE_BYTES: usize = 4096;

/// What parts the cells of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delimiter {
    /// `|`.
    Pipe,
    /// A tab, comma or semicolon.
    Mark(u8),
    /// Two spaces or more.
    Space,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// The header line, without its line break.
    pub(crate) header: Range<usize>,
    /// The line above that says what it is, where there is one.
    pub(crate) caption: Option<Range<usize>>,
    /// The body rows, each with its line break.
    pub(crate) rows: Vec<Range<usize>>,
    /// What parts its cells.
    pub(crate) delimiter: Delimiter,
}

impl Table {
    /// Where it starts, its caption included.
    pub(crate) fn start(&self) -> usize {
        self.caption.as_ref().map_or(self.header.start, |caption| caption.start)
    }

    /// Where it ends.
    pub(crate) fn end(&self) -> usize {
        self.rows.last().map_or(self.header.end, |row| row.end)
    }
}

/// The tables of a text.
pub(super) fn tables(text: &str, lines: &[Line], headings: &[Heading]) -> Vec<Table> {
    let mut out = Vec::new();
    let mut heading = 0;
    let mut at = 0;
    // Lines of the paragraph above, for a caption.
    let mut above: Option<Range<usize>> = None;
    while at < lines.len() {
        let line = &lines[at];
        while headings.get(heading).is_some_and(|h| h.end <= line.start) {
            heading += 1;
        }
        let in_heading = |line: &Line| headings.get(heading).is_some_and(|h| h.start <= line.start);
        if line.is_blank() {
            at += 1;
            continue;
        }
        if line.fenced || in_heading(line) {
            above = None;
            at += 1;
            continue;
        }
        let mut end = at + 1;
        while end < lines.len() && !lines[end].is_blank() && !lines[end].fenced && !in_heading(&lines[end]) {
            end += 1;
        }
        paragraph(text, lines, at..end, above, &mut out);
        above = Some(at..end);
        at = end;
    }
    out
}

/// Finds the tables of a paragraph, a run of lines without a blank one.
fn paragraph(text: &str, lines: &[Line], run: Range<usize>, above: Option<Range<usize>>, out: &mut Vec<Table>) {
    let before = out.len();
    let mut at = run.start;
    while at + 1 < run.end {
        if !is_piped_header(lines[at].text(text), lines[at + 1].text(text)) {
            at += 1;
            continue;
        }
        let mut end = at + 2;
        while end < run.end && (lines[end].text(text).contains('|')) {
            end += 1;
        }
        let caption = if at > run.start {
            caption_of(text, lines, run.start..at)
        } else {
            above.clone().and_then(|above| caption_of(text, lines, above))
        };
        out.push(table(&lines[at], &lines[at + 2..end], caption, Delimiter::Pipe));
        at = end;
    }
    if out.len() > before {
        return;
    }
    let unmarked = |first: usize| {
        let lines = &lines[first..run.end];
        [Delimiter::Mark(b'\t'), Delimiter::Mark(b';'), Delimiter::Mark(b','), Delimiter::Space]
            .into_iter()
            .find(|&delimiter| is_table(text, lines, delimiter))
    };
    let table_at = |first: usize, caption, delimiter| {
        let ruled = is_rule(lines[first + 1].text(text));
        table(&lines[first], &lines[first + 1 + usize::from(ruled)..run.end], caption, delimiter)
    };
    if let Some(delimiter) = unmarked(run.start) {
        let caption = above.and_then(|above| caption_of(text, lines, above));
        out.push(table_at(run.start, caption, delimiter));
    } else if run.len() > LINES
        && let Some(delimiter) = unmarked(run.start + 1)
        && let Some(caption) = caption_of(text, lines, run.start..run.start + 1)
    {
        out.push(table_at(run.start + 1, Some(caption), delimiter));
    }
}

fn table(header: &Line, rows: &[Line], caption: Option<Range<usize>>, delimiter: Delimiter) -> Table {
    let rows = rows.iter().map(|row| row.start..row.next).collect();
    Table { header: header.start..header.end, caption, rows, delimiter }
}

/// Whether the second line is the dashes of a table that the first is the header of.
fn is_piped_header(header: &str, dashes: &str) -> bool {
    if !header.contains('|') || !dashes.contains('-') || !dashes.bytes().all(|b| b"|-: \t".contains(&b)) {
        return false;
    }
    let columns = cells(header, Delimiter::Pipe).len();
    let rules = cells(dashes, Delimiter::Pipe);
    let is_dashes = |cell: &Range<usize>| {
        let cell = &dashes[cell.clone()];
        let inner = cell.strip_prefix(':').unwrap_or(cell);
        let inner = inner.strip_suffix(':').unwrap_or(inner);
        !inner.is_empty() && inner.bytes().all(|b| b == b'-')
    };
    rules.len() == columns && rules.iter().all(is_dashes)
}

/// A line that says what the table below it is: one line alone that speaks of a table, ends with a colon or is
/// emphasised as a whole.
fn caption_of(text: &str, lines: &[Line], run: Range<usize>) -> Option<Range<usize>> {
    // Of a longer paragraph, only its last line may speak of the table, and only where it starts so.
    let line = lines.get(run.end.checked_sub(1)?)?;
    let range = trimmed(text, line.start..line.end);
    let caption = &text[range.clone()];
    let plain = caption.trim_start_matches(['*', '_', '[', ' ']);
    let names = ["Table ", "Table:", "TABLE ", "Tab. ", "Caption:"].iter().any(|start| plain.starts_with(start));
    let emphasised = caption.len() > 2 && ['*', '_'].iter().any(|&m| caption.starts_with(m) && caption.ends_with(m));
    let fits = caption.len() <= CAPTION_BYTES && !caption.contains('|');
    (fits && (names || (run.len() == 1 && (caption.ends_with(':') || emphasised)))).then_some(line.start..line.end)
}

fn is_rule(line: &str) -> bool {
    let dashes = line.bytes().filter(|b| matches!(b, b'-' | b'=')).count();
    dashes > 1 && line.bytes().all(|b| matches!(b, b'-' | b'=' | b' ' | b'\t' | b'+'))
}

/// Whether all lines have the same number of cells, and the first is a header.
fn is_table(text: &str, lines: &[Line], delimiter: Delimiter) -> bool {
    if lines.len() < LINES || lines.iter().any(|line| line.end - line.start > LINE_BYTES) {
        return false;
    }
    let header = lines[0].text(text);
    let names = cells(header, delimiter);
    let fewest = if delimiter == Delimiter::Mark(b',') { 3 } else { 2 };
    let has_digit = |cell: &str| cell.bytes().any(|b| b.is_ascii_digit());
    if names.len() < fewest || names.iter().any(|c| c.is_empty() || c.len() > 60 || has_digit(&header[c.clone()])) {
        return false;
    }
    let ruled = delimiter == Delimiter::Space && is_rule(lines[1].text(text));
    let mut numeric = vec![true; names.len()];
    for line in &lines[1 + usize::from(ruled)..] {
        let line = line.text(text);
        let row = cells(line, delimiter);
        if row.len() != names.len() {
            return false;
        }
        for (numeric, cell) in numeric.iter_mut().zip(row) {
            *numeric &= has_digit(&line[cell]);
        }
    }
    ruled || delimiter == Delimiter::Mark(b'\t') || numeric.contains(&true)
}

/// The cells of a line, white space around them left out, in bytes of the line.
pub(crate) fn cells(line: &str, delimiter: Delimiter) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let mut out = Vec::new();
    let mut from = 0;
    let mut at = 0;
    let mut quoted = false;
    while at < bytes.len() {
        let b = bytes[at];
        match delimiter {
            Delimiter::Pipe if b == b'\\' => at += 1,
            Delimiter::Pipe if b == b'|' => {
                out.push(trimmed(line, from..at));
                from = at + 1;
            }
            Delimiter::Mark(mark) if b == mark && !quoted => {
                out.push(trimmed(line, from..at));
                from = at + 1;
            }
            Delimiter::Mark(_) if b == b'"' => quoted = !quoted,
            Delimiter::Space if b == b'\t' || (b == b' ' && bytes.get(at + 1) == Some(&b' ')) => {
                let cell = trimmed(line, from..at);
                while bytes.get(at + 1).is_some_and(|b| matches!(b, b' ' | b'\t')) {
                    at += 1;
                }
                // White space at the start of a line is its indent.
                if !cell.is_empty() {
                    out.push(cell);
                }
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    let last = trimmed(line, from.min(line.len())..line.len());
    if delimiter != Delimiter::Space || !last.is_empty() {
        out.push(last);
    }
    if delimiter == Delimiter::Pipe {
        // The pipes at both ends enclose no cell.
        if line.trim_start().starts_with('|') && !out.is_empty() {
            out.remove(0);
        }
        if out.len() > 1 && out.last().is_some_and(Range::is_empty) && line.trim_end().ends_with('|') {
            out.pop();
        }
    }
    if matches!(delimiter, Delimiter::Mark(_)) {
        for cell in &mut out {
            if cell.len() > 1 && line[cell.clone()].starts_with('"') && line[cell.clone()].ends_with('"') {
                *cell = cell.start + 1..cell.end - 1;
            }
        }
    }
    out
}
