//! The head of a document: at most 2 KiB that say all that is known of it as a whole, and where its fold tree starts.
//!
//! A head is rewritten whenever its document grows, so it holds references and counts only; a title that is not short
//! and the metadata lie in a block of their own, written once.

use crate::FormatError;
use crate::block::{BlockKind, Reference};
use crate::bytes::{Reader, put_string, put_varint};
use crate::limits::{FOLD_LEVELS, KEY_BYTES, METADATA_BYTES, TITLE_BYTES};

/// Whether readers see a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum DocumentState {
    /// Its first build is not complete; no answer holds it.
    Staged = 0,
    /// Readers see it.
    Live = 1,
    /// It was removed; its number is never used again.
    Removed = 2,
}

/// A title of at most this many bytes lies in the head itself.
pub const INLINE_TITLE_BYTES: usize = 200;
/// Greatest length of an encoded head.
pub const HEAD_BYTES: usize = 2048;

/// The head of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentHead {
    /// Its number: documents are numbered in the order of their first appearance.
    pub number: u32,
    /// Whether readers see it.
    pub state: DocumentState,
    /// Its id.
    pub id: String,
    /// Its title where that is short; else empty, and the title lies in the information block.
    pub title: String,
    /// The block of the long title and the metadata, where there is one.
    pub information: Option<Reference>,
    /// Chained hash of its chunks: zeros before the first, then blake3 of the hash before and the chunk's text.
    pub content_hash: [u8; 32],
    /// Bytes of all its chunks' texts.
    pub text_bytes: u64,
    /// Words of all its chunks' texts.
    pub words: u64,
    /// Chunks.
    pub chunks: u32,
    /// Id of its first chunk; 0 without chunks.
    pub first_chunk: u32,
    /// Id of its last chunk; 0 without chunks. Ids ascend with the ordinal.
    pub last_chunk: u32,
    /// Tokens of all its chunks.
    pub text_tokens: u64,
    /// Level-1 summaries that are there.
    pub summaries: u32,
    /// Tokens of all its level-1 summaries.
    pub summary_tokens: u64,
    /// Records of its memory; 0 where the memory is the whole index's.
    pub entities: u32,
    /// Id of the first of them; 0 without.
    pub first_entity: u32,
    /// Id of the last of them; 0 without.
    pub last_entity: u32,
    /// Tokens of their names, aliases and descriptions.
    pub entity_tokens: [u64; 3],
    /// Updates that a model made: accepted calls.
    pub updates: u64,
    /// Folds that a model made: accepted calls.
    pub folds: u64,
    /// Chunks that came with an understanding of their own, by import.
    pub given_updates: u64,
    /// Summaries that came from outside, by import.
    pub given_folds: u64,
    /// The last append: hash of its whole text, and the chunks that there were before it; once it is complete, those that
    /// there are after it.
    pub pending: Option<([u8; 32], u32)>,
    /// The open page of each level of the fold tree that has one, lowest level first: the levels whose digit of the
    /// chunk count, written to the base of the fan-out, is not 0.
    pub pages: Vec<Reference>,
}

impl DocumentHead {
    /// A staged document without chunks.
    pub fn new(number: u32, id: String) -> Self {
        Self {
            number,
            state: DocumentState::Staged,
            id,
            title: String::new(),
            information: None,
            content_hash: [0; 32],
            text_bytes: 0,
            words: 0,
            chunks: 0,
            first_chunk: 0,
            last_chunk: 0,
            text_tokens: 0,
            summaries: 0,
            summary_tokens: 0,
            entities: 0,
            first_entity: 0,
            last_entity: 0,
            entity_tokens: [0; 3],
            updates: 0,
            folds: 0,
            given_updates: 0,
            given_folds: 0,
            pending: None,
            pages: Vec::new(),
        }
    }

