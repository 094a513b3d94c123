//! Look-up in the segments of one commit.

use super::load_value;
use crate::store::{Blocks, Payload};
use crate::{Error, Result};
use parking_lot::RwLock;
use plica_format::block::{BlockKind, Reference};
use plica_format::leaf::Leaf;
use plica_format::separator::SeparatorPage;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Decoded separator pages kept, at most; one is about 8 KiB and stands over some 300 leaves.
const CACHED_PAGES: usize = 1024;

/// Decoded separator pages by offset and checksum. Committed blocks never change, so a page serves every commit of its
/// file; the checksum tells a block from one that a rollback took back.
#[derive(Debug, Default)]
pub(crate) struct PageCache {
    pages: RwLock<HashMap<(u64, u32), Arc<SeparatorPage>>>,
}

impl PageCache {
    /// The page at `reference`, read and checked where it is not kept.
    pub(crate) fn page(&self, blocks: &Blocks, reference: &Reference) -> Result<Arc<SeparatorPage>> {
        // The header is compared with the reference on every touch, cached or not.
        let payload = blocks.read(reference)?;
        if let Some(page) = self.pages.read().get(&(reference.offset, reference.checksum)) {
            return Ok(Arc::clone(page));
        }
        let page = Arc::new(SeparatorPage::decode(&payload).map_err(Error::damaged_block(reference))?);
        if page.entries.iter().any(|(_, child)| child.end() > reference.offset) {
            return Err(Error::Damaged {
                offset: reference.offset,
                what: "separator block".into(),
                detail: "expected children that lie before it, got one behind".into(),
            });
        }
        let mut pages = self.pages.write();
        if pages.len() >= CACHED_PAGES {
            pages.clear();
        }
        pages.insert((reference.offset, reference.checksum), Arc::clone(&page));
        Ok(page)
    }
}

/// A segment as a reader takes it.
#[derive(Debug, Clone)]
pub(crate) struct SegmentView {
    /// Leaf or separator page.
    pub(crate) root: Reference,
    /// The key it counts from; what lies below has moved into the segment that it is being merged into.
    pub(crate) from: Vec<u8>,
}

/// The segments of one commit, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct Dictionary {
    pub(crate) blocks: Blocks,
    pub(crate) segments: Vec<SegmentView>,
    pub(crate) cache: Arc<PageCache>,
}

/// A leaf on the way to a key, with the keys that its parents allow it.
pub(super) struct LeafPlace<'a> {
    pub(super) reference: Reference,
    pub(super) payload: Payload<'a>,
}

impl LeafPlace<'_> {
    /// The leaf, which was wholly checked when it was touched for the first time.
    pub(super) fn leaf(&self) -> Result<Leaf<'_>> {
        Leaf::trusted(&self.payload).map_err(Error::damaged_block(&self.reference))
    }
}

