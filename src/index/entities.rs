//! Reading the entity memory.

use super::open::not_found;
use super::snapshot::Snapshot;
use super::view::{damaged_value, inconsistent};
use crate::dictionary::MergeCursor;
use crate::{Error, Result};
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::entity::EntityRow;
use plica_format::key::{self, INDEX_SCOPE, ROWS_A_BLOCK};
use std::ops::ControlFlow;

/// A record of the entity memory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entity {
    /// The document whose memory it belongs to; `None` where the memory is the whole index's.
    pub document: Option<String>,
    /// Name by which it was created.
    pub name: String,
    /// Kind, or empty.
    pub kind: String,
    /// Other names, in the order they came.
    pub aliases: Vec<String>,
    /// Descriptions, in the order they came.
    pub descriptions: Vec<String>,
    /// Linked chunks as `DOC#ORDINAL`, by document in the order of first appearance, then by ordinal.
    pub chunks: Vec<String>,
}

impl Snapshot {
    /// Records whose name or alias is `name`, by document in the order of first appearance; with `document` only those
    /// of its memory.
    ///
    /// # Errors
    /// [`Error::NotFound`] where there is none.
    pub fn entity(&self, name: &str, document: Option<&str>) -> Result<Vec<Entity>> {
        let name_key = crate::text::key(name);
        let scopes: Vec<u32> = match (self.parameters().memory, document) {
            (plica_format::page::MemoryScope::Index, _) => vec![INDEX_SCOPE],
            (_, Some(document)) => vec![self.head(document)?.number],
            (_, None) => {
                let mut numbers: Vec<u32> = self.heads()?.iter().map(|head| head.number).collect();
                numbers.sort_unstable();
                numbers
            }
        };
        let mut found = Vec::new();
        for scope in scopes {
            let mut entities: std::collections::BTreeSet<u32> =
                self.view().set(&key::entity_alias(scope, &name_key))?.into_iter().collect();
            entities.extend(self.view().entity_by_name(scope, &name_key)?);
            for entity in entities {
                found.push(self.entity_of(&self.view().entity_row(entity)?)?);
            }
        }
        if let (Some(document), plica_format::page::MemoryScope::Index) = (document, self.parameters().memory) {
            let start = format!("{}#", self.head(document)?.id);
            found.retain(|entity| entity.chunks.iter().any(|chunk| chunk.starts_with(&start)));
        }
        if found.is_empty() {
            return Err(not_found("entity", name));
        }
        Ok(found)
    }

