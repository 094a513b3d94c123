//! The arguments of the commands about records.

use crate::arguments::Reading;
use crate::values::{FieldArgument, KindArgument};
use clap::{Args, Subcommand};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Look up records, the symbolic keys to passages, and show the passages that they lead to.
///
/// Keys come first: the entity by its name or an alias, the label exactly, and by shared words only where the entity has
/// no such label. What is not given is not asked for. With --vocabulary the values of a field are listed instead, with
/// how many records have each.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  plica records library.plica --entity \"Jane Bennet\" --label sister_of
  plica records library.plica --entity \"Jane Benet\" --fuzzy 1 --json
  plica records library.plica --vocabulary label --type person")]
pub struct Records {
    /// The index file
    pub index: PathBuf,
    /// Only records of this document
    #[arg(long, value_name = "ID")]
    pub doc: Option<String>,
    /// Entity
    #[arg(long, value_name = "NAME")]
    pub entity: Option<String>,
    /// Type of the entity
    #[arg(long = "type", value_name = "TYPE")]
    pub entity_type: Option<String>,
    /// Kind
    #[arg(long, value_enum, value_name = "property|relation|aspect", hide_possible_values = true)]
    pub kind: Option<KindArgument>,
    /// Label
    #[arg(long, value_name = "LABEL")]
    pub label: Option<String>,
    /// Value
    #[arg(long, value_name = "VALUE")]
    pub value: Option<String>,
    /// Label of the condition
    #[arg(long, value_name = "LABEL")]
    pub condition_label: Option<String>,
    /// Value of the condition
    #[arg(long, value_name = "VALUE")]
    pub condition_value: Option<String>,
    /// Take entity, type, label and value for beginnings; with --vocabulary, that of the listed field
    #[arg(long)]
    pub prefix: bool,
    /// Take entities whose name differs by up to N characters, too; 0 to 2
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub fuzzy: u8,
    /// Passages at most [default: 12]; with --vocabulary, values [default: all]
    #[arg(short, value_name = "N")]
    pub k: Option<NonZeroUsize>,
    /// List the values of a field, with counts
    #[arg(
        long,
        value_enum,
        value_name = "entity|type|kind|label|coarse|value",
        hide_possible_values = true,
        conflicts_with_all = ["fuzzy", "kind", "condition_label", "condition_value"]
    )]
    pub vocabulary: Option<FieldArgument>,
    #[command(flatten)]
    pub reading: Reading,
}

/// Run a plan of several hops: what one finds fills the next.
///
/// A plan is JSON. A field may be $ID.value or $ID.entity, which takes the values or entities that an earlier hop bound;
/// a hop of mode point binds the best record for each of them, one of mode all every record in which all fields fit.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  echo '{\"hops\":[{\"id\":\"h1\",\"match\":{\"entity\":\"Jane Bennet\",\"label\":\"sister_of\"},\"mode\":\"point\"},
    {\"id\":\"h2\",\"match\":{\"entity\":\"$h1.value\",\"label\":\"admired_by\"},\"mode\":\"all\"}]}' |
    plica hop library.plica --plan -")]
pub struct Hop {
    /// The index file
    pub index: PathBuf,
    /// The plan, or - for standard input
    #[arg(long, value_name = "FILE|-")]
    pub plan: PathBuf,
    /// Passages of each hop at most
    #[arg(short, value_name = "N", default_value = "12")]
    pub k: NonZeroUsize,
    #[command(flatten)]
    pub reading: Reading,
}

/// Remove or correct records, one at a time.
///
/// A record is named by a line as `plica export` writes it: its document and its fields. Chunks and the coarse label
/// need not be there.
#[derive(Debug, Args)]
pub struct Record {
    /// What to do
    #[command(subcommand)]
    pub change: RecordChange,
}

/// What is done to records.
#[derive(Debug, Subcommand)]
pub enum RecordChange {
    /// Remove records; all of them, or, where one is not there, none
    #[command(after_help = "\
Examples:
  plica record remove library.plica '{\"doc\":\"pride\",\"entity\":\"Jane Bennet\",\"kind\":\"relation\",
    \"label\":\"sister_of\",\"value\":\"Lady Lucas\"}'
  plica export library.plica | grep Lucas | plica record remove library.plica -")]
    Remove {
        /// The index file
        index: PathBuf,
        /// The record as a JSON object, or - for such lines from standard input
        #[arg(value_name = "RECORD|-")]
        record: String,
        /// Print {"commit":n,"records":removed}
        #[arg(long)]
        json: bool,
    },
    /// Put a record in the place of another; its passages stay
    #[command(after_help = "\
Example:
  plica record correct library.plica '{\"doc\":\"pride\",\"entity\":\"Jane\",\"label\":\"age\",\"value\":\"21\"}' \\
    '{\"doc\":\"pride\",\"entity\":\"Jane\",\"label\":\"age\",\"value\":\"22\"}'")]
    Correct {
        /// The index file
        index: PathBuf,
        /// The record as it is
        old: String,
        /// The record as it should be
        new: String,
        /// Print {"commit":n,"records":1}
        #[arg(long)]
        json: bool,
    },
}
