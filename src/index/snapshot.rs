//! One commit of an index, read only: documents, chunks and texts.

use super::columns::KeptColumns;
use super::lengths::Lengths;
use super::open::not_found;
use super::view::{View, inconsistent};
use super::writer::{check_parameters, decode_state, segment_views};
use crate::dictionary::{Dictionary, MergeCursor, PageCache};
use crate::store::{Head, Opened};
use crate::{Error, Result};
use hashbrown::HashMap;
use parking_lot::RwLock;
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::key;
use plica_format::page::Parameters;
use plica_format::state::IndexState;
use std::sync::{Arc, OnceLock};

/// What a snapshot shares with its clones.
#[derive(Debug)]
struct Inner {
    opened: Opened,
    head: Head,
    state: IndexState,
    dictionary: Dictionary,
    /// Heads that were read, for the next query.
    heads: RwLock<HashMap<u32, Arc<DocumentHead>>>,
    /// The same by id, of documents that readers see.
    heads_by_id: RwLock<HashMap<String, Arc<DocumentHead>>>,
    /// Numbers of all documents in the order of their ids, once they were asked for.
    ordered: OnceLock<Arc<[u32]>>,
    /// Lengths of the chunks that searches touched.
    lengths: Lengths,
    /// Columns of the documents that were asked last.
    columns: KeptColumns,
}

/// Heads that a snapshot keeps.
const KEPT_HEADS: usize = 1 << 16;

/// One commit of an index. It never changes, whatever a writer does; clones are cheap, and may go to other threads.
#[derive(Debug, Clone)]
pub struct Snapshot {
    inner: Arc<Inner>,
}

/// A document, as readers see it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// Its id.
    pub id: String,
    /// Its title, or empty.
    pub title: String,
    /// Its metadata: a JSON object, or empty.
    pub metadata: String,
    /// Chunks.
    pub chunks: u32,
    /// Words of all chunks.
    pub words: u64,
    /// Bytes of all chunks' texts.
    pub text_bytes: u64,
    /// Records of its memory; where the memory is the whole index's, the records linked to it.
    pub entities: u64,
    /// Level-1 summaries.
    pub summaries: u32,
    /// Hash of its content, in hexadecimal: it depends on the chunks' texts and their boundaries alone.
    pub content_hash: String,
}

/// A chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// External id, else `DOC#ORDINAL`.
    pub id: String,
    /// `DOC#ORDINAL`.
    pub chunk: String,
    /// Id of the document.
    pub document: String,
    /// Place in the document, from 0.
    pub ordinal: u32,
    /// Title, or empty.
    pub title: String,
    /// Text.
    pub text: String,
    /// Words of the text.
    pub words: u32,
    /// Start and end in the source, in bytes, where known.
    pub span: Option<(u64, u64)>,
    /// External id, where it was given one.
    pub external_id: Option<String>,
    /// Names of the records linked to it, in the order of creation.
    pub entities: Vec<String>,
}

impl Snapshot {
    pub(super) fn new(opened: Opened) -> Result<Self> {
        let head = opened.head.clone();
        Self::over(opened, head, Arc::default())
    }

    fn over(opened: Opened, head: Head, cache: Arc<PageCache>) -> Result<Self> {
        check_parameters(&head.commit.parameters)?;
        let state = decode_state(&head)?;
        let blocks = opened.blocks_at(&head).with_dictionary(state.dictionary);
        if state.segments.iter().any(|segment| segment.root.end() > head.reference.offset) {
            return Err(inconsistent("a segment lies behind the commit that names it"));
        }
        // Each has a row, so there are fewer than bytes; sets of ids, which take next to none, are read as far as there are ids.
        if u64::from(state.chunks.max(state.entities)) > head.end {
            return Err(inconsistent(format!(
                "{} chunks and {} entities were given numbers, in {} bytes",
                state.chunks, state.entities, head.end
            )));
        }
        let dictionary = Dictionary { blocks, segments: segment_views(&state), cache };
        let (heads, heads_by_id, ordered, lengths, columns) = Default::default();
        Ok(Self {
            inner: Arc::new(Inner { opened, head, state, dictionary, heads, heads_by_id, ordered, lengths, columns }),
        })
    }

    /// The snapshot of a newer commit of the same file.
    pub(super) fn advanced(&self, opened: Opened) -> Result<Self> {
        let head = opened.head.clone();
        Self::over(opened, head, Arc::clone(&self.inner.dictionary.cache))
    }

    /// The snapshot of an earlier commit.
    pub fn at(&self, sequence: u64) -> Result<Self> {
        let opened = self.inner.opened.clone();
        let head = opened.commit_at(sequence)?;
        Self::over(opened, head, Arc::clone(&self.inner.dictionary.cache))
    }

    pub(super) fn opened(&self) -> &Opened {
        &self.inner.opened
    }

    pub(super) fn commit_head(&self) -> &Head {
        &self.inner.head
    }

