//! The growing edge of a document's fold tree, in a writer's memory.
//!
//! A page that is full is never written again; what a writer holds of it since the last flush is written then, bottom
//! up. A summary that comes late (by import) opens the pages on its path again.

use super::quote::Quotes;
use super::view::View;
use crate::store::StoreWriter;
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::fold::{Child, Children, Expected, FoldPage, cover, open_pages};
use plica_format::quote::Quoted;

/// A page in memory.
#[derive(Debug)]
struct Page {
    children: PageChildren,
    /// Where it lies in the file, unless it changed since.
    written: Option<Reference>,
}

#[derive(Debug)]
enum PageChildren {
    Chunks(Vec<u32>),
    Nodes(Vec<Node>),
}

/// A node of level 1 or above, as a child.
#[derive(Debug)]
struct Node {
    page: NodePage,
    summary: Option<Summary>,
}

/// A summary in memory.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    /// As it is stored.
    stored: Quoted,
    /// As it reads, where that is known without reading chunks.
    known: Option<String>,
}

impl Summary {
    /// A new summary.
    pub(super) fn new(stored: Quoted, text: String) -> Self {
        Self { stored, known: Some(text) }
    }

    /// As it reads; `quotes` must be those of its document.
    pub(super) fn text(self, quotes: &mut Quotes<'_>) -> Result<String> {
        self.known.map_or_else(|| quotes.summary(&self.stored), Ok)
    }
}

#[derive(Debug)]
enum NodePage {
    Written(Reference),
    Loaded(Box<Page>),
}

/// The open pages of one document, by level from 1.
#[derive(Debug)]
pub(super) struct Tail {
    document: u32,
    fanout: u8,
    chunks: u32,
    levels: Vec<Page>,
}

/// A node of the fold tree: level and place among the nodes of its level.
pub(crate) type NodeId = (u8, u32);

impl Page {
    fn open(level: u8) -> Self {
        let children = if level == 1 { PageChildren::Chunks(Vec::new()) } else { PageChildren::Nodes(Vec::new()) };
        Self { children, written: None }
    }

    fn len(&self) -> usize {
        match &self.children {
            PageChildren::Chunks(chunks) => chunks.len(),
            PageChildren::Nodes(nodes) => nodes.len(),
        }
    }

    fn from_format(page: FoldPage, reference: Reference) -> Self {
        let children = match page.children {
            Children::Chunks(chunks) => PageChildren::Chunks(chunks),
            Children::Nodes(nodes) => PageChildren::Nodes(
                nodes
                    .into_iter()
                    .map(|child| Node {
                        page: NodePage::Written(child.page),
                        summary: child.summary.map(|stored| Summary { stored, known: None }),
                    })
                    .collect(),
            ),
        };
        Self { children, written: Some(reference) }
    }

    fn nodes(&mut self) -> Option<&mut Vec<Node>> {
        match &mut self.children {
            PageChildren::Nodes(nodes) => Some(nodes),
            PageChildren::Chunks(_) => None,
        }
    }
}

/// Reads and checks a page of a fold tree.
pub(crate) fn read_page(view: View<'_>, fanout: u8, reference: &Reference, expected: Expected) -> Result<FoldPage> {
    let payload = view.dictionary.blocks.read(reference)?;
    FoldPage::decode(&payload, reference.offset, fanout, expected).map_err(Error::damaged_block(reference))
}

impl Tail {
    /// The open pages of a document with `chunks` chunks whose head names `pages`.
    pub(super) fn load(view: View<'_>, document: u32, fanout: u8, chunks: u32, pages: &[Reference]) -> Result<Self> {
        let mut tail = Self { document, fanout, chunks, levels: Vec::new() };
        let expected = open_pages(document, fanout, chunks);
        if expected.len() != pages.len() {
            return Err(super::view::inconsistent(format!(
                "document {document} has {} open pages, its chunk count implies {}",
                pages.len(),
                expected.len()
            )));
        }
        for (expected, reference) in expected.into_iter().zip(pages) {
            while tail.levels.len() + 1 < usize::from(expected.level) {
                let level = tail.levels.len() as u8 + 1;
                tail.levels.push(Page::open(level));
            }
            tail.levels.push(Page::from_format(read_page(view, fanout, reference, expected)?, *reference));
        }
        Ok(tail)
    }

    /// Adds a chunk and gives the nodes that are complete with it, lowest level first.
    pub(super) fn push(&mut self, chunk: u32) -> Vec<NodeId> {
        self.chunks += 1;
        if self.levels.is_empty() {
            self.levels.push(Page::open(1));
        }
        if let Some(Page { children: PageChildren::Chunks(chunks), written }) = self.levels.first_mut() {
            chunks.push(chunk);
            *written = None;
        }
        let mut complete = Vec::new();
        let mut level = 1u8;
        while self.levels.get(usize::from(level) - 1).is_some_and(|page| page.len() == usize::from(self.fanout)) {
            if self.levels.len() == usize::from(level) {
                self.levels.push(Page::open(level + 1));
            }
            let [full, above] = match self.levels.get_disjoint_mut([usize::from(level) - 1, usize::from(level)]) {
                Ok(pages) => pages,
                Err(_) => break,
            };
            let page = std::mem::replace(full, Page::open(level));
            if let Some(nodes) = above.nodes() {
                nodes.push(Node { page: NodePage::Loaded(Box::new(page)), summary: None });
            }
            above.written = None;
            if let Some(cover) = cover(self.fanout, level) {
                complete.push((level, self.chunks / cover - 1));
            }
            level += 1;
        }
        complete
    }

