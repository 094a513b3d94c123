//! Plans of several hops: what one hop finds fills the next.
//!
//! A plan is JSON, such as
//!
//! ```text
//! {"hops":[{"id":"h1","match":{"entity":"Jane Bennet","label":"sister_of"},"mode":"point"},
//!          {"id":"h2","match":{"entity":"$h1.value","label":"admired_by"},"mode":"all"}]}
//! ```
//!
//! A field that is `$ID.value` or `$ID.entity` takes, one after another, the values or entities that hop `ID` bound. A
//! hop can only refer to hops before it, so no plan goes round in circles.

use super::query::{Record, RecordQuery};
use super::rank::{Candidate, rank};
use super::reading::Reading;
use crate::index::Snapshot;
use crate::index::records::symbol;
use crate::ingest::RecordKind;
use crate::search::Limits;
use crate::search::Passage;
use crate::{Error, Result};
use plica_format::document::DocumentHead;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Hops of a plan.
const HOPS: usize = 64;
/// Questions that one hop may come to.
const QUESTIONS: usize = 10_000;
/// Bindings of one hop.
const BINDINGS: usize = 100_000;

/// A plan of hops.
///
/// ```
/// use plica::records::Plan;
/// let plan = Plan::parse(r#"{"hops":[{"id":"h1","match":{"entity":"Jane Bennet","label":"sister_of"}}]}"#)?;
/// assert_eq!(plan.hops[0].mode, plica::records::HopMode::Point);
/// assert!(Plan::parse(r#"{"hops":[{"id":"h1","match":{"entity":"$h1.value"}}]}"#).is_err());
/// # Ok::<(), plica::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The hops, in the order in which they are made; at least one.
    pub hops: Vec<Hop>,
}

/// One hop.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// Its name, by which later hops refer to it.
    pub id: String,
    /// The fields that a record must match.
    #[serde(rename = "match")]
    pub fields: HopFields,
    /// How many records it binds.
    #[serde(default)]
    pub mode: HopMode,
}

/// The fields of a hop. A text may be `$ID.value` or `$ID.entity`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopFields {
    /// Only records of this document.
    pub doc: Option<String>,
    /// Entity.
    pub entity: Option<String>,
    /// Type of the entity.
    #[serde(alias = "type")]
    pub entity_type: Option<String>,
    /// Kind: `property`, `relation` or `aspect`.
    pub kind: Option<String>,
    /// Label.
    pub label: Option<String>,
    /// Value.
    pub value: Option<String>,
    /// Condition.
    pub condition: Option<HopCondition>,
}

/// A condition of a hop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopCondition {
    /// Its label.
    pub label: Option<String>,
    /// Its value.
    pub value: Option<String>,
}

/// How many records a hop binds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HopMode {
    /// The best, for each distinct binding of what the hop refers to.
    #[default]
    Point,
    /// All in which every field fits.
    All,
}

/// What a field of a hop refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Entity,
    Value,
}

/// What one hop found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HopAnswer {
    /// Name of the hop.
    pub id: String,
    /// The records that it bound: in the order of the bindings that it refers to, of each the best first.
    pub bindings: Vec<Record>,
    /// The passages that support them, best first, equals in reading order.
    pub passages: Vec<Passage>,
}

/// How a plan is run.
#[derive(Debug, Clone)]
pub struct HopOptions {
    /// Passages of each hop at most.
    pub k: usize,
    /// How long the call may take.
    pub limits: Limits,
}

impl Default for HopOptions {
    fn default() -> Self {
        Self { k: 12, limits: Limits::default() }
    }
}

impl HopFields {
    /// The texts that may refer to an earlier hop.
    fn texts(&self) -> impl Iterator<Item = &String> {
        let (label, value) = self.condition.as_ref().map_or((None, None), |c| (c.label.as_ref(), c.value.as_ref()));
        let own = [&self.entity, &self.entity_type, &self.label, &self.value].map(Option::as_ref);
        own.into_iter().chain([label, value]).flatten()
    }
}

impl Plan {
    /// Reads a plan and checks it.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what is no plan: an unknown key, a hop without a field or whose name is not its own, a
    /// reference to a hop that does not come before.
    pub fn parse(json: &str) -> Result<Self> {
        let plan: Self = serde_json::from_str(json).map_err(|error| Error::invalid(format!("not a plan: {error}")))?;
        plan.check()?;
        Ok(plan)
    }

