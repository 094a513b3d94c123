//! Measuring a ranking against judged questions in the BEIR layout.
//!
//! Each question is asked twice, of the text channel alone and of all three, and the difference comes with a paired
//! bootstrap interval: the questions are drawn anew, with replacement, 10,000 times, and the interval holds the middle
//! 95 % of the mean differences. The draws are the same every time.
//!
//! At each depth k: `all@k`, every relevant chunk is among the first k; `any@k`, at least one is; `recall@k`, the share
//! of them that is.

use crate::index::Snapshot;
use crate::interchange::{queries, relevant};
use crate::search::{Bm25, Limits, Query, Statistics, Weights};
use crate::{Error, Result};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::HashSet;
use std::path::Path;

/// Times that the questions are drawn anew.
const RESAMPLES: usize = 10_000;
/// Means left out at each end of the interval: 2.5 %.
const LEFT_OUT: usize = RESAMPLES / 40;
/// Metrics at each depth.
const METRICS: [&str; 3] = ["all", "any", "recall"];

/// How questions are asked and measured.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EvalOptions {
    /// Depths to measure at.
    pub ks: Vec<usize>,
    /// See [`Query::pool`].
    pub pool: usize,
    /// See [`Query::statistics`].
    pub statistics: Statistics,
    /// Weights of the three channels in the fused ranking.
    pub weights: Weights,
    /// Constants of BM25.
    pub bm25: Bm25,
    /// How long it may take.
    pub limits: Limits,
}

impl Default for EvalOptions {
    fn default() -> Self {
        Self {
            ks: vec![5, 10, 20],
            pool: 1000,
            statistics: Statistics::Collection,
            weights: Weights::default(),
            bm25: Bm25::default(),
            limits: Limits::default(),
        }
    }
}

impl EvalOptions {
    /// Depths 5, 10 and 20, and the defaults of [`Query`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`EvalOptions::ks`].
    pub fn ks(mut self, ks: impl Into<Vec<usize>>) -> Self {
        self.ks = ks.into();
        self
    }

    /// Sets [`EvalOptions::pool`].
    pub fn pool(mut self, pool: usize) -> Self {
        self.pool = pool;
        self
    }

    /// Sets [`EvalOptions::statistics`].
    pub fn statistics(mut self, statistics: Statistics) -> Self {
        self.statistics = statistics;
        self
    }

    /// Sets [`EvalOptions::bm25`].
    pub fn bm25(mut self, bm25: Bm25) -> Self {
        self.bm25 = bm25;
        self
    }
}

/// What was measured, in per cent, rounded to two decimals.
///
/// It serialises as `{"queries":n,"text":{"all@5":…,"any@5":…,"recall@5":…},"fused":{…},"difference":{"all@5":
/// {"mean":…,"low":…,"high":…}}}`, for each depth in turn.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// Questions that have a relevant chunk; others are not asked.
    pub queries: usize,
    /// The measures, `all`, `any` and `recall` for each depth in turn.
    pub measures: Vec<Measure>,
}

/// One measure at one depth.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Measure {
    /// Its name: `all@5`.
    pub name: String,
    /// Of the text channel alone.
    pub text: f64,
    /// Of the three channels.
    pub fused: f64,
    /// Fused less text.
    pub difference: Interval,
}

/// A mean with the interval that holds 95 % of the resampled means.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Interval {
    /// The mean difference.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Serialises a column of the measures as a map by name.
struct Column<'a, T>(&'a [Measure], fn(&Measure) -> T);

impl<T: Serialize> Serialize for Column<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|measure| (&measure.name, (self.1)(measure))))
    }
}

impl Serialize for Evaluation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("queries", &self.queries)?;
        map.serialize_entry("text", &Column(&self.measures, |measure| measure.text))?;
        map.serialize_entry("fused", &Column(&self.measures, |measure| measure.fused))?;
        map.serialize_entry("difference", &Column(&self.measures, |measure| measure.difference))?;
        map.end()
    }
}

