//! What a navigation asks at each page: which entry looks best, and whether a subject answers.

use super::page::{EntryKind, OutlineEntry, OutlinePage};
use crate::Result;
use crate::index::Snapshot;
use crate::index::outline::subject_key;
use crate::search::Bm25;
use crate::search::bm25::idf;
use crate::text::{key, tokens};
use plica_format::key::{self as keys, Field, INDEX_SCOPE};
use plica_format::page::MemoryScope;
use std::collections::{BTreeSet, HashMap};

/// Words of a name that is looked for in a question, at most.
const NAME_WORDS: usize = 5;
/// Other names that one name of a question stands for, at most.
const OTHER_NAMES: usize = 16;

/// Subjects that a question names, at most.
const SUBJECTS: usize = 64;
/// English words that ask, and say nothing of what is asked for.
const ASKING: [&str; 40] = [
    "what", "who", "whom", "whose", "which", "when", "where", "why", "how", "do", "does", "did", "is", "are", "was",
    "were", "be", "been", "has", "have", "had", "can", "could", "should", "would", "will", "the", "a", "an", "of",
    "in", "on", "at", "to", "for", "by", "and", "or", "it", "there",
];

/// A question as it is scored.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Question {
    /// As it was asked.
    pub text: String,
    /// Its terms, each once, in order.
    pub terms: Vec<QuestionTerm>,
    /// Subjects of the outline that it names, by a name of theirs that the entity memory knows, too.
    pub subjects: Vec<NamedSubject>,
}

/// A subject that a question names.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NamedSubject {
    /// Category path and name.
    pub path: Vec<String>,
    /// Weight of the terms that name it.
    pub weight: f64,
}

/// A term of a question.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct QuestionTerm {
    /// The term.
    pub text: String,
    /// Its inverse document frequency in the document's chunks; of a term that no chunk has, that of one in no chunk;
    /// 0 of an English word that only asks ("what", "does").
    pub weight: f64,
    /// Whether a chunk of the document has it.
    pub is_known: bool,
    /// Tokens of other names, by the entity memory, of what the question names with this term: any of them stands for it.
    pub names: Vec<Vec<String>>,
}

/// Chooses a way through an outline.
///
/// The built-in one is [`Bm25Scorer`]; a scorer may as well ask a model, where the caller wants that.
pub trait Scorer: Sync {
    /// Scores the entries of a page; more is better. A subject of 0 is not followed, a category or a range of 0 last, anything below 0
    /// never.
    fn score(&self, question: &Question, page: &OutlinePage, entries: &[OutlineEntry]) -> Result<Vec<f64>>;

    /// How much of the question a page of one subject answers, from 0 to 1; a navigation ends where it is
    /// [`Navigate::enough`](super::Navigate::enough).
    fn answers(&self, question: &Question, page: &OutlinePage) -> Result<f64>;
}

/// BM25 over the entries of a page, with the document's own term weights: titles, summaries and fields, titles threefold.
/// An entry that leads to a subject which the question names counts that name twice; one for a range of names, half of a term that
/// lies in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bm25Scorer {
    /// The constants.
    pub bm25: Bm25,
}

impl Question {
    /// Prepares a question to a document: weighs its terms, and looks its names up in the entity memory.
    pub fn new(snapshot: &Snapshot, document: &str, text: &str) -> Result<Self> {
        let head = snapshot.head(document)?;
        let view = snapshot.view();
        let is_whole = u64::from(head.last_chunk - head.first_chunk) + 1 == u64::from(head.chunks);
        let own: BTreeSet<u32> =
            if is_whole { BTreeSet::new() } else { snapshot.chunk_ids(&head)?.into_iter().collect() };
        let mut terms: Vec<QuestionTerm> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for token in tokens(text).into_iter().take(plica_format::limits::QUERY_TERMS) {
            if places.contains_key(&token) {
                continue;
            }
            let postings = view.postings(Field::Text, &token, head.first_chunk, head.last_chunk)?;
            let with = postings.iter().filter(|posting| is_whole || own.contains(&posting.id)).count();
            let asks = ASKING.contains(&token.as_str());
            places.insert(token.clone(), terms.len());
            terms.push(QuestionTerm {
                text: token,
                weight: if asks { 0.0 } else { idf(u64::from(head.chunks), with as u64) },
                is_known: with > 0 && !asks,
                names: Vec::new(),
            });
        }
        let scope = match snapshot.parameters().memory {
            MemoryScope::Document => head.number,
            MemoryScope::Index => INDEX_SCOPE,
        };
        let words: Vec<&str> = text
            .split_whitespace()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
            .map(|word| word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word))
            .take(plica_format::limits::QUERY_TERMS)
            .collect();
        let mut subjects: Vec<NamedSubject> = Vec::new();
        // A question that was learned is a subject's name itself.
        let budget = view.outline_head(head.number)?.map_or(0, |outline| outline.budget);
        let whole = super::learn::subject_name(text, budget);
        if !key(&whole).is_empty() {
            let weight = terms.iter().map(|term| term.weight).sum::<f64>().max(1.0);
            for mut path in view.categories_of(head.number, &whole)? {
                path.push(whole.clone());
                subjects.push(NamedSubject { path, weight });
            }
        }
        for start in 0..words.len() {
            for end in start + 1..=words.len().min(start + NAME_WORDS) {
                let name = words.get(start..end).unwrap_or_default().join(" ");
                let name_key = key(&name);
                if name_key.is_empty() || name_key.len() > plica_format::limits::KEY_BYTES {
                    continue;
                }
                let mut records: BTreeSet<u32> = view.set(&keys::entity_alias(scope, &name_key))?.into_iter().collect();
                records.extend(view.entity_by_name(scope, &name_key)?);
                let mut names: Vec<Vec<String>> = Vec::new();
                let mut called = vec![name.clone()];
                for entity in records.into_iter().take(OTHER_NAMES) {
                    let record = snapshot.record_of(&view.entity_row(entity)?)?;
                    called.push(record.name.clone());
                    for other in std::iter::once(&record.name).chain(record.aliases.iter().take(OTHER_NAMES)) {
                        let other = tokens(other);
                        if !other.is_empty() && !names.contains(&other) && names.len() < OTHER_NAMES {
                            names.push(other);
                        }
                    }
                }
                let own: BTreeSet<String> = tokens(&name).into_iter().collect();
                let weights = terms.iter().filter(|term| own.contains(&term.text)).map(|term| term.weight);
                let weight: f64 = weights.sum();
                for name in called {
                    for mut path in view.categories_of(head.number, &name)? {
                        path.push(name.clone());
                        let has_room = subjects.len() < SUBJECTS;
                        match subjects.iter_mut().find(|known| known.path == path) {
                            Some(known) => known.weight = known.weight.max(weight),
                            None if weight > 0.0 && has_room => {
                                subjects.push(NamedSubject { path, weight });
                            }
                            None => {}
                        }
                    }
                }
                for token in tokens(&name) {
                    if let Some(term) = places.get(&token).and_then(|&at| terms.get_mut(at)) {
                        term.names.extend(names.iter().filter(|name| !name.contains(&token)).cloned());
                    }
                }
            }
        }
        Ok(Self { text: text.to_owned(), terms, subjects })
    }
}

