//! What a salvage saved, and what it could not.

use crate::index::check::Finding;

/// What a salvage found and wrote. See [`salvage`](super::salvage).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Salvaged {
    /// The newest commit that was found, by its number; `None` where no commit block is sound. What it does not vouch for is
    /// named in [`Salvaged::unvouched`].
    pub commit: Option<u64>,
    /// Documents that were written.
    pub documents: u64,
    /// Chunks that were written with their text.
    pub chunks: u64,
    /// Summaries that were written.
    pub summaries: u64,
    /// Entities that were written.
    pub entities: u64,
    /// Subjects of outlines that were written.
    pub subjects: u64,
    /// Records that were written.
    pub records: u64,
    /// Stretches of the file that are damaged.
    pub damage: Vec<Finding>,
    /// What was lost, by document.
    pub lost: Vec<Loss>,
    /// What was written although no commit vouches for it: it was found in blocks that no sound page leads to, so it may
    /// have been changed or removed since.
    pub unvouched: Vec<Loss>,
}

impl Salvaged {
    /// Whether the new index has all that the damaged one had, as far as can be told.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.unvouched.is_empty()
    }
}

/// Something of a document that is lost, or that no commit vouches for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Loss {
    /// Id of the document, as it is in the new index; empty for what belongs to the index as a whole.
    pub document: String,
    /// What it is: `chunk`, `summary`, `entity`, …
    pub what: String,
    /// Which, in words, and what stands in its place.
    pub detail: String,
    /// Ordinals of chunks, where there are such: first and last of each run.
    pub chunks: Vec<(u32, u32)>,
}
