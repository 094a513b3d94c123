//! The title of a chunk as an entity, and the opening of the text, which often gives its full name.

use super::cast::{Cast, squeeze};
use super::lexicon::HEADING;
use super::names::Span;
use super::scan::{Gap, Scan, Shape};

/// Most words of a title that names something.
const TITLE_WORDS: usize = 20;

/// Enters the title, where it names something: not "Chapter 3", not "Related work", not a sentence.
pub(super) fn enter(cast: &mut Cast, title: &str, scan: &Scan<'_>) -> Option<usize> {
    let words = &scan.words;
    if words.is_empty()
        || words.len() > TITLE_WORDS
        || !words.iter().any(|w| w.is_capital() || w.shape == Shape::Number)
    {
        return None;
    }
    if words.iter().all(|w| {
        w.is(HEADING)
            || w.shape == Shape::Number
            || super::names::is_roman(w.text)
            || matches!(w.text, "and" | "of" | "the")
    }) {
        return None;
    }
    let name = super::descriptions::clean(title, super::names::NAME_BYTES);
    let at = cast.enter(name)?;
    cast.entities[at].is_title = true;
    // "Mercury (planet)" is also "Mercury", which others may be too: a record of its own.
    if let Some(open) = words.iter().position(|w| w.gap.has(Gap::OPEN)).filter(|&o| o > 0) {
        cast.enter(squeeze(scan.slice(0, open)));
    }
    Some(at)
}

/// Takes the name that opens the text for the title's, where it holds the words of the title and more, or has its ends
/// ("Jeffrey Thomas Porcaro" for "Jeff Porcaro"). A shorter name is left alone: many counties are "Carroll County".
pub(super) fn opening(cast: &mut Cast, scan: &Scan<'_>, spans: &[Span], title: usize) {
    let Some(span) = spans.first().filter(|s| s.sentence == 0 && s.first <= 1) else { return };
    let name = squeeze(scan.slice(span.first, span.last));
    let Some(at) = cast.find(&name) else { return };
    if at == title {
        return;
    }
    let (full, short) = (&cast.entities[at].words, &cast.entities[title].words);
    let within = |a: &[String], b: &[String]| a.iter().all(|w| b.contains(w));
    let same_ends = full.len() > 1
        && short.len() > 1
        && full.last() == short.last()
        && full[0].chars().next() == short[0].chars().next();
    if within(short, full) || (same_ends && !within(full, short)) {
        cast.merge(at, title);
        cast.alias(title, name);
    }
}
