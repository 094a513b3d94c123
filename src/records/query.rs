//! What can be asked of the records, and what comes back.

use crate::ingest::{RecordKind, RecordUpdate};
use crate::search::Limits;
use crate::search::Passage;

/// A record, as readers see it: a key to passages, never the answer. Fields that it does not have are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// Whom or what it is about.
    pub entity: String,
    /// Type of the entity.
    pub entity_type: String,
    /// What it says.
    pub kind: RecordKind,
    /// The property, relation or aspect.
    pub label: String,
    /// A coarse label for the same.
    pub coarse: String,
    /// The value; of a relation, the other entity.
    pub value: String,
    /// Label and value of the condition under which it holds.
    pub condition: Option<(String, String)>,
    /// When it holds, as the source says it.
    pub valid: String,
    /// The document that says so.
    pub document: String,
    /// The chunks that support it, as ordinals of the document, ascending.
    pub chunks: Vec<u32>,
}

impl Record {
    /// The record as it is given to [`Writer`](crate::Writer), which knows it by this.
    pub fn update(&self) -> RecordUpdate {
        RecordUpdate {
            entity: self.entity.clone(),
            entity_type: self.entity_type.clone(),
            kind: self.kind,
            label: self.label.clone(),
            coarse: self.coarse.clone(),
            value: self.value.clone(),
            condition: self.condition.clone(),
            valid: self.valid.clone(),
        }
    }
}

/// How much each field that a query gives weighs. They are taken in proportion: only those of given fields count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordWeights {
    /// Entity.
    pub entity: f64,
    /// Type of the entity.
    pub entity_type: f64,
    /// Label.
    pub label: f64,
    /// Value.
    pub value: f64,
    /// Label of the condition.
    pub condition_label: f64,
    /// Value of the condition.
    pub condition_value: f64,
}

impl Default for RecordWeights {
    fn default() -> Self {
        Self { entity: 0.25, entity_type: 0.08, label: 0.22, value: 0.18, condition_label: 0.12, condition_value: 0.15 }
    }
}

/// A question to the records: any subset of the fields. Fields are compared in their normal form (NFKC, case folding,
/// white space; in labels `-` and space are `_`).
///
/// ```
/// use plica::records::RecordQuery;
/// let query = RecordQuery::new().entity("Jane Bennet").label("sister of");
/// assert_eq!(query.k, 12);
/// ```
#[derive(Debug, Clone)]
pub struct RecordQuery {
    /// Only records of this document.
    pub document: Option<String>,
    /// Entity.
    pub entity: Option<String>,
    /// Type of the entity.
    pub entity_type: Option<String>,
    /// Kind.
    pub kind: Option<RecordKind>,
    /// Label. A ranking takes coarse labels for it as well, a look-up does not.
    pub label: Option<String>,
    /// Coarse label.
    pub coarse: Option<String>,
    /// Value.
    pub value: Option<String>,
    /// Label of the condition.
    pub condition_label: Option<String>,
    /// Value of the condition.
    pub condition_value: Option<String>,
    /// Whether entity, type, label, coarse label and value are given by their beginnings.
    pub prefix: bool,
    /// Edits by which the entity's name may differ: 0, 1 or 2 characters inserted, left out or exchanged. With
    /// [`RecordQuery::prefix`], a beginning of the name may. Only a ranking takes it.
    pub fuzzy: u8,
    /// Weights of a ranking.
    pub weights: RecordWeights,
    /// Records that score less are left out of a ranking.
    pub floor: f64,
    /// Passages at most.
    pub k: usize,
    /// Records at most: the first in order.
    pub limit: usize,
    /// How long the call may take.
    pub limits: Limits,
}

impl Default for RecordQuery {
    fn default() -> Self {
        Self {
            document: None,
            entity: None,
            entity_type: None,
            kind: None,
            label: None,
            coarse: None,
            value: None,
            condition_label: None,
            condition_value: None,
            prefix: false,
            fuzzy: 0,
            weights: RecordWeights::default(),
            floor: 0.35,
            k: 12,
            limit: 1000,
            limits: Limits::default(),
        }
    }
}

impl RecordQuery {
    /// All records: no field is given; 12 passages, 1,000 records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks one document.
    pub fn document(mut self, id: impl Into<String>) -> Self {
        self.document = Some(id.into());
        self
    }

    /// Gives the entity.
    pub fn entity(mut self, entity: impl Into<String>) -> Self {
        self.entity = Some(entity.into());
        self
    }

    /// Gives the type of the entity.
    pub fn entity_type(mut self, entity_type: impl Into<String>) -> Self {
        self.entity_type = Some(entity_type.into());
        self
    }

    /// Gives the kind.
    pub fn kind(mut self, kind: RecordKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// Gives the label.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Gives the coarse label.
    pub fn coarse(mut self, coarse: impl Into<String>) -> Self {
        self.coarse = Some(coarse.into());
        self
    }

    /// Gives the value.
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.value = Some(value.into());
        self
    }

    /// Gives the label of the condition.
    pub fn condition_label(mut self, label: impl Into<String>) -> Self {
        self.condition_label = Some(label.into());
        self
    }

    /// Gives the value of the condition.
    pub fn condition_value(mut self, value: impl Into<String>) -> Self {
        self.condition_value = Some(value.into());
        self
    }

    /// Sets whether fields are given by their beginnings.
    pub fn prefix(mut self, prefix: bool) -> Self {
        self.prefix = prefix;
        self
    }

    /// Sets by how many edits the entity's name may differ, at most 2.
    pub fn fuzzy(mut self, edits: u8) -> Self {
        self.fuzzy = edits;
        self
    }

    /// Sets the number of passages.
    pub fn k(mut self, k: usize) -> Self {
        self.k = k;
        self
    }

    /// Sets the number of records.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}

/// A record of a ranking.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScoredRecord {
    /// The record.
    pub record: Record,
    /// Its score, 0 to 1.
    pub score: f64,
}

/// In which ways a ranking went beyond the fields as they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fallback {
    /// Other names, from the entity memory, under which the entity's records were found.
    pub names: Vec<String>,
    /// Whether entities with a similar name were taken.
    pub similar: bool,
    /// Whether an entity had no such label, and labels that share a word were taken.
    pub label: bool,
}

/// The answer to a ranking.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordAnswer {
    /// The records, best first; equals in reading order.
    pub records: Vec<ScoredRecord>,
    /// How many records reached the floor.
    pub total: usize,
    /// The passages, best first; equals in reading order.
    pub passages: Vec<Passage>,
    /// How they were found.
    pub fallback: Fallback,
}
