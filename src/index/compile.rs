//! What compiling needs of a writer: pieces of text, and the records that chunks are linked to.

use super::writer::Writer;
use crate::ingest::{KnownEntity, Piece};
use crate::{Error, Result};
use plica_format::document::DocumentState;
use plica_format::entity::Addition;
use plica_format::key::{self, INDEX_SCOPE};

/// Parts of a record that a compiler is shown: a record that grows for ever must not cost ever more.
const KNOWN_ADDITIONS: u32 = 32;

impl Writer {
    /// Ids of the documents that readers see, in order.
    pub fn documents(&self) -> Result<Vec<String>> {
        let mut ids = std::collections::BTreeMap::new();
        let decode = |bytes: &[u8]| Ok(bytes.to_vec());
        self.view().each_newest(&[key::DOCUMENT_ID], decode, |key, _| {
            ids.insert(key, ());
        })?;
        let mut documents = Vec::new();
        for key in ids.into_keys() {
            let id = String::from_utf8_lossy(key.get(1..).unwrap_or_default()).into_owned();
            if let Some(number) = self.standing(&id)?
                && self.head_of(number)?.state == DocumentState::Live
            {
                documents.push(id);
            }
        }
        Ok(documents)
    }

    /// Number of a document.
    pub(crate) fn document_number(&self, id: &str) -> Result<u32> {
        self.number(id)
    }

    /// Where the source of a document ends, as far as its chunks say.
    pub(crate) fn source_end(&mut self, document: u32) -> Result<u64> {
        let head = self.head_of(document)?;
        let mut end = head.text_bytes;
        for ordinal in 0..head.chunks {
            let chunk = self.chunk_id(document, ordinal)?;
            let waiting = self.texts.rows.iter().find(|row| row.chunk == chunk).map(|row| row.span);
            let span = match waiting {
                Some(span) => span,
                None => self.view().text_row(chunk)?.span,
            };
            end = end.max(span.map_or(0, |(_, end)| end));
        }
        Ok(end)
    }

    /// Bytes of a document's text.
    pub(crate) fn text_bytes(&self, id: &str) -> Result<u64> {
        Ok(self.head_of(self.number(id)?)?.text_bytes)
    }

    /// The text of a document, whole.
    pub(crate) fn whole_text(&mut self, id: &str) -> Result<String> {
        let number = self.number(id)?;
        let mut text = String::new();
        for ordinal in 0..self.head_of(number)?.chunks {
            let chunk = self.chunk_id(number, ordinal)?;
            text.push_str(&self.stored(chunk)?.text);
        }
        Ok(text)
    }

    /// The text before a chunk: of whole chunks, at least so many bytes where there are.
    pub(crate) fn text_before(&mut self, document: u32, ordinal: u32, bytes: usize) -> Result<String> {
        let mut texts = Vec::new();
        let mut found = 0;
        for ordinal in (0..ordinal).rev() {
            if found >= bytes {
                break;
            }
            let chunk = self.chunk_id(document, ordinal)?;
            let text = self.stored(chunk)?.text;
            found += text.len();
            texts.push(text);
        }
        texts.reverse();
        Ok(texts.concat())
    }

    /// The piece that follows `compiled` bytes of a document's text: so many characters, the first `overlap` of which
    /// lie before. What lies before those is not read.
    pub(crate) fn piece(&mut self, id: &str, compiled: u64, overlap: usize, characters: usize) -> Result<Piece> {
        let number = self.number(id)?;
        let head = self.head_of(number)?;
        // A character has at most four bytes.
        let reach = compiled.saturating_sub(4 * overlap as u64);
        // Backward from the end, by the lengths of the texts, to the chunk in which the overlap may begin.
        let mut start = head.text_bytes;
        let mut ordinal = head.chunks;
        while ordinal > 0 && start > reach {
            ordinal -= 1;
            let chunk = self.chunk_id(number, ordinal)?;
            start = start.saturating_sub(u64::from(self.length_of(chunk)?));
        }
        let begin = start;
        let (mut text, mut places, mut chunks) = (String::new(), Vec::new(), Vec::new());
        let mut before =
            usize::try_from(compiled - begin).map_err(|_| Error::invalid("a document's text is larger than memory"))?;
        while ordinal < head.chunks {
            let chunk = self.chunk_id(number, ordinal)?;
            let stored = self.stored(chunk)?;
            let at = begin + text.len() as u64;
            places.push((at, stored.span.map_or(at, |(start, _)| start)));
            chunks.push(chunk);
            text.push_str(&stored.text);
            ordinal += 1;
            // The characters of the piece that are there for certain.
            if text.len() >= before && text.len() - before >= 4 * characters {
                break;
            }
        }
        // A place that came from outside may lie within a character.
        before = text.floor_char_boundary(before);
        let own = text.get(..before).unwrap_or_default();
        let from = own.char_indices().rev().take(overlap).last().map_or(before, |(at, _)| at);
        let rest = text.get(from..).unwrap_or_default();
        let to = rest.char_indices().nth(characters).map_or(rest.len(), |(at, _)| at);
        let start = begin + from as u64;
        let end = start + to as u64;
        // Chunks that the piece does not touch, at either side.
        let first = places.iter().rposition(|(at, _)| *at <= start).unwrap_or(0);
        let last = places.iter().rposition(|(at, _)| *at < end).unwrap_or(0);
        Ok(Piece {
            start,
            overlap: before - from,
            text: rest.get(..to).unwrap_or_default().to_owned(),
            places: places.get(first..=last).unwrap_or_default().to_vec(),
            chunks: chunks.get(first..=last).unwrap_or_default().to_vec(),
        })
    }

