//! What is known of each chunk, in two columns: where it belongs, and where its text is.
//!
//! Search touches a chunk's place often and its text seldom, so they are values of their own: 256 places or 32 texts
//! to a value, rows in ascending order of chunk id, present rows only. A segment holds the rows of the chunks that
//! were appended with it.

use crate::FormatError;
use crate::block::{BlockKind, Reference};
use crate::bytes::{Reader, put_string, put_varint};
use crate::key::{PLACES_A_BLOCK, TEXTS_A_BLOCK};
use crate::limits::{BLOCK_RAW_BYTES, CHUNK_BYTES, KEY_BYTES};

/// Where a chunk belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Internal chunk id.
    pub chunk: u32,
    /// Number of its document.
    pub document: u32,
    /// Place in its document, from 0.
    pub ordinal: u32,
    /// Tokens of its title and text.
    pub tokens: u32,
}

/// Where a chunk's text is, and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRow {
    /// Internal chunk id.
    pub chunk: u32,
    /// The text block.
    pub block: Reference,
    /// Where the chunk's title starts in the raw block; the text follows the title.
    pub offset: u32,
    /// Bytes of the title.
    pub title_bytes: u32,
    /// Bytes of the text.
    pub text_bytes: u32,
    /// Words of the text, by Unicode word boundaries.
    pub words: u32,
    /// Start and end in the source, in bytes, where known.
    pub span: Option<(u64, u64)>,
    /// External id, unique in its document, where given.
    pub external_id: Option<String>,
}

/// Encodes places; rows in ascending order of chunk, all of one block of [`PLACES_A_BLOCK`].
pub fn encode_places(rows: &[Place], out: &mut Vec<u8>) {
    put_varint(out, rows.len() as u64);
    let mut before: Option<Place> = None;
    for row in rows {
        put_low(out, row.chunk, before.map(|b| b.chunk), PLACES_A_BLOCK);
        match before {
            // The common case, the next chunk of the same document, takes a zero.
            Some(b) if b.document == row.document && b.ordinal.checked_add(1) == Some(row.ordinal) => out.push(0),
            _ => {
                put_varint(out, u64::from(row.document).saturating_add(1));
                put_varint(out, u64::from(row.ordinal));
            }
        }
        put_varint(out, u64::from(row.tokens));
        before = Some(*row);
    }
}

/// Decodes the places of block number `block`.
pub fn decode_places(block: u32, bytes: &[u8]) -> Result<Vec<Place>, FormatError> {
    let mut rows: Vec<Place> = Vec::with_capacity((bytes.len() / 3).min(PLACES_A_BLOCK as usize));
    each_place(block, bytes, |place| rows.push(place))?;
    Ok(rows)
}

/// Decodes the places of block number `block` and hands each to `sink`, in ascending order of chunk. After an error, what
/// was handed out means nothing.
pub fn each_place(block: u32, bytes: &[u8], mut sink: impl FnMut(Place)) -> Result<(), FormatError> {
    let mut reader = Reader::new("chunk places", bytes);
    let count = reader.varint_at_most(PLACES_A_BLOCK as usize, "a row count")?;
    let mut before: Option<Place> = None;
    for _ in 0..count {
        // Nearly always it is the next chunk of the same document.
        if let Some(b) = before
            && let (Some(chunk), Some(ordinal)) = (b.chunk.checked_add(1), b.ordinal.checked_add(1))
            && !chunk.is_multiple_of(PLACES_A_BLOCK)
            && reader.skip_over(&[0, 0])
        {
            let place = Place { chunk, document: b.document, ordinal, tokens: reader.varint32()? };
            sink(place);
            before = Some(place);
            continue;
        }
        let chunk = read_low(&mut reader, block, before.map(|b| b.chunk), PLACES_A_BLOCK)?;
        let (document, ordinal) = match (reader.varint()?, before) {
            (0, Some(b)) => match b.ordinal.checked_add(1) {
                Some(ordinal) => (b.document, ordinal),
                None => return Err(reader.fail("an ordinal of 32 bits", "a greater one")),
            },
            (0, None) => return Err(reader.fail("a document in the first row", "none")),
            (document, _) => {
                let Ok(document) = u32::try_from(document.saturating_sub(1)) else {
                    return Err(reader.fail("a document of 32 bits", document));
                };
                let ordinal = reader.varint32()?;
                if before.is_some_and(|b| b.document == document && b.ordinal.checked_add(1) == Some(ordinal)) {
                    return Err(reader.fail("the short form of the next ordinal", "the long form"));
                }
                (document, ordinal)
            }
        };
        let place = Place { chunk, document, ordinal, tokens: reader.varint32()? };
        sink(place);
        before = Some(place);
    }
    reader.finish()
}

