//! The chunker: a source cut into chunks of whole sentences.
//!
//! A chunk takes sentences while their words stay within the budget. A sentence that is over it alone is cut at a word;
//! a word that is over the limit in bytes, between grapheme clusters; a cluster that is, between characters. Where the
//! chunk would be nearly full anyway, it ends with a paragraph.
//!
//! The end of a chunk depends only on the text from its start on, and on a bounded stretch of it. So chunking can be
//! taken up at any boundary with the same result, which is how an interrupted build goes on, and takes time linear in
//! the text, whatever it holds.

use super::sentence::sentence_end;
use super::word::Words;
use plica_format::limits::CHUNK_BYTES;
use unicode_segmentation::UnicodeSegmentation;

/// Words of a chunk, unless asked otherwise.
pub const DEFAULT_CHUNK_WORDS: u32 = 500;

/// A chunk that holds this share of its budget, in eighths, ends with a paragraph if it can. Fuller chunks are fewer
/// calls of the model; seven eighths cost few, and one or two paragraphs end in the last eighth of a typical page.
const PARAGRAPH_EIGHTHS: u64 = 7;

/// Number of words in `text`, as Unicode counts them (UAX 29: segments with a letter or a number).
pub fn word_count(text: &str) -> u32 {
    u32::try_from(Words::new(text).count()).unwrap_or(u32::MAX)
}

/// Cuts text into chunks of at most so many words.
///
/// ```
/// use plica::text::Chunker;
/// let chunks: Vec<_> = Chunker::new(4).chunks("One two. Three four. Five.").collect();
/// assert_eq!(chunks, ["One two. Three four. ", "Five."]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunker {
    /// Greatest number of words in a chunk, at least 1.
    words: u32,
}

impl Default for Chunker {
    fn default() -> Self {
        Self::new(DEFAULT_CHUNK_WORDS)
    }
}

impl Chunker {
    /// A chunker with a budget of `words` words a chunk; 0 counts as 1.
    pub fn new(words: u32) -> Self {
        Self { words: words.max(1) }
    }

    /// The budget, in words.
    pub fn words(&self) -> u32 {
        self.words
    }

    /// The chunks of `text`: contiguous, none empty, covering every byte of it, each at most `limits::CHUNK_BYTES` long.
    ///
    /// The chunks from any boundary on are those of the text from there on.
    pub fn chunks<'a>(&self, text: &'a str) -> Chunks<'a> {
        Chunks { chunker: *self, rest: text }
    }

    /// Length of the first chunk of `text`: 0 only if the text is empty.
    pub fn next_end(&self, text: &str) -> usize {
        let limit = self.limit(text);
        if limit.bytes == text.len() {
            return limit.bytes;
        }
        let (mut end, mut paragraph_end) = (0, 0);
        while let Some(length) = sentence_end(&text[end..], limit.bytes - end) {
            end += length;
            if end >= limit.nearly_full && ends_paragraph(&text[..end]) {
                paragraph_end = end;
            }
            if end == limit.bytes {
                break;
            }
        }
        match (paragraph_end, end) {
            (0, 0) => limit.bytes,
            (0, end) => end,
            (end, _) => end,
        }
    }

    /// How far the budget reaches: to the start of the first word that is too much, or to the limit in bytes.
    fn limit(&self, text: &str) -> Limit {
        let window = &text[..text.floor_char_boundary(CHUNK_BYTES)];
        let nearly_full_words = u64::from(self.words) * PARAGRAPH_EIGHTHS / 8;
        let mut nearly_full = usize::MAX;
        for (count, (start, end)) in (0u64..).zip(Words::new(window)) {
            if count == u64::from(self.words) {
                return Limit { bytes: start, nearly_full };
            }
            if count + 1 >= nearly_full_words {
                nearly_full = nearly_full.min(end);
            }
        }
        let bytes = if window.len() == text.len() { text.len() } else { cut(window) };
        Limit { bytes, nearly_full }
    }
}

/// How far a chunk may reach.
struct Limit {
    /// Its greatest length.
    bytes: usize,
    /// The length from which on it is nearly full.
    nearly_full: usize,
}

/// Where to cut a text that goes on behind `window`: before its last word, which may go on too, or else before its last
/// grapheme cluster, or else at its end.
fn cut(window: &str) -> usize {
    let start_of_last = |start: Option<usize>| start.filter(|&start| start > 0);
    start_of_last(window.split_word_bound_indices().next_back().map(|last| last.0))
        .or_else(|| start_of_last(window.grapheme_indices(true).next_back().map(|last| last.0)))
        .unwrap_or(window.len())
}

/// Whether a text ends with a blank line.
fn ends_paragraph(text: &str) -> bool {
    let space = &text[text.trim_end().len()..];
    space.matches('\n').count().max(space.matches('\r').count()) >= 2 || space.ends_with('\u{2029}')
}

/// The iterator that [`Chunker::chunks`] gives.
#[derive(Debug, Clone)]
pub struct Chunks<'a> {
    /// The chunker.
    chunker: Chunker,
    /// What is not cut yet.
    rest: &'a str,
}

impl<'a> Iterator for Chunks<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (chunk, rest) = self.rest.split_at(self.chunker.next_end(self.rest));
        self.rest = rest;
        Some(chunk)
    }
}

