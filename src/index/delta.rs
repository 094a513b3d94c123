//! What a writer has added since the last flush, in memory, typed by how it merges.

use super::term_lists::TermLists;
use crate::text::{TermCounts, TermHasher};
use plica_format::chunk::{Place, TextRow};
use plica_format::entity::EntityRow;
use plica_format::key::Field;
use plica_format::postings::Posting;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Rough cost of a map entry besides its key and value, for the memory budget.
const ENTRY_BYTES: usize = 64;
/// The same of a value: key and value are allocated apart.
const VALUE_BYTES: usize = 160;
/// The same of a set: its key and the first node of its tree are allocated apart.
const SET_BYTES: usize = 192;
/// The same of a text row.
const TEXT_ROW_BYTES: usize = 192;

/// Additions that are not in a segment yet.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    /// Keys of which the newest value stands.
    pub(super) values: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Id sets, by their key without the piece number.
    pub(super) sets: BTreeMap<Vec<u8>, BTreeSet<u32>>,
    /// Postings of all fields.
    pub(super) postings: TermLists,
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
    /// Estimate of the memory taken, postings apart.
    bytes: usize,
}

impl Delta {
    /// A delta without additions, whose terms are hashed by `hasher`.
    pub(super) fn new(hasher: TermHasher) -> Self {
        Self { postings: TermLists::new(hasher), ..Self::default() }
    }

    /// Whether what was added has to be written out before anything else is.
    pub(super) fn is_full(&self, budget_bytes: usize) -> bool {
        self.bytes() > budget_bytes || self.postings.is_full()
    }

    /// Estimate of the memory taken, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.postings.bytes()
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes() == 0
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
                self.bytes += set.len() + SET_BYTES;
                self.sets.insert(set, BTreeSet::from([id]));
            }
        }
    }

    /// Sets the frequency of a term in a unit; 0 takes the term away.
    pub(crate) fn post(&mut self, field: Field, term: &str, unit: u32, frequency: u32) {
        let hash = self.postings.hasher().hash(term.as_bytes());
        self.postings.post(field, term.as_bytes(), hash, unit, frequency);
    }

    /// Sets the frequencies of all terms of a unit, which were counted with the hasher of this delta.
    pub(crate) fn post_all(&mut self, field: Field, unit: u32, counts: &TermCounts) {
        for (term, hash, count) in counts.iter() {
            self.postings.post(field, term, hash, unit, count);
        }
    }

    /// The frequencies of a term in the units from `from` to `to`.
    pub(crate) fn postings(&self, field: Field, term: &str, from: u32, to: u32, out: &mut Vec<Posting>) {
        self.postings.read(field, term.as_bytes(), (from, to), out);
    }

    /// Adds a chunk's place.
    pub(crate) fn put_place(&mut self, place: Place) {
        self.bytes += ENTRY_BYTES;
        self.places.insert(place.chunk, place);
    }

    /// Adds a chunk's text row.
    pub(crate) fn put_text(&mut self, row: TextRow) {
        self.bytes += TEXT_ROW_BYTES + row.external_id.as_ref().map_or(0, String::len);
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
