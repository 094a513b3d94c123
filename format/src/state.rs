//! What a commit says of the index as a whole: the counters and the segments.

use crate::FormatError;
use crate::block::{BlockKind, Reference};
use crate::bytes::{Reader, put_string, put_varint};
use crate::limits::{KEY_BYTES, SEGMENTS};

/// Longest key of a segment: kind, scope, a key of the greatest length, and what follows it.
pub const SEGMENT_KEY_BYTES: usize = KEY_BYTES + 16;

/// Sums over the documents that readers see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Documents.
    pub documents: u64,
    /// Chunks.
    pub chunks: u64,
    /// Tokens of all chunks.
    pub text_tokens: u64,
    /// Level-1 summaries.
    pub summaries: u64,
    /// Tokens of all level-1 summaries.
    pub summary_tokens: u64,
    /// Records: of the documents' memories, or of the index-wide memory.
    pub entities: u64,
    /// Tokens of their names, aliases and descriptions.
    pub entity_tokens: [u64; 3],
}

/// One segment, newest last in the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its root: a leaf, or a separator page.
    pub root: Reference,
    /// Bytes that were written for it; blocks that it took over from segments merged into it are not counted again.
    pub bytes: u64,
    /// How many merges deep it is; segments of one level are merged into one of the next.
    pub level: u8,
    /// Set while a merge into this segment goes on: this many of the segments that follow are being merged into it.
    pub merging: u8,
    /// While a merge goes on: keys below it have moved into this segment; the merged segments count from it on.
    pub cursor: Vec<u8>,
}

/// The state of the index at a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexState {
    /// Document numbers given.
    pub documents: u32,
    /// Chunk ids given.
    pub chunks: u32,
    /// Entity ids given.
    pub entities: u32,
    /// Documents that are staged.
    pub staged: u32,
    /// Sums over what readers see.
    pub totals: Totals,
    /// The segments, oldest first.
    pub segments: Vec<Segment>,
    /// The dictionary that payloads are compressed with, where there is one.
    pub dictionary: Option<Reference>,
}

impl IndexState {
    /// The bytes of the state.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let t = &self.totals;
        let [name, aliases, descriptions] = t.entity_tokens;
        for value in [self.documents, self.chunks, self.entities, self.staged] {
            put_varint(&mut out, u64::from(value));
        }
        for value in [
            t.documents,
            t.chunks,
            t.text_tokens,
            t.summaries,
            t.summary_tokens,
            t.entities,
            name,
            aliases,
            descriptions,
        ] {
            put_varint(&mut out, value);
        }
        put_varint(&mut out, self.segments.len() as u64);
        for segment in &self.segments {
            segment.root.encode(&mut out);
            put_varint(&mut out, segment.bytes);
            out.push(segment.level);
            out.push(segment.merging);
            if segment.merging > 0 {
                put_string(&mut out, &segment.cursor);
            }
        }
        out.push(u8::from(self.dictionary.is_some()));
        if let Some(dictionary) = &self.dictionary {
            dictionary.encode(&mut out);
        }
        out
    }

    /// Reads a state.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut reader = Reader::new("index state", bytes);
        let mut state = Self {
            documents: reader.varint32()?,
            chunks: reader.varint32()?,
            entities: reader.varint32()?,
            staged: reader.varint32()?,
            totals: Totals {
                documents: reader.sum()?,
                chunks: reader.sum()?,
                text_tokens: reader.sum()?,
                summaries: reader.sum()?,
                summary_tokens: reader.sum()?,
                entities: reader.sum()?,
                entity_tokens: [reader.sum()?, reader.sum()?, reader.sum()?],
            },
            segments: Vec::new(),
            dictionary: None,
        };
        let counts = [
            (state.totals.documents.saturating_add(u64::from(state.staged)), state.documents),
            (state.totals.chunks, state.chunks),
            (state.totals.entities, state.entities),
        ];
        if counts.iter().any(|&(seen, given)| seen > u64::from(given)) {
            return Err(reader.fail("sums within the numbers given", format_args!("{counts:?}")));
        }
        let count = reader.varint_at_most(SEGMENTS, "a segment count")?;
        let mut held = 0u8;
        for _ in 0..count {
            let root = Reference::decode_any(&mut reader)?;
            if !matches!(root.kind, BlockKind::Leaf | BlockKind::Separator) {
                return Err(reader.fail("a leaf or a separator page as root", root.kind.name()));
            }
            let bytes = reader.sum()?;
            let level = reader.u8()?;
            let merging = reader.u8()?;
            if held > 0 && merging > 0 {
                return Err(reader.fail("a segment that takes part in one merge only", merging));
            }
            let cursor = if merging > 0 { reader.string(SEGMENT_KEY_BYTES)?.to_vec() } else { Vec::new() };
            held = if merging > 0 { merging } else { held.saturating_sub(1) };
            state.segments.push(Segment { root, bytes, level, merging, cursor });
        }
        if held > 0 {
            return Err(reader.fail("all segments of a merge", format_args!("{held} fewer")));
        }
        state.dictionary = match reader.u8()? {
            0 => None,
            1 => Some(Reference::decode(&mut reader, BlockKind::Dictionary)?),
            other => return Err(reader.fail("0, or 1 and a reference to the dictionary", other)),
        };
        reader.finish()?;
        Ok(state)
    }

    /// The segments as a reader takes them, oldest first, each with the key it counts from (empty: from the start).
    pub fn views(&self) -> Vec<(&Segment, &[u8])> {
        let mut cursor: &[u8] = &[];
        let mut held = 0u8;
        let mut views = Vec::with_capacity(self.segments.len());
        for segment in &self.segments {
            if held > 0 {
                held = held.saturating_sub(1);
                views.push((segment, cursor));
            } else {
                views.push((segment, &[][..]));
                held = segment.merging;
                cursor = &segment.cursor;
            }
        }
        views
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(merging: u8, cursor: &[u8]) -> Segment {
        let root = Reference { offset: 20_480, stored_bytes: 9, kind: BlockKind::Leaf, checksum: 3 };
        Segment { root, bytes: 80, level: 1, merging, cursor: cursor.to_vec() }
    }

    #[test]
    fn a_state_reads_back_and_merged_segments_count_from_the_cursor() {
        let state = IndexState {
            documents: 3,
            chunks: 10,
            entities: 4,
            staged: 1,
            totals: Totals { documents: 2, chunks: 9, entities: 4, ..Totals::default() },
            segments: vec![segment(0, b""), segment(2, b"m"), segment(0, b""), segment(0, b""), segment(0, b"")],
            dictionary: Some(Reference { offset: 20_992, stored_bytes: 7, kind: BlockKind::Dictionary, checksum: 4 }),
        };
        let bytes = state.encode();
        assert_eq!(IndexState::decode(&bytes).unwrap(), state);
        let cursors: Vec<&[u8]> = state.views().iter().map(|v| v.1).collect();
        assert_eq!(cursors, [&b""[..], b"", b"m", b"m", b""]);
        for cut in 0..bytes.len() {
            assert!(IndexState::decode(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn a_merge_without_its_segments_is_refused() {
        let state = IndexState { segments: vec![segment(2, b"m"), segment(0, b"")], ..IndexState::default() };
        assert!(IndexState::decode(&state.encode()).is_err());
    }
}
