//! Opening a file, opening it and searching once, and `refresh` when nothing changed.
//!
//! Every sample opens the file anew and drops it; the page cache is warm, as after a restart of a process and not of the
//! machine. The first search is for the rarest words, so that what grows with the size is the way to the answer and not the
//! answer. *Flat* is taken as: at most 1.5 times what it is at the smallest size.

use super::{Files, Run};
use crate::clock::{Call, interleaved};
use crate::corpus::Terms;
use crate::engine::{self, plica_top10};
use crate::peer::fts5::Fts5;
use crate::peer::tantivy::Tantivy;
use crate::table::{Column, Row, Table, Target, micros};
use crate::Result;
use plica::Index;

/// Medians of the smallest size: open, and open with a search.
pub type Smallest = Option<[f64; 2]>;

/// Times opening these files. `smallest` is what an earlier call gave.
pub fn rows(run: &Run, table: &mut Table, files: &Files, smallest: Smallest) -> Result<[f64; 2]> {
    let corpus = &files.corpus;
    let questions: Vec<Terms> = corpus.questions(0.0..2.5 / corpus.len().min(crate::corpus::SAMPLE) as f64, 50);
    if questions.is_empty() {
        return Err("no terms are rare enough for the rows of opening".into());
    }
    let mut medians = [f64::NAN; 2];
    for (at, searching) in [false, true].into_iter().enumerate() {
        let questions = &questions;
        let plica = |path: &std::path::Path| -> Call<'_> {
            let path = path.to_owned();
            Box::new(move |at| {
                let snapshot = Index::open(&path)?.snapshot();
                let hits = if searching { Some(plica_top10(&snapshot, corpus, &questions[at], false)?) } else { None };
                Ok(hits.map_or(snapshot.sequence(), |hits| hits.len() as u64))
            })
        };
        let mut calls: Vec<Call<'_>> = vec![
            plica(&files.plica),
            Box::new(move |at| {
                let index = Tantivy::open(&files.merged)?;
                Ok(if searching { index.top10(&questions[at], false)?.len() } else { index.segments() } as u64)
            }),
            Box::new(move |at| {
                let database = Fts5::open(&files.fts5)?;
                Ok(if searching { database.top10(&questions[at], false)?.len() } else { 0 } as u64)
            }),
        ];
        if let Some(path) = &files.vacuumed {
            calls.push(plica(path));
        }
        let times = interleaved(questions.len(), run.rounds.min(7), run.limit / 2, &mut calls)?;
        drop(calls);
        let [own, tantivy, sqlite] = [0, 1, 2].map(|at| times[at].median());
        let vacuumed = times.get(3).map(|times| times.median());
        let judged = vacuumed.unwrap_or(own);
        medians[at] = judged;
        let what = if searching { "open and a first search" } else { "open" };
        let segments = engine::segments(&engine::open(&files.plica)?)?;
        let mut row = Row::new(format!("{what}, {}, page cache warm", run.label(corpus.len())))
            .cell(Column::Built, format!("{} ({segments} segments)", micros(own)))
            .maybe(Column::Vacuumed, vacuumed.map(micros))
            .cell(Column::Tantivy, format!("{} (1 segment)", micros(tantivy)))
            .cell(Column::Sqlite, micros(sqlite))
            .ratio("of tantivy", judged / tantivy, Some(Target::Most(0.5)));
        if let Some(smallest) = smallest {
            row = row.ratio("of the smallest size", judged / smallest[at], Some(Target::Most(1.5)));
        }
        table.push(row);
    }
    Ok(medians)
}

/// Times `refresh` when nothing changed.
pub fn refresh(run: &Run, table: &mut Table, files: &Files) -> Result<()> {
    let index = Index::open(&files.plica)?;
    let call: Call<'_> = Box::new(|_| Ok(u64::from(index.refresh()? == plica::Refreshed::Unchanged)));
    let times = interleaved(1000, run.rounds, run.limit, &mut [call])?;
    let median = times[0].median();
    let row = Row::new(format!("refresh when nothing changed, {}", run.label(files.corpus.len())))
        .cell(Column::Built, micros(median))
        .ratio("µs", median, Some(Target::Most(5.0)));
    table.push(row);
    Ok(())
}
