//! The documents of a damaged file: their heads, which chunks they have, and the texts of these.

use super::remains::{Remains, standing_number, wrong_value};
use super::report::Loss;
use crate::{Error, Result};
use plica_format::chunk::{TextRow, decode_places, decode_texts};
use plica_format::document::{DocumentHead, DocumentState, Information};
use plica_format::key::{self, TEXTS_A_BLOCK};
use plica_format::quote::{Piece, Quoted, squeeze};
use std::collections::BTreeMap;

/// What stands for a stretch of a lost chunk in a text that quotes it.
const LOST: &str = "[…]";

/// A document as far as it is known.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Its head, where there is one.
    pub(super) head: Option<DocumentHead>,
    /// Whether a commit vouches for the head.
    pub(super) is_vouched: bool,
    /// Its id; one that is made up where it is lost.
    pub(super) id: String,
    /// Whether readers saw it.
    pub(super) is_live: bool,
    /// Chunks, with those that are lost.
    pub(super) chunks: u32,
}

/// The place of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PlaceOf {
    document: u32,
    ordinal: u32,
    chunk: u32,
    is_vouched: bool,
}

/// A chunk that was found.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) row: TextRow,
    pub(super) is_vouched: bool,
    /// Title and text, where the block is sound.
    pub(super) content: Option<(String, String)>,
}

/// All documents, and where their chunks are.
#[derive(Debug)]
pub(super) struct Documents {
    pub(super) found: BTreeMap<u32, Found>,
    /// By document and ordinal.
    places: Vec<PlaceOf>,
    /// By chunk: its document and ordinal.
    by_chunk: Vec<(u32, u32, u32)>,
    /// The text block of rows that was read last.
    rows: Option<(u32, Vec<(TextRow, bool)>)>,
    /// The chunk that was quoted last.
    quoted: Option<((u32, u32), Option<String>)>,
}

impl Documents {
    /// Of all that is left.
    pub(super) fn read(remains: &Remains) -> Result<Self> {
        let places = places(remains)?;
        let mut ends: BTreeMap<u32, u32> = BTreeMap::new();
        for place in &places {
            let end = ends.entry(place.document).or_default();
            *end = (*end).max(place.ordinal.saturating_add(1));
        }
        let mut found = BTreeMap::new();
        let heads = heads(remains)?;
        let ids = ids(remains)?;
        for (&number, (head, is_vouched)) in &heads {
            let by_places = ends.remove(&number).unwrap_or_default();
            if head.state == DocumentState::Removed || !stands(remains, head, *is_vouched)? {
                continue;
            }
            let chunks = if *is_vouched { head.chunks } else { head.chunks.max(by_places) };
            let is_live = head.state == DocumentState::Live;
            let (id, head) = (head.id.clone(), Some(head.clone()));
            found.insert(number, Found { head, is_vouched: *is_vouched, id, is_live, chunks });
        }
        // Of these the head is lost, unless they were removed.
        for (number, chunks) in ends {
            let is_known = heads.contains_key(&number);
            if is_known || !remains.may_be_lost(&key::numbered(key::DOCUMENT, number)) {
                continue;
            }
            let by_id = ids.get(&number);
            let ids_are_whole = ![key::DOCUMENT_ID, key::REPLACEMENT].iter().any(|&kind| remains.may_lose_kind(kind));
            if by_id.is_none() && ids_are_whole {
                continue;
            }
            let (id, is_live) = match by_id {
                Some((id, is_live)) => (id.clone(), *is_live),
                None => (format!("lost-document-{number}"), true),
            };
            found.insert(number, Found { head: None, is_vouched: false, id, is_live, chunks });
        }
        let mut by_chunk: Vec<_> = places.iter().map(|place| (place.chunk, place.document, place.ordinal)).collect();
        by_chunk.sort_unstable();
        let mut documents = Self { found, places, by_chunk, rows: None, quoted: None };
        documents.tell_apart();
        Ok(documents)
    }

    /// Gives documents of one id (a staged replacement, say) ids of their own, the one that readers saw its own.
    fn tell_apart(&mut self) {
        let mut taken: BTreeMap<String, u32> = BTreeMap::new();
        let mut order: Vec<u32> = self.found.keys().copied().collect();
        order.sort_by_key(|number| self.found.get(number).map(|found| (!found.is_live, *number)));
        for number in order {
            let Some(found) = self.found.get_mut(&number) else { continue };
            let base = found.id.clone();
            let mut copies = 1;
            while taken.contains_key(&found.id) {
                copies += 1;
                found.id = format!("{base} ({copies})");
            }
            taken.insert(found.id.clone(), number);
        }
    }

