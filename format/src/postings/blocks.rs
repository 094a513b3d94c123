//! Lists in blocks of 128 bit-packed postings, with the blocks' bounds before them.

use super::pack::{pack, packed_bytes, unpack, width};
use super::{BLOCK_POSTINGS, Bound, LIST_POSTINGS, PLAIN_POSTINGS, Posting, STRUCTURE, put_varint};
use crate::FormatError;
use crate::bytes::Reader;

/// Bit of a block's second width byte: frequencies are as they are, because one is 0; else they are less 1.
const HAS_TOMBSTONE: u8 = 0x80;
/// Bytes of a block's last id in the table.
const LAST_ID_BYTES: usize = 4;
/// Bytes of a block's widths in the table.
const WIDTHS_BYTES: usize = 2;
/// Bytes of a block's bound in the table.
const BOUND_BYTES: usize = 2;

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

/// Appends the head, the tables and the blocks of a list of more than [`PLAIN_POSTINGS`].
pub(super) fn encode(postings: &[Posting], lengths: Option<&[u32]>, out: &mut Vec<u8>) {
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
    if let Some(lengths) = lengths {
        for (postings, lengths) in postings.chunks(BLOCK_POSTINGS).zip(lengths.chunks(BLOCK_POSTINGS)) {
            out.extend_from_slice(&Bound::of(postings, lengths).bytes());
        }
    }
    out.extend_from_slice(&data);
}

/// How many of `postings` fit a list of `limit` bytes: all, or whole blocks of them.
pub(super) fn fitting(postings: &[Posting], bounded: bool, limit: usize) -> usize {
    let postings = postings.get(..LIST_POSTINGS).unwrap_or(postings);
    let bound_bytes = if bounded { BOUND_BYTES } else { 0 };
    let table = (LAST_ID_BYTES + WIDTHS_BYTES).saturating_add(bound_bytes);
    // Form, count, first id and span.
    let mut bytes = 1 + 3 + 5 + 5usize;
    let mut count = 0usize;
    for (packed, _) in prepare(postings) {
        bytes = bytes.saturating_add(packed.bytes()).saturating_add(table);
        if bytes > limit {
            break;
        }
        count = count.saturating_add(packed.count);
    }
    count
}

/// A list in blocks, whose head and tables lie within its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockList<'a> {
    count: usize,
    first_id: u32,
    last_id: u32,
    /// Last ids of all blocks but the last.
    last_ids: &'a [[u8; LAST_ID_BYTES]],
    /// Widths of all blocks.
    widths: &'a [[u8; WIDTHS_BYTES]],
    /// Bounds of all blocks, where they have any.
    bounds: Option<&'a [[u8; BOUND_BYTES]]>,
    /// The list.
    bytes: &'a [u8],
    /// Where its blocks start.
    data_at: usize,
}

/// A block of a list: what is known of it without reading it.
#[derive(Debug, Clone, Copy)]
pub struct PostingBlock {
    /// The least id that its first posting may have.
    pub least_id: u32,
    /// Its last id.
    pub last_id: u32,
    /// Its postings, 1 to 128.
    pub count: u32,
    /// What none of its postings exceeds, where the list says.
    pub bound: Option<Bound>,
    pub(super) widths: [u8; WIDTHS_BYTES],
    /// Where it starts in the list.
    pub(super) at: u32,
}

/// The postings of one block, read; used again from block to block.
#[derive(Debug, Clone)]
pub struct BlockBuffer {
    ids: [u32; BLOCK_POSTINGS],
    frequencies: [u32; BLOCK_POSTINGS],
    count: usize,
}

impl Default for BlockBuffer {
    fn default() -> Self {
        Self { ids: [0; BLOCK_POSTINGS], frequencies: [0; BLOCK_POSTINGS], count: 0 }
    }
}

impl BlockBuffer {
    /// The ids, ascending.
    pub fn ids(&self) -> &[u32] {
        self.ids.get(..self.count).unwrap_or_default()
    }

    /// The frequency of each.
    pub fn frequencies(&self) -> &[u32] {
        self.frequencies.get(..self.count).unwrap_or_default()
    }

    /// Takes nothing from before.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds one posting; a buffer holds 128.
    pub fn push(&mut self, posting: Posting) {
        if let (Some(id), Some(frequency)) = (self.ids.get_mut(self.count), self.frequencies.get_mut(self.count)) {
            (*id, *frequency) = (posting.id, posting.frequency);
            self.count = self.count.saturating_add(1);
        }
    }
}

