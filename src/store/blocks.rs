//! Checked blocks of one snapshot.
//!
//! [`Blocks`] answers a [`Reference`] with the payload it names, or with an error that says what is wrong and where.
//! At every touch the block's header is compared with the reference; its own checksum, the payload's, and the zeros
//! behind that are verified when a block is first touched while the file is open, and remembered. A reference that leaves the
//! snapshot is refused before anything is read, and nothing is allocated beyond what a checked header within the
//! kind's limit asks for.

use super::cache::Cache;
use super::checked::{Checked, Mark};
use super::codec::{PreparedDictionary, decompress};
use super::source::Source;
use crate::{Error, Result};
use parking_lot::RwLock;
use plica_format::FormatError;
use plica_format::block::{
    BlockHeader, BlockKind, Codec, FileId, HEADER_BYTES, Reference, payload_checksum, span_bytes,
};
use plica_format::limits::{BLOCK_ALIGN_BYTES, FIRST_BLOCK_OFFSET};
use std::cell::RefCell;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

thread_local! {
    /// Where positioned reads put a whole block; at most a block's span, 1 MiB and a little.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What is remembered of a file and shared by all its snapshots.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Blocks found right.
    checked: Checked,
    /// Payloads that had to be copied.
    cache: Cache,
    /// The last dictionary that was needed.
    dictionary: RwLock<Option<(Reference, Arc<PreparedDictionary>)>>,
}

/// The blocks of one snapshot of a file; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Blocks {
    /// The file.
    source: Arc<dyn Source>,
    /// Its id, part of every header's checksum.
    file_id: FileId,
    /// Where the snapshot ends.
    end: u64,
    /// The dictionary of the snapshot, where it has one.
    dictionary: Option<Reference>,
    /// Shared with the file's other snapshots.
    shared: Arc<Shared>,
}

/// A block's payload, decoded.
#[derive(Debug, Clone)]
pub(crate) struct Payload<'a> {
    /// The bytes.
    bytes: Bytes<'a>,
}

/// Whose the bytes are.
#[derive(Debug, Clone)]
enum Bytes<'a> {
    /// The source's.
    Borrowed(&'a [u8]),
    /// A copy's or a decoder's.
    Owned(Arc<[u8]>),
}

impl Deref for Payload<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Owned(bytes) => bytes,
        }
    }
}

/// Damage at `offset`.
pub(crate) fn damaged(offset: u64, what: impl Into<String>, detail: impl Into<String>) -> Error {
    Error::Damaged { offset, what: what.into(), detail: detail.into() }
}

/// An error of reading at `offset`: bytes that are missing are damage, all else is the system's.
pub(crate) fn read_failed(offset: u64, what: &str) -> impl FnOnce(io::Error) -> Error {
    move |error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged(offset, what, "the file ends before it does"),
        _ => Error::Io { action: "read", path: None, source: error },
    }
}

impl Blocks {
    /// The blocks of `source` that end at or before `end`, which the file must be known to reach.
    pub(crate) fn new(source: Arc<dyn Source>, file_id: FileId, end: u64) -> Self {
        Self { source, file_id, end, dictionary: None, shared: Arc::default() }
    }

    /// The same file up to another end, with what is known of it; by another source where one is given.
    pub(crate) fn with_end(&self, end: u64, source: Option<Arc<dyn Source>>) -> Self {
        Self {
            source: source.unwrap_or_else(|| self.source.clone()),
            file_id: self.file_id,
            end,
            dictionary: self.dictionary,
            shared: self.shared.clone(),
        }
    }

    /// The same blocks, of which those that are compressed with a dictionary have this one.
    pub(crate) fn with_dictionary(&self, dictionary: Option<Reference>) -> Self {
        Self { dictionary, ..self.clone() }
    }

    /// The same file, with nothing remembered of it.
    pub(crate) fn forgetful(&self, end: u64) -> Self {
        Self { end, shared: Arc::default(), ..self.clone() }
    }

    /// Where the snapshot ends.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// The id of the file.
    pub(crate) fn file_id(&self) -> &FileId {
        &self.file_id
    }

    /// Whether the block's payload has been verified while the file is open.
    #[cfg(test)]
    pub(crate) fn is_checked(&self, reference: &Reference) -> bool {
        self.shared.checked.get(reference.offset, Mark::Payload)
    }

