//! One question at work: which keys lead to the records it asks for, and what of them readers see.

use super::Place;
use super::query::{Record, RecordQuery};
use crate::index::Snapshot;
use crate::index::records::{bounded, kind_number, kind_of, label_symbol, symbol};
use crate::index::view::{View, damaged_value, inconsistent};
use crate::search::Limits;
use crate::{Error, Result};
use plica_format::document::{DocumentHead, DocumentState};
use plica_format::key::{self, RecordKey};
use plica_format::limits::TOKEN_BYTES;
use plica_format::record::RecordRow;
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Keys between two looks at the clock.
const STEPS: u32 = 256;
/// A beginning longer than this is looked up by its start: what is longer in a key is a hash.
const PREFIX_BYTES: usize = 224;

/// Reads records for one question.
pub(super) struct Reading<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) view: View<'a>,
    limits: &'a Limits,
    steps: Cell<u32>,
    /// The document that was asked for last, and its head where readers see it.
    last: RefCell<Option<(u32, Option<Arc<DocumentHead>>)>>,
}

/// A record on the way: its key, encoded row and document.
pub(super) struct Found<'k> {
    pub(super) key: RecordKey<'k>,
    pub(super) row: &'k [u8],
    pub(super) head: &'k Arc<DocumentHead>,
}

impl Found<'_> {
    /// Its place in the order that no history shows in.
    pub(super) fn place(&self) -> Place {
        let mut place = Vec::with_capacity(self.key.entity.len() + self.key.label.len() + 2 + self.key.hash.len());
        for part in [self.key.entity, self.key.label] {
            place.extend_from_slice(part);
            place.push(0);
        }
        place.extend_from_slice(&self.key.hash);
        place
    }

    /// The row.
    pub(super) fn decoded(&self) -> Result<RecordRow<'_>> {
        RecordRow::decode(self.row).map_err(damaged_value(key::RECORD))
    }
}

impl<'a> Reading<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, limits: &'a Limits) -> Result<Self> {
        limits.check()?;
        Ok(Self { snapshot, view: snapshot.view(), limits, steps: Cell::new(0), last: RefCell::new(None) })
    }

    /// Counts a step, and now and then looks whether the call may go on.
    pub(super) fn step(&self) -> Result<()> {
        let steps = self.steps.get().wrapping_add(1);
        self.steps.set(steps);
        if steps.is_multiple_of(STEPS) { self.limits.check() } else { Ok(()) }
    }

    /// The head of a document, where readers see it.
    pub(super) fn live(&self, document: u32) -> Result<Option<Arc<DocumentHead>>> {
        if let Some((last, head)) = self.last.borrow().as_ref()
            && *last == document
        {
            return Ok(head.clone());
        }
        let head = Some(self.snapshot.head_of(document)?).filter(|head| head.state == DocumentState::Live);
        *self.last.borrow_mut() = Some((document, head.clone()));
        Ok(head)
    }

    /// Hands the records whose keys start with `prefix` to `sink`, in the order of the keys; only those that `passes`
    /// lets through by key (and, of keys that have one, the value or coarse label in it).
    pub(super) fn each(
        &self,
        prefix: &[u8],
        mut passes: impl FnMut(&RecordKey<'_>, &[u8]) -> bool,
        mut sink: impl FnMut(&Found<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let has_row = prefix.first() == Some(&key::RECORD);
        self.view.dictionary.each_newest(prefix, b"", |bytes, value| {
            self.step()?;
            if value.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            let (key, other) = RecordKey::parse(bytes).ok_or_else(|| inconsistent("a key of a record in no form"))?;
            if !passes(&key, other) {
                return Ok(ControlFlow::Continue(()));
            }
            let Some(head) = self.live(key.document)? else { return Ok(ControlFlow::Continue(())) };
            if has_row {
                return sink(&Found { key, row: value, head: &head });
            }
            let row = self.view.record_value(&key.row())?;
            let row = row.ok_or_else(|| inconsistent("a key leads to a record that is not there"))?;
            sink(&Found { key, row: &row, head: &head })
        })
    }

    /// The record as readers get it.
    pub(super) fn record(&self, row: &RecordRow<'_>, head: &DocumentHead) -> Result<Record> {
        let (condition_label, condition_value) = row.condition;
        let has_condition = !condition_label.is_empty() || !condition_value.is_empty();
        let mut chunks = Vec::with_capacity(row.chunks.len());
        for &chunk in &row.chunks {
            chunks.push(self.ordinal(head, chunk)?);
        }
        Ok(Record {
            entity: row.entity.to_owned(),
            entity_type: row.entity_type.to_owned(),
            kind: kind_of(row.kind),
            label: row.label.to_owned(),
            coarse: row.coarse.to_owned(),
            value: row.value.to_owned(),
            condition: has_condition.then(|| (condition_label.to_owned(), condition_value.to_owned())),
            valid: row.valid.to_owned(),
            document: head.id.clone(),
            chunks,
        })
    }

    /// Place of a chunk in its document.
    pub(super) fn ordinal(&self, head: &DocumentHead, chunk: u32) -> Result<u32> {
        let wrong = || inconsistent(format!("a record of document {:?} names chunk {chunk}", head.id));
        let distance = chunk.checked_sub(head.first_chunk).filter(|_| chunk <= head.last_chunk).ok_or_else(wrong)?;
        if u64::from(head.last_chunk - head.first_chunk) + 1 == u64::from(head.chunks) {
            return Ok(distance);
        }
        let place = self.view.place(chunk)?;
        if place.document == head.number { Ok(place.ordinal) } else { Err(wrong()) }
    }
}

/// A field that is asked for, in compared form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    /// As it is compared, whole.
    pub(super) symbol: String,
    /// As keys have it, where that is something else.
    short: Option<String>,
    prefix: bool,
}

