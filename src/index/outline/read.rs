//! Reading the pages of an outline: nodes by path, items by key.

use super::order::{category_key, item_key, path_hash, subject_hash, subject_key};
use super::render::Shares;
use crate::index::view::{View, inconsistent};
use crate::text::key;
use crate::{Error, Result};
use plica_format::block::Reference;
use plica_format::key::{self as keys};
use plica_format::limits::OUTLINE_DEPTH;
use plica_format::outline::{Entries, Expected, Field, Item, OutlinePage, Path, Range, Subject, Top};
use plica_format::outline_head::{CategoryRow, OutlineHead};
use std::collections::HashSet;

/// An outline as a writer or a snapshot reads it.
#[derive(Clone, Copy)]
pub(crate) struct OutlineView<'a> {
    pub(crate) view: View<'a>,
    pub(crate) document: u32,
    pub(crate) root: Option<Top>,
    pub(crate) budget: u32,
}

/// A node that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeAt {
    pub(crate) path: Path,
    pub(crate) hash: [u8; 16],
    pub(crate) is_subject: bool,
    pub(crate) summary: String,
    pub(crate) overview: String,
    pub(crate) top: Top,
}

impl<'a> View<'a> {
    /// The head of a document's outline, where it has one.
    pub(crate) fn outline_head(&self, document: u32) -> Result<Option<OutlineHead>> {
        self.newest(&keys::numbered(keys::OUTLINE, document), OutlineHead::decode)
    }

    /// A category by its path.
    pub(crate) fn category(&self, document: u32, path: &[String]) -> Result<Option<CategoryRow>> {
        self.category_by_hash(document, &path_hash(path))
    }

    pub(crate) fn category_by_hash(&self, document: u32, hash: &[u8; 16]) -> Result<Option<CategoryRow>> {
        self.newest(&keys::hashed(keys::CATEGORY, document, hash), CategoryRow::decode)
    }

    /// All categories of a document, as they were discovered, then by path.
    pub(crate) fn categories(&self, document: u32) -> Result<Vec<CategoryRow>> {
        let mut rows = std::collections::BTreeMap::new();
        let prefix = keys::numbered(keys::CATEGORY, document);
        self.each_newest(&prefix, CategoryRow::decode, |key, row| {
            rows.insert(key, row);
        })?;
        let mut rows: Vec<CategoryRow> = rows.into_values().collect();
        rows.sort_by_cached_key(|row| (row.position, row.path.iter().map(|name| key(name)).collect::<Vec<_>>()));
        Ok(rows)
    }

    /// Paths of the categories that have a subject of this name.
    pub(crate) fn categories_of(&self, document: u32, name: &str) -> Result<Vec<Path>> {
        let prefix = keys::subject_name(document, &super::order::bounded(name));
        let mut found = std::collections::BTreeMap::new();
        let length = prefix.len() + 16;
        let decode = |bytes: &[u8]| Ok(bytes == [1]);
        self.each_newest(&prefix, decode, |key, there| {
            if key.len() == length {
                found.insert(key, there);
            }
        })?;
        let mut paths = Vec::new();
        for (key, _) in found.into_iter().filter(|(_, there)| *there) {
            let hash = key.last_chunk::<16>().copied().unwrap_or_default();
            let row = self.category_by_hash(document, &hash)?;
            paths.push(row.ok_or_else(|| inconsistent("a subject's category is missing"))?.path);
        }
        paths.sort();
        Ok(paths)
    }

    /// The summary that a page of this content was given.
    pub(crate) fn page_summary(&self, document: u32, hash: &[u8; 16]) -> Result<Option<String>> {
        self.newest(&keys::hashed(keys::PAGE_SUMMARY, document, hash), |bytes| {
            let mut reader = plica_format::bytes::Reader::new("page summary", bytes);
            let text = reader.text(plica_format::limits::PAGE_SUMMARY_BYTES)?.to_owned();
            reader.finish()?;
            Ok(text)
        })
    }

    pub(crate) fn outline(&self, document: u32) -> Result<Option<OutlineView<'a>>> {
        let head = self.outline_head(document)?;
        Ok(head.map(|head| OutlineView { view: *self, document, root: head.root, budget: head.budget }))
    }
}