    pub(crate) fn view(&self) -> View<'_> {
        View {
            dictionary: &self.inner.dictionary,
            delta: None,
            state: &self.inner.state,
            fanout: self.parameters().fanout,
            unwritten: None,
        }
    }

    /// Lengths of the chunks.
    pub(crate) fn lengths(&self) -> &Lengths {
        &self.inner.lengths
    }

    pub(super) fn kept_columns(&self) -> &KeptColumns {
        &self.inner.columns
    }

    /// What was fixed when the index was created.
    pub fn parameters(&self) -> &Parameters {
        &self.inner.head.commit.parameters
    }

    /// Sequence number of the commit.
    pub fn sequence(&self) -> u64 {
        self.inner.head.commit.sequence
    }

    /// Numbers of the documents that readers see, in the order of their ids.
    pub(crate) fn document_numbers(&self) -> Result<Vec<(String, u32)>> {
        let dictionary = &self.inner.dictionary;
        let mut cursor = MergeCursor::new(dictionary, &dictionary.segments, &[key::DOCUMENT_ID])?;
        let mut out = Vec::new();
        while let Some(found) = cursor.key().filter(|found| found.first() == Some(&key::DOCUMENT_ID)) {
            cursor.take(&found, |_, _| Ok(()))?;
            let id = std::str::from_utf8(found.get(1..).unwrap_or_default());
            let id = id.map_err(|_| inconsistent("a document id that is not UTF-8"))?;
            if let Some(number) = self.view().document_number(id)? {
                out.push((id.to_owned(), number));
            }
        }
        Ok(out)
    }

    /// Numbers of all documents, seen by readers or not, in the order of their ids. They are gathered once.
    pub(crate) fn ordered_documents(&self) -> Result<Arc<[u32]>> {
        if let Some(known) = self.inner.ordered.get() {
            return Ok(Arc::clone(known));
        }
        let numbers: Arc<[u32]> = self.document_numbers()?.into_iter().map(|(_, number)| number).collect();
        Ok(Arc::clone(self.inner.ordered.get_or_init(|| numbers)))
    }

    /// The head of a document by number. It is kept for the next time. A number that was given and has no head is that of
    /// a document that was removed before the last vacuum.
    pub(crate) fn head_of(&self, number: u32) -> Result<Arc<DocumentHead>> {
        if let Some(head) = self.inner.heads.read().get(&number) {
            return Ok(Arc::clone(head));
        }
        let head = match self.view().head(number)? {
            Some(head) => head,
            None if number < self.inner.state.documents => {
                DocumentHead { state: DocumentState::Removed, ..DocumentHead::new(number, String::new()) }
            }
            None => return Err(inconsistent(format!("the head of document {number} is missing"))),
        };
        let head = Arc::new(head);
        let mut heads = self.inner.heads.write();
        if heads.len() >= KEPT_HEADS {
            heads.clear();
        }
        heads.insert(number, Arc::clone(&head));
        Ok(head)
    }

    /// Heads of the documents that readers see, in the order of their ids.
    pub(crate) fn heads(&self) -> Result<Vec<DocumentHead>> {
        let mut heads = Vec::new();
        for (id, number) in self.document_numbers()? {
            let head = self.view().head(number)?;
            let head = head.ok_or_else(|| inconsistent(format!("the head of document {number} is missing")))?;
            if head.id != id {
                return Err(inconsistent(format!("document {number} is {:?} and is listed as {id:?}", head.id)));
            }
            if head.state == DocumentState::Live {
                heads.push(head);
            }
        }
        Ok(heads)
    }

    /// The head of a document that readers see.
    pub(crate) fn head(&self, id: &str) -> Result<DocumentHead> {
        let number = self.view().document_number(id)?.ok_or_else(|| not_found("document", id))?;
        let head = self.view().head(number)?;
        head.filter(|head| head.state == DocumentState::Live).ok_or_else(|| not_found("document", id))
    }

    /// The head of a document that readers see. It is kept for the next time.
    pub(crate) fn known_head(&self, id: &str) -> Result<Arc<DocumentHead>> {
        if let Some(head) = self.inner.heads_by_id.read().get(id) {
            return Ok(Arc::clone(head));
        }
        let head = Arc::new(self.head(id)?);
        let mut heads = self.inner.heads_by_id.write();
        if heads.len() >= KEPT_HEADS {
            heads.clear();
        }
        heads.insert(id.to_owned(), Arc::clone(&head));
        Ok(head)
    }

    /// All documents, in the order of their ids.
    pub fn documents(&self) -> Result<Vec<Document>> {
        self.heads()?.iter().map(|head| self.document_of(head)).collect()
    }

    /// One document.
    pub fn document(&self, id: &str) -> Result<Document> {
        self.document_of(&self.head(id)?)
    }

    fn document_of(&self, head: &DocumentHead) -> Result<Document> {
        let information = self.view().information(head)?;
        let entities = match self.parameters().memory {
            plica_format::page::MemoryScope::Document => u64::from(head.entities),
            plica_format::page::MemoryScope::Index => {
                self.view().set(&key::numbered(key::DOCUMENT_ENTITIES, head.number))?.len() as u64
            }
        };
        Ok(Document {
            id: head.id.clone(),
            title: if head.title.is_empty() { information.title } else { head.title.clone() },
            metadata: information.metadata,
            chunks: head.chunks,
            words: head.words,
            text_bytes: head.text_bytes,
            entities,
            summaries: head.summaries,
            content_hash: head.content_hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// Internal id of a chunk by its place.
    pub(crate) fn chunk_id(&self, head: &DocumentHead, ordinal: u32) -> Result<u32> {
        if ordinal >= head.chunks {
            return Err(not_found("chunk", format!("{}#{ordinal}", head.id)));
        }
        if u64::from(head.last_chunk - head.first_chunk) + 1 == u64::from(head.chunks) {
            return Ok(head.first_chunk + ordinal);
        }
        self.chunk_in_tree(head, ordinal)
    }

    /// A chunk by external id or `DOC#ORDINAL`.
    ///
    /// # Errors
    /// [`Error::Ambiguous`] where several documents have a chunk with this external id.
    pub fn chunk(&self, id: &str) -> Result<Chunk> {
        let mut found = Vec::new();
        for (document, chunk) in self.view().chunks_by_external_id(id)? {
            let head = self.view().head(document)?;
            if let Some(head) = head.filter(|head| head.state == DocumentState::Live) {
                found.push((head, chunk));
            }
        }
        match found.as_slice() {
            [(head, chunk)] => return self.chunk_of(head, *chunk),
            [] => {}
            several => {
                let mut candidates = Vec::new();
                for (head, chunk) in several {
                    candidates.push(self.chunk_of(head, *chunk)?.chunk);
                }
                candidates.sort();
                return Err(Error::Ambiguous { what: "chunk", name: id.to_owned(), candidates });
            }
        }
        let place = id.rsplit_once('#').and_then(|(document, ordinal)| Some((document, ordinal.parse().ok()?)));
        let (document, ordinal) = place.ok_or_else(|| not_found("chunk", id))?;
        self.chunk_at(document, ordinal)
    }

    /// A chunk by document and ordinal.
    pub fn chunk_at(&self, document: &str, ordinal: u32) -> Result<Chunk> {
        let head = self.head(document)?;
        self.chunk_of(&head, self.chunk_id(&head, ordinal)?)
    }

    pub(crate) fn chunk_of(&self, head: &DocumentHead, chunk: u32) -> Result<Chunk> {
        let view = self.view();
        let place = view.place(chunk)?;
        if place.document != head.number {
            return Err(inconsistent(format!("chunk {chunk} is not of document {}", head.number)));
        }
        let row = view.text_row(chunk)?;
        let (title, text) = view.text(&row)?;
        let name = format!("{}#{}", head.id, place.ordinal);
        let mut entities = Vec::new();
        for entity in view.set(&key::numbered(key::CHUNK_ENTITIES, chunk))? {
            entities.push(view.name_of(entity)?);
        }
        Ok(Chunk {
            id: row.external_id.clone().unwrap_or_else(|| name.clone()),
            chunk: name,
            document: head.id.clone(),
            ordinal: place.ordinal,
            title,
            text,
            words: row.words,
            span: row.span,
            external_id: row.external_id,
            entities,
        })
    }

    /// Internal ids of a document's chunks, in reading order.
    pub(crate) fn chunk_ids(&self, head: &DocumentHead) -> Result<Vec<u32>> {
        if head.chunks == 0 {
            return Ok(Vec::new());
        }
        let mut places = self.view().places(head.first_chunk, head.last_chunk)?;
        places.retain(|place| place.document == head.number);
        if places.len() != head.chunks as usize || places.iter().zip(0..).any(|(place, at)| place.ordinal != at) {
            return Err(inconsistent(format!("document {} has {} chunks, and other places", head.number, head.chunks)));
        }
        Ok(places.into_iter().map(|place| place.chunk).collect())
    }

    /// Hands the texts of a document's chunks to `sink`, in reading order: joined, they are the source, byte for byte.
    pub fn read_text(&self, document: &str, mut sink: impl FnMut(&str) -> Result<()>) -> Result<()> {
        let head = self.head(document)?;
        let mut order = super::texts::TextOrder::default();
        for chunk in self.chunk_ids(&head)? {
            let row = self.view().text_row(chunk)?;
            order.follow(&row)?;
            sink(&self.view().text(&row)?.1)?;
        }
        Ok(())
    }

    /// The text of a document, whole.
    pub fn text(&self, document: &str) -> Result<String> {
        let mut out = String::new();
        self.read_text(document, |text| {
            out.push_str(text);
            Ok(())
        })?;
        Ok(out)
    }
}
