//! The entity memory, kinds 23 to 36.

use super::Run;
use super::documents::number;
use super::walk::Walk;
use crate::Result;
use crate::index::documents::varint;
use crate::index::flush::split_set;
use crate::index::parts::{cut_parts, noted};
use crate::index::view::{damaged_value, inconsistent};
use plica_format::entity::{Addition, EntityRow, decode_part, encode_part, encode_rows};
use plica_format::idset;
use plica_format::key::{self, ROWS_A_BLOCK};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

/// Decoded blocks of rows that are kept.
const KEPT_BLOCKS: usize = 256;

/// The parts of a record.
type Parts = Vec<Vec<Addition>>;

/// Which ids a set holds.
#[derive(Clone, Copy)]
enum Of {
    Chunks,
    Entities,
}

impl Run<'_> {
    pub(super) fn memory(&mut self) -> Result<()> {
        let ids = self.ids;
        self.sets(key::CHUNK_ENTITIES, &ids.old_chunks, Of::Entities)?;
        let shrunk = self.parts()?;
        self.rows(&shrunk)?;
        self.entity_names()?;
        self.aliases()?;
        self.sets(key::ENTITY_CHUNKS, &ids.old_entities, Of::Chunks)?;
        let mut walk = Walk::new(self.view.dictionary);
        for slot in &ids.documents {
            self.limits.check()?;
            let set = key::numbered(key::DOCUMENT_ENTITIES, slot.number);
            self.set(&mut walk, &set, &set, Of::Entities)?;
        }
        self.descriptions()
    }

    /// The sets of a kind that is keyed by an id: `old` gives the old ids in the order of the new ones.
    fn sets(&mut self, kind: u8, old: &[u32], of: Of) -> Result<()> {
        let mut walk = Walk::new(self.view.dictionary);
        for (new, &old) in (0u32..).zip(old) {
            self.limits.check()?;
            self.set(&mut walk, &key::numbered(kind, old), &key::numbered(kind, new), of)?;
        }
        Ok(())
    }

    /// One set of fixed key length: all its pieces, with new ids, under its new key.
    fn set(&mut self, walk: &mut Walk<'_>, old: &[u8], new: &[u8], of: Of) -> Result<()> {
        let mut members = BTreeSet::new();
        while let Some((found, values)) = walk.next(old)? {
            if found.len() == old.len() + 2 {
                self.members(&found, &values, of, &mut members)?;
            }
        }
        self.push_set(new, &members)
    }

    /// Adds the members of a piece that are there, by their new ids.
    fn members(&self, found: &[u8], values: &[Vec<u8>], of: Of, members: &mut BTreeSet<u32>) -> Result<()> {
        let kind = found.first().copied().unwrap_or_default();
        let high = u32::from(key::piece(found).unwrap_or_default()) << 16;
        let mut lows: BTreeSet<u16> = BTreeSet::new();
        for value in values {
            let (replaces, new) = idset::decode_update(value).map_err(damaged_value(kind))?;
            if replaces {
                lows.clear();
            }
            lows.extend(new);
        }
        let old = lows.into_iter().map(|low| high | u32::from(low));
        match of {
            Of::Chunks => members.extend(old.filter_map(|id| self.ids.chunk(id))),
            Of::Entities => members.extend(old.filter_map(|id| self.ids.entity(id))),
        }
        Ok(())
    }

    fn push_set(&mut self, set: &[u8], members: &BTreeSet<u32>) -> Result<()> {
        let mut pieces = Vec::new();
        split_set(set, members.iter().copied(), &mut pieces);
        for (key, lows) in pieces {
            let mut value = Vec::new();
            idset::encode(&lows, &mut value).map_err(crate::Error::encoding)?;
            self.push(&key, &value)?;
        }
        Ok(())
    }

    /// The parts of a record, by its old id: those that it has, and those that it will have. What a removed document
    /// told left empty parts behind; they go. The others are cut anew, since their cuts depend on the commits in which they
    /// came.
    fn parts_of(&self, walk: &mut Walk<'_>, old: u32) -> Result<(Parts, Parts)> {
        let mut parts = Vec::new();
        while let Some((_, values)) = walk.next(&key::numbered(key::ENTITY_PART, old))? {
            let Some(value) = values.last() else { continue };
            parts.push(decode_part(value).map_err(damaged_value(key::ENTITY_PART))?);
        }
        let cut = cut_parts(parts.clone());
        Ok((parts, cut))
    }

    /// The parts of all records. The records whose parts are others now are given, by new id, with their number of parts and
    /// the part that gave the kind.
    fn parts(&mut self) -> Result<BTreeMap<u32, (u32, u32)>> {
        let ids = self.ids;
        let mut changed = BTreeMap::new();
        let mut walk = Walk::new(self.view.dictionary);
        for (new, &old) in (0u32..).zip(&ids.old_entities) {
            self.limits.check()?;
            let (before, parts) = self.parts_of(&mut walk, old)?;
            for (number, part) in (0u32..).zip(&parts) {
                let mut value = Vec::new();
                encode_part(part, &mut value);
                self.push(&key::numbered2(key::ENTITY_PART, new, number), &value)?;
            }
            if before != parts {
                let kind_part = parts
                    .iter()
                    .position(|part| part.iter().any(|addition| !addition.kind.is_empty()))
                    .map_or(0, |at| at as u32 + 1);
                changed.insert(new, (parts.len() as u32, kind_part));
            }
        }
        Ok(changed)
    }

    fn rows(&mut self, shrunk: &BTreeMap<u32, (u32, u32)>) -> Result<()> {
        let ids = self.ids;
        let mut blocks: HashMap<u32, HashMap<u32, EntityRow>> = HashMap::new();
        let mut rows: Vec<EntityRow> = Vec::new();
        for (new, &old) in (0u32..).zip(&ids.old_entities) {
            self.limits.check()?;
            let block = old / ROWS_A_BLOCK;
            if !blocks.contains_key(&block) {
                if blocks.len() >= KEPT_BLOCKS {
                    blocks.clear();
                }
                let first = block * ROWS_A_BLOCK;
                let found = self.view.entity_rows(first, first + (ROWS_A_BLOCK - 1))?;
                blocks.insert(block, found.into_iter().map(|row| (row.entity, row)).collect());
            }
            let row = blocks.get(&block).and_then(|rows| rows.get(&old)).copied();
            let mut row = row.ok_or_else(|| inconsistent(format!("the row of entity {old} is missing")))?;
            row.entity = new;
            if let Some(&(parts, kind_part)) = shrunk.get(&new) {
                (row.parts, row.kind_part) = (parts, kind_part);
            }
            if rows.first().is_some_and(|first| first.entity / ROWS_A_BLOCK != new / ROWS_A_BLOCK) {
                self.push_rows(key::ENTITY_ROWS, ROWS_A_BLOCK, &mut rows, |row| row.entity, encode_rows)?;
            }
            rows.push(row);
        }
        self.push_rows(key::ENTITY_ROWS, ROWS_A_BLOCK, &mut rows, |row| row.entity, encode_rows)
    }

    fn entity_names(&mut self) -> Result<()> {
        self.view.dictionary.each_newest(&[key::ENTITY_NAME], b"", |found, value| {
            self.limits.check()?;
            if !value.is_empty()
                && let Some(entity) = self.ids.entity(number(key::ENTITY_NAME, value)?)
            {
                self.push(found, &varint(entity))?;
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Aliases. The pieces of one lie together, but for aliases that go on behind a zero byte: those are gathered, too.
    fn aliases(&mut self) -> Result<()> {
        let mut walk = Walk::new(self.view.dictionary);
        let mut group: BTreeMap<Vec<u8>, BTreeSet<u32>> = BTreeMap::new();
        let mut root = Vec::new();
        while let Some((found, values)) = walk.next(&[key::ENTITY_ALIAS])? {
            self.limits.check()?;
            if !found.starts_with(&root) || root.is_empty() {
                self.push_aliases(&mut group)?;
                let text = found.get(5..).unwrap_or_default();
                let end = text.iter().position(|&byte| byte == 0).map_or(found.len(), |at| at + 6);
                root = found.get(..end).unwrap_or_default().to_vec();
            }
            let set = found.get(..found.len().saturating_sub(2)).unwrap_or_default().to_vec();
            let mut members = group.remove(&set).unwrap_or_default();
            self.members(&found, &values, Of::Entities, &mut members)?;
            group.insert(set, members);
        }
        self.push_aliases(&mut group)
    }

    fn push_aliases(&mut self, group: &mut BTreeMap<Vec<u8>, BTreeSet<u32>>) -> Result<()> {
        let mut pieces = Vec::new();
        for (set, members) in std::mem::take(group) {
            split_set(&set, members.into_iter(), &mut pieces);
        }
        pieces.sort();
        for (key, lows) in pieces {
            let mut value = Vec::new();
            idset::encode(&lows, &mut value).map_err(crate::Error::encoding)?;
            self.push(&key, &value)?;
        }
        Ok(())
    }

    /// The sets of the hashes of descriptions.
    fn descriptions(&mut self) -> Result<()> {
        let ids = self.ids;
        let mut walk = Walk::new(self.view.dictionary);
        for (new, &old) in (0u32..).zip(&ids.old_entities) {
            self.limits.check()?;
            let mut members = BTreeSet::new();
            for (number, part) in (0u32..).zip(self.parts_of(&mut walk, old)?.1) {
                for addition in part {
                    let texts = self.view.read_addition(addition)?.descriptions;
                    members.extend(texts.iter().map(|text| noted(number, text)));
                }
            }
            self.push_set(&key::numbered(key::ENTITY_DESCRIPTION, new), &members)?;
        }
        Ok(())
    }
}
