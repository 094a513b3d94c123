//! Typed reading of what the segments of a commit, and a writer's delta above them, hold.

use super::delta::Delta;
use super::texts::TextBuffer;
use super::writer::OpenDocument;
use crate::dictionary::Dictionary;
use crate::{Error, Result};
use plica_format::FormatError;
use plica_format::bytes::Reader;
use plica_format::chunk::{Place, TextRow, decode_places, decode_texts, each_place};
use plica_format::document::{DocumentHead, Information};
use plica_format::entity::{EntityRow, SummaryRow, decode_rows, decode_summary_rows};
use plica_format::key::{self, Field, PLACES_A_BLOCK, ROWS_A_BLOCK, TEXTS_A_BLOCK};
use plica_format::postings::{Posting, PostingList, PostingValue};
use plica_format::{idset, state::IndexState};
use std::collections::BTreeMap;

/// Pieces of an id set that are looked up one by one; of more the keys are scanned.
const LOOKED_UP_PIECES: u32 = 4;

/// Segments, and what is not written yet where a writer reads.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) dictionary: &'a Dictionary,
    pub(crate) delta: Option<&'a Delta>,
    pub(crate) state: &'a IndexState,
    pub(crate) fanout: u8,
    /// Texts that wait, and documents in memory.
    pub(super) unwritten: Option<(&'a TextBuffer, &'a BTreeMap<u32, OpenDocument>)>,
}

/// Damage in the value of a key.
pub(crate) fn damaged_value(kind: u8) -> impl Fn(FormatError) -> Error {
    move |error| Error::Damaged {
        offset: 0,
        what: format!("value of a key of kind {kind:#04x}"),
        detail: error.to_string(),
    }
}

/// Damage that shows when two structures are held against each other.
pub(crate) fn inconsistent(detail: impl Into<String>) -> Error {
    Error::Damaged { offset: 0, what: "index: structures disagree".into(), detail: detail.into() }
}

/// Reads one varint that is a whole value.
fn number(bytes: &[u8]) -> Result<u32, FormatError> {
    let mut reader = Reader::new("number", bytes);
    let value = reader.varint32()?;
    reader.finish()?;
    Ok(value)
}

/// Reads one varint that is a whole value, or nothing where the key is gone.
fn standing_number(bytes: &[u8]) -> Result<Option<u32>, FormatError> {
    if bytes.is_empty() { Ok(None) } else { number(bytes).map(Some) }
}

impl<'a> View<'a> {
    /// What segments hold, and nothing else.
    pub(super) fn over(dictionary: &'a Dictionary, state: &'a IndexState, fanout: u8) -> Self {
        Self { dictionary, delta: None, state, fanout, unwritten: None }
    }

    /// The newest value of `key`.
    pub(crate) fn newest<T>(&self, key: &[u8], decode: impl Fn(&[u8]) -> Result<T, FormatError>) -> Result<Option<T>> {
        let kind = key.first().copied().unwrap_or_default();
        if let Some(value) = self.delta.and_then(|delta| delta.values.get(key)) {
            return decode(value).map(Some).map_err(damaged_value(kind));
        }
        if self.delta.is_some_and(|delta| delta.is_new(key)) {
            return Ok(None);
        }
        self.dictionary.newest(key, |value| decode(value).map_err(damaged_value(kind)))
    }

    /// Hands the newest value of every key that starts with `prefix` to `sink`. A key may come several times; the last
    /// counts.
    pub(crate) fn each_newest<T>(
        &self,
        prefix: &[u8],
        decode: impl Fn(&[u8]) -> Result<T, FormatError>,
        mut sink: impl FnMut(Vec<u8>, T),
    ) -> Result<()> {
        let kind = prefix.first().copied().unwrap_or_default();
        self.dictionary.each_with_prefix(prefix, |key, value| {
            sink(key.to_vec(), decode(value).map_err(damaged_value(kind))?);
            Ok(())
        })?;
        if let Some(delta) = self.delta {
            for (key, value) in delta.values.range(prefix.to_vec()..).take_while(|(key, _)| key.starts_with(prefix)) {
                sink(key.clone(), decode(value).map_err(damaged_value(kind))?);
            }
        }
        Ok(())
    }

    /// The head of a document.
    pub(crate) fn head(&self, document: u32) -> Result<Option<DocumentHead>> {
        self.newest(&key::numbered(key::DOCUMENT, document), |bytes| DocumentHead::decode(document, bytes))
    }