/// How often each token stands in a text.
fn counts(text: &str) -> (HashMap<String, u32>, u32) {
    let mut counts: HashMap<String, u32> = HashMap::new();
    let mut total = 0;
    for token in tokens(text) {
        total += 1;
        *counts.entry(token).or_default() += 1;
    }
    (counts, total)
}

/// How often a text has a term, or one of the names that stand for it.
fn frequency(term: &QuestionTerm, counts: &HashMap<String, u32>) -> u32 {
    let own = counts.get(&term.text).copied().unwrap_or_default();
    let names = term
        .names
        .iter()
        .map(|name| name.iter().map(|token| counts.get(token).copied().unwrap_or_default()).min().unwrap_or_default());
    names.fold(own, u32::max)
}

impl Scorer for Bm25Scorer {
    fn score(&self, question: &Question, _page: &OutlinePage, entries: &[OutlineEntry]) -> Result<Vec<f64>> {
        let texts: Vec<_> = entries
            .iter()
            .map(|entry| {
                let (mut all, mut length) = counts(&entry.text);
                for (token, count) in counts(&entry.title).0 {
                    *all.entry(token).or_default() += 2 * count;
                    length += 2 * count;
                }
                (all, length)
            })
            .collect();
        let total: u64 = texts.iter().map(|(_, length)| u64::from(*length)).sum();
        let average = crate::search::bm25::average(total, texts.len() as u64);
        let scores = entries.iter().zip(&texts).map(|(entry, (counts, length))| {
            let mut score = 0.0;
            for term in &question.terms {
                let frequency = frequency(term, counts);
                if frequency > 0 {
                    score += self.bm25.score(term.weight, frequency, *length, average);
                } else if in_range(term, entry) {
                    score += term.weight / 2.0;
                }
            }
            let leading = question.subjects.iter().filter(|subject| leads_to(entry, &subject.path));
            score + 2.0 * leading.map(|subject| subject.weight).fold(0.0, f64::max)
        });
        Ok(scores.collect())
    }

    fn answers(&self, question: &Question, page: &OutlinePage) -> Result<f64> {
        let mut text = page.path.join(" ");
        text.push(' ');
        text.push_str(&page.text());
        let (counts, _) = counts(&text);
        let (mut all, mut there) = (0.0, 0.0);
        for term in question.terms.iter().filter(|term| term.is_known || !term.names.is_empty()) {
            all += term.weight;
            if frequency(term, &counts) > 0 {
                there += term.weight;
            }
        }
        Ok(if all > 0.0 { there / all } else { 0.0 })
    }
}

/// Whether an entry is a subject, or stands above it.
fn leads_to(entry: &OutlineEntry, subject: &[String]) -> bool {
    let (steps, ranges) = entry.path.split_at(entry.path.len() - usize::from(entry.kind == EntryKind::Range));
    let steps: Vec<String> = steps.iter().filter(|step| !super::page::is_range(step)).map(|step| key(step)).collect();
    let subject: Vec<String> = subject.iter().map(|name| key(&super::page::step_of(name))).collect();
    if !subject.starts_with(&steps) {
        return false;
    }
    let (Some(next), false) = (subject.get(steps.len()), ranges.is_empty()) else { return ranges.is_empty() };
    // A range of a category leads to the names that it spans, in the order of the outline.
    let place = subject_key(next);
    subject.len() == steps.len() + 1 && subject_key(&entry.range.0) <= place && place <= subject_key(&entry.range.1)
}

/// Whether a term, or a name that stands for it, would lie in a range of names.
fn in_range(term: &QuestionTerm, entry: &OutlineEntry) -> bool {
    let (first, last) = (key(&entry.range.0), key(&entry.range.1));
    if first == last {
        return false;
    }
    let within = |name: &str| name >= first.as_str() && (name <= last.as_str() || last.starts_with(name));
    within(&term.text) || term.names.iter().filter_map(|name| name.first()).any(|name| within(name))
}
