//! Walking a document's fold tree from the root.

use super::quote::Quotes;
use super::snapshot::Snapshot;
use super::tail::read_page;
use super::view::{View, inconsistent};
use crate::{Error, Result};
use plica_format::document::DocumentHead;
use plica_format::fold::{Child, Children, Expected, FoldPage, cover, open_pages};
use plica_format::quote::Quoted;

/// A page of a fold tree, or the top of the tree, which lists the units that are not folded further.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// Id of the document.
    pub document: String,
    /// How the page was reached: the place of an entry at each step from the top.
    pub path: Vec<usize>,
    /// Level of the page's node; of the top, one more than its highest entry.
    pub level: u8,
    /// First chunk covered and how many: ordinals.
    pub cover: (u32, u32),
    /// The summary of the page's node; the top has none.
    pub summary: Option<String>,
    /// What the page lists.
    pub entries: Vec<Entry>,
}

/// An entry of a page: what it covers and its summary. A chunk has no summary.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// 0 for a chunk, else the level of the node.
    pub level: u8,
    /// First chunk covered and how many: ordinals.
    pub cover: (u32, u32),
    /// The summary, where there is one.
    pub summary: Option<String>,
    /// For a chunk, its `DOC#ORDINAL`.
    pub chunk: Option<String>,
}

/// A node on the way down.
enum Node {
    Chunk(u32),
    Inner { child: Child, level: u8, first: u32 },
}

impl Snapshot {
    /// A page of a document's fold tree. The empty path is the top, whose entries are the peaks, highest level first;
    /// each number of a path goes to an entry of the page before.
    ///
    /// # Errors
    /// [`Error::NotFound`] where the path leaves the tree or ends at a chunk.
    pub fn tree(&self, document: &str, path: &[usize]) -> Result<Page> {
        let head = self.head(document)?;
        let fanout = self.parameters().fanout;
        let mut nodes = self.peaks(&head)?;
        let mut quotes = Quotes::new(self.view(), head.number);
        let mut page = Page {
            document: head.id.clone(),
            path: path.to_vec(),
            level: 0,
            cover: (0, head.chunks),
            summary: None,
            entries: Vec::new(),
        };
        for (depth, &at) in path.iter().enumerate() {
            let shown = path.iter().take(depth + 1).map(usize::to_string).collect::<Vec<_>>().join("/");
            let missing = || Error::NotFound { what: "page of the fold tree", name: shown.clone() };
            let node = nodes.into_iter().nth(at).ok_or_else(missing)?;
            let Node::Inner { child, level, first } = node else { return Err(missing()) };
            let count = cover(fanout, level).unwrap_or(u32::MAX);
            let expected = Expected { document: head.number, level, first, count };
            let read = read_page(self.view(), fanout, &child.page, expected)?;
            page.level = level;
            page.cover = (first, count);
            page.summary = child.summary.map(|summary| quotes.summary(&summary)).transpose()?;
            nodes = children(read, fanout);
        }
        for node in nodes {
            page.entries.push(match node {
                Node::Chunk(ordinal) => Entry {
                    level: 0,
                    cover: (ordinal, 1),
                    summary: None,
                    chunk: Some(format!("{}#{ordinal}", head.id)),
                },
                Node::Inner { child, level, first } => Entry {
                    level,
                    cover: (first, cover(fanout, level).unwrap_or(u32::MAX)),
                    summary: child.summary.map(|summary| quotes.summary(&summary)).transpose()?,
                    chunk: None,
                },
            });
        }
        if path.is_empty() {
            page.level = page.entries.first().map_or(0, |entry| entry.level + 1);
        }
        Ok(page)
    }

    /// The units that are not folded further, highest level first.
    fn peaks(&self, head: &DocumentHead) -> Result<Vec<Node>> {
        let mut nodes = Vec::new();
        for page in self.open_pages(head)?.into_iter().rev() {
            nodes.extend(children(page, self.parameters().fanout));
        }
        Ok(nodes)
    }

    /// The open pages of a document, lowest level first.
    pub(crate) fn open_pages(&self, head: &DocumentHead) -> Result<Vec<FoldPage>> {
        let fanout = self.parameters().fanout;
        let expected = open_pages(head.number, fanout, head.chunks);
        if expected.len() != head.pages.len() {
            return Err(inconsistent(format!(
                "document {} has {} open pages, its chunk count implies {}",
                head.number,
                head.pages.len(),
                expected.len()
            )));
        }
        let pages = expected.into_iter().zip(&head.pages);
        pages.map(|(expected, reference)| read_page(self.view(), fanout, reference, expected)).collect()
    }

    /// Summaries of the nodes above a chunk, level 1 first; `None` where a node is not complete or has no summary.
    pub fn covering_summaries(&self, document: &str, ordinal: u32) -> Result<Vec<Option<String>>> {
        let head = self.head(document)?;
        if ordinal >= head.chunks {
            return Err(super::open::not_found("chunk", format!("{document}#{ordinal}")));
        }
        let mut out = Vec::new();
        let mut level = 1;
        while cover(self.parameters().fanout, level).is_some_and(|cover| cover <= head.chunks) {
            out.push(self.covering_summary(&head, ordinal, level)?);
            level += 1;
        }
        Ok(out)
    }

