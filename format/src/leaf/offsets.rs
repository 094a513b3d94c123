//! The array at the end of a leaf: where every 16th entry, or value, begins.

use super::{GROUP, STRUCTURE};
use crate::FormatError;

/// Offsets from the start of the leaf, two bytes each, up to the leaf's end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offsets<'a> {
    /// The array.
    array: &'a [[u8; 2]],
    /// Where it starts, which is where the entries end.
    start: usize,
}

impl<'a> Offsets<'a> {
    /// The array of a leaf of `count` entries.
    pub(super) fn open(leaf: &'a [u8], count: usize) -> Result<Self, FormatError> {
        let bytes = count.div_ceil(GROUP).saturating_mul(2);
        let start = leaf.len().checked_sub(bytes);
        match start.and_then(|start| Some((start, leaf.get(start..)?))) {
            Some((start, array)) => Ok(Self { array: array.as_chunks().0, start }),
            None => Err(FormatError::new(STRUCTURE, 0, format!("an array of {bytes} bytes at the end"), leaf.len())),
        }
    }

    /// Where the array starts.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Groups of up to 16.
    pub(super) fn len(&self) -> usize {
        self.array.len()
    }

    /// Where a group starts; past the last, where the array does.
    pub(super) fn get(&self, group: usize) -> usize {
        self.array.get(group).map_or(self.start, |offset| usize::from(u16::from_le_bytes(*offset)))
    }

    /// Demands that entry or value `i` may lie at `at`: that its group's offset says so, if it is the first of one.
    pub(super) fn check(&self, i: usize, at: usize) -> Result<(), FormatError> {
        let group = i / GROUP;
        if !i.is_multiple_of(GROUP) || self.get(group) == at {
            return Ok(());
        }
        let place = self.start.saturating_add(group.saturating_mul(2));
        Err(FormatError::new(STRUCTURE, place, format!("offset {at}"), self.get(group)))
    }
}
