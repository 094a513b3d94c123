//! Texts that quote chunks.
//!
//! What a reader of a document notes down is often a sentence of it: a description of an entity, the sentences of a
//! summary. Such a text is stored as *pieces*: stretches of chunks, by ordinal and place, and what stands between them.
//! The document's chunks never change, so the text is the same for ever; and ordinals do not depend on the file.

use crate::FormatError;
use crate::bytes::{Reader, put_varint};
use crate::limits::CHUNK_BYTES;

/// Pieces of one text at most.
pub const QUOTE_PIECES: usize = 1 << 10;
/// Bytes of chunks that one text may quote, for each byte that it may have: what is squeezed is longer in its chunk.
pub const QUOTED_RATIO: usize = 4;

const FORMS: u64 = 4;
const LITERAL: u64 = 0;
const VERBATIM: u64 = 1;
const SQUEEZED: u64 = 2;
const SEVERAL: u64 = 3;

/// A stretch of a chunk's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// Ordinal of the chunk in the document.
    pub ordinal: u32,
    /// First byte of the stretch in the chunk's text.
    pub start: u32,
    /// Bytes of the stretch; at least 1.
    pub bytes: u32,
    /// Whether runs of white space and `_` in it stand for one space ([`squeeze`]).
    pub squeezed: bool,
}

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text of its own; not empty, and not behind another such piece.
    Literal(String),
    /// Text of a chunk.
    Quote(Quote),
}

/// A text, perhaps with quotes of chunks of its document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quoted {
    /// Its pieces, in order; an empty text has none.
    pub pieces: Vec<Piece>,
}

impl From<&str> for Quoted {
    fn from(text: &str) -> Self {
        match text {
            "" => Self::default(),
            text => Self { pieces: vec![Piece::Literal(text.to_owned())] },
        }
    }
}

/// Appends `text` with each maximal run of spaces, tabs, line ends (LF, CR) and `_` as one space.
pub fn squeeze(text: &str, out: &mut String) {
    let mut in_run = false;
    let is_run = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'_');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if is_run(byte) {
            if !in_run {
                out.push_str(text.get(from..at).unwrap_or_default());
                out.push(' ');
                in_run = true;
            }
        } else if in_run {
            from = at;
            in_run = false;
        }
    }
    if !in_run {
        out.push_str(text.get(from..).unwrap_or_default());
    }
}

/// A signed distance as a number: 0, -1, 1, -2, …
fn zigzag(from: u32, to: u32) -> u64 {
    let distance = i64::from(to).saturating_sub(i64::from(from));
    (distance.wrapping_shl(1) ^ distance.wrapping_shr(63)).cast_unsigned()
}

/// What [`zigzag`] made of a distance from `from`, where it leads to an ordinal.
fn unzigzag(from: u32, number: u64) -> Option<u32> {
    let distance = (number >> 1).cast_signed() ^ (number & 1).cast_signed().wrapping_neg();
    i64::from(from).checked_add(distance).and_then(|to| u32::try_from(to).ok())
}

impl Quoted {
    /// Bytes of chunks and of its own that it is made of: at least as many as the text has.
    pub fn source_bytes(&self) -> usize {
        let bytes = |piece: &Piece| match piece {
            Piece::Literal(text) => text.len(),
            Piece::Quote(quote) => quote.bytes as usize,
        };
        self.pieces.iter().map(bytes).fold(0, usize::saturating_add)
    }

    /// The text itself, where it quotes nothing.
    pub fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Appends the pieces. Ordinals are written as distances, the first from `before`, which becomes the last one.
    pub fn encode(&self, before: &mut u32, out: &mut Vec<u8>) {
        match self.pieces.as_slice() {
            [] => put_varint(out, LITERAL),
            [piece] => encode_piece(piece, before, out),
            pieces => {
                put_varint(out, (pieces.len() as u64).saturating_mul(FORMS) | SEVERAL);
                pieces.iter().for_each(|piece| encode_piece(piece, before, out));
            }
        }
    }

    /// Reads the pieces of a text of at most `limit` bytes. Whether what they quote is there, and how long the text
    /// is, shows when it is resolved.
    pub fn decode(reader: &mut Reader<'_>, before: &mut u32, limit: usize) -> Result<Self, FormatError> {
        let head = reader.varint()?;
        let mut quoted = Self::default();
        if head == LITERAL {
            return Ok(quoted);
        }
        if head % FORMS != SEVERAL {
            quoted.pieces.push(decode_piece(reader, head, before, limit)?);
        } else {
            let count = head / FORMS;
            if count < 2 || count > QUOTE_PIECES as u64 || count > reader.remaining() as u64 {
                return Err(reader.fail("2 to 1,024 pieces", count));
            }
            for _ in 0..count {
                let head = reader.varint()?;
                let piece = decode_piece(reader, head, before, limit)?;
                let both = matches!((quoted.pieces.last(), &piece), (Some(Piece::Literal(_)), Piece::Literal(_)));
                if both {
                    return Err(reader.fail("a quote behind text of its own", "more such text"));
                }
                quoted.pieces.push(piece);
            }
        }
        if quoted.source_bytes() > limit.saturating_mul(QUOTED_RATIO) {
            return Err(reader.fail("a text within its limit", quoted.source_bytes()));
        }
        Ok(quoted)
    }
}

