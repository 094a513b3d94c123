//! Earlier commits.

use super::snapshot::Snapshot;
use super::writer::decode_state;
use crate::Result;

/// One commit, as `log` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitInfo {
    /// Sequence number.
    pub sequence: u64,
    /// When it was made, in seconds since 1970; `None` where not recorded.
    pub time: Option<u64>,
    /// Documents that readers see.
    pub documents: u64,
    /// Chunks of those documents.
    pub chunks: u64,
    /// Segments.
    pub segments: usize,
    /// Length of the file up to the end of the commit, in bytes.
    pub end: u64,
}

impl Snapshot {
    /// This commit and those before it, newest first, back to creation or the last vacuum.
    pub fn log(&self) -> impl Iterator<Item = Result<CommitInfo>> + '_ {
        let sequence = self.sequence();
        self.opened().log().filter_map(move |head| {
            let head = match head {
                Ok(head) if head.commit.sequence > sequence => return None,
                Ok(head) => head,
                Err(error) => return Some(Err(error)),
            };
            let info = decode_state(&head).map(|state| CommitInfo {
                sequence: head.commit.sequence,
                time: (head.commit.time != 0).then_some(head.commit.time),
                documents: state.totals.documents,
                chunks: state.totals.chunks,
                segments: state.segments.len(),
                end: head.end,
            });
            Some(info)
        })
    }
}
