//! What has been checked once: two bits for each place where a block can start.
//!
//! A block's payload is compared with its checksum when it is first touched, and its structure is validated by who
//! first reads it; both need no second time while the file is open. The table is allocated in pieces as ranges of the
//! file are touched, is read and set without locks, and is shared by all snapshots of a file, so that a refresh keeps
//! what is known. Past its reach (two tebibytes) nothing is remembered: blocks there are checked at every touch.
//!
//! Each bit belongs to one offset. Blocks that overlap (in a forged file) therefore do not vouch for each other.

use plica_format::limits::BLOCK_ALIGN_BYTES;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the file that one leaf of the table covers. Leaves are small, since a search that is the first touches few
/// blocks, far apart.
const LEAF_REACH_BYTES: u64 = 1 << 17;
/// Words of a leaf: two bits for each place.
const LEAF_WORDS: usize = (LEAF_REACH_BYTES / BLOCK_ALIGN_BYTES / 32) as usize;
/// Children of the root and of each inner node.
const FAN: usize = 256;
/// Bytes of the file that the table can cover.
#[cfg(test)]
const REACH_BYTES: u64 = (FAN as u64).pow(3) * LEAF_REACH_BYTES;

/// What is remembered of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The payload has the checksum that the header says, and zeros follow it.
    Payload,
    /// The structure in the payload has been validated.
    Structure,
}

/// Bits of one range of the file.
type Leaf = Box<[AtomicU64; LEAF_WORDS]>;
/// Cells that are filled when first needed.
type Row<T> = Box<[OnceLock<T>; FAN]>;

/// The table of one file.
#[derive(Default)]
pub(crate) struct Checked {
    /// Allocated when first needed.
    root: OnceLock<Row<Row<Row<Leaf>>>>,
}

impl std::fmt::Debug for Checked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Checked")
    }
}

/// A row of empty cells.
fn row<T>() -> Row<T> {
    Box::new(std::array::from_fn(|_| OnceLock::new()))
}

/// The cells of a place in the root and below, or `None` past the reach.
#[inline]
fn path(offset: u64) -> Option<[usize; 3]> {
    let [0, 0, 0, 0, 0, root, middle, low] = (offset / LEAF_REACH_BYTES).to_be_bytes() else { return None };
    Some([root, middle, low].map(usize::from))
}

/// The word within a leaf and the bit within the word.
#[inline]
fn place(offset: u64, mark: Mark) -> (usize, u64) {
    let bit = (offset % LEAF_REACH_BYTES) / BLOCK_ALIGN_BYTES * 2 + u64::from(mark == Mark::Structure);
    ((bit / 64) as usize, 1 << (bit % 64))
}

impl Checked {
    /// Whether the block at `offset` has been marked.
    #[inline]
    pub(crate) fn get(&self, offset: u64, mark: Mark) -> bool {
        let leaf = path(offset).and_then(|[root, middle, low]| self.root.get()?[root].get()?[middle].get()?[low].get());
        let (word, bit) = place(offset, mark);
        leaf.is_some_and(|leaf| leaf[word].load(Ordering::Relaxed) & bit != 0)
    }

    /// Marks the block at `offset`.
    pub(crate) fn set(&self, offset: u64, mark: Mark) {
        let Some([root, middle, low]) = path(offset) else { return };
        let row = self.root.get_or_init(row)[root].get_or_init(row)[middle].get_or_init(row);
        let leaf = row[low].get_or_init(|| Box::new(std::array::from_fn(|_| AtomicU64::new(0))));
        let (word, bit) = place(offset, mark);
        leaf[word].fetch_or(bit, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_mark_of_each_place_is_its_own() {
        let checked = Checked::default();
        let places = [20_480, 20_496, 20_512, (1 << 17) - 16, 1 << 17, 1 << 25, 1 << 33, REACH_BYTES - 16];
        let mut marked = HashSet::new();
        for (at, &offset) in places.iter().enumerate() {
            let mark = if at % 2 == 0 { Mark::Payload } else { Mark::Structure };
            checked.set(offset, mark);
            marked.insert((offset, mark == Mark::Structure));
            for &other in &places {
                for mark in [Mark::Payload, Mark::Structure] {
                    assert_eq!(checked.get(other, mark), marked.contains(&(other, mark == Mark::Structure)));
                }
            }
        }
    }

    #[test]
    fn past_the_reach_nothing_is_remembered_and_nothing_allocated() {
        let checked = Checked::default();
        for offset in [REACH_BYTES, (1 << 62) - 16] {
            checked.set(offset, Mark::Payload);
            assert!(!checked.get(offset, Mark::Payload));
        }
        assert!(checked.root.get().is_none());
    }
}