fn encode_piece(piece: &Piece, before: &mut u32, out: &mut Vec<u8>) {
    match piece {
        Piece::Literal(text) => {
            put_varint(out, (text.len() as u64).saturating_mul(FORMS) | LITERAL);
            out.extend_from_slice(text.as_bytes());
        }
        Piece::Quote(quote) => {
            let form = if quote.squeezed { SQUEEZED } else { VERBATIM };
            put_varint(out, u64::from(quote.bytes).saturating_mul(FORMS) | form);
            put_varint(out, zigzag(*before, quote.ordinal));
            put_varint(out, u64::from(quote.start));
            *before = quote.ordinal;
        }
    }
}

fn decode_piece(reader: &mut Reader<'_>, head: u64, before: &mut u32, limit: usize) -> Result<Piece, FormatError> {
    let bytes = head / FORMS;
    let most = if head % FORMS == LITERAL { limit } else { CHUNK_BYTES };
    if bytes == 0 || bytes > most as u64 {
        return Err(reader.fail("a piece that is not empty and within its limit", bytes));
    }
    match head % FORMS {
        LITERAL => match std::str::from_utf8(reader.take(bytes as usize)?) {
            Ok(text) => Ok(Piece::Literal(text.to_owned())),
            Err(error) => Err(reader.fail("UTF-8", error)),
        },
        form @ (VERBATIM | SQUEEZED) => {
            let distance = reader.varint()?;
            let Some(ordinal) = unzigzag(*before, distance) else {
                return Err(reader.fail("an ordinal of 32 bits", distance));
            };
            *before = ordinal;
            let start = reader.varint_at_most(CHUNK_BYTES, "the start of a quote")? as u32;
            Ok(Piece::Quote(Quote { ordinal, start, bytes: bytes as u32, squeezed: form == SQUEEZED }))
        }
        _ => Err(reader.fail("a piece", "several pieces in one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn piece() -> impl Strategy<Value = Piece> {
        let quote = (0u32.., 0u32..9_000, 1u32..400, any::<bool>());
        prop_oneof![
            "[a-zé ]{1,9}".prop_map(Piece::Literal),
            quote.prop_map(|(ordinal, start, bytes, squeezed)| Piece::Quote(Quote { ordinal, start, bytes, squeezed })),
        ]
    }

    proptest! {
        #[test]
        fn texts_read_back(pieces in prop::collection::vec(piece(), 0..20), from: u32) {
            let mut pieces = pieces;
            pieces.dedup_by(|a, b| matches!((a, b), (Piece::Literal(_), Piece::Literal(_))));
            let quoted = Quoted { pieces };
            let (mut out, mut before) = (Vec::new(), from);
            quoted.encode(&mut before, &mut out);
            let (mut reader, mut again) = (Reader::new("test", &out), from);
            prop_assert_eq!(Quoted::decode(&mut reader, &mut again, 4_096).unwrap(), quoted);
            prop_assert!(reader.is_empty() && again == before);
        }

        #[test]
        fn what_is_accepted_is_what_would_be_written(bytes in prop::collection::vec(0u8..30, 0..30)) {
            let mut reader = Reader::new("test", &bytes);
            if let Ok(quoted) = Quoted::decode(&mut reader, &mut 5, 4_096) {
                let mut out = Vec::new();
                quoted.encode(&mut 5, &mut out);
                prop_assert_eq!(&out[..], &bytes[..reader.position()]);
            }
        }

        #[test]
        fn squeezing_is_splitting_and_joining(text in "[a_ \n\té]{0,20}") {
            let mut out = String::new();
            squeeze(&text, &mut out);
            let words: Vec<&str> = text.split(['_', ' ', '\n', '\t']).filter(|w| !w.is_empty()).collect();
            prop_assert_eq!(out.trim(), words.join(" "));
            prop_assert!(!out.contains("  ") && out.len() <= text.len());
        }
    }

    #[test]
    fn a_sentence_takes_a_few_bytes() {
        let quote = Quote { ordinal: 250, start: 1_200, bytes: 120, squeezed: true };
        let mut out = Vec::new();
        Quoted { pieces: vec![Piece::Quote(quote)] }.encode(&mut 248, &mut out);
        assert_eq!(out, [0xe2, 0x03, 0x04, 0xb0, 0x09]);
    }

    #[test]
    fn pieces_that_say_too_much_are_refused() {
        let decode = |bytes: &[u8]| Quoted::decode(&mut Reader::new("test", bytes), &mut 0, 16);
        assert!(decode(&[4 * 17]).is_err(), "over the limit");
        assert!(decode(&[0x85, 0x02, 0, 0]).is_err(), "65 bytes of a chunk for at most 16");
        assert!(decode(&[4 + 1, 1, 0]).is_err(), "an ordinal below 0");
        assert!(decode(&[4 * 2 + 3, 4, b'a', 4, b'b']).is_err(), "two texts of its own");
        assert!(decode(&[4 + 3, 4, b'a']).is_err(), "one piece as several");
    }
}
