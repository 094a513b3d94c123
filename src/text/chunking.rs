//! Chunking by sentences, by headed sections, or by the rows of tables.
//!
//! The layout of the source (headings and tables) cuts it into *segments*; a chunk never crosses the start of one. A
//! segment within the budget of words is one chunk, a larger one is cut by sentences, as [`Chunker`] cuts a text. A
//! chunk of a section has its heading path for a title, the row of a table its caption and header line too (the first row
//! has them in its text): what a
//! passage needs to be understood, and to be found, that its own text does not say.
//!
//! Chunks tile the source byte for byte, titles apart. Where the next chunk ends depends on the source and on the place
//! where it starts alone, so chunking can be taken up at any boundary. A [`ChunkPlan`] reads the source once; all its
//! chunks together take time linear in the source.

use super::chunker::Chunker;
use super::layout::{Delimiter, Layout, Table, cells};
use plica_format::limits::CHUNK_BYTES;
use std::ops::Range;

/// Longest title of a chunk, in bytes.
pub const CHUNK_TITLE_BYTES: usize = 1 << 10;
/// Longest part of a title that a caption or a header line takes, in bytes.
const PART_BYTES: usize = 480;
/// What stands between the parts of a title.
const JOINT: &str = " > ";

/// What chunks are made of.
///
/// ```
/// use plica::text::{Chunking, Chunker};
/// let source = "# Lamps\n\nTwo kinds.\n\n## Oil\n\n| Lamp | Price |\n|---|---|\n| Storm | 12 |\n| Desk | 7 |\n";
/// let plan = Chunking::Rows.plan(Chunker::default(), source);
/// let chunks: Vec<_> = plan.chunks(0).collect();
/// let (place, title) = chunks.last().unwrap();
/// assert_eq!(&source[place.clone()], "| Desk | 7 |\n");
/// assert_eq!(title, "Lamps > Oil > | Lamp | Price |");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Chunking {
    /// Whole sentences, whatever the layout; no titles.
    #[default]
    Sentences,
    /// Sections: what stands from a heading to the next.
    Sections,
    /// Each body row of a table by itself; the rest by sections.
    Rows,
}

impl Chunking {
    /// Reads the layout of a source.
    pub fn plan(self, chunker: Chunker, source: &str) -> ChunkPlan<'_> {
        let (layout, segments) = match self {
            Self::Sentences => (Layout::default(), Vec::new()),
            Self::Sections | Self::Rows => {
                let layout = Layout::new(source);
                let segments = segments(source, &layout, self == Self::Rows);
                (layout, segments)
            }
        };
        let parents = layout.parents();
        ChunkPlan { source, chunker, layout, parents, segments }
    }
}

/// A stretch of the source that chunks do not cross the start of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    start: usize,
    /// The heading that it stands under.
    heading: Option<usize>,
    /// The table that it is a row of.
    table: Option<usize>,
}

/// Where the chunks of a source start and end.
#[derive(Debug)]
pub struct ChunkPlan<'a> {
    source: &'a str,
    chunker: Chunker,
    layout: Layout,
    /// Of each heading, the one above it.
    parents: Vec<Option<usize>>,
    /// Ascending.
    segments: Vec<Segment>,
}

impl<'a> ChunkPlan<'a> {
    /// End and title of the chunk that starts at byte `at` of the source, which must be 0 or the end of a chunk; the
    /// same place, and no title, at the end of the source.
    pub fn next(&self, at: usize) -> (usize, String) {
        let after = self.segments.partition_point(|segment| segment.start <= at);
        let until = self.segments.get(after).map_or(self.source.len(), |segment| segment.start);
        let rest = self.source.get(at..until).unwrap_or_default();
        let title = after.checked_sub(1).map_or(String::new(), |segment| self.title(&self.segments[segment]));
        // Title and text share the limit.
        let room = rest.floor_char_boundary(CHUNK_BYTES - title.len());
        (at + self.chunker.next_end(&rest[..room]), title)
    }

