//! Names of headings, the paths they make, and the categories and subjects that these are.

use super::super::facts::plain;
use super::context::Context;
use super::{ALSO, CHAPTERS, FURTHER, PEOPLE};
use crate::ingest::Schema;
use crate::text::layout::{Division, Heading, Layout};

/// Longest name of a subject or category, in bytes and words.
const NAME_BYTES: usize = 200;
const NAME_WORDS: usize = 24;
/// What stands between the steps of a path that is one name.
const JOINT: &str = " / ";

/// What a schema of this compiler tells of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mode {
    /// Its Markdown headings are its categories.
    pub(super) sections: bool,
    /// It has chapters.
    pub(super) chapters: bool,
    /// Kinds of the entity memory are among its categories.
    pub(super) entities: bool,
}

impl Mode {
    pub(super) fn of(schema: &Schema) -> Self {
        let has = |field: &str| schema.categories.iter().any(|c| c.fields.iter().any(|f| f == field));
        let chapters = has(PEOPLE) && schema.categories.iter().any(|c| c.path == [CHAPTERS]);
        let entities = has(ALSO);
        Self { sections: !chapters && !entities, chapters, entities }
    }
}

/// The names of a piece's headings.
#[derive(Debug)]
pub(super) struct Names {
    /// Of each heading, its own name.
    pub(super) own: Vec<String>,
    /// Of each heading, the names from the outermost down to its own.
    pub(super) paths: Vec<Vec<String>>,
}

/// Names and paths of a piece's headings, those that the piece starts under included.
pub(super) fn names_of(text: &str, layout: &Layout, context: &Context) -> Names {
    let mut open: Vec<(u8, String)> = context.path.clone();
    let (mut own, mut paths) = (Vec::new(), Vec::new());
    for heading in &layout.headings {
        let name = heading_name(text, heading);
        open.retain(|(level, _)| *level < heading.level);
        open.push((heading.level, name.clone()));
        paths.push(open.iter().map(|(_, name)| name.clone()).collect());
        own.push(name);
    }
    Names { own, paths }
}

/// The name of a heading: its title on one line, without marks, not in capitals alone.
pub(super) fn heading_name(text: &str, heading: &Heading) -> String {
    let title = text.get(heading.title.clone()).unwrap_or_default();
    let mut name = plain(title.split_whitespace().collect::<Vec<_>>().join(" ").as_str());
    if heading.division.is_some() {
        name = quiet(name.trim_end_matches(['.', ':']));
        if heading.division == Some(Division::Bare) {
            name = format!("Chapter {name}");
        }
    }
    if let Some(subtitle) = &heading.subtitle {
        name = format!("{name}: {}", quiet(&plain(text.get(subtitle.clone()).unwrap_or_default())));
    }
    let short = limited(&name);
    // A heading without a letter or digit still is one.
    if short.is_empty() { "-".to_owned() } else { short }
}

/// A name within the limits, cut at a word where it can be.
pub(super) fn limited(name: &str) -> String {
    let cut: Vec<&str> = name.split_whitespace().take(NAME_WORDS).collect();
    let cut = cut.join(" ");
    cut[..cut.floor_char_boundary(NAME_BYTES)].trim_end().to_owned()
}

/// Words in capitals with only their first letter so; Roman numerals stay.
fn quiet(title: &str) -> String {
    if title.chars().any(char::is_lowercase) {
        return title.to_owned();
    }
    let small = |(i, word): (usize, &str)| {
        let letters = word.trim_matches(|c: char| !c.is_alphanumeric());
        if super::super::names::is_roman(letters) {
            return word.to_owned();
        }
        if i > 0 && matches!(letters, "OF" | "THE" | "AND" | "A" | "AN" | "IN" | "TO" | "AT" | "ON" | "FOR" | "BY") {
            return word.to_lowercase();
        }
        let mut first = true;
        word.chars()
            .flat_map(|c| {
                let keep = first && c.is_alphabetic();
                first &= !keep;
                if keep { vec![c] } else { c.to_lowercase().collect() }
            })
            .collect()
    };
    title.split_whitespace().enumerate().map(small).collect::<Vec<_>>().join(" ")
}

/// Category and name of the subject that a heading is: itself within the category that it is, else under the lowest
/// category above it; among the further sections where there is none.
pub(super) fn subject_of(schema: &Schema, mode: Mode, path: &[String]) -> (Vec<String>, String) {
    let path = match path.split_first() {
        Some((first, rest)) if !rest.is_empty() && !mode.chapters && *first == schema.title => rest,
        _ => path,
    };
    let mut full: Vec<String> = Vec::new();
    if mode.chapters {
        full.push(CHAPTERS.to_owned());
    }
    full.extend(path.iter().cloned());
    let is_category = |steps: &[String]| schema.categories.iter().any(|c| c.path == steps);
    let name = path.last().cloned().unwrap_or_default();
    for steps in (1..=full.len()).rev() {
        if is_category(&full[..steps]) {
            let rest = &full[steps..];
            let name = if rest.is_empty() { name } else { limited(&rest.join(JOINT)) };
            return (full[..steps].to_vec(), name);
        }
    }
    (vec![FURTHER.to_owned()], limited(&path.join(JOINT)))
}
