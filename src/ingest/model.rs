//! The model: what understands a chunk and what folds summaries.
//!
//! Reading a document (the loop of SAADI) calls a [`Model`] once for each chunk and once for each unit that is
//! complete; answering questions never does.

use crate::Result;

/// What reads. Implement it over a language model, or use [`crate::ingest::builtin::Builtin`].
///
/// Both calls take `&self`, so that one model may serve several documents that are read side by side. A model whose
/// answer depends only on its input makes the whole index reproducible. Documents that are read side by side may call
/// it from several threads.
pub trait Model: Sync {
    /// Names the entities that a chunk tells of.
    ///
    /// An entity whose name or alias is the name or alias of a record is that record. The chunk is linked to every
    /// entity returned. Names and aliases are at most 1 KiB, descriptions at most 4 KiB.
    fn update(&self, input: &UpdateInput<'_>) -> Result<Vec<EntityUpdate>>;

    /// Folds consecutive units into one summary of at most [`FoldInput::limit_bytes`].
    fn fold(&self, input: &FoldInput<'_>) -> Result<String>;

    /// Whether the same questions can be asked again for nothing. Then a build commits by the text that it has read, and
    /// reads a little of it again after a crash; else it commits often.
    fn answers_are_free(&self) -> bool {
        false
    }
}

/// What a model sees of a chunk.
#[derive(Debug, Clone)]
pub struct UpdateInput<'a> {
    /// Id of the document.
    pub document: &'a str,
    /// Title of the document, or empty.
    pub document_title: &'a str,
    /// Place of the chunk in its document, from 0.
    pub ordinal: u32,
    /// Title of the chunk, or empty.
    pub title: &'a str,
    /// Text of the chunk.
    pub text: &'a str,
    /// At most five records that the chunk may tell more of, best first.
    pub recalled: &'a [Recalled],
    /// What came before: the units of the fold tree that are not folded yet, highest level first, then in reading
    /// order; level 0 is chunk text.
    pub history: &'a [HistoryUnit],
}

/// A record of the entity memory, as shown to a model: at most 512 tokens of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recalled {
    /// Name by which the record was created.
    pub name: String,
    /// Kind, or empty.
    pub kind: String,
    /// Other names, in the order they came.
    pub aliases: Vec<String>,
    /// Descriptions, in the order they came.
    pub descriptions: Vec<String>,
}

/// A unit of the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryUnit {
    /// 0 for a chunk, else the level of the summary.
    pub level: u8,
    /// Place among the units of its level, from 0.
    pub index: u32,
    /// The chunk's text or the summary; empty where a summary was never given.
    pub text: String,
}

/// What a model has to say of one entity in one chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntityUpdate {
    /// Its name, as full as known.
    pub name: String,
    /// What kind of thing it is ("person", "place", …), or empty where not known.
    pub kind: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// What the chunk says it is.
    pub descriptions: Vec<String>,
}

/// What a model sees when it folds.
#[derive(Debug, Clone)]
pub struct FoldInput<'a> {
    /// Id of the document.
    pub document: &'a str,
    /// Title of the document, or empty.
    pub document_title: &'a str,
    /// Level of the summary to write, from 1.
    pub level: u8,
    /// Place of the summary among those of its level, from 0.
    pub index: u32,
    /// The units to fold, in reading order: chunk texts at level 1, summaries above.
    pub units: &'a [&'a str],
    /// Greatest length of the summary in bytes.
    pub limit_bytes: usize,
}