impl Wanted {
    fn new(symbol: String, prefix: bool) -> Self {
        let short = (symbol.len() > TOKEN_BYTES).then(|| bounded(symbol.clone()));
        Self { short, symbol, prefix }
    }

    /// As keys have it.
    fn bounded(&self) -> &[u8] {
        self.short.as_ref().unwrap_or(&self.symbol).as_bytes()
    }

    /// Whether a field in a key is it.
    fn is_key(&self, bytes: &[u8]) -> bool {
        match self.prefix {
            true => bytes.starts_with(self.start()),
            false => bytes == self.bounded(),
        }
    }

    /// Whether a field in compared form is it.
    fn is(&self, symbol: &str) -> bool {
        if self.prefix { symbol.starts_with(&self.symbol) } else { symbol == self.symbol }
    }

    /// What a key starts with that has it.
    fn start(&self) -> &[u8] {
        let end = if self.symbol.len() > PREFIX_BYTES {
            self.symbol.floor_char_boundary(PREFIX_BYTES)
        } else {
            self.symbol.len()
        };
        self.symbol.as_bytes().get(..end).unwrap_or_default()
    }
}

/// The fields of a look-up, in compared form.
pub(super) struct Filter {
    pub(super) document: Option<u32>,
    pub(super) entity: Option<Wanted>,
    pub(super) entity_type: Option<Wanted>,
    pub(super) kind: Option<u8>,
    pub(super) label: Option<Wanted>,
    pub(super) coarse: Option<Wanted>,
    pub(super) value: Option<Wanted>,
    pub(super) condition_label: Option<Wanted>,
    pub(super) condition_value: Option<Wanted>,
    prefix: bool,
}

impl Filter {
    pub(super) fn new(snapshot: &Snapshot, query: &RecordQuery) -> Result<Self> {
        let wanted = |field: &Option<String>| field.as_ref().map(|text| Wanted::new(symbol(text), query.prefix));
        let label = |field: &Option<String>| field.as_ref().map(|text| Wanted::new(label_symbol(text), query.prefix));
        if query.fuzzy > 2 {
            return Err(Error::Limit { what: "the edits of a fuzzy look-up", limit: 2, got: u64::from(query.fuzzy) });
        }
        Ok(Self {
            document: match &query.document {
                Some(id) => Some(snapshot.head(id)?.number),
                None => None,
            },
            entity: wanted(&query.entity),
            entity_type: wanted(&query.entity_type),
            kind: query.kind.map(kind_number),
            label: label(&query.label),
            coarse: label(&query.coarse),
            value: wanted(&query.value),
            condition_label: query.condition_label.as_ref().map(|text| Wanted::new(label_symbol(text), false)),
            condition_value: query.condition_value.as_ref().map(|text| Wanted::new(symbol(text), false)),
            prefix: query.prefix,
        })
    }

    /// Whether a key can lead to what is asked for; `other` is the value or coarse label in it.
    fn passes(&self, kind: u8, key: &RecordKey<'_>, other: &[u8]) -> bool {
        let is = |wanted: &Option<Wanted>, bytes: &[u8]| wanted.as_ref().is_none_or(|wanted| wanted.is_key(bytes));
        self.document.is_none_or(|document| document == key.document)
            && is(&self.entity, key.entity)
            && is(&self.label, key.label)
            && (!matches!(kind, key::RECORD_BY_LABEL | key::RECORD_BY_VALUE) || is(&self.value, other))
            && (kind != key::RECORD_BY_COARSE || is(&self.coarse, other))
    }

