//! Texts that quote chunks: finding what a text quotes, and reading quotes again.
//!
//! A [`Quoter`] holds the words of some chunks by their first bytes and takes a text apart, greedily, from the left: the
//! longest stretch of a chunk that goes on here, or else a word of its own. [`Quotes`] puts texts together again. What is
//! written is always put together and compared first.
//!
//! A summary quotes few of the chunks that it covers, and one in other words quotes none. So the hashes of what a quote
//! may begin with, the *anchors* of a chunk, are compared with those of the text first ([`Wanted`]), and only chunks that
//! have one in common are searched. [`Anchors`] remembers those of the last chunks, because summaries of several levels
//! cover the same.

use super::tail::NodeId;
use super::view::{View, inconsistent};
use super::writer::{OpenDocument, Writer};
use crate::{Error, Result};
use plica_format::document::DocumentHead;
use plica_format::fold::cover;
use plica_format::limits::SUMMARY_BYTES;
use plica_format::quote::{Piece, QUOTE_PIECES, QUOTED_RATIO, Quote, Quoted, squeeze};
use std::collections::HashMap;

/// Bytes by which a place is found, and the least that is quoted: a quote takes about five.
const LEAST_BYTES: usize = 16;
/// Places that begin alike of which the longest match is taken.
const CANDIDATES: usize = 16;
/// Bits of the table of places.
const TABLE_BITS: u32 = 12;
/// Anchors that are remembered, in bytes; a new chunk beyond them forgets all.
const ANCHOR_BYTES: usize = 4 << 20;
/// A summary quotes the chunks it covers where they are at most this many: more are too many to be read for one text.
const QUOTED_CHUNKS: u32 = 128;
/// Bits of an anchor that a text is first looked up by.
const WANTED_BITS: u32 = 15;

/// A chunk within the squeezed text of a [`Quoter`].
struct Source {
    ordinal: u32,
    /// Where it ends.
    end: usize,
}

/// Finds stretches of chunks in texts.
pub(super) struct Quoter {
    /// The chunks' texts, squeezed, one after another.
    squeezed: String,
    /// Of each byte of it, the byte of the chunk that it came from.
    origins: Vec<u32>,
    sources: Vec<Source>,
    /// Places where a word begins, and the number plus one of the place before in the same slot of the table.
    places: Vec<(u32, u32)>,
    table: Vec<u32>,
}

/// The hash of the bytes at `at`, where there are enough.
fn anchor(text: &[u8], at: usize) -> Option<u32> {
    let (low, high) = text.get(at..)?.first_chunk::<LEAST_BYTES>()?.split_first_chunk::<8>()?;
    let high = high.first_chunk::<8>()?;
    let mixed = u64::from_le_bytes(*low).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from_le_bytes(*high);
    Some((mixed.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as u32)
}

/// The slot of the bytes at `at`, where there are enough.
fn slot(text: &[u8], at: usize) -> Option<usize> {
    anchor(text, at).map(|hash| (hash >> (u32::BITS - TABLE_BITS)) as usize)
}

/// What a quote of some texts may begin with.
pub(super) struct Wanted {
    /// Which values the upper bits of the hashes have.
    bits: Vec<u64>,
    /// Ascending.
    hashes: Vec<u32>,
}

impl Wanted {
    /// Of texts.
    pub(super) fn new<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let of = |text: &'t str| (0..text.len()).map_while(move |at| anchor(text.as_bytes(), at));
        let mut hashes: Vec<u32> = texts.into_iter().flat_map(of).collect();
        hashes.sort_unstable();
        let mut bits = vec![0; if hashes.is_empty() { 0 } else { (1 << WANTED_BITS) / 64 }];
        for hash in &hashes {
            let bit = (hash >> (u32::BITS - WANTED_BITS)) as usize;
            if let Some(word) = bits.get_mut(bit / 64) {
                *word |= 1u64 << (bit % 64);
            }
        }
        Self { bits, hashes }
    }

    /// Whether nothing can be quoted.
    pub(super) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Whether one of these may be quoted.
    pub(super) fn meets(&self, anchors: &[u32]) -> bool {
        anchors.iter().any(|hash| {
            let bit = (hash >> (u32::BITS - WANTED_BITS)) as usize;
            let is_near = self.bits.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1);
            is_near && self.hashes.binary_search(hash).is_ok()
        })
    }
}

