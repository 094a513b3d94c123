//! Lists in blocks of 128 bit-packed postings, with the blocks' bounds before them.

use super::pack::{pack, packed_bytes, unpack, width};
use super::{BLOCK_POSTINGS, LIST_POSTINGS, PLAIN_POSTINGS, Posting, STRUCTURE, put_varint};
use crate::FormatError;
use crate::bytes::Reader;

/// Bit of a block's second width byte: frequencies are as they are, because one is 0; else they are less 1.
const HAS_TOMBSTONE: u8 = 0x80;
/// Bytes of a block's last id in the table.
const LAST_ID_BYTES: usize = 4;
/// Bytes of a block's widths in the table.
const WIDTHS_BYTES: usize = 2;

/// Gaps and frequencies of one block, as they are packed.
struct Packed {
    gaps: [u32; BLOCK_POSTINGS],
    frequencies: [u32; BLOCK_POSTINGS],
    count: usize,
    /// Bits of a gap; bits of a frequency and the tombstone flag.
    widths: [u8; WIDTHS_BYTES],
}

impl Packed {
    /// Prepares a block of at most 128 postings, whose first id is at least `next`.
    fn new(postings: &[Posting], next: u64) -> Self {
        let mut packed =
            Self { gaps: [0; BLOCK_POSTINGS], frequencies: [0; BLOCK_POSTINGS], count: postings.len(), widths: [0; 2] };
        let tombstone = postings.iter().any(|posting| posting.frequency == 0);
        let (mut next, mut gaps, mut frequencies) = (next, 0, 0);
        let places = packed.gaps.iter_mut().zip(&mut packed.frequencies);
        for (posting, (gap, frequency)) in postings.iter().zip(places) {
            *gap = u64::from(posting.id).saturating_sub(next) as u32;
            *frequency = posting.frequency.saturating_sub(u32::from(!tombstone));
            gaps |= *gap;
            frequencies |= *frequency;
            next = u64::from(posting.id).saturating_add(1);
        }
        packed.widths = [width(gaps), width(frequencies) | if tombstone { HAS_TOMBSTONE } else { 0 }];
        packed
    }

    fn bytes(&self) -> usize {
        block_bytes(self.count, self.widths)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let [gap_width, frequency_width] = self.widths;
        pack(self.gaps.get(..self.count).unwrap_or_default(), gap_width, out);
        pack(self.frequencies.get(..self.count).unwrap_or_default(), frequency_width & !HAS_TOMBSTONE, out);
    }
}

/// Bytes of a block of `count` postings.
fn block_bytes(count: usize, [gap_width, frequency_width]: [u8; WIDTHS_BYTES]) -> usize {
    packed_bytes(count, gap_width).saturating_add(packed_bytes(count, frequency_width & !HAS_TOMBSTONE))
}

/// The blocks of a list, prepared.
fn prepare(postings: &[Posting]) -> impl Iterator<Item = (Packed, u32)> {
    let mut next = postings.first().map_or(0, |posting| u64::from(posting.id));
    postings.chunks(BLOCK_POSTINGS).map(move |chunk| {
        let packed = Packed::new(chunk, next);
        let last = chunk.last().map_or(0, |posting| posting.id);
        next = u64::from(last).saturating_add(1);
        (packed, last)
    })
}

/// Appends all after the form byte; ids ascend and there are 1 to 65,536.
pub(super) fn encode(postings: &[Posting], out: &mut Vec<u8>) {
    let (Some(first), Some(last)) = (postings.first(), postings.last()) else {
        return;
    };
    put_varint(out, postings.len() as u64);
    put_varint(out, u64::from(first.id));
    put_varint(out, u64::from(last.id.saturating_sub(first.id)));
    let inner = postings.len().saturating_sub(1) / BLOCK_POSTINGS;
    for chunk in postings.chunks(BLOCK_POSTINGS).take(inner) {
        out.extend_from_slice(&chunk.last().map_or(0, |posting| posting.id).to_le_bytes());
    }
    let (mut widths, mut data) = (Vec::new(), Vec::new());
    for (packed, _) in prepare(postings) {
        widths.extend_from_slice(&packed.widths);
        packed.encode(&mut data);
    }
    out.extend_from_slice(&widths);
    out.extend_from_slice(&data);
}

