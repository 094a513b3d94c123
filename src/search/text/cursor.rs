//! The postings of one term, walked forward, block by block.
//!
//! A term's postings lie in the segments, in each as one list or in pieces. Chunks are given ascending ids and their
//! postings are written once, so the lists of older segments end before those of newer ones begin, and together they are
//! one long list; where they are not (something was taken back by a tombstone, or is hidden from readers), the list is
//! put together in memory first.

use crate::Result;
use crate::index::view::{View, damaged_value, newest_of_each, read_postings};
use crate::store::Payload;
use crate::{Error, dictionary::Dictionary};
use plica_format::key::{self, Field};
use plica_format::postings::{self, BlockBuffer, Bound, Piece, Posting, PostingBlock, PostingList, PostingValue};
use std::ops::Deref;

/// The id behind all ids.
pub(super) const END: u32 = u32::MAX;
/// Ids that are looked at one by one before a search by halving.
const NEAR: usize = 8;

/// One list of a term.
enum Source {
    /// The list itself, copied.
    Inline(Vec<u8>),
    /// A list in a block.
    Piece(Piece),
}

/// The bytes of the list at hand.
enum Bytes<'a> {
    None,
    Copied(Vec<u8>),
    Block(Payload<'a>),
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::None => &[],
            Self::Copied(bytes) => bytes,
            Self::Block(payload) => payload,
        }
    }
}

/// A cursor over the postings of a term. It only moves forward.
pub(super) struct Cursor<'a> {
    dictionary: &'a Dictionary,
    /// Lists that are not at hand yet, the next one last.
    waiting: Vec<Source>,
    bytes: Bytes<'a>,
    /// The blocks of the list at hand.
    blocks: Vec<PostingBlock>,
    /// The block at hand; behind the last where the term has no more.
    block: usize,
    buffer: BlockBuffer,
    /// Whether the buffer holds the ids, and the frequencies, of the block at hand.
    has_ids: bool,
    has_frequencies: bool,
    /// Place in the buffer.
    at: usize,
    /// Postings of the term, all together.
    pub(super) count: u64,
}

impl<'a> Cursor<'a> {
    /// The postings of `term` in the texts of chunks; of those alone whose chunk passes `live`, where it is given.
    pub(super) fn open(
        view: View<'a>,
        term: &str,
        live: Option<&mut dyn FnMut(u32) -> Result<bool>>,
    ) -> Result<Option<Self>> {
        let key = Field::Text.key(term);
        let mut sources = Vec::new();
        let (mut count, mut next, mut in_order) = (0u64, 0u64, true);
        let mut take = |first: u32, last: u32, postings: u64| {
            in_order &= u64::from(first) >= next;
            next = u64::from(last) + 1;
            count += postings;
        };
        view.dictionary.each(&key, |value| {
            let damaged = damaged_value(key::POSTINGS);
            match PostingValue::open(value).map_err(damaged)? {
                PostingValue::Inline(list) => {
                    take(list.first_id(), list.last_id(), list.len() as u64);
                    sources.push(Source::Inline(value.to_vec()));
                }
                PostingValue::Pieces(pieces) => {
                    for piece in pieces {
                        take(piece.first_id, piece.last_id, u64::from(piece.count));
                        sources.push(Source::Piece(piece));
                    }
                }
            }
            Ok(())
        })?;
        if !in_order || live.is_some() {
            (sources, count) = Self::gather(view, sources, live)?;
        }
        if count == 0 {
            return Ok(None);
        }
        sources.reverse();
        let mut cursor = Self {
            dictionary: view.dictionary,
            waiting: sources,
            bytes: Bytes::None,
            blocks: Vec::new(),
            block: 0,
            buffer: BlockBuffer::default(),
            has_ids: false,
            has_frequencies: false,
            at: 0,
            count,
        };
        cursor.next_list()?;
        Ok(Some(cursor))
    }

    /// The postings of several lists that overlap as lists that do not.
    fn gather(
        view: View<'a>,
        sources: Vec<Source>,
        live: Option<&mut dyn FnMut(u32) -> Result<bool>>,
    ) -> Result<(Vec<Source>, u64)> {
        let damaged = damaged_value(key::POSTINGS);
        let mut all: Vec<Posting> = Vec::new();
        for source in &sources {
            let value = match source {
                Source::Inline(bytes) => PostingValue::Inline(PostingList::decode(bytes).map_err(&damaged)?),
                Source::Piece(piece) => PostingValue::Pieces(vec![*piece]),
            };
            read_postings(view.dictionary, &value, 0, u32::MAX, &mut all)?;
        }
        newest_of_each(&mut all);
        all.retain(|posting| posting.frequency > 0);
        if let Some(live) = live {
            let mut kept = Vec::with_capacity(all.len());
            for posting in all {
                if live(posting.id)? {
                    kept.push(posting);
                }
            }
            all = kept;
        }
        let mut lists = Vec::new();
        let mut left = all.as_slice();
        while !left.is_empty() {
            let (piece, rest) = left.split_at(postings::piece_postings(left, false).clamp(1, left.len()));
            let mut bytes = Vec::new();
            postings::encode(piece, None, &mut bytes).map_err(Error::encoding)?;
            lists.push(Source::Inline(bytes));
            left = rest;
        }
        Ok((lists, all.len() as u64))
    }

