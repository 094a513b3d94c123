//! The worst history: every chunk a commit of its own.
//!
//! The file is built once, what was written for it is counted, and text is searched in it beside a bulk-built file of the
//! same chunks. After `vacuum` it should be as large as the bulk-built one.

use super::Run;
use crate::clock::io_counter;
use crate::corpus::Corpus;
use crate::peer::size_of;
use crate::table::{Column, Row, Table, Target, bytes, short};
use crate::{Result, engine};

/// Builds the history of the first chunks and measures it.
pub fn rows(run: &Run, table: &mut Table, corpus: Corpus, searching: bool) -> Result<()> {
    let chunks = corpus.len();
    let path = run.path("history.plica")?;
    let before = io_counter("wchar");
    let start = std::time::Instant::now();
    engine::history(&path, &corpus)?;
    let seconds = start.elapsed().as_secs_f64();
    let written = before.zip(io_counter("wchar")).map_or(0, |(before, after)| after - before);
    let snapshot = engine::open(&path)?;
    let live = snapshot.stat()?.bytes.live;
    let a_commit = written as f64 / chunks as f64;
    table.push(
        Row::new(format!("one-chunk commits, {}: bytes written", run.label(chunks)))
            .cell(
                Column::History,
                format!(
                    "{} a commit, file {}, live {}, {} ms a commit, {} segments",
                    bytes(a_commit as u64),
                    bytes(size_of(&path)?),
                    bytes(live),
                    short(seconds * 1e3 / chunks as f64),
                    engine::segments(&snapshot)?
                ),
            )
            .ratio("KiB a commit", a_commit / 1024.0, Some(Target::Most(12.0)))
            .ratio("written / live", written as f64 / live as f64, None),
    );
    let files = super::files(run, corpus)?;
    let bulk = size_of(&files.plica)?;
    let mut row = Row::new(format!("the same, vacuumed, beside the bulk-built file, {}", run.label(chunks)))
        .cell(Column::Built, bytes(bulk));
    if let Some(vacuumed) = engine::vacuumed(&path)? {
        let size = size_of(&vacuumed)?;
        row = row.cell(Column::Vacuumed, bytes(size));
        row = row.ratio("of the bulk-built file", size as f64 / bulk as f64, Some(Target::Most(1.05)));
    }
    table.push(row);
    if searching {
        super::search::rows(run, table, &files, Some(&path))?;
    }
    Ok(())
}
