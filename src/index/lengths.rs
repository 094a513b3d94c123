//! How many tokens each chunk has, kept where it was asked for.
//!
//! A search scores thousands of chunks and needs of each no more than its length. The rows of a block of chunks are
//! decoded once, and their lengths kept as plain numbers for as long as the snapshot lives: four bytes a chunk, of those
//! blocks alone that some search has touched.

use super::view::{View, inconsistent};
use crate::Result;
use plica_format::key::PLACES_A_BLOCK;
use std::sync::OnceLock;

/// Chunks whose lengths are read together.
const BLOCK: usize = PLACES_A_BLOCK as usize;
/// Stands for the length of a chunk that has no place.
pub(crate) const MISSING: u32 = u32::MAX;

/// Lengths of one block of chunks.
pub(crate) type LengthBlock = [u32; BLOCK];

/// Blocks whose cells are allocated together.
const CELLS: u32 = 4096;

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
    /// The lengths of a block of chunks, [`MISSING`] where there is none.
    pub(crate) fn block(&self, view: View<'_>, block: u32) -> Result<&LengthBlock> {
        // The chunk count is not proven: at most 2^32 / 256 / 4096 cells here, and 4096 for each range that is touched.
        let ranges = self.ranges.get_or_init(|| cells(view.state.chunks.div_ceil(PLACES_A_BLOCK).div_ceil(CELLS)));
        let cell = ranges
            .get((block / CELLS) as usize)
            .and_then(|range| range.get_or_init(|| cells(CELLS)).get((block % CELLS) as usize))
            .ok_or_else(|| inconsistent(format!("a chunk of block {block}, behind the last chunk")))?;
        if let Some(lengths) = cell.get() {
            return Ok(lengths);
        }
        let first = block * PLACES_A_BLOCK;
        let mut lengths = Box::new([MISSING; BLOCK]);
        for place in view.places(first, first.saturating_add(PLACES_A_BLOCK - 1))? {
            if let Some(length) = lengths.get_mut((place.chunk % PLACES_A_BLOCK) as usize) {
                *length = place.tokens;
            }
        }
        Ok(cell.get_or_init(|| lengths))
    }

    /// The length of a chunk.
    pub(crate) fn of(&self, view: View<'_>, chunk: u32) -> Result<u32> {
        match self.block(view, chunk / PLACES_A_BLOCK)?.get((chunk % PLACES_A_BLOCK) as usize) {
            Some(&MISSING) | None => Err(inconsistent(format!("the place of chunk {chunk} is missing"))),
            Some(&length) => Ok(length),
        }
    }
}
