//! Opening an index to read it, following it, and going back to earlier commits. Nothing is ever written.

use super::blocks::Blocks;
use super::head::{Chosen, Head, HeadPages, WriterPresence, choose_head, read_commit, read_head_pages};
use super::memory::MemorySource;
use super::named::NamedFile;
use super::source::Source;
use crate::{Error, Result};
use parking_lot::Mutex;
use plica_format::limits::PAGE_BYTES;
use plica_format::page::{FilePage, SLOT_PAGES};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How a file's blocks are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceKind {
    /// Through a memory map.
    #[default]
    Map,
    /// By positioned reads, with a small cache: for network file systems and files that others may cut.
    Positioned,
}

/// How to open an index for reading.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadOptions {
    /// How blocks are read.
    pub(crate) source: SourceKind,
}

/// An index opened for reading, at its newest commit.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    /// The newest commit.
    pub(crate) head: Head,
    /// Its blocks.
    pub(crate) blocks: Blocks,
    /// A writer is making a commit, or has died and the lock cannot be asked; the head is the last published commit.
    pub(crate) recovery_pending: bool,
    /// Page 0.
    pub(crate) page: FilePage,
    /// What a refresh needs.
    origin: Origin,
}

/// Where an opened index came from.
#[derive(Debug, Clone)]
enum Origin {
    /// A file.
    File {
        /// The file and its name.
        named: NamedFile,
        /// The slots as they were when a refresh found nothing newer than this head.
        settled: Arc<Mutex<Option<SlotStarts>>>,
    },
    /// Bytes, which never change.
    Memory,
}

/// Times that a slot is read again before it is called damaged, and the pause between.
const SLOT_READS: u32 = 20;
/// See [`SLOT_READS`].
const SLOT_PAUSE: Duration = Duration::from_millis(1);
/// Bytes at the start of a slot in which two values of it can differ.
const SLOT_START_BYTES: usize = 68;
/// The starts of all slots.
type SlotStarts = [[u8; SLOT_START_BYTES]; SLOT_PAGES.len()];

/// What a refresh found.
#[derive(Debug)]
pub(crate) enum Refresh {
    /// No newer commit.
    Unchanged,
    /// A newer commit of the same file.
    Newer(Box<Opened>),
    /// The path names another file now (a vacuum, or a copy put in its place), or this one says that it has been
    /// replaced: open the path again.
    Replaced,
}

/// Opens the file at `path` for reading.
///
/// # Errors
///
/// [`Error::NotAnIndex`], [`Error::Unsupported`], [`Error::Damaged`], [`Error::Io`].
pub(crate) fn open_read(path: &Path, options: &ReadOptions) -> Result<Opened> {
    open_named(|| NamedFile::open(path, options.source))
}

/// Opens the file that a name leads to, which `open` opens.
pub(super) fn open_named(open: impl Fn() -> Result<NamedFile>) -> Result<Opened> {
    loop {
        let named = open()?;
        let (pages, chosen) = read_file_head(&named)?;
        // A vacuum may have put a new file in the path's place between the opening and the reading. A superseded file
        // that the path still names is a copy or another hard link; it stands as it is.
        if chosen.superseded && !named.is_named()? {
            continue;
        }
        let source = named.block_source();
        source.prove(chosen.head.end).map_err(Error::io("read", Some(named.path())))?;
        return Ok(Opened {
            blocks: Blocks::new(source, pages.page.file_id, chosen.head.end),
            recovery_pending: chosen.recovery_pending,
            page: pages.page,
            head: chosen.head,
            origin: Origin::File { named, settled: Arc::default() },
        });
    }
}

/// Opens the file that a name leads to on a simulated disk, as its past has it at this moment.
#[cfg(any(test, feature = "simulation"))]
pub(crate) fn open_past(past: &super::simulated::Past, name: &str) -> Result<Opened> {
    open_named(|| past.open(name).map(NamedFile::Past))
}

/// Opens an index in memory.
///
/// # Errors
///
/// As [`open_read`].
pub(crate) fn open_bytes(bytes: Arc<[u8]>) -> Result<Opened> {
    open_source(Arc::new(MemorySource::new(bytes)))
}

/// Opens an index that no writer can hold, by any source.
pub(crate) fn open_source(source: Arc<dyn Source>) -> Result<Opened> {
    let pages = read_head_pages(&*source, None)?;
    let chosen = choose_head(&source, &pages, || WriterPresence::None)?;
    source.prove(chosen.head.end).map_err(Error::io("read", None))?;
    Ok(Opened {
        blocks: Blocks::new(source, pages.page.file_id, chosen.head.end),
        recovery_pending: false,
        page: pages.page,
        head: chosen.head,
        origin: Origin::Memory,
    })
}

/// Reads the head pages of a file and chooses its head, always with positioned reads.
fn read_file_head(named: &NamedFile) -> Result<(HeadPages, Chosen)> {
    let source = named.positioned();
    let pages = read_head_pages(&*source, Some(named.path()))?;
    let chosen = choose_head(&source, &pages, || named.probe_writer())?;
    Ok((pages, chosen))
}

