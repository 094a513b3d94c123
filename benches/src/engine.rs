//! Plica, as it is measured: how its files are built, and the few calls that are timed.
//!
//! What is timed is the public interface. Where the interface has no call of its own for what a peer is asked, the
//! nearest one stands here in a function of its own, says so, and is the one place to change.

use crate::clock::Stopwatch;
use crate::corpus::{Corpus, FANOUT, Given, document_id, summary};
use crate::{Random, Result};
use plica::ingest::EntityUpdate;
use plica::search::Bm25;
use plica::{Index, NewChunk, Options, Origin, Snapshot, TextMode, TextQuery, Writer};
use std::path::{Path, PathBuf};

/// What is written beside the texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// Nothing.
    Text,
    /// Entities and summaries, ready-made.
    All,
}

/// A hit of a ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Top {
    /// Number of the chunk in the corpus.
    pub chunk: usize,
    /// Its score.
    pub score: f64,
}

/// The constants that tantivy and FTS5 have.
pub const BM25: Bm25 = Bm25 { k1: 1.2, b: 0.75 };

/// The options that all measurements create by: two files of one corpus are equal byte for byte.
pub fn options() -> Options {
    Options::new().chunk_words(250).timestamps(false).file_id([7; 16])
}

/// Builds a file in one commit by the calls of `Writer`. `watch` runs in those calls alone.
pub fn bulk(path: &Path, corpus: &Corpus, channels: Channels, watch: &mut Stopwatch) -> Result<()> {
    let mut writer = watch.time(|| Writer::create(path, &options()))?;
    for (document, range) in corpus.documents().iter().enumerate() {
        let id = document_id(document);
        let texts: Vec<_> = range.clone().map(|at| corpus.chunk(at)).collect();
        let (mut entities, mut summaries) = (Vec::new(), Vec::new());
        if channels == Channels::All {
            entities = corpus.entities(document, range.len());
            summaries = corpus.summaries(document, range.len());
        }
        watch.time(|| -> plica::Result<()> {
            writer.add_document(&id, "", "")?;
            for text in &texts {
                writer.append_chunk(&id, &NewChunk::text(text))?;
            }
            for Given { entity, ordinals } in &entities {
                writer.add_entity(&id, entity, ordinals)?;
            }
            for (level, index, text) in &summaries {
                writer.set_summary(&id, *level, *index, text, Origin::Given)?;
            }
            writer.publish(&id)
        })?;
    }
    watch.time(|| writer.commit())?;
    Ok(())
}

/// Imports JSON lines in one commit, on one thread.
pub fn import(path: &Path, lines: impl std::io::BufRead, watch: &mut Stopwatch) -> Result<()> {
    import_on(path, lines, 1, watch)
}

/// Imports JSON lines in one commit.
pub fn import_on(path: &Path, lines: impl std::io::BufRead, threads: usize, watch: &mut Stopwatch) -> Result<()> {
    watch.time(|| -> plica::Result<()> {
        let mut writer = Writer::create(path, &options().threads(threads))?;
        plica::interchange::import(&mut writer, lines, plica::interchange::ImportOptions::new())?;
        Ok(())
    })?;
    Ok(())
}

/// Appends the chunks of a corpus, each with four entities, and the summaries that it completes: with one commit a chunk,
/// which is the worst history that a file of these chunks can have, or with one commit for all.
pub fn history(path: &Path, corpus: &Corpus, one_a_chunk: bool) -> Result<()> {
    let mut writer = Writer::create(path, &options())?;
    let mut random = Random::new(11);
    for (document, range) in corpus.documents().iter().enumerate() {
        let id = document_id(document);
        writer.add_document(&id, "", "")?;
        writer.publish(&id)?;
        for at in range.clone() {
            append(&mut writer, document, &corpus.chunk(at), &mut random)?;
            if one_a_chunk {
                writer.commit()?;
            }
        }
    }
    writer.commit()?;
    Ok(())
}

/// Appends one chunk with its entities and the summaries that it completes, and does not commit.
pub fn append(writer: &mut Writer, document: usize, text: &str, random: &mut Random) -> plica::Result<()> {
    let id = document_id(document);
    let appended = writer.append_chunk(&id, &NewChunk::text(text))?;
    let updates: Vec<EntityUpdate> = (0..4).map(|_| update(random)).collect();
    writer.apply_update(&id, appended.ordinal, &updates)?;
    for (level, index) in appended.complete {
        writer.set_summary(&id, level, index, &summary(document, level, index), Origin::Model)?;
    }
    Ok(())
}

fn update(random: &mut Random) -> EntityUpdate {
    let rank = random.zipf(300);
    EntityUpdate {
        name: format!("Person {} {}", crate::word(rank), crate::word(rank + 17)),
        kind: "person".into(),
        aliases: vec![format!("the {}", crate::word(rank + 100))],
        descriptions: if random.next() % 3 == 0 { vec![crate::text(random, 12, 50_000)] } else { Vec::new() },
    }
}

/// Builds a file of whole texts with the built-in model.
pub fn read(path: &Path, sources: &[(String, String)], watch: &mut Stopwatch) -> Result<()> {
    watch.time(|| -> plica::Result<()> {
        let mut writer = Writer::create(path, &options())?;
        let mut reader = plica::ingest::Reader::new(Some(&plica::ingest::builtin::Builtin));
        for (document, (_, text)) in sources.iter().enumerate() {
            let id = document_id(document);
            reader.build(&mut writer, plica::ingest::Source { id: &id, text, ..Default::default() })?;
        }
        Ok(())
    })?;
    Ok(())
}

/// A vacuumed copy of a file, beside it.
pub fn vacuumed(path: &Path) -> Result<Option<PathBuf>> {
    let copy = path.with_extension("vacuumed.plica");
    std::fs::copy(path, &copy)?;
    plica::vacuum(&copy, &plica::VacuumOptions::new())?;
    Ok(Some(copy))
}

/// The ten best chunks by text alone: with any of the terms, or with all of them.
pub fn plica_top10(snapshot: &Snapshot, corpus: &Corpus, terms: &[String], all: bool) -> Result<Vec<Top>> {
    let mode = if all { TextMode::All } else { TextMode::Any };
    let query = TextQuery { mode, bm25: BM25, ..TextQuery::new(terms.join(" ")) };
    let mut hits = Vec::with_capacity(query.k);
    for hit in snapshot.text_search(&query)? {
        let document: usize = hit.document[1..].parse()?;
        let start = corpus.documents().get(document).ok_or("a hit in a document that is not there")?.start;
        hits.push(Top { chunk: start + hit.ordinal as usize, score: hit.score });
    }
    Ok(hits)
}

/// How many chunks of a document are linked to an alias.
pub fn chunks_of_alias(snapshot: &Snapshot, document: &str, alias: &str) -> Result<u64> {
    Ok(snapshot.linked_chunks(document, alias)?.len() as u64)
}

/// Opens a file and gives what it holds now.
pub fn open(path: &Path) -> Result<Snapshot> {
    Ok(Index::open(path)?.snapshot())
}

/// Segments of the newest commit.
pub fn segments(snapshot: &Snapshot) -> Result<usize> {
    Ok(snapshot.log().next().ok_or("a file without a commit")??.segments as usize)
}

/// Complete nodes of the first level of a document's fold tree.
pub fn first_level(chunks: usize) -> usize {
    chunks / FANOUT as usize
}
