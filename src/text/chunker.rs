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
use plica_format::limits::CHUNK_BYTES;
use unicode_segmentation::UnicodeSegmentation;

/// Words of a chunk, unless asked otherwise.
pub const DEFAULT_CHUNK_WORDS: u32 = 500;

/// A chunk that holds this share of its budget, in eighths, ends with a paragraph if it can. Fuller chunks are fewer
/// calls of the model; seven eighths cost few, and one or two paragraphs end in the last eighth of a typical page.
const PARAGRAPH_EIGHTHS: u64 = 7;

/// Number of words in `text`, as Unicode counts them (UAX 29: segments with a letter or a number).
pub fn word_count(text: &str) -> u32 {
    u32::try_from(text.unicode_words().count()).unwrap_or(u32::MAX)
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
        for (count, (start, word)) in (0u64..).zip(window.unicode_word_indices()) {
            if count == u64::from(self.words) {
                return Limit { bytes: start, nearly_full };
            }
            if count + 1 >= nearly_full_words {
                nearly_full = nearly_full.min(start + word.len());
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
    start_of_last(window.split_word_bound_indices().last().map(|last| last.0))
        .or_else(|| start_of_last(window.grapheme_indices(true).last().map(|last| last.0)))
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
