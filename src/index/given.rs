//! What an import needs of a writer: what stands already, and records and links that are given, not read by a model.

use super::documents::Origin;
use super::memory::check_update;
use super::writer::Writer;
use crate::ingest::EntityUpdate;
use crate::text::TermHasher;
use crate::{Error, Result};
use plica_format::document::DocumentState;
use plica_format::key::{self, INDEX_SCOPE};

/// A chunk that a writer holds, committed or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) span: Option<(u64, u64)>,
    pub(crate) external_id: Option<String>,
}

impl Writer {
    /// The number that the next chunk gets.
    pub(crate) fn next_chunk(&self) -> u32 {
        self.state.chunks
    }

    /// The number that the next document gets.
    pub(crate) fn next_document(&self) -> u32 {
        self.state.documents
    }

    /// Internal id of a document's chunk by its external id.
    pub(crate) fn chunk_by_external_id(&self, document: u32, id: &str) -> Result<Option<u32>> {
        self.view().chunk_by_external_id(document, id)
    }

    /// Chunks with an external id, in any document that was not removed: documents and internal ids.
    pub(crate) fn chunks_by_external_id(&self, id: &str) -> Result<Vec<(u32, u32)>> {
        let mut found = Vec::new();
        for (document, chunk) in self.view().chunks_by_external_id(id)? {
            if self.head_of(document)?.state != DocumentState::Removed {
                found.push((document, chunk));
            }
        }
        Ok(found)
    }

    /// A chunk by its internal id.
    pub(crate) fn stored(&self, chunk: u32) -> Result<Stored> {
        if let Some(row) = self.texts.row(chunk) {
            let (title, text) = self.texts.read(row)?;
            return Ok(Stored { title, text, span: row.span, external_id: row.external_id.clone() });
        }
        let view = self.view();
        let row = view.text_row(chunk)?;
        let (title, text) = view.text(&row)?;
        Ok(Stored { title, text, span: row.span, external_id: row.external_id })
    }

    /// Document and ordinal of a chunk by its internal id.
    pub(crate) fn place_of(&self, chunk: u32) -> Result<(u32, u32)> {
        let place = self.view().place(chunk)?;
        Ok((place.document, place.ordinal))
    }

    /// A chunk as `DOC#ORDINAL`, by its internal id.
    pub(crate) fn place_name(&self, chunk: u32) -> Result<String> {
        let (document, ordinal) = self.place_of(chunk)?;
        Ok(format!("{}#{ordinal}", self.head_of(document)?.id))
    }

    /// Title and metadata of a document; either may be empty.
    pub(crate) fn described(&self, id: &str) -> Result<(String, String)> {
        let head = self.head(id)?.ok_or_else(|| Error::NotFound { what: "document", name: id.to_owned() })?;
        let information = self.view().information(&head)?;
        let title = if head.title.is_empty() { information.title } else { head.title };
        Ok((title, information.metadata))
    }

    /// The record with this very name in a document's memory, or in that of the whole index.
    pub(crate) fn entity_named(&self, document: Option<u32>, name: &str) -> Result<Option<u32>> {
        self.view().entity_by_name(document.map_or(INDEX_SCOPE, |number| self.scope(number)), &crate::text::key(name))
    }

    /// Takes an entity that was given from outside: a record with this very name is enriched, else one is created.
    /// Without a document the record belongs to no document's reading; only an index-wide memory has such. Gives the
    /// record and whether it grew.
    pub(crate) fn give_entity(&mut self, document: Option<u32>, given: &EntityUpdate) -> Result<(u32, bool)> {
        self.flush_if_full()?;
        check_update(given)?;
        let known = self.entity_named(document, &given.name)?;
        let document = document.unwrap_or(INDEX_SCOPE);
        let target = match known {
            Some(entity) => entity,
            None => self.create_entity(document, &given.name)?,
        };
        let grew = self.enrich(document, target, given, None)?;
        Ok((target, grew || known.is_none()))
    }

    /// Links a chunk to a record, unless it is linked already; gives whether it was not. A chunk that is `new`, not
    /// committed before this work began, is not looked up.
    pub(crate) fn give_link(&mut self, entity: u32, chunk: u32, new: bool) -> Result<bool> {
        if !new && self.view().set(&key::numbered(key::CHUNK_ENTITIES, chunk))?.contains(&entity) {
            return Ok(false);
        }
        let document = self.view().place(chunk)?.document;
        self.link(document, entity, chunk);
        Ok(true)
    }

    /// Takes an entity that was given from outside: a record with this very name is enriched, else one is created. The
    /// chunks are named by ordinal.
    pub fn add_entity(&mut self, id: &str, given: &EntityUpdate, ordinals: &[u32]) -> Result<()> {
        let number = self.number(id)?;
        let chunks = ordinals.iter().map(|&ordinal| self.chunk_id(number, ordinal)).collect::<Result<Vec<_>>>()?;
        let (entity, _) = self.give_entity(Some(number), given)?;
        for chunk in chunks {
            self.give_link(entity, chunk, true)?;
        }
        Ok(())
    }

    /// Appends a chunk whose understanding comes from outside, too; `counts` are those of the chunk, where they are known.
    pub(crate) fn give_chunk(
        &mut self,
        id: &str,
        chunk: &super::NewChunk<'_>,
        counts: Option<super::ChunkCounts>,
    ) -> Result<super::Appended> {
        let appended = self.append_counted(id, chunk, counts)?;
        self.count_update(id, Origin::Given)?;
        Ok(appended)
    }

    /// What terms are hashed with, so that they can be counted elsewhere.
    pub(crate) fn term_hasher(&self) -> TermHasher {
        self.counter.hasher().clone()
    }
}

/// The ordinal where `name` is `DOC#ORDINAL` of document `id`, written as the engine writes it.
pub(crate) fn ordinal_of(id: &str, name: &str) -> Option<u32> {
    let digits = name.strip_prefix(id)?.strip_prefix('#')?;
    let ordinal: u32 = digits.parse().ok()?;
    (ordinal.to_string() == digits).then_some(ordinal)
}