impl std::iter::FusedIterator for Chunks<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::sentences;
    use proptest::prelude::*;

    /// Chunks `text` and checks what holds for any text.
    fn checked(words: u32, text: &str) -> Vec<&str> {
        let chunks: Vec<_> = Chunker::new(words).chunks(text).collect();
        let mut at = 0;
        for chunk in &chunks {
            assert!(!chunk.is_empty() && chunk.len() <= CHUNK_BYTES);
            assert_eq!(chunk.as_ptr(), text[at..].as_ptr());
            assert!(word_count(chunk) <= words, "{} words: {chunk:?}", word_count(chunk));
            at += chunk.len();
        }
        assert_eq!(at, text.len());
        chunks
    }

    #[test]
    fn whole_sentences_within_the_budget() {
        let text = "One two three. Four five. Six seven eight nine. Ten.";
        assert_eq!(checked(5, text), ["One two three. Four five. ", "Six seven eight nine. Ten."]);
        assert_eq!(checked(4, text), ["One two three. ", "Four five. ", "Six seven eight nine. ", "Ten."]);
        assert_eq!(checked(2, text), ["One two ", "three. ", "Four five. ", "Six seven ", "eight nine. ", "Ten."]);
        assert_eq!(checked(500, text), [text]);
        assert!(checked(500, "").is_empty());
    }

    #[test]
    fn a_full_sentence_before_the_budget_is_not_lost() {
        // What follows the boundary within the look-ahead must not hide it.
        let text = "Four words are here. ".repeat(300);
        assert!(checked(40, &text).iter().all(|chunk| chunk.len() == 210));
    }

    #[test]
    fn a_nearly_full_chunk_ends_with_a_paragraph() {
        let sentence = "One two three four five six seven. ";
        let text = format!("{sentence}\n\nEight. Nine ten.");
        assert_eq!(checked(8, &text), [&format!("{sentence}\n\n"), "Eight. Nine ten."]);
        let text = format!("{sentence}\n\nEight. Nine ten {}.", "word ".repeat(90));
        assert_eq!(checked(16, &text)[0], format!("{sentence}\n\nEight. "), "half full is not nearly full");
    }

    /// Each of these has broken a chunker: no words, no sentences, no characters that stand alone.
    #[test]
    fn any_text_is_cut_in_linear_time() {
        for piece in [
            "a",
            " ",
            "\n",
            "\r\n",
            "\0",
            "\u{301}",
            "\u{feff}",
            "word ",
            "Mr. ",
            ".",
            "1. ",
            "漢",
            "漢字。",
            "1। ",
            ".)",
            "カ",
            "ภาษา",
            "\u{1f1e6}",
            "\u{1f469}\u{200d}",
            "a:'",
            "\u{2029}",
            "a\n",
        ] {
            let text = piece.repeat(300_000 / piece.len());
            checked(500, &text);
            assert_eq!(sentences(&text).map(|(_, sentence)| sentence.len()).sum::<usize>(), text.len());
        }
        for (first, piece) in
            [("a. ", " "), ("a. ", ")("), ("a. ", "1 "), ("a.", "\u{301}"), ("a:", "\u{301}"), (". ", "- ")]
        {
            let text = format!("{first}{}b", piece.repeat(300_000 / piece.len()));
            checked(500, &text);
            assert_eq!(sentences(&text).map(|(_, sentence)| sentence.len()).sum::<usize>(), text.len());
        }
    }

    #[test]
    fn one_sentence_of_ten_megabytes() {
        let text = "word ".repeat(2_000_000);
        let chunks = checked(500, &text);
        assert!(chunks.len() == 4000 && chunks.iter().all(|chunk| chunk.len() == 2500));
        assert_eq!(sentences(&text).count(), 1);
    }

    #[test]
    fn a_word_over_the_limit_is_cut_between_clusters() {
        let text = format!("See {}", "e\u{301}".repeat(100_000));
        let chunks = checked(500, &text);
        assert_eq!(chunks.iter().map(|chunk| chunk.len()).collect::<Vec<_>>(), [4, 262_143, 37_857]);
        assert!(chunks.iter().skip(1).all(|chunk| chunk.starts_with('e')));
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "a",
            "word ",
            "One ",
            "two. ",
            "Three! ",
            "Mr. ",
            "Bennet ",
            "\n",
            "\n\n",
            "\r\n\r\n",
            " ",
            "\t",
            "漢",
            "字。",
            "\u{301}",
            "\u{feff}",
            "\0",
            "1.",
            "א",
            "'",
            "\"",
            ")",
            "\u{1f469}\u{200d}",
            "\u{2029}",
            "カナ",
            "- ",
            "# ",
        ]);
        prop::collection::vec(piece, 0..200).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn chunks_hold_and_restart_anywhere(text in text(), words in 1u32..30) {
            let chunks = checked(words, &text);
            let mut at = 0;
            for (i, chunk) in chunks.iter().enumerate() {
                let rest: Vec<_> = Chunker::new(words).chunks(&text[at..]).collect();
                prop_assert_eq!(&rest[..], &chunks[i..]);
                at += chunk.len();
            }
        }

        /// A chunk is whole sentences, unless its first sentence alone is over the budget, and leaves out none that fits
        /// except for a paragraph.
        #[test]
        fn chunks_are_greedy(text in text(), words in 1u32..30) {
            let mut rest = &text[..];
            for chunk in Chunker::new(words).chunks(&text) {
                let ends: Vec<_> = sentences(rest).map(|(start, sentence)| start + sentence.len()).collect();
                let whole = ends.contains(&chunk.len());
                let limit = Chunker::new(words).limit(rest).bytes;
                let last = ends.iter().copied().filter(|&end| end <= limit).max();
                match last {
                    Some(last) => prop_assert!(whole && (chunk.len() == last || ends_paragraph(chunk))),
                    None => prop_assert_eq!(chunk.len(), limit),
                }
                rest = &rest[chunk.len()..];
            }
        }
    }
}
