//! Words and sentences of a text, found in one pass.
//!
//! Everything else in the built-in model works on [`Word`]s: slices of the text with their shape (capital, number, …)
//! and what stands between a word and the one before it ([`Gap`]). A sentence is a run of words; it ends at `.`, `!`,
//! `?` or `…` followed by white space and anything but a small letter, and at a blank line. The period of an
//! abbreviation or of an initial belongs to its word, so it ends nothing.

use super::lexicon;
use unicode_normalization::char::is_combining_mark;

/// What stands between a word and the word before it, as a set of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Gap(u16);

impl Gap {
    pub(super) const COMMA: Gap = Gap(1);
    pub(super) const OPEN: Gap = Gap(1 << 1);
    pub(super) const CLOSE: Gap = Gap(1 << 2);
    pub(super) const QUOTE: Gap = Gap(1 << 3);
    pub(super) const DASH: Gap = Gap(1 << 4);
    /// `.`, `!`, `?` or `…`.
    pub(super) const STOP: Gap = Gap(1 << 5);
    /// A blank line, or the start of the text.
    pub(super) const PARAGRAPH: Gap = Gap(1 << 6);
    /// `_` or `*`, as plain text marks italics.
    pub(super) const ITALIC: Gap = Gap(1 << 7);
    pub(super) const AMPERSAND: Gap = Gap(1 << 8);
    pub(super) const OTHER: Gap = Gap(1 << 9);
    /// The first word of a sentence.
    pub(super) const SENTENCE: Gap = Gap(1 << 10);

    /// Whether any of the bits of `other` is set.
    pub(super) fn has(self, other: Gap) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether nothing but white space stands there.
    pub(super) fn is_space(self) -> bool {
        self.0 == 0
    }

    pub(super) fn with(self, other: Gap) -> Gap {
        Gap(self.0 | other.0)
    }
}

/// Shape of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Starts with a small letter, or with a letter of a script that has no case.
    Lower,
    /// Starts with a capital.
    Capital,
    /// Two capitals or more and no small letter.
    Caps,
    /// Starts with a digit.
    Number,
}

/// A word of the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word<'t> {
    /// Without a possessive ending.
    pub(super) text: &'t str,
    /// Byte offset of its first character.
    pub(super) start: usize,
    pub(super) shape: Shape,
    /// Whether a possessive ending was cut off.
    pub(super) possessive: bool,
    /// What stands before it.
    pub(super) gap: Gap,
    /// Key of its small letters, by which it is counted and looked up.
    pub(super) key: u64,
    /// What the lexicon knows of it.
    pub(super) class: u16,
}

impl Word<'_> {
    /// Byte offset behind its last character, the possessive ending left out.
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether the lexicon puts it in one of the classes.
    pub(super) fn is(&self, classes: u16) -> bool {
        self.class & classes != 0
    }

    /// Whether it is written as a name is.
    pub(super) fn is_capital(&self) -> bool {
        matches!(self.shape, Shape::Capital | Shape::Caps)
    }
}

/// A sentence: words `first..last`, bytes `start..end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The words and sentences of a text.
#[derive(Debug, Default)]
pub(super) struct Scan<'t> {
    pub(super) text: &'t str,
    pub(super) words: Vec<Word<'t>>,
    pub(super) sentences: Vec<Sentence>,
}

impl<'t> Scan<'t> {
    /// Reads a text, in time linear in its length.
    pub(super) fn new(text: &'t str) -> Self {
        let mut scan = Scan { text, words: Vec::with_capacity(text.len() / 6), sentences: Vec::new() };
        let mut at = 0;
        // End of the punctuation that closes the sentence before.
        let mut gap = Gap::PARAGRAPH;
        let mut closed = 0;
        while let Some((start, g, stop)) = next_word(text, at) {
            gap = gap.with(g);
            if gap.has(Gap::STOP) {
                closed = stop;
            }
            let end = word_end(text, start);
            let word = shaped(text, start, end);
            let lower = word.shape == Shape::Lower;
            if gap.has(Gap::PARAGRAPH) || (gap.has(Gap::STOP) && !lower) {
                scan.close(closed.max(at));
                gap = gap.with(Gap::SENTENCE);
                scan.sentences.push(Sentence { first: scan.words.len(), last: scan.words.len(), start, end });
            }
            scan.words.push(Word { gap, ..word });
            gap = Gap::default();
            at = end;
            closed = 0;
        }
        let end = text.len() - trailing_space(&text[at..]);
        scan.close(end);
        scan
    }

