//! Block headers and checked references.
//!
//! All that is not page 0 or a slot lies in blocks: a header of 32 bytes and a payload, both 16-byte aligned. The
//! header describes the block by itself, so a damaged file can be walked without one good pointer; its checksum is
//! seeded with the file id and the block's offset, so a block that was moved or forged does not pass. A
//! [`Reference`] repeats kind, length and payload checksum: the parent vouches for the child.

use crate::FormatError;
use crate::bytes::{Reader, put_varint};
use crate::limits::{
    BLOCK_ALIGN_BYTES, BLOCK_RAW_BYTES, COMMIT_RAW_BYTES, EXPANSION_RATIO, EXPANSION_SLACK_BYTES, FIRST_BLOCK_OFFSET,
    LEAF_RAW_BYTES, OFFSET_BOUND, OUTLINE_PAGE_BYTES, SEPARATOR_RAW_BYTES,
};

/// Bytes of a block header.
pub const HEADER_BYTES: usize = 32;
/// First four bytes of every block header.
pub const BLOCK_MAGIC: [u8; 4] = *b"PlBk";

/// 16 random bytes that name a file; blocks of one file do not pass in another.
pub type FileId = [u8; 16];

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum BlockKind {
    /// Zeros that move the next block to a page boundary.
    Padding = 0,
    /// A commit block ([`crate::commit`]).
    Commit = 1,
    /// A dictionary leaf ([`crate::leaf`]).
    Leaf = 2,
    /// A page of keys and references above the leaves ([`crate::separator`]).
    Separator = 3,
    /// A page of a document's fold tree ([`crate::fold`]).
    Fold = 4,
    /// The titles and texts of one or more chunks, one after another.
    Text = 5,
    /// A value too long to lie in its leaf.
    Value = 6,
    /// A piece of a long posting list ([`crate::postings`]).
    Postings = 7,
    /// A document's long title and its metadata ([`crate::document`]).
    Metadata = 8,
    /// A page of a document's outline ([`crate::outline`]).
    Outline = 9,
    /// What the payloads of other blocks are compressed with: a zstd dictionary.
    Dictionary = 10,
}

impl BlockKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 11] = [
        Self::Padding,
        Self::Commit,
        Self::Leaf,
        Self::Separator,
        Self::Fold,
        Self::Text,
        Self::Value,
        Self::Postings,
        Self::Metadata,
        Self::Outline,
        Self::Dictionary,
    ];

    /// The kind with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The word for it in messages and in `stat`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Padding => "padding",
            Self::Commit => "commit",
            Self::Leaf => "leaf",
            Self::Separator => "separator",
            Self::Fold => "fold",
            Self::Text => "text",
            Self::Value => "value",
            Self::Postings => "postings",
            Self::Metadata => "metadata",
            Self::Outline => "outline",
            Self::Dictionary => "dictionary",
        }
    }

    /// Greatest raw payload of a block of this kind.
    pub fn raw_limit(self) -> usize {
        match self {
            Self::Commit => COMMIT_RAW_BYTES,
            Self::Separator => SEPARATOR_RAW_BYTES,
            Self::Leaf | Self::Value | Self::Postings => LEAF_RAW_BYTES,
            Self::Fold | Self::Metadata | Self::Dictionary => LEAF_RAW_BYTES.saturating_mul(2),
            Self::Outline => OUTLINE_PAGE_BYTES,
            Self::Padding | Self::Text => BLOCK_RAW_BYTES,
        }
    }

    /// Whether a block of at most a page is kept from straddling a page boundary.
    pub fn stays_in_page(self) -> bool {
        matches!(self, Self::Fold | Self::Separator)
    }
}

/// How a payload is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Codec {
    /// As it is.
    Stored = 0,
    /// One zstd frame with its content size, no dictionary, no checksum.
    Zstd = 1,
    /// The same form of frame, made with the dictionary that the state of the index names. The frame does not name it.
    ZstdWithDictionary = 2,
}

/// The decoded header of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHeader {
    /// What the block holds.
    pub kind: BlockKind,
    /// How the payload is stored.
    pub codec: Codec,
    /// Bytes of the payload in the file.
    pub stored_bytes: u32,
    /// Bytes of the payload after decoding.
    pub raw_bytes: u32,
    /// CRC-32 of the stored payload.
    pub payload_checksum: u32,
    /// Salt of the writer session that wrote the block.
    pub salt: u64,
}

