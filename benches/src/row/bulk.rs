//! Bulk building: chunks a second of one commit, on one core and on two; what was written for it; and the size of what
//! came out. The files are those that the other rows read.
//!
//! The clock runs in the calls of the engine measured, not while texts are made. Plica takes texts, entities and
//! summaries, ready-made, twice: as JSON lines in memory, and by the calls of its writer; and once the texts alone, as
//! the peers do. tantivy and SQLite take the texts alone. Processor time is told beside wall time, since on a machine
//! that others use it is the steadier of the two: the ratio of wall times is judged where the core was busy with the
//! measurement for 85 % of the time or more, else that of processor times. A run on two cores counts only if more than
//! 1.8 of them were busy.

use super::{Files, Run, count};
use crate::clock::{Stopwatch, io_counter, pin};
use crate::corpus::Lines;
use crate::peer::{fts5, size_of, tantivy};
use crate::table::{Column, Row, Table, Target, short};
use crate::{Result, engine};
use std::io::{Read, Write};
use std::time::Instant;

/// Cores busy below which others had the core as well.
const ALONE: f64 = 0.85;
/// Cores busy from which a run on two counts.
const BOTH: f64 = 1.8;

/// Times building and gives the files.
pub fn rows(run: &Run, table: &mut Table) -> Result<Files> {
    let (corpus, chunks) = (&run.corpus, run.corpus.len());
    let name = |what: &str| run.path(&format!("{chunks}-{what}"));
    let (plica, tantivy_path, fts5_path) = (name("bulk.plica")?, name("tantivy")?, name("fts5.sqlite")?);

    let mut of_tantivy = Stopwatch::default();
    tantivy::build(&tantivy_path, corpus, 1, tantivy::Store::Default, &mut of_tantivy)?;
    let mut of_fts5 = Stopwatch::default();
    fts5::build(&fts5_path, corpus, &mut of_fts5)?;

    let text_alone = name("text.plica")?;
    let mut of_text = Stopwatch::default();
    engine::bulk(&text_alone, corpus, engine::Channels::Text, &mut of_text)?;

    let mut of_reading = None;
    let (mut written, mut of_writer) = (None, None);
    match &run.sources {
        Some(sources) => {
            let mut watch = Stopwatch::default();
            engine::read(&plica, sources, &mut watch)?;
            of_reading = Some(watch);
        }
        None => {
            let (mut watch, before) = (Stopwatch::default(), io_counter("wchar"));
            engine::bulk(&plica, corpus, engine::Channels::All, &mut watch)?;
            written = before.zip(io_counter("wchar")).map(|(before, after)| after - before);
            of_writer = Some(watch);
        }
    }
    let lines = lines(run, &plica)?;
    let imported = name("lines.plica")?;
    let mut of_lines = Stopwatch::default();
    engine::import(&imported, lines.as_slice(), &mut of_lines)?;

    let row = |what: &str| Row::new(format!("{what}, {}, one core, chunks a second", run.label(chunks)));
    let peers =
        |row: Row| row.cell(Column::Tantivy, speed(chunks, of_tantivy)).cell(Column::Sqlite, speed(chunks, of_fts5));
    let judged = |row: Row, own: Stopwatch, target: Option<Target>| {
        let wall = of_tantivy.wall.as_secs_f64() / own.wall.as_secs_f64();
        let cpu = of_tantivy.cpu.as_secs_f64() / own.cpu.as_secs_f64();
        // Where others had the core, wall time says how long they had it.
        let shared = own.cores().min(of_tantivy.cores()) < ALONE;
        row.cell(Column::Built, speed(chunks, own))
            .ratio("× tantivy", wall, target.filter(|_| !shared))
            .ratio("× tantivy by processor time", cpu, target.filter(|_| shared))
            .ratio("× FTS5", of_fts5.wall.as_secs_f64() / own.wall.as_secs_f64(), None)
    };
    table.push(judged(peers(row("bulk: three channels from JSON lines")), of_lines, Some(Target::Least(1.0))));
    if let Some(watch) = of_writer {
        let floor = floor(run, &plica)?;
        let row = peers(row("bulk: three channels by the writer's calls")).cell(Column::Floor, floor);
        table.push(judged(row, watch, Some(Target::Least(1.0))));
    }
    if let Some(watch) = of_reading {
        let row = row("build: whole texts read by the built-in model");
        table.push(row.cell(Column::Built, speed(chunks, watch)));
    }
    table.push(judged(peers(row("bulk: texts alone")), of_text, None));
    if let Some(written) = written {
        let stat = engine::open(&plica)?.stat()?;
        let row = Row::new(format!("bulk, {}: bytes written over live bytes", run.label(chunks)));
        let cell = format!("{} over {}", crate::table::bytes(written), crate::table::bytes(stat.bytes.live));
        let ratio = written as f64 / stat.bytes.live as f64;
        table.push(row.cell(Column::Built, cell).ratio("written / live", ratio, Some(Target::Most(1.3))));
    }
    two_cores(run, table, &lines, (of_lines, of_tantivy))?;
    Files::over(run, corpus.clone(), plica, tantivy_path, fts5_path)
}

