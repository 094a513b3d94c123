//! Posting lists: which ids hold a term, and how often.
//!
//! A list is a run of [`Posting`]s with ascending ids, in one of three forms that its first byte tells:
//!
//! * **Plain**, for up to [`PLAIN_POSTINGS`]: a varint of the gap and of whether the frequency is 1, and the frequency
//!   where it is not. Most terms of most segments stand in one or two chunks, and take three or four bytes.
//! * **Blocks** of 128: gaps and frequencies bit-packed, each with the width that the greatest of the block needs. The
//!   last ids and widths of all blocks stand before the data, so a reader of a range of ids skips the blocks outside it
//!   without touching them, and a frequency that is 1 throughout a block takes no bits at all.
//! * **Bounded blocks**: the same, and for each block a [`Bound`]: the greatest frequency and the least length of a unit
//!   in it. No unit of the block can score more than a unit of both, so a search for the best passes over blocks that
//!   cannot hold any. They are integers, since what a frequency is worth differs by scope and by commit.
//!
//! A frequency of 0 is a *tombstone*: it takes part in merging and says that an older segment's posting is gone.
//!
//! A list is at most 65,536 postings and 64 KiB. The value of a term in the dictionary is a [`PostingValue`]: one list,
//! or, for a term that many chunks hold, the *pieces* that it was split into, each in a block of its own.

mod blocks;
mod bound;
mod pack;
mod plain;
mod value;

pub use blocks::{BlockBuffer, PostingBlock};
pub use bound::Bound;
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
const FORM_PIECES: u8 = 4;
/// First byte of a posting value in pieces with bounds.
const FORM_BOUNDED_PIECES: u8 = 6;
/// First byte of a plain list. The first bytes of posting values are 2 and above: a leaf then holds them as they are.
const FORM_PLAIN: u8 = 2;
/// First byte of a list in blocks.
const FORM_BLOCKS: u8 = 3;
/// First byte of a list in blocks with bounds.
const FORM_BOUNDED_BLOCKS: u8 = 5;
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

/// Appends the list of `postings`; with bounds where the `lengths` of their units, one each, are given and there are
/// enough to make blocks. Fails, and appends nothing, where there are none or more than [`LIST_POSTINGS`], ids do not
/// ascend strictly, or the list would be over [`LEAF_RAW_BYTES`] (see [`piece_postings`]).
pub fn encode(postings: &[Posting], lengths: Option<&[u32]>, out: &mut Vec<u8>) -> Result<(), FormatError> {
    let fail = |expected, got: usize| Err(FormatError::new(STRUCTURE, 0, expected, got));
    if postings.is_empty() || postings.len() > LIST_POSTINGS {
        return fail("1 to 65536 postings", postings.len());
    }
    if let Some(i) = postings.windows(2).position(|pair| matches!(pair, [a, b] if a.id >= b.id)) {
        return fail("ids that ascend", i);
    }
    if lengths.is_some_and(|lengths| lengths.len() != postings.len()) {
        return fail("a length for each posting", lengths.map_or(0, <[u32]>::len));
    }
    if postings.len() <= PLAIN_POSTINGS {
        out.push(FORM_PLAIN);
        plain::encode(postings, out);
        return Ok(());
    }
    let start = out.len();
    out.push(if lengths.is_some() { FORM_BOUNDED_BLOCKS } else { FORM_BLOCKS });
    blocks::encode(postings, lengths, out);
    let bytes = out.len().saturating_sub(start);
    if bytes > LEAF_RAW_BYTES {
        out.truncate(start);
        return fail("a list of at most 65536 bytes", bytes);
    }
    Ok(())
}

/// How many of `postings`, from the first, make one list within the limits, with bounds or without: all of them, or a
/// multiple of [`BLOCK_POSTINGS`]. Split by it, equal postings always give equal pieces.
pub fn piece_postings(postings: &[Posting], bounded: bool) -> usize {
    blocks::fitting(postings, bounded, LEAF_RAW_BYTES)
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
        let list = Self::open(bytes)?;
        list.check()?;
        Ok(list)
    }

    /// Checks that the blocks fill the list.
    fn check(&self) -> Result<(), FormatError> {
        match &self.0 {
            Form::Plain(_) => Ok(()),
            Form::Blocks(blocks) => blocks.check(),
        }
    }

    /// Reads a list without a look at its blocks. [`PostingList::blocks`] checks them on the way.
    pub fn open(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let mut reader = Reader::new(STRUCTURE, bytes);
        if bytes.len() > LEAF_RAW_BYTES {
            return Err(reader.fail("at most 65536 bytes", bytes.len()));
        }
        match reader.u8()? {
            FORM_PLAIN => Ok(Self(Form::Plain(plain::PlainList::open(reader)?))),
            FORM_BLOCKS => Ok(Self(Form::Blocks(blocks::BlockList::open(bytes, reader, false)?))),
            FORM_BOUNDED_BLOCKS => Ok(Self(Form::Blocks(blocks::BlockList::open(bytes, reader, true)?))),
            form => Err(reader.fail("a known form, 2, 3 or 5", form)),
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

    /// Whether the blocks have bounds.
    pub fn is_bounded(&self) -> bool {
        matches!(&self.0, Form::Blocks(list) if list.is_bounded())
    }

    /// The blocks, in order, without what is in them. A plain list is one block without a bound. Ends with an error where
    /// blocks do not lie within the list, or do not fill it.
    pub fn blocks(&self) -> impl Iterator<Item = Result<PostingBlock, FormatError>> + use<'a> {
        let (plain, blocks) = match &self.0 {
            Form::Plain(list) => (Some(Ok(list.block())), None),
            Form::Blocks(list) => (None, Some(list.blocks())),
        };
        plain.into_iter().chain(blocks.into_iter().flatten())
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