    /// Ordinals of the chunks of a document that are linked to a record with this name or alias, ascending; none where
    /// there is no such record. Of an index-wide memory, records that other documents brought in count, too.
    pub fn linked_chunks(&self, document: &str, name: &str) -> Result<Vec<u32>> {
        let head = self.known_head(document)?;
        let scope = match self.parameters().memory {
            plica_format::page::MemoryScope::Index => INDEX_SCOPE,
            plica_format::page::MemoryScope::Document => head.number,
        };
        let name_key = crate::text::key(name);
        let view = self.view();
        let mut entities = view.set(&key::entity_alias(scope, &name_key))?;
        if let Some(entity) = view.entity_by_name(scope, &name_key)? {
            entities.push(entity);
            entities.sort_unstable();
            entities.dedup();
        }
        let mut chunks = match entities.as_slice() {
            [] => return Ok(Vec::new()),
            &[entity] => view.set(&key::numbered(key::ENTITY_CHUNKS, entity))?,
            several => {
                let mut chunks = Vec::new();
                for &entity in several {
                    chunks.extend(view.set(&key::numbered(key::ENTITY_CHUNKS, entity))?);
                }
                chunks.sort_unstable();
                chunks.dedup();
                chunks
            }
        };
        if !matches!(chunks.as_slice(), [first, .., last] if *first >= head.first_chunk && *last <= head.last_chunk) {
            chunks.retain(|chunk| (head.first_chunk..=head.last_chunk).contains(chunk));
        }
        if u64::from(head.last_chunk - head.first_chunk) + 1 == u64::from(head.chunks) {
            chunks.iter_mut().for_each(|chunk| *chunk -= head.first_chunk);
            return Ok(chunks);
        }
        let mut ordinals = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            let place = view.place(chunk)?;
            if place.document == head.number {
                ordinals.push(place.ordinal);
            }
        }
        ordinals.sort_unstable();
        Ok(ordinals)
    }

    /// Hands every record to `sink`, in the order of creation, where each document has a memory of its own by document in
    /// the order of first appearance; with `document` only those of its memory, or, of an index-wide memory, those linked
    /// to it.
    pub fn entities(&self, document: Option<&str>, mut sink: impl FnMut(Entity) -> Result<()>) -> Result<()> {
        match document {
            Some(document) => {
                let head = self.head(document)?;
                self.each_row_of(&head, |row| sink(self.entity_of(row)?))
            }
            None if self.parameters().memory == plica_format::page::MemoryScope::Index => {
                self.each_row(|row| sink(self.entity_of(row)?))
            }
            None => self.view().dictionary.each_newest(&[key::DOCUMENT], b"", |found, value| {
                let number = key::first_number(found).unwrap_or_default();
                let head = DocumentHead::decode(number, value).map_err(damaged_value(key::DOCUMENT))?;
                if head.state == DocumentState::Live {
                    self.each_row_of(&head, |row| sink(self.entity_of(row)?))?;
                }
                Ok(ControlFlow::Continue(()))
            }),
        }
    }

    /// The rows of the records of a document's memory, in the order of creation.
    pub(crate) fn each_row_of(
        &self,
        head: &DocumentHead,
        mut sink: impl FnMut(&EntityRow) -> Result<()>,
    ) -> Result<()> {
        if self.parameters().memory == plica_format::page::MemoryScope::Index {
            for entity in self.view().set(&key::numbered(key::DOCUMENT_ENTITIES, head.number))? {
                sink(&self.view().entity_row(entity)?)?;
            }
            return Ok(());
        }
        if head.entities == 0 {
            return Ok(());
        }
        let rows = self.view().entity_rows(head.first_entity, head.last_entity)?;
        rows.iter().filter(|row| row.scope == head.number).try_for_each(sink)
    }

    /// The rows of all records, in the order of creation.
    pub(crate) fn each_row(&self, mut sink: impl FnMut(&EntityRow) -> Result<()>) -> Result<()> {
        let dictionary = self.view().dictionary;
        let mut cursor = MergeCursor::new(dictionary, &dictionary.segments, &[key::ENTITY_ROWS])?;
        while let Some(found) = cursor.key().filter(|found| found.first() == Some(&key::ENTITY_ROWS)) {
            cursor.take(&found, |_, _| Ok(()))?;
            let block = key::last_number(&found).filter(|_| found.len() == 5);
            let first = block.and_then(|block| block.checked_mul(ROWS_A_BLOCK));
            let first = first.ok_or_else(|| inconsistent("a key of entity rows without a number"))?;
            for row in self.view().entity_rows(first, first.saturating_add(ROWS_A_BLOCK - 1))? {
                sink(&row)?;
            }
        }
        Ok(())
    }

    /// A record without its document and chunks.
    pub(crate) fn record_of(&self, row: &EntityRow) -> Result<Entity> {
        let view = self.view();
        let mut entity = Entity {
            document: None,
            name: String::new(),
            kind: String::new(),
            aliases: Vec::new(),
            descriptions: Vec::new(),
            chunks: Vec::new(),
        };
        for part in view.parts(row)? {
            if entity.name.is_empty() {
                entity.name = part.name;
            }
            if entity.kind.is_empty() {
                entity.kind = part.kind;
            }
            entity.aliases.extend(part.aliases);
            entity.descriptions.extend(part.descriptions);
        }
        Ok(entity)
    }

    pub(crate) fn entity_of(&self, row: &EntityRow) -> Result<Entity> {
        let view = self.view();
        let mut entity = self.record_of(row)?;
        let mut places = Vec::new();
        for chunk in view.set(&key::numbered(key::ENTITY_CHUNKS, row.entity))? {
            let place = view.place(chunk)?;
            places.push((place.document, place.ordinal));
        }
        places.sort_unstable();
        let mut heads: std::collections::HashMap<u32, DocumentHead> = Default::default();
        for (document, ordinal) in places {
            if let std::collections::hash_map::Entry::Vacant(place) = heads.entry(document) {
                let head = view.head(document)?;
                place.insert(head.ok_or_else(|| inconsistent(format!("document {document} has no head")))?);
            }
            if let Some(head) = heads.get(&document).filter(|head| head.state == DocumentState::Live) {
                entity.chunks.push(format!("{}#{ordinal}", head.id));
            }
        }
        if row.scope != INDEX_SCOPE {
            let head = view.head(row.scope)?;
            let head: Result<DocumentHead, Error> =
                head.ok_or_else(|| inconsistent(format!("document {} has no head", row.scope)));
            entity.document = Some(head?.id);
        }
        Ok(entity)
    }
}
