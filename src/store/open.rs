//! Opening an index to read it, following it, and going back to earlier commits. Nothing is ever written.

use super::blocks::Blocks;
use super::head::{Chosen, Head, HeadPages, WriterPresence, choose_head, read_commit, read_head_pages};
use super::map::MapSource;
use super::memory::MemorySource;
use super::positioned::FileSource;
use super::source::Source;
use crate::{Error, Result};
use parking_lot::Mutex;
use plica_format::limits::PAGE_BYTES;
use plica_format::page::{FilePage, SLOT_PAGES};
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
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
        /// As it was given, so that a replaced file is noticed.
        path: PathBuf,
        /// The open file.
        file: Arc<File>,
        /// How its blocks are read.
        kind: SourceKind,
        /// The slots as they were when a refresh found nothing newer than this head.
        settled: Arc<Mutex<Option<SlotStarts>>>,
        /// What tells the open file from others, once it was asked for: it never changes.
        identity: Arc<OnceLock<(u64, u64)>>,
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
    loop {
        let file = Arc::new(File::open(path).map_err(Error::io("open", Some(path)))?);
        let (pages, chosen) = read_file_head(&file, path)?;
        // A vacuum may have put a new file in the path's place between the opening and the reading. A superseded file
        // that the path still names is a copy or another hard link; it stands as it is.
        if chosen.superseded && !is_same_file(&file, path)? {
            continue;
        }
        let source = block_source(&file, options.source);
        source.prove(chosen.head.end).map_err(Error::io("read", Some(path)))?;
        return Ok(Opened {
            blocks: Blocks::new(source, pages.page.file_id, chosen.head.end),
            recovery_pending: chosen.recovery_pending,
            page: pages.page,
            head: chosen.head,
            origin: Origin::File {
                path: path.to_path_buf(),
                file,
                kind: options.source,
                settled: Arc::default(),
                identity: Arc::default(),
            },
        });
    }
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
fn read_file_head(file: &Arc<File>, path: &Path) -> Result<(HeadPages, Chosen)> {
    let source: Arc<dyn Source> = Arc::new(FileSource::new(file.clone()));
    let pages = read_head_pages(&*source, Some(path))?;
    let chosen = choose_head(&source, &pages, || probe_writer(file))?;
    Ok((pages, chosen))
}

/// Reads where the slots can differ, and nothing else.
fn slot_starts(file: &Arc<File>) -> std::io::Result<SlotStarts> {
    let source = FileSource::new(file.clone());
    // The slots lie one behind another: one call costs less than the bytes between them.
    let mut pages = [0; PAGE_BYTES * (SLOT_PAGES.len() - 1) + SLOT_START_BYTES];
    source.read_at(&mut pages, u64::from(SLOT_PAGES[0]) * PAGE_BYTES as u64)?;
    let mut starts = [[0; SLOT_START_BYTES]; SLOT_PAGES.len()];
    for (start, page) in starts.iter_mut().zip(pages.chunks(PAGE_BYTES)) {
        start.copy_from_slice(&page[..SLOT_START_BYTES]);
    }
    Ok(starts)
}

/// Asks whether a writer holds the file, by a shared lock that is given back at once.
fn probe_writer(file: &File) -> WriterPresence {
    match file.try_lock_shared() {
        Ok(()) => {
            let _ = file.unlock();
            WriterPresence::None
        }
        // Held by a writer, or locks do not work here: the last published commit is right in either case.
        Err(_) => WriterPresence::Possible,
    }
}

/// The source of a file's blocks. Where a map is refused, positioned reads do as well.
fn block_source(file: &Arc<File>, kind: SourceKind) -> Arc<dyn Source> {
    if kind == SourceKind::Map
        && let Ok(map) = MapSource::new(file.clone())
    {
        return Arc::new(map);
    }
    Arc::new(FileSource::new(file.clone()))
}

/// Whether `path` still names the open file. A path that names nothing does not name another file.
pub(crate) fn is_same_file(file: &File, path: &Path) -> Result<bool> {
    is_named(path, identity(&file.metadata().map_err(Error::io("examine", Some(path)))?))
}

/// Whether `path` still names the file of this identity. A path that names nothing does not name another file.
fn is_named(path: &Path, open: (u64, u64)) -> Result<bool> {
    match std::fs::metadata(path) {
        Ok(named) => Ok(open == identity(&named)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Error::io("examine", Some(path))(error)),
    }
}

/// What tells one file from another.
#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Where files have no stable number: nothing, since an open file cannot be replaced there.
#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

impl Opened {
    /// Looks for a newer commit. Never goes back to an older one.
    ///
    /// # Errors
    ///
    /// As [`open_read`]; this snapshot stays good.
    pub(crate) fn refresh(&self) -> Result<Refresh> {
        let Origin::File { path, file, kind, settled, identity: known } = &self.origin else {
            return Ok(Refresh::Unchanged);
        };
        let open = match known.get() {
            Some(open) => *open,
            None => {
                let open = identity(&file.metadata().map_err(Error::io("examine", Some(path)))?);
                *known.get_or_init(|| open)
            }
        };
        if !is_named(path, open)? {
            return Ok(Refresh::Replaced);
        }
        // Mostly nothing has happened, and slots that begin as they did say so without being read whole.
        let starts = slot_starts(file).map_err(Error::io("read", Some(path)))?;
        if *settled.lock() == Some(starts) {
            return Ok(Refresh::Unchanged);
        }
        let (pages, chosen) = read_file_head(file, path)?;
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
        let source = if old.spans(end) { old.clone() } else { block_source(file, *kind) };
        source.prove(end).map_err(Error::io("read", Some(path)))?;
        Ok(Refresh::Newer(Box::new(Self {
            blocks: self.blocks.with_end(end, Some(source)),
            recovery_pending: chosen.recovery_pending,
            page: self.page,
            head: chosen.head,
            origin: Origin::File {
                path: path.clone(),
                file: file.clone(),
                kind: *kind,
                settled: Arc::default(),
                identity: Arc::clone(known),
            },
        })))
    }

    /// The head slots that cannot be read, by offset. One that a writer is just writing is read again.
    pub(crate) fn slot_damage(&self) -> Result<Vec<(u64, String)>> {
        for round in 0.. {
            let pages = match &self.origin {
                Origin::File { path, file, .. } => read_head_pages(&FileSource::new(file.clone()), Some(path))?,
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
