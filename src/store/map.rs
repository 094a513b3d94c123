//! The mapped file: the only `unsafe` of the engine.
//!
//! A map is larger than the file where the system allows it, so that a file that grows needs no new map; the surplus
//! is address space, not memory. What may be looked at is bounded by a *proven end*: a length that the file has been
//! seen to have.
//!
//! # Contract
//!
//! 1. No slice is formed past the proven end, and the proven end never passes the length that `fstat` reported, nor
//!    the map. Touching a mapped page beyond the end of the file would raise SIGBUS.
//! 2. The proven end only grows, and callers prove an end only below which the store never cuts the file: that of a
//!    synced commit. A writer cuts only what lies past the last one.
//! 3. Bytes below a proven end never change: committed bytes are written once (recovery writes the same bytes over
//!    them again), and the head pages, which do change, are never read through a map (they lie below
//!    [`FIRST_BLOCK_OFFSET`], where no slice is formed).
//! 4. The map lives as long as the slices: they borrow from the [`MapSource`] that owns it.
//!
//! What no program can rule out is another one that cuts or overwrites the file in spite of this. For files that
//! others may cut (and for network file systems, where a lost server looks the same) there are positioned reads.
#![allow(unsafe_code)]

use super::source::Source;
use memmap2::{MmapOptions, MmapRaw};
use plica_format::limits::FIRST_BLOCK_OFFSET;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Least address space that is asked for, in bytes, where pointers have 64 bits.
const RESERVE_LEAST_BYTES: u64 = 1 << 30;

/// A file in the address space.
#[derive(Debug)]
pub(crate) struct MapSource {
    /// For the length, and for bytes that are not proven.
    file: Arc<File>,
    /// The mapping, which may reach past the end of the file.
    map: MmapRaw,
    /// The file has been seen to reach this far.
    proven_end: AtomicU64,
}

impl MapSource {
    /// Maps `file`, which must not be empty, with room to grow where the system grants it.
    pub(crate) fn new(file: Arc<File>) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let exact = usize::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let roomy = usize::try_from(length.saturating_mul(2).max(RESERVE_LEAST_BYTES)).ok();
        let roomy = roomy.filter(|_| cfg!(all(unix, target_pointer_width = "64")));
        let map = match roomy.map(|bytes| MmapOptions::new().len(bytes).map_raw_read_only(&*file)) {
            Some(Ok(map)) => map,
            _ => MmapOptions::new().len(exact).map_raw_read_only(&*file)?,
        };
        Ok(Self { file, map, proven_end: AtomicU64::new(0) })
    }
}

impl Source for MapSource {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        super::positioned::FileSource::new(self.file.clone()).read_at(buffer, offset)
    }

    fn mapped(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let end = offset.checked_add(length as u64)?;
        if offset < FIRST_BLOCK_OFFSET || end > self.proven_end.load(Ordering::Acquire) {
            return None;
        }
        let start = usize::try_from(offset).ok()?;
        // SAFETY: offset + length is at most the proven end, which is at most the map's length and was at most the
        // file's (1), and stays so (2); the bytes do not change (3); the slice borrows from self, which owns the map
        // (4). The map's length is a usize below isize::MAX (the mapping would have failed), so is every part of it.
        Some(unsafe { std::slice::from_raw_parts(self.map.as_ptr().add(start), length) })
    }

    fn prove(&self, end: u64) -> io::Result<()> {
        if end > self.proven_end.load(Ordering::Acquire) {
            let seen = self.len()?.min(self.map.len() as u64).min(end);
            self.proven_end.fetch_max(seen, Ordering::AcqRel);
        }
        Ok(())
    }

    fn spans(&self, end: u64) -> bool {
        end <= self.map.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn no_slice_passes_the_proven_end_and_a_grown_file_needs_no_new_map() {
        let mut file = tempfile::tempfile().unwrap();
        let start = FIRST_BLOCK_OFFSET;
        file.write_all(&vec![1; start as usize + 100]).unwrap();
        let source = MapSource::new(Arc::new(file.try_clone().unwrap())).unwrap();
        assert_eq!(source.mapped(start, 1), None, "nothing is proven yet");
        source.prove(u64::MAX).unwrap();
        assert_eq!(source.mapped(start, 100), Some(&[1; 100][..]));
        assert_eq!(source.mapped(start, 101), None);
        assert_eq!(source.mapped(0, 8), None, "the head pages are never read through the map");
        assert_eq!(source.mapped(u64::MAX, 2), None);
        file.write_all(&[2; 10_000]).unwrap();
        assert!(source.spans(start + 10_100));
        source.prove(start + 10_100).unwrap();
        assert_eq!(source.mapped(start + 100, 10_000), Some(&[2; 10_000][..]));
    }
}
