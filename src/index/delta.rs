//! What a writer has added since the last flush, in memory, typed by how it merges.

use super::term_lists::TermLists;
use crate::text::{TermCounts, TermHasher};
use parking_lot::Mutex;
use plica_format::chunk::{Place, TextRow};
use plica_format::entity::EntityRow;
use plica_format::key::{self, DOCUMENT_ID, Field, INDEX_SCOPE};
use plica_format::postings::Posting;
use plica_format::state::IndexState;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Rough cost of a map entry besides its key and value, for the memory budget.
const ENTRY_BYTES: usize = 64;
/// The same of a value: key and value are allocated apart.
const VALUE_BYTES: usize = 160;
/// The same of a set: its key and the first node of its tree are allocated apart.
const SET_BYTES: usize = 192;
/// The same of a text row.
const TEXT_ROW_BYTES: usize = 192;

/// Above this many bytes, the postings of recent entities are forgotten with the next segment.
const RECENT_BYTES: usize = 16 << 20;

/// Additions that are not in a segment yet.
#[derive(Debug, Default)]
pub(crate) struct Delta {
    /// Keys of which the newest value stands.
    pub(super) values: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Id sets, by their key without the piece number.
    pub(super) sets: BTreeMap<Vec<u8>, BTreeSet<u32>>,
    /// Postings of all fields.
    pub(super) postings: TermLists,
    /// Postings of the memory's fields, from an entity on, those that segments have included.
    recent: Recent,
    /// Sets of which what the segments say no longer counts, with the numbers of the pieces that segments have.
    pub(super) replaced: BTreeMap<Vec<u8>, BTreeSet<u16>>,
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
    /// Numbers of documents, chunks and entities that were given before this delta began: the segments hold nothing of
    /// others.
    documents: u32,
    chunks: u32,
    entities: u32,
    /// The document that was asked for last, by its id: bulk work asks for one again and again. Forgotten whenever the
    /// number of any id changes.
    last_document: Mutex<Option<(String, u32)>>,
    /// Estimate of the memory taken, postings apart.
    bytes: usize,
    /// How often something was added.
    additions: u64,
    /// How often something had been added when a removal was done, above nothing but other removals.
    removed_at: Option<u64>,
}

/// All postings of the memory's fields of the entities from a number on, so that enriching and recalling what was made a
/// while ago need not look into the segments that were written since. It goes on from delta to delta, until it is too long.
#[derive(Debug, Default)]
struct Recent {
    postings: TermLists,
    first_entity: u32,
}

impl Recent {
    fn new(hasher: TermHasher, first_entity: u32) -> Self {
        Self { postings: TermLists::new(hasher), first_entity }
    }
}

impl Delta {
    /// A delta without additions above the segments of `state`, whose terms are hashed by `hasher`.
    pub(super) fn new(hasher: TermHasher, state: &IndexState) -> Self {
        let (documents, chunks, entities) = (state.documents, state.chunks, state.entities);
        let recent = Recent::new(hasher.clone(), entities);
        Self { postings: TermLists::new(hasher), recent, documents, chunks, entities, ..Self::default() }
    }

    /// Takes all additions out; what is left goes on above the segments of `state`, one of which will hold them.
    pub(super) fn take(&mut self, hasher: TermHasher, state: &IndexState) -> Self {
        let mut next = Self::new(hasher, state);
        if self.recent.postings.bytes() <= RECENT_BYTES {
            next.recent = std::mem::take(&mut self.recent);
        }
        std::mem::replace(self, next)
    }

    /// Whether all that there is of a key is in this delta, because what it speaks of was given its number since the delta
    /// began: no segment need be looked at.
    pub(super) fn is_new(&self, key: &[u8]) -> bool {
        let first = |bound: u32| key::first_number(key).is_some_and(|number| number >= bound && number != INDEX_SCOPE);
        match key.first().copied().unwrap_or_default() {
            key::DOCUMENT | key::ENTITY_NAME | key::ENTITY_ALIAS | key::DOCUMENT_ENTITIES | key::OUTLINE => {
                first(self.documents)
            }
            key::EXTERNAL_ID => key::last_number(key).is_some_and(|document| document >= self.documents),
            key::CHUNK_ENTITIES => first(self.chunks),
            key::ENTITY_PART | key::ENTITY_CHUNKS | key::ENTITY_DESCRIPTION => first(self.entities),
            _ => false,
        }
    }