    /// The internal id of a chunk, and whether a commit vouches for its place.
    pub(super) fn chunk(&self, document: u32, ordinal: u32) -> Option<(u32, bool)> {
        let at = self.places.partition_point(|place| (place.document, place.ordinal) < (document, ordinal));
        let place = self.places.get(at).filter(|place| (place.document, place.ordinal) == (document, ordinal))?;
        Some((place.chunk, place.is_vouched))
    }

    /// Document and ordinal of a chunk.
    pub(super) fn place(&self, chunk: u32) -> Option<(u32, u32)> {
        let at = self.by_chunk.binary_search_by_key(&chunk, |&(chunk, ..)| chunk).ok()?;
        self.by_chunk.get(at).map(|&(_, document, ordinal)| (document, ordinal))
    }

    /// Takes the places of chunks that pages of a fold tree name, where the rows of places are lost.
    pub(super) fn learn(&mut self, document: u32, chunks: &[(u32, u32)]) {
        let new: Vec<PlaceOf> = chunks
            .iter()
            .filter(|&&(ordinal, chunk)| self.chunk(document, ordinal).is_none() && self.place(chunk).is_none())
            .map(|&(ordinal, chunk)| PlaceOf { document, ordinal, chunk, is_vouched: true })
            .collect();
        if !new.is_empty() {
            self.by_chunk.extend(new.iter().map(|place| (place.chunk, place.document, place.ordinal)));
            self.by_chunk.sort_unstable();
            self.places.extend(new);
            self.places.sort_unstable();
        }
    }

    /// What is left of a chunk.
    pub(super) fn text(&mut self, remains: &Remains, chunk: u32) -> Result<Option<Text>> {
        let block = chunk / TEXTS_A_BLOCK;
        if self.rows.as_ref().is_none_or(|(known, _)| *known != block) {
            let key = key::numbered(key::CHUNK_TEXTS, block);
            let mut rows = Vec::new();
            for value in remains.values(&key)? {
                match decode_texts(block, &value.value) {
                    Ok(found) => rows.extend(found.into_iter().map(|row| (row, value.is_vouched))),
                    Err(error) => remains.note(wrong_value(&key)(error))?,
                }
            }
            self.rows = Some((block, rows));
        }
        let rows = self.rows.iter().flat_map(|(_, rows)| rows.iter().rev());
        let Some((row, is_vouched)) = rows.into_iter().find(|(row, _)| row.chunk == chunk) else { return Ok(None) };
        let content = content(remains, row)?;
        Ok(Some(Text { row: row.clone(), is_vouched: *is_vouched, content }))
    }

    /// The text of a chunk by its place.
    fn text_at(&mut self, remains: &Remains, place: (u32, u32)) -> Result<Option<&str>> {
        if self.quoted.as_ref().is_none_or(|(known, _)| *known != place) {
            let text = match self.chunk(place.0, place.1) {
                Some((chunk, _)) => self.text(remains, chunk)?.and_then(|text| text.content).map(|(_, text)| text),
                None => None,
            };
            self.quoted = Some((place, text));
        }
        Ok(self.quoted.as_ref().and_then(|(_, text)| text.as_deref()))
    }

    /// A text that quotes chunks of a document, at most `limit` bytes of it, and whether it is whole.
    pub(super) fn resolve(
        &mut self,
        remains: &Remains,
        document: u32,
        quoted: &Quoted,
        limit: usize,
    ) -> Result<(String, bool)> {
        let (mut out, mut is_whole) = (String::new(), true);
        for piece in &quoted.pieces {
            match piece {
                Piece::Literal(text) => out.push_str(text),
                Piece::Quote(quote) => {
                    let range = quote.start as usize..quote.start as usize + quote.bytes as usize;
                    let text = self.text_at(remains, (document, quote.ordinal))?;
                    match text.and_then(|text| text.get(range)) {
                        Some(part) if quote.squeezed => squeeze(part, &mut out),
                        Some(part) => out.push_str(part),
                        None => {
                            out.push_str(LOST);
                            is_whole = false;
                        }
                    }
                }
            }
        }
        if out.len() > limit {
            out.truncate((0..=limit).rev().find(|&at| out.is_char_boundary(at)).unwrap_or_default());
            is_whole = false;
        }
        Ok((out, is_whole))
    }
}

/// Title and text of a chunk, where the block holds them.
fn content(remains: &Remains, row: &TextRow) -> Result<Option<(String, String)>> {
    let Some(payload) = remains.payload(&row.block)? else { return Ok(None) };
    let start = row.offset as usize;
    let middle = start + row.title_bytes as usize;
    let end = middle + row.text_bytes as usize;
    let read = |range: std::ops::Range<usize>| {
        payload.get(range).and_then(|bytes| std::str::from_utf8(bytes).ok()).map(str::to_owned)
    };
    match read(start..middle).zip(read(middle..end)) {
        Some(content) => Ok(Some(content)),
        None => {
            let detail = format!("expected UTF-8 text of chunk {} at {start}..{end}", row.chunk);
            let what = "text block".to_owned();
            remains.note(Error::Damaged { offset: row.block.offset, what, detail })?;
            Ok(None)
        }
    }
}

