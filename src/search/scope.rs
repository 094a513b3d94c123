//! What one query reads: the view, the documents it touched, and the scope it resolved to.

use super::fuse::Candidate;
use super::query::{Channel, Explanation, Hit, Query, Scope};
use crate::index::Snapshot;
use crate::index::view::{View, inconsistent};
use crate::{Error, Result};
use hashbrown::HashMap;
use plica_format::chunk::Place;
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::entity::{EntityRow, SummaryRow};
use plica_format::key::{INDEX_SCOPE, ROWS_A_BLOCK};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The scope of a query, resolved.
pub(super) enum Resolved {
    /// One document, in one of the files.
    Document(usize, Arc<DocumentHead>),
    Collection,
}

impl Resolved {
    /// Resolves the scope of a query over some files; a collection of one document is searched as that document.
    pub(super) fn of(readings: &[Reading<'_>]) -> Result<Self> {
        let Some(first) = readings.first() else { return Ok(Self::Collection) };
        match &first.query.scope {
            Scope::Document(id) => {
                let mut missing = None;
                for (file, reading) in readings.iter().enumerate() {
                    match reading.snapshot.known_head(id) {
                        Ok(head) => return Ok(Self::Document(file, head)),
                        Err(error @ Error::NotFound { .. }) => missing = Some(error),
                        Err(error) => return Err(error),
                    }
                }
                missing.map_or(Ok(Self::Collection), Err)
            }
            Scope::Collection => {
                let documents =
                    readings.iter().map(|reading| reading.view.state.totals.documents).fold(0, u64::saturating_add);
                if documents != 1 || !first.query.filter.is_empty() {
                    return Ok(Self::Collection);
                }
                for (file, reading) in readings.iter().enumerate() {
                    if reading.view.state.totals.documents == 1 {
                        return Ok(Self::Document(file, reading.only_document()?));
                    }
                }
                Ok(Self::Collection)
            }
        }
    }
}

/// One query at work.
pub(super) struct Reading<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) view: View<'a>,
    pub(super) query: &'a Query,
    /// Tokens of the question, in order, repeats included.
    pub(super) terms: &'a [String],
    pub(super) fanout: u32,
    heads: RefCell<HashMap<u32, Arc<DocumentHead>>>,
    rows: RefCell<HashMap<u32, Rc<Vec<EntityRow>>>>,
    summaries: RefCell<HashMap<u32, Rc<Vec<SummaryRow>>>>,
    /// Documents that readers see and the filter lets through, or not.
    taken: RefCell<HashMap<u32, bool>>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, query: &'a Query, terms: &'a [String]) -> Self {
        Self {
            snapshot,
            view: snapshot.view(),
            query,
            terms,
            fanout: u32::from(snapshot.parameters().fanout),
            heads: RefCell::default(),
            rows: RefCell::default(),
            summaries: RefCell::default(),
            taken: RefCell::default(),
        }
    }

    /// The head of the only document that readers see.
    fn only_document(&self) -> Result<Arc<DocumentHead>> {
        for &number in self.snapshot.ordered_documents()?.iter() {
            let head = self.head(number)?;
            if head.state == DocumentState::Live {
                return Ok(head);
            }
        }
        Err(inconsistent("one document is counted, and none is there"))
    }

    /// Whether readers see the document of a chunk.
    pub(super) fn is_live(&self, chunk: u32) -> Result<bool> {
        Ok(self.head(self.place(chunk)?.document)?.state == DocumentState::Live)
    }

    /// Whether readers see a document and the filter lets it through.
    pub(super) fn takes(&self, document: u32) -> Result<bool> {
        if let Some(&known) = self.taken.borrow().get(&document) {
            return Ok(known);
        }
        let head = self.head(document)?;
        let takes = head.state == DocumentState::Live && self.passes(&head)?;
        self.taken.borrow_mut().insert(document, takes);
        Ok(takes)
    }

    /// Whether a record belongs to the memory of a document that readers see, or to an index-wide one.
    pub(super) fn counts(&self, entity: u32) -> Result<bool> {
        match self.row(entity)?.scope {
            INDEX_SCOPE => Ok(true),
            document => Ok(self.head(document)?.state == DocumentState::Live),
        }
    }

    /// Tokens of the level-1 summary of a unit.
    pub(super) fn summary_tokens(&self, unit: u32) -> Result<u32> {
        let block = unit / ROWS_A_BLOCK;
        let known = self.summaries.borrow().get(&block).cloned();
        let rows = match known {
            Some(rows) => rows,
            None => {
                let first = block * ROWS_A_BLOCK;
                let rows = Rc::new(self.view.summary_rows(first, first.saturating_add(ROWS_A_BLOCK - 1))?);
                self.summaries.borrow_mut().insert(block, Rc::clone(&rows));
                rows
            }
        };
        rows.binary_search_by_key(&unit, |row| row.unit)
            .ok()
            .and_then(|at| rows.get(at))
            .map(|row| row.tokens)
            .ok_or_else(|| inconsistent(format!("summary of unit {unit} has no row")))
    }

    /// Whether weight is on the text, memory and summary channels.
    pub(super) fn wants(&self, channel: usize) -> bool {
        self.query.weights.array()[channel] != 0.0
    }

    /// The head of a document by number.
    pub(super) fn head(&self, number: u32) -> Result<Arc<DocumentHead>> {
        if let Some(head) = self.heads.borrow().get(&number) {
            return Ok(Arc::clone(head));
        }
        let head = self.snapshot.head_of(number)?;
        self.heads.borrow_mut().insert(number, Arc::clone(&head));
        Ok(head)
    }

    /// The place of a chunk.
    pub(super) fn place(&self, chunk: u32) -> Result<Place> {
        self.snapshot.lengths().place(self.view, chunk)
    }

    /// The row of an entity.
    pub(super) fn row(&self, entity: u32) -> Result<EntityRow> {
        let block = entity / ROWS_A_BLOCK;
        let known = self.rows.borrow().get(&block).cloned();
        let rows = match known {
            Some(rows) => rows,
            None => {
                let first = block * ROWS_A_BLOCK;
                let rows = Rc::new(self.view.entity_rows(first, first.saturating_add(ROWS_A_BLOCK - 1))?);
                self.rows.borrow_mut().insert(block, Rc::clone(&rows));
                rows
            }
        };
        rows.binary_search_by_key(&entity, |row| row.entity)
            .ok()
            .and_then(|at| rows.get(at).copied())
            .ok_or_else(|| inconsistent(format!("the row of entity {entity} is missing")))
    }

    /// Whether a document passes the query's filter.
    pub(super) fn passes(&self, head: &DocumentHead) -> Result<bool> {
        if self.query.filter.is_empty() {
            return Ok(true);
        }
        let information = self.view.information(head)?;
        let metadata: serde_json::Value = match information.metadata.as_str() {
            "" => return Ok(false),
            text => serde_json::from_str(text).map_err(|error| Error::Damaged {
                offset: head.information.map_or(0, |reference| reference.offset),
                what: "metadata block".into(),
                detail: error.to_string(),
            })?,
        };
        Ok(self.query.filter.iter().all(|(key, value)| match metadata.get(key) {
            Some(serde_json::Value::String(text)) => text == value,
            Some(other) => other.to_string().as_str() == value,
            None => false,
        }))
    }

    /// Whether a level-1 summary covers a chunk.
    pub(super) fn is_covered(&self, head: &DocumentHead, ordinal: u32) -> Result<bool> {
        let complete = head.chunks / self.fanout;
        if ordinal / self.fanout >= complete {
            return Ok(false);
        }
        if head.summaries == complete {
            return Ok(true);
        }
        if head.summaries == 0 {
            return Ok(false);
        }
        let unit = self.snapshot.chunk_id(head, ordinal / self.fanout * self.fanout)?;
        Ok(!self.view.summary_rows(unit, unit)?.is_empty())
    }

    /// A ranked chunk as the caller sees it; ranked with the numbers of its `own` document, or with those of `all` files.
    pub(super) fn hit(&self, all: &[Reading<'_>], rank: usize, candidate: &Candidate, own: bool) -> Result<Hit> {
        let head = self.head(candidate.document)?;
        let row = self.view.text_row(candidate.chunk)?;
        let (title, text) = self.view.text(&row)?;
        let chunk = format!("{}#{}", head.id, candidate.ordinal);
        let explanation = match self.query.explain {
            true => Some(self.explanation(&head, candidate, (!own).then_some(all))?),
            false => None,
        };
        Ok(Hit {
            rank,
            id: row.external_id.clone().unwrap_or_else(|| chunk.clone()),
            chunk,
            document: head.id.clone(),
            ordinal: candidate.ordinal,
            score: candidate.score,
            title,
            text,
            span: row.span,
            explanation,
        })
    }

    fn explanation(
        &self,
        head: &DocumentHead,
        candidate: &Candidate,
        all: Option<&[Reading<'_>]>,
    ) -> Result<Explanation> {
        let weights = self.query.weights.array();
        let channel =
            |at: usize| Channel { raw: candidate.raw[at], normalised: candidate.normalised[at], weight: weights[at] };
        Ok(Explanation {
            text: channel(0),
            memory: channel(1),
            summary: channel(2),
            records: self.linked_records(head, candidate, all)?,
            covering_summary: match candidate.covered {
                true => self.snapshot.covering_summary(head, candidate.ordinal, 1)?,
                false => None,
            },
        })
    }
}