/// Reads where the slots can differ, and nothing else.
fn slot_starts(source: &dyn Source) -> std::io::Result<SlotStarts> {
    // The slots lie one behind another: one call costs less than the bytes between them.
    let mut pages = [0; PAGE_BYTES * (SLOT_PAGES.len() - 1) + SLOT_START_BYTES];
    source.read_at(&mut pages, u64::from(SLOT_PAGES[0]) * PAGE_BYTES as u64)?;
    let mut starts = [[0; SLOT_START_BYTES]; SLOT_PAGES.len()];
    for (start, page) in starts.iter_mut().zip(pages.chunks(PAGE_BYTES)) {
        start.copy_from_slice(&page[..SLOT_START_BYTES]);
    }
    Ok(starts)
}

impl Opened {
    /// Looks for a newer commit. Never goes back to an older one.
    ///
    /// # Errors
    ///
    /// As [`open_read`]; this snapshot stays good.
    pub(crate) fn refresh(&self) -> Result<Refresh> {
        let Origin::File { named, settled } = &self.origin else {
            return Ok(Refresh::Unchanged);
        };
        if !named.is_named()? {
            return Ok(Refresh::Replaced);
        }
        // Mostly nothing has happened, and slots that begin as they did say so without being read whole.
        let starts = slot_starts(&*named.positioned()).map_err(Error::io("read", Some(named.path())))?;
        if *settled.lock() == Some(starts) {
            return Ok(Refresh::Unchanged);
        }
        let (pages, chosen) = read_file_head(named)?;
        if chosen.superseded || pages.page.file_id != self.page.file_id {
            return Ok(Refresh::Replaced);
        }
        if chosen.head.commit.sequence <= self.head.commit.sequence {
            // Where an intent is newer, a commit is about to come, or the lock must be asked again.
            *settled.lock() = chosen.clean.then_some(starts);
            return Ok(Refresh::Unchanged);
        }
        let end = chosen.head.end;
        let old = self.blocks.source();
        let source = if old.spans(end) { old.clone() } else { named.block_source() };
        source.prove(end).map_err(Error::io("read", Some(named.path())))?;
        Ok(Refresh::Newer(Box::new(Self {
            blocks: self.blocks.with_end(end, Some(source)),
            recovery_pending: chosen.recovery_pending,
            page: self.page,
            head: chosen.head,
            origin: Origin::File { named: named.clone(), settled: Arc::default() },
        })))
    }

    /// The head slots that cannot be read, by offset. One that a writer is just writing is read again.
    pub(crate) fn slot_damage(&self) -> Result<Vec<(u64, String)>> {
        for round in 0.. {
            let pages = match &self.origin {
                Origin::File { named, .. } => read_head_pages(&*named.positioned(), Some(named.path()))?,
                Origin::Memory => read_head_pages(self.blocks.source().as_ref(), None)?,
            };
            let slots = pages.slots.iter().zip(1u64..);
            let torn: Vec<_> = slots
                .filter_map(|(slot, page)| Some((page * PAGE_BYTES as u64, slot.as_ref().err()?.to_string())))
                .collect();
            if torn.is_empty() || round >= SLOT_READS || matches!(self.origin, Origin::Memory) {
                return Ok(torn);
            }
            std::thread::sleep(SLOT_PAUSE);
        }
        Ok(Vec::new())
    }

    /// The commit with this number, at most as new as the head.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] where there is none (any more); [`Error::Damaged`].
    pub(crate) fn commit_at(&self, sequence: u64) -> Result<Head> {
        commit_at(&self.blocks, &self.head, sequence)
    }

    /// The blocks of an earlier commit.
    pub(crate) fn blocks_at(&self, head: &Head) -> Blocks {
        self.blocks.with_end(head.end.min(self.blocks.end()), None)
    }

    /// The head and the commits before it, newest first.
    pub(crate) fn log(&self) -> Log<'_> {
        Log { blocks: &self.blocks, next: Some(Ok(self.head.clone())) }
    }
}

/// The commit `sequence`, found from `head` by its skip references in a number of steps that is logarithmic.
pub(crate) fn commit_at(blocks: &Blocks, head: &Head, sequence: u64) -> Result<Head> {
    let mut at = head.clone();
    // Each step leads to a smaller number at a lower offset, both of which the reading demands.
    while let Some((number, reference)) = at.commit.step_towards(sequence) {
        at = read_commit(blocks, &reference, number, at.commit.epoch)?;
    }
    if at.commit.sequence == sequence {
        return Ok(at);
    }
    let name = format!("{sequence} (there are 1 to {})", head.commit.sequence);
    Err(Error::NotFound { what: "commit", name })
}

/// Commits from a head back; see [`Opened::log`]. After an error it is over.
#[derive(Debug)]
pub(crate) struct Log<'a> {
    /// Where the commits are.
    blocks: &'a Blocks,
    /// The next one, read already.
    next: Option<Result<Head>>,
}

impl Iterator for Log<'_> {
    type Item = Result<Head>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.next.take()?;
        if let Ok(head) = &found
            && let Some(previous) = head.commit.previous
        {
            let number = head.commit.sequence - 1;
            self.next = Some(read_commit(self.blocks, &previous, number, head.commit.epoch));
        }
        Some(found)
    }
}
