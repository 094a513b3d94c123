//! Records in parts: what was added to a record at once, with descriptions that quote the chunk they came from.
//!
//! What a writer adds to a record before a flush is one part, as long as that is short. Whether a record has a
//! description already is asked of sets of short hashes, one set for every 64 parts of a record; a hash that is there is
//! compared with the descriptions of those parts, so a collision costs a little time and loses nothing.

use super::quote::{Quoter, Quotes};
use super::view::{View, inconsistent};
use super::writer::Writer;
use crate::Result;
use plica_format::entity::{EntityRow, Part as StoredPart};
use plica_format::limits::{DESCRIPTION_BYTES, LEAF_RAW_BYTES};
use plica_format::quote::Quoted;
use plica_format::{idset, key};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A part is split before it passes this many bytes as it is stored, or as it reads.
const PART_BYTES: usize = 48 << 10;
/// A part that is not written yet is added to while it has at most this many bytes.
const SHORT_PART_BYTES: usize = 512;
/// Parts that a writer keeps because a model was shown them.
const SHOWN_PARTS: usize = 4096;

/// What was added to a record at once.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) aliases: Vec<String>,
    pub(crate) descriptions: Vec<String>,
}

/// What is to be added to a record.
#[derive(Debug, Default)]
pub(super) struct Addition<'a> {
    pub(super) document: u32,
    pub(super) name: &'a str,
    pub(super) kind: &'a str,
    pub(super) aliases: Vec<&'a str>,
    pub(super) descriptions: Vec<&'a str>,
}

/// How a description is noted in a set.
fn hash_of(description: &str) -> u16 {
    key::description_hash(blake3::hash(description.as_bytes()).as_bytes())
}

impl View<'_> {
    /// One part of a record, its descriptions as they are stored.
    pub(crate) fn stored_part(&self, entity: u32, part: u32) -> Result<StoredPart> {
        self.newest(&key::numbered2(key::ENTITY_PART, entity, part), StoredPart::decode)?
            .ok_or_else(|| inconsistent(format!("part {part} of entity {entity} is missing")))
    }

    /// One part of a record.
    pub(crate) fn part(&self, entity: u32, part: u32) -> Result<Part> {
        let StoredPart { document, name, kind, aliases, descriptions } = self.stored_part(entity, part)?;
        let mut quotes = Quotes::new(*self, document);
        let texts = descriptions.iter().map(|description| quotes.resolve(description, DESCRIPTION_BYTES));
        Ok(Part { name, kind, aliases, descriptions: texts.collect::<Result<_>>()? })
    }

    /// All parts of a record, in order.
    pub(crate) fn parts(&self, row: &EntityRow) -> Result<Vec<Part>> {
        (0..row.parts).map(|part| self.part(row.entity, part)).collect()
    }

    /// Whether the set of hashes of a piece of a record has this one.
    fn has_description_hash(&self, entity: u32, piece: u16, hash: u16) -> Result<bool> {
        let mut key = key::numbered(key::ENTITY_DESCRIPTION, entity);
        let waiting = self.delta.and_then(|delta| delta.sets.get(&key));
        if waiting.is_some_and(|ids| ids.contains(&(u32::from(piece) << 16 | u32::from(hash)))) {
            return Ok(true);
        }
        key.extend_from_slice(&piece.to_be_bytes());
        let found = self.dictionary.find(&key, |value| {
            let hashes = idset::decode(value).map_err(super::view::damaged_value(key::ENTITY_DESCRIPTION))?;
            Ok(hashes.binary_search(&hash).is_ok().then_some(()))
        })?;
        Ok(found.is_some())
    }

    /// Whether a record's parts have a description of this hash, as its set says.
    pub(super) fn notes_description(&self, entity: u32, part: u32, description: &str) -> Result<bool> {
        self.has_description_hash(entity, key::parts_piece(part), hash_of(description))
    }

    /// The descriptions that a record has, as far as they are needed to tell which of `given` are new.
    pub(super) fn new_descriptions<'g>(&self, row: &EntityRow, given: &'g [String]) -> Result<Vec<&'g str>> {
        let mut read: HashMap<u16, HashSet<String>> = HashMap::new();
        let mut seen = HashSet::new();
        let mut out = Vec::new();
        let pieces = if row.parts == 0 { 0 } else { u32::from(key::parts_piece(row.parts - 1)) + 1 };
        'given: for description in given.iter().filter(|description| !description.is_empty()) {
            if !seen.insert(description.as_str()) {
                continue;
            }
            let hash = hash_of(description);
            for piece in (0..pieces).map(|piece| piece as u16) {
                if !self.has_description_hash(row.entity, piece, hash)? {
                    continue;
                }
                if !read.contains_key(&piece) {
                    let mut known = HashSet::new();
                    for part in key::parts_of_piece(piece, row.parts) {
                        known.extend(self.part(row.entity, part)?.descriptions);
                    }
                    read.insert(piece, known);
                }
                if read.get(&piece).is_some_and(|known| known.contains(description.as_str())) {
                    continue 'given;
                }
            }
            out.push(description.as_str());
        }
        Ok(out)
    }
}

