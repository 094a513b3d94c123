//! The pages of one node: where they are cut, and how a change rewrites only the pages on its path.
//!
//! *Cutting.* The items of a node, in order, are filled into pages. A page ends before an item that no longer fits
//! (a forced cut), or after an item whose key says so (a content-defined cut): once a quarter of the page is filled, an item
//! ends it with a probability, decided by the hash of its key, that grows with its cost. So where a page ends depends on
//! nothing but the items from its start on; the same items always give the same pages, and a change moves boundaries
//! only until the next cut that both the old and the new sequence have. A page holds at least two entries but for the
//! last one, since no entry costs more than half a page, so the height is logarithmic whatever the keys are. The pages of
//! a level are the items of the next, until there is one.

use super::order::{first16, item_key};
use super::render::{Shares, item_name, item_text, range_text, range_title, tokens};
use crate::{Error, Result};
use plica_format::block::Reference;
use plica_format::limits::{OUTLINE_ENTRIES, OUTLINE_LEVELS};
use plica_format::outline::{Entries, Expected, Item, OutlinePage, Range, Top};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Bytes of all entries of a page; half of it is the limit of one.
const PAGE_BYTES: u64 = 64 << 10;

/// An entry of a page of any level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Item(Item),
    Range(Range),
}

/// An entry with its key and what it costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) key: Vec<u8>,
    cost: u32,
    pub(crate) entry: Entry,
}

/// Changes of a sequence: a key with its new entry, or with none where it goes.
pub(crate) type Changes = BTreeMap<Vec<u8>, Option<Slot>>;

impl Slot {
    pub(crate) fn item(item: Item, shares: Shares) -> Self {
        let text = item_text(&item);
        Self { key: item_key(&item), cost: cost(&text, shares), entry: Entry::Item(item) }
    }

    fn range(range: Range, shares: Shares) -> Self {
        let text = range_text(&range);
        Self { key: range.first_key.clone(), cost: cost(&text, shares), entry: Entry::Range(range) }
    }

    /// Names of the first and the last item that it stands for.
    pub(super) fn name(&self) -> (String, String) {
        match &self.entry {
            Entry::Item(item) => (item_name(item), item_name(item)),
            Entry::Range(range) => (range.first.clone(), range.last.clone()),
        }
    }

    /// The entry as it is shown.
    pub(crate) fn text(&self) -> String {
        match &self.entry {
            Entry::Item(item) => item_text(item),
            Entry::Range(range) => range_text(range),
        }
    }
}

/// What an entry costs: its tokens, but no less than its share of the entries and of the bytes of a page. So one sum
/// keeps all three within their limits.
fn cost(text: &str, shares: Shares) -> u32 {
    let entries = shares.entries();
    let least = entries.div_ceil(OUTLINE_ENTRIES as u32);
    // A kilobyte besides its text is more than keys and references take.
    let bytes = (text.len() as u64 + 1024).saturating_mul(u64::from(entries)) / PAGE_BYTES;
    tokens(text).max(least).max(u32::try_from(bytes).unwrap_or(u32::MAX))
}

/// Decides where a page ends.
struct Cutter {
    level: u8,
    capacity: u32,
    filled: u32,
    count: usize,
}

impl Cutter {
    fn new(level: u8, shares: Shares) -> Self {
        Self { level, capacity: shares.entries(), filled: 0, count: 0 }
    }

    fn fits(&self, slot: &Slot) -> bool {
        self.count == 0 || self.filled.saturating_add(slot.cost) <= self.capacity
    }

    /// Takes a slot, and says whether the page ends behind it.
    fn take(&mut self, slot: &Slot) -> bool {
        self.filled = self.filled.saturating_add(slot.cost);
        self.count += 1;
        let quarter = (self.capacity / 4).max(1);
        if self.count < 2 || self.filled < quarter {
            return false;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[self.level]);
        hasher.update(&slot.key);
        let hash = u64::from_le_bytes(hasher.finalize().as_bytes()[..8].try_into().unwrap_or([0; 8]));
        u128::from(hash) < (u128::from(slot.cost) << 64) / u128::from(quarter)
    }

