//! What a writer has added since the last flush, in memory, typed by how it merges.

use plica_format::chunk::{Place, TextRow};
use plica_format::entity::EntityRow;
use plica_format::key::Field;
use plica_format::postings::Posting;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Rough cost of a map entry besides its key and value, for the memory budget.
const ENTRY_BYTES: usize = 64;
/// The same of a value: key and value are allocated apart.
const VALUE_BYTES: usize = 160;

/// Additions that are not in a segment yet.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    /// Keys of which the newest value stands.
    pub(super) values: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Id sets, by their key without the piece number.
    pub(super) sets: BTreeMap<Vec<u8>, BTreeSet<u32>>,
    /// Sets of which what the segments say no longer counts, with the numbers of the pieces that segments have.
    pub(super) replaced: BTreeMap<Vec<u8>, BTreeSet<u16>>,
    /// Postings of each field: by term, then by id.
    pub(super) postings: [HashMap<Box<str>, BTreeMap<u32, u32>>; 5],
    /// Places of new chunks.
    pub(super) places: BTreeMap<u32, Place>,
    /// Texts of new chunks whose block is written.
    pub(super) texts: BTreeMap<u32, TextRow>,
    /// Rows of new or enriched entities.
    pub(super) entity_rows: BTreeMap<u32, EntityRow>,
    /// Token counts of new summaries, by unit.
    pub(super) summary_rows: BTreeMap<u32, u32>,
    /// By how much the counts of records change, by their key.
    pub(super) counts: HashMap<Vec<u8>, i64>,
    /// Estimate of the memory taken.
    bytes: usize,
}

impl Delta {
    /// Estimate of the memory taken, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Sets a value.
    pub(crate) fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.bytes += key.len() + value.len() + VALUE_BYTES;
        self.values.insert(key, value);
    }

    /// Changes a count by `change`.
    pub(crate) fn count(&mut self, key: Vec<u8>, change: i64) {
        match self.counts.get_mut(&key) {
            Some(count) => *count += change,
            None => {
                self.bytes += key.len() + ENTRY_BYTES;
                self.counts.insert(key, change);
            }
        }
    }

    /// Adds an id to a set.
    pub(crate) fn insert(&mut self, set: Vec<u8>, id: u32) {
        self.bytes += 16;
        match self.sets.get_mut(&set) {
            Some(ids) => {
                ids.insert(id);
            }
            None => {
                self.bytes += set.len() + ENTRY_BYTES;
                self.sets.insert(set, BTreeSet::from([id]));
            }
        }
    }

    /// Puts the set `ids` in the place of `before`, which the segments and this delta have.
    pub(crate) fn replace(&mut self, set: Vec<u8>, before: &[u32], ids: BTreeSet<u32>) {
        self.bytes += set.len() + ENTRY_BYTES + 16 * ids.len() + 2 * before.len();
        self.replaced.entry(set.clone()).or_default().extend(before.iter().map(|id| (id >> 16) as u16));
        self.sets.insert(set, ids);
    }

    /// Sets the frequency of a term in a unit; 0 takes the term away.
    pub(crate) fn post(&mut self, field: Field, term: &str, unit: u32, frequency: u32) {
        let Some(terms) = self.postings.get_mut(field as usize) else { return };
        self.bytes += 12;
        match terms.get_mut(term) {
            Some(postings) => {
                postings.insert(unit, frequency);
            }
            None => {
                self.bytes += term.len() + 2 * ENTRY_BYTES;
                terms.insert(term.into(), BTreeMap::from([(unit, frequency)]));
            }
        }
    }

    /// The frequencies of a term in the units from `from` to `to`.
    pub(crate) fn postings(&self, field: Field, term: &str, from: u32, to: u32, out: &mut Vec<Posting>) {
        if let Some(postings) = self.postings.get(field as usize).and_then(|terms| terms.get(term)) {
            out.extend(postings.range(from..=to).map(|(&id, &frequency)| Posting { id, frequency }));
        }
    }

    /// Adds a chunk's place.
    pub(crate) fn put_place(&mut self, place: Place) {
        self.bytes += ENTRY_BYTES;
        self.places.insert(place.chunk, place);
    }

    /// Adds a chunk's text row.
    pub(crate) fn put_text(&mut self, row: TextRow) {
        self.bytes += 2 * ENTRY_BYTES + row.external_id.as_ref().map_or(0, String::len);
        self.texts.insert(row.chunk, row);
    }

    /// Sets an entity's row.
    pub(crate) fn put_entity_row(&mut self, row: EntityRow) {
        self.bytes += ENTRY_BYTES;
        self.entity_rows.insert(row.entity, row);
    }

    /// Sets a summary's token count.
    pub(crate) fn put_summary_row(&mut self, unit: u32, tokens: u32) {
        self.bytes += ENTRY_BYTES;
        self.summary_rows.insert(unit, tokens);
    }
}