    fn close(&mut self, end: usize) {
        let words = self.words.len();
        if let Some(sentence) = self.sentences.last_mut() {
            sentence.last = words;
            sentence.end = end.max(sentence.start);
        }
    }

    /// The words of a sentence.
    pub(super) fn words_of(&self, sentence: &Sentence) -> &[Word<'t>] {
        self.words.get(sentence.first..sentence.last).unwrap_or_default()
    }

    /// Bytes from the first to behind the last of the words `first..last`, which must not be empty.
    pub(super) fn slice(&self, first: usize, last: usize) -> &'t str {
        &self.text[self.words[first].start..self.words[last - 1].end()]
    }
}

fn trailing_space(rest: &str) -> usize {
    rest.len() - rest.trim_end().len()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric()
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’' | 'ʼ')
}

/// Start of the next word, what is skipped to reach it, and the end of the stop (with closing quotes) within that.
fn next_word(text: &str, from: usize) -> Option<(usize, Gap, usize)> {
    let (mut gap, mut stop, mut newlines) = (Gap::default(), 0, 0);
    let mut open_stop = false;
    for (i, c) in text[from..].char_indices() {
        let i = from + i;
        if is_word(c) {
            // A stop ends a sentence only where white space follows ("example.org", "3.5").
            if gap.has(Gap::STOP) && open_stop && stop == i {
                gap = Gap::OTHER;
            }
            return Some((i, gap, stop));
        }
        if c == '\n' {
            newlines += 1;
            if newlines == 2 {
                gap = gap.with(Gap::PARAGRAPH);
            }
        } else if !c.is_whitespace() {
            newlines = 0;
        }
        let bit = match c {
            ',' => Gap::COMMA,
            '(' | '[' | '{' => Gap::OPEN,
            ')' | ']' | '}' => Gap::CLOSE,
            '"' | '“' | '”' | '«' | '»' | '„' | '`' | '\'' | '‘' | '’' => Gap::QUOTE,
            '-' | '–' | '—' | '―' => Gap::DASH,
            '.' | '!' | '?' | '…' | '。' | '！' | '？' => Gap::STOP,
            '_' | '*' => Gap::ITALIC,
            '&' => Gap::AMPERSAND,
            c if c.is_whitespace() => {
                open_stop = false;
                continue;
            }
            c if is_combining_mark(c) => continue,
            _ => Gap::OTHER,
        };
        gap = gap.with(bit);
        if bit == Gap::STOP {
            open_stop = true;
        }
        // Quotes and brackets that close behind a stop belong to it.
        if open_stop {
            stop = i + c.len_utf8();
        }
    }
    None
}

/// Offset behind the word that starts at `start`.
fn word_end(text: &str, start: usize) -> usize {
    let mut end = start;
    let mut chars = text[start..].char_indices().peekable();
    let mut letters = 0;
    let mut capital = false;
    while let Some((i, c)) = chars.next() {
        if is_word(c) {
            letters += 1;
            capital = letters == 1 && c.is_uppercase();
            end = start + i + c.len_utf8();
        } else if is_combining_mark(c) {
            end = start + i + c.len_utf8();
        } else {
            let next = chars.peek().is_some_and(|&(_, n)| is_word(n));
            match c {
                '-' | '\'' | '’' | 'ʼ' | '‐' | '‑' if next => letters += 1,
                // Decimals and thousands.
                '.' | ',' if next && digit_before(text, end) && digit_at(text, start + i + 1) => letters += 1,
                // Initials: each letter between two periods stands alone ("U.S.", "J.R.R.").
                '.' if capital && letters == 1 && (next || &text[start..end] != "I") => {
                    end = start + i + 1;
                    letters = 0;
                    if !next {
                        break;
                    }
                }
                '.' if letters > 0 && lexicon::is_abbreviation(&text[start..end]) => {
                    end = start + i + 1;
                    break;
                }
                _ => break,
            }
        }
    }
    end
}