    /// The chunks from byte `at` on: place and title.
    pub fn chunks(&self, at: usize) -> impl Iterator<Item = (Range<usize>, String)> + '_ {
        let mut at = at;
        std::iter::from_fn(move || {
            let (end, title) = self.next(at);
            let place = at..end;
            at = end;
            (!place.is_empty()).then_some((place, title))
        })
    }

    /// The heading path, then caption and header line of the table, within the limit: outer headings go first.
    fn title(&self, segment: &Segment) -> String {
        let mut parts: Vec<String> = Vec::new();
        if let Some(table) = segment.table.and_then(|t| self.layout.tables.get(t)) {
            parts.push(self.header(table));
            parts.extend(table.caption.as_ref().map(|caption| self.part(caption)));
        }
        let mut length: usize = parts.iter().map(|part| part.len() + JOINT.len()).sum();
        let mut heading = segment.heading;
        while let Some(at) = heading {
            let Some(found) = self.layout.headings.get(at) else { break };
            let mut part = self.part(&found.title);
            if let Some(subtitle) = &found.subtitle {
                part = format!("{part}: {}", self.part(subtitle));
                part.truncate(part.floor_char_boundary(PART_BYTES));
            }
            length += part.len() + JOINT.len();
            if length > CHUNK_TITLE_BYTES && !parts.is_empty() {
                break;
            }
            parts.push(part);
            heading = self.parents.get(at).copied().flatten();
        }
        parts.reverse();
        parts.join(JOINT)
    }

    /// The header line, with a sign between cells that only space parts.
    fn header(&self, table: &Table) -> String {
        let line = self.source.get(table.header.clone()).unwrap_or_default();
        if !matches!(table.delimiter, Delimiter::Space | Delimiter::Mark(b'\t')) {
            return self.part(&table.header);
        }
        let names: Vec<&str> = cells(line, table.delimiter).into_iter().filter_map(|cell| line.get(cell)).collect();
        let mut header = names.join(" | ");
        header.truncate(header.floor_char_boundary(PART_BYTES));
        header
    }

    /// Text of the source on one line, cut to fit.
    fn part(&self, range: &Range<usize>) -> String {
        let text = self.source.get(range.clone()).unwrap_or_default();
        let text = &text[..text.floor_char_boundary(PART_BYTES)];
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The segments of a source: one a section, and with `rows` one a body row of a table.
fn segments(source: &str, layout: &Layout, rows: bool) -> Vec<Segment> {
    let mut starts: Vec<Segment> = Vec::new();
    for (i, heading) in layout.headings.iter().enumerate() {
        starts.push(Segment { start: heading.start, heading: Some(i), table: None });
    }
    if rows {
        let mut heading = 0;
        for (i, table) in layout.tables.iter().enumerate() {
            while layout.headings.get(heading).is_some_and(|h| h.start <= table.start()) {
                heading += 1;
            }
            let heading = heading.checked_sub(1);
            starts.push(Segment { start: table.start(), heading, table: None });
            // The header stays with the first row: alone, it would be found in the place of rows.
            starts.extend(table.rows.iter().skip(1).map(|row| Segment { start: row.start, heading, table: Some(i) }));
            starts.push(Segment { start: table.end(), heading, table: None });
        }
        // Stable: of two at one place, the heading comes first and the table's start stays.
        starts.sort_by_key(|segment| segment.start);
    }
    let mut out: Vec<Segment> = Vec::with_capacity(starts.len());
    for (i, segment) in starts.iter().enumerate() {
        let end = starts.get(i + 1).map_or(source.len(), |next| next.start);
        // White space stays with what is before it.
        if source.get(segment.start..end).is_some_and(|text| text.trim().is_empty()) {
            continue;
        }
        // A heading that nothing but a deeper one follows goes with that.
        if let Some(last) = out.last_mut()
            && let (Some(upper), Some(lower)) = (last.heading, segment.heading)
            && last.table.is_none()
            && let (Some(upper), Some(lower)) = (layout.headings.get(upper), layout.headings.get(lower))
            && lower.start == segment.start
            && lower.level > upper.level
            && last.start <= upper.start
            && source.get(upper.end..lower.start).is_some_and(|text| text.trim().is_empty())
        {
            last.heading = segment.heading;
            continue;
        }
        // So does one that nothing but a table follows.
        if let Some(last) = out.last()
            && last.heading == segment.heading
            && last.table.is_none()
            && segment.table.is_none()
            && let Some(heading) = last.heading.and_then(|heading| layout.headings.get(heading))
            && source.get(heading.end..segment.start).is_some_and(|text| text.trim().is_empty())
        {
            continue;
        }
        out.push(*segment);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Chunks of a source, checked for what holds of any.
    fn checked(chunking: Chunking, words: u32, source: &str) -> Vec<(&str, String)> {
        let plan = chunking.plan(Chunker::new(words), source);
        let mut at = 0;
        let mut out = Vec::new();
        for (place, title) in plan.chunks(0) {
            assert_eq!(place.start, at);
            assert!(!place.is_empty() && place.len() + title.len() <= CHUNK_BYTES);
            assert!(title.len() <= CHUNK_TITLE_BYTES && !title.contains('\n'));
            at = place.end;
            out.push((&source[place], title));
        }
        assert_eq!(at, source.len());
        out
    }

    const MANUAL: &str = "Before.\n\n# Pump\n\n## Parts\n\nThe pump has two parts.\n\nTable 1: Parts\n\n| Part | Mass |\n|------|-----:|\n| Rotor | 3 kg |\n| Seal | 20 g |\n\nAll of steel.\n\n```sh\n# no heading\n| a | b |\n|---|---|\n```\n\nUse\n---\n\nTurn it on.\n";

    #[test]
    fn sections_end_before_headings_and_have_the_path_for_a_title() {
        let chunks = checked(Chunking::Sections, 500, MANUAL);
        let titles: Vec<&str> = chunks.iter().map(|c| c.1.as_str()).collect();
        assert_eq!(titles, ["", "Pump > Parts", "Pump > Use"]);
        assert!(chunks[1].0.starts_with("# Pump") && chunks[1].0.ends_with("```\n\n"));
        assert!(checked(Chunking::Sentences, 500, MANUAL).iter().all(|c| c.1.is_empty()));
        let small = checked(Chunking::Sections, 5, MANUAL);
        assert!(small.len() > 5 && small.iter().filter(|c| c.1 == "Pump > Parts").count() > 3);
    }

    #[test]
    fn each_row_is_a_chunk_with_caption_and_header() {
        let chunks = checked(Chunking::Rows, 500, MANUAL);
        let rows: Vec<_> = chunks.iter().filter(|c| c.1.contains('|')).collect();
        assert_eq!(rows[0].0, "| Seal | 20 g |\n");
        assert_eq!(rows[0].1, "Pump > Parts > Table 1: Parts > | Part | Mass |");
        let first = |c: &&(&str, String)| c.0.starts_with("Table 1") && c.0.ends_with("| Rotor | 3 kg |\n");
        assert_eq!(chunks.iter().find(first).unwrap().1, "Pump > Parts");
        assert!(chunks.iter().any(|c| c.0.trim_start().starts_with("All of steel") && c.1 == "Pump > Parts"));
    }

    #[test]
    fn lines_with_delimiters_are_rows_where_they_agree() {
        let csv = "Town,River,Bridges\nHollin,Ald,3\nMarlow,\"Ald, lower\",12\nVane,Orr,1\n";
        let chunks = checked(Chunking::Rows, 500, csv);
        assert_eq!(chunks.len(), 3);
        assert_eq!(chunks[1], ("Marlow,\"Ald, lower\",12\n", "Town,River,Bridges".to_owned()));
        let aligned = "Stock at noon:\n\nLamp     Count\nStorm    12\nDesk     7\n";
        let chunks = checked(Chunking::Rows, 500, aligned);
        assert_eq!(chunks.last().unwrap().1, "Stock at noon: > Lamp | Count");
        let prose = "She came, she saw, and left,\nthough late, and tired, and cold,\nas ever, so far, so good,\n";
        assert_eq!(checked(Chunking::Rows, 500, prose).len(), 1);
    }

    #[test]
    fn chapters_of_a_book_are_sections_and_its_contents_are_none() {
        let book = "CONTENTS\n\nPART I\n\nCHAPTER I\n\nCHAPTER II\n\nPART I\n\nCHAPTER I\n\nIt rained.\n\nCHAPTER II\n\nTHE STORM\n\nIt blew. Part of the roof went.\n\nEPILOGUE\n\nAll was well.\n";
        let chunks = checked(Chunking::Sections, 500, book);
        let titles: Vec<&str> = chunks.iter().map(|c| c.1.as_str()).collect();
        assert_eq!(titles, ["", "PART I > CHAPTER I", "PART I > CHAPTER II: THE STORM", "EPILOGUE"]);
    }

    #[test]
    fn titles_are_cut_to_fit() {
        let long = "word ".repeat(70);
        let source = format!("# {long}\n\n## {long}\n\n### {long}\n\n#### last\n\ntext\n");
        let chunks = checked(Chunking::Sections, 500, &source);
        assert!(chunks[0].1.ends_with(" > last") && !chunks[0].1.is_empty());
    }

    #[test]
    fn hostile_layouts_take_linear_time() {
        for piece in [
            "|",
            "#",
            "# a\n",
            "|a|\n|-|\n",
            "a\n---\n\n",
            "```\n",
            "a,b,c\n",
            "CHAPTER I\n\n",
            "a  b\n",
            "\n",
            "I\n\n",
        ] {
            let source = piece.repeat(200_000 / piece.len());
            checked(Chunking::Rows, 500, &source);
            checked(Chunking::Sections, 500, &source);
        }
        checked(Chunking::Rows, 500, &format!("|a|b|\n|-|-|\n|{}", "x |".repeat(200_000)));
    }

    fn source() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "# One\n",
            "## Two\n",
            "### Three\n",
            "\n",
            "\n\n",
            "A line of text. ",
            "Another.\n",
            "| a | b |\n",
            "|---|---|\n",
            "| 1 | 2 |\n",
            "Table 1: x\n",
            "```\n",
            "~~~\n",
            "CHAPTER I\n\n",
            "PART II\n\n",
            "Head\n===\n",
            "x,y,z\n",
            "1,2,3\n",
            "é\u{301}",
            "\r\n",
            "A  B\n",
            "1  2\n",
            "\u{feff}",
            "II\n",
            "|",
            "#",
            "- item\n",
        ]);
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn chunks_tile_and_restart_anywhere(source in source(), words in 1u32..30, rows in any::<bool>()) {
            let chunking = if rows { Chunking::Rows } else { Chunking::Sections };
            let chunks = checked(chunking, words, &source);
            let mut at = 0;
            for (i, (chunk, title)) in chunks.iter().enumerate() {
                let again = chunking.plan(Chunker::new(words), &source).next(at);
                prop_assert_eq!(&again, &(at + chunk.len(), title.clone()), "chunk {}", i);
                at += chunk.len();
            }
        }

        /// A heading stands at the start of a chunk, or right below a higher one.
        #[test]
        fn no_chunk_crosses_a_heading(source in source(), words in 1u32..30) {
            let layout = Layout::new(&source);
            let plan = Chunking::Sections.plan(Chunker::new(words), &source);
            for (place, _) in plan.chunks(0) {
                for heading in layout.headings.iter().filter(|h| place.start < h.start && h.start < place.end) {
                    let above = layout.headings.iter().rfind(|h| h.end <= heading.start);
                    prop_assert!(above.is_some_and(|a| source[a.end..heading.start].trim().is_empty()));
                }
            }
        }
    }
}