    /// Takes up the next list; gives whether there was one.
    fn next_list(&mut self) -> Result<bool> {
        let Some(source) = self.waiting.pop() else {
            self.block = self.blocks.len();
            return Ok(false);
        };
        self.block = 0;
        self.has_ids = false;
        self.blocks.clear();
        match source {
            Source::Inline(bytes) => {
                let damaged = damaged_value(key::POSTINGS);
                for block in PostingList::open(&bytes).map_err(&damaged)?.blocks() {
                    self.blocks.push(block.map_err(&damaged)?);
                }
                self.bytes = Bytes::Copied(bytes);
            }
            Source::Piece(piece) => {
                let payload = self.dictionary.blocks.read(&piece.reference)?;
                let list = PostingList::open(&payload).map_err(Error::damaged_block(&piece.reference))?;
                piece.check(&list).map_err(Error::damaged_block(&piece.reference))?;
                for block in list.blocks() {
                    self.blocks.push(block.map_err(Error::damaged_block(&piece.reference))?);
                }
                self.bytes = Bytes::Block(payload);
            }
        }
        Ok(true)
    }

    /// The block at hand, unless the term has no more.
    pub(super) fn block(&self) -> Option<&PostingBlock> {
        self.blocks.get(self.block)
    }

    /// Moves to the first block that can hold `id` or an id behind it, without reading it.
    pub(super) fn skip_to(&mut self, id: u32) -> Result<()> {
        loop {
            match self.blocks.get(self.block).map(|block| block.last_id) {
                Some(last_id) if last_id >= id => return Ok(()),
                Some(_) => {
                    self.block += 1;
                    self.has_ids = false;
                }
                None if !self.next_list()? => return Ok(()),
                None => {}
            }
        }
    }

    /// What no posting of this term from the block at hand up to `last` exceeds; `None` where there is no posting.
    /// Blocks of the list at hand alone are looked at: see [`Cursor::reach`].
    pub(super) fn bound_to(&self, last: u32) -> Option<Bound> {
        let mut bound = None;
        for block in self.blocks.get(self.block..)?.iter().take_while(|block| block.least_id <= last) {
            let own = block.bound.unwrap_or(Bound::ANY);
            bound = Some(bound.map_or(own, |bound: Bound| bound.joined(own)));
        }
        bound
    }

    /// The last id that the list at hand knows of; [`END`] where no other follows.
    pub(super) fn reach(&self) -> u32 {
        match self.blocks.last() {
            Some(block) if !self.waiting.is_empty() => block.last_id,
            _ => END,
        }
    }

    /// Reads the ids of the block at hand where they are not read.
    fn read_ids(&mut self) -> Result<bool> {
        let Some(block) = self.blocks.get(self.block) else { return Ok(false) };
        if !self.has_ids {
            block.read_ids(&self.bytes, &mut self.buffer).map_err(damaged_value(key::POSTINGS))?;
            self.has_ids = true;
            self.has_frequencies = false;
            self.at = 0;
        }
        Ok(true)
    }

    /// Moves to the first posting at or behind `id` and gives its id, or [`END`].
    pub(super) fn seek(&mut self, id: u32) -> Result<u32> {
        self.skip_to(id)?;
        if !self.read_ids()? {
            return Ok(END);
        }
        let ids = self.buffer.ids();
        let near = ids.get(self.at..).unwrap_or_default();
        match near.iter().take(NEAR).position(|&found| found >= id) {
            Some(step) => self.at += step,
            None => self.at += near.partition_point(|&found| found < id),
        }
        // The block's last id is at or behind `id`.
        Ok(ids.get(self.at).copied().unwrap_or(END))
    }

    /// The ids of the block at hand from the place of the last [`Cursor::seek`] on, and their frequencies.
    pub(super) fn rest(&mut self) -> Result<(&[u32], &[u32])> {
        if !self.read_ids()? {
            return Ok((&[], &[]));
        }
        self.read_frequencies()?;
        let (ids, frequencies) = (self.buffer.ids(), self.buffer.frequencies());
        Ok((ids.get(self.at..).unwrap_or_default(), frequencies.get(self.at..).unwrap_or_default()))
    }

    /// The ids of the block at hand from the place of the last [`Cursor::seek`] on.
    pub(super) fn rest_of_ids(&mut self) -> Result<&[u32]> {
        self.read_ids()?;
        Ok(self.buffer.ids().get(self.at..).unwrap_or_default())
    }

    fn read_frequencies(&mut self) -> Result<()> {
        if !self.has_frequencies
            && let Some(block) = self.blocks.get(self.block)
        {
            block.read_frequencies(&self.bytes, &mut self.buffer).map_err(damaged_value(key::POSTINGS))?;
            self.has_frequencies = true;
        }
        Ok(())
    }

    /// How often the term stands in the chunk that the last [`Cursor::seek`] found.
    pub(super) fn frequency(&mut self) -> Result<u32> {
        self.read_frequencies()?;
        Ok(self.buffer.frequencies().get(self.at).copied().unwrap_or_default())
    }
}
