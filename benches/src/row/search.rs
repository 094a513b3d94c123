//! BM25: the ten best of any, and of all, of two to four terms, with k1 = 1.2 and b = 0.75 everywhere.
//!
//! Engines are open and warm; a call puts the query together from terms and gives places and scores, no texts. Plica's
//! as-built file is judged beside tantivy's as-built index, the vacuumed file beside the index merged into one segment.
//! The overlap of the ten best is told, too: lengths are quantised in tantivy and not in Plica, so ties and neighbours
//! may change places.

use super::{Files, Run};
use crate::Result;
use crate::clock::{Call, Times, interleaved};
use crate::corpus::{COMMON, RARE, Terms};
use crate::engine::{self, plica_top10};
use crate::peer::fts5::Fts5;
use crate::peer::tantivy::Tantivy;
use crate::table::{Column, Row, Table, Target, micros, segments};
use plica::Snapshot;
use roaring::RoaringBitmap;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;

/// Questions of a set.
const QUESTIONS: usize = 100;

/// Times both modes for both sets; `history` is a file of the same chunks, built one a commit.
pub fn rows(run: &Run, table: &mut Table, files: &Files, history: Option<&Path>) -> Result<()> {
    for (set, shares, least) in [("rare", RARE, 1.5), ("common", COMMON, 1.0)] {
        for all in [false, true] {
            row(run, table, files, history, (set, shares.clone(), if all { 1.0 } else { least }, all))?;
        }
    }
    Ok(())
}

/// An engine under measurement: where its figure goes, its segments, its times.
struct Measured {
    name: &'static str,
    segments: Option<usize>,
    times: Times,
}

fn row(
    run: &Run,
    table: &mut Table,
    files: &Files,
    history: Option<&Path>,
    (set, shares, least, all): (&str, Range<f64>, f64, bool),
) -> Result<()> {
    let corpus = &files.corpus;
    let questions = corpus.questions(shares, QUESTIONS);
    let mode = if all { "AND" } else { "OR" };
    let what = format!("top 10, {mode} of 2 to 4 {set} terms, {}", run.label(corpus.len()));
    if questions.is_empty() {
        table.push(Row::new(format!("{what}: no such terms in this corpus")));
        return Ok(());
    }
    let mut snapshots: Vec<(&'static str, Snapshot)> = vec![("built", engine::open(&files.plica)?)];
    for (name, path) in [("vacuumed", files.vacuumed.as_deref()), ("history", history)] {
        if let Some(path) = path {
            snapshots.push((name, engine::open(path)?));
        }
    }
    let (bulk, merged, fts5) =
        (Tantivy::open(&files.tantivy)?, Tantivy::open(&files.merged)?, Fts5::open(&files.fts5)?);
    let bitmaps = if all { bitmaps(files, &questions) } else { HashMap::new() };

    let (mut names, mut calls): (Vec<(&'static str, Option<usize>)>, Vec<Call<'_>>) = (Vec::new(), Vec::new());
    let questions = &questions;
    for (name, snapshot) in &snapshots {
        names.push((name, Some(engine::segments(snapshot)?)));
        calls.push(Box::new(move |at| Ok(plica_top10(snapshot, corpus, &questions[at], all)?.len() as u64)));
    }
    for (name, index) in [("tantivy", &bulk), ("merged", &merged)] {
        names.push((name, Some(index.segments())));
        calls.push(Box::new(move |at| Ok(index.top10(&questions[at], all)?.len() as u64)));
    }
    names.push(("fts5", None));
    calls.push(Box::new(|at| Ok(fts5.top10(&questions[at], all)?.len() as u64)));
    if all {
        names.push(("floor", None));
        calls.push(Box::new(|at| Ok(and(&bitmaps, &questions[at]))));
    }
    let times = interleaved(questions.len(), run.rounds, run.limit, &mut calls)?;
    drop(calls);
    let measured: Vec<Measured> =
        names.into_iter().zip(times).map(|((name, segments), times)| Measured { name, segments, times }).collect();
    let mut row = told(what, &measured, least);
    if let Some((_, snapshot)) = snapshots.first() {
        row = row.ratio("overlap@10 with tantivy", overlap(files, snapshot, &merged, questions, all)?, None);
    }
    table.push(row);
    Ok(())
}

fn told(what: String, measured: &[Measured], least: f64) -> Row {
    let of = |name: &str| measured.iter().find(|of| of.name == name);
    let cell = |name: &str| {
        of(name).map(|of| match of.segments {
            Some(count) => format!("{} {}", micros(of.times.median()), segments(count)),
            None => micros(of.times.median()),
        })
    };
    let both = format!("{}; {}", cell("tantivy").unwrap_or_default(), cell("merged").unwrap_or_default());
    let mut row = Row::new(what)
        .maybe(Column::Vacuumed, cell("vacuumed"))
        .maybe(Column::Built, cell("built"))
        .maybe(Column::History, cell("history"))
        .cell(Column::Tantivy, both)
        .maybe(Column::Sqlite, cell("fts5"))
        .maybe(Column::Floor, cell("floor").map(|cell| format!("roaring AND, unranked: {cell}")));
    let pairs = [
        ("built", "tantivy", "× tantivy as built", Some(Target::Least(least))),
        ("vacuumed", "merged", "× tantivy merged, vacuumed", Some(Target::Least(least))),
        ("history", "merged", "× tantivy merged, worst history", None),
        ("built", "fts5", "× FTS5", None),
    ];
    for (own, other, name, target) in pairs {
        if let (Some(own), Some(other)) = (of(own), of(other)) {
            row = row.ratio(name, other.times.mean() / own.times.mean(), target);
        }
    }
    row
}

/// Share of tantivy's ten best that are among Plica's, over all questions.
fn overlap(files: &Files, snapshot: &Snapshot, index: &Tantivy, questions: &[Terms], all: bool) -> Result<f64> {
    let (mut same, mut of) = (0, 0);
    for terms in questions {
        let own = plica_top10(snapshot, &files.corpus, terms, all)?;
        let own: HashSet<String> = own.iter().map(|top| files.corpus.chunk(top.chunk).into_owned()).collect();
        for (_, at) in index.top10(terms, all)? {
            same += u32::from(own.contains(&index.text(at)?));
            of += 1;
        }
    }
    Ok(f64::from(same) / f64::from(of.max(1)))
}

/// The chunks of every term that is asked for.
fn bitmaps(files: &Files, questions: &[Terms]) -> HashMap<String, RoaringBitmap> {
    let mut bitmaps: HashMap<String, RoaringBitmap> =
        questions.iter().flatten().map(|term| (term.clone(), RoaringBitmap::new())).collect();
    for at in 0..files.corpus.len() {
        plica::text::for_each_token(&files.corpus.chunk(at), |token| {
            if let Some(bitmap) = bitmaps.get_mut(token) {
                bitmap.insert(at as u32);
            }
        });
    }
    bitmaps
}

fn and(bitmaps: &HashMap<String, RoaringBitmap>, terms: &Terms) -> u64 {
    let mut found: Option<RoaringBitmap> = None;
    for term in terms {
        let bitmap = &bitmaps[term];
        found = Some(found.map_or_else(|| bitmap.clone(), |found| found & bitmap));
    }
    found.map_or(0, |found| found.len())
}

/// Median and late quantiles as text.
pub fn told_micros(times: &Times) -> String {
    format!(
        "{}, 99 % {}, 99.9 % {}",
        micros(times.median()),
        micros(times.quantile(0.99)),
        micros(times.quantile(0.999))
    )
}