    fn reset(&mut self) {
        (self.filled, self.count) = (0, 0);
    }
}

/// What the pages of a node are read from and written to.
pub(crate) trait Pages {
    /// Reads a page.
    fn read(&mut self, page: &Reference, expected: Expected) -> Result<OutlinePage>;
    /// Writes a page, and gives where it is.
    fn write(&mut self, page: &OutlinePage) -> Result<Reference>;
    /// The summary of a page: of its level and its entries alone.
    fn summary(&mut self, level: u8, slots: &[Slot]) -> Result<String>;
}

/// A node as it was before the change.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub(crate) document: u32,
    pub(crate) hash: [u8; 16],
    pub(crate) is_subject: bool,
    pub(crate) shares: Shares,
    pub(crate) top: Option<Top>,
}

/// A page of the old tree with the way to it. It is read when its entries are asked for.
#[derive(Clone)]
struct Finger {
    /// Pages above it, highest first, each with the place of the entry that leads down.
    above: Vec<(Arc<OutlinePage>, usize)>,
    place: Place,
}

#[derive(Clone)]
enum Place {
    /// A page of a level, which lists this much.
    Page { reference: Reference, level: u8, count: u32 },
    /// The level above the old top.
    AboveTop(Arc<Vec<Slot>>),
}

struct Rewrite<'a, P> {
    node: Node,
    pages: &'a mut P,
    loaded: HashMap<u64, Arc<OutlinePage>>,
    /// Entries with their costs, of pages whose entries were asked for.
    costed: HashMap<u64, Arc<Vec<Slot>>>,
}

/// Applies changes to the items of a node, and gives its new top page with what the node above says of it: its first and
/// last name, and its summary.
pub(crate) fn apply(pages: &mut impl Pages, node: Node, changes: Changes) -> Result<Option<(Top, String)>> {
    let mut rewrite = Rewrite { node, pages, loaded: HashMap::new(), costed: HashMap::new() };
    let mut changes = changes;
    let mut level = 0;
    loop {
        changes = rewrite.pass(level, changes)?;
        let mut seen = rewrite.first_two(level + 1, &changes)?;
        match (seen.pop(), seen.pop()) {
            (None, _) => return Ok(None),
            (Some(only), None) => {
                let Entry::Range(range) = only.entry else {
                    return Err(Error::invalid("a page that lists no pages above the items"));
                };
                let top = Top { page: range.page, level, count: range.count };
                let names = range_title(&range.first, &range.last);
                let said = [names, range.summary].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
                return Ok(Some((top, said.join(": "))));
            }
            _ if level == OUTLINE_LEVELS => {
                let limit = u64::from(OUTLINE_LEVELS);
                return Err(Error::Limit { what: "the levels of an outline's node", limit, got: limit + 1 });
            }
            _ => level += 1,
        }
    }
}

