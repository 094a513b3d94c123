//! Walking segments in key order.

use super::Dictionary;
use super::pages::CachedPage;
use super::read::{SegmentView, check_page};
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::leaf::Leaf;
use std::sync::Arc;

/// A separator page on the way down, and which child comes next.
struct Step {
    page: Arc<CachedPage>,
    next: usize,
    /// First key behind the page, where its parents know one.
    upper: Option<Vec<u8>>,
}

/// One leaf, copied out: keys and values one after another in `bytes`.
#[derive(Default)]
struct LeafCopy {
    bytes: Vec<u8>,
    /// Start of key, end of key and end of value.
    entries: Vec<(u32, u32, u32)>,
}

/// Walks one segment from a key on. Holds one leaf at a time.
pub(crate) struct SegmentCursor<'a> {
    dictionary: &'a Dictionary,
    steps: Vec<Step>,
    leaf: LeafCopy,
    reference: Reference,
    at: usize,
}

impl<'a> SegmentCursor<'a> {
    /// A cursor at the first key of `segment` that is not below `from`.
    pub(crate) fn new(dictionary: &'a Dictionary, segment: &SegmentView, from: &[u8]) -> Result<Self> {
        let from = from.max(segment.from.as_slice());
        let mut cursor =
            Self { dictionary, steps: Vec::new(), leaf: LeafCopy::default(), reference: segment.root, at: 0 };
        cursor.descend(segment.root, None, None, Some(from))?;
        cursor.skip_empty()?;
        Ok(cursor)
    }

    /// Goes down from `reference` to a leaf: to the one where `from` would be, or the first.
    fn descend(
        &mut self,
        mut reference: Reference,
        mut expected: Option<(u8, Vec<u8>)>,
        mut upper: Option<Vec<u8>>,
        from: Option<&[u8]>,
    ) -> Result<()> {
        while reference.kind == BlockKind::Separator {
            let page = self.dictionary.cache.page(&self.dictionary.blocks, &reference)?;
            let (level, first) = match &expected {
                Some((level, first)) => (Some(*level), Some(first.as_slice())),
                None => (None, None),
            };
            check_page(&page, &reference, level, first, upper.as_deref())?;
            let at = from.and_then(|from| page.find(from)).unwrap_or(0);
            let Some((first, child)) = page.entries.get(at).cloned() else {
                return Err(Error::invalid("a separator page without entries"));
            };
            let below = page.entries.get(at + 1).map(|entry| entry.0.clone()).or_else(|| upper.clone());
            expected = Some((page.level - 1, first));
            self.steps.push(Step { page, next: at + 1, upper });
            upper = below;
            reference = child;
        }
        self.load(reference, expected.as_ref().map(|e| e.1.as_slice()), upper.as_deref(), from)
    }

    /// Copies the leaf at `reference`, from `from` on.
    fn load(
        &mut self,
        reference: Reference,
        first: Option<&[u8]>,
        upper: Option<&[u8]>,
        from: Option<&[u8]>,
    ) -> Result<()> {
        let payload = self.dictionary.blocks.read(&reference)?;
        // A whole leaf is about to be used, so it is checked whole.
        let leaf = Leaf::decode(&payload).map_err(Error::damaged_block(&reference))?;
        if let Some(first) = first {
            leaf.check_under(first, upper).map_err(Error::damaged_block(&reference))?;
        }
        self.leaf.bytes.clear();
        self.leaf.entries.clear();
        self.reference = reference;
        self.at = 0;
        let mut entries = leaf.seek(from.unwrap_or_default());
        while let Some((key, value)) = entries.next().map_err(Error::damaged_block(&reference))? {
            let start = self.leaf.bytes.len() as u32;
            self.leaf.bytes.extend_from_slice(key);
            let middle = self.leaf.bytes.len() as u32;
            self.leaf.bytes.extend_from_slice(value);
            self.leaf.entries.push((start, middle, self.leaf.bytes.len() as u32));
        }
        Ok(())
    }

    /// Moves on to the next leaf while the present one is used up.
    fn skip_empty(&mut self) -> Result<()> {
        while self.at >= self.leaf.entries.len() {
            let Some(step) = self.steps.last_mut() else { return Ok(()) };
            let Some((first, child)) = step.page.entries.get(step.next).cloned() else {
                self.steps.pop();
                continue;
            };
            step.next += 1;
            let upper = step.page.entries.get(step.next).map(|entry| entry.0.clone()).or_else(|| step.upper.clone());
            let level = step.page.level - 1;
            self.descend(child, Some((level, first)), upper, None)?;
        }
        Ok(())
    }

    /// The present key, the leaf it is in, and the value as the leaf holds it.
    pub(crate) fn peek(&self) -> Option<(&[u8], &Reference, &[u8])> {
        let &(start, middle, end) = self.leaf.entries.get(self.at)?;
        let key = self.leaf.bytes.get(start as usize..middle as usize)?;
        let value = self.leaf.bytes.get(middle as usize..end as usize)?;
        Some((key, &self.reference, value))
    }

    /// Moves to the next key.
    pub(crate) fn advance(&mut self) -> Result<()> {
        self.at += 1;
        self.skip_empty()
    }
}

/// Walks several segments at once: each key once, with its values, oldest segment first.
pub(crate) struct MergeCursor<'a> {
    cursors: Vec<SegmentCursor<'a>>,
}

impl<'a> MergeCursor<'a> {
    /// A cursor over `segments` (oldest first) from `from` on.
    pub(crate) fn new(dictionary: &'a Dictionary, segments: &[SegmentView], from: &[u8]) -> Result<Self> {
        let cursors =
            segments.iter().map(|segment| SegmentCursor::new(dictionary, segment, from)).collect::<Result<_>>()?;
        Ok(Self { cursors })
    }

    /// The least key that is left.
    pub(crate) fn key(&self) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        self.next_key(&mut key).then_some(key)
    }

    /// Puts the least key that is left into `key`; gives whether there was one.
    pub(crate) fn next_key(&self, key: &mut Vec<u8>) -> bool {
        let Some(least) = self.cursors.iter().filter_map(|cursor| cursor.peek().map(|entry| entry.0)).min() else {
            return false;
        };
        key.clear();
        key.extend_from_slice(least);
        true
    }

    /// Hands the values of `key`, which [`MergeCursor::key`] gave, as the leaves hold them to `use_it`, oldest first,
    /// and moves past it.
    pub(crate) fn take(&mut self, key: &[u8], mut use_it: impl FnMut(&Reference, &[u8]) -> Result<()>) -> Result<()> {
        for cursor in &mut self.cursors {
            if let Some((_, leaf, value)) = cursor.peek().filter(|entry| entry.0 == key) {
                use_it(leaf, value)?;
                cursor.advance()?;
            }
        }
        Ok(())
    }
}
