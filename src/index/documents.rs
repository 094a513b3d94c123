//! Documents, chunks and summaries, as a writer adds them.

use super::quote::Quotes;
use super::tail::{NodeId, Summary, Tail};
use super::writer::{OpenDocument, Writer, totals_of};
use crate::text::{TermCounter, TermCounts};
use crate::{Error, Result};
use plica_format::block::{BlockKind, Reference};
use plica_format::chunk::{Place, TextRow};
use plica_format::document::{DocumentHead, DocumentState, INLINE_TITLE_BYTES, Information};
use plica_format::key::{self, Field};
use plica_format::limits::{CHUNK_BYTES, KEY_BYTES, METADATA_BYTES, SUMMARY_BYTES, TITLE_BYTES};
use std::collections::HashSet;

/// A chunk to append.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewChunk<'a> {
    /// A title of the chunk itself, or empty. It is searched with the text.
    pub title: &'a str,
    /// The text. Title and text are at most 256 KiB.
    pub text: &'a str,
    /// An id of the caller's, unique within the document.
    pub external_id: Option<&'a str>,
    /// Start and end in the source, in bytes, where known.
    pub span: Option<(u64, u64)>,
}

impl<'a> NewChunk<'a> {
    /// A chunk of text alone.
    pub fn text(text: &'a str) -> Self {
        Self { text, ..Self::default() }
    }
}

/// What a chunk's text counts to. It needs no writer, so it can be found on another thread.
#[derive(Debug)]
pub(crate) struct ChunkCounts {
    /// The terms of title and text.
    terms: TermCounts,
    /// Words of the text.
    words: u32,
}

impl ChunkCounts {
    /// Counts a chunk; `None` where it is too long to be one.
    pub(crate) fn of(counter: &mut TermCounter, chunk: &NewChunk<'_>) -> Option<Self> {
        (chunk.title.len() + chunk.text.len() <= CHUNK_BYTES).then(|| Self {
            terms: counter.count(&[chunk.title, chunk.text]),
            words: crate::text::word_count(chunk.text),
        })
    }
}

/// Where a unit of understanding came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A model was called for it.
    Model,
    /// It was given from outside.
    Given,
}

/// What appending a chunk did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Place of the chunk in its document, from 0.
    pub ordinal: u32,
    /// Nodes of the fold tree that it completed, lowest level first, as (level, index): each may be given a summary.
    pub complete: Vec<NodeId>,
}

/// Refuses a string that is over its limit.
pub(super) fn check_length(what: &'static str, text: &str, limit: usize) -> Result<()> {
    if text.len() > limit {
        return Err(Error::Limit { what, limit: limit as u64, got: text.len() as u64 });
    }
    Ok(())
}

impl Writer {
    /// The number that an id means to this writer: of the document that is to take the place of the one with this id,
    /// while this writer works on that; else of the one with this id.
    pub(super) fn known(&self, id: &str) -> Result<Option<u32>> {
        self.store.demand_sane()?;
        match self.replacing.get(id) {
            Some(&number) => Ok(Some(number)),
            None => self.standing(id),
        }
    }

    /// The number of a document that was not removed.
    pub(super) fn standing(&self, id: &str) -> Result<Option<u32>> {
        self.store.demand_sane()?;
        let number = match self.delta.last_document(id) {
            Some(number) => number,
            None => {
                let Some(number) = self.view().document_number(id)? else { return Ok(None) };
                self.delta.note_document(id, number);
                number
            }
        };
        Ok((self.peek(number, |head| head.state)? != DocumentState::Removed).then_some(number))
    }

    /// What `look` sees in the head of a document.
    fn peek<T>(&self, number: u32, look: impl FnOnce(&DocumentHead) -> T) -> Result<T> {
        match self.open.get(&number) {
            Some(open) => Ok(look(&open.head)),
            None => self.head_of(number).map(|head| look(&head)),
        }
    }