impl Codec {
    /// Whether a payload of so many raw bytes may be stored in so many.
    #[inline]
    fn may_hold(self, stored_bytes: u32, raw_bytes: u32) -> bool {
        match self {
            Self::Stored => stored_bytes == raw_bytes,
            Self::Zstd | Self::ZstdWithDictionary => {
                stored_bytes < raw_bytes
                    && u64::from(stored_bytes).saturating_mul(EXPANSION_RATIO).saturating_add(EXPANSION_SLACK_BYTES)
                        >= u64::from(raw_bytes)
            }
        }
    }
}

impl BlockHeader {
    /// Bytes of a header before its checksum.
    pub const CHECKED_BYTES: usize = 28;

    /// The 32 bytes of this header for a block at `offset` of the file `file_id`.
    pub fn encode(&self, file_id: &FileId, offset: u64) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        let (mut rest, _) = header.split_at_mut(Self::CHECKED_BYTES);
        let mut put = |bytes: &[u8]| {
            if let Some((place, after)) = std::mem::take(&mut rest).split_at_mut_checked(bytes.len()) {
                place.copy_from_slice(bytes);
                rest = after;
            }
        };
        put(&BLOCK_MAGIC);
        put(&[self.kind as u8, self.codec as u8, 0, 0]);
        put(&self.stored_bytes.to_le_bytes());
        put(&self.raw_bytes.to_le_bytes());
        put(&self.payload_checksum.to_le_bytes());
        put(&self.salt.to_le_bytes());
        let (fields, checksum) = header.split_at_mut(Self::CHECKED_BYTES);
        checksum.copy_from_slice(&header_checksum(fields, file_id, offset).to_le_bytes());
        header
    }

    /// Reads the header at `offset`; all its fields are checked, the payload is not looked at.
    pub fn decode(bytes: &[u8], file_id: &FileId, offset: u64) -> Result<Self, FormatError> {
        let mut reader = Reader::new("block header", bytes);
        let magic: [u8; 4] = reader.array()?;
        if magic != BLOCK_MAGIC {
            return Err(FormatError::new("block header", 0, "the block magic", format_args!("{magic:02x?}")));
        }
        let kind = reader.u8()?;
        let codec = reader.u8()?;
        let reserved = reader.u16()?;
        let stored_bytes = reader.u32()?;
        let raw_bytes = reader.u32()?;
        let payload_checksum = reader.u32()?;
        let salt = reader.u64()?;
        let checksum = reader.u32()?;
        let computed = header_checksum(bytes.get(..Self::CHECKED_BYTES).unwrap_or_default(), file_id, offset);
        if checksum != computed {
            return Err(FormatError::new(
                "block header",
                28,
                format!("checksum {computed:08x}"),
                format_args!("{checksum:08x}"),
            ));
        }
        let kind = BlockKind::from_number(kind)
            .ok_or_else(|| FormatError::new("block header", 4, "a known block kind", kind))?;
        let codec = match codec {
            0 => Codec::Stored,
            1 => Codec::Zstd,
            // The blocks that lead to the dictionary can be read without it.
            2 if !matches!(kind, BlockKind::Commit | BlockKind::Dictionary | BlockKind::Padding) => {
                Codec::ZstdWithDictionary
            }
            _ => {
                return Err(FormatError::new(
                    "block header",
                    5,
                    "a codec that is known and that the kind may have",
                    codec,
                ));
            }
        };
        if reserved != 0 {
            return Err(FormatError::new("block header", 6, "two zero bytes", reserved));
        }
        if raw_bytes as usize > kind.raw_limit() {
            return Err(FormatError::new(
                "block header",
                12,
                format!("at most {} raw bytes in a {} block", kind.raw_limit(), kind.name()),
                raw_bytes,
            ));
        }
        let plausible = codec.may_hold(stored_bytes, raw_bytes);
        if !plausible {
            return Err(FormatError::new(
                "block header",
                8,
                "stored and raw lengths that fit the codec",
                format_args!("{stored_bytes} stored, {raw_bytes} raw, codec {codec:?}"),
            ));
        }
        Ok(Self { kind, codec, stored_bytes, raw_bytes, payload_checksum, salt })
    }

    /// Reads the header of a block again that [`decode`](Self::decode) has passed before, without its checksum: kind and
    /// codec are looked at, and that the raw length is one they may have, so that nothing is allocated by a claim; the rest
    /// is taken as it stands.
    #[inline]
    pub fn trusted(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let &[_, _, _, _, kind, codec, _, _, s0, s1, s2, s3, r0, r1, r2, r3, c0, c1, c2, c3, ref rest @ ..] = bytes;
        let codec = match codec {
            0 => Codec::Stored,
            1 => Codec::Zstd,
            2 => Codec::ZstdWithDictionary,
            _ => return None,
        };
        let kind = BlockKind::from_number(kind)?;
        let [stored_bytes, raw_bytes] = [[s0, s1, s2, s3], [r0, r1, r2, r3]].map(u32::from_le_bytes);
        if raw_bytes as usize > kind.raw_limit() || !codec.may_hold(stored_bytes, raw_bytes) {
            return None;
        }
        Some(Self {
            kind,
            codec,
            stored_bytes,
            raw_bytes,
            payload_checksum: u32::from_le_bytes([c0, c1, c2, c3]),
            salt: rest.first_chunk().map_or(0, |salt| u64::from_le_bytes(*salt)),
        })
    }

    /// Bytes from this block's header to where the next block may start: header, payload, zeros up to the alignment.
    pub fn span_bytes(&self) -> u64 {
        span_bytes(self.stored_bytes)
    }
}

