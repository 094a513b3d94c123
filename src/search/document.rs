//! Ranking the chunks of one document, all of them, with the document's own statistics.

use super::bm25::{average, idf};
use super::fuse::{Candidate, fuse};
use super::scope::Reading;
use crate::Result;
use crate::index::columns::{Columns, MemoryColumns};
use crate::index::lengths::MISSING;
use plica_format::document::DocumentHead;
use plica_format::key::Field;
use std::sync::Arc;

/// All chunks of a document, in reading order, with their scores.
pub(super) fn rank(reading: &Reading<'_>, head: &DocumentHead) -> Result<Vec<Candidate>> {
    let mut candidates = score(reading, head)?;
    fuse(&mut candidates, reading.query.weights.array());
    Ok(candidates)
}

/// All chunks of a document with their raw scores, in reading order.
pub(super) fn score(reading: &Reading<'_>, head: &DocumentHead) -> Result<Vec<Candidate>> {
    reading.query.limits.check()?;
    let columns = reading.snapshot.columns(head)?;
    let count = columns.chunks.len();
    let zeros = || vec![0.0; count];
    let text = if reading.wants(0) { text_scores(reading, head, &columns)?.0 } else { zeros() };
    let memory = if reading.wants(1) { memory_scores(reading, head, &columns)? } else { zeros() };
    let summary = if reading.wants(2) { summary_scores(reading, head, &columns)? } else { zeros() };
    let fanout = reading.fanout as usize;
    let mut candidates = Vec::with_capacity(count);
    for (at, ((text, memory), summary)) in text.into_iter().zip(memory).zip(summary).enumerate() {
        let covered = columns.summaries.get(at / fanout).is_some_and(|&tokens| tokens != MISSING);
        let raw = [text, memory, summary];
        candidates.push(Candidate::new(head.number, at as u32, columns.chunks.id(at), raw, covered));
    }
    Ok(candidates)
}

/// The chunks of a document that match in the text: ordinal, score, and how many distinct terms match.
pub(super) fn matches(reading: &Reading<'_>, head: &DocumentHead) -> Result<Vec<(u32, f64, usize)>> {
    let columns = reading.snapshot.columns(head)?;
    let (scores, matched) = text_scores(reading, head, &columns)?;
    let chunks = (0u32..).zip(scores).zip(matched).filter(|&(_, matched)| matched > 0);
    Ok(chunks.map(|((ordinal, score), matched)| (ordinal, score, matched as usize)).collect())
}

/// For each token of a question the place of its term among the distinct ones; and those.
fn distinct<'t>(terms: &'t [String]) -> (Vec<usize>, Vec<&'t str>) {
    let mut known: Vec<&'t str> = Vec::new();
    let order = terms
        .iter()
        .map(|term| match known.iter().position(|known| known == term) {
            Some(at) => at,
            None => {
                known.push(term);
                known.len() - 1
            }
        })
        .collect();
    (order, known)
}

/// The text scores of all chunks, and how many distinct terms match in each.
fn text_scores(reading: &Reading<'_>, head: &DocumentHead, columns: &Columns) -> Result<(Vec<f64>, Vec<u16>)> {
    let count = columns.chunks.len();
    let (mut scores, mut matched) = (vec![0.0; count], vec![0u16; count]);
    let average = average(head.text_tokens, u64::from(head.chunks));
    let (order, terms) = distinct(reading.terms);
    let mut found: Vec<Vec<(usize, u32)>> = Vec::with_capacity(terms.len());
    for term in terms {
        let postings = reading.view.postings(Field::Text, term, head.first_chunk, head.last_chunk)?;
        let of_document: Vec<(usize, u32)> = postings
            .into_iter()
            .filter_map(|posting| Some((columns.chunks.place(posting.id)?, posting.frequency)))
            .collect();
        for &(at, _) in &of_document {
            if let Some(matched) = matched.get_mut(at) {
                *matched += 1;
            }
        }
        found.push(of_document);
    }
    for term in order {
        let Some(found) = found.get(term) else { continue };
        let idf = idf(u64::from(head.chunks), found.len() as u64);
        for &(at, frequency) in found {
            if let (Some(score), Some(&tokens)) = (scores.get_mut(at), columns.tokens.get(at)) {
                *score += reading.query.bm25.score(idf, frequency, tokens, average);
            }
        }
    }
    Ok((scores, matched))
}

