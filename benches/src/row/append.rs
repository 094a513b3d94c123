//! One chunk appended and durably committed, on top of files of growing size.
//!
//! Plica appends a chunk with entities and summaries; right before or after, in turns, the floor writes and syncs as many
//! bytes as that commit wrote, at the end of a file beside it. tantivy, SQLite (write-ahead log, full sync) and redb (the
//! text under a number, no index) append the text alone, in the same rounds as long as their fewer samples last. The
//! bytes of a commit are counted by the system (`wchar`), so that what is rewritten counts as well.

use super::search::told_micros;
use super::{Files, Run};
use crate::clock::{Times, io_counter};
use crate::corpus::{Corpus, Shape};
use crate::peer::{copy, fts5::Fts5, keyvalue::Redb, tantivy::Tantivy};
use crate::table::{Column, Row, Table, Target, bytes};
use crate::{Random, Result, engine};
use plica::Writer;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Commits of Plica and of the floor.
const SAMPLES: usize = 1000;
/// Commits of each peer.
const PEER_SAMPLES: usize = 150;

/// Times commits on top of these files. The files stay as they are: copies grow.
pub fn rows(run: &Run, table: &mut Table, files: &Files) -> Result<()> {
    let new = Corpus::zipf(Shape { document: 1 << 20, ..Shape::new(1 << 20) });
    let chunk = |at: usize| new.chunk(new.len() - 1 - at);
    let paths = [(&files.plica, "append.plica"), (&files.tantivy, "append-tantivy"), (&files.fts5, "append.sqlite")];
    for (from, name) in paths {
        copy(from, &run.path(name)?)?;
    }
    let redb = Redb::open(&run.path("append.redb")?)?;
    let sqlite = Fts5::open(&run.folder.join("append.sqlite"))?;
    let mut tantivy = Tantivy::open(&run.folder.join("append-tantivy"))?.writer()?;
    let mut writer = Writer::open_with(run.folder.join("append.plica"), &engine::options())?;
    let mut floor = File::create(run.path("append.floor")?)?;
    let last = files.corpus.documents().len() - 1;
    let mut random = Random::new(23);

    let mut samples: [Vec<f64>; 5] = Default::default();
    let mut sizes = Vec::new();
    for at in 0..SAMPLES + 10 {
        let text = chunk(at);
        let before = io_counter("wchar").unwrap_or_default();
        let own = timed(|| {
            engine::append(&mut writer, last, &text, &mut random)?;
            writer.commit()?;
            Ok(())
        })?;
        let written = io_counter("wchar").unwrap_or_default() - before;
        let block = vec![0x5A; written as usize];
        let raw = timed(|| {
            floor.write_all(&block)?;
            Ok(floor.sync_data()?)
        })?;
        let mut peers = [None; 3];
        if at < PEER_SAMPLES + 10 {
            peers = [
                Some(timed(|| tantivy.append(&text))?),
                Some(timed(|| sqlite.append(&text))?),
                Some(timed(|| redb.append(at as u64, text.as_bytes()))?),
            ];
        }
        // The first ten warm up.
        if at < 10 {
            continue;
        }
        sizes.push(written);
        for (list, sample) in samples.iter_mut().zip([Some(own), Some(raw)].into_iter().chain(peers)) {
            list.extend(sample);
        }
    }
    let [own, raw, of_tantivy, of_sqlite, of_redb] = samples.map(Times::of);
    sizes.sort_unstable();
    let row = Row::new(format!("one chunk appended and committed, on top of {}", run.label(files.corpus.len())))
        .cell(Column::Built, format!("{}; {} a commit", told_micros(&own), bytes(sizes[sizes.len() / 2])))
        .cell(Column::Floor, format!("write and fdatasync of the same bytes: {}", told_micros(&raw)))
        .cell(Column::Tantivy, told_micros(&of_tantivy))
        .cell(Column::Sqlite, told_micros(&of_sqlite))
        .cell(Column::Redb, format!("no index: {}", told_micros(&of_redb)))
        .ratio("of the floor's median", own.median() / raw.median(), Some(Target::Most(1.2)))
        .ratio("of its 99.9 %", own.quantile(0.999) / raw.quantile(0.999), Some(Target::Most(3.0)))
        .ratio("× tantivy", of_tantivy.median() / own.median(), None)
        .ratio("× SQLite", of_sqlite.median() / own.median(), None);
    table.push(row);
    drop((redb, sqlite, tantivy, writer, floor));
    for name in ["append.plica", "append-tantivy", "append.sqlite", "append.redb", "append.floor"] {
        super::remove(Path::new(&run.folder.join(name)))?;
    }
    Ok(())
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64() * 1e6)
}
