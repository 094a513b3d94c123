//! What has been checked once: two bits for each place where a block can start.
//!
//! A block's payload is compared with its checksum when it is first touched, and its structure is validated by who
//! first reads it; both need no second time while the file is open. The table is allocated in pieces as ranges of the
//! file are touched, is read and set without locks, and is shared by all snapshots of a file, so that a refresh keeps
//! what is known. Past its reach ([`REACH_BYTES`]) nothing is remembered: blocks there are checked at every touch.
//!
//! Each bit belongs to one offset. Blocks that overlap (in a forged file) therefore do not vouch for each other.

use plica_format::limits::BLOCK_ALIGN_BYTES;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the file that one leaf of the table covers.
const LEAF_REACH_BYTES: u64 = 1 << 20;
/// Words of a leaf: two bits for each place.
const LEAF_WORDS: usize = (LEAF_REACH_BYTES / BLOCK_ALIGN_BYTES / 32) as usize;
/// Children of the root and of each inner node.
const FAN: u64 = 1024;
/// Bytes of the file that the table can cover.
const REACH_BYTES: u64 = FAN * FAN * LEAF_REACH_BYTES;

/// What is remembered of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The payload has the checksum that the header says, and zeros follow it.
    Payload,
    /// The structure in the payload has been validated.
    Structure,
}

/// Bits of one range of the file.
type Leaf = Box<[AtomicU64]>;
/// Leaves of one range of the file.
type Inner = Box<[OnceLock<Leaf>]>;

/// The table of one file.
#[derive(Default)]
pub(crate) struct Checked {
    /// Allocated when first needed.
    root: OnceLock<Box<[OnceLock<Inner>]>>,
}

impl std::fmt::Debug for Checked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Checked")
    }
}

/// A row of cells that are filled when first needed.
fn row<T>() -> Box<[OnceLock<T>]> {
    (0..FAN).map(|_| OnceLock::new()).collect()
}

/// The word within a leaf and the bit within the word.
fn place(offset: u64, mark: Mark) -> (usize, u64) {
    let bit = (offset % LEAF_REACH_BYTES) / BLOCK_ALIGN_BYTES * 2 + u64::from(mark == Mark::Structure);
    ((bit / 64) as usize, 1 << (bit % 64))
}

impl Checked {
    /// Whether the block at `offset` has been marked.
    pub(crate) fn get(&self, offset: u64, mark: Mark) -> bool {
        let leaf = offset / LEAF_REACH_BYTES;
        let leaf =
            self.root.get().and_then(|root| root.get((leaf / FAN) as usize)?.get()?.get((leaf % FAN) as usize)?.get());
        let (word, bit) = place(offset, mark);
        leaf.is_some_and(|leaf| leaf[word].load(Ordering::Relaxed) & bit != 0)
    }

    /// Marks the block at `offset`.
    pub(crate) fn set(&self, offset: u64, mark: Mark) {
        if offset >= REACH_BYTES {
            return;
        }
        let leaf = offset / LEAF_REACH_BYTES;
        let inner = self.root.get_or_init(row)[(leaf / FAN) as usize].get_or_init(row);
        let leaf = inner[(leaf % FAN) as usize].get_or_init(|| (0..LEAF_WORDS).map(|_| AtomicU64::new(0)).collect());
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
        let places = [20_480, 20_496, 20_512, (1 << 20) - 16, 1 << 20, 1 << 30, (1 << 40) - 16];
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
