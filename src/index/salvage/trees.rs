//! Summaries, from the pages of fold trees of which some are lost.

use super::documents::{Documents, Found};
use super::remains::Remains;
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::fold::{Children, Expected, FoldPage, cover, open_pages};
use plica_format::limits::SUMMARY_BYTES;
use plica_format::quote::Quoted;
use std::collections::BTreeMap;

/// A summary that was found.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    pub(super) text: String,
    /// Whether all that it quotes is there.
    pub(super) is_whole: bool,
    pub(super) is_vouched: bool,
}

/// What is left of one tree.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// By level and index.
    pub(super) summaries: BTreeMap<(u8, u32), Summary>,
    /// Covers of pages that are lost: level, first chunk, chunks.
    pub(super) lost: Vec<(u8, u32, u32)>,
}

/// The fold pages of a file.
pub(super) struct Trees<'a> {
    remains: &'a Remains,
    /// All sound ones.
    sound: &'a [Reference],
    fanout: u8,
    /// What each says of itself, by document, in the order of the file; read where a page is missing.
    claims: Option<BTreeMap<u32, Vec<(Expected, Reference)>>>,
}

/// A tree that is being read.
#[derive(Default)]
struct Reading {
    quoted: BTreeMap<(u8, u32), (Quoted, bool)>,
    chunks: Vec<(u32, u32)>,
    lost: Vec<Expected>,
}

impl<'a> Trees<'a> {
    pub(super) fn new(remains: &'a Remains, sound: &'a [Reference], fanout: u8) -> Self {
        Self { remains, sound, fanout, claims: None }
    }

    /// The tree of a document. Chunks that only pages name are told to `documents`.
    pub(super) fn read(&mut self, documents: &mut Documents, number: u32, found: &Found) -> Result<Tree> {
        let mut reading = Reading::default();
        let head = found.head.as_ref();
        match head.map(|head| (open_pages(number, self.fanout, head.chunks), head)) {
            Some((expected, head)) if expected.len() == head.pages.len() => {
                for (expected, reference) in expected.into_iter().zip(&head.pages) {
                    self.walk(reference, expected, &mut reading)?;
                }
                if !found.is_vouched && found.chunks > head.chunks {
                    let count = found.chunks - head.chunks;
                    reading.lost.push(Expected { document: number, level: u8::MAX, first: head.chunks, count });
                }
            }
            _ => reading.lost.push(Expected { document: number, level: u8::MAX, first: 0, count: found.chunks }),
        }
        for lost in std::mem::take(&mut reading.lost) {
            self.fill(lost, &mut reading)?;
            reading.lost.push(lost);
        }
        documents.learn(number, &reading.chunks);
        let mut tree = Tree::default();
        for (place, (quoted, is_vouched)) in reading.quoted {
            let (text, is_whole) = documents.resolve(self.remains, number, &quoted, SUMMARY_BYTES)?;
            tree.summaries.insert(place, Summary { text, is_whole, is_vouched: is_vouched && found.is_vouched });
        }
        // Of a page without summaries nothing is lost but the way to the chunks.
        let lost = reading.lost.iter().filter(|lost| lost.level > 1).filter(|lost| lost.count > 0);
        tree.lost = lost.map(|lost| (lost.level, lost.first, lost.count)).collect();
        Ok(tree)
    }

    fn page(&self, reference: &Reference, expected: Expected) -> Result<Option<FoldPage>> {
        let Some(payload) = self.remains.payload(reference)? else { return Ok(None) };
        match FoldPage::decode(&payload, reference.offset, self.fanout, expected) {
            Ok(page) => Ok(Some(page)),
            Err(error) => self.remains.note(Error::damaged_block(reference)(error)).map(|()| None),
        }
    }

    /// Reads a page and all below.
    fn walk(&self, reference: &Reference, expected: Expected, reading: &mut Reading) -> Result<()> {
        let Some(page) = self.page(reference, expected)? else {
            reading.lost.push(expected);
            return Ok(());
        };
        self.take(&page, true, reading);
        if let Children::Nodes(nodes) = &page.children {
            let level = page.level - 1;
            let count = cover(self.fanout, level).unwrap_or(u32::MAX);
            for (at, child) in (0u32..).zip(nodes) {
                let first = page.first + at * count;
                self.walk(&child.page, Expected { document: page.document, level, first, count }, reading)?;
            }
        }
        Ok(())
    }

    /// What a page itself says.
    fn take(&self, page: &FoldPage, is_vouched: bool, reading: &mut Reading) {
        match &page.children {
            Children::Chunks(chunks) => reading.chunks.extend((page.first..=u32::MAX).zip(chunks.iter().copied())),
            Children::Nodes(nodes) => {
                let level = page.level - 1;
                let covers = cover(self.fanout, level).unwrap_or(u32::MAX);
                for (at, child) in (0u32..).zip(nodes) {
                    if let Some(summary) = &child.summary {
                        let place = (level, page.first / covers + at);
                        reading.quoted.insert(place, (summary.clone(), is_vouched));
                    }
                }
            }
        }
    }

    /// Looks for pages that no sound page leads to within a cover that is lost. A later one counts more.
    fn fill(&mut self, lost: Expected, reading: &mut Reading) -> Result<()> {
        let fanout = self.fanout;
        let end = lost.first.saturating_add(lost.count);
        let within: Vec<(Expected, Reference)> = self
            .claims()?
            .get(&lost.document)
            .into_iter()
            .flatten()
            .filter(|(claim, _)| claim.level <= lost.level && claim.first >= lost.first)
            .filter(|(claim, _)| claim.first.saturating_add(claim.count) <= end)
            .copied()
            .collect();
        for (claim, reference) in within {
            let aligned = cover(fanout, claim.level.saturating_sub(1)).is_some_and(|child| claim.first % child == 0);
            if aligned && let Some(page) = self.page(&reference, claim)? {
                self.take(&page, false, reading);
            }
        }
        Ok(())
    }

    fn claims(&mut self) -> Result<&BTreeMap<u32, Vec<(Expected, Reference)>>> {
        if self.claims.is_none() {
            let mut claims: BTreeMap<u32, Vec<(Expected, Reference)>> = BTreeMap::new();
            for reference in self.sound.iter().filter(|reference| reference.kind == BlockKind::Fold) {
                if let Some(payload) = self.remains.payload(reference)?
                    && let Ok(claim) = FoldPage::claim(&payload)
                {
                    claims.entry(claim.document).or_default().push((claim, *reference));
                }
            }
            self.claims = Some(claims);
        }
        Ok(self.claims.get_or_insert_default())
    }
}