    /// What `look` sees in the head of the document with this id, where there is one.
    pub(crate) fn peek_by_id<T>(&self, id: &str, look: impl FnOnce(&DocumentHead) -> T) -> Result<Option<T>> {
        self.known(id)?.map(|number| self.peek(number, look)).transpose()
    }

    pub(super) fn head_of(&self, number: u32) -> Result<DocumentHead> {
        match self.open.get(&number) {
            Some(open) => Ok(open.head.clone()),
            None => self
                .view()
                .head(number)?
                .ok_or_else(|| super::view::inconsistent(format!("the head of document {number} is missing"))),
        }
    }

    /// The number of a document, or an error that names it.
    pub(super) fn number(&self, id: &str) -> Result<u32> {
        self.known(id)?.ok_or_else(|| Error::NotFound { what: "document", name: id.to_owned() })
    }

    /// The head of a document as it stands now, or `None` where there is no such document.
    pub(crate) fn head(&self, id: &str) -> Result<Option<DocumentHead>> {
        self.known(id)?.map(|number| self.head_of(number)).transpose()
    }

    /// Brings a document into memory.
    pub(super) fn open_document(&mut self, number: u32) -> Result<&mut OpenDocument> {
        if !self.open.contains_key(&number) {
            let head = self.head_of(number)?;
            let tail = Tail::load(self.view(), number, self.parameters.fanout, head.chunks, &head.pages)?;
            let counted = totals_of(&head);
            self.open.insert(number, OpenDocument { head, tail, counted, recent: Vec::new(), dirty: false });
        }
        self.open.get_mut(&number).ok_or(Error::Unusable { reason: "a document that was just opened is gone" })
    }

    /// Adds a document without chunks. Readers do not see it until it is published.
    ///
    /// `id` is 1 byte to 1 KiB; `metadata` is a JSON object or empty.
    pub fn add_document(&mut self, id: &str, title: &str, metadata: &str) -> Result<()> {
        if id.is_empty() {
            return Err(Error::invalid("a document id must not be empty"));
        }
        check_length("a document id in bytes", id, KEY_BYTES)?;
        if self.known(id)?.is_some() {
            return Err(Error::invalid(format!("there is a document {id:?} already; append to it, or use another id")));
        }
        let number = self.stage(id)?;
        self.delta.put(key::named(key::DOCUMENT_ID, id.as_bytes()), varint(number));
        // The head is read by number before the first flush writes it.
        self.describe(id, title, metadata)
    }

    /// Makes a staged document without chunks, under the next number.
    pub(super) fn stage(&mut self, id: &str) -> Result<u32> {
        let number = self.state.documents;
        self.state.documents = number.checked_add(1).filter(|&next| next < key::INDEX_SCOPE).ok_or(Error::Limit {
            what: "the number of documents",
            limit: u64::from(u32::MAX),
            got: 1 << 32,
        })?;
        let tail = Tail::load(self.view(), number, self.parameters.fanout, 0, &[])?;
        let head = DocumentHead::new(number, id.to_owned());
        let open = OpenDocument { head, tail, counted: Default::default(), recent: Vec::new(), dirty: true };
        self.open.insert(number, open);
        self.state.staged += 1;
        Ok(number)
    }

    /// Sets title and metadata of a document.
    pub fn describe(&mut self, id: &str, title: &str, metadata: &str) -> Result<()> {
        check_length("a title in bytes", title, TITLE_BYTES)?;
        check_length("metadata in bytes", metadata, METADATA_BYTES)?;
        let metadata = match metadata.trim() {
            "" => String::new(),
            text => match serde_json::from_str::<serde_json::Value>(text) {
                Ok(object @ serde_json::Value::Object(_)) => object.to_string(),
                Ok(_) => return Err(Error::invalid("metadata must be a JSON object")),
                Err(error) => return Err(Error::invalid(format!("metadata must be a JSON object: {error}"))),
            },
        };
        let number = self.number(id)?;
        let short = title.len() <= INLINE_TITLE_BYTES;
        let information = Information { title: if short { String::new() } else { title.to_owned() }, metadata };
        let written = match information == Information::default() {
            true => None,
            false => Some(self.store.append(BlockKind::Metadata, &information.encode(), true)?),
        };
        let open = self.open_document(number)?;
        open.head.title = if short { title.to_owned() } else { String::new() };
        open.head.information = written;
        open.dirty = true;
        self.refresh_dictionary()
    }