impl<'a> BlockList<'a> {
    pub(super) fn open(bytes: &'a [u8], mut reader: Reader<'a>, bounded: bool) -> Result<Self, FormatError> {
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
        let blocks = inner.saturating_add(1);
        let last_ids = reader.take(inner.saturating_mul(LAST_ID_BYTES))?.as_chunks().0;
        let widths = reader.take(blocks.saturating_mul(WIDTHS_BYTES))?.as_chunks().0;
        let bounds = match bounded {
            true => Some(reader.take(blocks.saturating_mul(BOUND_BYTES))?.as_chunks().0),
            false => None,
        };
        let data_at = reader.position();
        Ok(Self { count, first_id, last_id, last_ids, widths, bounds, bytes, data_at })
    }

    /// Checks that the blocks fill the list.
    pub(super) fn check(&self) -> Result<(), FormatError> {
        self.blocks().try_for_each(|block| block.map(|_| ()))
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

    pub(super) fn is_bounded(&self) -> bool {
        self.bounds.is_some()
    }

    /// The blocks in order; an error where one has no room for its postings or does not lie within the data, and where
    /// data is left behind the last.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Result<PostingBlock, FormatError>> + use<'a> {
        let list = *self;
        let (mut left, mut at, mut next) = (list.count, list.data_at, u64::from(list.first_id));
        list.widths.iter().enumerate().map(move |(i, &widths)| {
            let count = left.min(BLOCK_POSTINGS);
            let fail = |expected: &'static str| FormatError::new(STRUCTURE, at, expected, format_args!("block {i}"));
            let [gap_width, frequency_width] = widths;
            if gap_width > 32 || frequency_width & !HAS_TOMBSTONE > 32 {
                return Err(fail("widths of at most 32 bits"));
            }
            left = left.saturating_sub(count);
            let end = at.saturating_add(block_bytes(count, widths));
            if end > list.bytes.len() || left == 0 && end != list.bytes.len() {
                return Err(fail("blocks that fill the list"));
            }
            let last_id = list.last_ids.get(i).map_or(list.last_id, |id| u32::from_le_bytes(*id));
            let behind = u64::from(last_id).saturating_add(1);
            if behind.saturating_sub(next) < count as u64 {
                return Err(fail("a last id with room for its block"));
            }
            let bound = list.bounds.and_then(|bounds| bounds.get(i)).map(|bytes| Bound::from_bytes(*bytes));
            // `next` is at most `last_id`, since there is room for a posting; the data is at most 64 KiB.
            let block =
                PostingBlock { least_id: next as u32, last_id, count: count as u32, bound, widths, at: at as u32 };
            at = end;
            next = behind;
            Ok(block)
        })
    }

    pub(super) fn read_into(&self, from: u32, to_inclusive: u32, out: &mut Vec<Posting>) -> Result<(), FormatError> {
        if from > self.last_id || to_inclusive < self.first_id {
            return Ok(());
        }
        let mut buffer = BlockBuffer::default();
        for block in self.blocks() {
            let block = block?;
            if block.last_id < from {
                continue;
            }
            if block.least_id > to_inclusive {
                break;
            }
            block.read(self.bytes, &mut buffer)?;
            let (ids, frequencies) = (buffer.ids(), buffer.frequencies());
            let start = ids.partition_point(|&id| id < from);
            let end = ids.partition_point(|&id| id <= to_inclusive);
            let wanted =
                ids.get(start..end).unwrap_or_default().iter().zip(frequencies.get(start..end).unwrap_or_default());
            out.extend(wanted.map(|(&id, &frequency)| Posting { id, frequency }));
        }
        Ok(())
    }
}

impl PostingBlock {
    /// Widths that stand for a plain list.
    const PLAIN: [u8; WIDTHS_BYTES] = [u8::MAX; WIDTHS_BYTES];

    /// A plain list as a block.
    pub(super) fn plain(least_id: u32, last_id: u32, count: usize) -> Self {
        Self { least_id, last_id, count: count as u32, bound: None, widths: Self::PLAIN, at: 1 }
    }

    /// Reads the postings of the block, which is one of `list`'s own ([`super::PostingList::blocks`]), and checks all of
    /// it.
    pub fn read(&self, list: &[u8], buffer: &mut BlockBuffer) -> Result<(), FormatError> {
        self.read_ids(list, buffer)?;
        self.read_frequencies(list, buffer)
    }

