//! Sentences of ordinary prose, found without Unicode's tables.
//!
//! A byte that is plain ends no sentence, so most bytes are passed over one by one. What decides at a period or at a line
//! break is mostly plain as well: white space, then a letter. Where it is not, or where the next words are not, nothing is
//! said, and the careful way of [`super::sentence`] is gone from the start of the sentence. What is said here is what
//! that way would say; a test holds the two together.

use super::abbreviation;
use super::sentence::{NEXT_WORD_BYTES, Space, starts_item};

/// What is known of the end of a sentence without looking closely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prose {
    /// The sentence ends here, within the limit.
    End(usize),
    /// It ends beyond the limit.
    Beyond,
    /// It has to be looked at closely.
    Unclear,
}

/// Bytes that are looked at for [`NEXT_WORD_BYTES`] that are not condensed.
const AHEAD_BYTES: usize = 2 * NEXT_WORD_BYTES;

/// What a character does to a sentence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Nothing.
    Plain,
    /// Nothing; it is a bracket or a quotation mark.
    Bracket,
    Space,
    /// Any other white space of ASCII.
    Break,
    /// `.`, `!` or `?`.
    Terminator,
    Unknown,
}

static CLASSES: [Class; 256] = {
    let mut classes = [Class::Unknown; 256];
    let mut byte = 0x20;
    while byte < 0x7f {
        classes[byte as usize] = match byte {
            b' ' => Class::Space,
            b'.' | b'!' | b'?' => Class::Terminator,
            b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'"' | b'\'' => Class::Bracket,
            _ => Class::Plain,
        };
        byte += 1;
    }
    classes[b'\t' as usize] = Class::Break;
    classes[b'\n' as usize] = Class::Break;
    classes[0x0b] = Class::Break;
    classes[0x0c] = Class::Break;
    classes[b'\r' as usize] = Class::Break;
    classes
};

/// Class and length of the character at `at`, which is within the text.
#[inline]
fn class(bytes: &[u8], at: usize) -> (Class, usize) {
    let Some(&byte) = bytes.get(at) else { return (Class::Unknown, 1) };
    match CLASSES[usize::from(byte)] {
        Class::Unknown => beyond_ascii(bytes, at),
        class => (class, 1),
    }
}

/// The same of a character beyond ASCII: letters of Latin 1, dashes and quotation marks are known.
fn beyond_ascii(bytes: &[u8], at: usize) -> (Class, usize) {
    match bytes.get(at..at + 3) {
        Some([0xe2, 0x80, 0x98 | 0x99 | 0x9c | 0x9d]) => (Class::Bracket, 3),
        Some([0xe2, 0x80, 0x93 | 0x94]) => (Class::Plain, 3),
        Some([0xc3, last, _]) if !matches!(last, 0x97 | 0xb7) => (Class::Plain, 2),
        _ => (Class::Unknown, 1),
    }
}

/// Where the sentence that starts with `text` ends, where that is plain. White space is looked at up to `reach`.
pub(super) fn prose_end(text: &str, limit: usize, reach: usize) -> Prose {
    let bytes = text.as_bytes();
    if !matches!(class(bytes, 0).0, Class::Plain | Class::Bracket) || bytes.first() == Some(&b'#') {
        return Prose::Unclear;
    }
    let within = |end: usize| if end <= limit { Prose::End(end) } else { Prose::Beyond };
    let mut at = 0;
    while at < bytes.len() {
        if at >= limit {
            return Prose::Beyond;
        }
        let (here, length) = class(bytes, at);
        match here {
            Class::Plain | Class::Bracket => at += length,
            Class::Space if matches!(class(bytes, at + 1).0, Class::Plain | Class::Bracket) => at += 1,
            Class::Space | Class::Break => match after_space(text, at, reach) {
                Step::End(end) => return within(end),
                Step::On(next) => at = next,
                Step::Unclear => return Prose::Unclear,
            },
            Class::Terminator => match after_terminator(text, at, reach) {
                Step::End(end) => return within(end),
                Step::On(next) => at = next,
                Step::Unclear => return Prose::Unclear,
            },
            Class::Unknown => return Prose::Unclear,
        }
    }
    within(bytes.len())
}

/// How it goes on.
enum Step {
    /// The sentence ends here.
    End(usize),
    /// It does not end before this.
    On(usize),
    Unclear,
}

/// What white space at `at` does to a sentence that has begun.
fn after_space(text: &str, at: usize, reach: usize) -> Step {
    let Some(space) = Space::new(&text[at..], reach.saturating_sub(at)) else { return Step::Unclear };
    let next = at + space.length;
    if space.ends_sentence || space.has_break && starts_item(&text[next..]) {
        return Step::End(at + space.boundary);
    }
    Step::On(next)
}