const SAME_BLOCK: u8 = 1;
const HAS_SPAN: u8 = 2;
const HAS_ID: u8 = 4;

/// Encodes texts; rows in ascending order of chunk, all of one block of [`TEXTS_A_BLOCK`].
pub fn encode_texts(rows: &[TextRow], out: &mut Vec<u8>) {
    put_varint(out, rows.len() as u64);
    let mut before: Option<&TextRow> = None;
    for row in rows {
        put_low(out, row.chunk, before.map(|b| b.chunk), TEXTS_A_BLOCK);
        let same = before.is_some_and(|b| b.block == row.block);
        let mut flags = 0;
        for (flag, set) in [(SAME_BLOCK, same), (HAS_SPAN, row.span.is_some()), (HAS_ID, row.external_id.is_some())] {
            if set {
                flags |= flag;
            }
        }
        out.push(flags);
        if !same {
            row.block.encode(out);
        }
        for value in [row.offset, row.title_bytes, row.text_bytes, row.words] {
            put_varint(out, u64::from(value));
        }
        if let Some((start, end)) = row.span {
            put_varint(out, start);
            put_varint(out, end.saturating_sub(start));
        }
        if let Some(id) = &row.external_id {
            put_string(out, id.as_bytes());
        }
        before = Some(row);
    }
}

/// Decodes the texts of block number `block`.
pub fn decode_texts(block: u32, bytes: &[u8]) -> Result<Vec<TextRow>, FormatError> {
    let mut reader = Reader::new("chunk texts", bytes);
    let count = reader.varint_at_most(TEXTS_A_BLOCK as usize, "a row count")?;
    let mut rows: Vec<TextRow> = Vec::with_capacity(count);
    for _ in 0..count {
        let before = rows.last();
        let chunk = read_low(&mut reader, block, before.map(|b| b.chunk), TEXTS_A_BLOCK)?;
        let flags = reader.u8()?;
        if flags & !(SAME_BLOCK | HAS_SPAN | HAS_ID) != 0 {
            return Err(reader.fail("known flags", flags));
        }
        let text_block = match (flags & SAME_BLOCK != 0, before) {
            (true, Some(b)) => b.block,
            (true, None) => return Err(reader.fail("a reference in the first row", "none")),
            (false, b) => {
                let reference = Reference::decode(&mut reader, BlockKind::Text)?;
                if b.is_some_and(|b| b.block == reference) {
                    return Err(reader.fail("the short form of the same block", "the long form"));
                }
                reference
            }
        };
        let offset = reader.varint_at_most(BLOCK_RAW_BYTES, "an offset")? as u32;
        let title_bytes = reader.varint_at_most(CHUNK_BYTES, "a title length")? as u32;
        let text_bytes = reader.varint_at_most(CHUNK_BYTES, "a text length")? as u32;
        let words = reader.varint32()?;
        let span = if flags & HAS_SPAN != 0 {
            let start = reader.varint()?;
            let length = reader.varint()?;
            match start.checked_add(length) {
                Some(end) => Some((start, end)),
                None => return Err(reader.fail("a span of 64 bits", length)),
            }
        } else {
            None
        };
        let external_id = if flags & HAS_ID != 0 { Some(reader.text(KEY_BYTES)?.to_owned()) } else { None };
        rows.push(TextRow { chunk, block: text_block, offset, title_bytes, text_bytes, words, span, external_id });
    }
    reader.finish()?;
    Ok(rows)
}