    /// The number of the document with this id.
    pub(crate) fn document_number(&self, id: &str) -> Result<Option<u32>> {
        Ok(self.newest(&key::named(key::DOCUMENT_ID, id.as_bytes()), standing_number)?.flatten())
    }

    /// The number of the staged document that is to take the place of the one with this id.
    pub(crate) fn replacement_number(&self, id: &str) -> Result<Option<u32>> {
        Ok(self.newest(&key::named(key::REPLACEMENT, id.as_bytes()), standing_number)?.flatten())
    }

    /// The long title and metadata of a document.
    pub(crate) fn information(&self, head: &DocumentHead) -> Result<Information> {
        match &head.information {
            Some(reference) => {
                Information::decode(&self.dictionary.blocks.read(reference)?).map_err(Error::damaged_block(reference))
            }
            None => Ok(Information::default()),
        }
    }

    /// The entity with this name in a scope.
    pub(crate) fn entity_by_name(&self, scope: u32, name_key: &str) -> Result<Option<u32>> {
        Ok(self.newest(&key::entity_name(scope, name_key), standing_number)?.flatten())
    }

    /// The chunks with this external id, with their documents.
    pub(crate) fn chunks_by_external_id(&self, id: &str) -> Result<Vec<(u32, u32)>> {
        let prefix = key::external_id(id);
        let mut found = std::collections::BTreeMap::new();
        let length = prefix.len() + 4;
        let take = |key: &[u8], value: &[u8], found: &mut std::collections::BTreeMap<u32, u32>| {
            if let (true, Some(document)) = (key.len() == length, key::last_number(key)) {
                found.insert(document, number(value).map_err(damaged_value(key::EXTERNAL_ID))?);
            }
            Ok::<_, Error>(())
        };
        self.dictionary.each_with_prefix(&prefix, |key, value| take(key, value, &mut found))?;
        if let Some(delta) = self.delta {
            for (key, value) in delta.values.range(prefix.clone()..).take_while(|(key, _)| key.starts_with(&prefix)) {
                take(key, value, &mut found)?;
            }
        }
        Ok(found.into_iter().collect())
    }

    /// The chunk of a document with this external id.
    pub(crate) fn chunk_by_external_id(&self, document: u32, id: &str) -> Result<Option<u32>> {
        let mut key = key::external_id(id);
        key.extend_from_slice(&document.to_be_bytes());
        self.newest(&key, number)
    }

