//! What options can be set to, and how it is read.

use clap::ValueEnum;
use plica::ingest::RecordKind;
use plica::records::RecordField;
use plica::text::Chunking;
use plica::{MemoryScope, Statistics, Weights};
use std::num::NonZeroUsize;

/// A model by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ModelArgument {
    /// The built-in model.
    #[default]
    Builtin,
    /// None.
    None,
}

/// What chunks are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ChunksArgument {
    /// Sentences.
    #[default]
    Sentences,
    /// Headed sections.
    Sections,
    /// Rows of tables, and sections.
    Rows,
}

impl From<ChunksArgument> for Chunking {
    fn from(argument: ChunksArgument) -> Self {
        match argument {
            ChunksArgument::Sentences => Self::Sentences,
            ChunksArgument::Sections => Self::Sections,
            ChunksArgument::Rows => Self::Rows,
        }
    }
}

/// A scope of the entity memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MemoryArgument {
    /// A memory a document.
    Document,
    /// One memory.
    Index,
}

impl From<MemoryArgument> for MemoryScope {
    fn from(argument: MemoryArgument) -> Self {
        match argument {
            MemoryArgument::Document => Self::Document,
            MemoryArgument::Index => Self::Index,
        }
    }
}

/// Whose statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatisticsArgument {
    /// Each document's own.
    Document,
    /// Those of all documents.
    Collection,
}

impl From<StatisticsArgument> for Statistics {
    fn from(argument: StatisticsArgument) -> Self {
        match argument {
            StatisticsArgument::Document => Self::Document,
            StatisticsArgument::Collection => Self::Collection,
        }
    }
}

/// A kind of record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KindArgument {
    /// A value that the entity has.
    Property,
    /// Another entity.
    Relation,
    /// A side of it.
    Aspect,
}

impl From<KindArgument> for RecordKind {
    fn from(argument: KindArgument) -> Self {
        match argument {
            KindArgument::Property => Self::Property,
            KindArgument::Relation => Self::Relation,
            KindArgument::Aspect => Self::Aspect,
        }
    }
}

/// A field of records whose values can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FieldArgument {
    /// Entities.
    Entity,
    /// Types of entities.
    Type,
    /// Kinds.
    Kind,
    /// Labels.
    Label,
    /// Coarse labels.
    Coarse,
    /// Values.
    Value,
}

impl From<FieldArgument> for RecordField {
    fn from(argument: FieldArgument) -> Self {
        match argument {
            FieldArgument::Entity => Self::Entity,
            FieldArgument::Type => Self::Type,
            FieldArgument::Kind => Self::Kind,
            FieldArgument::Label => Self::Label,
            FieldArgument::Coarse => Self::Coarse,
            FieldArgument::Value => Self::Value,
        }
    }
}

/// Steps from the top of a fold tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreePath(pub Vec<usize>);

/// Steps with / between them.
pub fn tree_path(text: &str) -> Result<TreePath, String> {
    let steps = text.split('/').filter(|step| !step.is_empty());
    let steps: Result<Vec<usize>, _> = steps.map(str::parse).collect();
    steps.map(TreePath).map_err(|_| "expected numbers with / between them, such as 0/3".to_owned())
}

/// Steps from the root of an outline.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutlinePath(pub Vec<String>);

/// Names with / between them, \\/ for a / within a name; or a JSON list of names.
pub fn outline_path(text: &str) -> Result<OutlinePath, String> {
    if text.starts_with('[') {
        let names = serde_json::from_str(text);
        return names.map(OutlinePath).map_err(|error| format!("expected a JSON list of names: {error}"));
    }
    let mut names = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if matches!(characters.peek(), Some('/' | '\\')) => {
                let escaped = characters.next();
                names.iter_mut().last().into_iter().for_each(|name| name.extend(escaped));
            }
            '/' => names.push(String::new()),
            other => names.iter_mut().last().into_iter().for_each(|name| name.push(other)),
        }
    }
    names.retain(|name| !name.is_empty());
    Ok(OutlinePath(names))
}

/// A number from 0.
pub fn not_negative(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err(format!("expected a number that is not negative, got {text:?}")),
    }
}

/// A number from 0 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    let number = not_negative(text)?;
    if number <= 1.0 { Ok(number) } else { Err(format!("expected a number from 0 to 1, got {text:?}")) }
}

/// Greatest weight of a channel; scores stay far from what a float can hold.
const WEIGHT: f64 = 1e6;

/// Weights of the three channels.
pub fn weights(text: &str) -> Result<Weights, String> {
    let numbers: Result<Vec<f64>, String> = text.split(',').map(not_negative).collect();
    match numbers?.as_slice() {
        weights if weights.iter().any(|&weight| weight > WEIGHT) => {
            Err(format!("expected weights of at most {WEIGHT}"))
        }
        [text, memory, summary] => Ok(Weights { text: *text, memory: *memory, summary: *summary }),
        other => Err(format!("expected three numbers with commas between them, got {}", other.len())),
    }
}

/// A size of the pool.
pub fn pool(text: &str) -> Result<usize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(number) => Ok(number.get()),
        Err(_) if text == "all" => Ok(usize::MAX),
        Err(_) => Err(format!("expected a number from 1 or `all`, got {text:?}")),
    }
}

/// A key and the value it must have.
pub fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("expected KEY=VALUE, got {text:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_refused() {
        assert_eq!(tree_path("0/3").unwrap().0, [0, 3]);
        assert!(tree_path("").unwrap().0.is_empty());
        assert!(tree_path("0/x").is_err());
        assert_eq!(outline_path("a b/c\\/d/").unwrap().0, ["a b", "c/d"]);
        assert_eq!(outline_path(r#"["a/b"]"#).unwrap().0, ["a/b"]);
        assert!(outline_path("[1]").is_err());
        assert_eq!(weights("1, 0.5,0").unwrap(), Weights { text: 1.0, memory: 0.5, summary: 0.0 });
        assert!(weights("1,2").is_err() && weights("1,NaN,0").is_err() && weights("1,-1,0").is_err());
        assert_eq!(pool("all").unwrap(), usize::MAX);
        assert!(pool("0").is_err());
        assert_eq!(key_value("a=b=c").unwrap(), ("a".to_owned(), "b=c".to_owned()));
        assert!(key_value("=b").is_err());
    }
}
