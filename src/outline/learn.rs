//! Folding back a miss: what the source had and the outline did not.
//!
//! The paper names this as future work. A question that the outline could not answer becomes a subject of a category
//! of its own, with the sentences that the search found, each with its place in the source, and links to the subjects that
//! question and sentences name. Asked again, the question ends there. It is bounded: a few short sentences a question, and a
//! number of questions that depends on the document's length, so that the outline never becomes a copy of the document.

use super::navigate::Navigation;
use super::page::step_of;
use super::score::Question;
use crate::index::Snapshot;
use crate::index::Writer;
use crate::index::outline::{clip, tokens};
use crate::ingest::Category;
use crate::search::Passage;
use crate::text::{sentences, tokens as terms};
use crate::{Error, Result};
use plica_format::limits::KEY_BYTES;
use plica_format::outline::{Field, Subject, Value};
use std::collections::HashSet;

/// The category that holds what was learned.
pub const LEARNED: &str = "Learned";

/// Passages of a miss that are folded back.
const PASSAGES: usize = 3;
/// Tokens of a sentence that is folded back; of a longer one its start.
const SENTENCE_TOKENS: u32 = 64;
/// Learned subjects that any document may have, and those that none may have more of.
const LEAST: u32 = 16;
const MOST: u32 = 1024;
/// Links of a learned subject.
const LINKS: usize = 8;

/// What folding back did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Learned {
    /// Path of the subject.
    pub path: Vec<String>,
    /// Whether it is new, or has grown.
    pub is_new: bool,
}

/// Folds what a navigation found by falling back into the outline that it was led through. The caller commits.
///
/// `snapshot` is the one that the navigation was asked of.
///
/// # Errors
/// [`Error::Invalid`] for a navigation that did not fall back, or whose passages do not say half of the question; [`Error::Limit`] where the outline has
/// learned as much as it may: a quarter of its chunks, at least 16 and at most 1,024.
pub fn learn(writer: &mut Writer, snapshot: &Snapshot, document: &str, found: &Navigation) -> Result<Learned> {
    if !found.fallback || found.passages.is_empty() {
        return Err(Error::invalid("only what a fallback found can be folded back"));
    }
    let budget = writer.outline_budget(document)?;
    let question = Question::new(snapshot, document, &found.question)?;
    let name = subject_name(&found.question, budget);
    if crate::text::key(&name).is_empty() {
        return Err(Error::invalid("a question without words cannot be folded back"));
    }
    let category = vec![LEARNED.to_owned()];
    let path = vec![LEARNED.to_owned(), step_of(&name)];
    let is_there = writer.subject(document, &category, &name)?.is_some();
    if !is_there {
        let most = (snapshot.document(document)?.chunks / 4).clamp(LEAST, MOST);
        let learned = writer.subjects_below(document, &category)?;
        if learned >= most {
            return Err(Error::Limit {
                what: "what an outline learns, in questions (a quarter of the document's chunks)",
                limit: u64::from(most),
                got: u64::from(learned) + 1,
            });
        }
    }
    let mut subject = Subject { name, ..Subject::default() };
    // What says most of the question comes first; where nothing says half of it, the source has no answer either.
    let mut best = Vec::new();
    for passage in found.passages.iter().take(PASSAGES) {
        if let Some(sentence) = best_sentence(snapshot, &question, passage)? {
            best.push((sentence, passage));
        }
    }
    best.sort_by(|a, b| b.0.score.total_cmp(&a.0.score));
    let whole: f64 = question.terms.iter().map(|term| term.weight).sum();
    let covered =
        found.passages.iter().take(PASSAGES).map(|passage| weight_in(&question, &passage.text)).fold(0.0, f64::max);
    if best.is_empty() || covered < whole / 2.0 {
        return Err(Error::invalid("no passage says half of what is asked, so there is nothing to learn"));
    }
    let (mut values, mut places) = (Vec::new(), Vec::new());
    for (sentence, passage) in best {
        values.push(Value { text: sentence.text, span: Some(sentence.span) });
        places.push(Value { text: passage.chunk.clone(), span: None });
    }
    subject.summary = values.first().map(|value| clip(&value.text, budget / 8, 1024)).unwrap_or_default();
    subject.links = named(writer, document, &found.question, &values)?;
    subject.fields.push(Field { name: "the source says".into(), values });
    subject.fields.push(Field { name: "found by search in".into(), values: places });
    writer.add_category(
        document,
        &Category {
            path: category.clone(),
            summary: "Questions that the outline could not answer, with what the source says.".into(),
            fields: Vec::new(),
        },
        "",
    )?;
    let is_new = writer.add_subject(document, &category, &subject)?;
    Ok(Learned { path, is_new })
}

/// The name of the subject that a question becomes.
pub(super) fn subject_name(question: &str, budget: u32) -> String {
    clip(&question.split_whitespace().collect::<Vec<_>>().join(" "), budget / 16, KEY_BYTES / 2)
}

/// A sentence of the source.
struct Sentence {
    text: String,
    span: (u64, u64),
    score: f64,
}

/// Weight of the terms of a question that a text has, by another name or by their own.
fn weight_in(question: &Question, text: &str) -> f64 {
    let own: HashSet<String> = terms(text).into_iter().collect();
    let there = question.terms.iter().filter(|term| {
        own.contains(&term.text) || term.names.iter().any(|name| name.iter().all(|token| own.contains(token)))
    });
    there.map(|term| term.weight).sum()
}

/// The sentence of a passage that has most of the question, with its place in the source.
fn best_sentence(snapshot: &Snapshot, question: &Question, passage: &Passage) -> Result<Option<Sentence>> {
    let Some(start) = snapshot.chunk_start(&passage.document, passage.ordinal)? else { return Ok(None) };
    let mut best: Option<(f64, usize, &str)> = None;
    for (at, sentence) in sentences(&passage.text).filter(|(_, sentence)| !sentence.trim().is_empty()) {
        let score = weight_in(question, sentence);
        if best.as_ref().is_none_or(|(before, _, _)| score > *before) {
            best = Some((score, at, sentence));
        }
    }
    let Some((score, at, sentence)) = best else { return Ok(None) };
    let from = at + (sentence.len() - sentence.trim_start().len());
    let trimmed = sentence.trim();
    let text =
        if tokens(trimmed) > SENTENCE_TOKENS { clip(trimmed, SENTENCE_TOKENS, 1024) } else { trimmed.to_owned() };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let span = (start + from as u64, start + (from + trimmed.len()) as u64);
    Ok(Some(Sentence { text, span, score }))
}

/// Subjects that the question or the sentences name.
fn named(writer: &Writer, document: &str, question: &str, values: &[Value]) -> Result<Vec<Vec<String>>> {
    let mut links: Vec<Vec<String>> = Vec::new();
    for text in std::iter::once(question).chain(values.iter().map(|value| value.text.as_str())) {
        let words: Vec<&str> =
            text.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric())).collect();
        for start in 0..words.len() {
            for end in (start + 1..=words.len().min(start + 4)).rev() {
                let name = words.get(start..end).unwrap_or_default().join(" ");
                // A name begins with a capital; other words of a sentence are not looked up.
                if !name.chars().next().is_some_and(char::is_uppercase) || name.len() > KEY_BYTES / 2 {
                    continue;
                }
                for mut path in writer.categories_with(document, &name)? {
                    if path.first().is_some_and(|first| first != LEARNED) && links.len() < LINKS {
                        path.push(name.clone());
                        if !links.contains(&path) {
                            links.push(path);
                        }
                    }
                }
            }
        }
    }
    Ok(links)
}
