//! Records, as a writer adds, removes and corrects them.
//!
//! Two records of a document are the same where entity, type, kind, label, value, condition and valid time are the same
//! in their compared form: then their chunks go together, and the first spelling stays. A row is written whole, under
//! its entity and label; further keys lead to it from its document, label, value and coarse label. Counts by type and
//! entity, by label and by kind are kept as differences in memory, and as numbers once they are flushed.

use super::documents::check_length;
use super::writer::Writer;
use crate::ingest::{RecordKind, RecordUpdate};
use crate::{Error, Result};
use plica_format::key::{self, RECORD_HASH_BYTES, RecordKey};
use plica_format::limits::{KEY_BYTES, LEAF_RAW_BYTES};
use plica_format::record::{RecordRow, decode_count, encode_count};
use std::borrow::Cow;

/// What is limited where a record stands in too many chunks.
pub(crate) const RECORD_CHUNKS: &str = "a record with the list of its chunks, in bytes";

/// The form in which entities, types, values, conditions and valid times are compared.
pub(crate) fn symbol(text: &str) -> String {
    let mut key = crate::text::key(text);
    if key.contains('\0') {
        key = key.replace('\0', "\u{fffd}");
    }
    key
}

/// The form in which labels are compared.
pub(crate) fn label_symbol(text: &str) -> String {
    let key = symbol(text);
    if key.bytes().any(|byte| matches!(byte, b' ' | b'-')) { key.replace([' ', '-'], "_") } else { key }
}

/// A compared form as keys have it: at most 255 bytes.
pub(crate) fn bounded(symbol: String) -> String {
    match crate::text::bounded(&symbol) {
        Cow::Borrowed(_) => symbol,
        Cow::Owned(short) => short,
    }
}

/// Number of a kind in a file.
pub(crate) fn kind_number(kind: RecordKind) -> u8 {
    match kind {
        RecordKind::Property => 0,
        RecordKind::Relation => 1,
        RecordKind::Aspect => 2,
    }
}

/// The kind of a number.
pub(crate) fn kind_of(number: u8) -> RecordKind {
    match number {
        0 => RecordKind::Property,
        1 => RecordKind::Relation,
        _ => RecordKind::Aspect,
    }
}

/// What of a record its keys are made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Symbols {
    pub(crate) entity: String,
    pub(crate) entity_type: String,
    pub(crate) kind: u8,
    pub(crate) label: String,
    pub(crate) coarse: String,
    pub(crate) value: String,
    hash: [u8; RECORD_HASH_BYTES],
}

impl Symbols {
    /// Those of a row.
    pub(crate) fn of(row: &RecordRow<'_>) -> Self {
        let (entity, entity_type, label) = (symbol(row.entity), symbol(row.entity_type), label_symbol(row.label));
        let value = symbol(row.value);
        let (condition_label, condition_value) = (label_symbol(row.condition.0), symbol(row.condition.1));
        let valid = symbol(row.valid);
        let mut hasher = blake3::Hasher::new();
        let mut prefixed = Vec::new();
        for text in [&entity, &entity_type, &label, &value, &condition_label, &condition_value, &valid] {
            plica_format::bytes::put_string(&mut prefixed, text.as_bytes());
        }
        hasher.update(&[row.kind]);
        hasher.update(&prefixed);
        let mut hash = [0; RECORD_HASH_BYTES];
        hash.copy_from_slice(&hasher.finalize().as_bytes()[..RECORD_HASH_BYTES]);
        let coarse = label_symbol(row.coarse);
        Self {
            entity: bounded(entity),
            entity_type: bounded(entity_type),
            kind: row.kind,
            label: bounded(label),
            coarse: bounded(coarse),
            value: bounded(value),
            hash,
        }
    }

