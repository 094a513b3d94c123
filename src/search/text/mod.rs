//! The best chunks by their text alone, without a look at those that cannot be among them.
//!
//! This is BM25 over the texts of chunks and nothing else: no memory, no summaries, no pool. It is what a search engine
//! does, for those who rank by other means afterwards or need no more; [`Snapshot::search`] takes its best of the text
//! channel from here, too. Scores are exact, and so is the order: equal scores follow by document id and ordinal.

mod all;
mod any;
mod cursor;
mod few;
mod rank;
mod top;

use super::query::{Limits, Query, Scope};
use super::scope::{Reading, Resolved};
use super::{Bm25, document};
use crate::Result;
use crate::index::Snapshot;
use rank::Ranking;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use top::{Order, Top};

/// Which chunks match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TextMode {
    /// Those that hold any token of the question.
    #[default]
    Any,
    /// Those that hold all of them.
    All,
}

/// A question to the texts alone.
///
/// ```
/// use plica::{Bm25, TextMode, TextQuery};
/// let query = TextQuery { mode: TextMode::All, bm25: Bm25 { k1: 1.2, b: 0.75 }, ..TextQuery::new("letter archive") };
/// assert_eq!(query.k, 10);
/// ```
#[derive(Debug, Clone)]
pub struct TextQuery {
    /// The question, in plain words.
    pub text: String,
    /// Which chunks match.
    pub mode: TextMode,
    /// Which chunks are asked. One document is asked with its own statistics, a collection with its.
    pub scope: Scope,
    /// Hits at most.
    pub k: usize,
    /// Constants of BM25.
    pub bm25: Bm25,
    /// Only documents whose metadata has all these values; see [`Query::filter`].
    pub filter: Vec<(String, String)>,
    /// How long the call may take.
    pub limits: Limits,
}

impl TextQuery {
    /// A question to all documents: 10 hits that hold any of its tokens.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            mode: TextMode::Any,
            scope: Scope::Collection,
            k: 10,
            bm25: Bm25::default(),
            filter: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// A chunk that matches a [`TextQuery`].
#[derive(Debug, Clone, PartialEq)]
pub struct TextHit {
    /// Id of the document.
    pub document: String,
    /// Place in the document, from 0: `Snapshot::chunk_at` gives the chunk.
    pub ordinal: u32,
    /// Its score.
    pub score: f64,
}

/// Order and choice of chunks by their documents.
pub(super) struct ByDocument<'r, 'a> {
    pub(super) reading: &'r Reading<'a>,
}

impl Order for ByDocument<'_, '_> {
    fn compare(&self, a: u32, b: u32) -> Result<Ordering> {
        let snapshot = self.reading.snapshot;
        if snapshot.lengths().is_ordered_to(a.max(b)) {
            return Ok(a.cmp(&b));
        }
        snapshot.lengths().look_on(self.reading.view.state.documents, |number| snapshot.head_of(number))?;
        let (a, b) = (self.reading.place(a)?, self.reading.place(b)?);
        if a.document != b.document {
            let (a, b) = (self.reading.head(a.document)?, self.reading.head(b.document)?);
            return Ok(a.id.as_bytes().cmp(b.id.as_bytes()));
        }
        Ok(a.ordinal.cmp(&b.ordinal))
    }

