//! What one query reads: the view, the documents it touched, and the scope it resolved to.

use super::fuse::Candidate;
use super::query::{Channel, Explanation, Hit, Query, Scope};
use crate::index::Snapshot;
use crate::index::view::{View, inconsistent};
use crate::{Error, Result};
use plica_format::chunk::Place;
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::entity::EntityRow;
use plica_format::key::{PLACES_A_BLOCK, ROWS_A_BLOCK};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The scope of a query, resolved.
pub(super) enum Resolved {
    Document(Arc<DocumentHead>),
    Collection,
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
    places: RefCell<HashMap<u32, Rc<Vec<Place>>>>,
    rows: RefCell<HashMap<u32, Rc<Vec<EntityRow>>>>,
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
            places: RefCell::default(),
            rows: RefCell::default(),
        }
    }

    /// Resolves the scope; an index of one document is searched as that document.
    pub(super) fn scope(&self) -> Result<Resolved> {
        match &self.query.scope {
            Scope::Document(id) => Ok(Resolved::Document(Arc::new(self.snapshot.head(id)?))),
            Scope::Collection if self.view.state.totals.documents == 1 && self.query.filter.is_empty() => {
                let head = (0..self.view.state.documents)
                    .rev()
                    .find_map(|number| match self.head(number) {
                        Ok(head) if head.state == DocumentState::Live => Some(Ok(head)),
                        Ok(_) => None,
                        Err(error) => Some(Err(error)),
                    })
                    .ok_or_else(|| inconsistent("one document is counted, and none is there"))??;
                Ok(Resolved::Document(head))
            }
            Scope::Collection => Ok(Resolved::Collection),
        }
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
        let block = chunk / PLACES_A_BLOCK;
        let known = self.places.borrow().get(&block).cloned();
        let places = match known {
            Some(places) => places,
            None => {
                let first = block * PLACES_A_BLOCK;
                let places = Rc::new(self.view.places(first, first.saturating_add(PLACES_A_BLOCK - 1))?);
                self.places.borrow_mut().insert(block, Rc::clone(&places));
                places
            }
        };
        places
            .binary_search_by_key(&chunk, |place| place.chunk)
            .ok()
            .and_then(|at| places.get(at).copied())
            .ok_or_else(|| inconsistent(format!("the place of chunk {chunk} is missing")))
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

    /// A ranked chunk as the caller sees it.
    pub(super) fn hit(&self, rank: usize, candidate: &Candidate) -> Result<Hit> {
        let head = self.head(candidate.document)?;
        let row = self.view.text_row(candidate.chunk)?;
        let (title, text) = self.view.text(&row)?;
        let chunk = format!("{}#{}", head.id, candidate.ordinal);
        let explanation = match self.query.explain {
            true => Some(self.explanation(&head, candidate)?),
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

    fn explanation(&self, head: &DocumentHead, candidate: &Candidate) -> Result<Explanation> {
        let weights = self.query.weights.array();
        let channel =
            |at: usize| Channel { raw: candidate.raw[at], normalised: candidate.normalised[at], weight: weights[at] };
        Ok(Explanation {
            text: channel(0),
            memory: channel(1),
            summary: channel(2),
            records: self.linked_records(head, candidate)?,
            covering_summary: match candidate.covered {
                true => self.snapshot.covering_summary(head, candidate.ordinal, 1)?,
                false => None,
            },
        })
    }
}
