//! The value of a term in the dictionary: its list, or where its pieces are.

use super::{Bound, FORM_BOUNDED_PIECES, FORM_PIECES, LIST_POSTINGS, PostingList, put_varint};
use crate::FormatError;
use crate::block::{BlockKind, Reference};
use crate::bytes::Reader;
use crate::limits::LEAF_RAW_BYTES;

/// Name of the structure in errors.
const STRUCTURE: &str = "posting value";

/// A part of a long list, in a block of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Its least id.
    pub first_id: u32,
    /// Its greatest id.
    pub last_id: u32,
    /// Its postings.
    pub count: u32,
    /// What none of its postings exceeds, where it is a list with bounds.
    pub bound: Option<Bound>,
    /// Its block, of the kind [`BlockKind::Postings`].
    pub reference: Reference,
}

impl Piece {
    /// Compares a piece that was read with what is said of it here.
    pub fn check(&self, list: &PostingList<'_>) -> Result<(), FormatError> {
        let got = (list.first_id(), list.last_id(), list.len());
        if self.bound.is_some() != list.is_bounded() && !(self.bound.is_some() && list.len() <= super::PLAIN_POSTINGS) {
            let name = |bounded| if bounded { "with bounds" } else { "without bounds" };
            let expected = format!("a list {}", name(self.bound.is_some()));
            return Err(FormatError::new(STRUCTURE, 0, expected, format_args!("one {}", name(list.is_bounded()))));
        }
        if got == (self.first_id, self.last_id, self.count as usize) {
            return Ok(());
        }
        let expected = format!("ids {} to {}, {} postings", self.first_id, self.last_id, self.count);
        let (first, last, count) = got;
        Err(FormatError::new(STRUCTURE, 0, expected, format_args!("ids {first} to {last}, {count} postings")))
    }
}

/// What stands in the dictionary for a term.
#[derive(Debug, Clone)]
pub enum PostingValue<'a> {
    /// The list itself.
    Inline(PostingList<'a>),
    /// Its pieces, by ascending ids, no two of which overlap.
    Pieces(Vec<Piece>),
}

impl<'a> PostingValue<'a> {
    /// Reads a value; the first byte says whether it is in pieces, any other is a list's own.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let value = Self::open(bytes)?;
        if let Self::Inline(list) = &value {
            list.check()?;
        }
        Ok(value)
    }

    /// Reads a value without a look at the blocks of a list, which [`PostingList::blocks`] checks.
    pub fn open(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let bounded = match bytes.first() {
            Some(&FORM_PIECES) => false,
            Some(&FORM_BOUNDED_PIECES) => true,
            _ => return PostingList::open(bytes).map(Self::Inline),
        };
        let mut reader = Reader::new(STRUCTURE, bytes);
        reader.u8()?;
        let mut pieces = Vec::new();
        let mut next = 0u64;
        while pieces.is_empty() || !reader.is_empty() {
            let first_id = u32::try_from(next.saturating_add(u64::from(reader.varint32()?)))
                .map_err(|_| reader.fail("an id of 32 bits", "a greater one"))?;
            let span = reader.varint32()?;
            let last_id = first_id.checked_add(span).ok_or_else(|| reader.fail("an id of 32 bits", "a greater one"))?;
            let count = reader.varint32()?;
            check_count(span, count).ok_or_else(|| reader.fail("1 to 65536 postings, with room for them", count))?;
            let bound = match bounded {
                true => Some(Bound::from_bytes([reader.u8()?, reader.u8()?])),
                false => None,
            };
            let reference = Reference::decode(&mut reader, BlockKind::Postings)?;
            pieces.push(Piece { first_id, last_id, count, bound, reference });
            next = u64::from(last_id).saturating_add(1);
        }
        Ok(Self::Pieces(pieces))
    }

    /// Appends the value of a term in pieces; that of a term with one list is [the list](super::encode). Fails, and
    /// appends nothing, where there are no pieces, they are out of order, overlap or cannot hold their counts, some have
    /// bounds and some not, refer to other blocks than postings, or the value would be over [`LEAF_RAW_BYTES`].
    pub fn encode_pieces(pieces: &[Piece], out: &mut Vec<u8>) -> Result<(), FormatError> {
        let start = out.len();
        let bounded = pieces.first().is_some_and(|piece| piece.bound.is_some());
        let mut encoded = vec![if bounded { FORM_BOUNDED_PIECES } else { FORM_PIECES }];
        let mut next = 0u64;
        for (i, piece) in pieces.iter().enumerate() {
            let fail = |expected| Err(FormatError::new(STRUCTURE, start, expected, format_args!("piece {i}")));
            let gap = u64::from(piece.first_id).checked_sub(next);
            let (Some(gap), Some(span)) = (gap, piece.last_id.checked_sub(piece.first_id)) else {
                return fail("pieces that ascend without overlap");
            };
            if check_count(span, piece.count).is_none() {
                return fail("1 to 65536 postings, with room for them");
            }
            if piece.reference.kind != BlockKind::Postings {
                return fail("a reference to postings");
            }
            put_varint(&mut encoded, gap);
            put_varint(&mut encoded, u64::from(span));
            if piece.bound.is_some() != bounded {
                return fail("bounds in all pieces or in none");
            }
            put_varint(&mut encoded, u64::from(piece.count));
            if let Some(bound) = piece.bound {
                encoded.extend_from_slice(&bound.bytes());
            }
            piece.reference.encode(&mut encoded);
            next = u64::from(piece.last_id).saturating_add(1);
        }
        if pieces.is_empty() || encoded.len() > LEAF_RAW_BYTES {
            let expected = format!("at least one piece, in at most {LEAF_RAW_BYTES} bytes");
            return Err(FormatError::new(STRUCTURE, start, expected, format_args!("{} bytes", encoded.len())));
        }
        out.append(&mut encoded);
        Ok(())
    }
}

/// Whether a piece whose last id is `span` above its first can have `count` postings.
fn check_count(span: u32, count: u32) -> Option<()> {
    let room = u64::from(span).saturating_add(1);
    // A piece of one posting has one id, and one id is one posting.
    let ends = if span == 0 { count == 1 } else { count >= 2 };
    (ends && count as usize <= LIST_POSTINGS && u64::from(count) <= room).then_some(())
}
