//! Segments: immutable sorted maps from byte keys to byte values, over checked blocks.
//!
//! A segment is leaves of at most 64 KiB under separator pages, built bottom up in one pass. [`Dictionary`] holds the
//! segments of one commit, oldest first; [`SegmentBuilder`] writes one; [`MergeCursor`] walks several in key order.
//! What the keys mean is not known here (see [`plica_format::key`]).

mod build;
mod cursor;
mod pages;
mod read;

pub(crate) use build::SegmentBuilder;
pub(crate) use cursor::MergeCursor;
pub(crate) use pages::PageCache;
pub(crate) use read::{Dictionary, SegmentView};

use crate::store::{Blocks, StoreWriter};
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::bytes::Reader;
use plica_format::limits::{INLINE_VALUE_BYTES, LEAF_RAW_BYTES};

const INLINE: u8 = 0;
const IN_A_BLOCK: u8 = 1;

/// Writes a value as its leaf will hold it: itself, or a reference to a block of its own.
pub(crate) fn store_value(store: &mut StoreWriter, value: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(value.len().min(INLINE_VALUE_BYTES) + 1);
    if value.len() <= INLINE_VALUE_BYTES {
        if value.first().is_some_and(|&first| first <= IN_A_BLOCK) {
            out.push(INLINE);
        }
        out.extend_from_slice(value);
    } else {
        if value.len() > LEAF_RAW_BYTES {
            return Err(Error::Limit {
                what: "the length of a value in bytes",
                limit: LEAF_RAW_BYTES as u64,
                got: value.len() as u64,
            });
        }
        out.push(IN_A_BLOCK);
        store.append(BlockKind::Value, value, true)?.encode(&mut out);
    }
    Ok(out)
}

/// Hands the value that a leaf holds to `use_it`.
pub(crate) fn load_value<T>(
    blocks: &Blocks,
    leaf: &Reference,
    stored: &[u8],
    use_it: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<T> {
    match stored.first() {
        Some(&INLINE | &IN_A_BLOCK) => match value_block(leaf, stored)? {
            None => use_it(stored.get(1..).unwrap_or_default()),
            Some(reference) => use_it(&blocks.read(&reference)?),
        },
        _ => use_it(stored),
    }
}

/// The block that holds a value, where it is not in the leaf itself.
pub(crate) fn value_block(leaf: &Reference, stored: &[u8]) -> Result<Option<Reference>> {
    if stored.first().is_none_or(|&first| first > IN_A_BLOCK) {
        return Ok(None);
    }
    let mut reader = Reader::new("value", stored);
    let parse = |reader: &mut Reader<'_>| match reader.u8()? {
        INLINE => match stored.get(1) {
            Some(&first) if first <= IN_A_BLOCK => Ok(None),
            _ => Err(reader.fail("a value that begins with 0 or 1 behind a 0", "another")),
        },
        IN_A_BLOCK => {
            let reference = Reference::decode(reader, BlockKind::Value)?;
            if reference.end() > leaf.offset {
                return Err(reader.fail("a value that lies before its leaf", reference.offset));
            }
            if !reader.is_empty() {
                return Err(reader.fail("the end", "more bytes"));
            }
            Ok(Some(reference))
        }
        other => Err(reader.fail("0 or 1", other)),
    };
    parse(&mut reader).map_err(Error::damaged_block(leaf))
}