/// The places of all chunks.
fn places(remains: &Remains) -> Result<Vec<PlaceOf>> {
    let mut places: Vec<PlaceOf> = Vec::new();
    remains.each(&[key::CHUNK_PLACES], |key, values| {
        let block = key::last_number(key).unwrap_or_default();
        for found in values {
            match decode_places(block, &found.value) {
                Ok(rows) => places.extend(rows.into_iter().map(|row| PlaceOf {
                    document: row.document,
                    ordinal: row.ordinal,
                    chunk: row.chunk,
                    is_vouched: found.is_vouched,
                })),
                Err(error) => remains.note(wrong_value(key)(error))?,
            }
        }
        Ok(())
    })?;
    // Of one place the vouched row counts, and of several the one of the later chunk.
    places.sort_unstable_by_key(|place| (place.document, place.ordinal, !place.is_vouched, u32::MAX - place.chunk));
    places.dedup_by_key(|place| (place.document, place.ordinal));
    Ok(places)
}

/// The head of each document that counts, and whether a commit vouches for it.
fn heads(remains: &Remains) -> Result<BTreeMap<u32, (DocumentHead, bool)>> {
    let mut heads: BTreeMap<u32, (DocumentHead, bool)> = BTreeMap::new();
    remains.each(&[key::DOCUMENT], |key, values| {
        let Some(number) = key::last_number(key).filter(|_| key.len() == 5) else { return Ok(()) };
        let mut best: Option<(DocumentHead, bool)> = None;
        for found in values {
            let head = match DocumentHead::decode(number, &found.value) {
                Ok(head) => head,
                Err(error) => {
                    remains.note(wrong_value(key)(error))?;
                    continue;
                }
            };
            let counts = match &best {
                None => true,
                Some(_) if found.is_vouched => true,
                // A removal is the last that happens to a document, but one that no commit vouches for may never have been
                // made.
                Some((_, true)) if head.state == DocumentState::Removed => false,
                Some((known, _)) if known.state == DocumentState::Removed => false,
                Some((known, _)) => head.state == DocumentState::Removed || head.chunks >= known.chunks,
            };
            if counts {
                best = Some((head, found.is_vouched));
            }
        }
        heads.extend(best.map(|best| (number, best)));
        Ok(())
    })?;
    Ok(heads)
}

/// Ids by number, of documents that were not removed, and whether readers see the document.
fn ids(remains: &Remains) -> Result<BTreeMap<u32, (String, bool)>> {
    let mut ids = BTreeMap::new();
    for (kind, is_live) in [(key::REPLACEMENT, false), (key::DOCUMENT_ID, true)] {
        remains.each_newest(
            &[kind],
            |_, value| standing_number(value),
            |key, number, _| {
                let id = String::from_utf8_lossy(key.get(1..).unwrap_or_default()).into_owned();
                ids.extend(number.map(|number| (number, (id, is_live))));
                Ok(())
            },
        )?;
    }
    Ok(ids)
}

/// Whether a document with this head was still there. A head that no commit vouches for may be an old one.
fn stands(remains: &Remains, head: &DocumentHead, is_vouched: bool) -> Result<bool> {
    if is_vouched || !remains.has_commit {
        return Ok(true);
    }
    for kind in [key::DOCUMENT_ID, key::REPLACEMENT] {
        let key = key::named(kind, head.id.as_bytes());
        if remains.may_be_lost(&key) {
            return Ok(true);
        }
        if let Some((Some(number), _)) = remains.newest(&key, standing_number)?
            && number == head.number
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The long title and the metadata of a document, and whether they are whole.
pub(super) fn information(remains: &Remains, head: &DocumentHead) -> Result<(Information, bool)> {
    let Some(reference) = &head.information else { return Ok((Information::default(), true)) };
    let Some(payload) = remains.payload(reference)? else { return Ok((Information::default(), false)) };
    match Information::decode(&payload) {
        Ok(information) => Ok((information, true)),
        Err(error) => {
            remains.note(Error::damaged_block(reference)(error))?;
            Ok((Information::default(), false))
        }
    }
}

/// Runs of ascending numbers: first and last of each.
pub(in crate::index) fn runs(ordinals: &[u32]) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &ordinal in ordinals {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(ordinal) => *last = ordinal,
            _ => runs.push((ordinal, ordinal)),
        }
    }
    runs
}

/// Something of a document, for the report.
pub(super) fn loss(document: &str, what: &str, detail: impl Into<String>) -> Loss {
    Loss { document: document.to_owned(), what: what.to_owned(), detail: detail.into(), chunks: Vec::new() }
}
