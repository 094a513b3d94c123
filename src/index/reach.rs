//! All blocks that a commit reaches.

use super::snapshot::Snapshot;
use super::view::damaged_value;
use crate::dictionary::{MergeCursor, load_value, value_block};
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::chunk::decode_texts;
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::fold::{Children, Expected, FoldPage, cover, open_pages};
use plica_format::key;
use plica_format::leaf::Leaf;
use plica_format::postings::PostingValue;
use std::collections::{BTreeMap, HashSet};

impl Snapshot {
    /// Blocks that this commit reaches, by offset; of documents that were removed, only what shares a block with others. Every page, leaf and value is read and checked on the way; where one
    /// is damaged, `damage` is told and the walk goes on with the next.
    pub(crate) fn reachable(&self, mut damage: impl FnMut(Error) -> Result<()>) -> Result<BTreeMap<u64, Reference>> {
        let mut found = BTreeMap::new();
        let head = self.commit_head();
        found.insert(head.reference.offset, head.reference);
        found.extend(self.view().state.dictionary.map(|dictionary| (dictionary.offset, dictionary)));
        let dictionary = self.view().dictionary;
        for segment in &dictionary.segments {
            if let Err(error) = self.reach_pages(&segment.root, &segment.from, None, &mut found, &mut damage) {
                damage(error)?;
            }
        }
        if let Err(error) = self.reach_values(&mut found, &mut damage) {
            damage(error)?;
        }
        Ok(found)
    }

    /// The separator pages and leaves of a segment whose keys count.
    fn reach_pages(
        &self,
        reference: &Reference,
        from: &[u8],
        upper: Option<&[u8]>,
        found: &mut BTreeMap<u64, Reference>,
        damage: &mut impl FnMut(Error) -> Result<()>,
    ) -> Result<()> {
        if upper.is_some_and(|upper| upper <= from) {
            return Ok(());
        }
        if found.insert(reference.offset, *reference).is_some() {
            return Err(super::view::inconsistent(format!("two parents reach the block at {}", reference.offset)));
        }
        let dictionary = self.view().dictionary;
        if reference.kind == BlockKind::Leaf {
            let payload = dictionary.blocks.read(reference)?;
            let leaf = Leaf::decode(&payload).map_err(Error::damaged_block(reference))?;
            let mut cursor = leaf.seek(from);
            while let Some((_, stored)) = cursor.next().map_err(Error::damaged_block(reference))? {
                if let Some(value) = value_block(reference, stored)? {
                    found.insert(value.offset, value);
                }
            }
            return Ok(());
        }
        let page = dictionary.cache.page(&dictionary.blocks, reference)?;
        for (at, (_, child)) in page.entries.iter().enumerate() {
            let next = page.entries.get(at + 1).map(|entry| entry.0.as_slice()).or(upper);
            if let Err(error) = self.reach_pages(child, from, next, found, damage) {
                damage(error)?;
            }
        }
        Ok(())
    }

    /// The blocks that values name: posting pieces, texts, metadata, fold pages, outline pages.
    fn reach_values(
        &self,
        found: &mut BTreeMap<u64, Reference>,
        damage: &mut impl FnMut(Error) -> Result<()>,
    ) -> Result<()> {
        let dictionary = self.view().dictionary;
        let mut cursor = MergeCursor::new(dictionary, &dictionary.segments, &[])?;
        // Heads come before all that is looked at by document.
        let mut removed: HashSet<u32> = HashSet::new();
        while let Some(key) = cursor.key() {
            let kind = key.first().copied().unwrap_or_default();
            let mut newest: Option<Vec<u8>> = None;
            let mut failed = None;
            cursor.take(&key, |leaf, stored| {
                let result = load_value(&dictionary.blocks, leaf, stored, |value| {
                    match key::merge_rule(&key) {
                        None => return Err(super::view::inconsistent(format!("a key of unknown kind {kind:#04x}"))),
                        Some(key::Merge::Postings) => {
                            if let PostingValue::Pieces(pieces) =
                                PostingValue::decode(value).map_err(damaged_value(kind))?
                            {
                                found.extend(pieces.iter().map(|piece| (piece.reference.offset, piece.reference)));
                            }
                        }
                        Some(key::Merge::Texts) => {
                            let block = key::last_number(&key).unwrap_or_default();
                            let rows = decode_texts(block, value).map_err(damaged_value(kind))?;
                            for row in rows {
                                if removed.is_empty() || !removed.contains(&self.view().place(row.chunk)?.document) {
                                    found.insert(row.block.offset, row.block);
                                }
                            }
                        }
                        Some(_) => newest = Some(value.to_vec()),
                    }
                    Ok(())
                });
                if let Err(error) = result {
                    failed = Some(error);
                }
                Ok(())
            })?;
            if let Some(error) = failed {
                damage(error)?;
            }
            let number = key::last_number(&key).unwrap_or_default();
            if kind == key::OUTLINE && newest.is_some() && !removed.contains(&number) {
                let reached = match self.view().outline(number)? {
                    Some(outline) => outline.each_reference(&mut |page| {
                        found.insert(page.offset, page);
                    }),
                    None => Ok(()),
                };
                if let Err(error) = reached {
                    damage(error)?;
                }
            }
            if kind == key::DOCUMENT
                && let Some(value) = newest
            {
                let reached = DocumentHead::decode(number, &value).map_err(damaged_value(kind)).and_then(|head| {
                    if head.state == DocumentState::Removed {
                        removed.insert(number);
                        return Ok(());
                    }
                    self.reach_tree(&head, found)
                });
                if let Err(error) = reached {
                    damage(error)?;
                }
            }
        }
        Ok(())
    }

    /// The metadata block and the fold pages of a document.
    fn reach_tree(&self, head: &DocumentHead, found: &mut BTreeMap<u64, Reference>) -> Result<()> {
        if let Some(information) = head.information {
            found.insert(information.offset, information);
        }
        let fanout = self.parameters().fanout;
        let expected = open_pages(head.number, fanout, head.chunks);
        let mut waiting: Vec<(Reference, Expected)> = head.pages.iter().copied().zip(expected).collect();
        while let Some((reference, expected)) = waiting.pop() {
            found.insert(reference.offset, reference);
            let page: FoldPage = super::tail::read_page(self.view(), fanout, &reference, expected)?;
            let Children::Nodes(nodes) = page.children else { continue };
            let level = page.level - 1;
            let count = cover(fanout, level).unwrap_or(u32::MAX);
            for (at, node) in (0u32..).zip(nodes) {
                waiting.push((node.page, Expected { level, first: page.first + at * count, count, ..expected }));
            }
        }
        Ok(())
    }
}
