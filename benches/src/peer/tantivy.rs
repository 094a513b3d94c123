//! tantivy: each chunk is a document of one field, tokenised by the default tokenizer, indexed with frequencies, and
//! stored.

use crate::Result;
use crate::clock::Stopwatch;
use crate::corpus::Corpus;
use std::path::Path;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{DocAddress, Index, IndexSettings, IndexWriter, Score, Searcher, TantivyDocument, Term, doc};

/// Memory of its writer: as much as Plica's.
const MEMORY_BYTES: usize = 256 << 20;

/// How the stored texts are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// As tantivy has it by default: lz4.
    Default,
    /// zstd, at its default level.
    Zstd,
}

/// An index that is open.
pub struct Tantivy {
    index: Index,
    text: Field,
    searcher: Searcher,
}

/// Builds an index in one commit on `threads` threads, waiting for its merges. `watch` runs in tantivy's calls alone.
pub fn build(folder: &Path, corpus: &Corpus, threads: usize, store: Store, watch: &mut Stopwatch) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default().set_tokenizer("default").set_index_option(IndexRecordOption::WithFreqs);
    let text = builder.add_text_field("text", TextOptions::default().set_indexing_options(indexing) | STORED);
    let mut settings = IndexSettings::default();
    if store == Store::Zstd {
        settings.docstore_compression = Compressor::Zstd(ZstdCompressor::default());
    }
    let mut writer: IndexWriter = watch.time(|| {
        let index = Index::builder().schema(builder.build()).settings(settings).create_in_dir(folder)?;
        index.writer_with_num_threads(threads, MEMORY_BYTES * threads)
    })?;
    for range in corpus.documents() {
        let texts: Vec<_> = range.clone().map(|at| corpus.chunk(at)).collect();
        watch.time(|| {
            texts.iter().try_for_each(|chunk| writer.add_document(doc!(text => chunk.as_ref())).map(|_| ()))
        })?;
    }
    watch.time(|| {
        writer.commit()?;
        writer.wait_merging_threads()
    })?;
    Ok(())
}

/// Merges an index into one segment.
pub fn merge(folder: &Path) -> Result<()> {
    let index = Index::open_in_dir(folder)?;
    let mut writer: IndexWriter = index.writer_with_num_threads(1, MEMORY_BYTES)?;
    let segments = index.searchable_segment_ids()?;
    if segments.len() > 1 {
        writer.merge(&segments).wait()?;
    }
    writer.commit()?;
    writer.garbage_collect_files().wait()?;
    writer.wait_merging_threads()?;
    Ok(())
}

impl Tantivy {
    /// Opens an index, and a searcher over its newest commit.
    pub fn open(folder: &Path) -> Result<Self> {
        let index = Index::open_in_dir(folder)?;
        let text = index.schema().get_field("text")?;
        let searcher = index.reader()?.searcher();
        Ok(Self { index, text, searcher })
    }

    /// Segments.
    pub fn segments(&self) -> usize {
        self.searcher.segment_readers().len()
    }

    /// The ten best documents with any, or with all, of the terms.
    pub fn top10(&self, terms: &[String], all: bool) -> Result<Vec<(Score, DocAddress)>> {
        let occur = if all { Occur::Must } else { Occur::Should };
        let clauses = terms.iter().map(|term| {
            let term = Term::from_field_text(self.text, term);
            (occur, Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<dyn tantivy::query::Query>)
        });
        let query = BooleanQuery::new(clauses.collect());
        Ok(self.searcher.search(&query, &TopDocs::with_limit(10).order_by_score())?)
    }

    /// The stored text of a document.
    pub fn text(&self, at: DocAddress) -> Result<String> {
        let document: TantivyDocument = self.searcher.doc(at)?;
        let value = document.get_first(self.text).and_then(|value| value.as_str());
        Ok(value.ok_or("a document without its text")?.to_owned())
    }

    /// A writer for one document a commit.
    pub fn writer(&self) -> Result<Appender> {
        Ok(Appender { writer: self.index.writer_with_num_threads(1, MEMORY_BYTES)?, text: self.text })
    }
}

/// Appends documents one by one.
pub struct Appender {
    writer: IndexWriter,
    text: Field,
}

impl Appender {
    /// Appends a document and commits it durably.
    pub fn append(&mut self, text: &str) -> Result<()> {
        self.writer.add_document(doc!(self.text => text))?;
        self.writer.commit()?;
        Ok(())
    }
}