/// Scores of name, aliases and descriptions of every record of the document's memory that shares a term with the
/// question: place in the columns, and scores.
pub(super) fn record_scores(reading: &Reading<'_>, memory: &MemoryColumns) -> Result<Vec<(usize, [f64; 3])>> {
    let count = memory.entities.len();
    if count == 0 {
        return Ok(Vec::new());
    }
    let range = (memory.entities.id(0), memory.entities.id(count - 1));
    let (order, terms) = distinct(reading.terms);
    let mut scores = vec![[0.0f64; 3]; count];
    for (at, field) in Field::MEMORY.into_iter().enumerate() {
        let Some(&total) = memory.totals.get(at) else { continue };
        if total == 0 {
            continue;
        }
        let average = average(total, count as u64);
        let mut found: Vec<Vec<(usize, u32)>> = Vec::with_capacity(terms.len());
        for term in &terms {
            let postings = reading.view.postings(field, term, range.0, range.1)?;
            let places = postings.into_iter().filter_map(|p| Some((memory.entities.place(p.id)?, p.frequency)));
            found.push(places.collect());
        }
        for &term in &order {
            let Some(found) = found.get(term) else { continue };
            let idf = idf(count as u64, found.len() as u64);
            for &(place, frequency) in found {
                if let (Some(scores), Some(tokens)) = (scores.get_mut(place), memory.tokens.get(place)) {
                    scores[at] += reading.query.bm25.score(idf, frequency, tokens[at], average);
                }
            }
        }
    }
    Ok(scores.into_iter().enumerate().filter(|(_, scores)| scores.iter().any(|&score| score != 0.0)).collect())
}

fn memory_scores(reading: &Reading<'_>, head: &DocumentHead, columns: &Columns) -> Result<Vec<f64>> {
    let memory = reading.snapshot.memory_columns(head, columns)?;
    let mut fields = vec![[0.0f64; 3]; columns.chunks.len()];
    for (place, scores) in record_scores(reading, &memory)? {
        for &ordinal in memory.ordinals(place) {
            if let Some(best) = fields.get_mut(ordinal as usize) {
                for (best, score) in best.iter_mut().zip(scores) {
                    *best = best.max(score);
                }
            }
        }
    }
    Ok(fields.into_iter().map(|[name, aliases, descriptions]| name + aliases + descriptions).collect())
}

/// Scores of the records linked to a chunk that match the question, by their internal id.
pub(super) fn linked_scores(
    reading: &Reading<'_>,
    head: &DocumentHead,
    linked: &[u32],
) -> Result<Vec<(u32, [f64; 3])>> {
    let columns = reading.snapshot.columns(head)?;
    let memory: Arc<MemoryColumns> = reading.snapshot.memory_columns(head, &columns)?;
    let scores =
        record_scores(reading, &memory)?.into_iter().map(|(place, scores)| (memory.entities.id(place), scores));
    Ok(scores.filter(|(entity, _)| linked.binary_search(entity).is_ok()).collect())
}

/// Scores of the summary channel.
fn summary_scores(reading: &Reading<'_>, head: &DocumentHead, columns: &Columns) -> Result<Vec<f64>> {
    let mut scores = vec![0.0; columns.chunks.len()];
    if head.summaries == 0 {
        return Ok(scores);
    }
    let fanout = reading.fanout as usize;
    let average = average(head.summary_tokens, u64::from(head.summaries));
    let mut by_summary = vec![0.0f64; columns.summaries.len()];
    for term in reading.terms {
        let postings = reading.view.postings(Field::Summary, term, head.first_chunk, head.last_chunk)?;
        let found: Vec<(usize, u32)> = postings
            .into_iter()
            .filter_map(|posting| Some((columns.chunks.place(posting.id)? / fanout, posting.frequency)))
            .collect();
        let idf = idf(u64::from(head.summaries), found.len() as u64);
        for (index, frequency) in found {
            let length = columns.summaries.get(index).copied().filter(|&tokens| tokens != MISSING).unwrap_or_default();
            if let Some(score) = by_summary.get_mut(index) {
                *score += reading.query.bm25.score(idf, frequency, length, average);
            }
        }
    }
    for (chunks, score) in scores.chunks_mut(fanout).zip(by_summary) {
        chunks.fill(score);
    }
    Ok(scores)
}
