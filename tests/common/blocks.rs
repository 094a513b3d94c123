//! The golden indexes, and where the blocks of an index lie.
#![allow(dead_code)]

use plica::format::block::{BlockHeader, BlockKind, HEADER_BYTES};
use plica::format::limits::FIRST_BLOCK_OFFSET;
use plica::format::page::FilePage;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Name and bytes of each golden index.
pub fn golden_indexes() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("format/golden");
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|extension| extension == "plica"));
    found.sort();
    assert!(!found.is_empty());
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    found.into_iter().map(|path| (name(&path), std::fs::read(&path).unwrap())).collect()
}

/// Kind and place of every block of a sound file.
pub fn blocks(bytes: &[u8]) -> Vec<(BlockKind, Range<usize>)> {
    let id = FilePage::decode(&bytes[..4096]).unwrap().file_id;
    let (mut at, mut blocks) = (FIRST_BLOCK_OFFSET as usize, Vec::new());
    while at < bytes.len() {
        let header: &[u8; HEADER_BYTES] = bytes[at..].first_chunk().unwrap();
        let header = BlockHeader::decode(header, &id, at as u64).unwrap();
        let end = at + header.span_bytes() as usize;
        blocks.push((header.kind, at..end));
        at = end;
    }
    blocks
}
