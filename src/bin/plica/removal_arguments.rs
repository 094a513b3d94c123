//! The arguments of `plica remove`, `plica vacuum`, `plica backup` and `plica salvage`.

use clap::Args;
use std::path::PathBuf;

/// Remove documents from an index.
///
/// With one commit they are gone from every answer and every statistic. Their bytes stay in the file, and in its earlier
/// commits, until a vacuum; --erase does that, too.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plica remove library.plica notes.md
  plica remove library.plica letters.txt --erase")]
pub struct Remove {
    /// The index file
    pub index: PathBuf,
    /// Ids of documents; when one is not there, nothing is removed
    #[arg(required = true, value_name = "DOC")]
    pub docs: Vec<String>,
    /// Vacuum the index afterwards, so that nothing of them is left in the file. Copies of the file, and what was exported
    /// from it, are not reached
    #[arg(long)]
    pub erase: bool,
    /// Print {"commit":n,"chunks":total} when the commit is on the medium, and with --erase what `vacuum --json` prints
    #[arg(long)]
    pub json: bool,
}

/// Rewrite an index without what is dead in it: earlier commits, what was removed or written again.
///
/// The new file takes the place of the old one when it is complete; readers that have the old one open go on with it. All
/// answers stay what they were. Earlier commits cannot be shown any more, and commits are numbered from 1 again. It needs as much
/// free space as the new file.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica vacuum library.plica")]
pub struct Vacuum {
    /// The index file
    pub index: PathBuf,
    /// Print {"before_bytes":n,"after_bytes":n,"epoch":n}
    #[arg(long)]
    pub json: bool,
}

/// Copy an index, whatever a writer does meanwhile.
///
/// The copy holds the newest commit (or that of --at) and all before it; every block is read back and compared with its
/// checksum. It is the same index at an earlier moment, and has its id; with --new-id it is an index of its own.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica backup library.plica /backup/library-monday.plica")]
pub struct Backup {
    /// The index file
    pub index: PathBuf,
    /// The new file, which must not exist
    pub copy: PathBuf,
    /// Give the copy an id of its own, so that it can be written to beside the index; it is then written as by a vacuum,
    /// without earlier commits
    #[arg(long)]
    pub new_id: bool,
    /// Copy this commit
    #[arg(long, value_name = "COMMIT")]
    pub at: Option<u64>,
    /// Print {"commit":n,"bytes":n}
    #[arg(long)]
    pub json: bool,
}

/// Write a new index with all that is left of a damaged one.
///
/// The damaged file is only read; any part of it may be gone, its first pages included. Chunks, summaries, entities, outlines
/// and records come wherever their own blocks are sound. A lost chunk keeps its place, empty. What was lost, and what no commit
/// vouches for (it may have been changed or removed since), is printed, and noted in the metadata of the document. Exit status 3 where
/// there is such.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica salvage damaged.plica new.plica")]
pub struct Salvage {
    /// The damaged index file
    pub damaged: PathBuf,
    /// The new index file, which must not exist
    pub new: PathBuf,
    /// Print one JSON object: what was written, damaged, lost, and written unvouched
    #[arg(long)]
    pub json: bool,
}