/// Writes a row's id: the first by its place in the block, later ones by the distance from the one before, less one.
pub(crate) fn put_low(out: &mut Vec<u8>, id: u32, before: Option<u32>, block_rows: u32) {
    let low = match before {
        None => id.checked_rem(block_rows).unwrap_or(0),
        Some(before) => id.saturating_sub(before).saturating_sub(1),
    };
    put_varint(out, u64::from(low));
}

/// Reads a row's id and checks that it lies in block number `block`.
#[inline]
pub(crate) fn read_low(
    reader: &mut Reader<'_>,
    block: u32,
    before: Option<u32>,
    block_rows: u32,
) -> Result<u32, FormatError> {
    let low = reader.varint32()?;
    let start = block.checked_mul(block_rows);
    let id = match before {
        None => start.and_then(|start| start.checked_add(low)),
        Some(before) => before.checked_add(low).and_then(|id| id.checked_add(1)),
    };
    match id {
        Some(id) if id.checked_div(block_rows) == Some(block) => Ok(id),
        _ => Err(reader.fail("an id within its block of rows", low)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn places() -> impl Strategy<Value = Vec<Place>> {
        prop::collection::btree_map(512u32..768, (0u32..3, 0u32..5, any::<u32>()), 0..40).prop_map(|rows| {
            rows.into_iter()
                .map(|(chunk, (document, ordinal, tokens))| Place { chunk, document, ordinal, tokens })
                .collect()
        })
    }

    fn texts() -> impl Strategy<Value = Vec<TextRow>> {
        let row = (
            0u32..3,
            0u32..1000,
            0u32..50,
            0u32..5000,
            proptest::option::of((0u64..99, 0u64..99)),
            proptest::option::of("[a-z:0-9]{0,9}"),
        );
        prop::collection::btree_map(64u32..96, row, 0..30).prop_map(|rows| {
            rows.into_iter()
                .map(|(chunk, (block, offset, title_bytes, text_bytes, span, external_id))| TextRow {
                    chunk,
                    block: Reference {
                        offset: 20_480 + u64::from(block) * 160,
                        stored_bytes: 100,
                        kind: BlockKind::Text,
                        checksum: block,
                    },
                    offset,
                    title_bytes,
                    text_bytes,
                    words: 7,
                    span: span.map(|(start, length)| (start, start + length)),
                    external_id,
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn places_read_back(rows in places()) {
            let mut out = Vec::new();
            encode_places(&rows, &mut out);
            prop_assert_eq!(decode_places(2, &out).unwrap(), rows);
        }

        #[test]
        fn texts_read_back(rows in texts()) {
            let mut out = Vec::new();
            encode_texts(&rows, &mut out);
            prop_assert_eq!(decode_texts(2, &out).unwrap(), rows);
        }

        #[test]
        fn what_is_accepted_is_what_would_be_written(bytes in prop::collection::vec(0u8..6, 0..40)) {
            if let Ok(rows) = decode_places(2, &bytes) {
                let mut out = Vec::new();
                encode_places(&rows, &mut out);
                prop_assert_eq!(out, bytes);
            }
        }
    }

    #[test]
    fn a_row_of_another_block_is_refused() {
        let mut out = Vec::new();
        encode_places(
            &[
                Place { chunk: 255, document: 0, ordinal: 0, tokens: 1 },
                Place { chunk: 256, document: 0, ordinal: 1, tokens: 1 },
            ],
            &mut out,
        );
        assert!(decode_places(0, &out).is_err());
    }
}
