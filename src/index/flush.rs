//! From a delta in memory to a segment in the file.

use super::view::View;
use super::writer::{Writer, recount, totals_of};
use crate::dictionary::{SegmentBuilder, store_value};
use crate::store::StoreWriter;
use crate::{Error, Result};
use plica_format::block::BlockKind;
use plica_format::chunk::{encode_places, encode_texts};
use plica_format::entity::{SummaryRow, encode_rows, encode_summary_rows};
use plica_format::idset;
use plica_format::key::{self, Field, PLACES_A_BLOCK, ROWS_A_BLOCK, TEXTS_A_BLOCK};
use plica_format::limits::INLINE_VALUE_BYTES;
use plica_format::postings::{self, Bound, Piece, Posting, PostingValue};
use plica_format::state::Segment;
use std::collections::BTreeSet;

/// Writes all that is in memory; afterwards the segment is the newest of the state.
pub(super) fn flush(writer: &mut Writer) -> Result<()> {
    writer.write_texts()?;
    writer.follow_dictionary()?;
    super::outline::write_outlines(writer)?;
    for (&number, open) in &mut writer.open {
        if !open.dirty {
            continue;
        }
        open.head.pages = open.tail.write(&mut writer.store)?;
        let mut head = Vec::new();
        open.head.encode(&mut head);
        writer.delta.put(key::numbered(key::DOCUMENT, number), head);
        let now = totals_of(&open.head);
        recount(&mut writer.state.totals, &open.counted, &now);
        open.counted = now;
        open.dirty = false;
    }
    if writer.delta.is_empty() {
        return Ok(());
    }
    super::records::write_counts(writer)?;
    let start = writer.store.end();
    let hasher = writer.counter.hasher().clone();
    let mut delta = writer.delta.take(hasher, &writer.state);
    let store = &mut writer.store;
    let mut segment = SegmentBuilder::new();
    for kind in [
        key::DOCUMENT,
        key::DOCUMENT_ID,
        key::REPLACEMENT,
        key::CHUNK_PLACES,
        key::CHUNK_TEXTS,
        key::EXTERNAL_ID,
        key::CHUNK_ENTITIES,
        key::ENTITY_PART,
        key::ENTITY_ROWS,
        key::ENTITY_NAME,
        key::ENTITY_ALIAS,
        key::ENTITY_CHUNKS,
        key::DOCUMENT_ENTITIES,
        key::ENTITY_DESCRIPTION,
        key::SUMMARY_ROWS,
    ] {
        let mut push = |store: &mut StoreWriter, key: &[u8], value: &[u8]| {
            let stored = store_value(store, value)?;
            segment.push(store, key, &stored)
        };
        match key::merge_rule(&[kind]) {
            Some(key::Merge::Newest | key::Merge::Standing) => {
                for (key, value) in delta.values.range(vec![kind]..vec![kind + 1]) {
                    push(store, key, value)?;
                }
            }
            Some(key::Merge::Union) => {
                let sets = delta.sets.range(vec![kind]..vec![kind + 1]);
                let mut pieces: Vec<(Vec<u8>, Vec<u16>)> = Vec::new();
                for (set, ids) in sets {
                    split_set(set, ids.iter().copied(), &mut pieces);
                }
                // Pieces that replace what is older, and those that are empty now.
                let mut replaced = BTreeSet::new();
                for (set, numbers) in delta.replaced.range(vec![kind]..vec![kind + 1]) {
                    replaced.extend(numbers.iter().map(|&piece| piece_key(set, piece)));
                }
                let written: BTreeSet<&Vec<u8>> = pieces.iter().map(|(key, _)| key).collect();
                let emptied: Vec<_> = replaced.iter().filter(|key| !written.contains(key)).cloned().collect();
                pieces.extend(emptied.into_iter().map(|key| (key, Vec::new())));
                pieces.sort();
                for (key, lows) in pieces {
                    let mut value = Vec::new();
                    match replaced.contains(&key) {
                        true => idset::encode_replacing(&lows, &mut value),
                        false => idset::encode(&lows, &mut value),
                    }
                    .map_err(Error::encoding)?;
                    push(store, &key, &value)?;
                }
            }
            Some(key::Merge::Places) => {
                let rows: Vec<_> = delta.places.values().copied().collect();
                for rows in rows.chunk_by(|a, b| a.chunk / PLACES_A_BLOCK == b.chunk / PLACES_A_BLOCK) {
                    let mut value = Vec::new();
                    encode_places(rows, &mut value);
                    push(store, &block_key(kind, rows.first().map(|r| r.chunk), PLACES_A_BLOCK), &value)?;
                }
            }
            Some(key::Merge::Texts) => {
                let rows: Vec<_> = std::mem::take(&mut delta.texts).into_values().collect();
                for rows in rows.chunk_by(|a, b| a.chunk / TEXTS_A_BLOCK == b.chunk / TEXTS_A_BLOCK) {
                    let mut value = Vec::new();
                    encode_texts(rows, &mut value);
                    push(store, &block_key(kind, rows.first().map(|r| r.chunk), TEXTS_A_BLOCK), &value)?;
                }
            }
            Some(key::Merge::EntityRows) => {
                let rows: Vec<_> = std::mem::take(&mut delta.entity_rows).into_values().collect();
                for rows in rows.chunk_by(|a, b| a.entity / ROWS_A_BLOCK == b.entity / ROWS_A_BLOCK) {
                    let mut value = Vec::new();
                    encode_rows(rows, &mut value);
                    push(store, &block_key(kind, rows.first().map(|r| r.entity), ROWS_A_BLOCK), &value)?;
                }
            }
            Some(key::Merge::SummaryRows) => {
                let rows: Vec<_> =
                    delta.summary_rows.iter().map(|(&unit, &tokens)| SummaryRow { unit, tokens }).collect();
                for rows in rows.chunk_by(|a, b| a.unit / ROWS_A_BLOCK == b.unit / ROWS_A_BLOCK) {
                    let mut value = Vec::new();
                    encode_summary_rows(rows, &mut value);
                    push(store, &block_key(kind, rows.first().map(|r| r.unit), ROWS_A_BLOCK), &value)?;
                }
            }
            Some(key::Merge::Postings) | None => {}
        }
    }
    let older = View::over(&writer.dictionary, &writer.state, writer.parameters.fanout);
    let places = &delta.places;
    let lengths = |chunk: u32| match places.get(&chunk) {
        Some(place) => Ok(place.tokens),
        None => older.place(chunk).map(|place| place.tokens),
    };
    let mut postings: Vec<Posting> = Vec::new();
    for (field, term, list) in delta.postings.sorted() {
        postings.clear();
        list.read_into(&mut postings);
        let value = encode_postings(store, &postings, (field == Field::Text).then_some(&lengths))?;
        let stored = store_value(store, &value)?;
        let term = std::str::from_utf8(term).map_err(|_| Error::Unusable {
            reason: "a term that waits to be written is no UTF-8; open another writer",
        })?;
        segment.push(store, &field.key(term), &stored)?;
    }
    // Kinds behind the postings, in the order of their numbers.
    for (key, value) in delta.values.range(vec![key::OUTLINE]..) {
        let stored = store_value(store, value)?;
        segment.push(store, key, &stored)?;
    }
    if let Some(root) = segment.finish(store)? {
        let bytes = store.end() - start;
        writer.flushes += 1;
        writer.state.segments.push(Segment { root, bytes, level: level_of(bytes), merging: 0, cursor: Vec::new() });
    }
    Ok(())
}

