//! Look-up in the segments of one commit.

use super::load_value;
use super::pages::{Link, PageCache, PageRef};
use crate::store::{Blocks, Payload};
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::leaf::Leaf;
use plica_format::separator::SeparatorPage;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A segment as a reader takes it.
#[derive(Debug, Clone)]
pub(crate) struct SegmentView {
    /// Leaf or separator page.
    pub(crate) root: Reference,
    /// The key it counts from; what lies below has moved into the segment that it is being merged into.
    pub(crate) from: Vec<u8>,
    /// The decoded root, where it is a page and was met.
    top: Link,
}

impl SegmentView {
    /// A segment by its root and the key that it counts from.
    pub(crate) fn new(root: Reference, from: Vec<u8>) -> Self {
        Self { root, from, top: Link::new() }
    }
}

/// The segments of one commit, oldest first.
#[derive(Debug, Clone)]
pub(crate) struct Dictionary {
    pub(crate) blocks: Blocks,
    pub(crate) segments: Vec<SegmentView>,
    pub(crate) cache: Arc<PageCache>,
}

/// A leaf on the way to a key.
pub(super) struct LeafPlace<'a> {
    pub(super) reference: Reference,
    pub(super) payload: Payload<'a>,
    /// Where the first key behind the leaf stands, where there is one.
    upper: Option<(PageRef<'a>, usize)>,
}

impl LeafPlace<'_> {
    /// The leaf, which was wholly checked when it was touched for the first time.
    pub(super) fn leaf(&self) -> Result<Leaf<'_>> {
        Leaf::trusted(&self.payload).map_err(Error::damaged_block(&self.reference))
    }

    /// The first key of the next leaf.
    fn upper(&self) -> Option<&[u8]> {
        key_at(self.upper.as_ref())
    }
}

