//! What scoring one document needs of its rows, decoded once and kept while its snapshot lives.
//!
//! A document is scored whole: every chunk, every record of its memory, every level-1 summary. Their token counts and the
//! links from records to chunks are the same for every question, so they are read once and laid out as plain arrays by
//! ordinal. A snapshot keeps those of the documents that were asked last.

use super::lengths::MISSING;
use super::snapshot::Snapshot;
use super::view::inconsistent;
use crate::Result;
use parking_lot::Mutex;
use plica_format::document::DocumentHead;
use plica_format::idset;
use plica_format::key;
use plica_format::page::MemoryScope;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Bytes of columns that a snapshot keeps, at most.
const KEPT_BYTES: usize = 32 << 20;
/// With more ids than this for each that is wanted, links are looked up one by one rather than scanned.
const SPARSE: u64 = 16;

/// Numbers that ascend, mostly without gaps.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    first: u32,
    count: usize,
    /// All of them, where there are gaps.
    all: Option<Vec<u32>>,
}

impl Ids {
    fn new(ids: Vec<u32>) -> Self {
        let first = ids.first().copied().unwrap_or_default();
        let count = ids.len();
        let whole = ids.last().is_none_or(|&last| (last - first) as usize + 1 == count);
        Self { first, count, all: (!whole).then_some(ids) }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// The place of an id.
    pub(crate) fn place(&self, id: u32) -> Option<usize> {
        match &self.all {
            None => id.checked_sub(self.first).map(|at| at as usize).filter(|&at| at < self.count),
            Some(ids) => ids.binary_search(&id).ok(),
        }
    }

    /// The id at a place.
    pub(crate) fn id(&self, place: usize) -> u32 {
        match &self.all {
            None => self.first + place as u32,
            Some(ids) => ids.get(place).copied().unwrap_or(u32::MAX),
        }
    }

    fn bytes(&self) -> usize {
        self.all.as_ref().map_or(0, |ids| ids.len() * 4)
    }
}

/// The chunks of a document and its summaries.
#[derive(Debug)]
pub(crate) struct Columns {
    /// Internal ids of the chunks, by ordinal.
    pub(crate) chunks: Ids,
    /// Tokens of each chunk.
    pub(crate) tokens: Vec<u32>,
    /// Tokens of each level-1 summary, by index; [`MISSING`] where there is none.
    pub(crate) summaries: Vec<u32>,
    memory: OnceLock<Arc<MemoryColumns>>,
}

/// The records that a document is scored with: those of its own memory, or those of an index-wide one that are linked to
/// it.
#[derive(Debug)]
pub(crate) struct MemoryColumns {
    /// Internal ids.
    pub(crate) entities: Ids,
    /// Tokens of name, aliases and descriptions of each.
    pub(crate) tokens: Vec<[u32; 3]>,
    /// Their sums.
    pub(crate) totals: [u64; 3],
    /// Where the ordinals of each record's chunks start; one more at the end.
    starts: Vec<u32>,
    ordinals: Vec<u32>,
}

impl MemoryColumns {
    /// Ordinals of the chunks that a record is linked to.
    pub(crate) fn ordinals(&self, place: usize) -> &[u32] {
        let start = self.starts.get(place).copied().unwrap_or_default() as usize;
        let end = self.starts.get(place + 1).copied().unwrap_or_default() as usize;
        self.ordinals.get(start..end).unwrap_or_default()
    }
}

/// Columns that a snapshot keeps.
#[derive(Debug, Default)]
pub(crate) struct KeptColumns(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    bytes: usize,
    columns: HashMap<u32, Arc<Columns>>,
}

impl Snapshot {
    /// The columns of a document.
    pub(crate) fn columns(&self, head: &DocumentHead) -> Result<Arc<Columns>> {
        if let Some(known) = self.kept_columns().0.lock().columns.get(&head.number) {
            return Ok(Arc::clone(known));
        }
        let columns = Arc::new(self.load_columns(head)?);
        // A record and its links take some 50 bytes; they are loaded later.
        let bytes = columns.tokens.len() * 8 + columns.chunks.bytes() + head.entities as usize * 50;
        let mut kept = self.kept_columns().0.lock();
        if kept.bytes + bytes > KEPT_BYTES {
            *kept = Kept::default();
        }
        if bytes <= KEPT_BYTES {
            kept.bytes += bytes;
            kept.columns.insert(head.number, Arc::clone(&columns));
        }
        Ok(columns)
    }

