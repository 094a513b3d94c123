//! The command's arguments, and what its help says.

use crate::outline_arguments;
use crate::record_arguments::{Hop, Record, Records};
use crate::removal_arguments::{Backup, Remove, Salvage, Vacuum};
use crate::values::{
    ChunksArgument, MemoryArgument, ModelArgument, StatisticsArgument, TreePath, key_value, not_negative, pool, share,
    tree_path, weights,
};
use clap::{ArgAction, Args, Parser, Subcommand};
use plica::Weights;
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

/// Index long documents in one file, extend it by folding, and ask it.
///
/// A document is cut into chunks and read once, in order: who and what each chunk tells of goes into an entity memory,
/// and every few chunks fold into a summary, summaries into higher ones. Questions are answered from that, with
/// passages of the document itself and the reason why each was found.
#[derive(Debug, Parser)]
#[command(
    name = "plica",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "\
Start:
  plica ask story.txt \"Who kept the light?\"          index a text beside itself, and ask it
  plica build library.plica books/ notes.md          build an index of several documents
  plica search library.plica \"Who kept the light?\"   ask it; more in `plica help search`

Exit status: 0 success, 1 error, 2 wrong usage, 3 the index is damaged."
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Ask(Ask),
    Build(Build),
    Append(Append),
    Remove(Remove),
    Vacuum(Vacuum),
    Backup(Backup),
    Salvage(Salvage),
    Search(Search),
    Tree(Tree),
    Compile(outline_arguments::Compile),
    Outline(outline_arguments::OutlineArguments),
    Navigate(outline_arguments::NavigateArguments),
    Subject(outline_arguments::SubjectArguments),
    Entity(EntityArguments),
    Entities(Entities),
    Chunk(ChunkArguments),
    Records(Records),
    Record(Record),
    Hop(Hop),
    Cat(Cat),
    Docs(Docs),
    Stat(Stat),
    Check(Check),
    Log(Log),
    Import(Import),
    Export(Export),
    Eval(Eval),
}

/// Ask a text file a question, indexing it first where needed.
///
/// The index is FILE.plica, beside FILE. It is built when it is absent, extended when FILE has grown, and rebuilt when
/// FILE has changed otherwise. Each passage is shown with the reason why it was found.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica ask story.txt \"Where did the keeper hide the letters?\"")]
pub struct Ask {
    /// A text or Markdown file, in UTF-8
    pub file: PathBuf,
    /// The question, in plain words
    pub question: String,
    /// How many passages to show
    #[arg(short, value_name = "N", default_value = "5")]
    pub k: NonZeroUsize,
    /// Print the answer as JSON, as `search --explain --json` does
    #[arg(long)]
    pub json: bool,
}

/// Create an index from text or Markdown files and folders, or extend it.
///
/// Of a folder, all *.txt, *.md and *.markdown files are taken, in order of their paths; hidden ones are left out. The
/// id of a document is its file name, within a folder its path from there. A document that the index has already with
/// the same text is skipped; one that has grown is extended; one that has changed otherwise is an error, or, with
/// --replace, replaced. A build that was interrupted goes on where it was when the same command is run again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plica build library.plica books/
  plica build story.plica story.txt --doc story --fanout 4")]
pub struct Build {
    /// The index file; created when absent
    pub index: PathBuf,
    /// Files and folders to read
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Id of the document; with one file only
    #[arg(long, value_name = "ID")]
    pub doc: Option<String>,
    /// What chunks are made of: sentences; sections, which end before headings and are titled by them; or rows, each row
    /// of a table by itself, titled by caption and header, and sections. The same again when it is run again
    #[arg(
        long,
        value_enum,
        value_name = "sentences|sections|rows",
        default_value = "sentences",
        hide_possible_values = true
    )]
    pub chunks: ChunksArgument,
    /// Put a text that has changed in the place of the document that the index has: readers see the old one until the new
    /// one is complete. Its outline and its records go; `compile` makes them anew
    #[arg(long)]
    pub replace: bool,
    #[command(flatten)]
    pub creation: Creation,
    #[command(flatten)]
    pub model: ModelArguments,
    /// Print {"commit":n,"chunks":total} as soon as each commit is on the medium, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Add more text to a document.
///
/// Its tree is extended; nothing is rebuilt. An append that was interrupted goes on where it was when the same command
/// is run again with the same text.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica append story.plica story.txt chapter-9.txt")]
pub struct Append {
    /// The index file
    pub index: PathBuf,
    /// Id of the document
    pub doc: String,
    /// The file with the text to add, or - for standard input
    #[arg(value_name = "FILE|-")]
    pub file: PathBuf,
    /// Commit after every N chunks
    #[arg(long, value_name = "N")]
    pub commit_every: Option<NonZeroU32>,
    /// Append even where the document ends with this very text already, or an append of another text was not completed
    /// (what that one added stays)
    #[arg(long)]
    pub again: bool,
    /// What chunks are made of: sentences; sections, which end before headings and are titled by them; or rows, each row
    /// of a table by itself, titled by caption and header, and sections. The same again when it is run again
    #[arg(
        long,
        value_enum,
        value_name = "sentences|sections|rows",
        default_value = "sentences",
        hide_possible_values = true
    )]
    pub chunks: ChunksArgument,
    #[command(flatten)]
    pub model: ModelArguments,
    /// Print {"commit":n,"chunks":total} as soon as each commit is on the medium, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Search an index, or several as one.