fn digit_before(text: &str, at: usize) -> bool {
    at > 0 && text.as_bytes()[at - 1].is_ascii_digit()
}

fn digit_at(text: &str, at: usize) -> bool {
    text.as_bytes().get(at).is_some_and(u8::is_ascii_digit)
}

fn shaped(text: &str, start: usize, end: usize) -> Word<'_> {
    let mut word = &text[start..end];
    let mut possessive = false;
    let mut back = word.chars().rev();
    if let (Some('s' | 'S'), Some(a)) = (back.next(), back.next())
        && is_apostrophe(a)
    {
        word = &word[..word.len() - 1 - a.len_utf8()];
        possessive = true;
    } else if text[end..].starts_with(is_apostrophe) && word.ends_with('s') {
        // "the Bennets' house"; a closing single quote looks the same and does no harm.
        let mut after = text[end..].chars().skip(1);
        possessive = after.next() == Some(' ') && after.next().is_some_and(char::is_alphabetic);
    }
    let mut chars = word.chars();
    let shape = match chars.next() {
        Some(c) if c.is_numeric() => Shape::Number,
        Some(c) if c.is_uppercase() || is_titlecase(c) => {
            let (mut upper, mut lower) = (1, 0);
            for c in chars {
                if c.is_uppercase() {
                    upper += 1;
                } else if c.is_lowercase() {
                    lower += 1;
                }
            }
            if upper > 1 && lower == 0 { Shape::Caps } else { Shape::Capital }
        }
        _ => Shape::Lower,
    };
    let key = lexicon::key(word);
    Word { text: word, start, shape, possessive, gap: Gap::default(), key, class: lexicon::classes_of(key) }
}

/// The digraphs that have a form of their own at the head of a name.
fn is_titlecase(c: char) -> bool {
    matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(text: &str) -> Vec<&str> {
        let scan = Scan::new(text);
        scan.sentences.iter().map(|s| &scan.text[s.start..s.end]).collect()
    }

    fn words(text: &str) -> Vec<&str> {
        Scan::new(text).words.iter().map(|w| w.text).collect()
    }

    #[test]
    fn sentences_end_at_stops_and_blank_lines_only() {
        assert_eq!(
            sentences("Mr. Hale met J. R. Ode in the U.S. army. “Who?” he asked. It cost 3.5 pounds!\n\nNext\nline"),
            ["Mr. Hale met J. R. Ode in the U.S. army.", "Who?” he asked.", "It cost 3.5 pounds!", "Next\nline"]
        );
        assert_eq!(sentences("visit example.org today"), ["visit example.org today"]);
        assert_eq!(sentences(""), Vec::<&str>::new());
        assert_eq!(sentences("..."), Vec::<&str>::new());
    }

    #[test]
    fn possessives_are_cut_and_initials_kept() {
        assert_eq!(
            words("Ada’s U.S. visa, O'Hara's 1,250 half-crowns"),
            ["Ada", "U.S.", "visa", "O'Hara", "1,250", "half-crowns"]
        );
        let scan = Scan::new("the Bennets' house");
        assert!(scan.words[1].possessive);
    }

    #[test]
    fn gaps_say_what_stands_between() {
        let scan = Scan::new("Ada, the _Old_ (one) & Co");
        assert!(scan.words[0].gap.has(Gap::SENTENCE));
        assert!(scan.words[1].gap.has(Gap::COMMA));
        assert!(scan.words[2].gap.has(Gap::ITALIC));
        assert!(scan.words[3].gap.has(Gap::OPEN));
        assert!(scan.words[4].gap.has(Gap::AMPERSAND) && scan.words[4].gap.has(Gap::CLOSE));
    }
}
