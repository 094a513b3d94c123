//! The blocks of a file, one after another.

use plica::format::block::{BlockHeader, BlockKind, Codec, HEADER_BYTES};
use plica::format::limits::FIRST_BLOCK_OFFSET;
use plica::format::page::FilePage;

/// A block and its payload, decoded.
pub struct Block {
    pub offset: u64,
    pub header: BlockHeader,
    pub raw: Vec<u8>,
}

/// All blocks; those that are compressed with a dictionary by the last one before them.
pub fn blocks(bytes: &[u8]) -> Vec<Block> {
    let id = FilePage::decode(&bytes[..4096]).unwrap().file_id;
    let (mut at, mut blocks, mut dictionary) = (FIRST_BLOCK_OFFSET as usize, Vec::new(), Vec::new());
    while at < bytes.len() {
        let header = BlockHeader::decode(&bytes[at..at + HEADER_BYTES], &id, at as u64).unwrap();
        let stored = &bytes[at + HEADER_BYTES..][..header.stored_bytes as usize];
        let length = header.raw_bytes as usize;
        let raw = match header.codec {
            Codec::Stored => stored.to_vec(),
            Codec::Zstd => zstd::bulk::decompress(stored, length).unwrap(),
            Codec::ZstdWithDictionary => {
                let mut decoder = zstd::bulk::Decompressor::with_dictionary(&dictionary).unwrap();
                decoder.decompress(stored, length).unwrap()
            }
        };
        if header.kind == BlockKind::Dictionary {
            dictionary.clone_from(&raw);
        }
        blocks.push(Block { offset: at as u64, header, raw });
        at += header.span_bytes() as usize;
    }
    blocks
}