/// The JSON lines of all that the corpus has, or of what was read.
fn lines(run: &Run, plica: &std::path::Path) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    match run.corpus.is_made() {
        true => {
            Lines::new(&run.corpus).read_to_end(&mut lines)?;
        }
        false => plica::interchange::export(&engine::open(plica)?, &mut lines)?,
    }
    Ok(lines)
}

fn two_cores(run: &Run, table: &mut Table, lines: &[u8], one: (Stopwatch, Stopwatch)) -> Result<()> {
    let chunks = run.corpus.len();
    if run.pinned {
        pin([0, 1]);
    }
    let (mut of_lines, mut of_tantivy) = (Stopwatch::default(), Stopwatch::default());
    engine::import_on(&run.path("two.plica")?, lines, 2, &mut of_lines)?;
    let folder = run.path("two-tantivy")?;
    tantivy::build(&folder, &run.corpus, 2, tantivy::Store::Default, &mut of_tantivy)?;
    if run.pinned {
        pin([0]);
    }
    let gain = |one: Stopwatch, two: Stopwatch| one.wall.as_secs_f64() / two.wall.as_secs_f64();
    let cell = |watch: Stopwatch| {
        let counts = if watch.cores() > BOTH { "counts" } else { "does not count" };
        format!("{}, {} cores busy: {counts}", speed(chunks, watch), short(watch.cores()))
    };
    let row = Row::new(format!("bulk: three channels from JSON lines, {}, both cores", run.label(chunks)))
        .cell(Column::Built, cell(of_lines))
        .cell(Column::Tantivy, cell(of_tantivy))
        .ratio("× its one core", gain(one.0, of_lines), Some(Target::Least(1.05)).filter(|_| of_lines.cores() > BOTH))
        .ratio("× tantivy's both", gain(of_tantivy, of_lines), None);
    table.push(row);
    super::remove(&run.folder.join("two.plica"))?;
    super::remove(&folder)
}

/// What the machine does with the bytes of the file: a copy in memory, and a write with a sync.
fn floor(run: &Run, plica: &std::path::Path) -> Result<String> {
    let bytes = std::fs::read(plica)?;
    let mut copy = vec![0; bytes.len()];
    let start = Instant::now();
    copy.copy_from_slice(&bytes);
    std::hint::black_box(&copy);
    let copied = start.elapsed().as_secs_f64();
    let path = run.path("floor")?;
    let mut file = std::fs::File::create(&path)?;
    let start = Instant::now();
    file.write_all(&bytes)?;
    file.sync_data()?;
    let synced = start.elapsed().as_secs_f64();
    super::remove(&path)?;
    let gibibytes = size_of(plica)? as f64 / f64::from(1 << 30);
    Ok(format!(
        "the file's bytes: memcpy {} GiB/s, write and fdatasync {} GiB/s",
        short(gibibytes / copied),
        short(gibibytes / synced)
    ))
}

fn speed(chunks: usize, watch: Stopwatch) -> String {
    let a_second = |time: std::time::Duration| count((chunks as f64 / time.as_secs_f64()) as usize);
    format!("{} ({} by processor time)", a_second(watch.wall), a_second(watch.cpu))
}
