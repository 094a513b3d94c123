//! Old ids and new ones.
//!
//! Chunks are numbered by document number and ordinal; records by document number and, within one, in the order of
//! creation; those of an index-wide memory in the order of creation. What was removed has no new id.

use super::walk::Walk;
use crate::Result;
use crate::index::view::{View, damaged_value, inconsistent};
use crate::search::Limits;
use plica_format::FormatError;
use plica_format::chunk::decode_places;
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::entity::decode_rows;
use plica_format::key::{self, INDEX_SCOPE};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Stands for "no new id".
const NONE: u32 = u32::MAX;

/// What is known of a document that is there, live or staged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) number: u32,
    pub(super) first_chunk: u32,
    pub(super) chunks: u32,
    pub(super) first_entity: u32,
    pub(super) entities: u32,
    pub(super) summaries: u32,
}

/// The tables of a vacuum.
#[derive(Debug, Default)]
pub(super) struct Ids {
    /// Documents that are there, by number.
    pub(super) documents: Vec<Slot>,
    /// New id by old.
    chunks: Vec<u32>,
    /// Old id by new.
    pub(super) old_chunks: Vec<u32>,
    /// Tokens by new id.
    pub(super) tokens: Vec<u32>,
    entities: Vec<u32>,
    pub(super) old_entities: Vec<u32>,
}

impl Ids {
    /// Reads heads, places of chunks and rows of records once.
    pub(super) fn gather(view: View<'_>, limits: &Limits) -> Result<Self> {
        let mut ids = Self::default();
        ids.gather_documents(view)?;
        ids.gather_chunks(view, limits)?;
        ids.gather_entities(view, limits)?;
        Ok(ids)
    }

