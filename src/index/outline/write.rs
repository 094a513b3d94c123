//! Writing the pages of outlines: bottom up, only what changed.

use super::order::{category_key, path_hash, subject_hash, subject_key};
use super::pending::{PendingNode, PendingOutline, path_keys};
use super::read::{NodeAt, NodesMet, OutlineView, read_page};
use super::render::{Shares, subject_text, tokens};
use super::summary::{PageInput, PageSummarizer, TermSummarizer, clip};
use super::tree::{Changes, Node, Pages, Slot, apply, content_hash};
use crate::index::view::View;
use crate::index::writer::Writer;
use crate::store::StoreWriter;
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::key as keys;
use plica_format::limits::PAGE_SUMMARY_BYTES;
use plica_format::outline::{Expected, Item, OutlinePage, Path, Subject, Top};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// A subject whose text is longer than this has pages of its own, whatever its tokens.
const INLINE_BYTES: usize = 16 << 10;

/// Pages in the file of a writer.
struct Io<'a> {
    view: View<'a>,
    store: &'a mut StoreWriter,
    document: u32,
    is_subject: bool,
    limit_tokens: u32,
    summarizer: &'a dyn PageSummarizer,
    /// Summaries that cost a call, by the hash of their page.
    made: HashMap<[u8; 16], String>,
    calls: u64,
}

impl Pages for Io<'_> {
    fn read(&mut self, page: &Reference, expected: Expected) -> Result<OutlinePage> {
        read_page(&self.view, page, expected)
    }

    fn write(&mut self, page: &OutlinePage) -> Result<Reference> {
        self.store.append(BlockKind::Outline, &page.encode(), true)
    }

    fn summary(&mut self, level: u8, slots: &[Slot]) -> Result<String> {
        let hash = content_hash(level, self.is_subject, slots);
        if let Some(summary) = self.made.get(&hash) {
            return Ok(summary.clone());
        }
        if let Some(summary) = self.view.page_summary(self.document, &hash)? {
            return Ok(summary);
        }
        let entries: Vec<String> = slots.iter().map(Slot::text).collect();
        let limit_tokens = self.limit_tokens;
        let summary = self.summarizer.summarize(&PageInput { level, entries: &entries, limit_tokens })?;
        let summary = clip(&summary, limit_tokens, PAGE_SUMMARY_BYTES);
        if self.summarizer.is_costly() {
            self.calls += 1;
            self.made.insert(hash, summary.clone());
        }
        Ok(summary)
    }
}

/// Writes the pages of all outlines that changed, and puts their heads into the delta.
pub(in crate::index) fn write_outlines(writer: &mut Writer) -> Result<()> {
    let outlines = std::mem::take(&mut writer.outlines);
    for (document, outline) in outlines {
        if outline.dirty {
            write_outline(writer, document, outline)?;
        }
    }
    Ok(())
}

fn write_outline(writer: &mut Writer, document: u32, mut outline: PendingOutline) -> Result<()> {
    let summarizer = writer.summarizer.0.clone();
    let shares = Shares::new(outline.head.budget);
    let view = View {
        dictionary: &writer.dictionary,
        delta: Some(&writer.delta),
        state: &writer.state,
        fanout: writer.parameters.fanout,
        unwritten: None,
    };
    let mut io = Io {
        view,
        store: &mut writer.store,
        document,
        is_subject: false,
        limit_tokens: shares.page_summary(),
        summarizer: summarizer.as_deref().map_or(&TermSummarizer as &dyn PageSummarizer, |summarizer| summarizer),
        made: HashMap::new(),
        calls: 0,
    };
    let old = OutlineView { view, document, root: outline.head.root, budget: outline.head.budget };
    if outline.rebuild {
        take_all(&old, &mut outline)?;
    }
    let old = if outline.rebuild { OutlineView { root: None, ..old } } else { old };
    // Deepest categories first: a node's new top page is an item of the node above.
    let mut work: BTreeMap<(Reverse<usize>, Vec<String>), (PendingNode, Changes)> = BTreeMap::new();
    for (keys, node) in std::mem::take(&mut outline.nodes) {
        work.insert((Reverse(keys.len()), keys), (node, Changes::new()));
    }
    while let Some(((_, keys), (pending, mut changes))) = work.pop_first() {
        let node = old.node(&pending.path)?;
        for (key, subject) in pending.subjects {
            let slot = match subject {
                Some(subject) => Some(Slot::item(
                    subject_item(&mut io, &old, node.as_ref(), &pending.path, subject, shares)?,
                    shares,
                )),
                None => None,
            };
            changes.insert(key, slot);
        }
        let hash = path_hash(&pending.path);
        let top = node.as_ref().map(|node| node.top);
        io.is_subject = false;
        let result = apply(&mut io, Node { document, hash, is_subject: false, shares, top }, changes)?;
        let Some((name, above)) = pending.path.split_last() else {
            outline.head.root = result.map(|(top, _)| top);
            continue;
        };
        let row = view.category(document, &pending.path)?;
        let row = row.ok_or_else(|| crate::index::view::inconsistent("a subject's category is missing"))?;
        let above_keys = keys.split_last().map(|(_, above)| above.to_vec()).unwrap_or_default();
        let parent = work
            .entry((Reverse(above.len()), above_keys))
            .or_insert_with(|| (PendingNode { path: above.to_vec(), ..PendingNode::default() }, Changes::new()));
        if let Some(was) = &pending.was {
            parent.1.insert(category_key(was.position, name), None);
        }
        let slot = result.map(|(top, overview)| {
            let name = row.path.last().cloned().unwrap_or_default();
            let overview = clip(&overview, shares.page_summary(), PAGE_SUMMARY_BYTES);
            let item = Item::Category { name, position: row.position, summary: row.summary.clone(), overview, top };
            Slot::item(item, shares)
        });
        parent.1.insert(category_key(row.position, name), slot);
    }
    let Io { made, calls, .. } = io;
    for (hash, summary) in made {
        let mut value = Vec::new();
        plica_format::bytes::put_string(&mut value, summary.as_bytes());
        writer.delta.put(keys::hashed(keys::PAGE_SUMMARY, document, &hash), value);
    }
    if let Some(total) = outline.head.calls.get_mut(2) {
        *total += calls;
    }
    let mut head = Vec::new();
    outline.head.encode(&mut head);
    writer.delta.put(keys::numbered(keys::OUTLINE, document), head);
    writer.refresh_dictionary()
}

