//! The arguments of the commands about outlines.

use crate::arguments::Reading;
use crate::values::{OutlinePath, outline_path};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Compile documents: outlines, which people and models walk, and records, which lead to passages.
///
/// A document is compiled after it was built, and only as far as it has grown since the last time. The outline lists
/// categories (from headings and chapters where there are any, else people, places and the like), subjects below them, and
/// their fields, each value with its place in the source. A compile that was interrupted goes on where it was when the
/// same command is run again.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica build manual.plica manual.md
  plica compile manual.plica manual.md
  plica outline manual.plica manual.md")]
pub struct Compile {
    /// The index file
    pub index: PathBuf,
    /// Ids of the documents; all, where none is given
    #[arg(value_name = "DOC")]
    pub docs: Vec<String>,
    /// Leave the records alone
    #[arg(long)]
    pub no_records: bool,
    /// Leave the outline alone
    #[arg(long, conflicts_with = "no_records")]
    pub no_outline: bool,
    /// Tokens of a page of the outline, 512 to 16384; fixed by a document's first subject [default: 2000]
    #[arg(long, value_name = "N")]
    pub budget: Option<u32>,
    /// Characters that are read at a time
    #[arg(long, value_name = "N", default_value_t = plica::ingest::PIECE_CHARACTERS)]
    pub piece: usize,
    /// Characters of a piece that belong to the one before, too
    #[arg(long, value_name = "N", default_value_t = plica::ingest::OVERLAP_CHARACTERS)]
    pub overlap: usize,
    /// Print {"commit":n,"chunks":total} as soon as each commit is on the medium, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Show a page of a document's outline, or write the whole outline as text files.
///
/// Without --path the root is shown. A path is names with / between them (\/ for a / within a name), or a JSON list of
/// names; where a category has several pages, ~0, ~1, … go to those that a page lists. With --write, every subject becomes a
/// file in the folder of its category, under an overview.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plica outline manual.plica manual.md
  plica outline manual.plica manual.md --path Installing/Requirements --json
  plica outline manual.plica manual.md --write manual-outline/")]
pub struct OutlineArguments {
    /// The index file
    pub index: PathBuf,
    /// Id of the document
    pub doc: String,
    /// The way from the root
    #[arg(long, value_name = "PATH", value_parser = outline_path, default_value = "", hide_default_value = true)]
    pub path: OutlinePath,
    /// Write the outline into this folder, which must be empty or absent
    #[arg(long, value_name = "DIR", conflicts_with = "path")]
    pub write: Option<PathBuf>,
    #[command(flatten)]
    pub reading: Reading,
}

/// Take a question through a document's outline, page by page, to the subject that answers it.
///
/// The best entry of each page is followed; where a subject does not answer, its links are tried, and then a step goes
/// back. When that was done --budget times, the source is searched instead. With --learn, what such a search found becomes a
/// subject of the outline, in a commit of its own, where it says at least half of what was asked; the next time the question ends
/// there.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica navigate manual.plica manual.md \"How is the pump primed?\"")]
pub struct NavigateArguments {
    /// The index file
    pub index: PathBuf,
    /// Id of the document
    pub doc: String,
    /// The question, in plain words
    pub question: String,
    /// How often a step may go back before the source is searched
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub budget: u32,
    /// Passages at most
    #[arg(short, value_name = "N", default_value_t = 5)]
    pub k: usize,
    /// Fold what a search found back into the outline
    #[arg(long, conflicts_with = "at")]
    pub learn: bool,
    #[command(flatten)]
    pub reading: Reading,
}

/// Remove or correct subjects of an outline, one at a time.
#[derive(Debug, Args)]
pub struct SubjectArguments {
    /// What to do
    #[command(subcommand)]
    pub change: SubjectChange,
}

/// What is done to a subject.
#[derive(Debug, Subcommand)]
pub enum SubjectChange {
    /// Remove a subject
    #[command(after_help = "\
Example:
  plica subject remove manual.plica manual.md People/Ann")]
    Remove {
        /// The index file
        index: PathBuf,
        /// Id of the document
        doc: String,
        /// Its path, category and name, as `plica outline --path` takes it
        #[arg(value_parser = outline_path)]
        path: OutlinePath,
        /// Print {"commit":n,"subjects":1}
        #[arg(long)]
        json: bool,
    },
    /// Put what a line of `plica export` says in the place of a subject; its name may change, its category not
    #[command(after_help = "\
Example:
  plica subject correct manual.plica manual.md People/Ann \\
    '{\"path\":[\"People\",\"Anne\"],\"summary\":\"Keeps the lighthouse.\"}'")]
    Correct {
        /// The index file
        index: PathBuf,
        /// Id of the document
        doc: String,
        /// Its path, category and name
        #[arg(value_parser = outline_path)]
        path: OutlinePath,
        /// The subject as it should be: an outline line as JSON; "type" and "doc" may be left out
        line: String,
        /// Print {"commit":n,"subjects":1}
        #[arg(long)]
        json: bool,
    },
}
