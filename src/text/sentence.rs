//! Sentence boundaries, for text as it comes.
//!
//! The rules are those of Unicode (UAX 29), with repairs for what they do not know:
//!
//! * A line break is a space, because texts come with hard line breaks. A blank line ends a sentence, and so does the end
//!   of a line that is a heading or that a list item, a quotation or a table row follows.
//! * A period of an abbreviation ends none (the module `abbreviation`), nor does anything before a lower-case letter:
//!   “Stop!” he said.
//!
//! The crate that knows Unicode's rules wants the whole text and takes quadratic time on some. So it is shown a
//! *condensed* copy of a window: marks and format characters left out, runs of white space and of brackets or quotation
//! marks as one, which changes no boundary, and the line breaks as above. The window grows by a factor until it holds a
//! boundary and what follows it is enough to be sure.
//!
//! Where a sentence ends depends only on the text from its start on, so a reader may start again at any boundary. The
//! work is linear in the length of the sentence, and at most [`LOOKAHEAD_BYTES`] and a constant factor beyond it.

use super::abbreviation;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

/// First window, in bytes of the text.
const WINDOW_BYTES: usize = 256;

/// Each window is so many times the one before.
const WINDOW_GROWTH: usize = 4;

/// Unicode's rule SB8 (a period before a lower-case word ends no sentence) may look ahead without bound. Here it looks
/// at least this far, then takes the boundary.
const LOOKAHEAD_BYTES: usize = 4096;

/// The sentences of `text` with their byte offsets: contiguous, none empty, covering all of it.
///
/// White space after a sentence belongs to it; before the first, to the first. Lazy: only what is consumed is read, and
/// a bounded stretch more.
///
/// ```
/// let found: Vec<_> = plica::text::sentences("Mr. Bennet made\nno answer. Why?").collect();
/// assert_eq!(found, [(0, "Mr. Bennet made\nno answer. "), (27, "Why?")]);
/// ```
pub fn sentences(text: &str) -> Sentences<'_> {
    Sentences { text, start: 0 }
}

/// The iterator that [`sentences`] gives.
#[derive(Debug, Clone)]
pub struct Sentences<'a> {
    /// The whole text.
    text: &'a str,
    /// Where the next sentence starts.
    start: usize,
}

impl<'a> Iterator for Sentences<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let (start, rest) = (self.start, &self.text[self.start..]);
        if rest.is_empty() {
            return None;
        }
        let length = sentence_end(rest, rest.len()).unwrap_or(rest.len());
        self.start = start + length;
        Some((start, &rest[..length]))
    }
}

impl std::iter::FusedIterator for Sentences<'_> {}

/// Where the sentence that starts with `text` ends, unless that is beyond `limit`. Above 0 for a text that is not empty.
///
/// Reads no further than a constant factor of `limit` plus [`LOOKAHEAD_BYTES`].
pub(super) fn sentence_end(text: &str, limit: usize) -> Option<usize> {
    let limit = limit.min(text.len());
    let mut window = WINDOW_BYTES;
    loop {
        let condensed = Condensed::new(text, window, limit)?;
        if let Some(end) = condensed.first_boundary() {
            return (end <= limit).then_some(end);
        }
        if condensed.is_whole {
            return (condensed.source_end <= limit).then_some(condensed.source_end);
        }
        if condensed.source_end > limit.saturating_add(LOOKAHEAD_BYTES) {
            return None;
        }
        window = window.saturating_mul(WINDOW_GROWTH);
    }
}

/// A copy of the start of a text that has the same sentence boundaries and no long runs.
struct Condensed {
    /// The copy.
    text: String,
    /// Where copy and source go out of step: (offset in the copy, offset in the source), ascending; between two of
    /// them both advance alike.
    steps: Vec<(usize, usize)>,
    /// End of the window in the source.
    source_end: usize,
    /// Whether the sentence ends with the window at the latest: the text does, or a paragraph.
    is_whole: bool,
}

