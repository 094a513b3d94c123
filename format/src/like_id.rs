//! An id with which a header passes, for a file that has lost its own.
//!
//! The checksum of a header runs over its fields, the id of the file, and the offset. A CRC is linear, so the id adds 32
//! bits to it, whatever it is; and for any such 32 bits there is one id that starts with twelve zeros. It serves to tell the
//! headers of one file from chance, and for nothing else.

use crate::block::{BlockHeader, FileId, HEADER_BYTES};

/// The polynomial of CRC-32, reflected.
const POLYNOMIAL: u32 = 0xEDB8_8320;

/// The state of a CRC before a byte was taken in, from that after it.
fn before(state: u32, byte: u8) -> u32 {
    let mut state = state;
    for _ in 0..8 {
        // The highest bit of the polynomial is set, so it shows whether the polynomial was added.
        state = match state >> 31 {
            1 => (state ^ POLYNOMIAL) << 1 | 1,
            _ => state << 1,
        };
    }
    state ^ u32::from(byte)
}

impl BlockHeader {
    /// An id of the form of twelve zeros and four bytes with which the checksum of a header at `offset` is right. All headers
    /// of one file give the same one.
    pub fn like_id(header: &[u8; HEADER_BYTES], offset: u64) -> FileId {
        let (fields, checksum) = header.split_at(Self::CHECKED_BYTES);
        let checksum = checksum.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(fields);
        hasher.update(&[0; 12]);
        let reached = !hasher.finalize();
        // Back from the end, over the offset, and over four bytes as if they were zeros: what is missing are the four bytes.
        let wanted = offset.to_le_bytes().iter().rev().fold(!checksum, |state, &byte| before(state, byte));
        let wanted = (0..4).fold(wanted, |state, _| before(state, 0));
        let mut id = [0; 16];
        if let Some(end) = id.last_chunk_mut() {
            *end = (reached ^ wanted).to_le_bytes();
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{BlockKind, Codec};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_headers_of_a_file_pass_with_one_id(
            id: FileId,
            headers in prop::collection::vec((0u32..60_000, any::<u32>(), any::<u64>(), 1_280u64..1 << 40), 1..10),
        ) {
            let mut found = Vec::new();
            for (stored_bytes, payload_checksum, salt, place) in headers {
                let header = BlockHeader {
                    kind: BlockKind::Leaf,
                    codec: Codec::Stored,
                    stored_bytes,
                    raw_bytes: stored_bytes,
                    payload_checksum,
                    salt,
                };
                let bytes = header.encode(&id, place * 16);
                let like = BlockHeader::like_id(&bytes, place * 16);
                prop_assert_eq!(BlockHeader::decode(&bytes, &like, place * 16), Ok(header));
                found.push(like);
            }
            found.dedup();
            prop_assert_eq!(found.len(), 1);
        }
    }
}