    /// The source beneath.
    pub(crate) fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    /// The payload of the block that `reference` names.
    pub(crate) fn read(&self, reference: &Reference) -> Result<Payload<'_>> {
        self.demand_within(reference)?;
        let span = span_bytes(reference.stored_bytes) as usize;
        let first_touch = !self.shared.checked.get(reference.offset, Mark::Payload);
        let bytes = match self.source.mapped(reference.offset, span) {
            Some(block) => {
                let header = match first_touch {
                    true => self.check_block(reference, block)?,
                    false => self.known_header(reference, block)?,
                };
                let stored = stored_part(reference, block);
                match header.codec {
                    Codec::Stored => Bytes::Borrowed(stored),
                    Codec::Zstd | Codec::ZstdWithDictionary => {
                        Bytes::Owned(self.cached(reference, || self.decode(reference, &header, stored))?)
                    }
                }
            }
            None => Bytes::Owned(self.cached(reference, || self.read_copy(reference, span))?),
        };
        if first_touch {
            self.shared.checked.set(reference.offset, Mark::Payload);
        }
        Ok(Payload { bytes })
    }

    /// As [`Blocks::read`], where the payload is not needed because it was decoded before.
    #[inline]
    pub(crate) fn touch(&self, reference: &Reference) -> Result<()> {
        if self.shared.checked.get(reference.offset, Mark::Payload)
            && reference.end() <= self.end
            && let Some(header) = self.source.mapped(reference.offset, HEADER_BYTES)
            && let Some(header) = header.first_chunk().and_then(BlockHeader::trusted)
            && agrees(&header, reference)
        {
            return Ok(());
        }
        self.read(reference).map(|_| ())
    }

    /// The payload of the block that `reference` names, its structure validated by `validate` once while the file is
    /// open: no thread gets the payload before a validation has succeeded.
    pub(crate) fn read_validated(
        &self,
        reference: &Reference,
        validate: impl FnOnce(&[u8]) -> Result<(), FormatError>,
    ) -> Result<Payload<'_>> {
        let payload = self.read(reference)?;
        if !self.shared.checked.get(reference.offset, Mark::Structure) {
            validate(&payload).map_err(Error::damaged_block(reference))?;
            self.shared.checked.set(reference.offset, Mark::Structure);
        }
        Ok(payload)
    }

    /// Walks the blocks from `from` to the end of the snapshot by their headers. Payloads are not looked at. After an
    /// error the walk is over.
    pub(crate) fn walk(&self, from: u64) -> Walk<'_> {
        Walk { blocks: self, at: from, to: self.end }
    }

    /// Refuses a reference that leaves the snapshot.
    #[inline]
    fn demand_within(&self, reference: &Reference) -> Result<()> {
        let aligned = reference.offset.is_multiple_of(BLOCK_ALIGN_BYTES);
        let small = reference.stored_bytes as usize <= reference.kind.raw_limit();
        if reference.offset >= FIRST_BLOCK_OFFSET && aligned && small && reference.end() <= self.end {
            return Ok(());
        }
        Err(self.outside(reference))
    }

    /// The error for a reference that leaves the snapshot.
    #[cold]
    fn outside(&self, reference: &Reference) -> Error {
        damaged(
            reference.offset,
            format!("reference to a {} block", reference.kind.name()),
            format!(
                "expected {} bytes within the snapshot, which ends at {}, got {}",
                reference.kind.name(),
                self.end,
                reference.stored_bytes
            ),
        )
    }

    /// The header at the start of `block`, once it agrees with the reference and the payload with both.
    #[cold]
    fn check_block(&self, reference: &Reference, block: &[u8]) -> Result<BlockHeader> {
        let header = self.check_header(reference, block)?;
        check_payload(reference, block)?;
        Ok(header)
    }

    /// The header at the start of `block`, which has been decoded before, once it agrees with the reference.
    #[inline]
    fn known_header(&self, reference: &Reference, block: &[u8]) -> Result<BlockHeader> {
        match block.first_chunk().and_then(BlockHeader::trusted) {
            Some(header) if agrees(&header, reference) => Ok(header),
            _ => self.check_header(reference, block),
        }
    }

    /// The header at the start of `block`, once it agrees with the reference.
    fn check_header(&self, reference: &Reference, block: &[u8]) -> Result<BlockHeader> {
        let header = BlockHeader::decode(&block[..HEADER_BYTES], &self.file_id, reference.offset)
            .map_err(Error::damaged_block(reference))?;
        if agrees(&header, reference) {
            return Ok(header);
        }
        let found = (header.kind, header.stored_bytes, header.payload_checksum);
        let expected = (reference.kind, reference.stored_bytes, reference.checksum);
        let show = |(kind, stored, checksum): (BlockKind, u32, u32)| {
            format!("a {} block of {stored} bytes with checksum {checksum:08x}", kind.name())
        };
        Err(damaged(
            reference.offset,
            format!("{} block", reference.kind.name()),
            format!("expected {}, got {}", show(expected), show(found)),
        ))
    }

    /// The payload by a positioned read; always verified, since it comes from the medium each time.
    fn read_copy(&self, reference: &Reference, span: usize) -> Result<Arc<[u8]>> {
        let copied = SCRATCH.with_borrow_mut(|scratch| {
            scratch.resize(span.max(scratch.len()), 0);
            let block = &mut scratch[..span];
            self.source
                .read_at(block, reference.offset)
                .map_err(read_failed(reference.offset, reference.kind.name()))?;
            let header = self.check_header(reference, block)?;
            check_payload(reference, block)?;
            let stored = stored_part(reference, block);
            match header.codec {
                Codec::Stored => Ok((None, stored.into())),
                Codec::Zstd => self.decode(reference, &header, stored).map(|raw| (None, raw)),
                // The dictionary may have to be read, by way of the same scratch.
                Codec::ZstdWithDictionary => Ok((Some(header), Arc::from(stored))),
            }
        })?;
        match copied {
            (None, raw) => Ok(raw),
            (Some(header), stored) => self.decode(reference, &header, &stored),
        }
    }

    /// The dictionary of the snapshot, for a block that is compressed with it.
    fn dictionary_of(&self, reference: &Reference) -> Result<Arc<PreparedDictionary>> {
        let what = || format!("{} block", reference.kind.name());
        let Some(dictionary) = self.dictionary.filter(|dictionary| dictionary.end() <= reference.offset) else {
            let detail = "it is compressed with a dictionary, and the commit names none that lies before it";
            return Err(damaged(reference.offset, what(), detail));
        };
        if let Some((known, prepared)) = &*self.shared.dictionary.read()
            && *known == dictionary
        {
            return Ok(Arc::clone(prepared));
        }
        let prepared = PreparedDictionary::new(&self.read(&dictionary)?)
            .ok_or_else(|| damaged(dictionary.offset, "dictionary block", "expected a dictionary of zstd"))?;
        let prepared = Arc::new(prepared);
        *self.shared.dictionary.write() = Some((dictionary, Arc::clone(&prepared)));
        Ok(prepared)
    }

    /// Decodes a zstd payload into exactly the raw length that the checked header states, which its kind limits.
    fn decode(&self, reference: &Reference, header: &BlockHeader, stored: &[u8]) -> Result<Arc<[u8]>> {
        let dictionary = match header.codec {
            Codec::ZstdWithDictionary => Some(self.dictionary_of(reference)?),
            Codec::Stored | Codec::Zstd => None,
        };
        let mut raw: Arc<[u8]> = std::iter::repeat_n(0, header.raw_bytes as usize).collect();
        if let Some(raw) = Arc::get_mut(&mut raw) {
            decompress(stored, raw, dictionary.as_deref())
                .map_err(|detail| damaged(reference.offset, format!("{} block", reference.kind.name()), detail))?;
        }
        Ok(raw)
    }

    /// The payload from the cache, or made and put there.
    fn cached(&self, reference: &Reference, make: impl FnOnce() -> Result<Arc<[u8]>>) -> Result<Arc<[u8]>> {
        if let Some(bytes) = self.shared.cache.get(reference) {
            return Ok(bytes);
        }
        let bytes = make()?;
        self.shared.cache.put(reference, &bytes);
        Ok(bytes)
    }
}

