//! Ranking: which records a question's keys lead to, the best of them, and their passages.
//!
//! Keys come first. The records of the entity (under its name, its aliases, and, where asked for, similar names) are
//! scored; of an entity only those with the label, and only where it has none such, those whose label shares a word with
//! it. Without an entity the label leads, without a label the value. Memory is bounded by what is asked for.

use super::Place;
use super::query::{Fallback, RecordAnswer, RecordQuery, ScoredRecord};
use super::reading::{Filter, Found, Reading};
use super::score::{ALIAS, LabelFit, Scorer};
use crate::Result;
use crate::index::Snapshot;
use crate::index::records::{bounded, label_symbol, symbol};
use crate::index::view::damaged_value;
use crate::search::Passage;
use plica_format::document::DocumentHead;
use plica_format::key;
use plica_format::record::RecordRow;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Fit of an entity with a similar name, and what each edit takes from it.
const SIMILAR: (f64, f64) = (0.9, 0.2);
/// Passages that are held before those that cannot be among the best are dropped.
const HELD_PASSAGES: usize = 4096;

/// A record that was scored. The order is that of the answer: best first, then reading order, then by key.
pub(super) struct Candidate {
    pub(super) score: f64,
    pub(super) head: Arc<DocumentHead>,
    first_chunk: u32,
    place: Place,
    pub(super) row: Vec<u8>,
}

impl Candidate {
    /// Its place in the order of keys; with its document, what makes it the record that it is.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn decoded(&self) -> Result<RecordRow<'_>> {
        RecordRow::decode(&self.row).map_err(damaged_value(key::RECORD))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then_with(|| self.head.id.cmp(&other.head.id))
            .then_with(|| self.first_chunk.cmp(&other.first_chunk))
            .then_with(|| self.place.cmp(&other.place))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// The best records and passages so far.
pub(super) struct Best {
    limit: usize,
    k: usize,
    /// The worst on top.
    records: BinaryHeap<Candidate>,
    passages: HashMap<(u32, u32), (f64, Arc<DocumentHead>)>,
    total: usize,
    /// Whether there was anything, scored high enough or not.
    seen: bool,
}

impl Best {
    fn new(query: &RecordQuery) -> Self {
        Self {
            limit: query.limit,
            k: query.k,
            records: BinaryHeap::new(),
            passages: HashMap::new(),
            total: 0,
            seen: false,
        }
    }

    fn add(&mut self, found: &Found<'_>, row: &RecordRow<'_>, score: f64) {
        self.total += 1;
        for &chunk in &row.chunks {
            self.pass((found.key.document, chunk), score, found.head);
        }
        let candidate = Candidate {
            score,
            head: Arc::clone(found.head),
            first_chunk: row.chunks.first().copied().unwrap_or_default(),
            place: found.place(),
            row: found.row.to_vec(),
        };
        self.keep(candidate);
    }

    fn keep(&mut self, candidate: Candidate) {
        self.records.push(candidate);
        if self.records.len() > self.limit {
            self.records.pop();
        }
    }

    fn pass(&mut self, place: (u32, u32), score: f64, head: &Arc<DocumentHead>) {
        let entry = self.passages.entry(place).or_insert_with(|| (score, Arc::clone(head)));
        entry.0 = entry.0.max(score);
        if self.passages.len() > HELD_PASSAGES.max(self.k.saturating_mul(2)) {
            let best = self.best_passages();
            self.passages =
                best.into_iter().map(|(score, head, chunk)| ((head.number, chunk), (score, head))).collect();
        }
    }

    /// The best passages, best first, equals in reading order.
    fn best_passages(&mut self) -> Vec<(f64, Arc<DocumentHead>, u32)> {
        let passages = std::mem::take(&mut self.passages);
        let mut best: Vec<_> = passages.into_iter().map(|((_, chunk), (score, head))| (score, head, chunk)).collect();
        best.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id)).then(a.2.cmp(&b.2)));
        best.truncate(self.k);
        best
    }

    /// Takes in what another has found.
    fn absorb(&mut self, other: Self) {
        self.total += other.total;
        self.seen |= other.seen;
        for (place, (score, head)) in other.passages {
            self.pass(place, score, &head);
        }
        other.records.into_iter().for_each(|candidate| self.keep(candidate));
    }
}

/// Records of one entity, or of none: those with the label, and those with one that is near.
struct Group<'q> {
    same: Best,
    near: Best,
    query: &'q RecordQuery,
}

impl<'q> Group<'q> {
    fn new(query: &'q RecordQuery) -> Self {
        Self { same: Best::new(query), near: Best::new(query), query }
    }

    /// What the group comes to; the flag says that near labels had to do.
    fn close(self) -> (Best, bool) {
        match self.same.seen {
            true => (self.same, false),
            false => {
                let had_to_do = self.near.total > 0;
                (self.near, had_to_do)
            }
        }
    }
}

