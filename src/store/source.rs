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

/// Attempts at a call that the system interrupts each time, before that is taken for a failure.
const ATTEMPTS: usize = 1_000;

/// Repeats a call that a signal has interrupted.
fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut left = ATTEMPTS;
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted && left > 0 => left -= 1,
            result => return result,
        }
    }
}

/// What a writer needs of its file. The `try_` methods are one attempt each, as the system makes it; what the store
/// calls are the others, which go on after an interruption and after a write that was cut short.
pub(crate) trait Medium: Source {
    /// Writes some of `bytes`, which are not empty, at `offset`, growing the file where needed; says how many.
    fn try_write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Cuts or grows the file.
    fn try_set_len(&self, length: u64) -> io::Result<()>;

    /// Returns when all that was written, and the length, is on the medium.
    fn try_sync_data(&self) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`, growing the file where needed.
    fn write_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = uninterrupted(|| self.try_write_at(bytes, offset))?;
            bytes = bytes.get(written..).filter(|_| written > 0).ok_or(io::ErrorKind::WriteZero)?;
            offset += written as u64;
        }
        Ok(())
    }

    /// Cuts or grows the file.
    fn set_len(&self, length: u64) -> io::Result<()> {
        uninterrupted(|| self.try_set_len(length))
    }

    /// Returns when all that was written, and the length, is on the medium.
    fn sync_data(&self) -> io::Result<()> {
        uninterrupted(|| self.try_sync_data())
    }
}