    /// Checks what a plan that was put together by hand must keep to.
    fn check(&self) -> Result<()> {
        if self.hops.is_empty() {
            return Err(Error::invalid("a plan needs at least one hop; \"hops\" is empty"));
        }
        if self.hops.len() > HOPS {
            return Err(Error::Limit { what: "the hops of a plan", limit: HOPS as u64, got: self.hops.len() as u64 });
        }
        let all: BTreeSet<&str> = self.hops.iter().map(|hop| hop.id.as_str()).collect();
        let mut before: BTreeSet<&str> = BTreeSet::new();
        for hop in &self.hops {
            let id = &hop.id;
            let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            if id.is_empty() || !id.chars().all(is_name) {
                return Err(Error::invalid(format!("a hop's id is letters, numbers, _ and -, got {id:?}")));
            }
            if hop.fields.texts().next().is_none() && hop.fields.kind.is_none() {
                return Err(Error::invalid(format!("hop {id:?} matches anything; give it at least one field")));
            }
            if let Some(kind) = hop.fields.kind.as_deref().filter(|kind| RecordKind::from_name(kind).is_none()) {
                return Err(Error::invalid(format!(
                    "hop {id:?} has kind {kind:?}; it is property, relation or aspect"
                )));
            }
            for text in hop.fields.texts() {
                let Some((other, _)) = reference(text)? else { continue };
                if !all.contains(other) {
                    return Err(Error::invalid(format!(
                        "hop {id:?} refers to {text:?}, and there is no hop {other:?}"
                    )));
                }
                if !before.contains(other) {
                    return Err(Error::invalid(format!(
                        "hop {id:?} refers to {text:?}, which does not come before it; a hop can only use what earlier hops found"
                    )));
                }
            }
            if !before.insert(id) {
                return Err(Error::invalid(format!("two hops have the id {id:?}")));
            }
        }
        Ok(())
    }
}

/// What a text refers to, where it is a reference.
fn reference(text: &str) -> Result<Option<(&str, Part)>> {
    let Some(rest) = text.strip_prefix('$') else { return Ok(None) };
    match rest.rsplit_once('.') {
        Some((id, "value")) => Ok(Some((id, Part::Value))),
        Some((id, "entity")) => Ok(Some((id, Part::Entity))),
        // Amounts of money begin so, too.
        _ if rest.starts_with(|c: char| c.is_ascii_digit()) => Ok(None),
        _ => Err(Error::invalid(format!("{text:?} refers to nothing; expected $ID.value or $ID.entity"))),
    }
}

/// What the references of a hop stand for in one question.
type Filled = BTreeMap<(String, Part), String>;

impl Snapshot {
    /// Runs a plan: the bindings and passages of each hop.
    ///
    /// A hop whose references have no binding finds nothing. Values that are the same in their compared form are one
    /// binding.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what is no plan (see [`Plan::parse`]), [`Error::Limit`] where a hop comes to more than
    /// 10,000 questions or binds more than 100,000 records, and those of [`Snapshot::records`].
    pub fn hop(&self, plan: &Plan, options: &HopOptions) -> Result<Vec<HopAnswer>> {
        plan.check()?;
        let reading = Reading::new(self, &options.limits)?;
        let mut answers: Vec<HopAnswer> = Vec::with_capacity(plan.hops.len());
        for hop in &plan.hops {
            let answer = run(&reading, hop, &answers, options)?;
            answers.push(answer);
        }
        Ok(answers)
    }
}

fn run(reading: &Reading<'_>, hop: &Hop, before: &[HopAnswer], options: &HopOptions) -> Result<HopAnswer> {
    let mut seen = BTreeSet::new();
    let mut bindings = Vec::new();
    let mut passages: BTreeMap<(String, u32), (f64, Arc<DocumentHead>)> = BTreeMap::new();
    for filled in questions(hop, before)? {
        let query = question(hop, &filled, options)?;
        let ranked = rank(reading, &query, hop.mode == HopMode::All)?;
        for candidate in &ranked.records {
            reading.step()?;
            let record = reading.record(&candidate.decoded()?, &candidate.head)?;
            for &chunk in &candidate.decoded()?.chunks {
                let passage = passages.entry((candidate.head.id.clone(), chunk));
                let entry = passage.or_insert_with(|| (candidate.score, Arc::clone(&candidate.head)));
                entry.0 = entry.0.max(candidate.score);
            }
            if seen.insert(identity(candidate)) {
                bindings.push(record);
            }
            if bindings.len() > BINDINGS {
                let (limit, got) = (BINDINGS as u64, bindings.len() as u64);
                return Err(Error::Limit { what: "the bindings of one hop", limit, got });
            }
        }
    }
    let mut best: Vec<(f64, Arc<DocumentHead>, u32)> =
        passages.into_iter().map(|((_, chunk), (score, head))| (score, head, chunk)).collect();
    // Stable, so equals stay in reading order.
    best.sort_by(|a, b| b.0.total_cmp(&a.0));
    best.truncate(options.k);
    let passages = best.iter().map(|passage| reading.passage(passage)).collect::<Result<_>>()?;
    Ok(HopAnswer { id: hop.id.clone(), bindings, passages })
}

