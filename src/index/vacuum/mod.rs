//! Vacuum: the same content in a new file, without a dead byte, in the place of the old one.
//!
//! What a file holds depends on its history: how additions were cut into commits, which segments were merged, what was
//! removed. A vacuum writes what is left of all that as one segment, in one order: documents by number, their chunks by
//! ordinal, their records by creation. Internal ids are given anew in that order, so that equal content comes to equal
//! bytes (given the same file id and epoch). Document numbers stay, since they say which document came first.
//!
//! * `ids.rs`: old ids and new ones; `walk.rs`: reading keys in an order that is not theirs;
//! * `texts.rs`: how texts are compressed;
//! * `documents.rs`, `memory.rs`, `outlines.rs`, `terms.rs`: the kinds of keys, in the order of the new segment.
//!
//! Everything streams: besides the tables of ids, memory holds a leaf, a posting list or a page at a time.

mod documents;
mod ids;
mod memory;
mod outlines;
mod terms;
#[cfg(test)]
mod tests;
mod texts;
mod walk;

use super::flush::level_of;
use super::options::Options;
use super::view::{View, inconsistent};
use super::writer::Writer;
use crate::dictionary::{SegmentBuilder, store_value};
use crate::search::Limits;
use crate::store::StoreWriter;
use crate::{Error, Result};
use ids::Ids;
use plica_format::block::{BlockKind, Reference};
use plica_format::limits::FIRST_BLOCK_OFFSET;
use plica_format::state::{IndexState, Segment};
use std::path::Path;
use std::time::Duration;

/// How a vacuum is done.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VacuumOptions {
    /// How long to wait for a writer to finish.
    pub busy_timeout: Duration,
    /// How long it may take; it stops with [`Error::Cancelled`], and nothing is changed.
    pub limits: Limits,
}

impl Default for VacuumOptions {
    fn default() -> Self {
        Self { busy_timeout: Options::default().busy_timeout, limits: Limits::default() }
    }
}

impl VacuumOptions {
    /// Two seconds of patience for a writer, no limit for the work.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`VacuumOptions::busy_timeout`].
    pub fn busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    /// Sets [`VacuumOptions::limits`].
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

/// What a vacuum did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct VacuumReport {
    /// Length of the file before, in bytes.
    pub before_bytes: u64,
    /// Length of the file now, in bytes.
    pub after_bytes: u64,
    /// Vacuums that the index has been through.
    pub epoch: u32,
}

