//! Sound encodings of every structure, taken from sound indexes, for a fuzzer to change.

use crate::edit::edit_bytes;
use crate::forge::{Forge, repair_fst};
use crate::walk::GOLDEN;
use plica::format::block::{BlockKind, HEADER_BYTES, payload_checksum, span_bytes};
use plica::format::key;
use plica::format::leaf::{LeafBuilder, LeafForm};
use plica::format::limits::{FIRST_BLOCK_OFFSET, PAGE_BYTES};
use plica::format::quote::{Piece, Quote, Quoted};
use std::sync::OnceLock;

/// Structures that there are.
pub const STRUCTURES: usize = 23;
/// The file id that pages and headers are decoded with.
pub const FILE_ID: [u8; 16] = [7; 16];

type Seeds = [Vec<Vec<u8>>; STRUCTURES];

fn seeds() -> &'static Seeds {
    static SEEDS: OnceLock<Seeds> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let mut seeds = Seeds::default();
        let small = (0..3).map(plica::simulation::small_index);
        for file in small.chain(GOLDEN.iter().map(|file| file.to_vec())) {
            harvest(&Forge::new(&file), &mut seeds);
        }
        let mut lines = LeafBuilder::new();
        (0..400u32).for_each(|n| lines.push(format!("line {n:04}").as_bytes(), &[2, n as u8]).unwrap());
        seeds[4].extend(lines.finish_as(LeafForm::Fst));
        let quote = Piece::Quote(Quote { ordinal: 3, start: 5, bytes: 20, squeezed: true });
        let quoted = Quoted { pieces: vec![Piece::Literal("both ".into()), quote] };
        let mut out = Vec::new();
        quoted.encode(&mut 9, &mut out);
        seeds[21].push(out);
        seeds
    })
}

fn harvest(forge: &Forge, seeds: &mut Seeds) {
    seeds[0].push(forge.page.encode());
    seeds[1].extend(forge.slots.iter().filter(|slot| slot.page == 1).map(|slot| slot.encode()));
    seeds[22].push(forge.read_state().encode());
    let file = forge.build();
    let mut at = FIRST_BLOCK_OFFSET as usize;
    for (number, block) in forge.blocks.iter().enumerate() {
        seeds[2].push(file[at..at + HEADER_BYTES].to_vec());
        at += span_bytes(block.name.stored_bytes) as usize;
        let into = match block.kind {
            BlockKind::Commit => 3,
            BlockKind::Leaf => 4,
            BlockKind::Separator => 5,
            BlockKind::Postings => 6,
            BlockKind::Metadata => 14,
            BlockKind::Fold => 15,
            BlockKind::Outline => 18,
            _ => continue,
        };
        seeds[into].push(block.raw.clone());
        if block.kind != BlockKind::Leaf {
            continue;
        }
        for (key, value) in forge.entries(number) {
            let into: &[usize] = match key[0] {
                key::POSTINGS => &[6, 7],
                key::CHUNK_ENTITIES | key::ENTITY_ALIAS | key::ENTITY_CHUNKS | key::ENTITY_DESCRIPTION => &[8],
                key::CHUNK_PLACES => &[9],
                key::CHUNK_TEXTS => &[10],
                key::ENTITY_PART => &[11],
                key::ENTITY_ROWS => &[12],
                key::SUMMARY_ROWS => &[13],
                key::DOCUMENT => &[14],
                key::RECORD => &[16],
                key::OUTLINE => &[19],
                key::CATEGORY => &[20],
                _ => &[],
            };
            // As it is without what a leaf puts before it.
            let value = if value.first() == Some(&0) { &value[1..] } else { &value };
            into.iter().filter(|_| value.first() != Some(&1) || key[0] != key::POSTINGS).for_each(|&at| {
                seeds[at].push(value.to_vec());
            });
            if (key::RECORD..=key::RECORD_BY_COARSE).contains(&key[0]) {
                seeds[17].push(key);
            }
        }
    }
}

/// A sound encoding of a structure, changed as bytes say, with the checksums of its own put right.
pub fn changed(structure: usize, bytes: &[u8]) -> Vec<u8> {
    let seeds = &seeds()[structure];
    let (Some((&[low, high], edits)), false) = (bytes.split_first_chunk(), seeds.is_empty()) else {
        return bytes.to_vec();
    };
    let mut out = seeds[usize::from(u16::from_le_bytes([low, high])) % seeds.len()].clone();
    for &[what, low, high, d, e] in edits.as_chunks::<5>().0.iter().take(16) {
        edit_bytes(&mut out, [what & 7, low, high, d, e]);
    }
    match structure {
        0 | 1 => {
            out.resize(PAGE_BYTES, 0);
            if structure == 1 {
                // All slots are held against the same file.
                out[32..48].copy_from_slice(&FILE_ID);
            }
            let checksum = payload_checksum(&out[..PAGE_BYTES - 4]);
            out[PAGE_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
        }
        2 => {
            out.resize(HEADER_BYTES, 0);
            let text = [&out[..28], &FILE_ID, &FIRST_BLOCK_OFFSET.to_le_bytes()].concat();
            out[28..].copy_from_slice(&payload_checksum(&text).to_le_bytes());
        }
        4 => repair_fst(&mut out),
        _ => {}
    }
    out
}
