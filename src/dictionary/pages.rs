//! Decoded separator pages, kept for the next look-up.

use crate::store::Blocks;
use crate::{Error, Result};
use parking_lot::RwLock;
use plica_format::block::Reference;
use plica_format::separator::SeparatorPage;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Decoded separator pages kept, at most; one is about 8 KiB and stands over some 100 leaves.
const CACHED_PAGES: usize = 1024;
/// Pages that hang from segments and from one another, at most.
const LINKED_PAGES: usize = 1024;
/// Bits of a page's place under its parent that are the number of the entry: pages have fewer entries.
const ENTRY_BITS: u32 = 16;

/// A decoded page, with what finds an entry in it without touching the keys of others.
#[derive(Debug)]
pub(crate) struct CachedPage {
    page: SeparatorPage,
    offset: u64,
    /// Bytes that all keys have in common.
    common: usize,
    /// The eight bytes of each key behind those, as a number; where there are fewer, with zeros.
    heads: Vec<u64>,
    /// Under which parent and entry the page was found to be what the parent says; 0 before.
    known: AtomicU64,
    /// The pages below, where there are pages, as they were met.
    below: Box<[Link]>,
}

/// Where a decoded page hangs from what refers to it, once it was met.
pub(crate) type Link = OnceLock<Linked>;

/// A page that hangs from a segment or another page, counted.
#[derive(Debug)]
pub(crate) struct Linked {
    page: Arc<CachedPage>,
    count: Arc<AtomicUsize>,
}

impl Linked {
    /// Counts the page, unless as many are linked as may be.
    fn new(page: &Arc<CachedPage>, count: &Arc<AtomicUsize>) -> Option<Self> {
        let before = count.fetch_add(1, Ordering::Relaxed);
        let linked = Self { page: Arc::clone(page), count: Arc::clone(count) };
        // Where it is dropped, it is no longer counted.
        (before < LINKED_PAGES).then_some(linked)
    }
}

impl Clone for Linked {
    /// Another of the same, counted as well: each is discounted where it is dropped.
    fn clone(&self) -> Self {
        self.count.fetch_add(1, Ordering::Relaxed);
        Self { page: Arc::clone(&self.page), count: Arc::clone(&self.count) }
    }
}

impl Drop for Linked {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A page on the way down: lent by what it hangs from, or kept alive.
#[derive(Debug, Clone)]
pub(crate) enum PageRef<'a> {
    Linked(&'a CachedPage),
    Kept(Arc<CachedPage>),
}

impl Deref for PageRef<'_> {
    type Target = CachedPage;

    fn deref(&self) -> &CachedPage {
        match self {
            Self::Linked(page) => page,
            Self::Kept(page) => page,
        }
    }
}

impl<'a> PageRef<'a> {
    /// Where the page below entry `at` hangs.
    pub(crate) fn link(&self, at: usize) -> Option<&'a Link> {
        match self {
            Self::Linked(page) => page.below.get(at),
            Self::Kept(_) => None,
        }
    }
}

impl Deref for CachedPage {
    type Target = SeparatorPage;

    fn deref(&self) -> &SeparatorPage {
        &self.page
    }
}

/// The eight bytes of a key from `start` on.
fn head(key: &[u8], start: usize) -> u64 {
    let rest = key.get(start..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
            u64::from_be_bytes(bytes)
        }
    }
}

impl CachedPage {
    fn new(page: SeparatorPage, offset: u64) -> Self {
        let ends = page.entries.first().zip(page.entries.last());
        let common = ends.map_or(0, |((a, _), (b, _))| a.iter().zip(b).take_while(|(a, b)| a == b).count());
        let heads = page.entries.iter().map(|(key, _)| head(key, common)).collect();
        let pages_below = if page.level > 1 { page.entries.len() } else { 0 };
        let below = (0..pages_below).map(|_| Link::new()).collect();
        Self { page, offset, common, heads, known: AtomicU64::new(0), below }
    }

    /// As [`SeparatorPage::find`].
    pub(crate) fn find(&self, key: &[u8]) -> Option<usize> {
        let entries = &self.page.entries;
        let common = entries.first()?.0.get(..self.common)?;
        match key.get(..self.common) {
            Some(start) if start == common => {}
            Some(start) if start > common => return entries.len().checked_sub(1),
            Some(_) => return None,
            None if key > common => return entries.len().checked_sub(1),
            None => return None,
        }
        let own = head(key, self.common);
        let low = self.heads.partition_point(|&head| head < own);
        let high = low + self.heads.get(low..)?.partition_point(|&head| head <= own);
        let same = entries.get(low..high)?.partition_point(|(first, _)| first.as_slice() <= key);
        (low + same).checked_sub(1)
    }

