//! Commit blocks: what a commit adds, where the earlier ones are, and the state it publishes.
//!
//! A commit block is the last block of its commit. It vouches for everything below: the state holds references, which
//! hold checksums. It also *covers* the blocks from the end of the last synced commit up to itself: their number and a
//! checksum of their headers, which hold the checksums of their payloads. After a crash, whether all of a commit has
//! reached the medium is decided by that.
//!
//! Earlier commits are reached by [`Commit::previous`] and by *skip references*: commit n refers to n − 2^k for each
//! k ≥ 1 where 2^k divides n. That is less than one skip reference a commit on average, and leads from commit n to
//! any earlier one in at most 2·log2(n) steps: first the lowest set bit of the number is cleared again and again, then
//! the steps halve.

use crate::FormatError;
use crate::block::{BlockHeader, BlockKind, FileId, HEADER_BYTES, Reference};
use crate::bytes::{Reader, put_string};
use crate::limits::{BLOCK_ALIGN_BYTES, COMMIT_STATE_BYTES, FIRST_BLOCK_OFFSET, OFFSET_BOUND};
use crate::page::Parameters;

/// Features that a reader must know to read the index right: bit and name.
pub const READER_FEATURES: &[(u64, &str)] = &[];
/// Features that a writer must know to write to the index: bit and name.
pub const WRITER_FEATURES: &[(u64, &str)] = &[];

/// A decoded commit block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Number of the commit within its epoch: the first is 1, each is one more than the one before.
    pub sequence: u64,
    /// Vacuums that the index has been through.
    pub epoch: u32,
    /// Id of the file.
    pub file_id: FileId,
    /// What was fixed at creation, repeated so that page 0 can be rebuilt.
    pub parameters: Parameters,
    /// Salt of the writer session; each covered block and this one carry it.
    pub salt: u64,
    /// When the commit was made, in seconds since 1970 (UTC); 0 when not recorded.
    pub time: u64,
    /// Where the covered blocks start: the end of the last commit that was synced before.
    pub covered_from: u64,
    /// Blocks from there to this block.
    pub covered_blocks: u32,
    /// Checksum of their headers ([`CoverChecksum`]).
    pub covered_checksum: u32,
    /// Bits of [`READER_FEATURES`].
    pub reader_features: u64,
    /// Bits of [`WRITER_FEATURES`].
    pub writer_features: u64,
    /// The commit before; none in the first of an epoch.
    pub previous: Option<Reference>,
    /// The commits `sequence` − 2^k, k from 1, that [`skip_count`] says there are.
    pub skips: Vec<Reference>,
    /// The published state, in the index layer's encoding; at most [`COMMIT_STATE_BYTES`].
    pub state: Vec<u8>,
}

/// How many skip references commit `sequence` has: one for each k ≥ 1 where 2^k divides `sequence` and is less.
pub fn skip_count(sequence: u64) -> usize {
    let divisors = sequence.trailing_zeros();
    // A power of two divides itself, but there is no commit 0.
    let count = if sequence.is_power_of_two() { divisors.saturating_sub(1) } else { divisors };
    if sequence == 0 { 0 } else { count as usize }
}