    /// The key in a document.
    pub(crate) fn key(&self, document: u32) -> RecordKey<'_> {
        RecordKey { entity: self.entity.as_bytes(), label: self.label.as_bytes(), hash: self.hash, document }
    }

    /// The keys that lead to the row: from the document, label, value and coarse label, where it has them.
    pub(crate) fn leading(&self, document: u32) -> Vec<Vec<u8>> {
        let key = self.key(document);
        let mut keys = vec![key.of_document()];
        if !self.label.is_empty() {
            keys.push(key.by_label(self.value.as_bytes()));
        }
        if !self.value.is_empty() {
            keys.push(key.by_value(self.value.as_bytes()));
        }
        keys.extend(self.coarse_key(document));
        keys
    }

    fn coarse_key(&self, document: u32) -> Option<Vec<u8>> {
        (!self.coarse.is_empty()).then(|| self.key(document).by_coarse(self.coarse.as_bytes()))
    }

    /// The keys of the counts that count it.
    pub(crate) fn counts(&self) -> [Vec<u8>; 3] {
        let mut by_type = key::parted(key::RECORD_TYPES, &[self.entity_type.as_bytes()]);
        by_type.extend_from_slice(self.entity.as_bytes());
        [by_type, key::named(key::RECORD_LABELS, self.label.as_bytes()), vec![key::RECORD_KINDS, self.kind]]
    }
}

/// A row of what was given, without chunks.
pub(crate) fn row_of(record: &RecordUpdate) -> RecordRow<'_> {
    let condition = record.condition.as_ref().map_or(("", ""), |(label, value)| (label.as_str(), value.as_str()));
    RecordRow {
        kind: kind_number(record.kind),
        entity: &record.entity,
        entity_type: &record.entity_type,
        label: &record.label,
        coarse: &record.coarse,
        value: &record.value,
        condition,
        valid: &record.valid,
        chunks: Vec::new(),
    }
}

/// Refuses a record whose parts are over their limits, or that says nothing.
fn check_record(record: &RecordUpdate) -> Result<()> {
    let row = row_of(record);
    let (condition_label, condition_value) = row.condition;
    for field in
        [row.entity, row.entity_type, row.label, row.coarse, row.value, condition_label, condition_value, row.valid]
    {
        check_length("a field of a record in bytes", field, KEY_BYTES)?;
    }
    if [row.entity, row.label, row.value].iter().all(|field| crate::text::key(field).is_empty()) {
        return Err(Error::invalid("a record needs an entity, a label or a value; all three are empty"));
    }
    Ok(())
}

impl Writer {
    /// Adds a record of a document, supported by the chunks with these ordinals. Where the document has the record
    /// already, the chunks are added to its own, and a coarse label that it lacks; the spelling stays. Gives whether
    /// that said anything new.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a record without a chunk, or without entity, label and value; [`Error::NotFound`] for a
    /// document or chunk that is not there; [`Error::Limit`] for a field over 1 KiB, and where the chunks of one record
    /// take more than 64 KiB (some 30,000 of them).
    pub fn add_record(&mut self, document: &str, record: &RecordUpdate, ordinals: &[u32]) -> Result<bool> {
        let number = self.number(document)?;
        let chunks = ordinals.iter().map(|&ordinal| self.chunk_id(number, ordinal)).collect::<Result<Vec<_>>>()?;
        self.give_record(number, record, chunks)
    }

    /// Adds a record, supported by chunks of the document, by internal id.
    pub(crate) fn give_record(&mut self, document: u32, record: &RecordUpdate, mut chunks: Vec<u32>) -> Result<bool> {
        self.flush_if_full()?;
        check_record(record)?;
        if chunks.is_empty() {
            return Err(Error::invalid("a record needs a passage that supports it; name at least one chunk"));
        }
        chunks.sort_unstable();
        chunks.dedup();
        let mut row = row_of(record);
        let symbols = Symbols::of(&row);
        let key = symbols.key(document).row();
        let Some(before) = self.view().record_value(&key)? else {
            row.chunks = chunks;
            let value = encoded(&row)?;
            for leading in symbols.leading(document) {
                self.delta.put(leading, vec![1]);
            }
            self.delta.put(key, value);
            for count in symbols.counts() {
                self.delta.count(count, 1);
            }
            return Ok(true);
        };
        let mut merged = RecordRow::decode(&before).map_err(super::view::damaged_value(key::RECORD))?;
        let had = merged.chunks.len();
        merged.chunks.extend(chunks);
        merged.chunks.sort_unstable();
        merged.chunks.dedup();
        let is_coarser = merged.coarse.is_empty() && !symbols.coarse.is_empty();
        if is_coarser {
            merged.coarse = row.coarse;
        }
        if merged.chunks.len() == had && !is_coarser {
            return Ok(false);
        }
        let value = encoded(&merged)?;
        if is_coarser && let Some(leading) = symbols.coarse_key(document) {
            self.delta.put(leading, vec![1]);
        }
        self.delta.put(key, value);
        Ok(true)
    }

