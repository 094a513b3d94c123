//! Writing a segment, bottom up, in one pass; also where an earlier pass stopped.

use super::Dictionary;
use crate::store::StoreWriter;
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::leaf::{Leaf, LeafBuilder};
use plica_format::limits::SEPARATOR_LEVELS;
use plica_format::separator::SeparatorPage;

/// A separator page is closed before its keys and references pass this many bytes.
const PAGE_TARGET_BYTES: usize = 8 << 10;
/// The first leaf is closed when it passes this many bytes: what is looked up one by one, from all over, is found sooner in a
/// small leaf, of which less must be checked at the first touch, and fewer cache lines are touched at any.
const LEAF_TARGET_BYTES: usize = 16 << 10;
/// The same for the leaves behind the first: a segment of one leaf needs no page above it, and in one of many a look-up
/// that is the first checks one leaf for each thing that it looks for.
const NEXT_LEAF_TARGET_BYTES: usize = 8 << 10;
/// Greatest encoded length of a reference, and what front coding adds to a key.
const ENTRY_OVERHEAD_BYTES: usize = 24;

/// A separator page in the making.
#[derive(Default)]
struct OpenPage {
    entries: Vec<(Vec<u8>, Reference)>,
    bytes: usize,
}

/// Writes a segment: keys come in ascending order, blocks go out as they fill up.
pub(crate) struct SegmentBuilder {
    leaf: LeafBuilder,
    first_key: Vec<u8>,
    /// The open page of each level, lowest first.
    pages: Vec<OpenPage>,
}

impl SegmentBuilder {
    /// An empty segment.
    pub(crate) fn new() -> Self {
        Self { leaf: LeafBuilder::new(), first_key: Vec::new(), pages: Vec::new() }
    }

    /// Goes on behind the last key of the segment at `root`: its full pages stay, its right edge is opened again.
    pub(crate) fn resume(dictionary: &Dictionary, root: Reference) -> Result<Self> {
        let mut builder = Self::new();
        if root.kind == BlockKind::Leaf {
            let payload = dictionary.blocks.read(&root)?;
            let leaf = Leaf::decode(&payload).map_err(Error::damaged_block(&root))?;
            let first = leaf.first_key().map_err(Error::damaged_block(&root))?;
            builder.pages.push(OpenPage::default());
            builder.insert(0, first, root);
            return Ok(builder);
        }
        let mut reference = root;
        loop {
            let page = dictionary.cache.page(&dictionary.blocks, &reference)?;
            let level = usize::from(page.level);
            if builder.pages.len() < level {
                builder.pages.resize_with(level, OpenPage::default);
            }
            let keep = if level == 1 { page.entries.len() } else { page.entries.len() - 1 };
            for (key, child) in page.entries.iter().take(keep) {
                builder.insert(level - 1, key.clone(), *child);
            }
            match page.entries.last() {
                Some((_, child)) if level > 1 => reference = *child,
                _ => return Ok(builder),
            }
        }
    }

    /// Adds an entry to the open page of a level.
    fn insert(&mut self, level: usize, key: Vec<u8>, child: Reference) {
        if let Some(page) = self.pages.get_mut(level) {
            page.bytes += key.len() + ENTRY_OVERHEAD_BYTES;
            page.entries.push((key, child));
        }
    }

    /// Adds a key with its value as [`super::store_value`] wrote it. Keys must come in ascending order.
    pub(crate) fn push(&mut self, store: &mut StoreWriter, key: &[u8], stored: &[u8]) -> Result<()> {
        let target = if self.pages.is_empty() { LEAF_TARGET_BYTES } else { NEXT_LEAF_TARGET_BYTES };
        let is_full = self.leaf.raw_bytes() >= target;
        if !self.leaf.is_empty() && (is_full || !self.leaf.fits(key, stored)) {
            self.close_leaf(store)?;
        }
        if self.leaf.is_empty() {
            self.first_key = key.to_vec();
        }
        self.leaf.push(key, stored).map_err(Error::encoding)
    }

    fn close_leaf(&mut self, store: &mut StoreWriter) -> Result<()> {
        let leaf = std::mem::replace(&mut self.leaf, LeafBuilder::new());
        let reference = store.append(BlockKind::Leaf, &leaf.finish(), false)?;
        let key = std::mem::take(&mut self.first_key);
        self.add_child(store, 0, key, reference)
    }

    fn add_child(&mut self, store: &mut StoreWriter, level: usize, key: Vec<u8>, child: Reference) -> Result<()> {
        if level >= usize::from(SEPARATOR_LEVELS) {
            return Err(Error::Limit {
                what: "the height of a segment",
                limit: u64::from(SEPARATOR_LEVELS),
                got: level as u64 + 1,
            });
        }
        if self.pages.len() == level {
            self.pages.push(OpenPage::default());
        }
        let full = self
            .pages
            .get(level)
            .is_some_and(|p| p.entries.len() > 1 && p.bytes + key.len() + ENTRY_OVERHEAD_BYTES > PAGE_TARGET_BYTES);
        if full {
            self.close_page(store, level)?;
        }
        self.insert(level, key, child);
        Ok(())
    }

    fn close_page(&mut self, store: &mut StoreWriter, level: usize) -> Result<()> {
        let Some(page) = self.pages.get_mut(level).map(std::mem::take) else { return Ok(()) };
        let Some(first) = page.entries.first().map(|entry| entry.0.clone()) else { return Ok(()) };
        let reference = write_page(store, level, page)?;
        self.add_child(store, level + 1, first, reference)
    }

    /// Writes what is open and gives the root; `None` for a segment without keys.
    pub(crate) fn finish(mut self, store: &mut StoreWriter) -> Result<Option<Reference>> {
        if !self.leaf.is_empty() {
            self.close_leaf(store)?;
        }
        let mut level = 0;
        loop {
            let above = self.pages.iter().skip(level + 1).any(|page| !page.entries.is_empty());
            let Some(page) = self.pages.get_mut(level).map(std::mem::take) else { return Ok(None) };
            match (page.entries.first(), above) {
                (Some((_, only)), false) if page.entries.len() == 1 => return Ok(Some(*only)),
                (Some(_), false) => return Ok(Some(write_page(store, level, page)?)),
                (Some((first, _)), true) => {
                    let first = first.clone();
                    let reference = write_page(store, level, page)?;
                    self.add_child(store, level + 1, first, reference)?;
                }
                (None, _) => {}
            }
            level += 1;
        }
    }
}

fn write_page(store: &mut StoreWriter, level: usize, page: OpenPage) -> Result<Reference> {
    let page = SeparatorPage { level: level as u8 + 1, entries: page.entries };
    let bytes = page.encode().map_err(Error::encoding)?;
    store.append(BlockKind::Separator, &bytes, false)
}