///
/// Three channels are fused: the text of chunks, the entity memory (a chunk is found by what its people are called
/// elsewhere), and summaries. An index of one document is searched as that document. Several indexes give the ranking
/// that one with all their documents would; they must have no document in common, and no index-wide memory.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plica search story.plica \"Where did the keeper hide the letters?\" --explain
  plica search library.plica --queries questions.txt --json > answers.jsonl
  plica search 2024.plica 2025.plica \"Who signed the lease?\"

A line of --queries that starts with { is a JSON object: text is the query, metadata.doc_id the document to ask (it
beats --doc), and _id comes back in the answer. Any other line is a query as it is.")]
pub struct Search {
    /// The index file, or several, and then the query in plain words (unless --queries is given)
    #[arg(value_name = "INDEX|QUERY", required = true, num_args = 1..)]
    pub operands: Vec<OsString>,
    /// A file of queries, one a line, or - for standard input
    #[arg(long, value_name = "FILE|-")]
    pub queries: Option<PathBuf>,
    /// Search one document
    #[arg(long, value_name = "ID")]
    pub doc: Option<String>,
    /// Hits at most
    #[arg(short, value_name = "N", default_value = "10")]
    pub k: NonZeroUsize,
    /// Hits to pass over first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: usize,
    /// Weights of text, memory and summaries; 1,0,0 is text alone
    #[arg(long, value_name = "T,M,S", value_parser = weights, default_value = "1,0.5,0.3")]
    pub weights: Weights,
    /// BM25: how soon repeated terms stop to count
    #[arg(long, value_name = "K1", value_parser = not_negative, default_value = "1.5")]
    pub k1: f64,
    /// BM25: how much length counts, 0 to 1
    #[arg(long, value_name = "B", value_parser = share, default_value = "0.75")]
    pub b: f64,
    /// Whose statistics weigh the terms when several documents are searched
    #[arg(
        long,
        value_enum,
        value_name = "document|collection",
        default_value = "collection",
        hide_possible_values = true
    )]
    pub stats: StatisticsArgument,
    /// Best chunks of each channel that are ranked when several documents are searched, or `all`
    #[arg(long, value_name = "P", value_parser = pool, default_value = "1000")]
    pub pool: usize,
    /// Only documents whose metadata has this value; may be repeated
    #[arg(long = "where", value_name = "KEY=VALUE", value_parser = key_value, action = ArgAction::Append)]
    pub filter: Vec<(String, String)>,
    /// Show chunks that match in no channel, too
    #[arg(long)]
    pub all: bool,
    /// Say how each hit was found
    #[arg(long)]
    pub explain: bool,
    /// Say how many microseconds each query took
    #[arg(long)]
    pub timings: bool,
    #[command(flatten)]
    pub reading: Reading,
}

/// Show a page of a document's fold tree, with its summaries.
///
/// Without --path the top is shown: the units that are not folded further, highest level first, as 0, 1, … Each number
/// of a path goes to an entry of the page before.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica tree story.plica story.txt --path 0/3")]
pub struct Tree {
    /// The index file
    pub index: PathBuf,
    /// Id of the document
    pub doc: String,
    /// The way from the top, such as 0/3
    #[arg(long, value_parser = tree_path, default_value = "", hide_default_value = true)]
    pub path: TreePath,
    #[command(flatten)]
    pub reading: Reading,
}

/// Show the record of an entity: its names, descriptions and chunks.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica entity story.plica \"Ilse Maren\"")]
pub struct EntityArguments {
    /// The index file
    pub index: PathBuf,
    /// A name or alias
    pub name: String,
    /// Only in the memory of this document
    #[arg(long, value_name = "ID")]
    pub doc: Option<String>,
    #[command(flatten)]
    pub reading: Reading,
}

/// List the entities that were found, in the order of their first appearance.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica entities story.plica --doc story.txt")]
pub struct Entities {
    /// The index file
    pub index: PathBuf,
    /// Only those of this document
    #[arg(long, value_name = "ID")]
    pub doc: Option<String>,
    #[command(flatten)]
    pub reading: Reading,
}

/// Show a chunk: its text, entities and covering summaries.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica chunk story.plica story.txt#2")]
pub struct ChunkArguments {
    /// The index file
    pub index: PathBuf,
    /// External id, or DOC#ORDINAL with ordinals from 0
    pub id: String,
    #[command(flatten)]
    pub reading: Reading,
}

/// Write a document's text, byte for byte as it was read.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica cat story.plica story.txt > copy.txt")]
pub struct Cat {
    /// The index file
    pub index: PathBuf,
    /// Id of the document
    pub doc: String,
    #[command(flatten)]
    pub reading: Reading,
}

/// List the documents.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica docs library.plica")]
pub struct Docs {
    /// The index file
    pub index: PathBuf,
    #[command(flatten)]
    pub reading: Reading,
}