impl OutlineView<'_> {
    pub(crate) fn shares(&self) -> Shares {
        Shares::new(self.budget)
    }

    /// A page, held against what is expected of it.
    pub(crate) fn page(&self, reference: &Reference, expected: Expected, keys: KeyRange<'_>) -> Result<OutlinePage> {
        let page = read_page(&self.view, reference, expected)?;
        let (first, last) = ends(&page);
        if keys.first.is_some_and(|expected| expected != first) || keys.upper.is_some_and(|upper| upper <= &*last) {
            return Err(Error::Damaged {
                offset: reference.offset,
                what: "outline block".into(),
                detail: "expected items with keys within the range that the page above says, got others".into(),
            });
        }
        Ok(page)
    }

    pub(crate) fn top_page(&self, node: &NodeAt) -> Result<OutlinePage> {
        self.page(&node.top.page, self.expected(node, node.top.level, node.top.count), KeyRange::default())
    }

    pub(crate) fn expected(&self, node: &NodeAt, level: u8, count: u32) -> Expected {
        Expected { document: self.document, node: node.hash, is_subject: node.is_subject, level, count }
    }

    /// The root; `None` without subjects.
    pub(crate) fn root_node(&self) -> Result<Option<NodeAt>> {
        let Some(top) = self.root else { return Ok(None) };
        let row = self.view.category(self.document, &[])?.unwrap_or_default();
        let hash = path_hash::<String>(&[]);
        Ok(Some(NodeAt {
            path: Vec::new(),
            hash,
            is_subject: false,
            summary: row.summary,
            overview: String::new(),
            top,
        }))
    }

    /// The node of a category; `None` where it has no subjects.
    pub(crate) fn node(&self, path: &[String]) -> Result<Option<NodeAt>> {
        let Some(mut node) = self.root_node()? else { return Ok(None) };
        for depth in 1..=path.len() {
            let path = path.get(..depth).unwrap_or_default();
            let Some(row) = self.view.category(self.document, path)? else { return Ok(None) };
            let name = path.last().map_or("", String::as_str);
            let mut item = self.item(&node, &category_key(row.position, name))?;
            if item.is_none() && row.position != u32::MAX {
                // It was named since the pages were written.
                item = self.item(&node, &category_key(u32::MAX, name))?;
            }
            let Some(item) = item else { return Ok(None) };
            match self.node_of(&node, item)? {
                Some(below) => node = below,
                None => return Ok(None),
            }
        }
        Ok(Some(node))
    }

    /// The node that an item of `parent` leads to; `None` for one that leads nowhere.
    pub(crate) fn node_of(&self, parent: &NodeAt, item: Item) -> Result<Option<NodeAt>> {
        let (name, summary, overview, top, is_subject) = match item {
            Item::Category { name, summary, overview, top, .. } => (name, summary, overview, top, false),
            Item::LargeSubject { name, summary, overview, top } => (name, summary, overview, top, true),
            _ => return Ok(None),
        };
        // A walk goes down as deep as names do.
        if parent.path.len() >= OUTLINE_DEPTH + usize::from(is_subject) {
            return Err(inconsistent(format!("a category of an outline lies below more than {OUTLINE_DEPTH}")));
        }
        let subject = subject_hash(&parent.path, &name);
        let mut path = parent.path.clone();
        path.push(name);
        let hash = if is_subject { subject } else { path_hash(&path) };
        Ok(Some(NodeAt { path, hash, is_subject, summary, overview, top }))
    }

    /// An item of a node by its key.
    pub(crate) fn item(&self, node: &NodeAt, key: &[u8]) -> Result<Option<Item>> {
        let mut page = self.top_page(node)?;
        let mut upper: Option<Vec<u8>> = None;
        loop {
            match page.entries {
                Entries::Items(items) => return Ok(items.into_iter().find(|item| item_key(item) == key)),
                Entries::Ranges(ranges) => {
                    let at = ranges.partition_point(|range| range.first_key.as_slice() <= key);
                    let Some(range) = at.checked_sub(1).and_then(|at| ranges.get(at)) else { return Ok(None) };
                    upper = ranges.get(at).map(|next| next.first_key.clone()).or(upper);
                    let keys = KeyRange { first: Some(&range.first_key), upper: upper.as_deref() };
                    page = self.page(&range.page, self.expected(node, page.level - 1, range.count), keys)?;
                }
            }
        }
    }

    /// Hands the items of a node to `sink`, in order.
    pub(crate) fn each_item(&self, node: &NodeAt, sink: &mut impl FnMut(Item) -> Result<()>) -> Result<()> {
        self.each_page(node, &mut |page| match &page.entries {
            Entries::Items(items) => items.iter().cloned().try_for_each(&mut *sink),
            Entries::Ranges(_) => Ok(()),
        })
    }

    /// Hands the place of every page of the outline to `sink`, parents first.
    pub(crate) fn each_reference(&self, sink: &mut impl FnMut(Reference)) -> Result<()> {
        let Some(root) = self.root_node()? else { return Ok(()) };
        let mut waiting = vec![root];
        let mut met = NodesMet::default();
        while let Some(node) = waiting.pop() {
            met.meet(&node)?;
            sink(node.top.page);
            self.each_page(&node, &mut |page| {
                match &page.entries {
                    Entries::Ranges(ranges) => ranges.iter().for_each(|range| sink(range.page)),
                    Entries::Items(items) => {
                        for item in items {
                            waiting.extend(self.node_of(&node, item.clone())?);
                        }
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Hands every page of a node to `sink`, parents first.
    pub(crate) fn each_page(&self, node: &NodeAt, sink: &mut impl FnMut(&OutlinePage) -> Result<()>) -> Result<()> {
        self.each_page_below(node, &self.top_page(node)?, None, sink)
    }

    fn each_page_below(
        &self,
        node: &NodeAt,
        page: &OutlinePage,
        upper: Option<&[u8]>,
        sink: &mut impl FnMut(&OutlinePage) -> Result<()>,
    ) -> Result<()> {
        sink(page)?;
        let Entries::Ranges(ranges) = &page.entries else { return Ok(()) };
        for (at, range) in ranges.iter().enumerate() {
            let keys = KeyRange::of(ranges, at, upper);
            let below = self.page(&range.page, self.expected(node, page.level - 1, range.count), keys)?;
            self.each_page_below(node, &below, keys.upper, sink)?;
        }
        Ok(())
    }

    /// A subject by category and name.
    pub(crate) fn subject(&self, category: &[String], name: &str) -> Result<Option<Subject>> {
        let Some(node) = self.node(category)? else { return Ok(None) };
        match self.item(&node, &subject_key(name))? {
            Some(item) => self.whole(&node, item),
            None => Ok(None),
        }
    }

    /// The subject that an item of `parent` is, put together again where it has pages of its own.
    pub(crate) fn whole(&self, parent: &NodeAt, item: Item) -> Result<Option<Subject>> {
        match item {
            Item::Subject(subject) => Ok(Some(subject)),
            Item::LargeSubject { ref name, ref summary, .. } => {
                let mut subject = Subject { name: name.clone(), summary: summary.clone(), ..Subject::default() };
                let Some(node) = self.node_of(parent, item)? else { return Ok(None) };
                self.each_item(&node, &mut |item| {
                    match item {
                        Item::Value { field, name, value, .. } => {
                            let at = field as usize;
                            if at == subject.fields.len() {
                                subject.fields.push(Field { name, values: Vec::new() });
                            }
                            match subject.fields.get_mut(at) {
                                Some(field) => field.values.push(value),
                                None => return Err(inconsistent("fields of a subject are not in order")),
                            }
                        }
                        Item::Link { path, .. } => subject.links.push(path),
                        _ => return Err(inconsistent("a subject's page lists a subject")),
                    }
                    Ok(())
                })?;
                Ok(Some(subject))
            }
            _ => Ok(None),
        }
    }
}

/// The keys that a page may have, as the pages above say: the first one, and one that all lie below. So the pages of a
/// node have no key in common, and a walk over a node meets none of them twice.
#[derive(Clone, Copy, Default)]
pub(crate) struct KeyRange<'k> {
    pub(crate) first: Option<&'k [u8]>,
    pub(crate) upper: Option<&'k [u8]>,
}

impl<'k> KeyRange<'k> {
    /// Of the page below entry `at` of a page whose own keys lie below `upper`.
    pub(crate) fn of(ranges: &'k [Range], at: usize, upper: Option<&'k [u8]>) -> Self {
        let first = |at: usize| ranges.get(at).map(|range| range.first_key.as_slice());
        Self { first: first(at), upper: first(at + 1).or(upper) }
    }
}

/// The keys of the first and the last entry of a page.
fn ends(page: &OutlinePage) -> (Vec<u8>, Vec<u8>) {
    let ends = match &page.entries {
        Entries::Items(items) => items.first().zip(items.last()).map(|(a, b)| (item_key(a), item_key(b))),
        Entries::Ranges(ranges) => {
            ranges.first().zip(ranges.last()).map(|(a, b)| (a.first_key.clone(), b.first_key.clone()))
        }
    };
    ends.unwrap_or_default()
}

/// The nodes that a walk over a whole outline has met: one that it comes to twice is damage.
#[derive(Default)]
pub(crate) struct NodesMet(HashSet<[u8; 16]>);

impl NodesMet {
    /// Notes a node.
    pub(crate) fn meet(&mut self, node: &NodeAt) -> Result<()> {
        match self.0.insert(node.hash) {
            true => Ok(()),
            false => Err(inconsistent(format!("the node {:?} of an outline lies in two places", node.path.join("/")))),
        }
    }
}

/// Reads a page, held against what is expected of it.
pub(crate) fn read_page(view: &View<'_>, reference: &Reference, expected: Expected) -> Result<OutlinePage> {
    let payload = view.dictionary.blocks.read(reference)?;
    let page = OutlinePage::decode(&payload, reference.offset, expected).map_err(Error::damaged_block(reference))?;
    if let Entries::Items(items) = &page.entries
        && !items.is_sorted_by(|a, b| item_key(a) < item_key(b))
    {
        return Err(Error::Damaged {
            offset: reference.offset,
            what: "outline block".into(),
            detail: "expected items in the order of their keys".into(),
        });
    }
    Ok(page)
}
