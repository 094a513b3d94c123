//! Outlines, kinds 60 to 63: heads with their pages, categories, names, and the summaries of pages that are in use.

use super::Run;
use crate::Result;
use crate::index::outline::{KeyRange, NodeAt, NodesMet, OutlineView, page_hash};
use crate::index::view::inconsistent;
use plica_format::block::{BlockKind, Reference};
use plica_format::key;
use plica_format::outline::{Entries, Item};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// What a walk over the outlines has met.
#[derive(Default)]
struct Used {
    /// Documents and hashes of their pages that have a summary of their own.
    summaries: BTreeSet<(u32, [u8; 16])>,
    /// Nodes of the document at hand.
    met: NodesMet,
}

impl Run<'_> {
    pub(super) fn outlines(&mut self) -> Result<()> {
        let ids = self.ids;
        let mut used = Used::default();
        for slot in &ids.documents {
            self.limits.check()?;
            let Some(mut head) = self.view.outline_head(slot.number)? else { continue };
            let outline = OutlineView { view: self.view, document: slot.number, root: head.root, budget: head.budget };
            if let Some(root) = outline.root_node()? {
                let top = root.top;
                used.met = NodesMet::default();
                let page = self.top_page(&outline, &root, &mut used)?;
                head.root = Some(plica_format::outline::Top { page, ..top });
            }
            let mut value = Vec::new();
            head.encode(&mut value);
            self.push(&key::numbered(key::OUTLINE, slot.number), &value)?;
        }
        for kind in [key::CATEGORY, key::SUBJECT_NAME, key::PAGE_SUMMARY] {
            self.view.dictionary.each_newest(&[kind], b"", |found, value| {
                self.limits.check()?;
                let document = key::first_number(found).unwrap_or(u32::MAX);
                let counts = match kind {
                    key::SUBJECT_NAME => value == [1],
                    key::PAGE_SUMMARY => {
                        found.last_chunk().is_some_and(|hash| used.summaries.contains(&(document, *hash)))
                    }
                    _ => true,
                };
                if counts && self.ids.slot(document).is_some() {
                    self.push(found, value)?;
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(())
    }

    /// The top page of a node, behind all pages below it.
    fn top_page(&mut self, outline: &OutlineView<'_>, node: &NodeAt, used: &mut Used) -> Result<Reference> {
        used.met.meet(node)?;
        let top = node.top;
        self.outline_page(outline, node, &top.page, (top.level, top.count), KeyRange::default(), used)
    }

    /// A page, behind the pages that it refers to.
    fn outline_page(
        &mut self,
        outline: &OutlineView<'_>,
        node: &NodeAt,
        reference: &Reference,
        (level, count): (u8, u32),
        keys: KeyRange<'_>,
        used: &mut Used,
    ) -> Result<Reference> {
        self.limits.check()?;
        let mut page = outline.page(reference, outline.expected(node, level, count), keys)?;
        let hash = page_hash(&page, node.is_subject, outline.shares());
        if self.view.page_summary(outline.document, &hash)?.is_some() {
            used.summaries.insert((outline.document, hash));
        }
        match &mut page.entries {
            Entries::Ranges(ranges) => {
                let below = level.checked_sub(1).ok_or_else(|| inconsistent("a page of level 0 that lists pages"))?;
                let as_read = ranges.clone();
                for (at, range) in ranges.iter_mut().enumerate() {
                    let keys = KeyRange::of(&as_read, at, keys.upper);
                    range.page = self.outline_page(outline, node, &range.page, (below, range.count), keys, used)?;
                }
            }
            Entries::Items(items) => {
                for item in items {
                    let Some(below) = outline.node_of(node, item.clone())? else { continue };
                    if let Item::Category { top, .. } | Item::LargeSubject { top, .. } = item {
                        top.page = self.top_page(outline, &below, used)?;
                    }
                }
            }
        }
        self.block(BlockKind::Outline, &page.encode())
    }
}