    /// Bytes of a chunk's text.
    fn length_of(&self, chunk: u32) -> Result<u32> {
        match self.texts.rows.iter().find(|row| row.chunk == chunk) {
            Some(row) => Ok(row.text_bytes),
            None => Ok(self.view().text_row(chunk)?.text_bytes),
        }
    }

    /// Records that a chunk is linked to.
    pub(crate) fn entities_of_chunk(&self, chunk: u32) -> Result<Vec<u32>> {
        self.view().set(&key::numbered(key::CHUNK_ENTITIES, chunk))
    }

    /// Records of a document's memory, or, of an index-wide memory, those linked to it.
    pub(crate) fn entities_of(&self, id: &str) -> Result<Vec<u32>> {
        let number = self.number(id)?;
        let head = self.head_of(number)?;
        match self.scope(number) {
            INDEX_SCOPE => self.view().set(&key::numbered(key::DOCUMENT_ENTITIES, number)),
            _ if head.entities == 0 => Ok(Vec::new()),
            _ => {
                let rows = self.view().entity_rows(head.first_entity, head.last_entity)?;
                Ok(rows.into_iter().filter(|row| row.scope == number).map(|row| row.entity).collect())
            }
        }
    }

    /// Records with this name or alias in a document's memory, in the order of creation.
    pub(crate) fn entities_named(&self, id: &str, name: &str) -> Result<Vec<u32>> {
        let scope = self.scope(self.number(id)?);
        let name = crate::text::key(name);
        let mut found = self.view().set(&key::entity_alias(scope, &name))?;
        found.extend(self.view().entity_by_name(scope, &name)?);
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// A record as a compiler is shown it: by its first parts.
    pub(crate) fn known_entity(&self, id: &str, entity: u32, descriptions: usize) -> Result<KnownEntity> {
        let view = self.view();
        let number = self.number(id)?;
        let mut known = KnownEntity {
            name: String::new(),
            kind: String::new(),
            aliases: Vec::new(),
            descriptions: Vec::new(),
            chunks: 0,
        };
        let mut met = 0;
        'parts: for part in 0..view.entity_row(entity)?.parts {
            for mut addition in view.stored_part(entity, part)? {
                // What a removed document told left an empty addition, until a vacuum.
                met += u32::from(addition != Addition { document: INDEX_SCOPE, ..Addition::default() });
                if met > KNOWN_ADDITIONS {
                    break 'parts;
                }
                let room = descriptions.saturating_sub(known.descriptions.len());
                addition.descriptions.truncate(room);
                let part = view.read_addition(addition)?;
                if known.name.is_empty() {
                    known.name = part.name;
                }
                if known.kind.is_empty() {
                    known.kind = part.kind;
                }
                known.aliases.extend(part.aliases);
                known.descriptions.extend(part.descriptions);
            }
        }
        let linked = view.set(&key::numbered(key::ENTITY_CHUNKS, entity))?;
        known.chunks = match self.scope(number) {
            INDEX_SCOPE => {
                let mut own = 0;
                for chunk in linked {
                    own += u32::from(view.place(chunk)?.document == number);
                }
                own
            }
            _ => linked.len() as u32,
        };
        Ok(known)
    }

    /// Title and summary of a document's outline.
    pub(crate) fn outline_root(&self, id: &str) -> Result<(String, String)> {
        let row = self.view().category(self.number(id)?, &[])?.unwrap_or_default();
        Ok((row.title, row.summary))
    }
}
