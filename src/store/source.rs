//! Where bytes come from, and where a writer puts them.
//!
//! A [`Source`] is what reading needs of a file: its length, exact positioned reads, and, where there is one, a view
//! without copying. Nothing that is read is ever reinterpreted as wider integers in place, so no source needs
//! alignment. A [`Medium`] adds what a writer needs. Both are traits so that a simulated medium can lie beneath the
//! whole store.

use std::fmt::Debug;
use std::io;

/// Bytes that can be read at any offset by any number of threads.
pub(crate) trait Source: Send + Sync + Debug {
    /// Present length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Fills `buffer` from `offset`; [`io::ErrorKind::UnexpectedEof`] when the bytes end before. Interrupted reads go on.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// The bytes without a copy, where the source has them in memory and they are proven to be there.
    fn mapped(&self, _offset: u64, _length: usize) -> Option<&[u8]> {
        None
    }

    /// Lets the source look whether the file reaches `end`, and from then on hand out bytes up to there without a
    /// copy. Only for an end below which the file is never cut again.
    fn prove(&self, _end: u64) -> io::Result<()> {
        Ok(())
    }

    /// Whether bytes up to `end` could be had without a copy once proven; if not, a new source may do better.
    fn spans(&self, _end: u64) -> bool {
        true
    }
}

/// What a writer needs of its file.
pub(crate) trait Medium: Source {
    /// Writes all of `bytes` at `offset`, growing the file where needed.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Cuts or grows the file.
    fn set_len(&self, length: u64) -> io::Result<()>;

    /// Returns when all that was written, and the length, is on the medium.
    fn sync_data(&self) -> io::Result<()>;
}