impl Commit {
    /// The payload of the commit block.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.state.len().saturating_add(160));
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.epoch.to_le_bytes());
        out.extend_from_slice(&self.file_id);
        out.extend_from_slice(&self.parameters.encode());
        out.extend_from_slice(&self.salt.to_le_bytes());
        out.extend_from_slice(&self.time.to_le_bytes());
        out.extend_from_slice(&self.covered_from.to_le_bytes());
        out.extend_from_slice(&self.covered_blocks.to_le_bytes());
        out.extend_from_slice(&self.covered_checksum.to_le_bytes());
        out.extend_from_slice(&self.reader_features.to_le_bytes());
        out.extend_from_slice(&self.writer_features.to_le_bytes());
        if let Some(previous) = &self.previous {
            previous.encode(&mut out);
        }
        for skip in &self.skips {
            skip.encode(&mut out);
        }
        put_string(&mut out, &self.state);
        out
    }

    /// Reads the payload of a commit block.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut reader = Reader::new("commit block", bytes);
        let sequence = reader.u64()?;
        if sequence == 0 {
            return Err(reader.fail("a sequence number from 1", sequence));
        }
        let epoch = reader.u32()?;
        let file_id = reader.array()?;
        let parameters = Parameters::decode(&mut reader)?;
        let salt = reader.u64()?;
        let time = reader.u64()?;
        let covered_from = reader.u64()?;
        if !(FIRST_BLOCK_OFFSET..OFFSET_BOUND).contains(&covered_from)
            || !covered_from.is_multiple_of(BLOCK_ALIGN_BYTES)
        {
            return Err(reader.fail("an aligned start of the covered blocks", covered_from));
        }
        let covered_blocks = reader.u32()?;
        let covered_checksum = reader.u32()?;
        let reader_features = reader.u64()?;
        let writer_features = reader.u64()?;
        let mut below = u64::MAX;
        let mut earlier = |reader: &mut Reader<'_>| {
            let reference = Reference::decode(reader, BlockKind::Commit)?;
            if reference.end() > below {
                return Err(reader.fail("references to ever earlier commits", reference.offset));
            }
            below = reference.offset;
            Ok(reference)
        };
        let previous = if sequence > 1 { Some(earlier(&mut reader)?) } else { None };
        let mut skips = Vec::new();
        for _ in 0..skip_count(sequence) {
            skips.push(earlier(&mut reader)?);
        }
        let covers_right = match &previous {
            None => covered_from == FIRST_BLOCK_OFFSET,
            Some(previous) => covered_from <= previous.end(),
        };
        if !covers_right {
            return Err(reader.fail("covered blocks from the end of the last synced commit", covered_from));
        }
        let state = reader.string(COMMIT_STATE_BYTES)?.to_vec();
        reader.finish()?;
        Ok(Self {
            sequence,
            epoch,
            file_id,
            parameters,
            salt,
            time,
            covered_from,
            covered_blocks,
            covered_checksum,
            reader_features,
            writer_features,
            previous,
            skips,
            state,
        })
    }

    /// The reader features of this commit that this version does not know, by name or number.
    pub fn unknown_reader_features(&self) -> Option<String> {
        unknown(self.reader_features, READER_FEATURES, "reader")
    }

    /// The writer features of this commit that this version does not know, by name or number.
    pub fn unknown_writer_features(&self) -> Option<String> {
        unknown(self.writer_features, WRITER_FEATURES, "writer")
    }

    /// The longest step back that does not pass `target`: the number of the commit it leads to, and where that is.
    /// None when this is the target or lies before it.
    pub fn step_towards(&self, target: u64) -> Option<(u64, Reference)> {
        if target == 0 || target >= self.sequence {
            return None;
        }
        let mut step = (self.sequence.checked_sub(1)?, self.previous?);
        for (k, skip) in (1u32..).zip(&self.skips) {
            let Some(sequence) = 1u64.checked_shl(k).and_then(|distance| self.sequence.checked_sub(distance)) else {
                break;
            };
            if sequence < target {
                break;
            }
            step = (sequence, *skip);
        }
        Some(step)
    }
}

/// Names of the bits of `have` that `known` lacks.
fn unknown(have: u64, known: &[(u64, &str)], role: &str) -> Option<String> {
    let missing = known.iter().fold(have, |rest, &(bit, _)| rest & !bit);
    if missing == 0 {
        return None;
    }
    let bits: Vec<String> = (0..u64::BITS)
        .filter(|&bit| missing & 1u64.checked_shl(bit).unwrap_or(0) != 0)
        .map(|bit| bit.to_string())
        .collect();
    Some(format!("{role} feature {}", bits.join(", ")))
}

/// The checksum of covered blocks: CRC-32 of the first 28 bytes of each header, in the order of the file.
///
/// The header's own checksum is left out with a reason: a CRC over a text that ends with its own CRC comes to the same
/// value whatever the text is.
#[derive(Debug, Clone, Default)]
pub struct CoverChecksum {
    /// The checksum so far.
    hasher: crc32fast::Hasher,
    /// Headers so far.
    blocks: u32,
}

impl CoverChecksum {
    /// Adds a block by its encoded header.
    pub fn add(&mut self, header: &[u8; HEADER_BYTES]) {
        let (fields, _) = header.split_at(BlockHeader::CHECKED_BYTES);
        self.hasher.update(fields);
        self.blocks = self.blocks.saturating_add(1);
    }