    /// Lets readers see a document from the next commit on; of one that is being replaced, the new one instead of the old
    /// one.
    pub fn publish(&mut self, id: &str) -> Result<()> {
        match self.replacing.get(id) {
            Some(&number) => self.swap(id, number),
            None => self.show(self.number(id)?),
        }
    }

    /// Makes a staged document live.
    pub(super) fn show(&mut self, number: u32) -> Result<()> {
        let open = self.open_document(number)?;
        if open.head.state == DocumentState::Staged {
            open.head.state = DocumentState::Live;
            open.dirty = true;
            self.state.staged -= 1;
        }
        Ok(())
    }

    /// Title of a document, or empty.
    pub fn title(&self, id: &str) -> Result<String> {
        let head = self.head(id)?.ok_or_else(|| Error::NotFound { what: "document", name: id.to_owned() })?;
        match head.title.is_empty() {
            true => Ok(self.view().information(&head)?.title),
            false => Ok(head.title),
        }
    }

    /// Chunks in the index, those of documents that are not published included.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// Whether there are documents that are not published.
    pub fn has_staged(&self) -> bool {
        self.state.staged > 0
    }

    /// Appends a chunk to a document.
    pub fn append_chunk(&mut self, id: &str, chunk: &NewChunk<'_>) -> Result<Appended> {
        self.append_counted(id, chunk, None)
    }

    /// Appends a chunk, whose counts may be known.
    pub(super) fn append_counted(
        &mut self,
        id: &str,
        chunk: &NewChunk<'_>,
        counts: Option<ChunkCounts>,
    ) -> Result<Appended> {
        self.flush_if_full()?;
        let number = self.number(id)?;
        let counts = match counts.or_else(|| ChunkCounts::of(&mut self.counter, chunk)) {
            Some(counts) => counts,
            None => {
                return Err(Error::Limit {
                    what: "a chunk's title and text in bytes",
                    limit: CHUNK_BYTES as u64,
                    got: (chunk.title.len() + chunk.text.len()) as u64,
                });
            }
        };
        if let Some((start, end)) = chunk.span.filter(|(start, end)| start > end) {
            return Err(Error::invalid(format!("a chunk's start must not be behind its end, got {start} and {end}")));
        }
        if let Some(external) = chunk.external_id {
            check_length("a chunk's id in bytes", external, KEY_BYTES)?;
            let ordinal = self.open_document(number)?.head.chunks;
            let place = super::given::ordinal_of(id, external);
            if external.is_empty() || place.is_some_and(|place| place != ordinal) {
                return Err(Error::invalid(format!(
                    "{external:?} cannot be a chunk's id: it is empty or names the place of another chunk"
                )));
            }
            if self.view().chunk_by_external_id(number, external)?.is_some() {
                return Err(Error::invalid(format!("document {id:?} has a chunk {external:?} already")));
            }
        }
        let next = self.state.chunks.checked_add(1);
        let new = self.state.chunks;
        self.state.chunks =
            next.ok_or(Error::Limit { what: "the number of chunks", limit: u64::from(u32::MAX), got: 1 << 32 })?;
        self.chunks += 1;

        let ChunkCounts { terms, words } = counts;
        self.delta.post_all(Field::Text, new, &terms);
        let tokens = terms.tokens();
        let offset = self.texts.raw.len() as u32;
        self.texts.raw.extend_from_slice(chunk.title.as_bytes());
        self.texts.raw.extend_from_slice(chunk.text.as_bytes());
        self.texts.rows.push(TextRow {
            chunk: new,
            block: Reference { offset: 0, stored_bytes: 0, kind: BlockKind::Text, checksum: 0 },
            offset,
            title_bytes: chunk.title.len() as u32,
            text_bytes: chunk.text.len() as u32,
            words,
            span: chunk.span,
            external_id: chunk.external_id.map(str::to_owned),
        });
        if let Some(external) = chunk.external_id {
            let mut key = key::external_id(external);
            key.extend_from_slice(&number.to_be_bytes());
            self.delta.put(key, varint(new));
        }
        let fanout = usize::from(self.parameters.fanout);
        let open = self.open_document(number)?;
        let ordinal = open.head.chunks;
        let complete = open.tail.push(new);
        let head = &mut open.head;
        if head.chunks == 0 {
            head.first_chunk = new;
        }
        head.last_chunk = new;
        head.chunks += 1;
        head.text_tokens += u64::from(tokens);
        head.text_bytes += chunk.text.len() as u64;
        head.words += u64::from(words);
        head.content_hash = chain(&head.content_hash, chunk.text);
        open.recent.push((new, chunk.text.to_owned()));
        if open.recent.len() > fanout {
            open.recent.remove(0);
        }
        open.dirty = true;
        self.delta.put_place(Place { chunk: new, document: number, ordinal, tokens });
        self.write_texts_if_many()?;
        Ok(Appended { ordinal, complete })
    }