/// What makes a candidate the record that it is.
fn identity(candidate: &Candidate) -> (u32, super::Place) {
    (candidate.head.number, candidate.place().clone())
}

/// The distinct ways in which the references of a hop can be filled, in the order of the bindings.
fn questions(hop: &Hop, before: &[HopAnswer]) -> Result<Vec<Filled>> {
    let mut wanted: BTreeMap<&str, BTreeSet<Part>> = BTreeMap::new();
    for text in hop.fields.texts() {
        if let Some((id, part)) = reference(text)? {
            wanted.entry(id).or_default().insert(part);
        }
    }
    let mut questions = vec![Filled::new()];
    for (id, parts) in wanted {
        let Some(answer) = before.iter().find(|answer| answer.id == id) else { return Ok(Vec::new()) };
        let mut seen = BTreeSet::new();
        let mut ways: Vec<Filled> = Vec::new();
        for record in &answer.bindings {
            let mut way = Filled::new();
            for &part in &parts {
                let text = match part {
                    Part::Entity => &record.entity,
                    Part::Value => &record.value,
                };
                way.insert((id.to_owned(), part), text.clone());
            }
            let compared: Vec<String> = way.values().map(|text| symbol(text)).collect();
            if compared.iter().all(|text| !text.is_empty()) && seen.insert(compared) {
                ways.push(way);
            }
        }
        let count = questions.len().saturating_mul(ways.len());
        if count > QUESTIONS {
            let (limit, got) = (QUESTIONS as u64, count as u64);
            return Err(Error::Limit { what: "the questions that one hop comes to", limit, got });
        }
        let mut all = Vec::with_capacity(count);
        for question in &questions {
            for way in &ways {
                all.push(question.iter().chain(way).map(|(part, text)| (part.clone(), text.clone())).collect());
            }
        }
        questions = all;
    }
    Ok(questions)
}

/// The question of a hop with its references filled.
fn question(hop: &Hop, filled: &Filled, options: &HopOptions) -> Result<RecordQuery> {
    let fill = |text: &Option<String>| -> Result<Option<String>> {
        let Some(text) = text else { return Ok(None) };
        Ok(match reference(text)? {
            Some((id, part)) => filled.get(&(id.to_owned(), part)).cloned(),
            None => Some(text.clone()),
        })
    };
    let fields = &hop.fields;
    let condition = fields.condition.clone().unwrap_or_default();
    Ok(RecordQuery {
        document: fields.doc.clone(),
        entity: fill(&fields.entity)?,
        entity_type: fill(&fields.entity_type)?,
        kind: fields.kind.as_deref().and_then(RecordKind::from_name),
        label: fill(&fields.label)?,
        value: fill(&fields.value)?,
        condition_label: fill(&condition.label)?,
        condition_value: fill(&condition.value)?,
        k: options.k,
        limit: if hop.mode == HopMode::Point { 1 } else { BINDINGS + 1 },
        limits: options.limits.clone(),
        ..RecordQuery::new()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_plan_is_refused_and_said_why() {
        for (json, said) in [
            ("{}", "hops"),
            (r#"{"hops":[]}"#, "at least one hop"),
            (r#"{"hops":[{"id":"a","match":{"entity":"x"},"extra":1}]}"#, "extra"),
            (r#"{"hops":[{"id":"a","match":{"entity":"x","place":"y"}}]}"#, "place"),
            (r#"{"hops":[{"id":"a","match":{}}]}"#, "matches anything"),
            (r#"{"hops":[{"id":"a","match":{"kind":"thing"}}]}"#, "thing"),
            (r#"{"hops":[{"id":"a","match":{"entity":"x"},"mode":"some"}]}"#, "some"),
            (r#"{"hops":[{"id":"a","match":{"entity":"$b.value"}}]}"#, "no hop \"b\""),
            (r#"{"hops":[{"id":"a","match":{"entity":"$a.value"}}]}"#, "does not come before"),
            (
                r#"{"hops":[{"id":"a","match":{"entity":"$b.value"}},{"id":"b","match":{"entity":"$a.value"}}]}"#,
                "does not come before",
            ),
            (r#"{"hops":[{"id":"a","match":{"entity":"$b"}}]}"#, "refers to nothing"),
            (r#"{"hops":[{"id":"a","match":{"label":"x"}},{"id":"a","match":{"label":"x"}}]}"#, "two hops"),
            (r#"{"hops":[{"id":"a.b","match":{"label":"x"}}]}"#, "letters"),
        ] {
            let error = Plan::parse(json).unwrap_err().to_string();
            assert!(error.contains(said), "{json}: {error}");
        }
        assert!(Plan::parse(r#"{"hops":[{"id":"a","match":{"label":"price","value":"$12"}}]}"#).is_ok());
    }
}
