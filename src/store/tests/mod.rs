//! Tests of the store as a whole.

mod crash;
mod failure;
mod file;
mod reading;
mod stale;

use super::simulated::Disk;
use super::writer::RecoveryReport;
use super::{Durability, StoreWriter, WriteOptions};
use crate::format::block::{BlockKind, Reference};
use crate::format::page::{MemoryScope, Parameters};

/// Creation parameters for any test.
fn parameters() -> Parameters {
    Parameters { fanout: 8, chunk_words: 500, memory: MemoryScope::Document, tokenizer: 1 }
}

/// Options under which a file comes out the same each time.
fn options(salt: u64) -> WriteOptions {
    WriteOptions { salt: Some(salt), file_id: Some([7; 16]), timestamps: false, ..WriteOptions::default() }
}

/// Creates an index on a simulated disk.
fn create(disk: &Disk, name: &str, options: &WriteOptions) -> crate::Result<StoreWriter> {
    StoreWriter::create_simulated(disk, name, parameters(), options)
}

/// Opens an index on a simulated disk for writing.
fn open(disk: &Disk, name: &str, options: &WriteOptions) -> crate::Result<(StoreWriter, RecoveryReport)> {
    StoreWriter::open_simulated(disk, name, options)
}

/// A payload that says which block of which commit it is, `length` bytes long.
fn payload(commit: u64, block: u64, length: usize) -> Vec<u8> {
    let text = format!("block {block} of commit {commit}, and more words about it. ");
    text.bytes().cycle().take(length).collect()
}

/// References as the state of a commit.
fn encode_state(references: &[Reference]) -> Vec<u8> {
    let mut state = Vec::new();
    references.iter().for_each(|reference| reference.encode(&mut state));
    state
}

/// References from the state of a commit.
fn decode_state(state: &[u8]) -> Vec<Reference> {
    let mut reader = crate::format::bytes::Reader::new("state", state);
    let mut references = Vec::new();
    while !reader.is_empty() {
        references.push(Reference::decode_any(&mut reader).unwrap());
    }
    references
}

/// Appends blocks of several kinds and sizes and commits them; the state refers to all blocks so far.
fn commit_blocks(writer: &mut StoreWriter, count: u64, durability: Durability) -> crate::Result<super::Head> {
    let mut references = decode_state(&writer.head().commit.state);
    let number = writer.head().commit.sequence + 1;
    for block in 0..count {
        let kind = [BlockKind::Text, BlockKind::Fold, BlockKind::Leaf][(block % 3) as usize];
        let bytes = payload(number, block, 40 + (number * 977 + block * 1_731) as usize % 5_000);
        references.push(writer.append(kind, &bytes, block % 2 == 0)?);
    }
    writer.commit(encode_state(&references), durability)
}