/// Bytes that a block with this many stored payload bytes takes in the file.
pub fn span_bytes(stored_bytes: u32) -> u64 {
    (HEADER_BYTES as u64).saturating_add(u64::from(stored_bytes)).next_multiple_of(BLOCK_ALIGN_BYTES)
}

/// CRC-32 of a header's first 28 bytes (zeros where there are fewer), then the file id, then the offset.
fn header_checksum(head: &[u8], file_id: &FileId, offset: u64) -> u32 {
    // One pass over one short text is quicker than three.
    let mut text = [0; BlockHeader::CHECKED_BYTES + 16 + 8];
    let (fields, rest) = text.split_at_mut(BlockHeader::CHECKED_BYTES);
    let (id, place) = rest.split_at_mut(file_id.len());
    for (to, from) in fields.iter_mut().zip(head) {
        *to = *from;
    }
    id.copy_from_slice(file_id);
    place.copy_from_slice(&offset.to_le_bytes());
    crc32fast::hash(&text)
}

/// Checks that a stored payload is one zstd frame in the only form the format has, so that a decoder needs no memory
/// but the `raw_bytes` it writes to: content size recorded and equal to `raw_bytes`, single segment (the window is the
/// content), no dictionary, no checksum. That the frame ends with the payload is left to the decoder.
pub fn check_zstd_frame(stored: &[u8], raw_bytes: u32) -> Result<(), FormatError> {
    let mut reader = Reader::new("zstd frame", stored);
    let magic = reader.u32()?;
    if magic != ZSTD_MAGIC {
        return Err(FormatError::new("zstd frame", 0, format!("magic {ZSTD_MAGIC:08x}"), format_args!("{magic:08x}")));
    }
    let descriptor = reader.u8()?;
    if descriptor & 0b0011_1111 != 0b0010_0000 {
        return Err(reader.fail("a single segment without dictionary and checksum", format_args!("{descriptor:08b}")));
    }
    let content = match descriptor >> 6 {
        0 => u64::from(reader.u8()?),
        1 => u64::from(reader.u16()?).saturating_add(256),
        2 => u64::from(reader.u32()?),
        _ => reader.u64()?,
    };
    if content != u64::from(raw_bytes) {
        return Err(FormatError::new("zstd frame", 5, format!("a content size of {raw_bytes}"), content));
    }
    Ok(())
}

/// First four bytes of a zstd frame, as a little-endian number.
const ZSTD_MAGIC: u32 = 0xFD2F_B528;

/// CRC-32 of a payload as stored.
pub fn payload_checksum(payload: &[u8]) -> u32 {
    crc32fast::hash(payload)
}

/// A checked pointer to a block: where it is, and what it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reference {
    /// Offset of the block's header in the file.
    pub offset: u64,
    /// Stored payload bytes.
    pub stored_bytes: u32,
    /// Kind of the block.
    pub kind: BlockKind,
    /// CRC-32 of the stored payload.
    pub checksum: u32,
}