    /// Posts the terms of texts that are one unit, and gives its token count.
    pub(super) fn post_text(&mut self, field: Field, unit: u32, texts: &[&str]) -> u32 {
        let counts = self.counter.count(texts);
        self.delta.post_all(field, unit, &counts);
        counts.tokens()
    }

    /// Sets the summary of a complete node of a document's fold tree: `level` from 1, `index` among the nodes of that
    /// level. A summary that is there is replaced.
    pub fn set_summary(&mut self, id: &str, level: u8, index: u32, text: &str, origin: Origin) -> Result<()> {
        check_length("a summary in bytes", text, SUMMARY_BYTES)?;
        self.flush_if_full()?;
        let number = self.number(id)?;
        self.open_document(number)?;
        let Some(mut open) = self.open.remove(&number) else { return Ok(()) };
        let result = self.set_summary_of(&mut open, (level, index), text, origin);
        self.open.insert(number, open);
        result
    }

    fn set_summary_of(&mut self, open: &mut OpenDocument, node: NodeId, text: &str, origin: Origin) -> Result<()> {
        if !open.tail.is_complete(node) {
            let (level, index) = node;
            return Err(Error::invalid(format!(
                "summary {index} of level {level} of document {:?} covers chunks that are not there: it has {} chunks and fan-out {}",
                open.head.id, open.head.chunks, self.parameters.fanout
            )));
        }
        let stored = self.quote_summary(open, node, text)?;
        let before = open.tail.set_summary(self.view(), node, Summary::new(stored, text.to_owned()))?;
        open.dirty = true;
        if before.is_none() {
            match origin {
                Origin::Model => open.head.folds += 1,
                Origin::Given => open.head.given_folds += 1,
            }
        }
        if node.0 != 1 {
            return Ok(());
        }
        // The unit of a level-1 summary is the first chunk that it covers.
        let unit = open.tail.chunks_of(self.view(), node)?.first().copied();
        let unit = unit.ok_or_else(|| super::view::inconsistent("a level-1 node without chunks"))?;
        let was = before.is_some();
        let before = before.map(|before| before.text(&mut Quotes::of(self.view(), open))).transpose()?;
        let old = self.counter.count(before.as_deref().as_slice());
        let new = self.counter.count(&[text]);
        let kept: HashSet<&str> = if was { new.terms().collect() } else { HashSet::new() };
        for term in old.terms().filter(|term| !kept.contains(term)) {
            self.delta.post(Field::Summary, term, unit, 0);
        }
        self.delta.post_all(Field::Summary, unit, &new);
        let (old_tokens, new_tokens) = (old.tokens(), new.tokens());
        self.delta.put_summary_row(unit, new_tokens);
        open.head.summaries += u32::from(!was);
        open.head.summary_tokens = open.head.summary_tokens - u64::from(old_tokens) + u64::from(new_tokens);
        Ok(())
    }

