//! What the live bytes of a file are spent on.
//!
//! Most blocks belong to one structure. A leaf holds keys of several: its bytes are shared out by the bytes of the
//! entries (as front coding writes them), the header and the rounding with them, so that the sum is exact.

use super::snapshot::Snapshot;
use crate::dictionary::value_block;
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::key;
use plica_format::leaf::Leaf;
use plica_format::limits::FIRST_BLOCK_OFFSET;
use std::collections::BTreeMap;

/// Live bytes by structure. Their sum is [`super::Bytes::live`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// Titles and texts of chunks, and the dictionary that they are compressed with.
    pub text: u64,
    /// Terms of all fields with their posting lists.
    pub postings: u64,
    /// Fold trees with their summaries, and outlines.
    pub trees: u64,
    /// The entity memory: names, aliases, descriptions, links, and the lengths that scoring needs; with those of summaries.
    pub memory: u64,
    /// Records, and the keys by which they are found.
    pub records: u64,
    /// Documents, places of chunks, ids, separator pages, the commit and the pages at the start.
    pub rest: u64,
}

impl Budget {
    /// Names and bytes, in the order of the fields.
    pub fn parts(&self) -> [(&'static str, u64); 6] {
        [
            ("text", self.text),
            ("postings", self.postings),
            ("trees", self.trees),
            ("memory", self.memory),
            ("records", self.records),
            ("rest", self.rest),
        ]
    }
}

/// What a key belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Postings,
    Trees,
    Memory,
    Records,
    Rest,
}

impl Part {
    const ALL: [Self; 5] = [Self::Postings, Self::Trees, Self::Memory, Self::Records, Self::Rest];

    fn of_key(key: &[u8]) -> Self {
        match key.first().copied().unwrap_or_default() {
            key::CHUNK_ENTITIES | key::ENTITY_PART..=key::SUMMARY_ROWS => Self::Memory,
            key::POSTINGS..key::OUTLINE => Self::Postings,
            key::OUTLINE..key::RECORD => Self::Trees,
            key::RECORD.. => Self::Records,
            _ => Self::Rest,
        }
    }

    fn field(self, budget: &mut Budget) -> &mut u64 {
        match self {
            Self::Postings => &mut budget.postings,
            Self::Trees => &mut budget.trees,
            Self::Memory => &mut budget.memory,
            Self::Records => &mut budget.records,
            Self::Rest => &mut budget.rest,
        }
    }
}

impl Snapshot {
    /// What the blocks that this commit reaches are spent on, the pages at the start of the file with them.
    pub(super) fn budget(&self, reached: &BTreeMap<u64, Reference>) -> Result<Budget> {
        let mut budget = Budget { rest: FIRST_BLOCK_OFFSET, ..Budget::default() };
        let mut values: BTreeMap<u64, Part> = BTreeMap::new();
        let bytes = |reference: &Reference| reference.end() - reference.offset;
        for reference in reached.values().filter(|reference| reference.kind == BlockKind::Leaf) {
            self.share_leaf(reference, &mut budget, &mut values)?;
        }
        for reference in reached.values() {
            let field = match reference.kind {
                BlockKind::Leaf => continue,
                BlockKind::Text | BlockKind::Dictionary => &mut budget.text,
                BlockKind::Postings => &mut budget.postings,
                BlockKind::Fold | BlockKind::Outline => &mut budget.trees,
                BlockKind::Value => values.get(&reference.offset).unwrap_or(&Part::Rest).field(&mut budget),
                BlockKind::Padding | BlockKind::Commit | BlockKind::Separator | BlockKind::Metadata => &mut budget.rest,
            };
            *field += bytes(reference);
        }
        Ok(budget)
    }

    /// Shares a leaf out among what its keys belong to, and notes what the values outside of it belong to.
    fn share_leaf(&self, reference: &Reference, budget: &mut Budget, values: &mut BTreeMap<u64, Part>) -> Result<()> {
        let payload = self.view().dictionary.blocks.read(reference)?;
        let leaf = Leaf::decode(&payload).map_err(Error::damaged_block(reference))?;
        let mut weights = [0u64; Part::ALL.len()];
        let mut before = Vec::new();
        let mut cursor = leaf.seek(&[]);
        while let Some((key, value)) = cursor.next().map_err(Error::damaged_block(reference))? {
            let shared = before.iter().zip(key).take_while(|(a, b)| a == b).count();
            let part = Part::of_key(key);
            weights[part as usize] += 2 + (key.len() - shared + value.len()) as u64;
            if let Some(block) = value_block(reference, value)? {
                values.insert(block.offset, part);
            }
            before.clear();
            before.extend_from_slice(key);
        }
        let all = reference.end() - reference.offset;
        let mut left = all;
        let sum = weights.iter().sum::<u64>().max(1);
        let mut parts: Vec<(u64, Part)> = weights.into_iter().zip(Part::ALL).collect();
        // What rounding leaves goes to the greatest share.
        parts.sort_by_key(|(weight, _)| *weight);
        while let Some((weight, part)) = parts.pop() {
            let share = if parts.is_empty() { 0 } else { all * weight / sum };
            *part.field(budget) += share;
            left -= share;
            if parts.is_empty() || parts.iter().all(|(weight, _)| *weight == 0) {
                *part.field(budget) += left;
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ingest::{EntityUpdate, RecordUpdate};
    use crate::{Index, NewChunk, Options, Writer};

    #[test]
    fn every_live_byte_is_spent_on_something_and_each_structure_on_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.plica");
        let mut writer = Writer::create(&path, &Options::new().fanout(3)).unwrap();
        let budget = |path: &std::path::Path| {
            let bytes = Index::open(path).unwrap().snapshot().stat().unwrap().bytes;
            let sum: u64 = bytes.budget.parts().iter().map(|(_, bytes)| bytes).sum();
            assert_eq!(sum, bytes.live);
            bytes.budget
        };
        assert_eq!(budget(&path).parts().map(|(_, bytes)| bytes > 0), [false, false, false, false, false, true]);
        writer.add_document("a", "A title", "").unwrap();
        writer.publish("a").unwrap();
        for at in 0..400u32 {
            let text: String = (0..40).map(|n| format!("w{} ", (at * 31 + n * n * 7) % 4_000)).collect();
            let ordinal = writer.append_chunk("a", &NewChunk::text(&text)).unwrap().ordinal;
            let name = format!("Person {}", at % 37);
            // Long enough that some values lie in blocks of their own.
            let descriptions = vec![format!("{at} {}", "far and wide ".repeat(200))];
            let update = EntityUpdate { name: name.clone(), descriptions, ..EntityUpdate::default() };
            writer.apply_update("a", ordinal, &[update]).unwrap();
            if at % 100 == 99 {
                writer.commit().unwrap();
                let found = budget(&path);
                assert!(found.text > 0 && found.postings > 0 && found.trees > 0 && found.memory > 0);
                assert_eq!(found.records, u64::from(at > 100) * found.records);
                let record = RecordUpdate { entity: name, label: "walks".into(), ..RecordUpdate::default() };
                writer.add_record("a", &record, &[ordinal]).unwrap();
            }
        }
        writer.commit().unwrap();
        let found = budget(&path);
        assert!(found.records > 0 && found.memory > found.records, "{found:?}");
    }
}