/// Key of a piece of a set.
pub(super) fn piece_key(set: &[u8], piece: u16) -> Vec<u8> {
    let mut key = set.to_vec();
    key.extend_from_slice(&piece.to_be_bytes());
    key
}

/// Appends the pieces of a set, whose ids ascend, with their keys.
pub(super) fn split_set(set: &[u8], ids: impl Iterator<Item = u32>, pieces: &mut Vec<(Vec<u8>, Vec<u16>)>) {
    let start = pieces.len();
    for id in ids {
        let (high, low) = ((id >> 16) as u16, id as u16);
        match pieces.get_mut(start..).and_then(<[_]>::last_mut) {
            Some((last, lows)) if key::piece(last) == Some(high) => lows.push(low),
            _ => pieces.push((piece_key(set, high), vec![low])),
        }
    }
}

/// The level that a fresh segment of this size has: as deep as if it had been merged from commits of a few KiB.
pub(super) fn level_of(bytes: u64) -> u8 {
    let mut level = 0;
    let mut size = 64 << 10;
    while bytes > size {
        level += 1;
        size *= super::merge::FAN_IN as u64;
    }
    level
}

fn block_key(kind: u8, id: Option<u32>, rows: u32) -> Vec<u8> {
    key::numbered(kind, id.unwrap_or_default() / rows)
}

