//! What checking costs at the first touch: a search right after opening, with the page cache warm, beside the same
//! search again.
//!
//! The library has no switch that turns checking off, so its share is worked out: a search of a file opened with
//! positioned reads says how many bytes are read at the first touch (`rchar`), `crc32fast` says how long the checksum of
//! as many bytes takes on this machine, and that is set beside the time of the cold search through the memory map. The
//! validation of structures is in the difference of the two searches, not in this share.

use super::{Files, Run};
use crate::clock::{Times, io_counter};
use crate::corpus::COMMON;
use crate::engine::{self, plica_top10};
use crate::table::{Column, Row, Table, Target, bytes, micros, short};
use crate::Result;
use plica::{Index, ReadOptions, SourceKind};
use std::time::Instant;

/// Questions, each in a file opened anew.
const QUESTIONS: usize = 30;

/// Measures searches for common terms, which touch the most.
pub fn rows(run: &Run, table: &mut Table, files: &Files) -> Result<()> {
    let corpus = &files.corpus;
    let questions = corpus.questions(COMMON, QUESTIONS);
    let throughput = crc_bytes_a_microsecond();
    let (mut cold, mut again, mut touched) = (Vec::new(), Vec::new(), Vec::new());
    for terms in &questions {
        let positioned = Index::open_with(&files.plica, &ReadOptions::new().source(SourceKind::Positioned))?;
        let before = io_counter("rchar").unwrap_or_default();
        plica_top10(&positioned.snapshot(), corpus, terms, false)?;
        touched.push((io_counter("rchar").unwrap_or_default() - before) as f64);
        let snapshot = engine::open(&files.plica)?;
        for list in [&mut cold, &mut again] {
            let start = Instant::now();
            plica_top10(&snapshot, corpus, terms, false)?;
            list.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    let (cold, again, touched) = (Times::of(cold), Times::of(again), Times::of(touched).median());
    let checking = touched / throughput;
    table.push(
        Row::new(format!("first search after opening, common terms, {}, page cache warm", run.label(corpus.len())))
            .cell(
                Column::Built,
                format!(
                    "{}, the same again {}; {} touched",
                    micros(cold.median()),
                    micros(again.median()),
                    bytes(touched as u64)
                ),
            )
            .cell(
                Column::Floor,
                format!("crc32fast of as many bytes: {} ({} GiB/s)", micros(checking), short(throughput * 1e6 / 1.073e9)),
            )
            .ratio("checksums' share of the cold search", checking / cold.median(), Some(Target::Most(0.1)))
            .ratio("cold / again", cold.median() / again.median(), None),
    );
    Ok(())
}

/// Bytes that `crc32fast` takes in a microsecond, in runs as long as a block.
fn crc_bytes_a_microsecond() -> f64 {
    let block = vec![0xA5u8; 8 << 10];
    let samples = (0..2000).map(|_| {
        let start = Instant::now();
        std::hint::black_box(crc32fast::hash(std::hint::black_box(&block)));
        start.elapsed().as_secs_f64() * 1e6
    });
    block.len() as f64 / Times::of(samples.collect()).median()
}
