//! The texts that all peers index, what Plica is given beside them, and the questions.
//!
//! A corpus is a list of chunks in documents. Any chunk can be made by its number alone, so that a corpus of a million
//! chunks needs no memory; small ones are kept. To each document belong entities with aliases, descriptions and linked
//! chunks, and summaries of its fold tree: they stand for what a model understood, and fill Plica's two other channels.
//!
//! Words of a question are drawn from one chunk, so that some chunk has them all. *Common* terms are in 12 to 85 % of
//! the chunks, *rare* ones in 0.05 to 1 %.

use crate::{Random, text, word};
use plica::ingest::EntityUpdate;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::ops::Range;

/// Units that fold into one, as `plica::Options` has it by default.
pub const FANOUT: u32 = 5;
/// Entities of a document of 1,000 chunks.
const ENTITIES: u32 = 300;
/// Links of a chunk to entities.
const LINKS: u32 = 6;
/// Chunks that are kept in memory at most.
const KEPT: usize = 200_000;
/// Chunks that are looked at for the frequencies of terms.
pub const SAMPLE: usize = 20_000;

/// What a Zipf corpus is made by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Chunks.
    pub chunks: usize,
    /// Words of a chunk.
    pub words: u32,
    /// Words to draw from.
    pub vocabulary: u32,
    /// Chunks of a document.
    pub document: usize,
}

impl Shape {
    /// Chunks of 250 words of 500,000, in documents of 1,000 chunks.
    pub fn new(chunks: usize) -> Self {
        Self { chunks, words: 250, vocabulary: 500_000, document: 1000 }
    }
}

/// The texts of one measurement.
#[derive(Debug, Clone)]
pub struct Corpus {
    shape: Option<Shape>,
    kept: Vec<String>,
    documents: Vec<Range<usize>>,
    name: String,
}

/// An entity that is given, and the ordinals of its chunks.
#[derive(Debug, Clone)]
pub struct Given {
    /// What is known of it.
    pub entity: EntityUpdate,
    /// Its chunks.
    pub ordinals: Vec<u32>,
}

/// Two to four terms.
pub type Terms = Vec<String>;

impl Corpus {
    /// A made-up corpus: the same for the same shape, on every machine.
    pub fn zipf(shape: Shape) -> Self {
        let starts = (0..shape.chunks).step_by(shape.document.max(1));
        let documents = starts.map(|start| start..(start + shape.document).min(shape.chunks)).collect();
        Self { shape: Some(shape), kept: Vec::new(), documents, name: "Zipf".to_owned() }
    }

    /// The same, in memory as far as it fits.
    pub fn keep(mut self) -> Self {
        if let Some(shape) = self.shape.filter(|shape| shape.chunks <= KEPT) {
            self.kept = (0..shape.chunks).map(|at| made(shape, at)).collect();
        }
        self
    }

    /// A corpus of given chunks, by document.
    pub fn given(name: impl Into<String>, documents: Vec<Vec<String>>) -> Self {
        let (mut kept, mut ranges) = (Vec::new(), Vec::new());
        for chunks in documents {
            let start = kept.len();
            kept.extend(chunks);
            ranges.push(start..kept.len());
        }
        Self { shape: None, kept, documents: ranges, name: name.into() }
    }