    /// Nodes whose summary is missing, lowest level first: among the children of the open pages, and along the right
    /// edge below them, since one chunk can complete nodes of several levels and close the pages of all but the last.
    pub(super) fn unfolded(&mut self, view: View<'_>) -> Result<Vec<NodeId>> {
        let mut out = Vec::new();
        for (above, page) in self.levels.iter().enumerate() {
            let level = above as u8; // the children of the page of level `above + 1`
            let PageChildren::Nodes(nodes) = &page.children else { continue };
            let Some(complete) = cover(self.fanout, level).map(|cover| self.chunks / cover) else { continue };
            let first = complete - nodes.len() as u32;
            let missing = (first..).zip(nodes).filter(|(_, node)| node.summary.is_none());
            out.extend(missing.map(|(index, _)| (level, index)));
        }
        let fanout = u32::from(self.fanout);
        for at in 0..out.len() {
            let Some(&(mut level, mut index)) = out.get(at) else { break };
            while level > 1 {
                (level, index) = (level - 1, index * fanout + fanout - 1);
                if self.summary(view, (level, index))?.is_some() {
                    break;
                }
                out.push((level, index));
            }
        }
        out.sort_unstable();
        Ok(out)
    }

    /// Whether a node is complete.
    pub(super) fn is_complete(&self, (level, index): NodeId) -> bool {
        level >= 1
            && cover(self.fanout, level)
                .and_then(|cover| index.checked_add(1)?.checked_mul(cover))
                .is_some_and(|end| end <= self.chunks)
    }

    /// The child entry of a complete node; pages on the way are loaded, and will be written again where it `changes`.
    fn node(&mut self, view: View<'_>, (level, index): NodeId, changes: bool) -> Result<&mut Node> {
        let fanout = u32::from(self.fanout);
        // The lowest ancestor, or the node itself, that is a child of an open page.
        let mut path = vec![index];
        let mut at = level;
        loop {
            let units = cover(self.fanout, at).map_or(0, |cover| self.chunks / cover);
            let open = units % fanout;
            let top = path.last().copied().unwrap_or_default();
            if top >= units - open {
                break;
            }
            path.push(top / fanout);
            at += 1;
        }
        let missing = || Error::invalid(format!("level {level} has no complete unit {index}"));
        let top = path.pop().ok_or_else(missing)?;
        let units = cover(self.fanout, at).map_or(0, |cover| self.chunks / cover);
        let place = (top - (units - units % fanout)) as usize;
        let page = self.levels.get_mut(usize::from(at)).ok_or_else(missing)?;
        if changes {
            page.written = None;
        }
        let mut node = page.nodes().and_then(|nodes| nodes.get_mut(place)).ok_or_else(missing)?;
        let mut parent = top;
        while let Some(child) = path.pop() {
            let count = cover(self.fanout, at).unwrap_or(u32::MAX);
            if let NodePage::Written(reference) = &node.page {
                let expected = Expected { document: self.document, level: at, first: parent * count, count };
                let page = Page::from_format(read_page(view, self.fanout, reference, expected)?, *reference);
                node.page = NodePage::Loaded(Box::new(page));
            }
            let NodePage::Loaded(page) = &mut node.page else { return Err(missing()) };
            if changes {
                page.written = None;
            }
            node = page.nodes().and_then(|nodes| nodes.get_mut((child % fanout) as usize)).ok_or_else(missing)?;
            parent = child;
            at -= 1;
        }
        Ok(node)
    }

    /// Sets the summary of a complete node and gives the one before.
    pub(super) fn set_summary(&mut self, view: View<'_>, node: NodeId, summary: Summary) -> Result<Option<Summary>> {
        Ok(self.node(view, node, true)?.summary.replace(summary))
    }

    /// The summary of a complete node.
    pub(super) fn summary(&mut self, view: View<'_>, node: NodeId) -> Result<Option<Summary>> {
        Ok(self.node(view, node, false)?.summary.clone())
    }

    /// The chunk ids of a complete node of level 1.
    pub(super) fn chunks_of(&mut self, view: View<'_>, node: NodeId) -> Result<Vec<u32>> {
        let (document, fanout) = (self.document, self.fanout);
        match &self.node(view, node, false)?.page {
            NodePage::Loaded(page) => match &page.children {
                PageChildren::Chunks(chunks) => Ok(chunks.clone()),
                PageChildren::Nodes(_) => Err(Error::invalid("a node of level 1 was expected")),
            },
            NodePage::Written(reference) => {
                let count = u32::from(fanout);
                let expected = Expected { document, level: 1, first: node.1 * count, count };
                match read_page(view, fanout, reference, expected)?.children {
                    Children::Chunks(chunks) => Ok(chunks),
                    Children::Nodes(_) => Err(Error::invalid("a node of level 1 was expected")),
                }
            }
        }
    }

