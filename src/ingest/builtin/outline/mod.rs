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
        Ok(extract(input))
    }
}

fn extract(input: &ExtractInput<'_>) -> Extracted {
    let context = Context::read(input.context, input.overlap);
    let mode = Mode::of(input.schema);
    let text = complete(input.text);
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
    // A text that ends in the midst of a line goes on in the next piece with the same headings.
    let context = context.write(input.text, &layout, &names);
    Extracted { subjects, context }
}

/// The piece without what its end cuts off: a text that ends in no line break, and with no sign of an end, is taken to
/// the end of its last line, or sentence. A short text is whole.
fn complete(text: &str) -> &str {
    const WHOLE_BYTES: usize = 2048;
    let ends = text.trim_end_matches(['”', '"', '’', '\'', ')', '*', '_', '`', '|', ' ']);
    if text.len() < WHOLE_BYTES || text.ends_with('\n') || ends.ends_with(['.', '!', '?', '…', ':', ';']) {
        return text;
    }
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    let sentence = text[line..].rfind(". ").map_or(line, |at| line + at + 2);
    if sentence == 0 { text } else { &text[..sentence] }
}

#[cfg(test)]
mod tests;
