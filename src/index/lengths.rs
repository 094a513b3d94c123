//! How many tokens each chunk has, and where it is, kept where it was asked for.
//!
//! A search scores thousands of chunks and needs of each no more than its length; of the best also document and ordinal.
//! The rows of a block of chunks are decoded once and kept as plain numbers for as long as the snapshot lives: twelve
//! bytes a chunk, of those blocks alone that some search has touched.

use super::view::{View, inconsistent};
use crate::Result;
use parking_lot::Mutex;
use plica_format::chunk::Place;
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::key::PLACES_A_BLOCK;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

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
    /// Below this id, chunks are known to be in the order of their documents' ids and their ordinals.
    ordered: AtomicU32,
    edge: Mutex<Edge>,
}

/// Where the chunks that are known to be in order end.
#[derive(Debug, Default)]
struct Edge {
    /// Documents looked at, by number.
    documents: u32,
    /// The last of them that has chunks and that readers see.
    last: Option<Arc<DocumentHead>>,
    /// Whether the next one is known not to follow in order.
    is_final: bool,
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

    /// Whether this chunk and all before it are known to be in the order of their documents' ids and their ordinals, as
    /// they mostly are. Then ids of chunks are compared instead of both.
    pub(crate) fn is_ordered_to(&self, chunk: u32) -> bool {
        chunk < self.ordered.load(Ordering::Relaxed)
    }

    /// Looks at the next two documents of `documents`, whose heads `head` gives, for whether their chunks go on in order.
    pub(crate) fn look_on(&self, documents: u32, head: impl Fn(u32) -> Result<Arc<DocumentHead>>) -> Result<()> {
        let Some(mut edge) = self.edge.try_lock().filter(|edge| !edge.is_final) else { return Ok(()) };
        for number in edge.documents..edge.documents.saturating_add(2).min(documents) {
            let next = head(number)?;
            if next.chunks > 0 {
                // No gap: so no chunk below belongs to a document that comes later.
                let ordered = self.ordered.load(Ordering::Relaxed);
                let is_whole = next.last_chunk.checked_sub(next.first_chunk) == Some(next.chunks - 1);
                let end = next.last_chunk.checked_add(1).filter(|_| is_whole && next.first_chunk == ordered);
                // Of a document that readers do not see there is no hit, whatever its id.
                let is_live = next.state == DocumentState::Live;
                let follows = edge.last.as_ref().is_none_or(|last| last.id.as_bytes() < next.id.as_bytes());
                let Some(end) = end.filter(|_| follows || !is_live) else {
                    edge.is_final = true;
                    return Ok(());
                };
                self.ordered.store(end, Ordering::Relaxed);
                if is_live {
                    edge.last = Some(next);
                }
            }
            edge.documents = number + 1;
        }
        Ok(())
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
