//! An index in memory: for tests, fuzzing and `include_bytes!`.

use super::source::Source;
use std::io;
use std::sync::Arc;

/// Bytes that never change. They need no alignment, since nothing is read as wider integers in place.
#[derive(Clone)]
pub(crate) struct MemorySource {
    /// The whole file.
    bytes: Arc<[u8]>,
}

impl MemorySource {
    /// Wraps the bytes of an index.
    pub(crate) fn new(bytes: Arc<[u8]>) -> Self {
        Self { bytes }
    }
}

impl std::fmt::Debug for MemorySource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemorySource({} bytes)", self.bytes.len())
    }
}

impl Source for MemorySource {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = self.mapped(offset, buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn mapped(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let offset = usize::try_from(offset).ok()?;
        self.bytes.get(offset..offset.checked_add(length)?)
    }
}
