//! Lists of a few postings, as varints.

use super::{BlockBuffer, PLAIN_POSTINGS, Posting, PostingBlock, put_varint};
use crate::FormatError;
use crate::bytes::Reader;

/// Appends the postings: each a varint of 2 × gap + (1 if the frequency is 1), then any other frequency as a varint.
pub(super) fn encode(postings: &[Posting], out: &mut Vec<u8>) {
    let mut next = 0u64;
    for posting in postings {
        let gap = u64::from(posting.id).saturating_sub(next);
        put_varint(out, gap << 1 | u64::from(posting.frequency == 1));
        if posting.frequency != 1 {
            put_varint(out, u64::from(posting.frequency));
        }
        next = u64::from(posting.id).saturating_add(1);
    }
}

/// A plain list, all of which has been walked once.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainList<'a> {
    bytes: &'a [u8],
    count: usize,
    first_id: u32,
    last_id: u32,
}

impl<'a> PlainList<'a> {
    /// Reads to the end, which is the end of the list.
    pub(super) fn open(mut reader: Reader<'a>) -> Result<Self, FormatError> {
        let bytes = reader.clone().rest();
        let (mut next, mut count, mut first_id, mut last_id) = (0, 0usize, 0, 0);
        while count == 0 || !reader.is_empty() {
            let posting = read(&mut reader, &mut next)?;
            if count == PLAIN_POSTINGS {
                return Err(reader.fail("at most 16 postings in a plain list", "more"));
            }
            if count == 0 {
                first_id = posting.id;
            }
            last_id = posting.id;
            count = count.saturating_add(1);
        }
        Ok(Self { bytes, count, first_id, last_id })
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

    /// The list as one block.
    pub(super) fn block(&self) -> PostingBlock {
        PostingBlock::plain(self.first_id, self.last_id, self.count)
    }

    pub(super) fn read_into(&self, from: u32, to_inclusive: u32, out: &mut Vec<Posting>) -> Result<(), FormatError> {
        let mut reader = Reader::new(super::STRUCTURE, self.bytes);
        let mut next = 0;
        while !reader.is_empty() {
            let posting = read(&mut reader, &mut next)?;
            if (from..=to_inclusive).contains(&posting.id) {
                out.push(posting);
            }
        }
        Ok(())
    }
}

/// Reads a list without its form whole.
pub(super) fn read_block(bytes: &[u8], buffer: &mut BlockBuffer) -> Result<(), FormatError> {
    let mut reader = Reader::new(super::STRUCTURE, bytes);
    let mut next = 0;
    buffer.clear();
    while !reader.is_empty() {
        buffer.push(read(&mut reader, &mut next)?);
    }
    Ok(())
}

/// Reads one posting; `next` is the least id that it may have.
fn read(reader: &mut Reader<'_>, next: &mut u64) -> Result<Posting, FormatError> {
    let head = reader.varint()?;
    let id = u32::try_from(next.saturating_add(head >> 1)).map_err(|_| reader.fail("an id of 32 bits", "a greater"))?;
    let frequency = if head & 1 == 1 { 1 } else { reader.varint32()? };
    if frequency == 1 && head & 1 == 0 {
        return Err(reader.fail("a frequency of 1 by its flag", "the number"));
    }
    *next = u64::from(id).saturating_add(1);
    Ok(Posting { id, frequency })
}