    /// Its first chunks: the same texts, fewer of them.
    pub fn first(&self, chunks: usize) -> Self {
        let chunks = chunks.min(self.len());
        let whole = self.documents.iter().take_while(|range| range.start < chunks);
        let documents = whole.map(|range| range.start..range.end.min(chunks)).collect();
        let kept = self.kept.iter().take(chunks).cloned().collect();
        let shape = self.shape.map(|shape| Shape { chunks, ..shape });
        Self { shape, kept, documents, name: self.name.clone() }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether entities and summaries are made up with it.
    pub fn is_made(&self) -> bool {
        self.shape.is_some()
    }

    /// Chunks.
    pub fn len(&self) -> usize {
        self.documents.last().map_or(0, |range| range.end)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The chunks of each document, by number.
    pub fn documents(&self) -> &[Range<usize>] {
        &self.documents
    }

    /// Text of a chunk.
    pub fn chunk(&self, at: usize) -> Cow<'_, str> {
        match (self.kept.get(at), self.shape) {
            (Some(text), _) => Cow::Borrowed(text),
            (None, Some(shape)) => Cow::Owned(made(shape, at)),
            (None, None) => Cow::Borrowed(""),
        }
    }

    /// Bytes of all texts.
    pub fn bytes(&self) -> u64 {
        (0..self.len()).map(|at| self.chunk(at).len() as u64).sum()
    }

    /// Entities of a document with `chunks` chunks.
    pub fn entities(&self, document: usize, chunks: usize) -> Vec<Given> {
        let mut random = Random::new(0xE171 + document as u64);
        let count = (ENTITIES * chunks as u32 / 1000).clamp(3, ENTITIES);
        let mut given: Vec<Given> = (0..count).map(|at| entity(&mut random, document, at)).collect();
        for ordinal in 0..chunks as u32 {
            let mut linked: Vec<u32> = (0..LINKS).map(|_| random.zipf(count)).collect();
            linked.sort_unstable();
            linked.dedup();
            for at in linked {
                given[at as usize].ordinals.push(ordinal);
            }
        }
        given.retain(|given| !given.ordinals.is_empty());
        given
    }

    /// Summaries of all complete nodes of a document's fold tree, as level, index and text.
    pub fn summaries(&self, document: usize, chunks: usize) -> Vec<(u8, u32, String)> {
        let mut out = Vec::new();
        let (mut units, mut level) = (chunks as u32 / FANOUT, 1u8);
        while units > 0 {
            out.extend((0..units).map(|index| (level, index, summary(document, level, index))));
            units /= FANOUT;
            level += 1;
        }
        out
    }

    /// One document as JSON lines of `plica::interchange`.
    pub fn lines(&self, document: usize, out: &mut impl Write) -> std::io::Result<()> {
        use serde_json::json;
        let (range, doc) = (&self.documents[document], document_id(document));
        writeln!(out, "{}", json!({"type": "document", "doc": doc}))?;
        for at in range.clone() {
            writeln!(out, "{}", json!({"type": "chunk", "doc": doc, "text": self.chunk(at)}))?;
        }
        for Given { entity, ordinals } in self.entities(document, range.len()) {
            let chunks: Vec<String> = ordinals.iter().map(|ordinal| format!("{doc}#{ordinal}")).collect();
            let line = json!({
                "type": "entity", "doc": doc, "name": entity.name, "kind": entity.kind, "aliases": entity.aliases,
                "descriptions": entity.descriptions, "chunks": chunks,
            });
            writeln!(out, "{line}")?;
        }
        for (level, index, text) in self.summaries(document, range.len()) {
            let line = json!({"type": "summary", "doc": doc, "level": level, "index": index, "text": text});
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// `count` questions of 2 to 4 terms whose share of chunks is in `shares`.
    pub fn questions(&self, shares: Range<f64>, count: usize) -> Vec<Terms> {
        let sample = self.len().min(SAMPLE);
        let mut frequencies: HashMap<String, u32> = HashMap::new();
        let step = self.len() / sample.max(1);
        for at in 0..sample {
            let terms: HashSet<String> = plica::text::tokens(&self.chunk(at * step)).into_iter().collect();
            for term in terms {
                *frequencies.entry(term).or_default() += 1;
            }
        }
        let fits = |term: &String| {
            let share = f64::from(frequencies.get(term).copied().unwrap_or(0)) / sample as f64;
            shares.contains(&share)
        };
        let (mut random, mut out) = (Random::new(0xA5), Vec::new());
        for _ in 0..count * 50 {
            if out.len() == count {
                break;
            }
            let mut terms = plica::text::tokens(&self.chunk((random.next() % self.len() as u64) as usize));
            terms.retain(fits);
            terms.sort_unstable();
            terms.dedup();
            crate::clock::shuffle(&mut terms, &mut random);
            terms.truncate(2 + out.len() % 3);
            if terms.len() >= 2 {
                out.push(terms);
            }
        }
        out
    }
}

/// Shares of common terms.
pub const COMMON: Range<f64> = 0.12..0.85;
/// Shares of rare terms.
pub const RARE: Range<f64> = 0.0005..0.01;

/// Id of a document by its number.
pub fn document_id(document: usize) -> String {
    format!("d{document:05}")
}

fn made(shape: Shape, at: usize) -> String {
    let mut random = Random::new((at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    random.next();
    text(&mut random, shape.words, shape.vocabulary)
}

fn entity(random: &mut Random, document: usize, at: u32) -> Given {
    let person = (document as u32).wrapping_mul(ENTITIES) + at;
    let entity = EntityUpdate {
        name: format!("Person {} {}", word(person), word(at + 17)),
        kind: "person".into(),
        aliases: vec![format!("the {} {}", word(at + 100), word(person)), format!("old {}", word(person + 7))],
        descriptions: vec![text(random, 12, 50_000)],
    };
    Given { entity, ordinals: Vec::new() }
}

/// The summary of a node.
pub fn summary(document: usize, level: u8, index: u32) -> String {
    let seed = (document as u64) << 32 | u64::from(level) << 24 | u64::from(index);
    let mut random = Random::new((seed + 1).wrapping_mul(0xD134_2543_DE82_EF95));
    random.next();
    text(&mut random, 40, 50_000)
}

/// The JSON lines of a corpus as they are read, one document in memory at a time.
#[derive(Debug)]
pub struct Lines<'a> {
    corpus: &'a Corpus,
    next: usize,
    buffer: Vec<u8>,
    at: usize,
}

impl<'a> Lines<'a> {
    /// From the first document on.
    pub fn new(corpus: &'a Corpus) -> Self {
        Self { corpus, next: 0, buffer: Vec::new(), at: 0 }
    }
}

impl Read for Lines<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        while self.at == self.buffer.len() && self.next < self.corpus.documents().len() {
            self.buffer.clear();
            self.at = 0;
            self.corpus.lines(self.next, &mut self.buffer)?;
            self.next += 1;
        }
        let count = out.len().min(self.buffer.len() - self.at);
        out[..count].copy_from_slice(&self.buffer[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Corpus {
        Corpus::zipf(Shape { chunks: 300, words: 40, vocabulary: 5000, document: 100 })
    }

    #[test]
    fn a_chunk_is_the_same_kept_or_made_and_the_first_chunks_are_the_first() {
        let (all, shape) = (small().keep(), Shape { chunks: 300, words: 40, vocabulary: 5000, document: 100 });
        assert!((0..300).all(|at| all.chunk(at) == made(shape, at)));
        let few = all.first(150);
        assert_eq!((few.len(), few.documents().len(), few.chunk(149)), (150, 2, all.chunk(149)));
    }

    #[test]
    fn the_terms_of_a_question_are_all_in_one_chunk() {
        let corpus = small();
        let questions = corpus.questions(COMMON, 20);
        assert_eq!(questions.len(), 20);
        for terms in questions {
            let has_all = |at| {
                let tokens = plica::text::tokens(&corpus.chunk(at));
                terms.iter().all(|term| tokens.contains(term))
            };
            assert!((0..corpus.len()).any(has_all), "{terms:?}");
        }
    }

    #[test]
    fn lines_are_the_documents_one_after_another() {
        let (corpus, mut whole, mut read) = (small(), Vec::new(), Vec::new());
        for document in 0..3 {
            corpus.lines(document, &mut whole).unwrap();
        }
        Lines::new(&corpus).read_to_end(&mut read).unwrap();
        assert!(whole == read && !whole.is_empty());
    }
}