/// Asks the questions of a BEIR folder (`queries.jsonl`) and measures the answers by its judgements
/// (`qrels/test.tsv`, positive scores). A question with `metadata.doc_id` is asked of that document, any other of all.
///
/// # Errors
/// [`Error::Io`] and [`Error::Line`] where the folder cannot be read, [`Error::Invalid`] where the index holds none of
/// the chunks that are judged relevant, [`Error::NotFound`] for a question's document that
/// the index does not have, and what [`Snapshot::search`] gives.
pub fn evaluate(snapshot: &Snapshot, folder: &Path, options: &EvalOptions) -> Result<Evaluation> {
    if options.ks.is_empty() || options.ks.contains(&0) {
        return Err(Error::invalid("the depths to measure at must be 1 or more"));
    }
    let depth = options.ks.iter().copied().max().unwrap_or_default();
    let relevant = relevant(folder)?;
    // Zeros for a folder that is another index's would look like a measurement.
    let known = |id: &String| !matches!(snapshot.chunk(id), Err(Error::NotFound { .. }));
    if !relevant.is_empty() && !relevant.values().flatten().any(known) {
        return Err(Error::invalid(
            "none of the chunks that are judged relevant is in this index; import the corpus first",
        ));
    }
    let mut scores = [Vec::new(), Vec::new()];
    for question in queries(folder)? {
        let Some(gold) = relevant.get(&question.id) else { continue };
        for (scores, weights) in scores.iter_mut().zip([Weights::TEXT, options.weights]) {
            let mut query = Query::new(question.text.as_str()).k(depth);
            if let Some(document) = &question.document {
                query = query.document(document.as_str());
            }
            query.weights = weights;
            query.pool = options.pool;
            query.statistics = options.statistics;
            query.bm25 = options.bm25;
            query.limits = options.limits.clone();
            let ids: Vec<String> = snapshot.search(&query)?.hits.into_iter().map(|hit| hit.id).collect();
            scores.push(measured(&ids, gold, &options.ks));
        }
    }
    let [text, fused] = scores;
    Ok(summarise(&text, &fused, &options.ks))
}

/// The metrics of one answer, `all`, `any` and `recall` for each depth in turn, from 0 to 1.
fn measured(ids: &[String], gold: &HashSet<String>, ks: &[usize]) -> Vec<f64> {
    let mut out = Vec::with_capacity(ks.len() * METRICS.len());
    for &k in ks {
        let top: HashSet<&str> = ids.iter().take(k).map(String::as_str).collect();
        let found = gold.iter().filter(|id| top.contains(id.as_str())).count();
        out.push(f64::from(u8::from(found == gold.len())));
        out.push(f64::from(u8::from(found > 0)));
        out.push(found as f64 / gold.len() as f64);
    }
    out
}

/// The means over all questions, and the intervals of the differences.
fn summarise(text: &[Vec<f64>], fused: &[Vec<f64>], ks: &[usize]) -> Evaluation {
    let names = ks.iter().flat_map(|k| METRICS.iter().map(move |metric| format!("{metric}@{k}")));
    let columns = ks.len() * METRICS.len();
    let differences: Vec<Vec<f64>> =
        text.iter().zip(fused).map(|(text, fused)| fused.iter().zip(text).map(|(f, t)| f - t).collect()).collect();
    let intervals = bootstrap(&differences, columns);
    let measures = names
        .zip(intervals)
        .enumerate()
        .map(|(column, (name, (low, high)))| Measure {
            name,
            text: percent(sum(text, column), text.len()),
            fused: percent(sum(fused, column), fused.len()),
            difference: Interval {
                mean: percent(sum(&differences, column), differences.len()),
                low: percent(low, differences.len()),
                high: percent(high, differences.len()),
            },
        })
        .collect();
    Evaluation { queries: text.len(), measures }
}

fn sum(rows: &[Vec<f64>], column: usize) -> f64 {
    rows.iter().filter_map(|row| row.get(column)).sum()
}