impl<P: Pages> Rewrite<'_, P> {
    fn load(&mut self, page: &Reference, level: u8, count: u32) -> Result<Arc<OutlinePage>> {
        if let Some(page) = self.loaded.get(&page.offset) {
            return Ok(Arc::clone(page));
        }
        let Node { document, hash, is_subject, .. } = self.node;
        let read = self.pages.read(page, Expected { document, node: hash, is_subject, level, count })?;
        let read = Arc::new(read);
        self.loaded.insert(page.offset, Arc::clone(&read));
        Ok(read)
    }

    /// The entries of a page.
    fn slots(&mut self, finger: &Finger) -> Result<Arc<Vec<Slot>>> {
        match &finger.place {
            Place::AboveTop(slots) => Ok(Arc::clone(slots)),
            Place::Page { reference, level, count } => self.page_slots(reference, *level, *count),
        }
    }

    fn page_slots(&mut self, reference: &Reference, level: u8, count: u32) -> Result<Arc<Vec<Slot>>> {
        if let Some(slots) = self.costed.get(&reference.offset) {
            return Ok(Arc::clone(slots));
        }
        let slots = Arc::new(slots_of(&*self.load(reference, level, count)?, self.node.shares));
        self.costed.insert(reference.offset, Arc::clone(&slots));
        Ok(slots)
    }

    /// The key of a page's first entry: where a page above says it, the page is not read.
    fn first_key(&mut self, finger: &Finger) -> Result<Option<Vec<u8>>> {
        if let Some((page, at)) = finger.above.last()
            && let Entries::Ranges(ranges) = &page.entries
        {
            return Ok(ranges.get(*at).map(|range| range.first_key.clone()));
        }
        Ok(self.slots(finger)?.first().map(|slot| slot.key.clone()))
    }

    /// The entry that a page would have above.
    fn range_of(&mut self, level: u8, slots: &[Slot], page: Reference, count: u32) -> Result<Slot> {
        let (Some(first), Some(last)) = (slots.first(), slots.last()) else {
            return Err(Error::invalid("a page without entries"));
        };
        let summary = self.pages.summary(level, slots)?;
        let range =
            Range { first_key: first.key.clone(), first: first.name().0, last: last.name().1, summary, count, page };
        Ok(Slot::range(range, self.node.shares))
    }

    /// The old sequence of the level above the old top: the top itself.
    fn above_top(&mut self, top: &Top) -> Result<Vec<Slot>> {
        let slots = self.page_slots(&top.page, top.level, top.count)?;
        Ok(vec![self.range_of(top.level, &slots, top.page, top.count)?])
    }

    /// The old page of a level that holds the place of `key`; `None` where the level had none.
    fn find(&mut self, level: u8, key: &[u8]) -> Result<Option<Finger>> {
        let Some(top) = self.node.top else { return Ok(None) };
        if level > top.level {
            let slots = if level == top.level + 1 { self.above_top(&top)? } else { return Ok(None) };
            return Ok(Some(Finger { above: Vec::new(), place: Place::AboveTop(Arc::new(slots)) }));
        }
        let mut above = Vec::new();
        let (mut reference, mut at_level, mut count) = (top.page, top.level, top.count);
        while at_level > level {
            let page = self.load(&reference, at_level, count)?;
            let Entries::Ranges(ranges) = &page.entries else { break };
            let at = ranges.partition_point(|range| range.first_key.as_slice() <= key).saturating_sub(1);
            let Some(range) = ranges.get(at) else { break };
            (reference, at_level, count) = (range.page, at_level - 1, range.count);
            above.push((page, at));
        }
        Ok(Some(Finger { above, place: Place::Page { reference, level: at_level, count } }))
    }

    /// The page beside one: the next, or the one before.
    fn beside(&mut self, finger: &Finger, next: bool) -> Result<Option<Finger>> {
        let mut above = finger.above.clone();
        let mut down = 0;
        // Up to the lowest page that lists both, and down again along its other side.
        while let Some((page, at)) = above.pop() {
            down += 1;
            let beside = if next { Some(at + 1) } else { at.checked_sub(1) };
            let Entries::Ranges(ranges) = &page.entries else { return Ok(None) };
            let Some((at, range)) = beside.and_then(|at| Some((at, ranges.get(at)?))) else { continue };
            let (mut reference, mut level, mut count) = (range.page, page.level - 1, range.count);
            above.push((Arc::clone(&page), at));
            for _ in 1..down {
                let page = self.load(&reference, level, count)?;
                let Entries::Ranges(ranges) = &page.entries else { return Ok(None) };
                let at = if next { 0 } else { ranges.len() - 1 };
                let Some(range) = ranges.get(at) else { return Ok(None) };
                (reference, level, count) = (range.page, level - 1, range.count);
                above.push((page, at));
            }
            return Ok(Some(Finger { above, place: Place::Page { reference, level, count } }));
        }
        Ok(None)
    }

    /// Rewrites the pages of a level where its entries change, and gives the changes of the level above.
    fn pass(&mut self, level: u8, changes: Changes) -> Result<Changes> {
        let mut pending = changes.into_iter().peekable();
        let mut above = Changes::new();
        while let Some(start) = pending.peek().map(|(key, _)| key.clone()) {
            let mut at = self.find(level, &start)?;
            // A forced cut depends on the entry behind it, so the page before may change its end.
            if let Some(finger) = &at
                && let Some(before) = self.beside(finger, false)?
            {
                at = Some(before);
            }
            let mut region = Region::new(level, self.node.shares);
            if at.is_none() {
                // The level had no pages: everything comes from the changes.
                pending.by_ref().filter_map(|(_, slot)| slot).for_each(|slot| region.feed(slot, None));
            }
            while let Some(finger) = at {
                let next = self.beside(&finger, true)?;
                let upper = match &next {
                    Some(next) => self.first_key(next)?,
                    None => None,
                };
                let slots = self.slots(&finger)?;
                let is_page = matches!(finger.place, Place::Page { .. });
                if is_page {
                    region.replaced.extend(slots.first().map(|slot| slot.key.clone()));
                }
                let mut old = slots.iter().peekable();
                // Which old page an entry comes from, and how many that page has.
                let origin = is_page.then(|| (region.replaced.len(), slots.len()));
                loop {
                    let change =
                        pending.peek().map(|(key, _)| key).filter(|&key| upper.as_ref().is_none_or(|u| key < u));
                    let take_old = match (old.peek(), change) {
                        (None, None) => break,
                        (Some(_), None) => true,
                        (None, Some(_)) => false,
                        (Some(slot), Some(key)) => slot.key < *key,
                    };
                    if take_old {
                        let Some(slot) = old.next() else { break };
                        region.feed(slot.clone(), origin);
                        continue;
                    }
                    let Some((key, slot)) = pending.next() else { break };
                    if old.peek().is_some_and(|slot| slot.key == key) {
                        old.next();
                    }
                    if let Some(slot) = slot {
                        region.feed(slot, None);
                    }
                }
                // The old and the new sequence agree again where both have a cut, unless the page behind changes, too.
                let changes_next = match (&next, pending.peek()) {
                    (Some(next), Some((key, _))) => match self.beside(next, true)? {
                        Some(behind) => self.first_key(&behind)?.is_some_and(|first| *key < first),
                        None => true,
                    },
                    _ => false,
                };
                if let Some(next) = next.as_ref().filter(|_| !changes_next) {
                    if !region.current.is_empty()
                        && self.slots(next)?.first().is_some_and(|first| !region.cutter.fits(first))
                    {
                        region.cut();
                    }
                    if region.current.is_empty() {
                        break;
                    }
                }
                at = next;
            }
            region.cut();
            self.finish(region, &mut above)?;
        }
        Ok(above)
    }

    /// Writes the new pages of a region, and notes what changes above.
    fn finish(&mut self, region: Region, above: &mut Changes) -> Result<()> {
        for key in region.replaced {
            if !region.kept.contains(&key) {
                above.insert(key, None);
            }
        }
        for slots in region.done {
            let entries = match slots.first().map(|slot| &slot.entry) {
                Some(Entry::Range(_)) => Entries::Ranges(
                    slots
                        .iter()
                        .filter_map(|slot| if let Entry::Range(r) = &slot.entry { Some(r.clone()) } else { None })
                        .collect(),
                ),
                _ => Entries::Items(
                    slots
                        .iter()
                        .filter_map(|slot| if let Entry::Item(i) = &slot.entry { Some(i.clone()) } else { None })
                        .collect(),
                ),
            };
            let count = entries.count();
            let Node { document, hash, .. } = self.node;
            let page = OutlinePage { document, node: hash, level: region.level, entries };
            let reference = self.pages.write(&page)?;
            let range = self.range_of(region.level, &slots, reference, count)?;
            above.insert(range.key.clone(), Some(range));
        }
        Ok(())
    }

    /// The first two entries of a level, with `changes` applied.
    fn first_two(&mut self, level: u8, changes: &Changes) -> Result<Vec<Slot>> {
        let mut found: Vec<Slot> = Vec::new();
        let mut at = self.find(level, &[])?;
        let mut seen: Vec<Vec<u8>> = Vec::new();
        let mut added = changes.iter().filter_map(|(key, slot)| Some((key, slot.as_ref()?))).peekable();
        while let Some(finger) = at {
            for slot in self.slots(&finger)?.iter() {
                while let Some((_, new)) = added.next_if(|(key, _)| **key < slot.key) {
                    found.push(new.clone());
                }
                match changes.get(&slot.key) {
                    None => found.push(slot.clone()),
                    Some(_) => seen.push(slot.key.clone()),
                }
                if found.len() >= 2 {
                    break;
                }
            }
            if found.len() >= 2 {
                break;
            }
            at = self.beside(&finger, true)?;
        }
        found.extend(added.map(|(_, slot)| slot.clone()).take(2));
        found.sort_by(|a, b| a.key.cmp(&b.key));
        found.truncate(2);
        Ok(found)
    }
}