    /// The place of entry `at` of a page, where it fits a number and the parent alone knows what follows it.
    fn place(parent: &Self, at: usize) -> Option<u64> {
        let offset = parent.offset >> 4;
        let is_last = at + 1 >= parent.page.entries.len();
        (!is_last && offset < 1 << (u64::BITS - ENTRY_BITS) && at < 1 << ENTRY_BITS)
            .then_some(offset << ENTRY_BITS | at as u64)
    }

    /// Whether the page was compared with what entry `at` of `parent` says of it.
    pub(crate) fn is_known_under(&self, parent: &Self, at: usize) -> bool {
        Self::place(parent, at) == Some(self.known.load(Ordering::Relaxed))
    }

    /// Notes that it was.
    pub(crate) fn know_under(&self, parent: &Self, at: usize) {
        if let Some(place) = Self::place(parent, at) {
            self.known.store(place, Ordering::Relaxed);
        }
    }
}

/// Decoded separator pages by offset and checksum. Committed blocks never change, so a page serves every commit of its
/// file; the checksum tells a block from one that a rollback took back.
#[derive(Debug, Default)]
pub(crate) struct PageCache {
    pages: RwLock<Pages>,
    /// Links that there are.
    linked: Arc<AtomicUsize>,
}

/// Pages by offset and checksum.
type Pages = HashMap<(u64, u32), Arc<CachedPage>, BuildHasherDefault<PlaceHasher>>;

/// Hashes the place of a page: there are few, and they are far apart.
#[derive(Debug, Default)]
struct PlaceHasher(u64);

impl Hasher for PlaceHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(26) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

impl PageCache {
    /// The page at `reference`, which hangs from `link`, where there is one: found there, without locks, the next time.
    pub(crate) fn page_at<'a>(
        &self,
        blocks: &Blocks,
        reference: &Reference,
        link: Option<&'a Link>,
    ) -> Result<PageRef<'a>> {
        let Some(link) = link else { return self.page(blocks, reference).map(PageRef::Kept) };
        if let Some(linked) = link.get() {
            blocks.touch(reference)?;
            return Ok(PageRef::Linked(&linked.page));
        }
        let page = self.page(blocks, reference)?;
        match Linked::new(&page, &self.linked) {
            Some(linked) => Ok(PageRef::Linked(&link.get_or_init(|| linked).page)),
            None => Ok(PageRef::Kept(page)),
        }
    }

    /// The page at `reference`, read and checked where it is not kept.
    pub(crate) fn page(&self, blocks: &Blocks, reference: &Reference) -> Result<Arc<CachedPage>> {
        // The header is compared with the reference on every touch, cached or not.
        blocks.touch(reference)?;
        if let Some(page) = self.pages.read().get(&(reference.offset, reference.checksum)) {
            return Ok(Arc::clone(page));
        }
        let page = SeparatorPage::decode(&blocks.read(reference)?).map_err(Error::damaged_block(reference))?;
        if page.entries.iter().any(|(_, child)| child.end() > reference.offset) {
            return Err(Error::Damaged {
                offset: reference.offset,
                what: "separator block".into(),
                detail: "expected children that lie before it, got one behind".into(),
            });
        }
        let page = Arc::new(CachedPage::new(page, reference.offset));
        let mut pages = self.pages.write();
        if pages.len() >= CACHED_PAGES {
            pages.clear();
        }
        pages.insert((reference.offset, reference.checksum), Arc::clone(&page));
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plica_format::block::BlockKind;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_entry_is_found_as_by_comparing_keys(
            start in prop::collection::vec(0u8..3, 0..4),
            keys in prop::collection::btree_set(prop::collection::vec(0u8..3, 0..12), 1..40),
            probes in prop::collection::vec(prop::collection::vec(0u8..4, 0..14), 20),
        ) {
            let child = Reference { offset: 20_480, stored_bytes: 1, kind: BlockKind::Leaf, checksum: 0 };
            let with_start = |key: &Vec<u8>| [start.as_slice(), key].concat();
            let entries = keys.iter().map(|key| (with_start(key), child)).collect();
            let page = CachedPage::new(SeparatorPage { level: 1, entries }, 32_768);
            for probe in probes.iter().chain(&keys) {
                for probe in [probe.clone(), with_start(probe)] {
                    prop_assert_eq!(page.find(&probe), page.page.find(&probe), "{:?}", probe);
                }
            }
        }
    }

    #[test]
    fn links_are_counted_however_they_are_copied() {
        let page = Arc::new(CachedPage::new(SeparatorPage { level: 1, entries: Vec::new() }, 32_768));
        let count = Arc::new(AtomicUsize::new(0));
        let link = Link::new();
        assert!(link.set(Linked::new(&page, &count).unwrap()).is_ok());
        for _ in 0..3 {
            drop(link.clone());
        }
        assert_eq!(count.load(Ordering::Relaxed), 1);
        let others: Vec<Link> = (0..3).map(|_| link.clone()).collect();
        assert_eq!(count.load(Ordering::Relaxed), 4);
        drop((link, others));
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}
