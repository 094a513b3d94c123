//! Merging the posting lists of one term.
//!
//! A long list is in pieces, each in a block of its own. Ids of chunks ascend from segment to segment, so the pieces of
//! one segment lie behind those of another nearly always; a piece that nothing else reaches into, and that is well filled,
//! stays where it is, and the merged list only names it. So a step of a merge writes little for the longest list, and the
//! bytes of a long list are written a few times in all, however often it is merged. What is short, or overlaps, is read
//! and written anew.

use super::flush::{encode_pieces, encode_postings};
use super::view::{damaged_value, newest_of_each, read_postings};
use crate::dictionary::Dictionary;
use crate::store::StoreWriter;
use crate::{Error, Result};
use plica_format::key;
use plica_format::limits::LEAF_RAW_BYTES;
use plica_format::postings::{LIST_POSTINGS, Piece, Posting, PostingList, PostingValue};

/// A list of more pieces than this is written anew, so that its pieces are as full as they can be.
const KEPT_PIECES: usize = 1024;

/// Whether a piece is full enough to stay as it is: its bytes or its postings are half of what they can be.
fn is_filled(piece: &Piece) -> bool {
    piece.reference.stored_bytes as usize >= LEAF_RAW_BYTES / 2 || piece.count as usize >= LIST_POSTINGS / 2
}

/// A piece that may stay as it is, and which value it is of.
struct Candidate {
    value: usize,
    piece: Piece,
    stays: bool,
}

/// The value that stands for several of one term, oldest first; `None` where no posting is left. In the oldest segment
/// nothing is left to take back. Lists of texts come with the `lengths` of their chunks.
pub(super) fn merge_postings(
    store: &mut StoreWriter,
    dictionary: &Dictionary,
    values: &[Vec<u8>],
    oldest: bool,
    lengths: Option<&dyn Fn(u32) -> Result<u32>>,
) -> Result<Option<Vec<u8>>> {
    let mut read: Vec<Vec<Posting>> = Vec::with_capacity(values.len());
    let mut candidates: Vec<Candidate> = Vec::new();
    for (number, value) in values.iter().enumerate() {
        let mut postings = Vec::new();
        match PostingValue::decode(value).map_err(damaged_value(key::POSTINGS))? {
            PostingValue::Pieces(pieces) => {
                for piece in pieces {
                    let bounds_fit = piece.bound.is_some() == lengths.is_some();
                    match bounds_fit && is_filled(&piece) && !(oldest && with_piece(dictionary, &piece, has_tombstone)?)
                    {
                        true => candidates.push(Candidate { value: number, piece, stays: true }),
                        false => read_piece(dictionary, &piece, &mut postings)?,
                    }
                }
            }
            inline => read_postings(dictionary, &inline, 0, u32::MAX, &mut postings)?,
        }
        read.push(postings);
    }
    settle(&mut candidates, &read);
    for candidate in candidates.iter().filter(|candidate| !candidate.stays) {
        if let Some(postings) = read.get_mut(candidate.value) {
            read_piece(dictionary, &candidate.piece, postings)?;
        }
    }
    let mut postings = read.concat();
    match lengths.is_some() {
        true => annihilate(&mut postings),
        false => newest_of_each(&mut postings),
    }
    if oldest {
        postings.retain(|posting| posting.frequency > 0);
    }
    let kept: Vec<Piece> =
        candidates.into_iter().filter(|candidate| candidate.stays).map(|candidate| candidate.piece).collect();
    match (kept.as_slice(), postings.as_slice()) {
        ([], []) => return Ok(None),
        ([], all) => return encode_postings(store, all, lengths).map(Some),
        _ => {}
    }
    let mut pieces = Vec::with_capacity(kept.len() + 1);
    let mut left = postings.as_slice();
    for piece in kept {
        let (before, after) = left.split_at(left.partition_point(|posting| posting.id < piece.first_id));
        encode_pieces(store, before, lengths, &mut pieces)?;
        pieces.push(piece);
        left = after;
    }
    encode_pieces(store, left, lengths, &mut pieces)?;
    let mut out = Vec::new();
    PostingValue::encode_pieces(&pieces, &mut out).map_err(Error::encoding)?;
    Ok(Some(out))
}

/// Sorts postings of texts and drops each that met its tombstone, together with that. A chunk has one posting of a term
/// ever, and at most one tombstone takes it back; so the postings of a term less its tombstones, summed over the segments,
/// are the chunks that have it.
fn annihilate(postings: &mut Vec<Posting>) {
    postings.sort_by_key(|posting| posting.id);
    let mut kept = 0;
    let mut at = 0;
    while let Some(&posting) = postings.get(at) {
        let same = postings[at..].iter().take_while(|other| other.id == posting.id).count();
        let is_met = same > 1 && postings[at..at + same].iter().any(|other| other.frequency == 0);
        if !is_met {
            postings[kept] = posting;
            kept += 1;
        }
        at += same;
    }
    postings.truncate(kept);
}

/// Sorts candidates by their ids, and lets only those stay whose range no other posting lies in.
fn settle(candidates: &mut [Candidate], read: &[Vec<Posting>]) {
    candidates.sort_by_key(|candidate| candidate.piece.first_id);
    let too_many = candidates.len() > KEPT_PIECES;
    let mut ids: Vec<u32> = read.iter().flatten().map(|posting| posting.id).collect();
    ids.sort_unstable();
    let mut reached: Option<(usize, u32)> = None;
    for at in 0..candidates.len() {
        let Some((first, last)) = candidates.get(at).map(|of| (of.piece.first_id, of.piece.last_id)) else { break };
        let overlapped = reached.filter(|&(_, end)| end >= first).map(|(other, _)| other);
        let inside = ids.partition_point(|&id| id < first) < ids.partition_point(|&id| id <= last);
        if let Some(candidate) = candidates.get_mut(at) {
            candidate.stays = !too_many && !inside && overlapped.is_none();
        }
        if let Some(other) = overlapped.and_then(|other| candidates.get_mut(other)) {
            other.stays = false;
        }
        if reached.is_none_or(|(_, end)| last > end) {
            reached = Some((at, last));
        }
    }
}