/// The key of an entry of a separator page.
fn key_at<'p>(place: Option<&'p (PageRef<'_>, usize)>) -> Option<&'p [u8]> {
    place.and_then(|(page, at)| page.entries.get(*at)).map(|entry| entry.0.as_slice())
}

impl Dictionary {
    /// The leaf of `segment` where `key` would be, or `None` where the segment starts behind it.
    pub(super) fn find_leaf<'a>(&'a self, segment: &'a SegmentView, key: &[u8]) -> Result<Option<LeafPlace<'a>>> {
        self.leaf_at(segment, key, false)
    }

    /// The leaf of `segment` where `key` would be; where the segment starts behind it, the first or none.
    fn leaf_at<'a>(&'a self, segment: &'a SegmentView, key: &[u8], or_first: bool) -> Result<Option<LeafPlace<'a>>> {
        let mut reference = segment.root;
        let mut first: Option<(PageRef<'a>, usize)> = None;
        let mut upper: Option<(PageRef<'a>, usize)> = None;
        while reference.kind == BlockKind::Separator {
            let link = match &first {
                Some((parent, at)) => parent.link(*at),
                None => Some(&segment.top),
            };
            let page = self.cache.page_at(&self.blocks, &reference, link)?;
            if let Some((parent, at)) = &first
                && !page.is_known_under(parent, *at)
            {
                let level = Some(parent.level - 1);
                check_page(&page, &reference, level, key_at(first.as_ref()), key_at(upper.as_ref()))?;
                page.know_under(parent, *at);
            }
            let at = match page.find(key) {
                Some(at) => at,
                None if or_first => 0,
                None => return Ok(None),
            };
            let Some((_, child)) = page.entries.get(at) else { return Ok(None) };
            reference = *child;
            if page.entries.len() > at + 1 {
                upper = Some((page.clone(), at + 1));
            }
            first = Some((page, at));
        }
        let payload = self.blocks.read_validated(&reference, |bytes| {
            let leaf = Leaf::decode(bytes)?;
            match key_at(first.as_ref()) {
                Some(first) => leaf.check_under(first, key_at(upper.as_ref())),
                None => Ok(()),
            }
        })?;
        Ok(Some(LeafPlace { reference, payload, upper }))
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

    /// Walks the keys of one segment from `from` on until `use_it` breaks off, leaf by leaf.
    fn scan_segment(
        &self,
        segment: &SegmentView,
        from: &[u8],
        mut use_it: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let from = from.max(segment.from.as_slice());
        let mut place = self.leaf_at(segment, from, true)?;
        let mut from = from;
        while let Some(at) = place {
            let leaf = at.leaf()?;
            let mut cursor = leaf.seek(from);
            while let Some((key, stored)) = cursor.next().map_err(Error::damaged_block(&at.reference))? {
                if load_value(&self.blocks, &at.reference, stored, |value| use_it(key, value))?.is_break() {
                    return Ok(());
                }
            }
            place = match at.upper() {
                Some(upper) => self.leaf_at(segment, upper, true)?,
                None => None,
            };
            from = b"";
        }
        Ok(())
    }

    /// The first key of any segment that is not below `from`.
    pub(crate) fn next_key(&self, from: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut least: Option<Vec<u8>> = None;
        for segment in &self.segments {
            let from = from.max(segment.from.as_slice());
            let Some(place) = self.leaf_at(segment, from, true)? else { continue };
            let leaf = place.leaf()?;
            let mut cursor = leaf.seek(from);
            let found = match cursor.next().map_err(Error::damaged_block(&place.reference))? {
                Some((key, _)) => Some(key),
                None => place.upper(),
            };
            if let Some(found) = found.filter(|found| least.as_ref().is_none_or(|least| *found < least.as_slice())) {
                least = Some(found.to_vec());
            }
        }
        Ok(least)
    }

    /// Hands each key that starts with `prefix` and is not below `from`, ascending, with its newest value, to `use_it`
    /// until that breaks off.
    pub(crate) fn each_newest(
        &self,
        prefix: &[u8],
        from: &[u8],
        mut use_it: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let from = from.max(prefix);
        if let [segment] = self.segments.as_slice() {
            return self.scan_segment(segment, from, |key, value| match key.starts_with(prefix) {
                true => use_it(key, value),
                false => Ok(ControlFlow::Break(())),
            });
        }
        // Mostly there are a few keys, which are gathered and sorted; of many the segments are walked side by side.
        let mut gathered = Gathered::default();
        for (at, segment) in self.segments.iter().enumerate() {
            self.scan_segment(segment, from, |key, value| {
                Ok(match key.starts_with(prefix) && gathered.add(at, key, value) {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                })
            })?;
        }
        if !gathered.is_full {
            return gathered.each(use_it);
        }
        drop(gathered);
        let mut cursor = super::MergeCursor::new(self, &self.segments, from)?;
        let mut newest = Vec::new();
        while let Some(key) = cursor.key().filter(|key| key.starts_with(prefix)) {
            cursor.take(&key, |leaf, stored| {
                load_value(&self.blocks, leaf, stored, |value| {
                    newest.clear();
                    newest.extend_from_slice(value);
                    Ok(())
                })
            })?;
            if use_it(&key, &newest)?.is_break() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Entries that are gathered before the segments are walked side by side instead.
const GATHERED_ENTRIES: usize = 512;
/// Bytes of keys and values that are.
const GATHERED_BYTES: usize = 256 << 10;

/// Entries of several segments.
#[derive(Default)]
struct Gathered {
    bytes: Vec<u8>,
    /// Segment, and start of key, end of key and end of value.
    entries: Vec<(usize, usize, usize, usize)>,
    is_full: bool,
}

impl Gathered {
    /// Takes an entry; gives whether there was room.
    fn add(&mut self, segment: usize, key: &[u8], value: &[u8]) -> bool {
        let start = self.bytes.len();
        let (middle, end) = (start + key.len(), start + key.len() + value.len());
        self.is_full |= self.entries.len() >= GATHERED_ENTRIES || end > GATHERED_BYTES;
        if self.is_full {
            return false;
        }
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.entries.push((segment, start, middle, end));
        true
    }

    /// Hands out each key once, with the value of the last segment that has it.
    fn each(mut self, mut use_it: impl FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>>) -> Result<()> {
        let key = |entry: &(usize, usize, usize, usize)| self.bytes.get(entry.1..entry.2).unwrap_or_default();
        self.entries.sort_unstable_by(|a, b| key(a).cmp(key(b)).then(b.0.cmp(&a.0)));
        let mut last: Option<&[u8]> = None;
        for entry in &self.entries {
            let key = key(entry);
            if last == Some(key) {
                continue;
            }
            last = Some(key);
            if use_it(key, self.bytes.get(entry.2..entry.3).unwrap_or_default())?.is_break() {
                return Ok(());
            }
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
