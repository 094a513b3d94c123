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
use super::prose::{Prose, prose_end};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
use unicode_segmentation::UnicodeSegmentation;

/// The first window ends here at the latest, in bytes of the text.
const WINDOW_BYTES: usize = 512;

/// Each later window is so many times the one before.
const WINDOW_GROWTH: usize = 4;

/// Unicode's rule SB8 (a period before a lower-case word ends no sentence) may look ahead without bound. Here it looks
/// at least this far, then takes the boundary.
pub(super) const LOOKAHEAD_BYTES: usize = 4096;

/// So much of the copy must be seen behind a boundary before the next word is judged.
pub(super) const NEXT_WORD_BYTES: usize = 32;

/// The first window ends earlier where the copy holds so much behind what may be the sentence's last character.
const GLIMPSE_BYTES: usize = NEXT_WORD_BYTES + 8;

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
    match prose_end(text, limit, limit.saturating_add(LOOKAHEAD_BYTES)) {
        Prose::End(end) => Some(end),
        Prose::Beyond => None,
        Prose::Unclear => careful_end(text, limit),
    }
}

/// The same, for a text of any kind.
pub(super) fn careful_end(text: &str, limit: usize) -> Option<usize> {
    let reach = limit.saturating_add(LOOKAHEAD_BYTES);
    let mut window = None;
    loop {
        let condensed = Condensed::new(text, window, reach);
        if let Some(end) = condensed.first_boundary() {
            return (end <= limit).then_some(end);
        }
        if condensed.is_whole {
            return (condensed.source_end <= limit).then_some(condensed.source_end);
        }
        if condensed.source_end >= reach {
            return None;
        }
        window = Some(condensed.source_end.saturating_mul(WINDOW_GROWTH));
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
    /// Condenses the first `window` bytes of `text`, or what will do for most sentences. Ends early, and says it saw
    /// `reach` bytes, at white space that runs on beyond those.
    fn new(text: &str, window: Option<usize>, reach: usize) -> Self {
        let mut copy = Self { text: String::new(), steps: Vec::new(), source_end: 0, is_whole: false };
        let mut after_bracket = false;
        // In the copy, from where on the first window need not go.
        let mut enough = if window.is_none() { None } else { Some(usize::MAX) };
        let window = window.unwrap_or(WINDOW_BYTES);
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            if at >= window || enough.is_some_and(|enough| copy.text.len() >= enough) {
                copy.source_end = at;
                return copy;
            }
            if is_soft_space(c) {
                let Some(space) = Space::new(&text[at..], reach.saturating_sub(at)) else {
                    copy.source_end = reach;
                    return copy;
                };
                if space.ends_sentence && !copy.text.is_empty() || copy.ends_line(&text[at..], &space) {
                    copy.source_end = at + space.boundary;
                    copy.is_whole = true;
                    return copy;
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
                    if enough.is_none() && may_terminate(c) {
                        enough = Some(copy.text.len() + GLIMPSE_BYTES);
                    }
                }
            }
            at += c.len_utf8();
        }
        copy.source_end = at;
        copy.is_whole = true;
        copy
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
    fn ends_line(&self, from: &str, space: &Space) -> bool {
        space.has_break && !self.text.is_empty() && (self.text.starts_with('#') || starts_item(&from[space.length..]))
    }

    /// The first boundary that is sure, as an offset in the source.
    fn first_boundary(&self) -> Option<usize> {
        let mut end = 0;
        for piece in self.text.split_sentence_bounds() {
            end += piece.len();
            let (before, after) = self.text.split_at(end);
            let Some(next) = after.chars().next() else { break };
            let source = self.source(end);
            if before.ends_with(['\u{85}', '\u{2028}', '\u{2029}']) {
                return Some(source);
            }
            if !self.is_whole && after.len() < NEXT_WORD_BYTES {
                return None;
            }
            if next.is_lowercase() || abbreviation::vetoes(before, after) {
                continue;
            }
            // After a period, SB8 goes on to the next letter or terminator; without one in sight it is a guess.
            let is_sure = self.is_whole
                || !ends_with_period(before)
                || after.contains(|c: char| c.is_alphabetic() || matches!(c, '.' | '!' | '?'))
                || self.source_end.saturating_sub(source) >= LOOKAHEAD_BYTES;
            return is_sure.then_some(source);
        }
        None
    }
}

/// Whether the last sentence of `before` ends with a period (ATerm in UAX 29), brackets and white space apart.
fn ends_with_period(before: &str) -> bool {
    // In the copy this is one bracket and one space, or a few more.
    let end = before.trim_end_matches(|c: char| is_soft_space(c) || kind(c) == Kind::Bracket);
    end.ends_with(['.', '\u{2024}', '\u{fe52}', '\u{ff0e}'])
}

/// Whether a sentence may end with `c`: false only if surely not.
fn may_terminate(c: char) -> bool {
    matches!(c, '.' | '!' | '?') || !c.is_ascii() && !c.is_alphanumeric()
}

/// White space that a sentence may run over.
fn is_soft_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A run of white space.
pub(super) struct Space {
    /// Its length in bytes.
    pub(super) length: usize,
    /// Whether it holds a line break.
    pub(super) has_break: bool,
    /// Whether it holds two: a blank line.
    pub(super) ends_sentence: bool,
    /// End of the last line break in it; what follows is the indentation of the next line.
    pub(super) boundary: usize,
}

impl Space {
    /// The run that `text` starts with; `None` if it is longer than `limit`.
    pub(super) fn new(text: &str, limit: usize) -> Option<Self> {
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
pub(super) fn starts_item(line: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(text: &str) -> Vec<&str> {
        sentences(text).map(|(_, sentence)| sentence).collect()
    }

    #[test]
    fn sentences_of_prose() {
        for expected in [
            &["Mr. Bennet replied that he had not. ", "“But it is,” returned she. ", "“Why?” he said."][..],
            &["J. R. R. Tolkien wrote it. ", "See No. 5, vol. II, e.g. Chapter 3.\r\n\r\n", "New paragraph"],
            &["Hard line\nbreaks are spaces.\n", "Are they not?"],
            &["\n\n  Leading. ", "Then."],
            &["漢字。", "漢字！", "漢字"],
            &["One.\u{2029}", "two\u{2029}", "three"],
            &["\u{feff}One. ", "Two."],
            &["It costs 3.50 at most. ", "Yes."],
            &["Wait... what? ", "No."],
            &["(He said so.) ", "She did not."],
        ] {
            let text = expected.concat();
            assert_eq!(split(&text), expected, "{text:?}");
        }
    }

    #[test]
    fn structure_of_lines_ends_sentences() {
        let lines = [
            "# Heading\n",
            "Text without a period\n",
            "- one\n",
            "- two\n",
            "12. three\n",
            "> four\n",
            "| a | b |\n",
            "\t• end",
        ];
        assert_eq!(split(&lines.concat()), lines);
    }

    #[test]
    fn dotted_abbreviations_may_end_sentences() {
        assert_eq!(split("He left the U.S. They stayed."), ["He left the U.S. ", "They stayed."]);
        assert_eq!(split("He joined the U.S. Army."), ["He joined the U.S. Army."]);
    }

    #[test]
    fn lower_case_goes_on() {
        assert_eq!(split("“Stop!” cried he. He did."), ["“Stop!” cried he. ", "He did."]);
    }

    #[test]
    fn a_limit_hides_only_what_is_beyond_it() {
        let text = "One two three. Four five. Six.";
        assert_eq!(sentence_end(text, 15), Some(15));
        assert_eq!(sentence_end(text, 14), None);
        assert_eq!(sentence_end(&format!("A.{}", " ".repeat(100_000)), 50_000), None);
        assert_eq!(sentence_end(&format!("A. B{}", " ".repeat(100_000)), 3), None, "an initial");
        assert_eq!(sentence_end(&format!("Go. {}", "1 ".repeat(100_000)), 4), Some(4));
    }

    #[test]
    fn reads_a_bounded_stretch() {
        // A boundary after it would be found if more were read: none of it is.
        let copy = Condensed::new(&"word ".repeat(1 << 20), None, usize::MAX);
        assert!(copy.source_end <= 2 * WINDOW_BYTES);
        let copy = Condensed::new(&format!("Go. {}", "word ".repeat(1 << 20)), None, usize::MAX);
        assert!(copy.source_end <= 8 + GLIMPSE_BYTES);
    }

    #[test]
    fn condensing_drops_long_runs() {
        let source = format!("a.{}{}{}B", "\u{301}".repeat(999), ")(".repeat(999), " \t".repeat(999));
        let copy = Condensed::new(&source, Some(usize::MAX), usize::MAX);
        assert_eq!(copy.text, "a.) B");
        assert_eq!(copy.first_boundary(), Some(source.len() - 1));
    }

    /// Text in which the rules have something to decide.
    fn text() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "a", "B", "word", "Mr", "U.S", "1", ".", ".", "!", "?", "。", "।", " ", " ", "  ", "\n", "\n\n", "\r\n",
            "\t", "(", ")", "\"", "”", "\u{301}", "\u{200d}", "漢", "א", ",", "-", "- ", "# ", "\u{2029}", "\u{85}",
            "\u{feff}", "\0", "é", "The", "No",
        ]);
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn sentences_cover_the_text_and_restart_anywhere(text in text()) {
            let found: Vec<_> = sentences(&text).collect();
            let mut at = 0;
            for (i, &(start, sentence)) in found.iter().enumerate() {
                prop_assert_eq!(start, at);
                prop_assert!(!sentence.is_empty());
                let rest: Vec<_> = sentences(&text[start..]).map(|(s, x)| (s + start, x)).collect();
                prop_assert_eq!(&rest[..], &found[i..]);
                at += sentence.len();
            }
            prop_assert_eq!(at, text.len());
        }

        /// Condensing loses nothing: without line breaks, the boundaries are Unicode's on the text itself, repairs apart.
        #[test]
        fn boundaries_are_those_of_unicode(text in text()) {
            // Marks after a separator stay with it, which Unicode does not ask for.
            let text = text.replace(['\n', '\r', '#'], "").replace('\u{2029}', "\u{2029}A").replace('\u{85}', "\u{85}A");
            let text = text.trim_start();
            let mut expected = Vec::new();
            let mut rest = text;
            'sentence: while !rest.is_empty() {
                let mut end = 0;
                for piece in rest.split_sentence_bounds() {
                    end += piece.len();
                    let (before, after) = rest.split_at(end);
                    let bare: String = before.chars().filter(|&c| kind(c) != Kind::Ignored).collect();
                    let hard = bare.ends_with(['\u{85}', '\u{2029}']);
                    if end == rest.len() || hard || !after.starts_with(char::is_lowercase) && !abbreviation::vetoes(&bare, after) {
                        expected.push(before);
                        rest = after;
                        continue 'sentence;
                    }
                }
            }
            prop_assert_eq!(split(text), expected);
        }
    }
}