    /// Blocks added.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The checksum of all added.
    pub fn checksum(&self) -> u32 {
        self.hasher.clone().finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Codec;
    use crate::page::MemoryScope;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn reference(sequence: u64) -> Reference {
        Reference {
            offset: FIRST_BLOCK_OFFSET + sequence * 512,
            stored_bytes: 300,
            kind: BlockKind::Commit,
            checksum: sequence as u32,
        }
    }

    fn commit(sequence: u64) -> Commit {
        let previous = (sequence > 1).then(|| reference(sequence - 1));
        Commit {
            sequence,
            epoch: 3,
            file_id: [7; 16],
            parameters: Parameters { fanout: 8, chunk_words: 500, memory: MemoryScope::Document, tokenizer: 1 },
            salt: 99,
            time: 0,
            covered_from: previous.map_or(FIRST_BLOCK_OFFSET, |previous| previous.end()),
            covered_blocks: 4,
            covered_checksum: 8,
            reader_features: 0,
            writer_features: 0,
            previous,
            skips: (1..=skip_count(sequence)).map(|k| reference(sequence - (1 << k))).collect(),
            state: b"state".to_vec(),
        }
    }

    #[test]
    fn a_commit_reads_back() {
        for sequence in 1..100 {
            assert_eq!(Commit::decode(&commit(sequence).encode()).unwrap(), commit(sequence));
        }
    }

    #[test]
    fn skip_references_are_the_divisors_that_have_a_commit() {
        assert_eq!([1, 2, 3, 4, 6, 8, 12, 16].map(skip_count), [0, 0, 0, 1, 1, 2, 2, 3]);
        let total: usize = (1..=1024).map(skip_count).sum();
        assert!(total < 1024, "{total}");
    }

    #[test]
    fn any_earlier_commit_is_a_few_steps_away() {
        for from in [1u64, 2, 7, 8, 100, 1023, 1024, 1000] {
            for target in 1..=from {
                let (mut at, mut steps) = (from, 0);
                while let Some((next, found)) = commit(at).step_towards(target) {
                    assert_eq!(found, reference(next));
                    assert!(next >= target && next < at);
                    (at, steps) = (next, steps + 1);
                }
                assert_eq!(at, target);
                assert!(steps <= 2 * (64 - from.leading_zeros()), "{from} to {target}: {steps} steps");
            }
        }
    }

    #[test]
    fn an_unknown_feature_is_named() {
        let mut commit = commit(5);
        assert_eq!(commit.unknown_reader_features(), None);
        commit.reader_features = 1 << 63 | 1;
        assert_eq!(commit.unknown_reader_features().unwrap(), "reader feature 0, 63");
        commit.writer_features = 4;
        assert_eq!(commit.unknown_writer_features().unwrap(), "writer feature 2");
    }

    #[test]
    fn references_that_do_not_go_back_are_refused() {
        let mut bad = commit(8);
        bad.skips[1] = reference(7);
        assert!(Commit::decode(&bad.encode()).is_err());
        let mut bad = commit(8);
        bad.covered_from = bad.previous.unwrap().end() + 16;
        assert!(Commit::decode(&bad.encode()).is_err());
    }

    #[test]
    fn the_checksum_of_covered_blocks_tells_different_payloads_apart() {
        // A CRC over whole headers, which end with their CRC, would not.
        let mut seen = BTreeMap::new();
        for payload_checksum in 0..1000 {
            let header = BlockHeader {
                kind: BlockKind::Text,
                codec: Codec::Stored,
                stored_bytes: 10,
                raw_bytes: 10,
                payload_checksum,
                salt: 1,
            };
            let mut cover = CoverChecksum::default();
            cover.add(&header.encode(&[7; 16], FIRST_BLOCK_OFFSET));
            assert_eq!(seen.insert(cover.checksum(), payload_checksum), None);
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_is_what_would_be_written(
            sequence in 1u64..70, change in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        ) {
            let mut bytes = commit(sequence).encode();
            for (at, value) in change {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if let Ok(commit) = Commit::decode(&bytes) {
                prop_assert_eq!(commit.encode(), bytes);
            }
        }

        #[test]
        fn random_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Commit::decode(&bytes);
        }
    }
}
