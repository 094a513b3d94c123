//! Leading a question from the root to an answer, or to the passages of the source where the outline has none.
//!
//! At each page the best entry that was not opened is followed, as deep as it goes. A subject that does not answer leads
//! on along its links, to one that does; else a step goes back, at most as often as the branching budget allows. Then the source is
//! searched instead. What answers and what is best, the [`Scorer`] says.

use super::page::{EntryKind, OutlineEntry, OutlinePage};
use super::score::{Bm25Scorer, Question, Scorer};
use crate::Result;
use crate::index::Snapshot;
use crate::search::{Limits, Passage, Query};
use std::collections::{BTreeSet, HashSet};

/// Pages that a navigation opens, at most, whatever its budget.
const PAGES: usize = 1024;
/// Links of a subject that are tried.
const LINKS: usize = 32;

/// A question to a document's outline.
pub struct Navigate<'a> {
    document: &'a str,
    question: &'a str,
    budget: u32,
    enough: f64,
    passages: usize,
    scorer: &'a dyn Scorer,
    limits: Limits,
}

impl std::fmt::Debug for Navigate<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Navigate")
            .field("document", &self.document)
            .field("question", &self.question)
            .field("budget", &self.budget)
            .field("enough", &self.enough)
            .finish_non_exhaustive()
    }
}

static BM25: Bm25Scorer = Bm25Scorer { bm25: crate::search::Bm25 { k1: 1.5, b: 0.75 } };

impl<'a> Navigate<'a> {
    /// A question, with a branching budget of 3 and the built-in scorer.
    pub fn new(document: &'a str, question: &'a str) -> Self {
        Self { document, question, budget: 3, enough: 0.6, passages: 5, scorer: &BM25, limits: Limits::default() }
    }

    /// How often a step may go back before the source is searched instead.
    pub fn budget(mut self, level_ups: u32) -> Self {
        self.budget = level_ups;
        self
    }

    /// How much of the question a subject must answer, 0 to 1: 0.6 unless set. With the built-in scorer, the share of
    /// the weight of its terms.
    pub fn enough(mut self, share: f64) -> Self {
        self.enough = share;
        self
    }

    /// Passages that are given, at most.
    pub fn passages(mut self, passages: usize) -> Self {
        self.passages = passages;
        self
    }

    /// What chooses the way.
    pub fn scorer(mut self, scorer: &'a dyn Scorer) -> Self {
        self.scorer = scorer;
        self
    }

    /// When to stop before the answer.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

/// Where a question led.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Navigation {
    /// The question.
    pub question: String,
    /// Every page that was opened, in order.
    pub path: Vec<Step>,
    /// The pages that answer; where the outline has no answer, those that came nearest.
    pub pages: Vec<OutlinePage>,
    /// Passages of the source: of the values of the page that answers; where it has none, found by search.
    pub passages: Vec<Passage>,
    /// Whether the outline had no answer, and the source was searched.
    pub fallback: bool,
    /// How often a step went back.
    pub level_ups: u32,
}

/// A page that was opened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// Its path.
    pub page: Vec<String>,
    /// Its title.
    pub title: String,
    /// The score of the entry that led to it; 0 of the root.
    pub score: f64,
}

/// A page whose entries are still to be tried, best first.
struct Frame {
    entries: Vec<(f64, Vec<String>)>,
    next: usize,
}

/// A walk under way.
struct Search<'a> {
    snapshot: &'a Snapshot,
    asked: &'a Navigate<'a>,
    question: Question,
    opened: HashSet<Vec<String>>,
    path: Vec<Step>,
    /// The subject that came nearest to an answer.
    nearest: Option<(f64, OutlinePage)>,
}

impl Snapshot {
    /// Leads a question through a document's outline.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) where the document has no outline;
    /// [`Error::Cancelled`](crate::Error::Cancelled).
    pub fn navigate(&self, asked: &Navigate<'_>) -> Result<Navigation> {
        let question = Question::new(self, asked.document, asked.question)?;
        let mut search =
            Search { snapshot: self, asked, question, opened: HashSet::new(), path: Vec::new(), nearest: None };
        let (answer, level_ups) = search.walk()?;
        let (pages, mut passages) = match &answer {
            Some((score, page)) => (vec![page.clone()], self.passages_of(page, *score, asked.passages)?),
            None => (search.nearest.take().map(|(_, page)| page).into_iter().collect(), Vec::new()),
        };
        if passages.is_empty() {
            // A miss; or a page whose values name no place, which the source may say more of.
            let about = answer.as_ref().map_or("", |(_, page)| page.title.as_str());
            let query = Query::new(format!("{} {about}", asked.question)).document(asked.document).k(asked.passages);
            for hit in self.search(&query)?.hits {
                passages.push(Passage::of(self.chunk_at(&hit.document, hit.ordinal)?, hit.score));
            }
        }
        Ok(Navigation {
            question: asked.question.to_owned(),
            path: search.path,
            pages,
            passages,
            fallback: answer.is_none(),
            level_ups,
        })
    }

    /// The chunks that the values of a page come from, each once, in the order of the values.
    fn passages_of(&self, page: &OutlinePage, score: f64, most: usize) -> Result<Vec<Passage>> {
        let mut seen = BTreeSet::new();
        let mut passages = Vec::new();
        for value in page.fields.iter().flat_map(|field| &field.values) {
            let Some((start, _)) = value.span else { continue };
            let Some(ordinal) = self.chunk_at_offset(&page.document, start)? else { continue };
            if passages.len() >= most || !seen.insert(ordinal) {
                continue;
            }
            let chunk = self.chunk_at(&page.document, ordinal)?;
            passages.push(Passage::of(chunk, score));
        }
        Ok(passages)
    }
}

