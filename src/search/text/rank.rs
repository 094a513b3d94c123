//! What ranking chunks by their text needs: the terms of a question, and what each adds to a score.

use super::cursor::{Cursor, END};
use super::top::Top;
use crate::Result;
use crate::index::lengths::{LengthBlock, Lengths, MISSING};
use crate::index::view::{View, inconsistent};
use crate::search::Bm25;
use crate::search::bm25::{average, idf};
use crate::search::query::Limits;
use plica_format::key::PLACES_A_BLOCK;
use plica_format::postings::Bound;
use std::collections::HashMap;

/// Scores are compared with a threshold after approximate sums; this much of a score is more than they err by.
const SLACK: f64 = 1e-5;

/// A term of the question.
pub(super) struct Term<'a> {
    pub(super) cursor: Cursor<'a>,
    token: &'a str,
    /// Inverse document frequency.
    idf: f64,
    /// How often the term stands in the question.
    times: f64,
    /// `idf × (k1 + 1) × times`, for approximate scores.
    scale: f32,
}

/// A ranking at work.
pub(super) struct Ranking<'a> {
    view: View<'a>,
    lengths: &'a Lengths,
    pub(super) limits: &'a Limits,
    bm25: Bm25,
    average: f64,
    /// The distinct terms of the question that are in some text.
    pub(super) terms: Vec<Term<'a>>,
    /// Places in `terms` of the question's tokens, in their order, repeats included.
    order: Vec<usize>,
    /// Whether every token of the question is in some text.
    pub(super) is_complete: bool,
    /// The lengths of the block of chunks that was asked for last.
    block: Option<(u32, &'a LengthBlock)>,
}

impl<'a> Ranking<'a> {
    /// A ranking by `tokens`, those without postings left out; of the chunks that pass `live`, where it is given. Before
    /// anything is scored, [`Ranking::weigh`] is called.
    pub(super) fn open(
        view: View<'a>,
        lengths: &'a Lengths,
        bm25: Bm25,
        limits: &'a Limits,
        tokens: &'a [String],
        mut live: Option<&mut dyn FnMut(u32) -> Result<bool>>,
    ) -> Result<Self> {
        let mut ranking = Self {
            view,
            lengths,
            limits,
            bm25,
            average: 1.0,
            terms: Vec::new(),
            order: Vec::new(),
            is_complete: true,
            block: None,
        };
        let mut known: Vec<(&str, Option<usize>)> = Vec::new();
        for token in tokens {
            let found = match known.iter().find(|(term, _)| term == token) {
                Some(&(_, found)) => found,
                None => {
                    limits.check()?;
                    let live = live.as_mut().map(|live| &mut **live as &mut dyn FnMut(u32) -> Result<bool>);
                    let found = match Cursor::open(view, token, live)? {
                        Some(cursor) => {
                            ranking.terms.push(Term { cursor, token, idf: 0.0, times: 0.0, scale: 0.0 });
                            Some(ranking.terms.len() - 1)
                        }
                        None => None,
                    };
                    known.push((token, found));
                    found
                }
            };
            match found {
                Some(at) => ranking.order.push(at),
                None => ranking.is_complete = false,
            }
        }
        for &at in &ranking.order {
            if let Some(term) = ranking.terms.get_mut(at) {
                term.times += 1.0;
            }
        }
        Ok(ranking)
    }

    /// Adds up in how many chunks each term stands.
    pub(super) fn count(&self, with: &mut HashMap<&'a str, u64>) {
        for term in &self.terms {
            *with.entry(term.token).or_default() += term.cursor.count;
        }
    }

    /// Sets the numbers that scores are computed with: tokens and number of all chunks, and those with each term, which
    /// `with` gives by the term and how many there are here.
    pub(super) fn weigh(&mut self, tokens: u64, chunks: u64, with: impl Fn(&str, u64) -> u64) {
        self.average = average(tokens, chunks);
        for term in &mut self.terms {
            term.idf = idf(chunks, with(term.token, term.cursor.count));
            term.scale = (term.idf * (self.bm25.k1 + 1.0) * term.times) as f32;
        }
    }

