//! What a writer has changed of outlines since it last wrote their pages.

use super::read::OutlineView;
use crate::Result;
use crate::index::writer::Writer;
use plica_format::outline::{Path, Subject};
use plica_format::outline_head::{CategoryRow, OutlineHead};
use std::collections::BTreeMap;

/// Changes of one category.
#[derive(Debug, Default)]
pub(crate) struct PendingNode {
    pub(crate) path: Path,
    /// Subjects by the key that orders them: as they are now, or `None` where they go.
    pub(crate) subjects: BTreeMap<Vec<u8>, Option<Subject>>,
    /// The category as it was, where it changed.
    pub(crate) was: Option<CategoryRow>,
}

/// Changes of one outline.
#[derive(Debug)]
pub(crate) struct PendingOutline {
    pub(crate) head: OutlineHead,
    /// By the keys of the names of their paths.
    pub(crate) nodes: BTreeMap<Vec<String>, PendingNode>,
    pub(crate) dirty: bool,
    /// Summaries of pages were given, so any page may change.
    pub(crate) rebuild: bool,
    /// Place of the next category that is named, once it was asked for.
    pub(crate) next_position: Option<u32>,
    /// Estimate of the memory taken.
    pub(crate) bytes: usize,
}

/// The keys of the names of a path.
pub(crate) fn path_keys(path: &[String]) -> Vec<String> {
    path.iter().map(|name| crate::text::key(name)).collect()
}

impl Writer {
    /// The outline of a document as this writer changes it.
    pub(crate) fn pending_outline(&mut self, document: u32) -> Result<&mut PendingOutline> {
        if !self.outlines.contains_key(&document) {
            let mut head = self.view().outline_head(document)?.unwrap_or_default();
            if head.budget == 0 {
                head.budget = super::render::DEFAULT_BUDGET;
            }
            let pending = PendingOutline {
                head,
                nodes: BTreeMap::new(),
                dirty: false,
                rebuild: false,
                next_position: None,
                bytes: 0,
            };
            self.outlines.insert(document, pending);
        }
        self.outlines
            .get_mut(&document)
            .ok_or(crate::Error::Unusable { reason: "an outline that was just opened is gone" })
    }

    /// The head of a document's outline as it stands now.
    pub(crate) fn outline_head_now(&self, document: u32) -> Result<OutlineHead> {
        if let Some(pending) = self.outlines.get(&document) {
            return Ok(pending.head.clone());
        }
        let head = self.view().outline_head(document)?.unwrap_or_default();
        let budget = if head.budget == 0 { super::render::DEFAULT_BUDGET } else { head.budget };
        Ok(OutlineHead { budget, ..head })
    }

    /// The written part of an outline.
    pub(crate) fn written_outline(&self, document: u32) -> Result<OutlineView<'_>> {
        let head = self.outline_head_now(document)?;
        Ok(OutlineView { view: self.view(), document, root: head.root, budget: head.budget })
    }

    /// A subject as it stands now.
    pub(crate) fn subject_now(&self, document: u32, category: &[String], name: &str) -> Result<Option<Subject>> {
        if let Some(node) = self.outlines.get(&document).and_then(|outline| outline.nodes.get(&path_keys(category)))
            && let Some(subject) = node.subjects.get(&super::order::subject_key(name))
        {
            return Ok(subject.clone());
        }
        self.written_outline(document)?.subject(category, name)
    }

    /// Sets a subject, or takes it away, in what will be written.
    pub(crate) fn set_subject(
        &mut self,
        document: u32,
        category: &[String],
        name: &str,
        subject: Option<Subject>,
    ) -> Result<()> {
        let bytes = subject.as_ref().map_or(0, |subject| super::render::subject_text(subject).len()) + 256;
        let outline = self.pending_outline(document)?;
        outline.dirty = true;
        outline.bytes += bytes;
        let node = outline.nodes.entry(path_keys(category)).or_default();
        node.path = category.to_vec();
        node.subjects.insert(super::order::subject_key(name), subject);
        Ok(())
    }

    /// Estimate of the memory that pending outlines take.
    pub(crate) fn outline_bytes(&self) -> usize {
        self.outlines.values().map(|outline| outline.bytes + 512).sum()
    }
}