impl Reference {
    /// Appends the reference: offset / 16 and stored length as varints, kind, checksum.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.offset / BLOCK_ALIGN_BYTES);
        put_varint(out, u64::from(self.stored_bytes));
        out.push(self.kind as u8);
        out.extend_from_slice(&self.checksum.to_le_bytes());
    }

    /// Reads a reference, which must be to a block of `kind`.
    pub fn decode(reader: &mut Reader<'_>, kind: BlockKind) -> Result<Self, FormatError> {
        let reference = Self::decode_any(reader)?;
        if reference.kind != kind {
            return Err(reader.fail("a reference to a block of the right kind", reference.kind.name()));
        }
        Ok(reference)
    }

    /// Reads a reference to a block of any kind.
    pub fn decode_any(reader: &mut Reader<'_>) -> Result<Self, FormatError> {
        let offset = reader.varint()?.checked_mul(BLOCK_ALIGN_BYTES);
        let Some(offset) = offset.filter(|&offset| (FIRST_BLOCK_OFFSET..OFFSET_BOUND).contains(&offset)) else {
            return Err(reader.fail("an offset in the block area", "one outside it"));
        };
        let stored_bytes = reader.varint32()?;
        let kind = reader.u8()?;
        let kind = BlockKind::from_number(kind).ok_or_else(|| reader.fail("a known block kind", kind))?;
        if stored_bytes as usize > kind.raw_limit() {
            return Err(reader.fail("a stored length within the kind's limit", stored_bytes));
        }
        let checksum = reader.u32()?;
        Ok(Self { offset, stored_bytes, kind, checksum })
    }

    /// Offset just after the block and its padding.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(span_bytes(self.stored_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: FileId = [7; 16];

    fn header() -> BlockHeader {
        BlockHeader {
            kind: BlockKind::Text,
            codec: Codec::Stored,
            stored_bytes: 10,
            raw_bytes: 10,
            payload_checksum: 5,
            salt: 9,
        }
    }

    #[test]
    fn a_header_passes_only_at_its_own_offset_in_its_own_file() {
        let bytes = header().encode(&ID, 20_480);
        assert_eq!(BlockHeader::decode(&bytes, &ID, 20_480).unwrap(), header());
        assert!(BlockHeader::decode(&bytes, &ID, 20_496).is_err());
        assert!(BlockHeader::decode(&bytes, &[8; 16], 20_480).is_err());
    }

    #[test]
    fn a_header_is_read_again_as_it_was_decoded() {
        for kind in BlockKind::ALL {
            for (codec, raw_bytes) in [(Codec::Stored, 10), (Codec::Zstd, 20), (Codec::ZstdWithDictionary, 20)] {
                let bytes = BlockHeader { kind, codec, raw_bytes, ..header() }.encode(&ID, 20_480);
                if let Ok(decoded) = BlockHeader::decode(&bytes, &ID, 20_480) {
                    assert_eq!(BlockHeader::trusted(&bytes), Some(decoded));
                }
            }
        }
    }

    #[test]
    fn a_header_whose_lengths_were_damaged_since_is_not_trusted() {
        for (codec, raw_bytes) in [(Codec::Stored, 10), (Codec::Zstd, 20)] {
            let bytes = BlockHeader { codec, raw_bytes, ..header() }.encode(&ID, 20_480);
            let with = |at: usize, byte: u8| {
                let mut bytes = bytes;
                bytes[at] = byte;
                BlockHeader::trusted(&bytes)
            };
            assert!(with(12, raw_bytes as u8).is_some());
            // More than the kind may have, or than can be stored in so little; the other codec.
            for (at, byte) in [(15, 0xff), (14, 0x7f), (12, 0), (5, 1 - codec as u8)] {
                assert_eq!(with(at, byte), None, "{codec:?}, byte {at}");
            }
        }
    }

    #[test]
    fn what_leads_to_a_dictionary_is_never_compressed_with_one() {
        let with = |kind| BlockHeader { kind, codec: Codec::ZstdWithDictionary, raw_bytes: 20, ..header() };
        for kind in BlockKind::ALL {
            let bytes = with(kind).encode(&ID, 20_480);
            let leads = matches!(kind, BlockKind::Commit | BlockKind::Dictionary | BlockKind::Padding);
            assert_eq!(BlockHeader::decode(&bytes, &ID, 20_480).is_err(), leads, "{kind:?}");
        }
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_noticed() {
        let bytes = header().encode(&ID, 20_480);
        for bit in 0..HEADER_BYTES * 8 {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(BlockHeader::decode(&bad, &ID, 20_480).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_reference_reads_back_and_its_kind_is_demanded() {
        let reference = Reference { offset: 20_480, stored_bytes: 300, kind: BlockKind::Leaf, checksum: 77 };
        let mut out = Vec::new();
        reference.encode(&mut out);
        assert_eq!(Reference::decode(&mut Reader::new("test", &out), BlockKind::Leaf).unwrap(), reference);
        assert!(Reference::decode(&mut Reader::new("test", &out), BlockKind::Text).is_err());
        assert_eq!(reference.end(), 20_480 + 336);
    }
}