/// What a ranking found.
pub(super) struct Ranked {
    /// Best first.
    pub(super) records: Vec<Candidate>,
    pub(super) total: usize,
    pub(super) passages: Vec<(f64, Arc<DocumentHead>, u32)>,
    pub(super) fallback: Fallback,
}

/// Ranks the records for a question; with `all` only those in which every field that is given fits.
pub(super) fn rank(reading: &Reading<'_>, query: &RecordQuery, all: bool) -> Result<Ranked> {
    let filter = Filter::new(reading.snapshot, query)?;
    let ranking = Ranking { reading, scorer: Scorer::new(query), filter, query, all };
    let mut fallback = Fallback::default();
    let mut best = match (&query.entity, &query.label, &query.value) {
        _ if query.prefix && query.fuzzy == 0 => {
            let mut best = Best::new(query);
            reading.each_match(&ranking.filter, |found, row| {
                best.add(found, row, 1.0);
                Ok(ControlFlow::Continue(()))
            })?;
            best
        }
        (Some(entity), _, _) => ranking.by_entity(entity, &mut fallback)?,
        (None, Some(label), _) => ranking.by_label(label, &mut fallback)?,
        (None, None, Some(value)) => ranking.by_value(value)?,
        (None, None, None) => {
            let mut group = Group::new(query);
            reading.each_match(&ranking.filter, |found, row| ranking.take(found, row, 1.0, &mut group))?;
            group.close().0
        }
    };
    let passages = best.best_passages();
    Ok(Ranked { records: best.records.into_sorted_vec(), total: best.total, passages, fallback })
}

struct Ranking<'a> {
    reading: &'a Reading<'a>,
    scorer: Scorer,
    filter: Filter,
    query: &'a RecordQuery,
    all: bool,
}

impl Ranking<'_> {
    /// Scores a record into a group.
    fn take(
        &self,
        found: &Found<'_>,
        row: &RecordRow<'_>,
        entity: f64,
        group: &mut Group<'_>,
    ) -> Result<ControlFlow<()>> {
        let next = Ok(ControlFlow::Continue(()));
        let is_other_kind = self.filter.kind.is_some_and(|kind| kind != row.kind);
        let coarse = self.filter.coarse.as_ref();
        if is_other_kind || coarse.is_some_and(|coarse| label_symbol(row.coarse) != coarse.symbol) {
            return next;
        }
        let (label, best) = match self.scorer.label(row) {
            LabelFit::Same(fit) => (fit, &mut group.same),
            LabelFit::Near(fit) => (fit, &mut group.near),
            LabelFit::None => return next,
        };
        let Some((score, fits)) = self.scorer.score(row, entity, label) else { return next };
        best.seen = true;
        if score >= group.query.floor && (fits || !self.all) {
            best.add(found, row, score);
        }
        next
    }

    /// Takes all records whose keys start so.
    fn each(&self, start: &[u8], entity: f64, group: &mut Group<'_>) -> Result<()> {
        let document = self.filter.document;
        self.reading.each(
            start,
            |key, _| document.is_none_or(|own| own == key.document),
            |found| self.take(found, &found.decoded()?, entity, group),
        )
    }

    /// Takes the records of a name, of all documents or of one.
    fn each_of(&self, name: &str, document: Option<u32>, entity: f64, group: &mut Group<'_>) -> Result<()> {
        let start = match document.or(self.filter.document) {
            Some(document) => {
                let mut start = key::numbered(key::RECORD_OF_DOCUMENT, document);
                start.extend_from_slice(name.as_bytes());
                start.push(0);
                start
            }
            None => key::parted(key::RECORD, &[name.as_bytes()]),
        };
        self.each(&start, entity, group)
    }

    fn by_entity(&self, entity: &str, fallback: &mut Fallback) -> Result<Best> {
        let own = bounded(symbol(entity));
        let mut group = Group::new(self.query);
        self.each_of(&own, None, 1.0, &mut group)?;
        for ((document, name), spelling) in self.reading.aliases(entity, self.filter.document)? {
            let before = group.same.total + group.near.total;
            self.each_of(&name, document, ALIAS, &mut group)?;
            if group.same.total + group.near.total > before && !fallback.names.contains(&spelling) {
                fallback.names.push(spelling);
            }
        }
        let (mut best, near) = group.close();
        fallback.label |= near;
        if self.query.fuzzy > 0 {
            for (name, edits) in self.reading.similar(entity, self.query.fuzzy, self.query.prefix)? {
                if name == own {
                    continue;
                }
                let mut group = Group::new(self.query);
                self.each_of(&name, None, SIMILAR.0 - SIMILAR.1 * edits as f64, &mut group)?;
                let (more, near) = group.close();
                fallback.similar |= more.total > 0;
                fallback.label |= near;
                best.absorb(more);
            }
        }
        Ok(best)
    }

    fn by_label(&self, label: &str, fallback: &mut Fallback) -> Result<Best> {
        let own = bounded(label_symbol(label));
        let mut group = Group::new(self.query);
        self.each(&key::parted(key::RECORD_BY_LABEL, &[own.as_bytes()]), 0.0, &mut group)?;
        // Those whose label it is, too, were taken.
        let document = self.filter.document;
        self.reading.each(
            &key::parted(key::RECORD_BY_COARSE, &[own.as_bytes()]),
            |key, _| key.label != own.as_bytes() && document.is_none_or(|document| document == key.document),
            |found| self.take(found, &found.decoded()?, 0.0, &mut group),
        )?;
        if !group.same.seen {
            let mut near = Vec::new();
            self.reading.view.dictionary.each_newest(&[key::RECORD_LABELS], b"", |bytes, count| {
                self.reading.step()?;
                let label = bytes.get(1..).and_then(|label| std::str::from_utf8(label).ok()).unwrap_or_default();
                if !count.is_empty() && self.scorer.is_label_near(label) {
                    near.push(label.to_owned());
                }
                Ok(ControlFlow::Continue(()))
            })?;
            for label in near {
                self.each(&key::parted(key::RECORD_BY_LABEL, &[label.as_bytes()]), 0.0, &mut group)?;
            }
        }
        let (best, near) = group.close();
        fallback.label |= near;
        Ok(best)
    }

    fn by_value(&self, value: &str) -> Result<Best> {
        let own = bounded(symbol(value));
        let mut group = Group::new(self.query);
        self.each(&key::parted(key::RECORD_BY_VALUE, &[own.as_bytes()]), 0.0, &mut group)?;
        if !group.same.seen {
            // No value is the one: all are looked at.
            let document = self.filter.document;
            let fits = |key: &key::RecordKey<'_>, other: &[u8]| {
                document.is_none_or(|document| document == key.document)
                    && std::str::from_utf8(other).is_ok_and(|other| self.scorer.value(other) > 0.0)
            };
            self.reading
                .each(&[key::RECORD_BY_VALUE], fits, |found| self.take(found, &found.decoded()?, 0.0, &mut group))?;
        }
        Ok(group.close().0)
    }
}