    /// The summary of the node of `level` above a chunk.
    pub(crate) fn covering_summary(&self, head: &DocumentHead, ordinal: u32, level: u8) -> Result<Option<String>> {
        let mut found = None;
        self.descend(head, ordinal, |child, at| {
            if at == level {
                found.clone_from(&child.summary);
            }
        })?;
        found.map(|summary| Quotes::new(self.view(), head.number).summary(&summary)).transpose()
    }

    /// The internal id of a chunk, by way of the tree.
    pub(crate) fn chunk_in_tree(&self, head: &DocumentHead, ordinal: u32) -> Result<u32> {
        self.descend(head, ordinal, |_, _| ())
    }

    /// Goes from the open page that covers a chunk down to the chunk, and shows every node on the way with its level.
    fn descend(&self, head: &DocumentHead, ordinal: u32, visit: impl FnMut(&Child, u8)) -> Result<u32> {
        descend(self.view(), head, ordinal, visit)
    }

    /// Hands every summary of a document to `sink`, by level and index.
    pub(crate) fn each_summary(
        &self,
        head: &DocumentHead,
        mut sink: impl FnMut(u8, u32, &str) -> Result<()>,
    ) -> Result<()> {
        let mut found = Vec::new();
        for page in self.open_pages(head)? {
            self.gather(head, &page, &mut found)?;
        }
        found.sort_by_key(|(level, index, _)| (*level, *index));
        let mut quotes = Quotes::new(self.view(), head.number);
        for (level, index, summary) in found {
            sink(level, index, &quotes.summary(&summary)?)?;
        }
        Ok(())
    }

    /// The summaries of a page's children and of all below them.
    fn gather(&self, head: &DocumentHead, page: &FoldPage, found: &mut Vec<(u8, u32, Quoted)>) -> Result<()> {
        let Children::Nodes(nodes) = &page.children else { return Ok(()) };
        let fanout = self.parameters().fanout;
        let level = page.level - 1;
        let covers = cover(fanout, level).unwrap_or(u32::MAX);
        for (at, child) in (0u32..).zip(nodes) {
            let first = page.first + at * covers;
            if let Some(summary) = &child.summary {
                found.push((level, first / covers, summary.clone()));
            }
            let expected = Expected { document: head.number, level, first, count: covers };
            let below = read_page(self.view(), fanout, &child.page, expected)?;
            self.gather(head, &below, found)?;
        }
        Ok(())
    }
}

/// Goes from the open page that covers a chunk down to the chunk, and shows every node on the way with its level.
pub(super) fn descend(view: View<'_>, head: &DocumentHead, ordinal: u32, visit: impl FnMut(&Child, u8)) -> Result<u32> {
    let (expected, reference) = open_pages(head.number, view.fanout, head.chunks)
        .into_iter()
        .zip(&head.pages)
        .find(|(page, _)| (page.first..page.first.saturating_add(page.count)).contains(&ordinal))
        .ok_or_else(|| not_in_tree(head.number, ordinal))?;
    descend_from(view, read_page(view, view.fanout, reference, expected)?, ordinal, visit)
}

/// Goes from a page that covers a chunk down to the chunk.
pub(super) fn descend_from(
    view: View<'_>,
    mut page: FoldPage,
    ordinal: u32,
    mut visit: impl FnMut(&Child, u8),
) -> Result<u32> {
    let document = page.document;
    let missing = || not_in_tree(document, ordinal);
    loop {
        let level = page.level - 1;
        let count = cover(view.fanout, level).ok_or_else(missing)?;
        let at = ordinal.checked_sub(page.first).ok_or_else(missing)? / count;
        match &page.children {
            Children::Chunks(chunks) => return chunks.get(at as usize).copied().ok_or_else(missing),
            Children::Nodes(nodes) => {
                let child = nodes.get(at as usize).ok_or_else(missing)?;
                visit(child, level);
                let expected = Expected { document, level, first: page.first + at * count, count };
                page = read_page(view, view.fanout, &child.page, expected)?;
            }
        }
    }
}

fn not_in_tree(document: u32, ordinal: u32) -> Error {
    inconsistent(format!("chunk {ordinal} of document {document} is not in its tree"))
}

/// The children of a page, with what they cover.
fn children(page: FoldPage, fanout: u8) -> Vec<Node> {
    match page.children {
        Children::Chunks(chunks) => (page.first..).take(chunks.len()).map(Node::Chunk).collect(),
        Children::Nodes(nodes) => {
            let level = page.level - 1;
            let covers = cover(fanout, level).unwrap_or(u32::MAX);
            let firsts = (0u32..).map(|at| page.first + at * covers);
            nodes.into_iter().zip(firsts).map(|(child, first)| Node::Inner { child, level, first }).collect()
        }
    }
}