    /// The summary of a complete node, where there is one.
    pub fn summary(&mut self, id: &str, level: u8, index: u32) -> Result<Option<String>> {
        let number = self.number(id)?;
        self.open_document(number)?;
        let Some(mut open) = self.open.remove(&number) else { return Ok(None) };
        let result = match open.tail.is_complete((level, index)) {
            true => open.tail.summary(self.view(), (level, index)),
            false => Ok(None),
        };
        let result = match result {
            Ok(Some(summary)) => summary.text(&mut Quotes::of(self.view(), &open)).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        };
        self.open.insert(number, open);
        result
    }

    /// Notes that a chunk's understanding came from a call of a model, or from outside.
    pub fn count_update(&mut self, id: &str, origin: Origin) -> Result<()> {
        let number = self.number(id)?;
        let open = self.open_document(number)?;
        match origin {
            Origin::Model => open.head.updates += 1,
            Origin::Given => open.head.given_updates += 1,
        }
        open.dirty = true;
        Ok(())
    }

    /// How much of `text` a document already holds: the byte where its chunks end, if they are a prefix of `text`.
    pub(crate) fn prefix_of(&mut self, id: &str, text: &str) -> Result<Option<usize>> {
        let number = self.number(id)?;
        let head = self.open_document(number)?.head.clone();
        let Some(start) = usize::try_from(head.text_bytes).ok().filter(|&bytes| text.is_char_boundary(bytes)) else {
            return Ok(None);
        };
        if head.chunks == 0 {
            return Ok(Some(0));
        }
        self.flush()?;
        let view = self.view();
        let mut hash = [0; 32];
        let mut at = 0;
        for place in view.places(head.first_chunk, head.last_chunk)? {
            if place.document != number {
                continue;
            }
            let end = at + view.text_row(place.chunk)?.text_bytes as usize;
            let Some(chunk) = text.get(at..end) else { return Ok(None) };
            hash = chain(&hash, chunk);
            at = end;
        }
        Ok((at == start && hash == head.content_hash).then_some(start))
    }

    /// Notes the append that is under way, or that none is.
    pub(crate) fn set_pending(&mut self, id: &str, pending: Option<([u8; 32], u32)>) -> Result<()> {
        let number = self.number(id)?;
        let open = self.open_document(number)?;
        open.head.pending = pending;
        open.dirty = true;
        Ok(())
    }

    /// Text of a chunk of an open document, by its internal id.
    pub(super) fn chunk_text(&self, open: &OpenDocument, chunk: u32) -> Result<String> {
        if let Some((_, text)) = open.recent.iter().find(|(id, _)| *id == chunk) {
            return Ok(text.clone());
        }
        if let Some(row) = self.texts.row(chunk) {
            return Ok(self.texts.read(row)?.1);
        }
        let view = self.view();
        Ok(view.text(&view.text_row(chunk)?)?.1)
    }
}

/// The hash of a document's content with one more chunk.
pub(crate) fn chain(before: &[u8; 32], text: &str) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before);
    hasher.update(text.as_bytes());
    *hasher.finalize().as_bytes()
}

/// How often each term stands in texts that are one unit (the texts are joined by a space), and how many tokens there
/// are.
pub(super) fn count_terms(texts: &[&str]) -> TermCounts {
    TermCounter::default().count(texts)
}

/// A varint that is a whole value.
pub(super) fn varint(value: u32) -> Vec<u8> {
    let mut out = Vec::new();
    plica_format::bytes::put_varint(&mut out, u64::from(value));
    out
}
