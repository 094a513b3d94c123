//! Posting lists: which ids hold a term, and how often.
//!
//! A list is a run of [`Posting`]s with ascending ids, in one of two forms that its first byte tells:
//!
//! * **Plain**, for up to [`PLAIN_POSTINGS`]: a varint of the gap and of whether the frequency is 1, and the frequency
//!   where it is not. Most terms of most segments stand in one or two chunks, and take three or four bytes.
//! * **Blocks** of 128: gaps and frequencies bit-packed, each with the width that the greatest of the block needs. The
//!   last ids and widths of all blocks stand before the data, so a reader of a range of ids skips the blocks outside it
//!   without touching them, and a frequency that is 1 throughout a block takes no bits at all.
//!
//! A frequency of 0 is a *tombstone*: it takes part in merging and says that an older segment's posting is gone.
//!
//! A list is at most 65,536 postings and 64 KiB. The value of a term in the dictionary is a [`PostingValue`]: one list,
//! or, for a term that many chunks hold, the *pieces* that it was split into, each in a block of its own.

mod blocks;
mod pack;
mod plain;
mod value;

pub use value::{Piece, PostingValue};

use crate::FormatError;
use crate::bytes::{Reader, put_varint};
use crate::limits::LEAF_RAW_BYTES;

/// Most postings of one list.
pub const LIST_POSTINGS: usize = 65_536;
/// Up to this many postings a list is plain; above, it is in blocks. Measured on a novel in chunks of 150 words, lists of
/// 9 to 16 postings take 1.82 bytes a posting plain and 2.06 in a block, those of 17 to 32 take 1.68 and 1.71, and a
/// block reads twice as fast.
pub const PLAIN_POSTINGS: usize = 16;
/// Postings of a block.
pub const BLOCK_POSTINGS: usize = 128;

/// First byte of a posting value in pieces.
const FORM_PIECES: u8 = 0;
/// First byte of a plain list.
const FORM_PLAIN: u8 = 1;
/// First byte of a list in blocks.
const FORM_BLOCKS: u8 = 2;
/// Name of the structure in errors.
const STRUCTURE: &str = "posting list";

/// One id of a list, with what the list says of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Posting {
    /// The chunk or entity.
    pub id: u32,
    /// How often the term stands in it; 0 takes back what an older segment says.
    pub frequency: u32,
}

/// Appends the list of `postings`. Fails, and appends nothing, where there are none or more than [`LIST_POSTINGS`], ids
/// do not ascend strictly, or the list would be over [`LEAF_RAW_BYTES`] (see [`piece_postings`]).
pub fn encode(postings: &[Posting], out: &mut Vec<u8>) -> Result<(), FormatError> {
    let fail = |expected, got: usize| Err(FormatError::new(STRUCTURE, 0, expected, got));
    if postings.is_empty() || postings.len() > LIST_POSTINGS {
        return fail("1 to 65536 postings", postings.len());
    }
    if let Some(i) = postings.windows(2).position(|pair| matches!(pair, [a, b] if a.id >= b.id)) {
        return fail("ids that ascend", i);
    }
    if postings.len() <= PLAIN_POSTINGS {
        out.push(FORM_PLAIN);
        plain::encode(postings, out);
        return Ok(());
    }
    let start = out.len();
    out.push(FORM_BLOCKS);
    blocks::encode(postings, out);
    let bytes = out.len().saturating_sub(start);
    if bytes > LEAF_RAW_BYTES {
        out.truncate(start);
        return fail("a list of at most 65536 bytes", bytes);
    }
    Ok(())
}

/// How many of `postings`, from the first, make one list within the limits: all of them, or a multiple of
/// [`BLOCK_POSTINGS`]. Split by it, equal postings always give equal pieces.
pub fn piece_postings(postings: &[Posting]) -> usize {
    blocks::fitting(postings, LEAF_RAW_BYTES)
}

/// A list whose head is sound and whose blocks lie within its bytes.
#[derive(Debug, Clone, Copy)]
pub struct PostingList<'a>(Form<'a>);

/// A list by its form.
#[derive(Debug, Clone, Copy)]
enum Form<'a> {
    Plain(plain::PlainList<'a>),
    Blocks(blocks::BlockList<'a>),
}

impl<'a> PostingList<'a> {
    /// Reads a list: form, counts, first and last ids, widths, and that the bytes end where the last block does. What
    /// the blocks hold is checked when they are read.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let mut reader = Reader::new(STRUCTURE, bytes);
        if bytes.len() > LEAF_RAW_BYTES {
            return Err(reader.fail("at most 65536 bytes", bytes.len()));
        }
        match reader.u8()? {
            FORM_PLAIN => Ok(Self(Form::Plain(plain::PlainList::open(reader)?))),
            FORM_BLOCKS => Ok(Self(Form::Blocks(blocks::BlockList::open(reader)?))),
            form => Err(reader.fail("a known form, 1 or 2", form)),
        }
    }

    /// Postings, at least one.
    #[allow(clippy::len_without_is_empty)] // Never empty.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Plain(list) => list.len(),
            Form::Blocks(list) => list.len(),
        }
    }

    /// The least id.
    pub fn first_id(&self) -> u32 {
        match &self.0 {
            Form::Plain(list) => list.first_id(),
            Form::Blocks(list) => list.first_id(),
        }
    }

    /// The greatest id.
    pub fn last_id(&self) -> u32 {
        match &self.0 {
            Form::Plain(list) => list.last_id(),
            Form::Blocks(list) => list.last_id(),
        }
    }

    /// Whether a frequency is 0; of a list in blocks the widths tell.
    pub fn has_tombstones(&self) -> Result<bool, FormatError> {
        match &self.0 {
            Form::Plain(list) => {
                let mut postings = Vec::with_capacity(PLAIN_POSTINGS);
                list.read_into(0, u32::MAX, &mut postings)?;
                Ok(postings.iter().any(|posting| posting.frequency == 0))
            }
            Form::Blocks(list) => Ok(list.has_tombstones()),
        }
    }

    /// Appends the postings with ids from `from` to `to_inclusive`, by ascending id. Blocks outside are not touched;
    /// those that are read are checked. On an error `out` may hold part of the range.
    pub fn read_into(&self, from: u32, to_inclusive: u32, out: &mut Vec<Posting>) -> Result<(), FormatError> {
        match &self.0 {
            Form::Plain(list) => list.read_into(from, to_inclusive, out),
            Form::Blocks(list) => list.read_into(from, to_inclusive, out),
        }
    }
}

#[cfg(test)]
mod tests;