/// The anchors of a chunk's text.
pub(super) fn anchors(text: &str) -> Box<[u32]> {
    let mut squeezed = String::with_capacity(text.len());
    squeeze(text, &mut squeezed);
    let mut hashes = Vec::with_capacity(squeezed.len() / 4);
    // As `begins_word` says of each place; the first begins one.
    let (mut after_space, mut within) = (true, false);
    for window in squeezed.as_bytes().windows(LEAST_BYTES) {
        let Some(&byte) = window.first() else { break };
        let is_word = byte.is_ascii_alphanumeric();
        if after_space || is_word && !within {
            hashes.extend(anchor(window, 0));
        }
        (after_space, within) = (byte == b' ', is_word);
    }
    hashes.into()
}

/// The anchors of chunks that were asked for lately, by document and ordinal.
#[derive(Debug, Default)]
pub(super) struct Anchors {
    known: HashMap<(u32, u32), Box<[u32]>>,
    bytes: usize,
}

impl Anchors {
    /// Those of a chunk, whose text is read where they are not known.
    pub(super) fn of<'t>(&mut self, chunk: (u32, u32), text: impl FnOnce() -> Result<&'t str>) -> Result<&[u32]> {
        if !self.known.contains_key(&chunk) {
            let found = anchors(text()?);
            if self.bytes > ANCHOR_BYTES {
                *self = Self::default();
            }
            self.bytes += 64 + size_of_val(&*found);
            self.known.insert(chunk, found);
        }
        Ok(self.known.get(&chunk).map(|anchors| &**anchors).unwrap_or_default())
    }
}

/// Whether what stands at `at`, in a text that begins at `start`, may begin a sentence: what follows a space, and a
/// letter or figure that follows anything else.
#[inline]
fn begins_word(text: &[u8], start: usize, at: usize) -> bool {
    let (Some(&before), Some(&byte)) = (text.get(at.wrapping_sub(1)), text.get(at)) else { return at == start };
    at == start || before == b' ' || byte.is_ascii_alphanumeric() && !before.is_ascii_alphanumeric()
}

impl Quoter {
    /// Of chunks of one document: ordinals and texts.
    pub(super) fn new<'t>(chunks: impl IntoIterator<Item = (u32, &'t str)>) -> Self {
        let mut quoter = Self {
            squeezed: String::new(),
            origins: Vec::new(),
            sources: Vec::new(),
            places: Vec::new(),
            table: vec![0; 1 << TABLE_BITS],
        };
        for (ordinal, text) in chunks {
            quoter.add(ordinal, text);
        }
        quoter
    }

    /// Adds the next chunk.
    pub(super) fn add(&mut self, ordinal: u32, text: &str) {
        let start = self.squeezed.len();
        squeeze(text, &mut self.squeezed);
        let mut in_run = false;
        for (at, byte) in text.bytes().enumerate() {
            let is_run = matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'_');
            if !(is_run && in_run) {
                self.origins.push(at as u32);
            }
            in_run = is_run;
        }
        let end = self.squeezed.len();
        self.sources.push(Source { ordinal, end });
        let bytes = self.squeezed.as_bytes();
        for at in start..end.saturating_sub(LEAST_BYTES - 1) {
            if !begins_word(bytes, start, at) {
                continue;
            }
            let Some(head) = slot(bytes, at).and_then(|slot| self.table.get_mut(slot)) else { continue };
            self.places.push((at as u32, *head));
            *head = self.places.len() as u32;
        }
    }

    /// The text with all that stands in the chunks as quotes. Where it would be no shorter, the text itself.
    pub(super) fn quote(&self, text: &str) -> Quoted {
        let mut pieces = Vec::new();
        let (mut at, mut own) = (0, 0);
        while at < text.len() {
            if let Some((quote, length)) = self.longest(text, at) {
                if let Some(literal) = text.get(own..at).filter(|literal| !literal.is_empty()) {
                    pieces.push(Piece::Literal(literal.to_owned()));
                }
                pieces.push(Piece::Quote(quote));
                at += length;
                own = at;
                continue;
            }
            at += 1;
            while at < text.len() && !begins_word(text.as_bytes(), 0, at) {
                at += 1;
            }
        }
        if let Some(literal) = text.get(own..).filter(|literal| !literal.is_empty()) {
            pieces.push(Piece::Literal(literal.to_owned()));
        }
        let quoted = Quoted { pieces };
        let fits = quoted.pieces.len() <= QUOTE_PIECES && quoted.source_bytes() <= text.len() * QUOTED_RATIO;
        if fits { quoted } else { text.into() }
    }

    /// The longest stretch of a chunk with which the text goes on at `at`, and its bytes in the text.
    fn longest(&self, text: &str, at: usize) -> Option<(Quote, usize)> {
        let wanted = text.as_bytes().get(at..)?;
        let mut next = *self.table.get(slot(text.as_bytes(), at)?)?;
        let (mut best, mut found) = (LEAST_BYTES - 1, None);
        for _ in 0..CANDIDATES {
            let Some(&(place, before)) = (next as usize).checked_sub(1).and_then(|at| self.places.get(at)) else {
                break;
            };
            next = before;
            let place = place as usize;
            let source = self.sources.partition_point(|source| source.end <= place);
            let Some(source) = self.sources.get(source) else { break };
            let there = self.squeezed.as_bytes().get(place..source.end)?;
            let mut length = wanted.iter().zip(there).take_while(|(a, b)| a == b).count();
            while !text.is_char_boundary(at + length) {
                length -= 1;
            }
            if length > best {
                let first = *self.origins.get(place)?;
                let last = *self.origins.get(place + length - 1)?;
                best = length;
                found = Some((source.ordinal, first, last + 1));
            }
        }
        let (ordinal, start, end) = found?;
        Some((Quote { ordinal, start, bytes: end - start, squeezed: true }, best))
    }
}