    /// Whether a row, whose entity and label were compared in its key, is what is asked for.
    fn is(&self, row: &RecordRow<'_>) -> bool {
        let is = |wanted: &Option<Wanted>, text: &str| wanted.as_ref().is_none_or(|wanted| wanted.is(&symbol(text)));
        let is_label =
            |wanted: &Option<Wanted>, text: &str| wanted.as_ref().is_none_or(|wanted| wanted.is(&label_symbol(text)));
        self.kind.is_none_or(|kind| kind == row.kind)
            && is(&self.entity_type, row.entity_type)
            && is(&self.value, row.value)
            && is_label(&self.coarse, row.coarse)
            && is_label(&self.condition_label, row.condition.0)
            && is(&self.condition_value, row.condition.1)
    }

    /// What the keys that lead there start with: the fewest keys that one range can have.
    fn start(&self) -> Vec<u8> {
        let part = |key: &mut Vec<u8>, wanted: &Wanted| match self.prefix {
            true => key.extend_from_slice(wanted.start()),
            false => {
                key.extend_from_slice(wanted.bounded());
                key.push(0);
            }
        };
        // Behind a beginning nothing more can be said; an empty field has no key of its own.
        fn told(wanted: &Option<Wanted>) -> Option<&Wanted> {
            wanted.as_ref().filter(|wanted| !wanted.symbol.is_empty())
        }
        if let Some(entity) = &self.entity {
            if let (Some(coarse), None, false) = (told(&self.coarse), &self.label, self.prefix)
                && self.document.is_none()
            {
                return key::parted(key::RECORD_BY_COARSE, &[coarse.bounded(), entity.bounded()]);
            }
            let mut start = match self.document {
                Some(document) => key::numbered(key::RECORD_OF_DOCUMENT, document),
                None => vec![key::RECORD],
            };
            part(&mut start, entity);
            if let Some(label) = self.label.as_ref().filter(|_| !self.prefix) {
                part(&mut start, label);
            }
            return start;
        }
        if let (Some(label), Some(value)) = (told(&self.label).filter(|_| !self.prefix), told(&self.value)) {
            return key::parted(key::RECORD_BY_LABEL, &[label.bounded(), value.bounded()]);
        }
        for (kind, wanted) in [
            (key::RECORD_BY_VALUE, &self.value),
            (key::RECORD_BY_LABEL, &self.label),
            (key::RECORD_BY_COARSE, &self.coarse),
        ] {
            if let Some(wanted) = told(wanted) {
                let mut start = vec![kind];
                part(&mut start, wanted);
                return start;
            }
        }
        match self.document {
            Some(document) => key::numbered(key::RECORD_OF_DOCUMENT, document),
            None => vec![key::RECORD],
        }
    }

    /// The type, where nothing else leads to the records but all of them.
    fn by_type(&self) -> Option<&Wanted> {
        let alone = self.entity.is_none() && self.label.is_none() && self.coarse.is_none() && self.value.is_none();
        self.entity_type.as_ref().filter(|_| alone && self.document.is_none() && !self.prefix)
    }
}

impl Reading<'_> {
    /// Hands every record that a filter lets through to `sink`, each once, in the order of some key.
    pub(super) fn each_match(
        &self,
        filter: &Filter,
        mut sink: impl FnMut(&Found<'_>, &RecordRow<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut take = |found: &Found<'_>| {
            let row = found.decoded()?;
            if filter.is(&row) { sink(found, &row) } else { Ok(ControlFlow::Continue(())) }
        };
        let Some(entity_type) = filter.by_type() else {
            let start = filter.start();
            let kind = start.first().copied().unwrap_or_default();
            return self.each(&start, |key, other| filter.passes(kind, key, other), take);
        };
        let types = key::parted(key::RECORD_TYPES, &[entity_type.bounded()]);
        let mut flow = ControlFlow::Continue(());
        self.view.dictionary.each_newest(&types, b"", |bytes, count| {
            if count.is_empty() {
                return Ok(ControlFlow::Continue(()));
            }
            let entity = bytes.get(types.len()..).unwrap_or_default();
            self.each(
                &key::parted(key::RECORD, &[entity]),
                |_, _| true,
                |found| {
                    flow = take(found)?;
                    Ok(flow)
                },
            )?;
            Ok(flow)
        })
    }

    /// Whether readers see every document that was not removed, so that the counts of records are theirs.
    pub(super) fn counts_are_exact(&self) -> bool {
        self.view.state.staged == 0
    }
}
