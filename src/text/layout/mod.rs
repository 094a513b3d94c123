//! The layout of a text: its headings and tables, found line by line.
//!
//! Two styles of headings are known. *Markdown* headings are lines that start with `#` and lines that are underlined;
//! *chapter* headings are the lines by which plain-text books divide themselves ("CHAPTER IV", "BOOK ONE: 1805"). A text
//! has one style: Markdown where it has a Markdown heading. Nothing within a code fence is a heading or a table.
//!
//! A layout takes time and space linear in the text.

mod chapters;
mod headings;
mod tables;

pub(crate) use chapters::Division;
pub(crate) use headings::{Fence, Heading, Style};
pub(crate) use tables::{Delimiter, Table, cells};

use std::ops::Range;

/// A line of a text, without its line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    /// Byte offset of its start.
    pub(crate) start: usize,
    /// Byte offset behind its last character that is no white space; `start` where there is none.
    pub(crate) end: usize,
    /// Byte offset of the next line.
    pub(crate) next: usize,
    /// Whether it belongs to a code fence, the fence lines included.
    pub(crate) fenced: bool,
}

impl Line {
    /// Whether nothing but white space stands on it.
    pub(crate) fn is_blank(&self) -> bool {
        self.start == self.end
    }

    /// Its text, white space at the end left out.
    pub(crate) fn text<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// Headings and tables of a text.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// The lines.
    pub(crate) lines: Vec<Line>,
    /// The headings, in order.
    pub(crate) headings: Vec<Heading>,
    /// The tables, in order.
    pub(crate) tables: Vec<Table>,
    /// Where a code fence opened or closed: the offset behind the fence line, and the fence that is open from there on.
    pub(crate) fences: Vec<(usize, Option<Fence>)>,
}

impl Layout {
    /// The layout of a whole text.
    pub(crate) fn new(text: &str) -> Self {
        let (lines, fences) = headings::lines(text, None);
        let style = headings::style(text, &lines);
        Self::of_lines(text, lines, fences, style)
    }

    /// The layout of a piece of a text whose style is known, and which starts within `fence` where there is one.
    pub(crate) fn of_piece(text: &str, style: Style, fence: Option<Fence>) -> Self {
        let (lines, fences) = headings::lines(text, fence);
        Self::of_lines(text, lines, fences, style)
    }

    fn of_lines(text: &str, lines: Vec<Line>, fences: Vec<(usize, Option<Fence>)>, style: Style) -> Self {
        let headings = match style {
            Style::Markdown => headings::markdown(text, &lines),
            Style::Chapters => chapters::chapters(text, &lines),
        };
        let tables = tables::tables(text, &lines, &headings);
        Self { lines, headings, tables, fences }
    }

    /// The style of the headings; chapters where there are none.
    pub(crate) fn style(text: &str) -> Style {
        headings::style(text, &headings::lines(text, None).0)
    }

    /// For each heading, the one above it: the last before it of a lower level.
    pub(crate) fn parents(&self) -> Vec<Option<usize>> {
        let mut open: Vec<usize> = Vec::new();
        let mut parents = Vec::with_capacity(self.headings.len());
        for (i, heading) in self.headings.iter().enumerate() {
            while open.last().is_some_and(|&o| self.headings[o].level >= heading.level) {
                open.pop();
            }
            parents.push(open.last().copied());
            open.push(i);
        }
        parents
    }
}

/// The part of a range of text without white space around it.
pub(crate) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = text.get(range.clone()).unwrap_or_default();
    let start = range.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}