/// The ends of the interval of each column's resampled sums.
fn bootstrap(rows: &[Vec<f64>], columns: usize) -> Vec<(f64, f64)> {
    if rows.is_empty() {
        return vec![(0.0, 0.0); columns];
    }
    let mut sums = vec![Vec::with_capacity(RESAMPLES); columns];
    let mut draws = SplitMix(0);
    for _ in 0..RESAMPLES {
        let mut totals = vec![0.0; columns];
        for _ in 0..rows.len() {
            let row = rows.get(draws.below(rows.len())).map_or(&[][..], Vec::as_slice);
            for (total, value) in totals.iter_mut().zip(row) {
                *total += value;
            }
        }
        for (sums, total) in sums.iter_mut().zip(totals) {
            sums.push(total);
        }
    }
    sums.into_iter()
        .map(|mut sums| {
            sums.sort_by(f64::total_cmp);
            let end = |at: usize| sums.get(at).copied().unwrap_or_default();
            (end(LEFT_OUT), end(RESAMPLES - 1 - LEFT_OUT))
        })
        .collect()
}

/// A small generator (SplitMix64): the same draws everywhere.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        ((u128::from(z) * bound as u128) >> 64) as usize
    }
}

/// A mean of `count` values in per cent, rounded to two decimals: to the nearest, and between two to the even one.
fn percent(sum: f64, count: usize) -> f64 {
    if count == 0 {
        return 0.0;
    }
    let value = 100.0 * sum / count as f64;
    // Formatting rounds the exact value of the float. -0.0 is 0.
    format!("{value:.2}").parse().unwrap_or(value) + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gold(ids: &[&str]) -> HashSet<String> {
        ids.iter().map(|id| id.to_string()).collect()
    }

    #[test]
    fn metrics_of_an_answer() {
        let ids: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(measured(&ids, &gold(&["a", "c"]), &[1, 3]), [0.0, 1.0, 0.5, 1.0, 1.0, 1.0]);
        assert_eq!(measured(&ids, &gold(&["x"]), &[3]), [0.0, 0.0, 0.0]);
        assert_eq!(measured(&[], &gold(&["x"]), &[3]), [0.0, 0.0, 0.0]);
    }

    #[test]
    fn rounding_is_that_of_the_reference() {
        // round(100 * s / n, 2) in Python.
        for (sum, count, expected) in [
            (0.25, 200, 0.12),
            (0.75, 200, 0.38),
            (1.25, 1000, 0.12),
            (114.0, 200, 57.0),
            (61.0, 164, 37.2),
            (1.0, 3, 33.33),
            (2.0, 3, 66.67),
            (-0.25, 200, -0.12),
        ] {
            assert_eq!(percent(sum, count), expected, "{sum} of {count}");
        }
        assert_eq!(percent(-1e-9, 200).to_string(), "0");
        assert_eq!(percent(0.0, 0), 0.0);
    }

    #[test]
    fn an_interval_holds_the_mean_and_is_the_same_every_time() {
        let text: Vec<Vec<f64>> = (0..40).map(|at| vec![f64::from(u8::from(at % 4 == 0)), 1.0, 0.5]).collect();
        let fused: Vec<Vec<f64>> = (0..40).map(|at| vec![f64::from(u8::from(at % 2 == 0)), 1.0, 0.5]).collect();
        let one = summarise(&text, &fused, &[5]);
        assert_eq!(one, summarise(&text, &fused, &[5]));
        let all = &one.measures[0];
        assert_eq!((all.text, all.fused, all.difference.mean), (25.0, 50.0, 25.0));
        // The deviation of the mean of 40 draws from {0, 1} with a quarter ones is 6.85 points.
        assert!((all.difference.low - (25.0 - 1.96 * 6.85)).abs() < 3.0, "{all:?}");
        assert!((all.difference.high - (25.0 + 1.96 * 6.85)).abs() < 3.0, "{all:?}");
        assert_eq!(one.measures[1].difference, Interval { mean: 0.0, low: 0.0, high: 0.0 });
    }

    #[test]
    fn it_serialises_in_the_documented_order() {
        let one = summarise(&[vec![0.0, 1.0, 0.5]], &[vec![1.0, 1.0, 1.0]], &[5]);
        let json = serde_json::to_string(&one).unwrap();
        assert_eq!(
            json,
            r#"{"queries":1,"text":{"all@5":0.0,"any@5":100.0,"recall@5":50.0},"fused":{"all@5":100.0,"any@5":100.0,"recall@5":100.0},"difference":{"all@5":{"mean":100.0,"low":100.0,"high":100.0},"any@5":{"mean":0.0,"low":0.0,"high":0.0},"recall@5":{"mean":50.0,"low":50.0,"high":50.0}}}"#
        );
    }
}