    /// Reads the ids of the block; the frequencies in the buffer mean nothing until they are read, too.
    pub fn read_ids(&self, list: &[u8], buffer: &mut BlockBuffer) -> Result<(), FormatError> {
        let at = self.at as usize;
        let fail = |expected, got: &str| FormatError::new(STRUCTURE, at, expected, got);
        let not_here = || fail("a block of this list", "another");
        if self.widths == Self::PLAIN {
            return super::plain::read_block(list.get(at..).ok_or_else(not_here)?, buffer);
        }
        let count = (self.count as usize).min(BLOCK_POSTINGS);
        let [gap_width, _] = self.widths;
        let end = at.saturating_add(packed_bytes(count, gap_width));
        let bytes = list.get(at..end).ok_or_else(not_here)?;
        buffer.count = count;
        unpack(bytes, count, gap_width, &mut buffer.ids)
            .ok_or_else(|| fail("gaps of just the width given", "others"))?;
        // One posting past each gap. If that ends at the last id, no id on the way passes 32 bits.
        let ids = buffer.ids.get_mut(..count).unwrap_or_default();
        // Gaps of up to 24 bits add up to less than 32, and the sum need not be made apart.
        let span = match gap_width {
            0..=24 => u64::from(add_up(ids, self.least_id).wrapping_sub(self.least_id)).saturating_add(1),
            _ => {
                let span = ids.iter().map(|&gap| u64::from(gap)).sum::<u64>().saturating_add(count as u64);
                add_up(ids, self.least_id);
                span
            }
        };
        if u64::from(self.least_id).saturating_add(span) != u64::from(self.last_id).saturating_add(1) {
            return Err(fail("a last id as in the table", "another"));
        }
        Ok(())
    }

    /// Reads the frequencies of the block, whose ids the buffer holds.
    pub fn read_frequencies(&self, list: &[u8], buffer: &mut BlockBuffer) -> Result<(), FormatError> {
        if self.widths == Self::PLAIN {
            return Ok(()); // They came with the ids.
        }
        let at = self.at as usize;
        let fail = |expected, got: &str| FormatError::new(STRUCTURE, at, expected, got);
        let count = (self.count as usize).min(BLOCK_POSTINGS);
        let [gap_width, frequency_width] = self.widths;
        let width = frequency_width & !HAS_TOMBSTONE;
        let start = at.saturating_add(packed_bytes(count, gap_width));
        let end = start.saturating_add(packed_bytes(count, width));
        let bytes = list.get(start..end).ok_or_else(|| fail("a block of this list", "another"))?;
        unpack(bytes, count, width, &mut buffer.frequencies)
            .ok_or_else(|| fail("frequencies of just the width given", "others"))?;
        let used = buffer.frequencies.get_mut(..count).unwrap_or_default();
        let greatest = self.bound.map_or(u32::MAX, Bound::greatest_frequency);
        if frequency_width & HAS_TOMBSTONE != 0 {
            if !used.contains(&0) {
                return Err(fail("a frequency of 0", "none"));
            }
        } else {
            if width == 32 && used.contains(&u32::MAX) {
                return Err(fail("frequencies of 32 bits", "a greater one"));
            }
            used.iter_mut().for_each(|frequency| *frequency = frequency.wrapping_add(1));
        }
        // Of fewer bits, the comparison is one of signed numbers, which vectors have from of old.
        let is_within = match i32::try_from(greatest) {
            Ok(greatest) if width < 31 => {
                used.iter().fold(0, |above, &frequency| above | i32::from(frequency as i32 > greatest)) == 0
            }
            _ => used.iter().all(|&frequency| frequency <= greatest),
        };
        if !is_within {
            return Err(fail("frequencies within the bound", "a greater one"));
        }
        Ok(())
    }
}

/// Turns gaps into the ids from `least` on, modulo 2^32, and gives the last; `least` less 1 of none.
fn add_up(gaps: &mut [u32], least: u32) -> u32 {
    let mut last = least.wrapping_sub(1);
    // Four at a time, so that only every fourth waits for the one before.
    let (rows, rest) = gaps.as_chunks_mut::<4>();
    for row in rows {
        let [a, b, c, d] = row.map(|gap| gap.wrapping_add(1));
        let (ab, cd) = (a.wrapping_add(b), c.wrapping_add(d));
        *row = [
            last.wrapping_add(a),
            last.wrapping_add(ab),
            last.wrapping_add(ab.wrapping_add(c)),
            last.wrapping_add(ab.wrapping_add(cd)),
        ];
        last = last.wrapping_add(ab.wrapping_add(cd));
    }
    for gap in rest {
        last = last.wrapping_add(gap.wrapping_add(1));
        *gap = last;
    }
    last
}