    fn accepts(&self, chunk: u32) -> Result<bool> {
        if self.reading.query.filter.is_empty() {
            return Ok(true);
        }
        self.reading.passes(&*self.reading.head(self.reading.place(chunk)?.document)?)
    }
}

/// The best `k` chunks of each file by text, best first; among them are the best `k` of all.
pub(super) fn best_of_all(readings: &[Reading<'_>], mode: TextMode, k: usize) -> Result<Vec<Vec<(f64, u32)>>> {
    let mut out = Vec::with_capacity(readings.len());
    for (reading, mut ranking) in readings.iter().zip(rankings(readings)?) {
        let order = ByDocument { reading };
        let mut top = Top::new(k, &order);
        match mode {
            TextMode::Any if few::fits(&ranking) => few::rank(&mut ranking, &mut top)?,
            TextMode::Any => any::rank(&mut ranking, &mut top)?,
            TextMode::All => all::rank(&mut ranking, &mut top)?,
        }
        out.push(top.into_sorted()?);
    }
    Ok(out)
}

/// The exact text scores of some chunks of each file, ascending, as [`best_of_all`] gives them; 0 where none of the terms
/// is.
pub(super) fn scores_of_all(readings: &[Reading<'_>], chunks: &[Vec<u32>]) -> Result<Vec<Vec<f64>>> {
    if chunks.iter().all(Vec::is_empty) {
        return Ok(chunks.iter().map(|_| Vec::new()).collect());
    }
    rankings(readings)?.iter_mut().zip(chunks).map(|(ranking, chunks)| ranking.scores_of(chunks)).collect()
}

/// The rankings of all files, with the numbers of all of them.
fn rankings<'a>(readings: &[Reading<'a>]) -> Result<Vec<Ranking<'a>>> {
    let (mut tokens, mut chunks) = (0, 0);
    let mut out = Vec::with_capacity(readings.len());
    for reading in readings {
        let (query, lengths, state) = (reading.query, reading.snapshot.lengths(), reading.view.state);
        let mut live = |chunk: u32| reading.is_live(chunk);
        let live: Option<&mut dyn FnMut(u32) -> Result<bool>> = if state.staged == 0 { None } else { Some(&mut live) };
        let ranking = Ranking::open(reading.view, lengths, query.bm25, &query.limits, reading.terms, live)?;
        tokens = u64::saturating_add(tokens, state.totals.text_tokens);
        chunks = u64::saturating_add(chunks, state.totals.chunks);
        out.push(ranking);
    }
    if let [ranking] = out.as_mut_slice() {
        ranking.weigh(tokens, chunks, |_, own| own);
        return Ok(out);
    }
    let mut with = HashMap::new();
    out.iter().for_each(|ranking: &Ranking<'_>| ranking.count(&mut with));
    out.iter_mut()
        .for_each(|ranking| ranking.weigh(tokens, chunks, |token, _| with.get(token).copied().unwrap_or_default()));
    Ok(out)
}

impl Snapshot {
    /// Finds the chunks whose texts answer best.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] for a question of more than 1,024 tokens; [`crate::Error::NotFound`] for a document that
    /// is not there; [`crate::Error::Cancelled`]; [`crate::Error::Damaged`] where the file is.
    pub fn text_search(&self, query: &TextQuery) -> Result<Vec<TextHit>> {
        search(std::slice::from_ref(self), query)
    }
}

/// Answers a question to the texts of some files.
pub(super) fn search(snapshots: &[Snapshot], query: &TextQuery) -> Result<Vec<TextHit>> {
    let terms = super::terms_of(&query.text)?;
    let whole = Query {
        scope: query.scope.clone(),
        weights: super::Weights::TEXT,
        bm25: query.bm25,
        filter: query.filter.clone(),
        limits: query.limits.clone(),
        ..Query::new("")
    };
    let readings: Vec<Reading<'_>> = snapshots.iter().map(|snapshot| Reading::new(snapshot, &whole, &terms)).collect();
    let scope = Resolved::of(&readings)?;
    if query.k == 0 || terms.is_empty() {
        return Ok(Vec::new());
    }
    match scope {
        Resolved::Document(file, head) => {
            if !readings[file].passes(&head)? {
                return Ok(Vec::new());
            }
            let needed = match query.mode {
                TextMode::Any => 1,
                TextMode::All => terms.iter().collect::<HashSet<_>>().len(),
            };
            let mut hits: Vec<(u32, f64)> = document::matches(&readings[file], &head)?
                .into_iter()
                .filter(|&(_, _, matched)| matched >= needed)
                .map(|(ordinal, score, _)| (ordinal, score))
                .collect();
            hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            hits.truncate(query.k);
            Ok(hits.into_iter().map(|(ordinal, score)| TextHit { document: head.id.clone(), ordinal, score }).collect())
        }
        Resolved::Collection => {
            let mut hits = Vec::new();
            for (reading, best) in readings.iter().zip(best_of_all(&readings, query.mode, query.k)?) {
                for (score, chunk) in best {
                    let place = reading.place(chunk)?;
                    let document = reading.head(place.document)?.id.clone();
                    hits.push(TextHit { document, ordinal: place.ordinal, score });
                }
            }
            hits.sort_by(|a, b| {
                let by_place = a.document.as_bytes().cmp(b.document.as_bytes()).then(a.ordinal.cmp(&b.ordinal));
                b.score.total_cmp(&a.score).then(by_place)
            });
            hits.truncate(query.k);
            Ok(hits)
        }
    }
}