impl Condensed {
    /// Condenses at least `window` bytes of `text`; `None` if white space that must be seen whole runs beyond `limit`.
    fn new(text: &str, window: usize, limit: usize) -> Option<Self> {
        let mut copy = Self { text: String::new(), steps: Vec::new(), source_end: 0, is_whole: false };
        let mut after_bracket = false;
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            if at >= window {
                copy.source_end = at;
                return Some(copy);
            }
            if is_soft_space(c) {
                let space = Space::new(&text[at..], limit.saturating_sub(at))?;
                if space.ends_sentence && !copy.text.is_empty() || copy.ends_line(&text[..at], &text[at..], &space) {
                    copy.source_end = at + space.boundary;
                    copy.is_whole = true;
                    return Some(copy);
                }
                if !copy.text.is_empty() {
                    copy.push(' ', at);
                }
                after_bracket = false;
                at += space.length;
                continue;
            }
            match kind(c) {
                Kind::Ignored => {}
                Kind::Bracket if after_bracket => {}
                found => {
                    copy.push(c, at);
                    after_bracket = found == Kind::Bracket;
                }
            }
            at += c.len_utf8();
        }
        copy.source_end = at;
        copy.is_whole = true;
        Some(copy)
    }

    fn push(&mut self, c: char, source: usize) {
        let here = self.text.len();
        let in_step = self.steps.last().is_some_and(|&(copy, text)| here - copy == source - text);
        if !in_step {
            self.steps.push((here, source));
        }
        self.text.push(c);
    }

    /// Offset in the source of an offset in the copy.
    fn source(&self, offset: usize) -> usize {
        let step = self.steps.partition_point(|&(copy, _)| copy <= offset).saturating_sub(1);
        self.steps.get(step).map_or(offset, |&(copy, text)| text + (offset - copy))
    }

    /// Whether a line break ends the sentence: after a heading, or before a list item, a quotation or a table row.
    fn ends_line(&self, before: &str, from: &str, space: &Space) -> bool {
        space.has_break
            && !self.text.is_empty()
            && (self.text.starts_with('#') || starts_item(&from[space.length..]) && !before.trim_start().is_empty())
    }

    /// The first boundary that is sure, as an offset in the source.
    fn first_boundary(&self) -> Option<usize> {
        let mut end = 0;
        for piece in self.text.split_sentence_bounds() {
            end += piece.len();
            let (before, after) = self.text.split_at(end);
            let Some(next) = after.chars().next() else { break };
            if next.is_lowercase() || abbreviation::vetoes(before, after) {
                continue;
            }
            let end = self.source(end);
            // SB8 goes on to the next letter or terminator; without one in sight the boundary is a guess.
            let is_sure = self.is_whole
                || after.contains(|c: char| c.is_alphabetic() || matches!(c, '.' | '!' | '?'))
                || self.source_end - end >= LOOKAHEAD_BYTES;
            // Later boundaries are not surer.
            return is_sure.then_some(end);
        }
        None
    }
}

/// White space that a sentence may run over.
fn is_soft_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A run of white space.
struct Space {
    /// Its length in bytes.
    length: usize,
    /// Whether it holds a line break.
    has_break: bool,
    /// Whether it holds two: a blank line.
    ends_sentence: bool,
    /// End of the last line break in it; what follows is the indentation of the next line.
    boundary: usize,
}

impl Space {
    /// The run that `text` starts with; `None` if it is longer than `limit`.
    fn new(text: &str, limit: usize) -> Option<Self> {
        let mut space = Self { length: 0, has_break: false, ends_sentence: false, boundary: 0 };
        let mut previous = '\0';
        for c in text.chars().take_while(|&c| is_soft_space(c)) {
            space.length += c.len_utf8();
            if space.length > limit {
                return None;
            }
            if c == '\n' || c == '\r' {
                if !(c == '\n' && previous == '\r') {
                    space.ends_sentence = space.has_break;
                    space.has_break = true;
                }
                space.boundary = space.length;
            }
            previous = c;
        }
        Some(space)
    }
}

/// Whether a line starts a list item, a heading, a quotation or a table row.
fn starts_item(line: &str) -> bool {
    let digits = line.bytes().take(4).take_while(u8::is_ascii_digit).count();
    match line.as_bytes() {
        [b'#' | b'|' | b'>', ..] | [b'-' | b'*' | b'+', b' ' | b'\t', ..] => true,
        bytes if (1..=3).contains(&digits) => matches!(bytes.get(digits..), Some([b'.' | b')', b' ', ..])),
        _ => line.starts_with('•'),
    }
}

/// What condensing makes of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Seen by no rule (Extend and Format in UAX 29).
    Ignored,
    /// Close in UAX 29: brackets and quotation marks.
    Bracket,
    /// All else.
    Plain,
}

fn kind(c: char) -> Kind {
    use GeneralCategory as G;
    match c {
        '(' | ')' | '[' | ']' | '{' | '}' | '"' | '\'' => Kind::Bracket,
        '\0'..='\x7f' => Kind::Plain,
        '\u{275b}'..='\u{2760}' | '\u{1f676}'..='\u{1f678}' => Kind::Bracket,
        _ if c.is_alphabetic() && !('\u{300}'..='\u{1fff}').contains(&c) && c < '\u{a000}' => Kind::Plain,
        _ => match c.general_category() {
            G::NonspacingMark | G::SpacingMark | G::EnclosingMark | G::Format => Kind::Ignored,
            G::OpenPunctuation | G::ClosePunctuation | G::InitialPunctuation | G::FinalPunctuation => Kind::Bracket,
            _ => Kind::Plain,
        },
    }
}