/// Pages in the making, from one cut that stays to the next.
struct Region {
    level: u8,
    cutter: Cutter,
    current: Vec<Slot>,
    /// Number and length of the one old page that all of `current` comes from; `None` where it does not.
    from: Option<(usize, usize)>,
    done: Vec<Vec<Slot>>,
    /// First keys of the old pages of the region.
    replaced: Vec<Vec<u8>>,
    /// First keys of those that stay as they are.
    kept: Vec<Vec<u8>>,
}

impl Region {
    fn new(level: u8, shares: Shares) -> Self {
        Self {
            level,
            cutter: Cutter::new(level, shares),
            current: Vec::new(),
            from: None,
            done: Vec::new(),
            replaced: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Adds an entry: one of an old page, with that page's number and length, or a new one.
    fn feed(&mut self, slot: Slot, origin: Option<(usize, usize)>) {
        if !self.cutter.fits(&slot) {
            self.cut();
        }
        if self.current.is_empty() {
            self.from = origin;
        } else if self.from != origin {
            self.from = None;
        }
        let ends = self.cutter.take(&slot);
        self.current.push(slot);
        if ends {
            self.cut();
        }
    }

    /// Ends the page.
    fn cut(&mut self) {
        self.cutter.reset();
        let slots = std::mem::take(&mut self.current);
        let Some(first) = slots.first() else { return };
        if self.from.is_some_and(|(_, length)| length == slots.len()) {
            self.kept.push(first.key.clone());
        } else {
            self.done.push(slots);
        }
        self.from = None;
    }
}

/// The entries of a page with their keys and costs.
pub(crate) fn slots_of(page: &OutlinePage, shares: Shares) -> Vec<Slot> {
    match &page.entries {
        Entries::Items(items) => items.iter().map(|item| Slot::item(item.clone(), shares)).collect(),
        Entries::Ranges(ranges) => ranges.iter().map(|range| Slot::range(range.clone(), shares)).collect(),
    }
}

/// Hash of a page that is written.
pub(crate) fn page_hash(page: &OutlinePage, is_subject: bool, shares: Shares) -> [u8; 16] {
    content_hash(page.level, is_subject, &slots_of(page, shares))
}

/// Hash of a page's content: of what its entries show, not of where they lie.
pub(crate) fn content_hash(level: u8, is_subject: bool, slots: &[Slot]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[level, u8::from(is_subject)]);
    for slot in slots {
        let text = slot.text();
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    first16(&hasher.finalize())
}

#[cfg(test)]
mod tests;