impl Reading<'_> {
    /// A passage with its text.
    pub(super) fn passage(&self, (score, head, chunk): &(f64, Arc<DocumentHead>, u32)) -> Result<Passage> {
        let ordinal = self.ordinal(head, *chunk)?;
        let row = self.view.text_row(*chunk)?;
        let (title, text) = self.view.text(&row)?;
        let name = format!("{}#{ordinal}", head.id);
        Ok(Passage {
            id: row.external_id.unwrap_or_else(|| name.clone()),
            chunk: name,
            document: head.id.clone(),
            ordinal,
            score: *score,
            title,
            text,
            span: row.span,
        })
    }
}

impl Snapshot {
    /// Ranks the records for a question and gives the passages that they lead to.
    ///
    /// The score of a record is the mean of how well each field that the query gives fits, weighted
    /// ([`RecordQuery::weights`]): the entity by its name or an alias; the type exactly, where the record has one; the
    /// label exactly or by its coarse label, and by shared words only where the entity has no such label; the value and
    /// the condition by containment, shared words or beginnings. Records below the floor are left out. A passage takes
    /// the best score of its records. With [`RecordQuery::prefix`] and no edits, every record that
    /// [`Snapshot::look_up`] finds has score 1.
    ///
    /// # Errors
    /// As of [`Snapshot::look_up`]; [`Error::Limit`](crate::Error::Limit) for more than 2 edits.
    pub fn records(&self, query: &RecordQuery) -> Result<RecordAnswer> {
        let reading = Reading::new(self, &query.limits)?;
        let ranked = rank(&reading, query, false)?;
        let mut records = Vec::with_capacity(ranked.records.len());
        for candidate in &ranked.records {
            let record = reading.record(&candidate.decoded()?, &candidate.head)?;
            records.push(ScoredRecord { record, score: candidate.score });
        }
        let passages = ranked.passages.iter().map(|passage| reading.passage(passage)).collect::<Result<_>>()?;
        Ok(RecordAnswer { records, total: ranked.total, passages, fallback: ranked.fallback })
    }

    /// A chunk of a document as hits name it: by its external id, else as `DOC#ORDINAL`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) where there is no such document or chunk.
    pub fn chunk_name(&self, document: &str, ordinal: u32) -> Result<String> {
        let head = self.head(document)?;
        let row = self.view().text_row(self.chunk_id(&head, ordinal)?)?;
        Ok(row.external_id.unwrap_or_else(|| format!("{document}#{ordinal}")))
    }
}