impl Dictionary {
    /// The leaf of `segment` where `key` would be, or `None` where the segment starts behind it.
    pub(super) fn find_leaf<'a>(&'a self, segment: &SegmentView, key: &[u8]) -> Result<Option<LeafPlace<'a>>> {
        let mut reference = segment.root;
        let mut first: Option<Vec<u8>> = None;
        let mut upper: Option<Vec<u8>> = None;
        let mut level: Option<u8> = None;
        while reference.kind == BlockKind::Separator {
            let page = self.cache.page(&self.blocks, &reference)?;
            check_page(&page, &reference, level, first.as_deref(), upper.as_deref())?;
            let Some(at) = page.find(key) else { return Ok(None) };
            if let Some((next, _)) = page.entries.get(at + 1) {
                upper = Some(next.clone());
            }
            let Some((lowest, child)) = page.entries.get(at) else { return Ok(None) };
            first = Some(lowest.clone());
            level = Some(page.level - 1);
            reference = *child;
        }
        let payload = self.blocks.read_validated(&reference, |bytes| {
            let leaf = Leaf::decode(bytes)?;
            match &first {
                Some(first) => leaf.check_under(first, upper.as_deref()),
                None => Ok(()),
            }
        })?;
        Ok(Some(LeafPlace { reference, payload }))
    }

    /// Hands the value of `key` in `segment` to `use_it`.
    fn get_in<T>(
        &self,
        segment: &SegmentView,
        key: &[u8],
        use_it: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<Option<T>> {
        if key < segment.from.as_slice() {
            return Ok(None);
        }
        let Some(place) = self.find_leaf(segment, key)? else { return Ok(None) };
        let leaf = place.leaf()?;
        match leaf.get(key).map_err(Error::damaged_block(&place.reference))? {
            Some(stored) => load_value(&self.blocks, &place.reference, stored, use_it).map(Some),
            None => Ok(None),
        }
    }

    /// Hands the newest value of `key` to `use_it`.
    pub(crate) fn newest<T>(&self, key: &[u8], mut use_it: impl FnMut(&[u8]) -> Result<T>) -> Result<Option<T>> {
        for segment in self.segments.iter().rev() {
            if let Some(found) = self.get_in(segment, key, &mut use_it)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Hands the values of `key` to `use_it`, newest first, until it finds what it looks for.
    pub(crate) fn find<T>(&self, key: &[u8], mut use_it: impl FnMut(&[u8]) -> Result<Option<T>>) -> Result<Option<T>> {
        for segment in self.segments.iter().rev() {
            if let Some(found) = self.get_in(segment, key, &mut use_it)?.flatten() {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Hands every value of `key` to `use_it`, oldest first.
    pub(crate) fn each(&self, key: &[u8], mut use_it: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        for segment in &self.segments {
            self.get_in(segment, key, &mut use_it)?;
        }
        Ok(())
    }

    /// Hands every key from `from` to `to`, with its value, to `use_it`: segment by segment, oldest first, in key order
    /// within one. The work depends on the keys that there are, not on how far apart the bounds lie.
    pub(crate) fn each_between(
        &self,
        from: &[u8],
        to: &[u8],
        mut use_it: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        for segment in &self.segments {
            self.scan_segment(segment, from, |key, value| {
                if key > to {
                    return Ok(ControlFlow::Break(()));
                }
                use_it(key, value)?;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(())
    }

    /// Hands every key that starts with `prefix`, with its value, to `use_it`: segment by segment, oldest first, in
    /// key order within one.
    pub(crate) fn each_with_prefix(
        &self,
        prefix: &[u8],
        mut use_it: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        for segment in &self.segments {
            self.scan_segment(segment, prefix, |key, value| {
                if !key.starts_with(prefix) {
                    return Ok(ControlFlow::Break(()));
                }
                use_it(key, value)?;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(())
    }

    /// Walks the keys of one segment from `from` on until `use_it` breaks off.
    fn scan_segment(
        &self,
        segment: &SegmentView,
        from: &[u8],
        mut use_it: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut from = from.max(segment.from.as_slice()).to_vec();
        // The common case is answered by one leaf; where its end is reached, the walk goes on with a cursor.
        if let Some(place) = self.find_leaf(segment, &from)? {
            let leaf = place.leaf()?;
            let mut cursor = leaf.seek(&from);
            let mut last: Option<Vec<u8>> = None;
            while let Some((key, stored)) = cursor.next().map_err(Error::damaged_block(&place.reference))? {
                let flow = load_value(&self.blocks, &place.reference, stored, |value| use_it(key, value))?;
                if flow.is_break() {
                    return Ok(());
                }
                last = Some(key.to_vec());
            }
            if segment.root.kind == BlockKind::Leaf {
                return Ok(());
            }
            if let Some(mut last) = last {
                last.push(0);
                from = last;
            }
        }
        let mut cursor = super::SegmentCursor::new(self, segment, &from)?;
        while let Some((key, leaf, stored)) = cursor.peek() {
            if load_value(&self.blocks, leaf, stored, |value| use_it(key, value))?.is_break() {
                return Ok(());
            }
            cursor.advance()?;
        }
        Ok(())
    }
}

/// Compares a separator page with what its parent expects.
pub(super) fn check_page(
    page: &SeparatorPage,
    reference: &Reference,
    level: Option<u8>,
    first: Option<&[u8]>,
    upper: Option<&[u8]>,
) -> Result<()> {
    let (Some(level), Some(first)) = (level, first) else { return Ok(()) };
    page.check_under(level, first, upper).map_err(Error::damaged_block(reference))
}