impl Search<'_> {
    /// Walks until a subject answers or the budget is used up.
    fn walk(&mut self) -> Result<(Option<(f64, OutlinePage)>, u32)> {
        let root = self.open(&[], 0.0)?;
        let mut level_ups = 0;
        let mut frames = vec![self.frame(&root)?];
        while let Some(frame) = frames.last_mut() {
            self.asked.limits.check()?;
            let best = frame.entries.get(frame.next).cloned();
            frame.next += 1;
            let Some((score, path)) = best.filter(|_| self.path.len() < PAGES) else {
                frames.pop();
                if frames.is_empty() || level_ups == self.asked.budget {
                    break;
                }
                level_ups += 1;
                continue;
            };
            if self.opened.contains(&path) {
                continue;
            }
            let page = self.open(&path, score)?;
            if !page.is_subject || !page.entries.is_empty() {
                frames.push(self.frame(&page)?);
                continue;
            }
            if let Some(answer) = self.judge(page)? {
                return Ok((Some(answer), level_ups));
            }
            if level_ups == self.asked.budget {
                break;
            }
            level_ups += 1;
        }
        Ok((None, level_ups))
    }

    fn open(&mut self, path: &[String], score: f64) -> Result<OutlinePage> {
        let page = self.snapshot.outline(self.asked.document, path)?;
        self.opened.insert(path.to_vec());
        self.path.push(Step { page: path.to_vec(), title: page.title.clone(), score });
        Ok(page)
    }

    /// The entries of a page, best first; subjects that are not worth following are left out.
    fn frame(&self, page: &OutlinePage) -> Result<Frame> {
        let scores = self.asked.scorer.score(&self.question, page, &page.entries)?;
        // A page below says more than its entry: where nothing else is left, it is tried, too.
        let worth = |score: f64, entry: &OutlineEntry| score > 0.0 || score == 0.0 && entry.kind != EntryKind::Subject;
        let scored = scores.into_iter().zip(&page.entries).filter(|(score, entry)| worth(*score, entry));
        let mut entries: Vec<(f64, Vec<String>)> = scored.map(|(score, entry)| (score, entry.path.clone())).collect();
        // Ties stay in the order of the page.
        entries.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(Frame { entries, next: 0 })
    }

    /// Whether a subject answers, or one that it links to.
    fn judge(&mut self, page: OutlinePage) -> Result<Option<(f64, OutlinePage)>> {
        let answers = self.asked.scorer.answers(&self.question, &page)?;
        if answers >= self.asked.enough {
            return Ok(Some((answers, page)));
        }
        let mut best: Option<(f64, Vec<String>)> = None;
        for link in page.links.iter().take(LINKS) {
            let Some(path) = self.snapshot.resolve_link(self.asked.document, link)? else { continue };
            if self.opened.contains(&path) {
                continue;
            }
            let linked = self.snapshot.outline(self.asked.document, &path)?;
            let score = self.asked.scorer.answers(&self.question, &linked)?;
            if best.as_ref().is_none_or(|(before, _)| score > *before) {
                best = Some((score, path));
            }
        }
        if self.nearest.as_ref().is_none_or(|(before, _)| answers > *before) {
            self.nearest = Some((answers, page));
        }
        match best {
            Some((score, path)) if score >= self.asked.enough => {
                let page = self.open(&path, score)?;
                Ok(Some((score, page)))
            }
            _ => Ok(None),
        }
    }
}

impl Snapshot {
    /// Ordinal of the chunk of a document that holds a place of the source; `None` behind the end.
    pub fn chunk_at_offset(&self, document: &str, offset: u64) -> Result<Option<u32>> {
        let head = self.head(document)?;
        let row = |ordinal: u32| self.view().text_row(self.chunk_id(&head, ordinal)?);
        if head.chunks == 0 {
            return Ok(None);
        }
        if row(0)?.span.is_some() && row(head.chunks - 1)?.span.is_some() {
            // Spans ascend; the last that starts at or before the place has it, if any.
            let (mut low, mut high) = (0, head.chunks);
            while low < high {
                let middle = low + (high - low) / 2;
                match row(middle)?.span {
                    Some((start, _)) if start <= offset => low = middle + 1,
                    _ => high = middle,
                }
            }
            let Some(ordinal) = low.checked_sub(1) else { return Ok(None) };
            return Ok(row(ordinal)?.span.filter(|(_, end)| offset < *end).map(|_| ordinal));
        }
        let mut start = 0;
        for ordinal in 0..head.chunks {
            start += u64::from(row(ordinal)?.text_bytes);
            if offset < start {
                return Ok(Some(ordinal));
            }
        }
        Ok(None)
    }

    /// Where a chunk begins in the source.
    pub(crate) fn chunk_start(&self, document: &str, ordinal: u32) -> Result<Option<u64>> {
        let head = self.head(document)?;
        if ordinal >= head.chunks {
            return Ok(None);
        }
        let row = |ordinal: u32| self.view().text_row(self.chunk_id(&head, ordinal)?);
        if let Some((start, _)) = row(ordinal)?.span {
            return Ok(Some(start));
        }
        let mut start = 0;
        for before in 0..ordinal {
            start += u64::from(row(before)?.text_bytes);
        }
        Ok(Some(start))
    }
}