    /// The row of a record by its key, encoded, unless the record was removed.
    pub(crate) fn record_value(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.newest(key, |value| Ok(value.to_vec()))?.filter(|value| !value.is_empty()))
    }

    /// An id set by its key without the piece number, in ascending order.
    pub(crate) fn set(&self, prefix: &[u8]) -> Result<Vec<u32>> {
        if let Some(delta) = self.delta.filter(|delta| delta.is_new(prefix)) {
            return Ok(delta.sets.get(prefix).into_iter().flatten().copied().collect());
        }
        let kind = prefix.first().copied().unwrap_or_default();
        let ids = if kind == key::ENTITY_CHUNKS { self.state.chunks } else { self.state.entities };
        let mut found = Vec::new();
        let mut sources = 0;
        let mut take = |piece: u16, value: &[u8]| {
            sources += 1;
            idset::add_update(value, piece, &mut found).map_err(damaged_value(kind))
        };
        // A look-up of each piece that there can be costs less than a scan, as long as they are few.
        let pieces = ids.div_ceil(1 << 16);
        if pieces <= LOOKED_UP_PIECES {
            let mut key = Vec::with_capacity(prefix.len() + 2);
            key.extend_from_slice(prefix);
            for piece in 0..pieces as u16 {
                key.truncate(prefix.len());
                key.extend_from_slice(&piece.to_be_bytes());
                self.dictionary.each(&key, |value| take(piece, value))?;
            }
        } else {
            let length = prefix.len() + 2;
            self.dictionary.each_with_prefix(prefix, |key, value| match key::piece(key) {
                Some(piece) if key.len() == length && u32::from(piece) < pieces => take(piece, value),
                _ => Ok(()),
            })?;
        }
        let new = self.delta.and_then(|delta| delta.sets.get(prefix));
        if self.delta.is_some_and(|delta| delta.replaced.contains_key(prefix)) {
            found.clear();
        }
        if sources > 1 || new.is_some() {
            found.extend(new.into_iter().flatten());
            found.sort_unstable();
            found.dedup();
        }
        Ok(found)
    }

    /// The postings of a term in the units from `from` to `to`: ascending, the newest frequency of each, none of 0.
    pub(crate) fn postings(&self, field: Field, term: &str, from: u32, to: u32) -> Result<Vec<Posting>> {
        let key = field.key(term);
        let mut out: Vec<Posting> = Vec::new();
        if !self.delta.is_some_and(|delta| delta.knows_unit(field, from)) {
            self.dictionary.each(&key, |value| {
                let value = PostingValue::decode(value).map_err(damaged_value(key::POSTINGS))?;
                read_postings(self.dictionary, &value, from, to, &mut out)
            })?;
        }
        if let Some(delta) = self.delta {
            delta.postings(field, term, from, to, &mut out);
        }
        newest_of_each(&mut out);
        out.retain(|posting| posting.frequency > 0);
        Ok(out)
    }

    /// The rows of a column in the blocks of ids from `from` to `to`, segment by segment, oldest first.
    pub(super) fn rows<T>(
        &self,
        kind: u8,
        rows_a_block: u32,
        (from, to): (u32, u32),
        decode: impl Fn(u32, &[u8]) -> Result<Vec<T>, FormatError>,
        mut sink: impl FnMut(T),
    ) -> Result<()> {
        let (first, last) = (from / rows_a_block, to / rows_a_block);
        let mut take = |block: u32, value: &[u8]| {
            decode(block, value).map_err(damaged_value(kind))?.into_iter().for_each(&mut sink);
            Ok(())
        };
        if first == last {
            return self.dictionary.each(&key::numbered(kind, first), |value| take(first, value));
        }
        let (first, last) = (key::numbered(kind, first), key::numbered(kind, last));
        self.dictionary.each_between(&first, &last, |key, value| match key::last_number(key) {
            Some(block) if key.len() == first.len() => take(block, value),
            _ => Err(inconsistent(format!("a key of kind {kind:#04x} without a number"))),
        })
    }

    /// Places of the chunks from `from` to `to`, ascending.
    pub(crate) fn places(&self, from: u32, to: u32) -> Result<Vec<Place>> {
        let mut out: Vec<Place> = Vec::new();
        self.rows(key::CHUNK_PLACES, PLACES_A_BLOCK, (from, to), decode_places, |row| out.push(row))?;
        if let Some(delta) = self.delta {
            out.extend(delta.places.range(from..=to).map(|(_, place)| *place));
        }
        out.retain(|place| (from..=to).contains(&place.chunk));
        out.sort_by_key(|place| place.chunk);
        Ok(out)
    }

    /// Hands the places of one block of chunks to `sink`; where a chunk comes twice, the later place counts. After an
    /// error, what was handed out means nothing.
    pub(super) fn each_place_of(&self, block: u32, mut sink: impl FnMut(Place)) -> Result<()> {
        self.dictionary.each(&key::numbered(key::CHUNK_PLACES, block), |value| {
            each_place(block, value, &mut sink).map_err(damaged_value(key::CHUNK_PLACES))
        })?;
        if let Some(delta) = self.delta {
            let first = block.saturating_mul(PLACES_A_BLOCK);
            let rows = delta.places.range(first..=first.saturating_add(PLACES_A_BLOCK - 1));
            rows.for_each(|(_, place)| sink(*place));
        }
        Ok(())
    }

    /// The newest row of a column with one id.
    fn row<T>(
        &self,
        kind: u8,
        (rows_a_block, id): (u32, u32),
        decode: impl Fn(u32, &[u8]) -> Result<Vec<T>, FormatError>,
        id_of: impl Fn(&T) -> u32,
    ) -> Result<Option<T>> {
        let block = id / rows_a_block;
        self.dictionary.find(&key::numbered(kind, block), |value| {
            let rows = decode(block, value).map_err(damaged_value(kind))?;
            Ok(rows.into_iter().find(|row| id_of(row) == id))
        })
    }

    /// The place of a chunk.
    pub(crate) fn place(&self, chunk: u32) -> Result<Place> {
        if let Some(place) = self.delta.and_then(|delta| delta.places.get(&chunk)) {
            return Ok(*place);
        }
        self.row(key::CHUNK_PLACES, (PLACES_A_BLOCK, chunk), decode_places, |place| place.chunk)?
            .ok_or_else(|| inconsistent(format!("the place of chunk {chunk} is missing")))
    }

    /// The text row of a chunk.
    pub(crate) fn text_row(&self, chunk: u32) -> Result<TextRow> {
        if let Some(row) = self.delta.and_then(|delta| delta.texts.get(&chunk)) {
            return Ok(row.clone());
        }
        self.row(key::CHUNK_TEXTS, (TEXTS_A_BLOCK, chunk), decode_texts, |row| row.chunk)?
            .ok_or_else(|| inconsistent(format!("the text of chunk {chunk} is missing")))
    }

    /// Title and text of a chunk.
    pub(crate) fn text(&self, row: &TextRow) -> Result<(String, String)> {
        let payload = self.dictionary.blocks.read(&row.block)?;
        let start = row.offset as usize;
        let middle = start + row.title_bytes as usize;
        let end = middle + row.text_bytes as usize;
        let read = |range: std::ops::Range<usize>| {
            payload.get(range).and_then(|bytes| std::str::from_utf8(bytes).ok()).map(str::to_owned)
        };
        match (read(start..middle), read(middle..end)) {
            (Some(title), Some(text)) => Ok((title, text)),
            _ => Err(Error::Damaged {
                offset: row.block.offset,
                what: "text block".into(),
                detail: format!(
                    "expected UTF-8 text of chunk {} at {start}..{end}, got {} bytes",
                    row.chunk,
                    payload.len()
                ),
            }),
        }
    }

    /// Rows of the entities from `from` to `to`, ascending, the newest of each. A row without parts says that the record
    /// is gone.
    pub(crate) fn entity_rows(&self, from: u32, to: u32) -> Result<Vec<EntityRow>> {
        let mut out: std::collections::BTreeMap<u32, EntityRow> = Default::default();
        self.rows(key::ENTITY_ROWS, ROWS_A_BLOCK, (from, to), decode_rows, |row| {
            out.insert(row.entity, row);
        })?;
        if let Some(delta) = self.delta {
            out.extend(delta.entity_rows.range(from..=to).map(|(&entity, row)| (entity, *row)));
        }
        Ok(out.into_values().filter(|row| (from..=to).contains(&row.entity) && row.parts > 0).collect())
    }

    /// The row of an entity.
    pub(crate) fn entity_row(&self, entity: u32) -> Result<EntityRow> {
        if let Some(row) = self.delta.and_then(|delta| delta.entity_rows.get(&entity)) {
            return Ok(*row);
        }
        self.row(key::ENTITY_ROWS, (ROWS_A_BLOCK, entity), decode_rows, |row| row.entity)?
            .ok_or_else(|| inconsistent(format!("the row of entity {entity} is missing")))
    }

    /// Token counts of the level-1 summaries with units from `from` to `to`, ascending.
    pub(crate) fn summary_rows(&self, from: u32, to: u32) -> Result<Vec<SummaryRow>> {
        let mut out: std::collections::BTreeMap<u32, u32> = Default::default();
        self.rows(key::SUMMARY_ROWS, ROWS_A_BLOCK, (from, to), decode_summary_rows, |row| {
            out.insert(row.unit, row.tokens);
        })?;
        if let Some(delta) = self.delta {
            out.extend(delta.summary_rows.range(from..=to));
        }
        Ok(out.range(from..=to).map(|(&unit, &tokens)| SummaryRow { unit, tokens }).collect())
    }
}

