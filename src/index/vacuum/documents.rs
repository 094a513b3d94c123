//! Heads with their fold trees, ids, and the chunks: kinds 10 to 22, and the lengths of summaries, kind 40.

use super::Run;
use super::walk::Walk;
use crate::index::tail::read_page;
use crate::index::texts::TEXT_BLOCK_BYTES;
use crate::index::view::{damaged_value, inconsistent};
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::bytes::Reader;
use plica_format::chunk::{Place, TextRow, decode_texts, encode_places, encode_texts};
use plica_format::document::DocumentHead;
use plica_format::entity::{SummaryRow, decode_summary_rows, encode_summary_rows};
use plica_format::fold::{Child, Children, Expected, FoldPage, cover, open_pages};
use plica_format::key::{self, PLACES_A_BLOCK, ROWS_A_BLOCK, TEXTS_A_BLOCK};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Decoded blocks of rows that are kept: documents that were read side by side share them.
const KEPT_BLOCKS: usize = 256;

impl Run<'_> {
    pub(super) fn documents(&mut self) -> Result<()> {
        for at in 0..self.ids.documents.len() {
            let Some(slot) = self.ids.documents.get(at) else { break };
            self.head(slot.number)?;
        }
        self.names(key::DOCUMENT_ID)?;
        self.names(key::REPLACEMENT)?;
        self.places()?;
        self.texts()?;
        self.external_ids()
    }

    /// A head, behind its metadata and its tree.
    fn head(&mut self, number: u32) -> Result<()> {
        self.limits.check()?;
        let missing = || inconsistent(format!("the head of document {number} is missing"));
        let mut head: DocumentHead = self.view.head(number)?.ok_or_else(missing)?;
        let slot = self.ids.slot(number).ok_or_else(missing)?;
        if let Some(information) = &mut head.information {
            let payload = self.view.dictionary.blocks.read(information)?.to_vec();
            *information = self.block(BlockKind::Metadata, &payload)?;
        }
        let expected = open_pages(number, self.fanout, head.chunks);
        if expected.len() != head.pages.len() {
            return Err(inconsistent(format!("document {number} has not the open pages of its chunk count")));
        }
        for (page, expected) in head.pages.iter_mut().zip(expected) {
            *page = self.fold_page(page, expected)?;
        }
        let ends = |first: u32, count: u32| if count == 0 { (0, 0) } else { (first, first + (count - 1)) };
        (head.first_chunk, head.last_chunk) = ends(slot.first_chunk, slot.chunks);
        (head.first_entity, head.last_entity) = ends(slot.first_entity, slot.entities);
        let mut value = Vec::new();
        head.encode(&mut value);
        self.push(&key::numbered(key::DOCUMENT, number), &value)
    }

    /// A page of a fold tree, behind the pages below it.
    fn fold_page(&mut self, reference: &Reference, expected: Expected) -> Result<Reference> {
        self.limits.check()?;
        let page = read_page(self.view, self.fanout, reference, expected)?;
        let children = match page.children {
            Children::Chunks(chunks) => {
                let new = chunks.into_iter().map(|chunk| {
                    self.ids.chunk(chunk).ok_or_else(|| inconsistent(format!("chunk {chunk} of a tree is not there")))
                });
                Children::Chunks(new.collect::<Result<_>>()?)
            }
            Children::Nodes(nodes) => {
                let level = page.level - 1;
                let count = cover(self.fanout, level).unwrap_or(u32::MAX);
                let mut out = Vec::with_capacity(nodes.len());
                for (at, node) in (0u32..).zip(nodes) {
                    let expected = Expected { level, first: page.first + at * count, count, ..expected };
                    out.push(Child { page: self.fold_page(&node.page, expected)?, summary: node.summary });
                }
                Children::Nodes(out)
            }
        };
        let bytes = FoldPage { children, ..page }.encode();
        self.block(BlockKind::Fold, &bytes)
    }

    /// Keys that lead from an id to a document, but for those that lead nowhere any more.
    fn names(&mut self, kind: u8) -> Result<()> {
        self.view.dictionary.each_newest(&[kind], b"", |found, value| {
            if !value.is_empty() && self.ids.slot(number(kind, value)?).is_some() {
                self.push(found, value)?;
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn places(&mut self) -> Result<()> {
        let mut rows: Vec<Place> = Vec::new();
        for slot in &self.ids.documents {
            for ordinal in 0..slot.chunks {
                let chunk = slot.first_chunk + ordinal;
                if rows.first().is_some_and(|first| first.chunk / PLACES_A_BLOCK != chunk / PLACES_A_BLOCK) {
                    self.push_rows(key::CHUNK_PLACES, PLACES_A_BLOCK, &mut rows, |row| row.chunk, encode_places)?;
                }
                let tokens = self.ids.tokens.get(chunk as usize).copied().unwrap_or_default();
                rows.push(Place { chunk, document: slot.number, ordinal, tokens });
            }
        }
        self.push_rows(key::CHUNK_PLACES, PLACES_A_BLOCK, &mut rows, |row| row.chunk, encode_places)
    }

    /// Adds the rows of one block, if there are any.
    pub(super) fn push_rows<T>(
        &mut self,
        kind: u8,
        rows_a_block: u32,
        rows: &mut Vec<T>,
        id: impl Fn(&T) -> u32,
        encode: impl Fn(&[T], &mut Vec<u8>),
    ) -> Result<()> {
        let Some(first) = rows.first() else { return Ok(()) };
        let mut value = Vec::new();
        encode(rows, &mut value);
        let key = key::numbered(kind, id(first) / rows_a_block);
        rows.clear();
        self.push(&key, &value)
    }

    /// Texts, cut into blocks anew in the order of the new ids.
    fn texts(&mut self) -> Result<()> {
        let ids = self.ids;
        let mut blocks: HashMap<u32, HashMap<u32, TextRow>> = HashMap::new();
        let mut raw = Vec::new();
        // Rows whose block is not written yet, and rows that are complete but for the key they share with more to come.
        let mut waiting: Vec<TextRow> = Vec::new();
        let mut ready: Vec<TextRow> = Vec::new();
        for (new, &old) in (0u32..).zip(&ids.old_chunks) {
            self.limits.check()?;
            let block = old / TEXTS_A_BLOCK;
            if !blocks.contains_key(&block) {
                if blocks.len() >= KEPT_BLOCKS {
                    blocks.clear();
                }
                let first = block * TEXTS_A_BLOCK;
                let mut rows = HashMap::new();
                let range = (first, first + (TEXTS_A_BLOCK - 1));
                self.view.rows(key::CHUNK_TEXTS, TEXTS_A_BLOCK, range, decode_texts, |row| {
                    rows.insert(row.chunk, row);
                })?;
                blocks.insert(block, rows);
            }
            let row = blocks.get_mut(&block).and_then(|rows| rows.remove(&old));
            let mut row = row.ok_or_else(|| inconsistent(format!("the text of chunk {old} is missing")))?;
            let (title, text) = self.view.text(&row)?;
            row.chunk = new;
            row.offset = raw.len() as u32;
            raw.extend_from_slice(title.as_bytes());
            raw.extend_from_slice(text.as_bytes());
            waiting.push(row);
            if raw.len() >= TEXT_BLOCK_BYTES {
                self.text_block(&mut raw, &mut waiting, &mut ready)?;
            }
        }
        self.text_block(&mut raw, &mut waiting, &mut ready)?;
        self.push_rows(key::CHUNK_TEXTS, TEXTS_A_BLOCK, &mut ready, |row| row.chunk, encode_texts)
    }

    /// Writes a block of texts, and the rows whose values are complete with it.
    fn text_block(&mut self, raw: &mut Vec<u8>, waiting: &mut Vec<TextRow>, ready: &mut Vec<TextRow>) -> Result<()> {
        if waiting.is_empty() {
            return Ok(());
        }
        let block = self.block(BlockKind::Text, raw)?;
        raw.clear();
        for row in waiting.drain(..) {
            if ready.first().is_some_and(|first| first.chunk / TEXTS_A_BLOCK != row.chunk / TEXTS_A_BLOCK) {
                self.push_rows(key::CHUNK_TEXTS, TEXTS_A_BLOCK, ready, |row| row.chunk, encode_texts)?;
            }
            ready.push(TextRow { block, ..row });
        }
        Ok(())
    }

    fn external_ids(&mut self) -> Result<()> {
        self.view.dictionary.each_newest(&[key::EXTERNAL_ID], b"", |found, value| {
            self.limits.check()?;
            if let Some(chunk) = self.ids.chunk(number(key::EXTERNAL_ID, value)?) {
                self.push(found, &crate::index::documents::varint(chunk))?;
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Token counts of the level-1 summaries, by the new ids of the first chunks that they cover.
    pub(super) fn summary_lengths(&mut self) -> Result<()> {
        let ids = self.ids;
        let fanout = u32::from(self.fanout);
        let mut walk = Walk::new(self.view.dictionary);
        let mut block: Option<(u32, HashMap<u32, u32>)> = None;
        let mut rows: Vec<SummaryRow> = Vec::new();
        for slot in ids.documents.iter().filter(|slot| slot.summaries > 0) {
            for index in 0..slot.chunks / fanout {
                self.limits.check()?;
                let unit = slot.first_chunk + index * fanout;
                let Some(&old) = ids.old_chunks.get(unit as usize) else { continue };
                let number = old / ROWS_A_BLOCK;
                let lengths = match &mut block {
                    Some((known, lengths)) if *known == number => lengths,
                    _ => {
                        let mut lengths = HashMap::new();
                        for value in walk.values(&key::numbered(key::SUMMARY_ROWS, number))? {
                            let rows = decode_summary_rows(number, &value);
                            let rows = rows.map_err(damaged_value(key::SUMMARY_ROWS))?;
                            lengths.extend(rows.into_iter().map(|row| (row.unit, row.tokens)));
                        }
                        &mut block.insert((number, lengths)).1
                    }
                };
                let Some(&tokens) = lengths.get(&old) else { continue };
                if rows.first().is_some_and(|first| first.unit / ROWS_A_BLOCK != unit / ROWS_A_BLOCK) {
                    self.push_rows(key::SUMMARY_ROWS, ROWS_A_BLOCK, &mut rows, |row| row.unit, encode_summary_rows)?;
                }
                rows.push(SummaryRow { unit, tokens });
            }
        }
        self.push_rows(key::SUMMARY_ROWS, ROWS_A_BLOCK, &mut rows, |row| row.unit, encode_summary_rows)
    }
}

/// A varint that is a whole value.
pub(super) fn number(kind: u8, value: &[u8]) -> Result<u32, Error> {
    let mut reader = Reader::new("number", value);
    let read = reader.varint32().and_then(|number| reader.finish().map(|()| number));
    read.map_err(damaged_value(kind))
}
