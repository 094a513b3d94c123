//! Appending blocks through a buffer, and cutting them off again.

use super::StoreWriter;
use crate::store::blocks::Blocks;
use crate::store::codec::Compression;
use crate::{Error, Result};
use plica_format::block::{
    BlockHeader, BlockKind, Codec, FileId, HEADER_BYTES, Reference, payload_checksum, span_bytes,
};
use plica_format::commit::CoverChecksum;
use plica_format::limits::{BLOCK_ALIGN_BYTES, OFFSET_BOUND, PAGE_BYTES};

/// Bytes that are kept back before they are written to the file.
const BUFFER_BYTES: usize = 256 << 10;

/// A block to be encoded.
pub(super) struct NewBlock<'a> {
    /// What it holds.
    pub(super) kind: BlockKind,
    /// How the payload is stored.
    pub(super) codec: Codec,
    /// The payload as stored.
    pub(super) stored: &'a [u8],
    /// Bytes of the payload before compression.
    pub(super) raw_bytes: usize,
}

impl NewBlock<'_> {
    /// Appends the block to `out`, which lies at `start` in the file, and adds it to what the next commit covers.
    pub(super) fn encode(
        &self,
        out: &mut Vec<u8>,
        start: u64,
        file_id: &FileId,
        salt: u64,
        cover: &mut CoverChecksum,
    ) -> Reference {
        let offset = start + out.len() as u64;
        let header = BlockHeader {
            kind: self.kind,
            codec: self.codec,
            stored_bytes: self.stored.len() as u32,
            raw_bytes: self.raw_bytes as u32,
            payload_checksum: payload_checksum(self.stored),
            salt,
        };
        let encoded = header.encode(file_id, offset);
        cover.add(&encoded);
        out.extend_from_slice(&encoded);
        out.extend_from_slice(self.stored);
        out.resize(out.len().next_multiple_of(BLOCK_ALIGN_BYTES as usize), 0);
        Reference { offset, stored_bytes: header.stored_bytes, kind: header.kind, checksum: header.payload_checksum }
    }
}

/// Bytes of padding before a block of `span` bytes at `offset`, so that it does not straddle a page boundary. A padding
/// block has a header, so 16 bytes cannot be filled and the block goes 16 bytes past the boundary.
fn page_padding(offset: u64, span: u64) -> u64 {
    let page = PAGE_BYTES as u64;
    let straddles = |offset: u64| offset % page + span > page;
    let gap = page - offset % page;
    match () {
        () if span > page || !straddles(offset) => 0,
        () if gap >= HEADER_BYTES as u64 => gap,
        () if !straddles(offset + HEADER_BYTES as u64) => HEADER_BYTES as u64,
        () => gap + page,
    }
}

impl StoreWriter {
    /// Appends a block and returns the reference to it. The block is there for this writer at once, and for readers
    /// when it is committed. With `compress` it is compressed where that makes it smaller.
    ///
    /// # Errors
    ///
    /// [`Error::Limit`] for a payload over its kind's limit, [`Error::Io`] when the buffer cannot be written: then the
    /// writer refuses to go on until [`rollback`](Self::rollback).
    pub(crate) fn append(&mut self, kind: BlockKind, payload: &[u8], compress: bool) -> Result<Reference> {
        self.demand_usable()?;
        self.demand_whole()?;
        if matches!(kind, BlockKind::Padding | BlockKind::Commit) {
            return Err(Error::invalid(format!("{} blocks are appended by the store itself", kind.name())));
        }
        let reference = self.append_block(kind, payload, compress)?;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(reference)
    }

