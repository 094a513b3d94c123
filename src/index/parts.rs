//! Records in parts: what was added to a record, addition by addition, with descriptions that quote their chunk.
//!
//! What a writer adds to a record before a flush is one part, as long as that is short; where parts end is seen by nobody. Whether a record has a
//! description already is asked of sets of short hashes, one set for every 64 parts of a record; a hash that is there is
//! compared with the descriptions of those parts, so a collision costs a little time and loses nothing.

use super::quote::{Quoter, Quotes};
use super::view::{View, inconsistent};
use super::writer::Writer;
use crate::Result;
use plica_format::entity::{Addition, EntityRow, decode_part, encode_part};
use plica_format::idset;
use plica_format::key::{self, INDEX_SCOPE};
use plica_format::limits::{DESCRIPTION_BYTES, LEAF_RAW_BYTES};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// An addition is split before its texts pass this many bytes.
const PART_BYTES: usize = 48 << 10;
/// A part that is not written yet is added to while it has at most this many bytes.
const SHORT_PART_BYTES: usize = 512;
/// Parts that a writer keeps because a model was shown them.
const SHOWN_PARTS: usize = 4096;

/// What was added to a record at once, as it reads.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) aliases: Vec<String>,
    pub(crate) descriptions: Vec<String>,
}

/// What is to be added to a record.
#[derive(Debug, Default)]
pub(super) struct New<'a> {
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

/// How a description of a part is noted in the sets of its record.
pub(super) fn noted(part: u32, description: &str) -> u32 {
    u32::from(key::parts_piece(part)) << 16 | u32::from(hash_of(description))
}

/// Bytes of an addition as it is stored, or a little more.
fn stored_bytes(addition: &Addition) -> usize {
    let mut value = Vec::new();
    encode_part(std::slice::from_ref(addition), &mut value);
    value.len()
}

/// Whether a part that has so many bytes, stored and read, is added to.
fn takes(stored: usize, read: usize, addition: &Addition) -> bool {
    stored <= SHORT_PART_BYTES && read + addition.source_bytes() <= LEAF_RAW_BYTES
}

/// The parts of a record, cut as if all had been added before one flush. What says nothing, and no document told, is left
/// out.
pub(super) fn cut_parts(parts: Vec<Vec<Addition>>) -> Vec<Vec<Addition>> {
    let gone = Addition { document: INDEX_SCOPE, ..Addition::default() };
    let mut out: Vec<Vec<Addition>> = Vec::new();
    let (mut stored, mut read) = (0, 0);
    for addition in parts.into_iter().flatten().filter(|addition| *addition != gone) {
        let bytes = stored_bytes(&addition);
        match out.last_mut() {
            Some(last) if takes(stored, read, &addition) => {
                read += addition.source_bytes();
                last.push(addition);
                let mut value = Vec::new();
                encode_part(last, &mut value);
                stored = value.len();
            }
            _ => {
                (stored, read) = (bytes, addition.source_bytes());
                out.push(vec![addition]);
            }
        }
    }
    out
}

impl View<'_> {
    /// One part of a record, its descriptions as they are stored.
    pub(crate) fn stored_part(&self, entity: u32, part: u32) -> Result<Vec<Addition>> {
        self.newest(&key::numbered2(key::ENTITY_PART, entity, part), decode_part)?
            .ok_or_else(|| inconsistent(format!("part {part} of entity {entity} is missing")))
    }

    /// The name of a record.
    pub(crate) fn name_of(&self, entity: u32) -> Result<String> {
        Ok(self.stored_part(entity, 0)?.into_iter().next().map(|addition| addition.name).unwrap_or_default())
    }

    /// What was added as it reads.
    pub(super) fn read_addition(&self, stored: Addition) -> Result<Part> {
        let Addition { document, name, kind, aliases, descriptions } = stored;
        let mut quotes = Quotes::new(*self, document);
        let texts = descriptions.iter().map(|description| quotes.resolve(description, DESCRIPTION_BYTES));
        Ok(Part { name, kind, aliases, descriptions: texts.collect::<Result<_>>()? })
    }

    /// One part of a record: what was added, in order.
    pub(crate) fn part(&self, entity: u32, part: u32) -> Result<Vec<Part>> {
        self.stored_part(entity, part)?.into_iter().map(|stored| self.read_addition(stored)).collect()
    }

    /// What was added to a record, in order.
    pub(crate) fn parts(&self, row: &EntityRow) -> Result<Vec<Part>> {
        let mut out = Vec::new();
        for part in 0..row.parts {
            out.extend(self.part(row.entity, part)?);
        }
        Ok(out)
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
                let known = match read.entry(piece) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(place) => {
                        let mut known = HashSet::new();
                        for part in key::parts_of_piece(piece, row.parts) {
                            known.extend(self.part(row.entity, part)?.into_iter().flat_map(|part| part.descriptions));
                        }
                        place.insert(known)
                    }
                };
                if known.contains(description.as_str()) {
                    continue 'given;
                }
            }
            out.push(description.as_str());
        }
        Ok(out)
    }
}

