//! SQLite with FTS5: each chunk is a row of one column, `detail=column` (frequencies without positions), ranked by its
//! `bm25`.

use crate::Result;
use crate::clock::Stopwatch;
use crate::corpus::Corpus;
use rusqlite::Connection;
use std::path::Path;

/// A database that is open.
#[derive(Debug)]
pub struct Fts5 {
    connection: Connection,
}

/// Builds a database in one transaction. `watch` runs in SQLite's calls alone.
pub fn build(path: &Path, corpus: &Corpus, watch: &mut Stopwatch) -> Result<()> {
    let peer = watch.time(|| -> Result<Fts5> {
        let peer = Fts5::open(path)?;
        peer.connection.execute_batch("CREATE VIRTUAL TABLE t USING fts5(text, detail=column); BEGIN")?;
        Ok(peer)
    })?;
    for range in corpus.documents() {
        let texts: Vec<_> = range.clone().map(|at| corpus.chunk(at)).collect();
        watch.time(|| -> rusqlite::Result<()> {
            let mut insert = peer.connection.prepare_cached("INSERT INTO t(text) VALUES (?1)")?;
            texts.iter().try_for_each(|text| insert.execute([text.as_ref()]).map(|_| ()))
        })?;
    }
    watch.time(|| peer.connection.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)"))?;
    Ok(())
}

impl Fts5 {
    /// Opens a database with a write-ahead log that is synced at every commit.
    pub fn open(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA mmap_size=17179869184")?;
        Ok(Self { connection })
    }

    /// The ten best rows with any, or with all, of the terms.
    pub fn top10(&self, terms: &[String], all: bool) -> Result<Vec<i64>> {
        let quoted: Vec<String> = terms.iter().map(|term| format!("\"{term}\"")).collect();
        let asked = quoted.join(if all { " AND " } else { " OR " });
        let mut select =
            self.connection.prepare_cached("SELECT rowid FROM t WHERE t MATCH ?1 ORDER BY rank LIMIT 10")?;
        let rows = select.query_map([asked], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Appends a row and commits it durably.
    pub fn append(&self, text: &str) -> Result<()> {
        self.connection.prepare_cached("INSERT INTO t(text) VALUES (?1)")?.execute([text])?;
        Ok(())
    }
}
