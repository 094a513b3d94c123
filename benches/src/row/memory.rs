//! Peak memory of an import and of a reader, each in a process of its own.
//!
//! The program runs itself again with a hidden subcommand; the child says the peak of its resident memory (`VmHWM`). The
//! lines of the import are made one document at a time, so that the child holds no corpus. A reader's pages are mapped:
//! what it touched counts while the system keeps it.

use super::{Files, Run};
use crate::clock::peak_memory;
use crate::corpus::{Corpus, Lines, RARE, Shape};
use crate::table::{Column, Row, Table, Target, bytes};
use crate::{Result, engine};
use std::io::BufReader;
use std::path::Path;
use std::process::Command;

/// What a child is asked to do, by the word that says so.
pub const IMPORT: &str = "child-import";
/// As [`IMPORT`].
pub const READ: &str = "child-read";

/// Measures an import of as many chunks as the corpus has, and a reader of its file.
pub fn rows(run: &Run, table: &mut Table, files: &Files) -> Result<()> {
    let chunks = files.corpus.len();
    if files.corpus.is_made() {
        let path = run.path("memory.plica")?;
        let peak = child(&[IMPORT, path.to_str().ok_or("a path that is no text")?, &chunks.to_string()])?;
        let budget = engine::options().memory_budget_bytes as u64;
        let over = peak.saturating_sub(budget);
        table.push(
            Row::new(format!("peak memory of an import, {}, budget {}", run.label(chunks), bytes(budget)))
                .cell(Column::Built, bytes(peak))
                .ratio("MiB over the budget", over as f64 / 1_048_576.0, Some(Target::Most(64.0))),
        );
        super::remove(&path)?;
        let peak = child(&[READ, files.plica.to_str().ok_or("a path that is no text")?, &chunks.to_string()])?;
        table.push(
            Row::new(format!("peak memory of a reader, 100 questions for rare terms, {}", run.label(chunks)))
                .cell(Column::Built, format!("{}; the file has {}", bytes(peak), bytes(files.plica.metadata()?.len()))),
        );
    }
    Ok(())
}

fn child(arguments: &[&str]) -> Result<u64> {
    let out = Command::new(std::env::current_exe()?).args(arguments).output()?;
    let said = String::from_utf8_lossy(&out.stdout);
    let peak = said.trim().parse();
    Ok(peak.map_err(|_| format!("a child said {said:?} and {:?}", String::from_utf8_lossy(&out.stderr)))?)
}

/// Does what a child is asked to do, and says its peak.
pub fn be_child(what: &str, path: &str, chunks: &str) -> Result<()> {
    let corpus = Corpus::zipf(Shape::new(chunks.parse()?));
    match what {
        IMPORT => {
            engine::import(Path::new(path), BufReader::new(Lines::new(&corpus)), &mut Default::default())?;
        }
        _ => {
            // The questions come from a few chunks of the corpus, to need little memory.
            let few = corpus.first(2000);
            let snapshot = engine::open(Path::new(path))?;
            for terms in few.questions(RARE, 100) {
                engine::plica_top10(&snapshot, &corpus, &terms, false)?;
            }
        }
    }
    let peak = peak_memory().ok_or("the system does not say the peak of the memory")?;
    println!("{peak}");
    Ok(())
}