    /// Whether all postings of the units from `from` on are known without the segments.
    pub(super) fn knows_unit(&self, field: Field, from: u32) -> bool {
        match field {
            Field::Text | Field::Summary => from >= self.chunks,
            Field::Name | Field::Aliases | Field::Descriptions => from >= self.recent.first_entity,
        }
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

    /// Notes that all additions so far came from removals.
    pub(super) fn note_removal(&mut self) {
        self.removed_at = Some(self.additions);
    }

    /// Whether all additions so far came from removals.
    pub(super) fn only_removes(&self) -> bool {
        self.additions == 0 || self.removed_at == Some(self.additions)
    }

    /// The number of the document with this id, where that was the last to be [noted](Self::note_document).
    pub(super) fn last_document(&self, id: &str) -> Option<u32> {
        self.last_document.lock().as_ref().filter(|(last, _)| last == id).map(|(_, number)| *number)
    }

    /// Notes the number of the document with this id, as it stands now.
    pub(super) fn note_document(&self, id: &str, number: u32) {
        *self.last_document.lock() = Some((id.to_owned(), number));
    }

    /// Sets a value.
    pub(crate) fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.additions += 1;
        if key.first() == Some(&DOCUMENT_ID) {
            *self.last_document.get_mut() = None;
        }
        self.bytes += key.len() + value.len() + VALUE_BYTES;
        self.values.insert(key, value);
    }

    /// Changes a count by `change`.
    pub(crate) fn count(&mut self, key: Vec<u8>, change: i64) {
        self.additions += 1;
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
        self.additions += 1;
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

    /// Puts the set `ids` in the place of `before`, which the segments and this delta have.
    pub(crate) fn replace(&mut self, set: Vec<u8>, before: &[u32], ids: BTreeSet<u32>) {
        self.additions += 1;
        self.bytes += set.len() + ENTRY_BYTES + 16 * ids.len() + 2 * before.len();
        self.replaced.entry(set.clone()).or_default().extend(before.iter().map(|id| (id >> 16) as u16));
        self.sets.insert(set, ids);
    }

    /// Sets the frequency of a term in a unit; 0 takes the term away.
    pub(crate) fn post(&mut self, field: Field, term: &str, unit: u32, frequency: u32) {
        let hash = self.postings.hasher().hash(term.as_bytes());
        self.post_hashed(field, term.as_bytes(), hash, unit, frequency);
    }

    /// Sets the frequency of a term whose hash is known.
    pub(super) fn post_hashed(&mut self, field: Field, term: &[u8], hash: u64, unit: u32, frequency: u32) {
        self.additions += 1;
        self.postings.post(field, term, hash, unit, frequency);
        if Field::MEMORY.contains(&field) && unit >= self.recent.first_entity {
            self.recent.postings.post(field, term, hash, unit, frequency);
        }
    }

    /// Sets the frequencies of all terms of a unit, which were counted with the hasher of this delta.
    pub(crate) fn post_all(&mut self, field: Field, unit: u32, counts: &TermCounts) {
        self.additions += 1;
        if Field::MEMORY.contains(&field) {
            counts.iter().for_each(|(term, hash, count)| self.post_hashed(field, term, hash, unit, count));
        } else {
            self.postings.post_all(field, unit, counts);
        }
    }

    /// The frequencies of a term in the units from `from` to `to`; of those that [are known whole](Self::knows_unit), what
    /// segments have included.
    pub(crate) fn postings(&self, field: Field, term: &str, from: u32, to: u32, out: &mut Vec<Posting>) {
        let of_memory = Field::MEMORY.contains(&field) && from >= self.recent.first_entity;
        let postings = if of_memory { &self.recent.postings } else { &self.postings };
        postings.read(field, term.as_bytes(), (from, to), out);
    }

    /// Adds a chunk's place.
    pub(crate) fn put_place(&mut self, place: Place) {
        self.additions += 1;
        self.bytes += ENTRY_BYTES;
        self.places.insert(place.chunk, place);
    }

    /// Adds a chunk's text row.
    pub(crate) fn put_text(&mut self, row: TextRow) {
        self.additions += 1;
        self.bytes += TEXT_ROW_BYTES + row.external_id.as_ref().map_or(0, String::len);
        self.texts.insert(row.chunk, row);
    }

    /// Sets an entity's row.
    pub(crate) fn put_entity_row(&mut self, row: EntityRow) {
        self.additions += 1;
        self.bytes += ENTRY_BYTES;
        self.entity_rows.insert(row.entity, row);
    }

    /// Sets a summary's token count.
    pub(crate) fn put_summary_row(&mut self, unit: u32, tokens: u32) {
        self.additions += 1;
        self.bytes += ENTRY_BYTES;
        self.summary_rows.insert(unit, tokens);
    }
}