impl Writer {
    /// Adds to a record, in parts that are not too long, and counts them in the record's row. Descriptions quote what
    /// `quoter` finds.
    pub(super) fn put_part(&mut self, entity: u32, new: &Addition<'_>, quoter: Option<&Quoter>) -> Result<()> {
        let mut row = self.view().entity_row(entity)?;
        let last = row.parts.checked_sub(1);
        let short = match last.and_then(|last| self.delta.values.get(&key::numbered2(key::ENTITY_PART, entity, last))) {
            Some(value) if value.len() <= SHORT_PART_BYTES => StoredPart::decode(value).ok(),
            _ => None,
        };
        let (mut number, mut part) = match (last, short) {
            (Some(last), Some(part)) if part.document == new.document && new.name.is_empty() => (last, part),
            _ => (row.parts, StoredPart { document: new.document, name: new.name.to_owned(), ..Default::default() }),
        };
        if part.kind.is_empty() && !new.kind.is_empty() {
            new.kind.clone_into(&mut part.kind);
            row.kind_part = number + 1;
        }
        let mut stored = Vec::new();
        part.encode(&mut stored);
        let mut bytes = stored.len();
        let mut reads: usize = part.descriptions.iter().map(Quoted::source_bytes).sum();
        for &alias in &new.aliases {
            if bytes + alias.len() > PART_BYTES {
                self.write_part(&mut row, number, &part);
                (number, part) = (row.parts, StoredPart { document: new.document, ..Default::default() });
                (bytes, reads) = (0, 0);
            }
            bytes += alias.len() + 4;
            part.aliases.push(alias.to_owned());
        }
        let hashes = key::numbered(key::ENTITY_DESCRIPTION, entity);
        for &text in &new.descriptions {
            let description = quoter.map_or_else(|| text.into(), |quoter| quoter.quote(text));
            stored.clear();
            description.encode(&mut 0, &mut stored);
            if bytes + stored.len() > PART_BYTES || reads + description.source_bytes() > LEAF_RAW_BYTES {
                self.write_part(&mut row, number, &part);
                (number, part) = (row.parts, StoredPart { document: new.document, ..Default::default() });
                (bytes, reads) = (0, 0);
            }
            bytes += stored.len();
            reads += description.source_bytes();
            part.descriptions.push(description);
            let piece = u32::from(key::parts_piece(number));
            self.delta.insert(hashes.clone(), piece << 16 | u32::from(hash_of(text)));
        }
        self.write_part(&mut row, number, &part);
        self.delta.put_entity_row(row);
        Ok(())
    }

    fn write_part(&mut self, row: &mut EntityRow, number: u32, part: &StoredPart) {
        let mut value = Vec::new();
        part.encode(&mut value);
        self.delta.put(key::numbered2(key::ENTITY_PART, row.entity, number), value);
        self.shown.remove(&(row.entity, number));
        row.parts = row.parts.max(number + 1);
    }

    /// A part of a record, for a model; it is kept for the next time.
    pub(super) fn shown_part(&mut self, entity: u32, number: u32) -> Result<Arc<Part>> {
        if let Some(part) = self.shown.get(&(entity, number)) {
            return Ok(Arc::clone(part));
        }
        let part = Arc::new(self.view().part(entity, number)?);
        if self.shown.len() >= SHOWN_PARTS {
            self.shown.clear();
        }
        self.shown.insert((entity, number), Arc::clone(&part));
        Ok(part)
    }
}