    /// The id of a chunk.
    pub(super) fn chunk(&mut self, view: View<'_>, ordinal: u32) -> Result<u32> {
        let fanout = u32::from(self.fanout);
        let node = (1, ordinal / fanout);
        let chunks = match (self.is_complete(node), self.levels.first()) {
            (true, _) => self.chunks_of(view, node)?,
            (false, Some(Page { children: PageChildren::Chunks(chunks), .. })) => chunks.clone(),
            (false, _) => Vec::new(),
        };
        chunks
            .get((ordinal % fanout) as usize)
            .copied()
            .ok_or_else(|| super::view::inconsistent(format!("chunk {ordinal} is not in its document's tree")))
    }

    /// The id of a chunk; nothing is loaded for it.
    pub(super) fn find(&self, view: View<'_>, ordinal: u32) -> Result<u32> {
        let missing = || super::view::inconsistent(format!("chunk {ordinal} is not in its document's tree"));
        let covers = |page: &Expected| (page.first..page.first.saturating_add(page.count)).contains(&ordinal);
        let mut open = open_pages(self.document, self.fanout, self.chunks).into_iter();
        let Expected { level, mut first, .. } = open.find(covers).ok_or_else(missing)?;
        let mut below = level - 1;
        let mut page = self.levels.get(usize::from(below)).ok_or_else(missing)?;
        loop {
            let count = cover(self.fanout, below).ok_or_else(missing)?;
            let at = (ordinal - first) / count;
            let node = match &page.children {
                PageChildren::Chunks(chunks) => return chunks.get(at as usize).copied().ok_or_else(missing),
                PageChildren::Nodes(nodes) => nodes.get(at as usize).ok_or_else(missing)?,
            };
            first += at * count;
            match &node.page {
                NodePage::Loaded(loaded) => (page, below) = (loaded, below.checked_sub(1).ok_or_else(missing)?),
                NodePage::Written(reference) => {
                    let expected = Expected { document: self.document, level: below, first, count };
                    let page = read_page(view, self.fanout, reference, expected)?;
                    return super::tree::descend_from(view, page, ordinal, |_, _| ());
                }
            }
        }
    }

    /// What is not folded yet: summaries of the open pages, highest level first, with their level and index; then the
    /// ids of the chunks.
    pub(super) fn open_units(&self) -> (Vec<(NodeId, Option<Summary>)>, Vec<u32>) {
        let mut summaries = Vec::new();
        let mut chunks = Vec::new();
        for (above, page) in self.levels.iter().enumerate().rev() {
            match &page.children {
                PageChildren::Chunks(ids) => chunks.clone_from(ids),
                PageChildren::Nodes(nodes) => {
                    let units = cover(self.fanout, above as u8).map_or(0, |cover| self.chunks / cover);
                    let first = units - nodes.len() as u32;
                    summaries.extend(
                        nodes
                            .iter()
                            .enumerate()
                            .map(|(at, node)| ((above as u8, first + at as u32), node.summary.clone())),
                    );
                }
            }
        }
        (summaries, chunks)
    }

    /// Writes what is not written and gives the references of the open pages, lowest level first.
    pub(super) fn write(&mut self, store: &mut StoreWriter) -> Result<Vec<Reference>> {
        let mut out = Vec::with_capacity(self.levels.len());
        for expected in open_pages(self.document, self.fanout, self.chunks) {
            let Some(page) = self.levels.get_mut(usize::from(expected.level) - 1) else { continue };
            out.push(write_page(store, self.fanout, page, expected)?);
        }
        Ok(out)
    }
}

/// Writes a page that changed and, before it, the changed pages below it.
fn write_page(store: &mut StoreWriter, fanout: u8, page: &mut Page, expected: Expected) -> Result<Reference> {
    if let Some(reference) = page.written {
        return Ok(reference);
    }
    let below = expected.level - 1;
    let count = cover(fanout, below).unwrap_or(u32::MAX);
    let children = match &mut page.children {
        PageChildren::Chunks(chunks) => Children::Chunks(chunks.clone()),
        PageChildren::Nodes(nodes) => {
            let mut out = Vec::with_capacity(nodes.len());
            for (at, node) in nodes.iter_mut().enumerate() {
                let reference = match &mut node.page {
                    NodePage::Written(reference) => *reference,
                    NodePage::Loaded(page) => {
                        let first = expected.first + at as u32 * count;
                        write_page(store, fanout, page, Expected { level: below, first, count, ..expected })?
                    }
                };
                node.page = NodePage::Written(reference);
                let summary = node.summary.as_ref().map(|summary| summary.stored.clone());
                out.push(Child { page: reference, summary });
            }
            Children::Nodes(out)
        }
    };
    let Expected { document, level, first, count } = expected;
    let bytes = FoldPage { document, level, first, count, children }.encode();
    let reference = store.append(BlockKind::Fold, &bytes, true)?;
    page.written = Some(reference);
    Ok(reference)
}
