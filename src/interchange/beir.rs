//! The BEIR layout: `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv` in one folder.

use crate::index::Writer;
use crate::ingest::Reader;
use crate::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// What an import of a BEIR corpus did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BeirImported {
    /// Documents that are new, or were not complete before.
    pub documents: u64,
    /// Rows that were read as chunks.
    pub chunks: u64,
    /// Rows that were there already.
    pub skipped: u64,
}

/// Imports the corpus of a BEIR folder: rows are chunks, read with the reader's model as in a build.
/// `side_by_side` is how many documents are read in lock step (1: one after another).
pub fn import_beir(
    writer: &mut Writer,
    folder: &Path,
    reader: &mut Reader<'_>,
    side_by_side: usize,
) -> Result<BeirImported> {
    let _ = (writer, folder, reader, side_by_side);
    Err(Error::invalid("import of BEIR folders is not there yet"))
}

/// A question of a BEIR folder.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) document: Option<String>,
}

/// The questions of a BEIR folder, in file order.
pub(crate) fn queries(folder: &Path) -> Result<Vec<Query>> {
    let _ = folder;
    Ok(Vec::new())
}

/// The ids of the relevant chunks of each question.
pub(crate) fn relevant(folder: &Path) -> Result<HashMap<String, HashSet<String>>> {
    let _ = folder;
    Ok(HashMap::new())
}