/// The value of a posting list: itself where it is short, else pieces in blocks of their own. With `lengths` of the
/// units it has bounds.
pub(super) fn encode_postings(
    store: &mut StoreWriter,
    list: &[Posting],
    lengths: Option<&dyn Fn(u32) -> Result<u32>>,
) -> Result<Vec<u8>> {
    let mut value = Vec::new();
    let mut pieces = Vec::new();
    let bounded = lengths.is_some() && list.len() > postings::PLAIN_POSTINGS;
    if list.len() <= postings::BLOCK_POSTINGS || postings::piece_postings(list, bounded) >= list.len() {
        // Short lists have no bounds.
        let lengths = lengths_of(list, lengths.filter(|_| bounded))?;
        postings::encode(list, lengths.as_deref(), &mut value).map_err(Error::encoding)?;
        if value.len() <= INLINE_VALUE_BYTES {
            return Ok(value);
        }
        value.clear();
    }
    encode_pieces(store, list, lengths, &mut pieces)?;
    PostingValue::encode_pieces(&pieces, &mut value).map_err(Error::encoding)?;
    Ok(value)
}

/// Lengths of the units of a list.
fn lengths_of(list: &[Posting], lengths: Option<&dyn Fn(u32) -> Result<u32>>) -> Result<Option<Vec<u32>>> {
    let Some(length) = lengths else { return Ok(None) };
    let of = |posting: &Posting| if posting.frequency == 0 { Ok(0) } else { length(posting.id) };
    list.iter().map(of).collect::<Result<_>>().map(Some)
}

/// Writes postings as pieces, each in a block of its own.
pub(super) fn encode_pieces(
    store: &mut StoreWriter,
    list: &[Posting],
    lengths: Option<&dyn Fn(u32) -> Result<u32>>,
    pieces: &mut Vec<Piece>,
) -> Result<()> {
    let lengths = lengths_of(list, lengths)?;
    let mut left = list;
    let mut bytes = Vec::new();
    while !left.is_empty() {
        let done = list.len() - left.len();
        let fitting = postings::piece_postings(left, lengths.is_some()).clamp(1, left.len());
        let (piece, rest) = left.split_at(fitting);
        left = rest;
        let lengths = lengths.as_ref().and_then(|lengths| lengths.get(done..done + fitting));
        bytes.clear();
        postings::encode(piece, lengths, &mut bytes).map_err(Error::encoding)?;
        let (Some(first), Some(last)) = (piece.first(), piece.last()) else { continue };
        pieces.push(Piece {
            first_id: first.id,
            last_id: last.id,
            count: piece.len() as u32,
            bound: lengths.map(|lengths| Bound::of(piece, lengths)),
            reference: store.append(BlockKind::Postings, &bytes, false)?,
        });
    }
    Ok(())
}
