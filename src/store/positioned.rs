//! Positioned reads and writes of a file: no shared cursor, one system call each.

use super::source::{Medium, Source};
use std::fs::File;
use std::io;
use std::sync::Arc;

/// A file by its descriptor; reads see what other processes have written.
#[derive(Debug, Clone)]
pub(crate) struct FileSource {
    /// The open file.
    file: Arc<File>,
}

impl FileSource {
    /// Wraps an open file.
    pub(crate) fn new(file: Arc<File>) -> Self {
        Self { file }
    }
}

impl Source for FileSource {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&*self.file, buffer, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !buffer.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    buffer = &mut buffer[count..];
                    offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Medium for FileSource {
    #[cfg(unix)]
    fn try_write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::write_at(&*self.file, bytes, offset)
    }

    #[cfg(windows)]
    fn try_write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_write(&*self.file, bytes, offset)
    }

    fn try_set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn try_sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
