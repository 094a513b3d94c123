//! The rows: one module a group of them. Each takes a [`Run`] and pushes what it found on the table.

pub mod alias;
pub mod append;
pub mod bulk;
pub mod document;
pub mod first_touch;
pub mod history;
pub mod memory;
pub mod open;
pub mod search;
pub mod size;

use crate::corpus::Corpus;
use crate::{Result, engine, peer};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What all rows of one run share.
#[derive(Debug)]
pub struct Run {
    /// Where files are put.
    pub folder: PathBuf,
    /// The texts.
    pub corpus: Corpus,
    /// The same as whole texts with names, where they are novels.
    pub sources: Option<Vec<(String, String)>>,
    /// Chunks of the worst history.
    pub history: usize,
    /// Rounds of a set of questions.
    pub rounds: u32,
    /// Time after which a set of questions is cut short.
    pub limit: Duration,
    /// Whether threads are kept on one core.
    pub pinned: bool,
    /// A Python that has bm25s.
    pub python: Option<PathBuf>,
    /// Where the questions to one document are written as JSON.
    pub export: Option<PathBuf>,
}

impl Run {
    /// A path in the folder of this run; what an earlier row left there is removed.
    pub fn path(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        remove(&path)?;
        Ok(path)
    }

    /// What is called by several rows before its numbers: the corpus and its size.
    pub fn label(&self, chunks: usize) -> String {
        format!("{} {}", self.corpus.name(), count(chunks))
    }
}

/// The files of one corpus, of Plica and of the peers.
#[derive(Debug, Clone)]
pub struct Files {
    /// The texts in them.
    pub corpus: Corpus,
    /// Plica, with all channels, as bulk imported.
    pub plica: PathBuf,
    /// The same, vacuumed, where there is such a thing.
    pub vacuumed: Option<PathBuf>,
    /// tantivy, as bulk imported.
    pub tantivy: PathBuf,
    /// tantivy, merged into one segment.
    pub merged: PathBuf,
    /// SQLite.
    pub fts5: PathBuf,
}

/// Builds the files of a corpus without telling how long it took.
pub fn files(run: &Run, corpus: Corpus) -> Result<Files> {
    let name = |what: &str| run.path(&format!("{}-{what}", corpus.len()));
    let (plica, tantivy, fts5) = (name("bulk.plica")?, name("tantivy")?, name("fts5.sqlite")?);
    let mut watch = Default::default();
    engine::bulk(&plica, &corpus, engine::Channels::All, &mut watch)?;
    peer::tantivy::build(&tantivy, &corpus, 1, peer::tantivy::Store::Default, &mut watch)?;
    peer::fts5::build(&fts5, &corpus, &mut watch)?;
    Files::over(run, corpus, plica, tantivy, fts5)
}

impl Files {
    /// Files that were built, and the merged and vacuumed ones made from them.
    pub fn over(run: &Run, corpus: Corpus, plica: PathBuf, tantivy: PathBuf, fts5: PathBuf) -> Result<Self> {
        let merged = run.path(&format!("{}-tantivy-merged", corpus.len()))?;
        peer::copy(&tantivy, &merged)?;
        peer::tantivy::merge(&merged)?;
        Ok(Self { vacuumed: engine::vacuumed(&plica)?, corpus, plica, tantivy, merged, fts5 })
    }
}

/// Removes a file, with SQLite's files beside it, or a folder, if it is there.
pub fn remove(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(std::fs::remove_dir_all(path)?);
    }
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        if Path::new(&name).exists() {
            std::fs::remove_file(&name)?;
        }
    }
    Ok(())
}

/// A number with its thousands set apart.
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
