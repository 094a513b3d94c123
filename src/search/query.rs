//! What can be asked, and what comes back.

use super::Bm25;
use crate::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Which chunks are asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Scope {
    /// All documents. An index of one document is searched as that document.
    #[default]
    Collection,
    /// One document, by id, with its own statistics.
    Document(String),
}

/// Whose statistics (number of units, frequencies, mean lengths) the scores are computed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Statistics {
    /// Those of all documents together.
    #[default]
    Collection,
    /// Those of each chunk's own document.
    Document,
}

/// Weights of the three channels. A channel with weight 0 is not computed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Text.
    pub text: f64,
    /// Entity memory.
    pub memory: f64,
    /// Level-1 summaries.
    pub summary: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self { text: 1.0, memory: 0.5, summary: 0.3 }
    }
}

impl Weights {
    /// The text channel alone.
    pub const TEXT: Self = Self { text: 1.0, memory: 0.0, summary: 0.0 };

    pub(super) fn array(self) -> [f64; 3] {
        [self.text, self.memory, self.summary]
    }
}

/// How long a call may take.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// The call ends with [`Error::Cancelled`] after this moment.
    pub deadline: Option<Instant>,
    /// The call ends with [`Error::Cancelled`] when this is set.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Limits {
    /// Whether the call may go on.
    pub(crate) fn check(&self) -> Result<()> {
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let cancelled = self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed));
        if late || cancelled { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// A question.
///
/// ```
/// use plica::{Query, Weights};
/// let query = Query::new("Who rents Netherfield Park?").document("pride").k(5).explain(true);
/// let text_alone = Query { weights: Weights::TEXT, ..query.clone() };
/// assert_eq!(text_alone.k, 5);
/// ```
#[derive(Debug, Clone)]
pub struct Query {
    /// The question, in plain words.
    pub text: String,
    /// Which chunks are asked.
    pub scope: Scope,
    /// Whose statistics are used in a collection; in one document always its own.
    pub statistics: Statistics,
    /// Hits at most.
    pub k: usize,
    /// Hits passed over.
    pub offset: usize,
    /// Weights of the channels.
    pub weights: Weights,
    /// Constants of BM25.
    pub bm25: Bm25,
    /// In a collection: how many of the best chunks of each channel make the pool; at least `offset + k` are taken.
    pub pool: usize,
    /// Whether chunks that match in no channel are hits too.
    pub all: bool,
    /// Whether each hit says how it came about.
    pub explain: bool,
    /// Only documents whose metadata has all these values: (key, value) of the JSON object's top level. A string is
    /// compared as it is, anything else by its JSON. Statistics are those of all documents.
    pub filter: Vec<(String, String)>,
    /// How long the call may take.
    pub limits: Limits,
}

impl Query {
    /// A question to all documents: 10 hits, the three channels, a pool of 1,000.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            scope: Scope::Collection,
            statistics: Statistics::Collection,
            k: 10,
            offset: 0,
            weights: Weights::default(),
            bm25: Bm25::default(),
            pool: 1000,
            all: false,
            explain: false,
            filter: Vec::new(),
            limits: Limits::default(),
        }
    }

    /// Asks one document.
    pub fn document(mut self, id: impl Into<String>) -> Self {
        self.scope = Scope::Document(id.into());
        self
    }

    /// Sets the number of hits.
    pub fn k(mut self, k: usize) -> Self {
        self.k = k;
        self
    }

    /// Sets whether hits are explained.
    pub fn explain(mut self, explain: bool) -> Self {
        self.explain = explain;
        self
    }
}

/// The answer to a [`Query`].
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Whose statistics were used.
    pub statistics: Statistics,
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How many hits there were in the pool before `offset` and `k`.
    pub total: usize,
}

/// A chunk that answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Place in the ranking, from 1.
    pub rank: usize,
    /// External id, else `DOC#ORDINAL`.
    pub id: String,
    /// `DOC#ORDINAL`.
    pub chunk: String,
    /// Id of the document.
    pub document: String,
    /// Place in the document, from 0.
    pub ordinal: u32,
    /// Fused score.
    pub score: f64,
    /// Title of the chunk, or empty.
    pub title: String,
    /// Text of the chunk.
    pub text: String,
    /// Start and end in the source, in bytes, where known.
    pub span: Option<(u64, u64)>,
    /// How the score came about, where asked for.
    pub explanation: Option<Explanation>,
}

/// How the score of a hit came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Text.
    pub text: Channel,
    /// Entity memory.
    pub memory: Channel,
    /// Summaries.
    pub summary: Channel,
    /// Records linked to the chunk that match the question, best first.
    pub records: Vec<LinkedRecord>,
    /// The level-1 summary that covers the chunk, where there is one.
    pub covering_summary: Option<String>,
}

/// One channel of an explanation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Channel {
    /// Score as computed.
    pub raw: f64,
    /// z-score over the pool.
    pub normalised: f64,
    /// Weight of the channel.
    pub weight: f64,
}

/// A record that linked a chunk to the question.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkedRecord {
    /// Its name.
    pub name: String,
    /// Its aliases that share a term with the question.
    pub aliases: Vec<String>,
    /// Its descriptions that share a term with the question.
    pub descriptions: Vec<String>,
    /// Scores of name, aliases and descriptions.
    pub scores: [f64; 3],
}
