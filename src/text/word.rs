//! Words, as Unicode counts them (UAX 29), without its tables where those are not needed.
//!
//! Most of most texts is ASCII with a few quotation marks and dashes, of which the rules can be written down in some lines.
//! What stands beside any other character goes to the crate that knows the tables, from the start of its segment up to
//! the next place that is a boundary whatever surrounds it. A test holds the two ways together.

use unicode_segmentation::{UnicodeSegmentation, UnicodeWordIndices};

/// So far a place is sought where the plain way may go on; without one the crate does the rest.
const RESUME_BYTES: usize = 4096;

/// What a character is to the plain rules.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    /// `_`: part of words, and by itself no word.
    Joiner,
    /// Within a word between two letters (`:`), two digits (`,` and `;`), or either (a period or an apostrophe).
    Within {
        letters: bool,
        digits: bool,
    },
    Space,
    /// A segment of its own.
    Other,
    /// Not for the plain rules.
    Unknown,
    End,
}

impl Class {
    fn is_core(self) -> bool {
        matches!(self, Self::Letter | Self::Digit | Self::Joiner)
    }

    const fn of_ascii(byte: u8) -> Self {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => Self::Letter,
            b'0'..=b'9' => Self::Digit,
            b'_' => Self::Joiner,
            b'.' | b'\'' => Self::Within { letters: true, digits: true },
            b':' => Self::Within { letters: true, digits: false },
            b',' | b';' => Self::Within { letters: false, digits: true },
            b' ' => Self::Space,
            0..=0x7f => Self::Other,
            _ => Self::Unknown,
        }
    }
}

/// The class of each byte.
static CLASSES: [Class; 256] = {
    let mut classes = [Class::Unknown; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = Class::of_ascii(byte as u8);
        byte += 1;
    }
    classes
};

/// Class and length of the character at `at`.
#[inline]
fn class(bytes: &[u8], at: usize) -> (Class, usize) {
    let Some(&byte) = bytes.get(at) else { return (Class::End, 0) };
    match CLASSES[usize::from(byte)] {
        Class::Unknown => match bytes.get(at..at + 3) {
            Some([0xe2, 0x80, 0x98 | 0x99]) => (Class::Within { letters: true, digits: true }, 3),
            // Dashes, and double quotation marks.
            Some([0xe2, 0x80, 0x93 | 0x94 | 0x9c | 0x9d]) => (Class::Other, 3),
            _ => (Class::Unknown, 1),
        },
        class => (class, 1),
    }
}

/// The words of a text: where each starts and ends. Lazy, but for a bounded stretch.
pub(super) struct Words<'a> {
    text: &'a str,
    /// Up to here all is done, or handed to the crate.
    at: usize,
    /// A stretch in the hands of the crate, and where it starts.
    careful: Option<(usize, UnicodeWordIndices<'a>)>,
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, careful: None }
    }

    /// Hands the text from `start` on, which is the start of a segment, to the crate.
    fn be_careful(&mut self, start: usize) {
        let bytes = self.text.as_bytes();
        let end = bytes.len().min(start.saturating_add(RESUME_BYTES));
        let is_sure = |&at: &usize| match (bytes.get(at - 1), bytes.get(at)) {
            (Some(b'\n'), Some(_)) => true,
            (Some(b' '), Some(next)) => next.is_ascii() && *next != b' ',
            _ => false,
        };
        self.at = (start + 1..end).find(is_sure).unwrap_or(bytes.len());
        self.careful = Some((start, self.text[start..self.at].unicode_word_indices()));
    }

    /// The word that starts at `at`, which is no part of one before; `None` where the crate has to say.
    #[inline]
    fn word(&self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut before = class(bytes, self.at).0;
        let mut at = self.at + 1;
        loop {
            while bytes.get(at).is_some_and(|&byte| CLASSES[usize::from(byte)] == Class::Letter) {
                before = Class::Letter;
                at += 1;
            }
            let (here, length) = class(bytes, at);
            match here {
                Class::Letter | Class::Digit | Class::Joiner => before = here,
                Class::Within { letters, digits } => {
                    let next = class(bytes, at + length).0;
                    let goes_on =
                        before == next && (letters && before == Class::Letter || digits && before == Class::Digit);
                    match next {
                        Class::Unknown => return None,
                        _ if goes_on => {}
                        _ => return Some(at),
                    }
                }
                Class::Unknown => return None,
                Class::Space | Class::Other | Class::End => return Some(at),
            }
            at += length;
        }
    }
}

impl Iterator for Words<'_> {
    type Item = (usize, usize);

    #[inline]
    fn next(&mut self) -> Option<(usize, usize)> {
        let bytes = self.text.as_bytes();
        loop {
            if let Some((start, words)) = &mut self.careful {
                if let Some((at, word)) = words.next() {
                    return Some((*start + at, *start + at + word.len()));
                }
                self.careful = None;
            }
            let start = self.at;
            let (here, length) = class(bytes, start);
            if here.is_core() {
                let Some(end) = self.word() else {
                    self.be_careful(start);
                    continue;
                };
                self.at = end;
                if here != Class::Joiner || bytes[start..end].iter().any(u8::is_ascii_alphanumeric) {
                    return Some((start, end));
                }
                continue;
            }
            if here == Class::End {
                return None;
            }
            let mut end = start + length;
            if here == Class::Space {
                while bytes.get(end) == Some(&b' ') {
                    end += 1;
                }
            }
            // What follows may belong to this segment.
            if here == Class::Unknown || class(bytes, end).0 == Class::Unknown {
                self.be_careful(start);
            } else {
                self.at = end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str) {
        let expected: Vec<_> = text.unicode_word_indices().map(|(at, word)| (at, at + word.len())).collect();
        assert_eq!(Words::new(text).collect::<Vec<_>>(), expected, "{text:?}");
    }

    proptest! {
        #[test]
        fn words_are_those_of_unicode(pieces in prop::collection::vec(prop::sample::select(vec![
            "a", "B", "é", "1", "23", "_", ".", ",", ";", ":", "'", "’", "‘", "“", "”", "—", "–", " ", " ", "  ", "\n", "\r\n",
            "\r", "\t", "-", "\"", "\u{301}", "\u{345}", "\u{200d}", "\u{ad}", "漢", "カ", "א", "\u{1f1e6}", "\u{1f469}", "\u{a0}",
            "\u{2028}", "\u{3000}", "\0", "\u{85}", "word ", "\u{600}", "…", "·", "\u{feff}",
        ]), 0..24)) {
            check(&pieces.concat());
        }

        #[test]
        fn words_of_any_text_are_those_of_unicode(text in any::<String>()) {
            check(&text);
        }
    }

    #[test]
    fn a_long_text_without_a_sure_place_goes_to_the_crate() {
        check(&format!("a {} b", "é".repeat(RESUME_BYTES)));
        check(&format!("a {} b", "é\n".repeat(RESUME_BYTES)));
    }
}