    fn gather_documents(&mut self, view: View<'_>) -> Result<()> {
        let (mut chunks, mut entities) = (0u32, 0u32);
        let (mut live, mut staged) = (0u64, 0u64);
        view.dictionary.each_newest(&[key::DOCUMENT], b"", |found, value| {
            let number = key::first_number(found).unwrap_or_default();
            let head = DocumentHead::decode(number, value).map_err(damaged_value(key::DOCUMENT))?;
            if number >= view.state.documents {
                return Err(inconsistent(format!("document {number} was never given its number")));
            }
            if head.state == DocumentState::Removed {
                return Ok(ControlFlow::Continue(()));
            }
            let slot = Slot {
                number,
                first_chunk: chunks,
                chunks: head.chunks,
                first_entity: entities,
                entities: head.entities,
                summaries: head.summaries,
            };
            let too_many = || inconsistent(format!("document {number} has more chunks or records than there are"));
            chunks = chunks.checked_add(head.chunks).filter(|&all| all <= view.state.chunks).ok_or_else(too_many)?;
            let all = entities.checked_add(head.entities).filter(|&all| all <= view.state.entities);
            entities = all.ok_or_else(too_many)?;
            self.documents.push(slot);
            match head.state {
                DocumentState::Staged => staged += 1,
                _ => live += 1,
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let state = view.state;
        if (live, staged) != (state.totals.documents, u64::from(state.staged)) {
            return Err(inconsistent(format!(
                "the commit counts {} documents and {} staged ones, there are {live} and {staged}",
                state.totals.documents, state.staged
            )));
        }
        Ok(())
    }

    /// Where a document stands in [`Ids::documents`].
    fn place_of(&self, document: u32) -> Option<usize> {
        self.documents.binary_search_by_key(&document, |slot| slot.number).ok()
    }

    /// What is known of a document; `None` where it is gone.
    pub(super) fn slot(&self, document: u32) -> Option<Slot> {
        self.documents.get(self.place_of(document)?).copied()
    }

    fn gather_chunks(&mut self, view: View<'_>, limits: &Limits) -> Result<()> {
        // Numbers that the commit states are believed once there is a row for each.
        let mut rows = 0u64;
        each_block(
            view,
            key::CHUNK_PLACES,
            limits,
            decode_places,
            |place| place.chunk,
            |_| {
                rows += 1;
                Ok(())
            },
        )?;
        demand_rows("chunk", rows, view.state.chunks)?;
        let chunks: u64 = self.documents.iter().map(|slot| u64::from(slot.chunks)).sum();
        self.old_chunks = vec![NONE; chunks as usize];
        self.tokens = vec![0; chunks as usize];
        each_block(
            view,
            key::CHUNK_PLACES,
            limits,
            decode_places,
            |place| place.chunk,
            |place| {
                let Some(slot) = self.slot(place.document) else { return Ok(()) };
                let new = slot.first_chunk as usize + place.ordinal as usize;
                let (Some(old), Some(tokens)) = (self.old_chunks.get_mut(new), self.tokens.get_mut(new)) else {
                    return Err(inconsistent(format!("chunk {} is behind its document's end", place.chunk)));
                };
                if place.ordinal >= slot.chunks || *old != NONE {
                    return Err(inconsistent(format!("chunk {} has the place of another", place.chunk)));
                }
                (*old, *tokens) = (place.chunk, place.tokens);
                Ok(())
            },
        )?;
        self.chunks = inverse(&self.old_chunks, view.state.chunks)
            .ok_or_else(|| inconsistent("a document has fewer chunks than its head says"))?;
        Ok(())
    }

    fn gather_entities(&mut self, view: View<'_>, limits: &Limits) -> Result<()> {
        let mut rows = 0u64;
        each_block(
            view,
            key::ENTITY_ROWS,
            limits,
            decode_rows,
            |row| row.entity,
            |_| {
                rows += 1;
                Ok(())
            },
        )?;
        demand_rows("record", rows, view.state.entities)?;
        let all: u64 = self.documents.iter().map(|slot| u64::from(slot.entities)).sum();
        self.old_entities = vec![NONE; all as usize];
        let mut met = vec![0u32; self.documents.len()];
        each_block(
            view,
            key::ENTITY_ROWS,
            limits,
            decode_rows,
            |row| row.entity,
            |row| {
                if row.parts == 0 {
                    return Ok(());
                }
                if row.scope == INDEX_SCOPE {
                    self.old_entities.push(row.entity);
                    return Ok(());
                }
                let Some(at) = self.place_of(row.scope) else { return Ok(()) };
                let (Some(slot), Some(met)) = (self.documents.get(at), met.get_mut(at)) else { return Ok(()) };
                let place = self.old_entities.get_mut(slot.first_entity as usize + *met as usize);
                match place.filter(|_| *met < slot.entities) {
                    Some(place) => *place = row.entity,
                    None => {
                        return Err(inconsistent(format!("document {} has more records than it counts", row.scope)));
                    }
                }
                *met += 1;
                Ok(())
            },
        )?;
        self.entities = inverse(&self.old_entities, view.state.entities)
            .ok_or_else(|| inconsistent("a document has fewer records than its head says"))?;
        Ok(())
    }

    /// The new id of a chunk; `None` where it is gone.
    pub(super) fn chunk(&self, old: u32) -> Option<u32> {
        self.chunks.get(old as usize).copied().filter(|&new| new != NONE)
    }

    /// The new id of a record; `None` where it is gone.
    pub(super) fn entity(&self, old: u32) -> Option<u32> {
        self.entities.get(old as usize).copied().filter(|&new| new != NONE)
    }
}

/// Hands the rows of a column to `sink`, by ascending id, the newest of each.
fn each_block<T>(
    view: View<'_>,
    kind: u8,
    limits: &Limits,
    decode: impl Fn(u32, &[u8]) -> Result<Vec<T>, FormatError>,
    id: impl Fn(&T) -> u32,
    mut sink: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let mut walk = Walk::new(view.dictionary);
    while let Some((found, values)) = walk.next(&[kind])? {
        limits.check()?;
        let block = key::first_number(&found).unwrap_or_default();
        let mut rows = BTreeMap::new();
        for value in values {
            let decoded = decode(block, &value).map_err(damaged_value(kind))?;
            rows.extend(decoded.into_iter().map(|row| (id(&row), row)));
        }
        rows.into_values().try_for_each(&mut sink)?;
    }
    Ok(())
}

/// Refuses a commit that has given more ids, or fewer, than there are rows.
fn demand_rows(what: &str, rows: u64, given: u32) -> Result<()> {
    if rows == u64::from(given) {
        return Ok(());
    }
    Err(inconsistent(format!("the commit has given {given} {what} ids, there are {rows} rows")))
}

/// New ids by old ones; `None` where an old id is missing.
fn inverse(old: &[u32], given: u32) -> Option<Vec<u32>> {
    let mut out = vec![NONE; given as usize];
    for (new, &old) in (0u32..).zip(old) {
        *out.get_mut(old as usize)? = new;
    }
    Some(out)
}