impl Writer {
    /// A summary as it is stored: with the sentences that it has from the chunks below, where those are not too many, as
    /// quotes.
    pub(super) fn quote_summary(&mut self, open: &OpenDocument, (level, index): NodeId, text: &str) -> Result<Quoted> {
        let covered = cover(self.parameters.fanout, level).filter(|&chunks| chunks <= QUOTED_CHUNKS);
        let wanted = Wanted::new(covered.map(|_| text));
        let Some(chunks) = covered.filter(|_| !wanted.is_empty()) else { return Ok(text.into()) };
        let mut anchors = std::mem::take(&mut self.anchors);
        let mut quotes = Quotes::of(self.view(), open);
        let mut quoter: Option<Quoter> = None;
        for ordinal in index * chunks..(index + 1) * chunks {
            let of_chunk = anchors.of((open.head.number, ordinal), || quotes.text(ordinal))?;
            if wanted.meets(of_chunk) {
                quoter.get_or_insert_with(|| Quoter::new([])).add(ordinal, quotes.text(ordinal)?);
            }
        }
        self.anchors = anchors;
        Ok(quoter.map_or_else(|| text.into(), |quoter| quoter.quote(text)))
    }
}

/// Puts texts together. Holds the chunk that was quoted last.
pub(crate) struct Quotes<'a> {
    view: View<'a>,
    document: u32,
    /// The document, where a writer works on it.
    open: Option<&'a OpenDocument>,
    /// Its head, where it had to be read.
    head: Option<DocumentHead>,
    /// Ordinal and text of a chunk.
    chunk: Option<(u32, String)>,
}

impl<'a> Quotes<'a> {
    /// Of one document.
    pub(crate) fn new(view: View<'a>, document: u32) -> Self {
        let open = view.unwritten.and_then(|(_, open)| open.get(&document));
        Self { view, document, open, head: None, chunk: None }
    }

    /// Of a document that a writer has taken in hand.
    pub(super) fn of(view: View<'a>, open: &'a OpenDocument) -> Self {
        Self { view, document: open.head.number, open: Some(open), head: None, chunk: None }
    }