/// How many postings, from the first, make a list of at most `limit` bytes: all, or a multiple of 128.
pub(super) fn fitting(postings: &[Posting], limit: usize) -> usize {
    let postings = postings.get(..LIST_POSTINGS).unwrap_or(postings);
    // Form, count, first id and span.
    let mut bytes = 1 + 3 + 5 + 5usize;
    let mut count = 0usize;
    for (packed, _) in prepare(postings) {
        bytes = bytes.saturating_add(packed.bytes()).saturating_add(LAST_ID_BYTES + WIDTHS_BYTES);
        if bytes > limit {
            break;
        }
        count = count.saturating_add(packed.count);
    }
    count
}

/// A list in blocks, whose head, last ids and lengths have been checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockList<'a> {
    count: usize,
    first_id: u32,
    last_id: u32,
    /// Last ids of all blocks but the last.
    last_ids: &'a [[u8; LAST_ID_BYTES]],
    /// Widths of all blocks.
    widths: &'a [[u8; WIDTHS_BYTES]],
    /// The blocks.
    data: &'a [u8],
    /// Where they start in the list.
    data_at: usize,
}

impl<'a> BlockList<'a> {
    pub(super) fn open(mut reader: Reader<'a>) -> Result<Self, FormatError> {
        let count = reader.varint_at_most(LIST_POSTINGS, "a count of postings")?;
        if count <= PLAIN_POSTINGS {
            return Err(reader.fail("more than 16 postings in blocks", count));
        }
        let first_id = reader.varint32()?;
        let span = reader.varint32()?;
        let Some(last_id) = first_id.checked_add(span) else {
            return Err(reader.fail("ids of 32 bits", "greater ones"));
        };
        // Bounded by LIST_POSTINGS / 128 = 512.
        let inner = count.saturating_sub(1) / BLOCK_POSTINGS;
        let last_ids = reader.take(inner.saturating_mul(LAST_ID_BYTES))?.as_chunks().0;
        let widths = reader.take(inner.saturating_add(1).saturating_mul(WIDTHS_BYTES))?.as_chunks().0;
        let data_at = reader.position();
        let list = Self { count, first_id, last_id, last_ids, widths, data: reader.clone().rest(), data_at };
        let mut start = u64::from(first_id);
        for block in list.blocks() {
            let block = block?;
            let room = u64::from(block.last_id).saturating_add(1).saturating_sub(start);
            if room < block.count as u64 {
                return Err(reader.fail("a last id with room for its block", block.last_id));
            }
            start = u64::from(block.last_id).saturating_add(1);
            reader.take(block.bytes.len())?;
        }
        reader.finish()?;
        Ok(list)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn first_id(&self) -> u32 {
        self.first_id
    }

    pub(super) fn last_id(&self) -> u32 {
        self.last_id
    }

    /// Whether any block has a tombstone.
    pub(super) fn has_tombstones(&self) -> bool {
        self.widths.iter().any(|&[_, frequencies]| frequencies & HAS_TOMBSTONE != 0)
    }

    /// The blocks in order; an error where one does not lie within the data.
    fn blocks(&self) -> impl Iterator<Item = Result<Block<'a>, FormatError>> {
        let list = *self;
        let (mut left, mut data, mut next) = (list.count, list.data, u64::from(list.first_id));
        list.widths.iter().enumerate().map(move |(i, &widths)| {
            let count = left.min(BLOCK_POSTINGS);
            let at = list.data_at.saturating_add(list.data.len()).saturating_sub(data.len());
            let fail = |expected: &'static str| FormatError::new(STRUCTURE, at, expected, format_args!("block {i}"));
            let [gap_width, frequency_width] = widths;
            if gap_width > 32 || frequency_width & !HAS_TOMBSTONE > 32 {
                return Err(fail("widths of at most 32 bits"));
            }
            let (bytes, rest) =
                data.split_at_checked(block_bytes(count, widths)).ok_or_else(|| fail("blocks within the list"))?;
            let last_id = list.last_ids.get(i).map_or(list.last_id, |id| u32::from_le_bytes(*id));
            let block = Block { next, last_id, widths, count, bytes, at };
            left = left.saturating_sub(count);
            data = rest;
            next = u64::from(last_id).saturating_add(1);
            Ok(block)
        })
    }