impl Writer {
    /// Adds to a record, as one addition or, where that is long, as several, and counts its parts in its row. Descriptions
    /// quote what `quoter` finds.
    pub(super) fn put_part(&mut self, entity: u32, new: &New<'_>, quoter: Option<&Quoter>) -> Result<()> {
        let empty = Addition { document: new.document, ..Addition::default() };
        let mut addition = Addition { name: new.name.to_owned(), kind: new.kind.to_owned(), ..empty.clone() };
        let (mut bytes, mut additions) = (0, Vec::new());
        for &alias in &new.aliases {
            if bytes + alias.len() > PART_BYTES {
                additions.push(std::mem::replace(&mut addition, empty.clone()));
                bytes = 0;
            }
            bytes += alias.len() + 4;
            addition.aliases.push(alias.to_owned());
        }
        let mut texts = new.descriptions.iter();
        for &text in &new.descriptions {
            let description = quoter.map_or_else(|| text.into(), |quoter| quoter.quote(text));
            // By the text itself: where additions end does not depend on what was quoted.
            if bytes + text.len() > PART_BYTES {
                additions.push(std::mem::replace(&mut addition, empty.clone()));
                bytes = 0;
            }
            bytes += text.len() + 4;
            addition.descriptions.push(description);
        }
        additions.push(addition);
        for addition in additions {
            let texts: Vec<&str> = texts.by_ref().take(addition.descriptions.len()).copied().collect();
            self.put_addition(entity, addition, &texts)?;
        }
        Ok(())
    }

    /// Puts an addition into the last part of a record, where that is short and not written yet, or into a new one.
    fn put_addition(&mut self, entity: u32, addition: Addition, texts: &[&str]) -> Result<()> {
        let mut row = self.view().entity_row(entity)?;
        let last = row.parts.checked_sub(1);
        let waiting = last.and_then(|last| self.delta.values.get(&key::numbered2(key::ENTITY_PART, entity, last)));
        let short = match waiting {
            Some(value) if value.len() <= SHORT_PART_BYTES => decode_part(value).ok(),
            _ => None,
        };
        let read = |part: &Vec<Addition>| part.iter().map(Addition::source_bytes).sum();
        let (number, mut part) = match (last, short) {
            (Some(last), Some(part)) if takes(0, read(&part), &addition) => (last, part),
            _ => (row.parts, Vec::new()),
        };
        row.parts = number + 1;
        if row.kind_part == 0 && !addition.kind.is_empty() {
            row.kind_part = row.parts;
        }
        part.push(addition);
        let mut value = Vec::new();
        encode_part(&part, &mut value);
        self.delta.put(key::numbered2(key::ENTITY_PART, entity, number), value);
        self.shown.remove(&(entity, number));
        self.delta.put_entity_row(row);
        for text in texts {
            self.delta.insert(key::numbered(key::ENTITY_DESCRIPTION, entity), noted(number, text));
        }
        Ok(())
    }

    /// A part of a record, for a model; it is kept for the next time.
    pub(super) fn shown_part(&mut self, entity: u32, number: u32) -> Result<Arc<[Part]>> {
        if let Some(part) = self.shown.get(&(entity, number)) {
            return Ok(Arc::clone(part));
        }
        let part: Arc<[Part]> = self.view().part(entity, number)?.into();
        if self.shown.len() >= SHOWN_PARTS {
            self.shown.clear();
        }
        self.shown.insert((entity, number), Arc::clone(&part));
        Ok(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::EntityUpdate;
    use crate::{Index, Limits, NewChunk, Options};

    #[test]
    fn descriptions_of_one_hash_are_told_apart_and_a_repeated_one_adds_nothing() {
        // Among 2,000 descriptions some thirty share their 16 bits with another.
        let texts: Vec<String> = (0..2_000).map(|at| format!("the keeper of lamp number {at}")).collect();
        let mut hashes: Vec<u16> = texts.iter().map(|text| hash_of(text)).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert!(hashes.len() < texts.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.plica");
        let mut writer = Writer::create(&path, &Options::new()).unwrap();
        writer.add_document("a", "", "").unwrap();
        writer.append_chunk("a", &NewChunk::text("Ilse is the keeper of lamp number 7, and of others.")).unwrap();
        for (at, texts) in texts.chunks(3).enumerate() {
            for _ in 0..2 {
                let given = EntityUpdate { name: "Ilse".into(), descriptions: texts.to_vec(), ..Default::default() };
                writer.apply_update("a", 0, &[given]).unwrap();
            }
            if at % 100 == 0 {
                writer.flush().unwrap();
            }
        }
        writer.publish("a").unwrap();
        writer.commit().unwrap();
        let all = EntityUpdate { name: "Ilse".into(), descriptions: texts.clone(), ..Default::default() };
        writer.apply_update("a", 0, &[all]).unwrap();
        writer.commit().unwrap();
        let snapshot = Index::open(&path).unwrap().snapshot();
        assert!(snapshot.entity("Ilse", None).unwrap()[0].descriptions == texts);
        let report = snapshot.check(&Limits::default()).unwrap();
        assert!(report.findings.is_empty(), "{:#?}", report.findings);
        drop(snapshot);
        writer.vacuum(&Limits::default()).unwrap();
        let snapshot = Index::open(&path).unwrap().snapshot();
        assert!(snapshot.entity("Ilse", None).unwrap()[0].descriptions == texts);
        assert!(snapshot.check(&Limits::default()).unwrap().findings.is_empty());
    }
}