    /// Appends a block of any kind to the buffer, with padding before it where its kind asks for that.
    pub(super) fn append_block(&mut self, kind: BlockKind, payload: &[u8], compress: bool) -> Result<Reference> {
        if payload.len() > kind.raw_limit() {
            let what = match kind {
                BlockKind::Commit => "a commit block in bytes",
                _ => "the payload of a block in bytes",
            };
            return Err(Error::Limit { what, limit: kind.raw_limit() as u64, got: payload.len() as u64 });
        }
        let compressed = if compress { self.compressor.compress(kind, payload) } else { None };
        let (codec, stored) = compressed.unwrap_or((Codec::Stored, payload));
        let span = span_bytes(stored.len() as u32);
        let offset = self.written + self.buffer.len() as u64;
        let padding = if kind.stays_in_page() { page_padding(offset, span) } else { 0 };
        if offset + padding + span >= OFFSET_BOUND {
            return Err(Error::Limit { what: "the file in bytes", limit: OFFSET_BOUND, got: offset + padding + span });
        }
        let (file_id, salt, start) = (&self.page.file_id, self.salt, self.written);
        if padding > 0 {
            let zeros = [0; 2 * PAGE_BYTES];
            let stored = &zeros[..padding as usize - HEADER_BYTES];
            NewBlock { kind: BlockKind::Padding, codec: Codec::Stored, stored, raw_bytes: stored.len() }.encode(
                &mut self.buffer,
                start,
                file_id,
                salt,
                &mut self.cover,
            );
        }
        Ok(NewBlock { kind, codec, stored, raw_bytes: payload.len() }.encode(
            &mut self.buffer,
            start,
            file_id,
            salt,
            &mut self.cover,
        ))
    }

    /// How payloads are compressed.
    pub(crate) fn compression(&self) -> &Compression {
        self.compressor.compression()
    }

    /// Compresses otherwise from now on. A dictionary must be that of the state which the next commit publishes.
    pub(crate) fn set_compression(&mut self, compression: Compression) {
        self.compressor.set(compression);
    }

    /// Refuses to build on appends of which one failed.
    pub(super) fn demand_whole(&self) -> Result<()> {
        if self.append_failed {
            return Err(Error::invalid("an earlier append failed; roll back before going on"));
        }
        Ok(())
    }

    /// Writes the buffer to the file.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.medium.write_at(&self.buffer, self.written) {
            self.append_failed = true;
            return Err(self.io("write to")(error));
        }
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        self.view = self.view.with_end(self.written, None);
        Ok(())
    }

    /// A copy of the payload of any block below [`end`](Self::end), committed or not.
    #[cfg(test)]
    pub(crate) fn read(&mut self, reference: &Reference) -> Result<Vec<u8>> {
        Ok(self.blocks()?.read(reference)?.to_vec())
    }

    /// All blocks that were appended so far, committed or not; writes the buffer to the file.
    ///
    /// Uncommitted ones can be read until they are rolled back, or the writer is dropped.
    ///
    /// # Errors
    ///
    /// As [`append`](Self::append).
    pub(crate) fn blocks(&mut self) -> Result<Blocks> {
        if !self.buffer.is_empty() {
            self.demand_usable()?;
            self.demand_whole()?;
            self.flush()?;
        }
        Ok(self.view.clone())
    }

    /// Drops everything that was appended since the last commit (synced or deferred).
    ///
    /// # Errors
    ///
    /// [`Error::Io`] when the file cannot be cut; the writer cannot be used any more then.
    pub(crate) fn rollback(&mut self) -> Result<()> {
        self.demand_usable()?;
        let end = self.head.end;
        // A deferred commit may lie in the buffer still.
        self.buffer.truncate(end.saturating_sub(self.written) as usize);
        if end < self.written || self.append_failed {
            let cut = end.min(self.written);
            if let Err(error) = self.medium.set_len(cut) {
                self.unusable = Some("the file could not be cut back; open the index again");
                return Err(self.io("cut")(error));
            }
            self.written = cut;
            // Other blocks may come to lie where some have been checked.
            self.view = self.view.forgetful(cut);
        }
        self.append_failed = false;
        self.cover = self.cover_at_head.clone();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_keeps_small_blocks_in_their_page_and_can_always_be_written() {
        let page = PAGE_BYTES as u64;
        for offset in (0..page).step_by(16) {
            for span in (32..=page + 64).step_by(16) {
                let padding = page_padding(offset, span);
                let start = (offset + padding) % page;
                assert!(padding == 0 || padding >= HEADER_BYTES as u64);
                assert!(padding <= page + 16);
                assert!(span > page || start + span <= page, "{offset} {span} {padding}");
            }
        }
    }
}