    /// The lengths of the block of chunks that a chunk lies in.
    fn lengths(&mut self, chunk: u32) -> Result<&'a LengthBlock> {
        let number = chunk / PLACES_A_BLOCK;
        if let Some((known, block)) = self.block
            && known == number
        {
            return Ok(block);
        }
        let block = self.lengths.block(self.view, number)?;
        self.block = Some((number, block));
        Ok(block)
    }

    /// The length of a chunk.
    fn length(&mut self, chunk: u32) -> Result<u32> {
        match self.lengths(chunk)?.tokens[(chunk % PLACES_A_BLOCK) as usize] {
            MISSING => Err(inconsistent(format!("the place of chunk {chunk} is missing"))),
            length => Ok(length),
        }
    }

    /// Writes an approximate score of one term in each of `chunks`, which ascend, to `out`.
    pub(super) fn approximate(
        &mut self,
        term: usize,
        chunks: &[u32],
        frequencies: &[u32],
        out: &mut [f32],
    ) -> Result<()> {
        // Chunks of one block of lengths after another; one without a length scores next to nothing.
        let mut at = 0;
        while let Some(&chunk) = chunks.get(at) {
            let lengths = &self.lengths(chunk)?.tokens;
            let last = chunk | (PLACES_A_BLOCK - 1);
            let end = match chunks.last() {
                Some(&behind) if behind <= last => chunks.len(),
                _ => at + chunks[at..].partition_point(|&chunk| chunk <= last),
            };
            for (length, &chunk) in out[at..end].iter_mut().zip(&chunks[at..end]) {
                *length = lengths[(chunk % PLACES_A_BLOCK) as usize] as f32;
            }
            at = end;
        }
        let Some(term) = self.terms.get(term) else { return Ok(()) };
        let (scale, base) = (term.scale, (self.bm25.k1 * (1.0 - self.bm25.b)) as f32);
        let slope = (self.bm25.k1 * self.bm25.b / self.average) as f32;
        for (score, &frequency) in out.iter_mut().zip(frequencies) {
            let frequency = frequency as f32;
            *score = scale * frequency / (frequency + base + slope * *score);
        }
        Ok(())
    }

    /// What one term adds to the score of a chunk at most.
    pub(super) fn greatest(&self, term: usize, bound: Option<Bound>) -> f64 {
        let (Some(term), Some(bound)) = (self.terms.get(term), bound) else { return 0.0 };
        // Outside of these a score need not grow with the frequency, nor fall with the length.
        if !(self.bm25.k1 >= 0.0 && (0.0..=1.0).contains(&self.bm25.b)) {
            return f64::INFINITY;
        }
        let (frequency, length) = (bound.greatest_frequency(), bound.least_length());
        term.times * self.bm25.score(term.idf, frequency, length, self.average)
    }

    /// Whether a score of at most `greatest`, which was summed up approximately, is below the threshold.
    pub(super) fn is_below(greatest: f64, top: &Top<'_>) -> bool {
        greatest + SLACK * greatest < top.threshold()
    }

    /// What [`Ranking::is_below`] holds for if it is less, and for little else.
    pub(super) fn least(top: &Top<'_>) -> f32 {
        // The second term is more than what is lost by rounding to 24 bits.
        (top.threshold() * (1.0 - 1.1 * SLACK)) as f32
    }

    /// The score of a chunk in which the terms stand `frequencies` times (0: not at all): the sum over the question's
    /// tokens in their order.
    pub(super) fn score(&mut self, chunk: u32, frequencies: &[u32]) -> Result<f64> {
        let length = self.length(chunk)?;
        let norm = self.bm25.norm(length, self.average);
        let mut score = 0.0;
        for &at in &self.order {
            if let (Some(term), Some(&frequency)) = (self.terms.get(at), frequencies.get(at))
                && frequency > 0
            {
                score += self.bm25.score_by_norm(term.idf, frequency, norm);
            }
        }
        Ok(score)
    }

    /// The cursor of a term.
    pub(super) fn cursor(&mut self, term: usize) -> &mut Cursor<'a> {
        &mut self.terms[term].cursor
    }

    /// The exact scores of `chunks`, ascending.
    pub(super) fn scores_of(&mut self, chunks: &[u32]) -> Result<Vec<f64>> {
        let mut frequencies = vec![0; self.terms.len()];
        let mut out = Vec::with_capacity(chunks.len());
        for &chunk in chunks {
            for (term, frequency) in self.terms.iter_mut().zip(&mut frequencies) {
                *frequency = if term.cursor.seek(chunk)? == chunk { term.cursor.frequency()? } else { 0 };
            }
            out.push(if frequencies.iter().any(|&f| f > 0) { self.score(chunk, &frequencies)? } else { 0.0 });
        }
        Ok(out)
    }

    /// The last id of the window that begins at `first`: as far as one bound a term holds, but no less than `least` ids.
    pub(super) fn window(&self, first: u32, least: u32) -> u32 {
        let near = first.saturating_add(least).min(END - 1);
        let mut last = END - 1;
        let mut reach = END - 1;
        for term in &self.terms {
            if let Some(block) = term.cursor.block() {
                // Before a block that lies ahead, the term does not count.
                last = last.min(if block.least_id > near { block.least_id - 1 } else { block.last_id });
            }
            reach = reach.min(term.cursor.reach());
        }
        last.max(near).min(reach).max(first)
    }
}