    /// The text, which has at most `limit` bytes.
    pub(crate) fn resolve(&mut self, quoted: &Quoted, limit: usize) -> Result<String> {
        if let Some(text) = quoted.literal() {
            return Ok(text.to_owned());
        }
        let mut out = String::with_capacity(quoted.source_bytes().min(limit));
        for piece in &quoted.pieces {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::Quote(quote) => self.append(quote, &mut out)?,
            }
        }
        if out.len() > limit {
            return Err(self.damaged(format!("expected a text of at most {limit} bytes, got {}", out.len())));
        }
        Ok(out)
    }

    /// The summary of a node.
    pub(crate) fn summary(&mut self, quoted: &Quoted) -> Result<String> {
        self.resolve(quoted, SUMMARY_BYTES)
    }

    fn append(&mut self, quote: &Quote, out: &mut String) -> Result<()> {
        let range = quote.start as usize..quote.start as usize + quote.bytes as usize;
        let text = self.text(quote.ordinal)?;
        match text.get(range.clone()) {
            Some(part) if quote.squeezed => squeeze(part, out),
            Some(part) => out.push_str(part),
            None => {
                let detail = format!("bytes {range:?} of chunk {} are quoted, it has {}", quote.ordinal, text.len());
                return Err(self.damaged(detail));
            }
        }
        Ok(())
    }

    /// Text of a chunk.
    pub(super) fn text(&mut self, ordinal: u32) -> Result<&str> {
        if self.chunk.as_ref().is_none_or(|(known, _)| *known != ordinal) {
            self.chunk = Some((ordinal, self.read(ordinal)?));
        }
        Ok(self.chunk.as_ref().map_or("", |(_, text)| text.as_str()))
    }

    fn read(&mut self, ordinal: u32) -> Result<String> {
        let chunk = self.chunk(ordinal)?;
        if let Some((_, text)) = self.open.and_then(|open| open.recent.iter().find(|(id, _)| *id == chunk)) {
            return Ok(text.clone());
        }
        if let Some((texts, _)) = self.view.unwritten
            && let Some(row) = texts.row(chunk)
        {
            return Ok(texts.read(row)?.1);
        }
        Ok(self.view.text(&self.view.text_row(chunk)?)?.1)
    }

    /// Internal id of a chunk.
    fn chunk(&mut self, ordinal: u32) -> Result<u32> {
        if self.open.is_none() && self.head.is_none() {
            let head = self.view.head(self.document)?;
            self.head = Some(head.ok_or_else(|| self.damaged("its head is missing".to_owned()))?);
        }
        let Some(head) = self.open.map(|open| &open.head).or(self.head.as_ref()) else { return Ok(0) };
        if ordinal >= head.chunks {
            return Err(self.damaged(format!("chunk {ordinal} is quoted, it has {}", head.chunks)));
        }
        if u64::from(head.last_chunk - head.first_chunk) + 1 == u64::from(head.chunks) {
            return Ok(head.first_chunk + ordinal);
        }
        match self.open {
            Some(open) => open.tail.find(self.view, ordinal),
            None => super::tree::descend(self.view, head, ordinal, |_, _| ()),
        }
    }

    fn damaged(&self, detail: String) -> Error {
        inconsistent(format!("document {}: {detail}", self.document))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The text again, from chunks at hand.
    fn resolve(quoted: &Quoted, chunks: &[String]) -> String {
        let mut out = String::new();
        for piece in &quoted.pieces {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::Quote(quote) => {
                    let chunk = &chunks[quote.ordinal as usize];
                    squeeze(&chunk[quote.start as usize..][..quote.bytes as usize], &mut out);
                }
            }
        }
        out
    }

    fn quoter(chunks: &[String]) -> Quoter {
        Quoter::new((0u32..).zip(chunks.iter().map(String::as_str)))
    }

    proptest! {
        #[test]
        fn whatever_is_quoted_reads_back(
            chunks in prop::collection::vec("([a-cé]{1,5}[ \n_]{1,2}){0,60}", 1..4),
            picks in prop::collection::vec((0usize..4, 0usize..200, 0usize..200, "[a-cé ]{0,9}"), 0..6),
        ) {
            let mut text = String::new();
            for (chunk, from, length, between) in picks {
                text.push_str(&between);
                let chunk = &chunks[chunk % chunks.len()];
                let part: String = chunk.chars().skip(from).take(length).collect();
                squeeze(&part, &mut text);
            }
            let quoted = quoter(&chunks).quote(&text);
            prop_assert_eq!(resolve(&quoted, &chunks), text.as_str());
            // A chunk that is quoted has an anchor of the text.
            let wanted = Wanted::new([text.as_str()]);
            for piece in &quoted.pieces {
                if let Piece::Quote(quote) = piece {
                    prop_assert!(wanted.meets(&anchors(&chunks[quote.ordinal as usize])));
                }
            }
        }
    }

    #[test]
    fn a_sentence_with_line_ends_and_emphasis_is_one_quote() {
        let chunks = ["It was late.\nShe _certainly_ had\r\na share of beauty, he thought.".to_owned()];
        let quoted = quoter(&chunks).quote("Chapter 1: She certainly had a share of beauty, he thought.");
        let [Piece::Literal(own), Piece::Quote(quote)] = quoted.pieces.as_slice() else { panic!("{quoted:?}") };
        assert_eq!((own.as_str(), quote.start, quote.squeezed), ("Chapter 1: ", 13, true));
        assert_eq!(resolve(&quoted, &chunks), "Chapter 1: She certainly had a share of beauty, he thought.");
    }

    #[test]
    fn what_is_not_there_is_kept_as_it_is() {
        let chunks = ["A short chunk of few words, and no more.".to_owned()];
        for text in ["", "few words", "Nothing of this stands in it, not a word."] {
            assert_eq!(quoter(&chunks).quote(text), text.into());
        }
    }
}