    pub(super) fn read_into(&self, from: u32, to_inclusive: u32, out: &mut Vec<Posting>) -> Result<(), FormatError> {
        if from > self.last_id || to_inclusive < self.first_id {
            return Ok(());
        }
        for block in self.blocks() {
            let block = block?;
            if block.last_id < from {
                continue;
            }
            if block.next > u64::from(to_inclusive) {
                break;
            }
            block.read_into(from, to_inclusive, out)?;
        }
        Ok(())
    }
}

/// One block.
struct Block<'a> {
    /// The least id that its first posting may have.
    next: u64,
    /// Its last id.
    last_id: u32,
    widths: [u8; WIDTHS_BYTES],
    /// Its postings.
    count: usize,
    bytes: &'a [u8],
    /// Where it starts in the list.
    at: usize,
}

impl Block<'_> {
    /// Appends the postings of the block that are in the range, and checks all of it.
    fn read_into(&self, from: u32, to_inclusive: u32, out: &mut Vec<Posting>) -> Result<(), FormatError> {
        let fail = |expected, got: &str| FormatError::new(STRUCTURE, self.at, expected, got);
        let [gap_width, frequency_width] = self.widths;
        let (mut gaps, mut frequencies) = ([0; BLOCK_POSTINGS], [0; BLOCK_POSTINGS]);
        let (gap_bytes, frequency_bytes) =
            self.bytes.split_at_checked(packed_bytes(self.count, gap_width)).unwrap_or_default();
        unpack(gap_bytes, self.count, gap_width, &mut gaps)
            .ok_or_else(|| fail("gaps of just the width given", "others"))?;
        unpack(frequency_bytes, self.count, frequency_width & !HAS_TOMBSTONE, &mut frequencies)
            .ok_or_else(|| fail("frequencies of just the width given", "others"))?;
        let tombstone = frequency_width & HAS_TOMBSTONE != 0;
        let more = u32::from(!tombstone);
        let used = frequencies.get(..self.count).unwrap_or_default();
        if tombstone && !used.contains(&0) {
            return Err(fail("a frequency of 0", "none"));
        }
        if frequency_width == 32 && used.contains(&u32::MAX) {
            return Err(fail("frequencies of 32 bits", "a greater one"));
        }
        // One posting past each gap. If that ends at the last id, no id on the way passes 32 bits.
        let gaps = gaps.get(..self.count).unwrap_or_default();
        let span = gaps.iter().map(|&gap| u64::from(gap)).sum::<u64>().saturating_add(self.count as u64);
        if self.next.saturating_add(span) != u64::from(self.last_id).saturating_add(1) {
            return Err(fail("a last id as in the table", "another"));
        }
        let mut ids = [0u32; BLOCK_POSTINGS];
        // Written so that each id waits for one addition only.
        let mut next = self.next as u32;
        for (id, &gap) in ids.iter_mut().zip(gaps) {
            next = next.wrapping_add(gap.wrapping_add(1));
            *id = next.wrapping_sub(1);
        }
        let ids = ids.get(..self.count).unwrap_or_default();
        let start = ids.partition_point(|&id| id < from);
        let end = ids.partition_point(|&id| id <= to_inclusive);
        let wanted = ids.get(start..end).unwrap_or_default().iter().zip(used.get(start..end).unwrap_or_default());
        out.extend(wanted.map(|(&id, &frequency)| Posting { id, frequency: frequency.wrapping_add(more) }));
        Ok(())
    }
}