    fn load_columns(&self, head: &DocumentHead) -> Result<Columns> {
        let mut ids = Vec::new();
        let mut tokens = Vec::new();
        if head.chunks > 0 {
            for place in self.view().places(head.first_chunk, head.last_chunk)? {
                if place.document != head.number {
                    continue;
                }
                if place.ordinal as usize != ids.len() {
                    break;
                }
                ids.push(place.chunk);
                tokens.push(place.tokens);
            }
        }
        if ids.len() != head.chunks as usize {
            return Err(inconsistent(format!("document {} has {} chunks, and other places", head.number, head.chunks)));
        }
        let fanout = usize::from(self.parameters().fanout);
        let chunks = Ids::new(ids);
        let mut summaries = vec![MISSING; chunks.len() / fanout];
        if head.summaries > 0 {
            for row in self.view().summary_rows(head.first_chunk, head.last_chunk)? {
                let place = chunks.place(row.unit).and_then(|ordinal| summaries.get_mut(ordinal / fanout));
                if let Some(tokens) = place {
                    *tokens = row.tokens;
                }
            }
        }
        Ok(Columns { chunks, tokens, summaries, memory: OnceLock::new() })
    }

    /// The memory that a document is scored with.
    pub(crate) fn memory_columns(&self, head: &DocumentHead, columns: &Columns) -> Result<Arc<MemoryColumns>> {
        if let Some(known) = columns.memory.get() {
            return Ok(Arc::clone(known));
        }
        let loaded = Arc::new(self.load_memory(head, columns)?);
        Ok(Arc::clone(columns.memory.get_or_init(|| loaded)))
    }

    fn load_memory(&self, head: &DocumentHead, columns: &Columns) -> Result<MemoryColumns> {
        let view = self.view();
        let mut ids = Vec::new();
        let mut tokens = Vec::new();
        let mut totals = [0u64; 3];
        let mut add = |row: plica_format::entity::EntityRow| {
            ids.push(row.entity);
            tokens.push(row.tokens);
            for (total, tokens) in totals.iter_mut().zip(row.tokens) {
                *total += u64::from(tokens);
            }
        };
        if self.parameters().memory == MemoryScope::Index {
            for entity in view.set(&key::numbered(key::DOCUMENT_ENTITIES, head.number))? {
                add(view.entity_row(entity)?);
            }
        } else if head.entities > 0 {
            view.entity_rows(head.first_entity, head.last_entity)?
                .into_iter()
                .filter(|row| row.scope == head.number)
                .for_each(add);
            if ids.len() != head.entities as usize {
                return Err(inconsistent(format!(
                    "document {} has {} entities, and {} rows",
                    head.number,
                    head.entities,
                    ids.len()
                )));
            }
        }
        let entities = Ids::new(ids);
        let (starts, ordinals) = self.links(columns, &entities)?;
        Ok(MemoryColumns { entities, tokens, totals, starts, ordinals })
    }

    /// The ordinals of the chunks that each record is linked to, one after another, and where those of each start.
    fn links(&self, columns: &Columns, entities: &Ids) -> Result<(Vec<u32>, Vec<u32>)> {
        let view = self.view();
        let mut links: Vec<(u32, u32)> = Vec::new();
        if entities.len() > 0 {
            let (first, last) = (entities.id(0), entities.id(entities.len() - 1));
            if u64::from(last - first) / SPARSE > entities.len() as u64 {
                for place in 0..entities.len() {
                    let linked = view.set(&key::numbered(key::ENTITY_CHUNKS, entities.id(place)))?;
                    let ordinals = linked.into_iter().filter_map(|chunk| columns.chunks.place(chunk));
                    links.extend(ordinals.map(|ordinal| (place as u32, ordinal as u32)));
                }
            } else {
                let from = key::numbered(key::ENTITY_CHUNKS, first);
                let mut to = key::numbered(key::ENTITY_CHUNKS, last);
                to.extend_from_slice(&[u8::MAX; 2]);
                view.dictionary.each_between(&from, &to, |key, value| {
                    let (Some(entity), Some(piece), 7) = (key::first_number(key), key::piece(key), key.len()) else {
                        return Ok(());
                    };
                    let Some(place) = entities.place(entity) else { return Ok(()) };
                    let high = u32::from(piece) << 16;
                    let damaged = super::view::damaged_value(key::ENTITY_CHUNKS);
                    let (replaces, lows) = idset::decode_update(value).map_err(damaged)?;
                    if replaces {
                        let in_piece = |ordinal: u32| columns.chunks.id(ordinal as usize) >> 16 == u32::from(piece);
                        links.retain(|link| link.0 != place as u32 || !in_piece(link.1));
                    }
                    for low in lows {
                        if let Some(ordinal) = columns.chunks.place(high | u32::from(low)) {
                            links.push((place as u32, ordinal as u32));
                        }
                    }
                    Ok(())
                })?;
            }
        }
        links.sort_unstable();
        links.dedup();
        let mut starts = Vec::with_capacity(entities.len() + 1);
        let mut at = 0;
        for place in 0..=entities.len() as u32 {
            while links.get(at).is_some_and(|link| link.0 < place) {
                at += 1;
            }
            starts.push(at as u32);
        }
        Ok((starts, links.into_iter().map(|link| link.1).collect()))
    }
}