    /// Removes a record of a document: the one that is the same as `record`, whatever its coarse label. Gives whether
    /// there was one.
    pub fn remove_record(&mut self, document: &str, record: &RecordUpdate) -> Result<bool> {
        self.flush_if_full()?;
        let number = self.number(document)?;
        Ok(self.take_record(number, record)?.is_some())
    }

    /// Puts `new` in the place of a record of a document; its chunks stay. Where the document has `new` already, the
    /// two become one. Gives whether there was the record `old`.
    ///
    /// # Errors
    /// As of [`Writer::add_record`]; then nothing was changed.
    pub fn correct_record(&mut self, document: &str, old: &RecordUpdate, new: &RecordUpdate) -> Result<bool> {
        self.flush_if_full()?;
        check_record(new)?;
        let number = self.number(document)?;
        let old_key = Symbols::of(&row_of(old)).key(number).row();
        let Some(value) = self.view().record_value(&old_key)? else { return Ok(false) };
        let damaged = super::view::damaged_value(key::RECORD);
        let mut chunks = RecordRow::decode(&value).map_err(&damaged)?.chunks;
        let new_key = Symbols::of(&row_of(new)).key(number).row();
        if new_key != old_key
            && let Some(there) = self.view().record_value(&new_key)?
        {
            chunks.extend(RecordRow::decode(&there).map_err(&damaged)?.chunks);
            chunks.sort_unstable();
            chunks.dedup();
        }
        // What is refused is refused before anything is taken away.
        encoded(&RecordRow { chunks: chunks.clone(), ..row_of(new) })?;
        self.take_record(number, old)?;
        self.give_record(number, new, chunks)?;
        Ok(true)
    }

    /// Takes a record away; gives its row.
    fn take_record(&mut self, document: u32, record: &RecordUpdate) -> Result<Option<Vec<u8>>> {
        self.take_row(document, Symbols::of(&row_of(record)).key(document).row())
    }

    /// Takes the record with this key away; gives its row.
    pub(super) fn take_row(&mut self, document: u32, key: Vec<u8>) -> Result<Option<Vec<u8>>> {
        let Some(value) = self.view().record_value(&key)? else { return Ok(None) };
        let symbols = Symbols::of(&RecordRow::decode(&value).map_err(super::view::damaged_value(key::RECORD))?);
        for leading in symbols.leading(document) {
            self.delta.put(leading, Vec::new());
        }
        self.delta.put(key, Vec::new());
        for count in symbols.counts() {
            self.delta.count(count, -1);
        }
        Ok(Some(value))
    }
}

/// The row as bytes; too many chunks are a limit that the caller has met.
fn encoded(row: &RecordRow<'_>) -> Result<Vec<u8>> {
    let mut value = Vec::new();
    match row.encode(&mut value) {
        Ok(()) => Ok(value),
        Err(_) => Err(Error::Limit { what: RECORD_CHUNKS, limit: LEAF_RAW_BYTES as u64, got: value.len() as u64 }),
    }
}

/// Turns the differences of counts in memory into numbers.
pub(super) fn write_counts(writer: &mut Writer) -> Result<()> {
    let counts = std::mem::take(&mut writer.delta.counts);
    for (key, change) in counts {
        if change == 0 {
            continue;
        }
        let damaged = super::view::damaged_value(key.first().copied().unwrap_or_default());
        let before = writer.dictionary.newest(&key, |value| decode_count(value).map_err(&damaged))?.unwrap_or(0);
        let now = before.checked_add_signed(change);
        let now = now.ok_or_else(|| super::view::inconsistent("a count of records is less than what was removed"))?;
        let mut value = Vec::new();
        encode_count(now, &mut value);
        writer.delta.put(key, value);
    }
    Ok(())
}