/// Whether a header is that of the block that a reference names.
#[inline]
fn agrees(header: &BlockHeader, reference: &Reference) -> bool {
    header.kind == reference.kind
        && header.stored_bytes == reference.stored_bytes
        && header.payload_checksum == reference.checksum
}

/// The stored payload within a whole block.
fn stored_part<'a>(reference: &Reference, block: &'a [u8]) -> &'a [u8] {
    &block[HEADER_BYTES..HEADER_BYTES + reference.stored_bytes as usize]
}

/// Verifies the payload's checksum and the zeros behind it.
pub(crate) fn check_payload(reference: &Reference, block: &[u8]) -> Result<()> {
    let (stored, padding) = block[HEADER_BYTES..].split_at(reference.stored_bytes as usize);
    let what = || format!("{} block", reference.kind.name());
    let computed = payload_checksum(stored);
    if computed != reference.checksum {
        let detail = format!("expected a payload with checksum {:08x}, got {computed:08x}", reference.checksum);
        return Err(damaged(reference.offset, what(), detail));
    }
    if padding.iter().any(|&byte| byte != 0) {
        return Err(damaged(reference.offset, what(), "expected zeros after the payload, got another byte"));
    }
    Ok(())
}

/// The blocks of a range, in the order of the file; see [`Blocks::walk`].
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    /// Where the blocks are.
    blocks: &'a Blocks,
    /// The next block.
    at: u64,
    /// Where the walk ends.
    to: u64,
}

/// A block met on a walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Walked {
    /// A reference to it, made from its own header.
    pub(crate) reference: Reference,
    /// Its header, decoded.
    pub(crate) header: BlockHeader,
    /// Its header as it stands.
    pub(crate) encoded: [u8; HEADER_BYTES],
}

impl Iterator for Walk<'_> {
    type Item = Result<Walked>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.to {
            return None;
        }
        let found = self.step();
        self.at = match &found {
            Ok(walked) => walked.reference.end(),
            Err(_) => self.to,
        };
        Some(found)
    }
}

impl Walk<'_> {
    fn step(&self) -> Result<Walked> {
        let offset = self.at;
        let mut encoded = [0; HEADER_BYTES];
        self.blocks.source.read_at(&mut encoded, offset).map_err(read_failed(offset, "block header"))?;
        let header = BlockHeader::decode(&encoded, &self.blocks.file_id, offset)
            .map_err(|error| damaged(offset, "block header", error.to_string()))?;
        let reference = Reference {
            offset,
            stored_bytes: header.stored_bytes,
            kind: header.kind,
            checksum: header.payload_checksum,
        };
        if reference.end() > self.to {
            return Err(damaged(
                offset,
                format!("{} block", header.kind.name()),
                format!("it passes the end, {}", self.to),
            ));
        }
        Ok(Walked { reference, header, encoded })
    }
}