/// What the terminator at `at` does.
fn after_terminator(text: &str, at: usize, reach: usize) -> Step {
    let bytes = text.as_bytes();
    let is_period = bytes.get(at) == Some(&b'.');
    let mut next = at + 1;
    if is_period && let (Some(before), Some(after)) = (at.checked_sub(1).and_then(|b| bytes.get(b)), bytes.get(next)) {
        // A number (SB6), or a dotted word (SB7, SB8).
        let is_within = after.is_ascii_digit()
            || after.is_ascii_lowercase()
            || after.is_ascii_uppercase() && before.is_ascii_alphabetic();
        if is_within {
            return Step::On(next);
        }
    }
    while let (Class::Bracket, length) = class(bytes, next) {
        next += length;
    }
    if next == bytes.len() {
        return Step::On(next);
    }
    if !matches!(class(bytes, next).0, Class::Space | Class::Break) {
        return Step::Unclear;
    }
    let boundary = match after_space(text, next, reach) {
        Step::On(boundary) if boundary < bytes.len() => boundary,
        other => return other,
    };
    let mut letter = boundary;
    while let (Class::Bracket, length) = class(bytes, letter) {
        letter += length;
    }
    let Some(first) = bytes.get(letter).filter(|byte| byte.is_ascii_alphabetic()) else { return Step::Unclear };
    if !is_plain_ahead(bytes, boundary) {
        return Step::Unclear;
    }
    // Before a lower-case letter a period ends nothing, and anything else only where a bracket stands between.
    if first.is_ascii_lowercase() && (is_period || letter == boundary) {
        return Step::On(letter);
    }
    let (before, after) = text.split_at(boundary);
    match abbreviation::vetoes(before, after) {
        true => Step::On(boundary),
        false => Step::End(boundary),
    }
}

/// Whether so much stands behind a boundary that it may be judged, none of it condensed: or else the end of the text.
fn is_plain_ahead(bytes: &[u8], boundary: usize) -> bool {
    let (mut at, mut count, mut before) = (boundary, 0, Class::Plain);
    while count < NEXT_WORD_BYTES && at < bytes.len() {
        if at - boundary >= AHEAD_BYTES {
            return false;
        }
        let (here, length) = class(bytes, at);
        let here = if here == Class::Break { Class::Space } else { here };
        match here {
            Class::Unknown => return false,
            // White space counts where it is known to end.
            Class::Space => {}
            Class::Bracket if before == Class::Bracket => {}
            _ => count += length + usize::from(before == Class::Space),
        }
        before = here;
        at += length;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::sentence::{LOOKAHEAD_BYTES, careful_end};
    use proptest::prelude::*;

    /// Text that is mostly prose.
    fn prose() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "the ",
            "word",
            "He ",
            " she",
            "Word",
            "Mr",
            "U.S",
            "e.g",
            "No",
            "I",
            "a",
            "B",
            "7",
            "4.5",
            ".",
            ". ",
            ".",
            "! ",
            "? ",
            " ",
            " ",
            " ",
            "  ",
            "\n",
            "\n",
            "\n\n",
            "\r\n",
            "\t",
            "(",
            ")",
            "\"",
            "'",
            "“",
            "”",
            "’",
            "—",
            "-",
            "- ",
            "#",
            "é",
            "É",
            "…",
            "\u{301}",
            "\u{a0}",
            ",",
            ";",
            "went ",
            "of ",
            "vol. II",
            "co. ",
            "×",
            "some more plain words of it ",
        ]);
        let space = prop_oneof![9 => Just(String::new()), 1 => Just(" ".repeat(5_000)), 1 => Just("(".repeat(5_000))];
        (prop::collection::vec(piece.clone(), 0..60), space, prop::collection::vec(piece, 0..20))
            .prop_map(|(pieces, space, more)| pieces.concat() + &space + &more.concat())
    }

    proptest! {
        #[test]
        fn what_is_plain_is_what_a_close_look_says(text in prose(), limit in 0usize..400) {
            let limit = limit.min(text.len());
            let said = match prose_end(&text, limit, limit + LOOKAHEAD_BYTES) {
                Prose::End(end) => Some(end),
                Prose::Beyond => None,
                Prose::Unclear => careful_end(&text, limit),
            };
            if !text.is_empty() {
                prop_assert_eq!(said, careful_end(&text, limit));
            }
        }
    }
}