/// Reads the postings of one value within a range of ids.
pub(crate) fn read_postings(
    dictionary: &Dictionary,
    value: &PostingValue<'_>,
    from: u32,
    to: u32,
    out: &mut Vec<Posting>,
) -> Result<()> {
    match value {
        PostingValue::Inline(list) => list.read_into(from, to, out).map_err(damaged_value(key::POSTINGS)),
        PostingValue::Pieces(pieces) => {
            for piece in pieces.iter().filter(|piece| piece.last_id >= from && piece.first_id <= to) {
                let payload = dictionary.blocks.read(&piece.reference)?;
                let list = PostingList::decode(&payload).map_err(Error::damaged_block(&piece.reference))?;
                piece.check(&list).map_err(Error::damaged_block(&piece.reference))?;
                list.read_into(from, to, out).map_err(Error::damaged_block(&piece.reference))?;
            }
            Ok(())
        }
    }
}

/// Sorts postings that were gathered oldest first and keeps the newest of each id.
pub(crate) fn newest_of_each(postings: &mut Vec<Posting>) {
    let ascending = postings.windows(2).all(|pair| matches!(pair, [a, b] if a.id < b.id));
    if ascending {
        return;
    }
    postings.reverse();
    postings.sort_by_key(|posting| posting.id);
    postings.dedup_by_key(|posting| posting.id);
}
