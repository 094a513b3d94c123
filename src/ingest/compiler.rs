//! What compiles a document: discovers its categories, extracts the subjects of its outline, and its records.
//!
//! Compiling comes after reading ([`super::Model`]): the outline and the records are further products of the same
//! text, each behind a trait of its own, so that either may come from a language model, from rules
//! ([`super::builtin`]), or not at all. Answering never calls either.

use crate::Result;

/// Compiles outlines ("Indexing Long Documents for LLM-Based Analysis": discover, compile, write).
///
/// Answers that depend only on their input make the outline reproducible.
pub trait Compiler: Sync {
    /// Names the categories of a document, and the fields to record under each. Called once a document; what it
    /// answers stays: later text adds subjects, not categories.
    fn discover(&self, input: &DiscoverInput<'_>) -> Result<Schema>;

    /// Names the subjects that a piece of the document tells of, with their fields.
    fn extract(&self, input: &ExtractInput<'_>) -> Result<Extracted>;
}

/// What a compiler sees of a document whose categories it is to name.
#[derive(Debug, Clone)]
pub struct DiscoverInput<'a> {
    /// Id of the document.
    pub document: &'a str,
    /// Title of the document, or empty.
    pub document_title: &'a str,
    /// The text, whole.
    pub text: &'a str,
    /// All records of the entity memory that are linked to the document, in the order of creation.
    pub entities: &'a [KnownEntity],
}

/// A record of the entity memory, as shown to a compiler or an extractor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownEntity {
    /// Name by which the record was created.
    pub name: String,
    /// Kind ("person", "place", …), or empty.
    pub kind: String,
    /// Other names, in the order they came: of a record that grew very often, the first of them.
    pub aliases: Vec<String>,
    /// Descriptions, in the order they came; a few at most.
    pub descriptions: Vec<String>,
    /// How many of the document's chunks are linked to it.
    pub chunks: u32,
}

/// The categories of an outline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schema {
    /// Title of the outline's root; empty for the document's.
    pub title: String,
    /// What the document is about: the mega summary, or empty.
    pub summary: String,
    /// The categories, in any order. A path of several steps is a sub-category; the categories above it need not be
    /// listed.
    pub categories: Vec<Category>,
}

/// A category.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Category {
    /// Names from the root down; at least one.
    pub path: Vec<String>,
    /// What belongs into it, or empty.
    pub summary: String,
    /// Names of the fields to record of its subjects.
    pub fields: Vec<String>,
}

/// What a compiler sees of a piece of a document.
#[derive(Debug, Clone)]
pub struct ExtractInput<'a> {
    /// Id of the document.
    pub document: &'a str,
    /// Title of the document, or empty.
    pub document_title: &'a str,
    /// The categories that were discovered.
    pub schema: &'a Schema,
    /// The piece. Pieces overlap, so that what stands at a seam is seen whole in one of them.
    pub text: &'a str,
    /// Bytes at the start of `text` that the piece before had, too; 0 for the first.
    pub overlap: usize,
    /// What the compiler gave for the piece before ([`Extracted::context`]); empty for the first.
    pub context: &'a str,
    /// Records of the entity memory that are linked to the chunks that the piece touches, in the order of creation.
    pub entities: &'a [KnownEntity],
}

/// What a compiler found in a piece.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extracted {
    /// The subjects. One that is there already grows.
    pub subjects: Vec<SubjectUpdate>,
    /// Handed on to the next piece, kept in the index meanwhile: where in the document's structure the piece ended, or
    /// a note. At most 1 KiB.
    pub context: String,
}

/// What a piece says of one subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubjectUpdate {
    /// Path of its category: one that was discovered.
    pub category: Vec<String>,
    /// Its name. A name that an alias of the entity memory leads to another subject of the category is that one.
    pub name: String,
    /// A short summary, or empty. The first that is not empty stays.
    pub summary: String,
    /// Values of fields.
    pub fields: Vec<FieldUpdate>,
    /// Subjects it is related to: category path and name, or a name alone (one step) for whatever subject has it.
    pub links: Vec<Vec<String>>,
}

/// A value of a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldUpdate {
    /// Name of the field.
    pub name: String,
    /// The value, as short as it says it. One that is over a quarter of a page is kept as its span.
    pub value: String,
    /// Start and end, in bytes of the piece's text, of what says so.
    pub span: Option<(usize, usize)>,
}

/// Extracts records (EnSI-RAG), chunk by chunk.
pub trait Extractor: Sync {
    /// The records that a chunk supports.
    fn records(&self, input: &RecordInput<'_>) -> Result<Vec<RecordUpdate>>;
}

/// What an extractor sees of a chunk.
#[derive(Debug, Clone)]
pub struct RecordInput<'a> {
    /// Id of the document.
    pub document: &'a str,
    /// Title of the document, or empty.
    pub document_title: &'a str,
    /// Place of the chunk in its document, from 0.
    pub ordinal: u32,
    /// Title of the chunk, or empty: of a table's row its caption and header line, of a section its headings.
    pub title: &'a str,
    /// Text of the chunk.
    pub text: &'a str,
    /// Records of the entity memory that are linked to the chunk, in the order of creation.
    pub entities: &'a [KnownEntity],
}

/// What a record says of its entity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// A value that the entity has: a date, an amount, a colour.
    #[default]
    Property,
    /// Another entity that it stands in a relation to; labels keep their direction.
    Relation,
    /// A side of it that a passage speaks of.
    Aspect,
}

impl RecordKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Property, Self::Relation, Self::Aspect];

    /// `property`, `relation` or `aspect`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Property => "property",
            Self::Relation => "relation",
            Self::Aspect => "aspect",
        }
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A record: a key to passages, never the answer. Any field but one may be empty; entity, label and value may not be
/// empty all three.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordUpdate {
    /// Whom or what it is about.
    pub entity: String,
    /// Type of the entity.
    pub entity_type: String,
    /// What it says.
    pub kind: RecordKind,
    /// The property, relation or aspect.
    pub label: String,
    /// A coarse label for the same, of properties and aspects; or empty.
    pub coarse: String,
    /// The value; of a relation, the other entity.
    pub value: String,
    /// A condition under which it holds: label and value.
    pub condition: Option<(String, String)>,
    /// When it holds, as the source says it; or empty.
    pub valid: String,
}