    /// Appends the head.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.number));
        out.push(self.state as u8);
        put_string(out, self.id.as_bytes());
        put_string(out, self.title.as_bytes());
        out.push(u8::from(self.information.is_some()));
        if let Some(information) = &self.information {
            information.encode(out);
        }
        out.extend_from_slice(&self.content_hash);
        for value in self.counts() {
            put_varint(out, value);
        }
        out.push(u8::from(self.pending.is_some()));
        if let Some((hash, chunks)) = &self.pending {
            out.extend_from_slice(hash);
            put_varint(out, u64::from(*chunks));
        }
        put_varint(out, self.pages.len() as u64);
        for page in &self.pages {
            page.encode(out);
        }
    }

    /// The counts, in the order of the bytes.
    fn counts(&self) -> [u64; 18] {
        let [name, aliases, descriptions] = self.entity_tokens;
        [
            self.text_bytes,
            self.words,
            u64::from(self.chunks),
            u64::from(self.first_chunk),
            u64::from(self.last_chunk),
            self.text_tokens,
            u64::from(self.summaries),
            self.summary_tokens,
            u64::from(self.entities),
            u64::from(self.first_entity),
            u64::from(self.last_entity),
            name,
            aliases,
            descriptions,
            self.updates,
            self.folds,
            self.given_updates,
            self.given_folds,
        ]
    }

    /// Reads the head of document `number`.
    pub fn decode(number: u32, bytes: &[u8]) -> Result<Self, FormatError> {
        let mut reader = Reader::new("document head", bytes);
        let stored = reader.varint32()?;
        if stored != number {
            return Err(reader.fail("the number that the key names", stored));
        }
        let state = match reader.u8()? {
            0 => DocumentState::Staged,
            1 => DocumentState::Live,
            2 => DocumentState::Removed,
            other => return Err(reader.fail("a state of 0, 1 or 2", other)),
        };
        let mut head = Self::new(number, reader.text(KEY_BYTES)?.to_owned());
        head.state = state;
        head.title = reader.text(INLINE_TITLE_BYTES)?.to_owned();
        head.information = match reader.u8()? {
            0 => None,
            1 => Some(Reference::decode(&mut reader, BlockKind::Metadata)?),
            other => return Err(reader.fail("0 or 1", other)),
        };
        head.content_hash = reader.array()?;
        head.text_bytes = reader.sum()?;
        head.words = reader.sum()?;
        head.chunks = reader.varint32()?;
        head.first_chunk = reader.varint32()?;
        head.last_chunk = reader.varint32()?;
        head.text_tokens = reader.sum()?;
        head.summaries = reader.varint32()?;
        head.summary_tokens = reader.sum()?;
        head.entities = reader.varint32()?;
        head.first_entity = reader.varint32()?;
        head.last_entity = reader.varint32()?;
        head.entity_tokens = [reader.sum()?, reader.sum()?, reader.sum()?];
        head.updates = reader.sum()?;
        head.folds = reader.sum()?;
        head.given_updates = reader.sum()?;
        head.given_folds = reader.sum()?;
        head.pending = match reader.u8()? {
            0 => None,
            1 => Some((reader.array()?, reader.varint32()?)),
            other => return Err(reader.fail("0 or 1", other)),
        };
        if head.pending.is_some_and(|(_, before)| before > head.chunks) {
            return Err(reader.fail("an append that began at a chunk of the document", "one behind its end"));
        }
        let pages = reader.varint_at_most(FOLD_LEVELS, "a page count")?;
        for _ in 0..pages {
            head.pages.push(Reference::decode(&mut reader, BlockKind::Fold)?);
        }
        for (count, first, last, what) in [
            (head.chunks, head.first_chunk, head.last_chunk, "chunk ids that agree with the chunk count"),
            (head.entities, head.first_entity, head.last_entity, "entity ids that agree with the entity count"),
        ] {
            let span = last.checked_sub(first).map(u64::from);
            let fits = match count {
                0 => first == 0 && last == 0,
                _ => span.is_some_and(|span| span >= u64::from(count).saturating_sub(1)),
            };
            if !fits {
                return Err(reader.fail(what, format_args!("{count} from {first} to {last}")));
            }
        }
        reader.finish()?;
        Ok(head)
    }
}

/// The long title and the metadata of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Information {
    /// The title where it is not short; else empty.
    pub title: String,
    /// Metadata: one JSON object, compact; empty where there is none.
    pub metadata: String,
}

impl Information {
    /// The bytes of the block.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_string(&mut out, self.title.as_bytes());
        put_string(&mut out, self.metadata.as_bytes());
        out
    }

    /// Reads the block.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut reader = Reader::new("document information", bytes);
        let title = reader.text(TITLE_BYTES)?.to_owned();
        let metadata = reader.text(METADATA_BYTES)?.to_owned();
        reader.finish()?;
        Ok(Self { title, metadata })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_reads_back_and_stays_within_its_limit() {
        let page = Reference { offset: 1 << 40, stored_bytes: 60_000, kind: BlockKind::Fold, checksum: u32::MAX };
        let mut head = DocumentHead::new(9, "d".repeat(KEY_BYTES));
        head.title = "t".repeat(INLINE_TITLE_BYTES);
        head.information = Some(Reference { kind: BlockKind::Metadata, ..page });
        head.chunks = u32::MAX;
        head.last_chunk = u32::MAX;
        head.text_bytes = crate::limits::SUM_BOUND - 1;
        head.entity_tokens = [crate::limits::SUM_BOUND - 1; 3];
        head.given_folds = 5;
        head.pending = Some(([9; 32], u32::MAX));
        head.pages = vec![page; FOLD_LEVELS];
        let mut out = Vec::new();
        head.encode(&mut out);
        assert!(out.len() <= HEAD_BYTES, "{}", out.len());
        assert_eq!(DocumentHead::decode(9, &out).unwrap(), head);
        assert!(DocumentHead::decode(8, &out).is_err());
        let mut much = Vec::new();
        DocumentHead { words: crate::limits::SUM_BOUND, ..head.clone() }.encode(&mut much);
        assert!(DocumentHead::decode(9, &much).unwrap_err().to_string().contains("a sum below 2^60"));
        for cut in 0..out.len() {
            assert!(DocumentHead::decode(9, &out[..cut]).is_err());
        }
    }
}
