//! How many tokens each chunk has, and where it is, kept where it was asked for.
//!
//! A search scores thousands of chunks and needs of each no more than its length; of the best also document and ordinal.
//! The rows of a block of chunks are decoded once and kept as plain numbers for as long as the snapshot lives: twelve
//! bytes a chunk, of those blocks alone that some search has touched.

use super::view::{View, inconsistent};
use crate::Result;
use plica_format::chunk::Place;
use plica_format::key::PLACES_A_BLOCK;
use std::sync::OnceLock;

/// Chunks whose lengths are read together.
const BLOCK: usize = PLACES_A_BLOCK as usize;
/// Stands for the length of a chunk that has no place.
pub(crate) const MISSING: u32 = u32::MAX;

/// The rows of one block of chunks.
#[derive(Debug)]
pub(crate) struct LengthBlock {
    /// Tokens of each chunk, [`MISSING`] where there is none.
    pub(crate) tokens: [u32; BLOCK],
    documents: [u32; BLOCK],
    ordinals: [u32; BLOCK],
}

/// Blocks whose cells are allocated together: few, as the first search pays for them.
const CELLS: u32 = 512;

/// The blocks of a range of chunks.
type Cells = Box<[OnceLock<Box<LengthBlock>>]>;

/// Lengths of the chunks of one state.
#[derive(Debug, Default)]
pub(crate) struct Lengths {
    ranges: OnceLock<Box<[OnceLock<Cells>]>>,
}

/// Cells that are filled when first needed.
fn cells<T>(count: u32) -> Box<[OnceLock<T>]> {
    (0..count).map(|_| OnceLock::new()).collect()
}

impl Lengths {
    /// The rows of a block of chunks.
    pub(crate) fn block(&self, view: View<'_>, block: u32) -> Result<&LengthBlock> {
        // The chunk count is not proven: at most 2^32 / 256 / 512 cells here, and 512 for each range that is touched.
        let ranges = self.ranges.get_or_init(|| cells(view.state.chunks.div_ceil(PLACES_A_BLOCK).div_ceil(CELLS)));
        let cell = ranges
            .get((block / CELLS) as usize)
            .and_then(|range| range.get_or_init(|| cells(CELLS)).get((block % CELLS) as usize))
            .ok_or_else(|| inconsistent(format!("a chunk of block {block}, behind the last chunk")))?;
        if let Some(lengths) = cell.get() {
            return Ok(lengths);
        }
        let mut rows = Box::new(LengthBlock { tokens: [MISSING; BLOCK], documents: [0; BLOCK], ordinals: [0; BLOCK] });
        view.each_place_of(block, |place| {
            let at = (place.chunk % PLACES_A_BLOCK) as usize;
            rows.tokens[at] = place.tokens;
            rows.documents[at] = place.document;
            rows.ordinals[at] = place.ordinal;
        })?;
        Ok(cell.get_or_init(|| rows))
    }

    /// The length of a chunk.
    pub(crate) fn of(&self, view: View<'_>, chunk: u32) -> Result<u32> {
        Ok(self.place(view, chunk)?.tokens)
    }

    /// The place of a chunk.
    pub(crate) fn place(&self, view: View<'_>, chunk: u32) -> Result<Place> {
        let rows = self.block(view, chunk / PLACES_A_BLOCK)?;
        let at = (chunk % PLACES_A_BLOCK) as usize;
        match rows.tokens[at] {
            MISSING => Err(inconsistent(format!("the place of chunk {chunk} is missing"))),
            tokens => Ok(Place { chunk, document: rows.documents[at], ordinal: rows.ordinals[at], tokens }),
        }
    }
}
