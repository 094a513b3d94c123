//! Outlines, kinds 60 to 63: heads with their pages, categories, names, and the summaries of pages that are in use.

use super::Run;
use crate::Result;
use crate::index::outline::{NodeAt, OutlineView, page_hash};
use crate::index::view::inconsistent;
use plica_format::block::{BlockKind, Reference};
use plica_format::key;
use plica_format::outline::{Entries, Item};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Hashes of the pages of a document that have a summary of their own.
type Used = BTreeSet<(u32, [u8; 16])>;

impl Run<'_> {
    pub(super) fn outlines(&mut self) -> Result<()> {
        let ids = self.ids;
        let mut used = Used::new();
        for slot in &ids.documents {
            self.limits.check()?;
            let Some(mut head) = self.view.outline_head(slot.number)? else { continue };
            let outline = OutlineView { view: self.view, document: slot.number, root: head.root, budget: head.budget };
            if let Some(root) = outline.root_node()? {
                let top = root.top;
                let page = self.outline_page(&outline, &root, &top.page, top.level, top.count, &mut used)?;
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
                    key::PAGE_SUMMARY => found.last_chunk().is_some_and(|hash| used.contains(&(document, *hash))),
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

    /// A page, behind the pages that it refers to.
    fn outline_page(
        &mut self,
        outline: &OutlineView<'_>,
        node: &NodeAt,
        reference: &Reference,
        level: u8,
        count: u32,
        used: &mut Used,
    ) -> Result<Reference> {
        self.limits.check()?;
        let mut page = outline.page(reference, outline.expected(node, level, count))?;
        let hash = page_hash(&page, node.is_subject, outline.shares());
        if self.view.page_summary(outline.document, &hash)?.is_some() {
            used.insert((outline.document, hash));
        }
        match &mut page.entries {
            Entries::Ranges(ranges) => {
                let below = level.checked_sub(1).ok_or_else(|| inconsistent("a page of level 0 that lists pages"))?;
                for range in ranges {
                    range.page = self.outline_page(outline, node, &range.page, below, range.count, used)?;
                }
            }
            Entries::Items(items) => {
                for item in items {
                    let Some(below) = outline.node_of(node, item.clone()) else { continue };
                    if let Item::Category { top, .. } | Item::LargeSubject { top, .. } = item {
                        top.page = self.outline_page(outline, &below, &top.page, top.level, top.count, used)?;
                    }
                }
            }
        }
        self.block(BlockKind::Outline, &page.encode())
    }
}