/// Rewrites an index without what is dead in it; see [`Writer::vacuum`].
///
/// ```
/// # fn main() -> plica::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("notes.plica");
/// # let mut writer = plica::Writer::create(&path, &plica::Options::new())?;
/// # writer.add_document("old", "", "")?;
/// # writer.append_chunk("old", &plica::NewChunk::text("Nobody needs this any more."))?;
/// # writer.publish("old")?;
/// # writer.commit()?;
/// writer.remove_document("old")?;
/// writer.commit()?;
/// drop(writer);
/// let report = plica::vacuum(&path, &plica::VacuumOptions::new())?;
/// assert!(report.after_bytes < report.before_bytes);
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::Locked`] where a writer holds the file for longer than [`VacuumOptions::busy_timeout`]; else as
/// [`Writer::vacuum`].
pub fn vacuum(path: impl AsRef<Path>, options: &VacuumOptions) -> Result<VacuumReport> {
    let opening = Options::new().busy_timeout(options.busy_timeout);
    Writer::open_with(path, &opening)?.vacuum(&options.limits)
}

impl Writer {
    /// Rewrites the index without what is dead in it, and puts the new file in the place of the old one. All answers,
    /// scores to the bit and the export stay what they were. Readers that have the old file open go on with it; their
    /// [`Index::refresh`](crate::Index::refresh) says that it was replaced. Earlier commits cannot be opened any more.
    ///
    /// The new file is written beside the old one, as `.NAME.vacuum`; owner and mode are kept, and where the path is a
    /// link, the file it leads to is replaced. Equal content comes to equal bytes, whatever the histories, where file id and
    /// number of vacuums are equal.
    ///
    /// # Errors
    /// [`Error::Invalid`] where something was added and not committed; [`Error::Io`] where there is no room for the new
    /// file, or the system refuses something; [`Error::Damaged`] where the old file is; [`Error::Cancelled`]. After an
    /// error the old file stands as it was, unless the name of the new one could not be made durable: then one of the two is
    /// there, whole.
    pub fn vacuum(mut self, limits: &Limits) -> Result<VacuumReport> {
        if self.has_changes() {
            return Err(Error::invalid(
                "the writer holds additions that are not committed; commit them before a vacuum",
            ));
        }
        self.store.sync()?;
        let before_bytes = self.store.end();
        let path = self.path().to_owned();
        self.store.demand_space_beside(before_bytes, || room_for(&path))?;
        let mut replacement = self.store.begin_replacement()?;
        let epoch = replacement.store().head().commit.epoch;
        let view = View::over(&self.dictionary, &self.state, self.parameters.fanout);
        let state = write_content(view, self.parameters.fanout, replacement.store(), limits)?;
        limits.check()?;
        let after_bytes = replacement.finish(&mut self.store, state)?;
        Ok(VacuumReport { before_bytes, after_bytes, epoch })
    }
}

/// Bytes that a new file of what the old one holds can take: what is live, and a little for cuts that fall otherwise.
fn room_for(path: &Path) -> Result<u64> {
    let live = crate::Index::open(path)?.snapshot().stat()?.bytes.live;
    Ok(live + live / 16 + (1 << 20))
}

/// Writes all that `view` holds to `new`, and gives the state to publish.
pub(super) fn write_content(view: View<'_>, fanout: u8, new: &mut StoreWriter, limits: &Limits) -> Result<Vec<u8>> {
    let ids = Ids::gather(view, limits)?;
    let start = new.end();
    let dictionary = texts::prepare(view, &ids, new, limits)?;
    let apart = new.end() - start;
    let mut run = Run { view, fanout, new, segment: SegmentBuilder::new(), ids: &ids, limits, apart };
    run.documents()?;
    run.memory()?;
    run.summary_lengths()?;
    run.terms()?;
    run.outlines()?;
    run.records()?;
    let Run { segment, new, apart, .. } = run;
    let root = segment.finish(new)?;
    let bytes = new.end() - FIRST_BLOCK_OFFSET - apart;
    let segments = root.map(|root| Segment { root, bytes, level: level_of(bytes), merging: 0, cursor: Vec::new() });
    let state = IndexState {
        chunks: ids.old_chunks.len() as u32,
        entities: ids.old_entities.len() as u32,
        segments: segments.into_iter().collect(),
        dictionary,
        ..view.state.clone()
    };
    let state = state.encode();
    IndexState::decode(&state).map_err(|error| inconsistent(format!("the sums of the commit: {error}")))?;
    Ok(state)
}

/// A vacuum at work: from the old file to the new one.
struct Run<'a> {
    /// The old file.
    view: View<'a>,
    fanout: u8,
    new: &'a mut StoreWriter,
    segment: SegmentBuilder,
    ids: &'a Ids,
    limits: &'a Limits,
    /// Bytes of blocks that are not the segment's.
    apart: u64,
}

impl Run<'_> {
    /// Adds a key, which must come behind all before.
    fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let stored = store_value(self.new, value)?;
        self.segment.push(self.new, key, &stored)
    }

    /// Appends a block that a value will refer to.
    fn block(&mut self, kind: BlockKind, payload: &[u8]) -> Result<Reference> {
        let before = self.new.end();
        let reference = self.new.append(kind, payload, true)?;
        self.apart += self.new.end() - before;
        Ok(reference)
    }
}
