//! The built-in compiler: an outline from headings, chapters, and the entity memory.
//!
//! *Discovery* (`discover`) names the categories. In a text with Markdown headings that tell topics they are the
//! headings that have others below them; the lowest headings are subjects. In a book of chapters they are its parts, and
//! since chapters seldom tell what they are about, also the kinds of the entity memory: people, places, …; in a text
//! without headings, those alone. A category for later headings is always there.
//!
//! *Extraction* reads a piece: its sections (`sections`) and chapters (`chapters`) with labelled lines, tables and
//! definitions, and its people and other things (`entities`) with what sentences say of them. What a piece cannot know,
//! it is handed by the piece before (`context`): under which headings, in which table or code fence it starts. Nothing
//! that is cut off at an end of the piece is taken, for the next piece has it whole.

mod chapters;
mod context;
mod discover;
mod entities;
mod places;
mod sections;
mod tell;

use super::Builtin;
use crate::Result;
use crate::ingest::{Compiler, DiscoverInput, ExtractInput, Extracted, Schema};
use crate::text::layout::{Layout, Style};
use context::Context;
use entities::Reading;
use places::{Mode, names_of};
use std::collections::HashSet;
use std::ops::Range;

/// Category of headings that discovery did not see.
const FURTHER: &str = "Further sections";
/// Category of parts and chapters.
const CHAPTERS: &str = "Chapters";
/// Category of things whose kind is not known.
const OTHER: &str = "Other names";
/// Categories of the kinds of the entity memory.
const KINDS: [(&str, &str); 6] = [
    ("person", "People"),
    ("place", "Places"),
    ("organisation", "Organisations"),
    ("event", "Events"),
    ("work", "Works"),
    ("", OTHER),
];
/// Field of other names, by which a category of entities is known.
const ALSO: &str = "also called";
/// Field of those whom a chapter tells of, by which a category of chapters is known.
const PEOPLE: &str = "people";
/// Most links of a subject.
const LINKS: usize = 16;

impl Compiler for Builtin {
    fn discover(&self, input: &DiscoverInput<'_>) -> Result<Schema> {
        Ok(discover::discover(input))
    }

    fn extract(&self, input: &ExtractInput<'_>) -> Result<Extracted> {
        let mut extracted = extract(input);
        // An outline that came from elsewhere has categories of its own, and gets what belongs into those.
        let keys = |path: &[String]| path.iter().map(|name| crate::text::key(name)).collect::<Vec<_>>();
        let known: HashSet<Vec<String>> = input.schema.categories.iter().map(|known| keys(&known.path)).collect();
        extracted.subjects.retain(|subject| known.contains(&keys(&subject.category)));
        Ok(extracted)
    }
}

/// Bytes at each end of a piece within which what is cut off there is left out. Two of them must fit into an overlap.
const SEAM_BYTES: usize = 500;
/// A first piece of this length is taken to be one of several.
const LONG_BYTES: usize = 20_000;

fn extract(input: &ExtractInput<'_>) -> Extracted {
    let whole = whole(input);
    let context = Context::read(input.context, input.overlap.saturating_sub(whole.start));
    let mode = Mode::of(input.schema);
    let text = &input.text[whole.clone()];
    let style = if mode.sections { Style::Markdown } else { Layout::style(text) };
    let layout = Layout::of_piece(text, style, context.fence);
    let names = names_of(text, &layout, &context);
    let mut subjects = Vec::new();
    let reading = (mode.chapters || mode.entities).then(|| Reading::new(input.entities, text));
    if let Some(reading) = reading.as_ref().filter(|_| mode.chapters) {
        chapters::extract(input, reading, &layout, &names, &context, &mut subjects);
    } else {
        sections::extract(input, text, &layout, &names, &context, &mut subjects);
    }
    if let Some(reading) = reading.as_ref().filter(|_| mode.entities) {
        entities::extract(input, reading, &mut subjects);
    }
    for field in subjects.iter_mut().flat_map(|subject| &mut subject.fields) {
        field.span = field.span.map(|(start, end)| (start + whole.start, end + whole.start));
    }
    let context = context.write(text, input.text.len() - whole.end, input.text.len(), &layout, &names);
    Extracted { subjects, context }
}

/// The part of a piece that neither end cuts through: from and to a blank line, or a line break, or a sentence, as far
/// as there is one near the end. The first piece starts, and the last ends, as it is; the last is shorter than the one
/// before.
fn whole(input: &ExtractInput<'_>) -> Range<usize> {
    let text = input.text;
    let before = context::length_before(input.context);
    let cut = match before {
        Some(before) => text.len() + before / 8 >= before,
        None => text.len() >= LONG_BYTES,
    };
    // Texts end with a line break, pieces seldom do.
    let cut = cut && !text.ends_with('\n');
    let mut start = 0;
    if input.overlap > 0 {
        let near = &text[..text.floor_char_boundary(SEAM_BYTES.min(input.overlap / 2))];
        let found = ["\n\n", "\n", ". "].into_iter().find_map(|mark| near.find(mark).map(|at| at + mark.len()));
        start = found.unwrap_or(0);
    }
    let mut end = text.len();
    if cut {
        let from = text.ceil_char_boundary(text.len().saturating_sub(SEAM_BYTES)).max(start);
        let found =
            ["\n\n", "\n", ". "].into_iter().find_map(|mark| text[from..].rfind(mark).map(|at| from + at + mark.len()));
        end = found.unwrap_or(end);
    }
    start..end
}

#[cfg(test)]
mod tests;