/// Adds all that is written of an outline to what will be written.
fn take_all(old: &OutlineView<'_>, outline: &mut PendingOutline) -> Result<()> {
    let Some(root) = old.root_node()? else { return Ok(()) };
    let mut waiting: Vec<NodeAt> = vec![root];
    let mut met = NodesMet::default();
    while let Some(node) = waiting.pop() {
        met.meet(&node)?;
        let pending = outline.nodes.entry(path_keys(&node.path)).or_default();
        pending.path.clone_from(&node.path);
        old.each_item(&node, &mut |item| {
            match item {
                Item::Category { .. } => waiting.extend(old.node_of(&node, item)?),
                item => {
                    if let Some(subject) = old.whole(&node, item)? {
                        pending.subjects.entry(subject_key(&subject.name)).or_insert(Some(subject));
                    }
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// A subject as an item of its category: whole, or with pages of its own where it is large.
fn subject_item(
    io: &mut Io<'_>,
    old: &OutlineView<'_>,
    node: Option<&NodeAt>,
    category: &Path,
    subject: Subject,
    shares: Shares,
) -> Result<Item> {
    let text = subject_text(&subject);
    if text.len() <= INLINE_BYTES && tokens(&text) <= shares.entry() {
        return Ok(Item::Subject(subject));
    }
    let before = match node {
        Some(node) => match old.item(node, &subject_key(&subject.name))? {
            Some(item) => old.node_of(node, item)?,
            None => None,
        },
        None => None,
    };
    let mut changes = Changes::new();
    if let Some(before) = &before {
        old.each_item(before, &mut |item| {
            let slot = Slot::item(item, shares);
            changes.insert(slot.key, None);
            Ok(())
        })?;
    }
    for item in items_of(&subject) {
        let slot = Slot::item(item, shares);
        changes.insert(slot.key.clone(), Some(slot));
    }
    // What stays as it is is no change.
    if let Some(before) = &before {
        old.each_item(before, &mut |item| {
            let slot = Slot::item(item, shares);
            if changes.get(&slot.key).is_some_and(|new| new.as_ref() == Some(&slot)) {
                changes.remove(&slot.key);
            }
            Ok(())
        })?;
    }
    io.is_subject = true;
    let hash = subject_hash(category, &subject.name);
    let top = before.map(|node| node.top);
    let made = apply(io, Node { document: io.document, hash, is_subject: true, shares, top }, changes)?;
    io.is_subject = false;
    let (top, overview): (Top, String) =
        made.ok_or_else(|| Error::invalid("a subject without values and links is too large for a page"))?;
    let overview = clip(&overview, shares.page_summary(), PAGE_SUMMARY_BYTES);
    Ok(Item::LargeSubject { name: subject.name, summary: subject.summary, overview, top })
}

/// The items of a large subject's node.
fn items_of(subject: &Subject) -> Vec<Item> {
    let mut items = Vec::new();
    for (field, of) in (0u32..).zip(&subject.fields) {
        for (number, value) in (0u32..).zip(&of.values) {
            items.push(Item::Value { field, number, name: of.name.clone(), value: value.clone() });
        }
    }
    for (number, link) in (0u32..).zip(&subject.links) {
        items.push(Item::Link { number, path: link.clone() });
    }
    items
}