/// Whether a value takes anything back.
pub(super) fn has_tombstones(dictionary: &Dictionary, value: &PostingValue<'_>) -> Result<bool> {
    match value {
        PostingValue::Inline(list) => list.has_tombstones().map_err(damaged_value(key::POSTINGS)),
        PostingValue::Pieces(pieces) => {
            for piece in pieces {
                if with_piece(dictionary, piece, has_tombstone)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

fn has_tombstone(list: &PostingList<'_>) -> Result<bool, plica_format::FormatError> {
    list.has_tombstones()
}

/// Appends the postings of a piece.
fn read_piece(dictionary: &Dictionary, piece: &Piece, out: &mut Vec<Posting>) -> Result<()> {
    with_piece(dictionary, piece, |list| list.read_into(0, u32::MAX, out))
}

/// Hands the list of a piece to `use_it`.
fn with_piece<T>(
    dictionary: &Dictionary,
    piece: &Piece,
    use_it: impl FnOnce(&PostingList<'_>) -> Result<T, plica_format::FormatError>,
) -> Result<T> {
    let damaged = |error| Error::damaged_block(&piece.reference)(error);
    let payload = dictionary.blocks.read(&piece.reference)?;
    let list = PostingList::decode(&payload).map_err(damaged)?;
    piece.check(&list).map_err(damaged)?;
    use_it(&list).map_err(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::WriteOptions;
    use plica_format::page::{MemoryScope, Parameters};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    /// Postings of every `step`th id from `first` on.
    fn list(first: u32, step: u32, count: u32, frequency: u32) -> Vec<Posting> {
        (0..count)
            .map(|at| Posting { id: first + at * step, frequency: (at * frequency) % 97 + frequency.min(1) })
            .collect()
    }

    #[test]
    fn merged_lists_are_those_of_a_plain_map_and_filled_pieces_stay() {
        let folder = tempfile::tempdir().unwrap();
        let parameters = Parameters { fanout: 2, chunk_words: 1, memory: MemoryScope::Document, tokenizer: 1 };
        let path = folder.path().join("a.plica");
        let mut store = StoreWriter::create(&path, parameters, &WriteOptions::default()).unwrap();
        let few = |id, frequency| vec![Posting { id, frequency }];
        let cases: [(&str, Vec<Vec<Posting>>, usize); 8] = [
            ("behind one another", vec![list(5, 3, 70_000, 1), list(300_000, 2, 9, 1), list(400_000, 5, 60_000, 2)], 2),
            ("one alone, rewritten as the oldest", vec![list(0, 3, 70_000, 0)], 0),
            ("one inside another", vec![list(0, 9, 50_000, 1), few(70_001, 4), list(900_000, 1, 66_000, 1)], 1),
            ("an id again", vec![list(0, 9, 50_000, 1), few(9 * 40_000, 70)], 0),
            ("taken back", vec![list(0, 9, 50_000, 1), few(9 * 40_000, 0)], 0),
            ("all taken back", vec![list(0, 1, 40, 1), (0..40).map(|id| Posting { id, frequency: 0 }).collect()], 0),
            ("two that overlap", vec![list(0, 2, 60_000, 1), list(100_000, 2, 60_000, 1)], 0),
            (
                "short ones between",
                vec![few(1, 1), list(2, 3, 50_000, 1), few(200_000, 2), list(200_001, 3, 50_000, 1), few(900_000, 9)],
                2,
            ),
        ];
        for (what, lists, kept_at_least) in cases {
            let values: Vec<Vec<u8>> =
                lists.iter().map(|list| encode_postings(&mut store, list, None).unwrap()).collect();
            let dictionary =
                Dictionary { blocks: store.blocks().unwrap(), segments: Vec::new(), cache: Arc::default() };
            let mut plain = BTreeMap::new();
            for posting in lists.iter().flatten() {
                plain.insert(posting.id, posting.frequency);
            }
            for oldest in [false, true] {
                if oldest {
                    plain.retain(|_, frequency| *frequency > 0);
                }
                let before = store.end();
                let merged = merge_postings(&mut store, &dictionary, &values, oldest, None).unwrap();
                let written = store.end() - before;
                let dictionary =
                    Dictionary { blocks: store.blocks().unwrap(), segments: Vec::new(), cache: Arc::default() };
                let mut got = Vec::new();
                let mut kept = 0;
                if let Some(merged) = &merged {
                    let value = PostingValue::decode(merged).unwrap();
                    if let PostingValue::Pieces(pieces) = &value {
                        kept = pieces.iter().filter(|piece| piece.reference.offset < before).count();
                    }
                    read_postings(&dictionary, &value, 0, u32::MAX, &mut got).unwrap();
                }
                let expected: Vec<Posting> = plain.iter().map(|(&id, &frequency)| Posting { id, frequency }).collect();
                assert_eq!(merged.is_none(), expected.is_empty(), "{what}");
                assert!(got == expected, "{what}: {} postings, not {}", got.len(), expected.len());
                assert!(kept >= kept_at_least, "{what}: {kept} pieces stayed");
                assert!(kept == 0 || written < 1 << 17, "{what}: wrote {written} bytes");
            }
        }
    }
}