/// Show what an index holds, in numbers.
///
/// Counts, bytes by structure, live and dead bytes, segments and the bytes that wait to be merged, and the accepted
/// calls of a model against T(N, f), one a chunk and one a completed fold.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica stat library.plica")]
pub struct Stat {
    /// The index file
    pub index: PathBuf,
    #[command(flatten)]
    pub reading: Reading,
}

/// Verify everything in an index, and say what is damaged, where, and what needs it.
///
/// A writer may be at work meanwhile. Exit status 3 where something is damaged.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plica check library.plica
  plica check library.plica --quick")]
pub struct Check {
    /// The index file
    pub index: PathBuf,
    /// Only that every block is as it was written, not that all structures agree
    #[arg(long)]
    pub quick: bool,
    #[command(flatten)]
    pub reading: Reading,
}

/// List the commits, newest first. Every reading command shows an earlier one with --at.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica log library.plica
  plica docs library.plica --at 3")]
pub struct Log {
    /// The index file
    pub index: PathBuf,
    #[command(flatten)]
    pub reading: Reading,
}

/// Take in what another program understood, as JSON lines, or the rows of a BEIR corpus.
///
/// JSON lines are those that `plica export` writes; they never call a model. An import that was interrupted can be run
/// again: what is there already is skipped. With --beir, rows of DIR/corpus.jsonl become chunks, which the model reads
/// as in a build; rows with the same metadata.doc_id are one document.
#[derive(Debug, Args)]
#[command(after_help = crate::import::HELP)]
pub struct Import {
    /// The index file; created when absent
    pub index: PathBuf,
    /// A file of JSON lines, or - for standard input
    #[arg(value_name = "FILE|-", required_unless_present = "beir", conflicts_with = "beir")]
    pub file: Option<PathBuf>,
    /// A folder in the BEIR layout
    #[arg(long, value_name = "DIR")]
    pub beir: Option<PathBuf>,
    /// Commit after every N chunks
    #[arg(long, value_name = "N")]
    pub commit_every: Option<NonZeroU32>,
    #[command(flatten)]
    pub creation: Creation,
    /// What reads the rows of a BEIR corpus: the built-in model, or none
    #[arg(long, value_enum, value_name = "builtin|none", requires = "beir", hide_possible_values = true)]
    pub model: Option<ModelArgument>,
    /// Print {"commit":n,"chunks":total} as soon as each commit is on the medium, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Write what an index holds as JSON lines, which `plica import` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica export library.plica > library.jsonl")]
pub struct Export {
    /// The index file
    pub index: PathBuf,
    #[command(flatten)]
    pub reading: Reading,
}

/// Measure search against the judged questions of a BEIR folder.
///
/// Text alone and the three channels fused: in how many questions all relevant chunks, or any of them, are among the
/// first k, and the mean share of them that is; with a 95 % bootstrap interval of the difference.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  plica eval corpus.plica --beir datasets/scifact -k 5,10,20 --pool all")]
pub struct Eval {
    /// The index file
    pub index: PathBuf,
    /// The folder with queries.jsonl and qrels/test.tsv
    #[arg(long, value_name = "DIR")]
    pub beir: PathBuf,
    /// Depths, such as 5,10,20
    #[arg(short, value_name = "K,…", value_delimiter = ',', default_value = "5,10,20")]
    pub k: Vec<NonZeroUsize>,
    /// Best chunks of each channel that are ranked when several documents are searched, or `all`
    #[arg(long, value_name = "P", value_parser = pool, default_value = "1000")]
    pub pool: usize,
    /// Whose statistics weigh the terms when several documents are searched
    #[arg(
        long,
        value_enum,
        value_name = "document|collection",
        default_value = "collection",
        hide_possible_values = true
    )]
    pub stats: StatisticsArgument,
    #[command(flatten)]
    pub reading: Reading,
}

/// What every reading command takes.
#[derive(Debug, Clone, Copy, Args)]
pub struct Reading {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Read an earlier commit, by its number in `plica log`
    #[arg(long, value_name = "COMMIT")]
    pub at: Option<u64>,
}

/// What is fixed when an index is created.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Fixed when the index is created")]
pub struct Creation {
    /// Units that fold into one, 2 to 16 [default: 5]
    #[arg(long, value_name = "F", value_parser = clap::value_parser!(u8).range(2..=16))]
    pub fanout: Option<u8>,
    /// Words of a chunk at most [default: 500]
    #[arg(long, value_name = "W")]
    pub chunk_words: Option<NonZeroU32>,
    /// Whether each document has an entity memory of its own, or the whole index one [default: document]
    #[arg(long, value_enum, value_name = "document|index", hide_possible_values = true)]
    pub memory: Option<MemoryArgument>,
}

/// Which model reads.
#[derive(Debug, Clone, Copy, Args)]
pub struct ModelArguments {
    /// What reads the chunks: the built-in model, or none (then only their text is searched)
    #[arg(long, value_enum, value_name = "builtin|none", default_value = "builtin", hide_possible_values = true)]
    pub model: ModelArgument,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_well_formed() {
        Arguments::command().debug_assert();
    }
}
