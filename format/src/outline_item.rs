//! The items of an outline: categories, subjects with their fields, and the values and links of large subjects.

use crate::FormatError;
use crate::block::{BlockKind, Reference};
use crate::bytes::{Reader, put_string, put_varint};
use crate::limits::{
    KEY_BYTES, OUTLINE_DEPTH, OUTLINE_LEVELS, PAGE_SUMMARY_BYTES, SUBJECT_LINKS, SUBJECT_VALUES, SUMMARY_BYTES,
    VALUE_BYTES,
};

/// Names from the root down.
pub type Path = Vec<String>;

/// A value of a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Value {
    /// The value; empty where only its span is kept.
    pub text: String,
    /// Start and end in the source, in bytes, where known.
    pub span: Option<(u64, u64)>,
}

/// A field of a subject: its values, in the order they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// At least one.
    pub values: Vec<Value>,
}

/// A subject.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// Its name.
    pub name: String,
    /// A short summary, or empty.
    pub summary: String,
    /// Its fields, in the order they came.
    pub fields: Vec<Field>,
    /// Related subjects, by path.
    pub links: Vec<Path>,
}

impl Subject {
    /// How many values its fields have.
    pub fn values(&self) -> usize {
        self.fields.iter().map(|field| field.values.len()).sum()
    }
}

/// The top page of a node, as an entry of another page or the head refers to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Top {
    /// The page.
    pub page: Reference,
    /// Its level.
    pub level: u8,
    /// Subjects below a category; values and links of a subject.
    pub count: u32,
}

/// An item of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A sub-category.
    Category {
        /// Its name.
        name: String,
        /// Its place among the categories that were discovered; `u32::MAX` for one that came by itself.
        position: u32,
        /// What belongs into it, or empty.
        summary: String,
        /// The summary of its top page.
        overview: String,
        /// Its pages.
        top: Top,
    },
    /// A subject, whole.
    Subject(Subject),
    /// A subject that has pages of its own.
    LargeSubject {
        /// Its name.
        name: String,
        /// Its summary, or empty.
        summary: String,
        /// The summary of its top page.
        overview: String,
        /// Its pages.
        top: Top,
    },
    /// A value of a large subject.
    Value {
        /// Place of the field.
        field: u32,
        /// Place of the value in its field.
        number: u32,
        /// Name of the field.
        name: String,
        /// The value.
        value: Value,
    },
    /// A link of a large subject.
    Link {
        /// Its place.
        number: u32,
        /// Where it leads.
        path: Path,
    },
}

impl Item {
    /// What it counts for in the pages above.
    pub fn count(&self) -> u32 {
        match self {
            Self::Category { top, .. } => top.count,
            _ => 1,
        }
    }
}

const CATEGORY: u8 = 0;
const SUBJECT: u8 = 1;
const LARGE_SUBJECT: u8 = 2;
const VALUE: u8 = 3;
const LINK: u8 = 4;

/// A reference to a page that lies before `offset`.
pub(crate) fn page(reader: &mut Reader<'_>, offset: u64) -> Result<Reference, FormatError> {
    let page = Reference::decode(reader, BlockKind::Outline)?;
    if page.end() > offset {
        return Err(reader.fail("a page that lies before the one that refers to it", page.offset));
    }
    Ok(page)
}

fn put_path(out: &mut Vec<u8>, path: &[String]) {
    put_varint(out, path.len() as u64);
    path.iter().for_each(|step| put_string(out, step.as_bytes()));
}

/// Appends a path.
pub(crate) fn put_names(out: &mut Vec<u8>, path: &[String]) {
    put_path(out, path);
}

/// Reads a path of at most `limit` steps.
pub(crate) fn names(reader: &mut Reader<'_>, limit: usize) -> Result<Path, FormatError> {
    let steps = reader.varint_at_most(limit, "a count of names")?;
    let mut path = Vec::new();
    for _ in 0..steps {
        path.push(reader.text(KEY_BYTES)?.to_owned());
    }
    Ok(path)
}

fn put_value(out: &mut Vec<u8>, value: &Value) {
    match value.span {
        Some((start, end)) => {
            out.push(1);
            put_varint(out, start);
            put_varint(out, end.saturating_sub(start));
        }
        None => out.push(0),
    }
    put_string(out, value.text.as_bytes());
}

fn value(reader: &mut Reader<'_>) -> Result<Value, FormatError> {
    let span = match reader.u8()? {
        0 => None,
        1 => {
            let start = reader.varint()?;
            let length = reader.varint()?;
            let Some(end) = start.checked_add(length) else {
                return Err(reader.fail("a span within 64 bits", start));
            };
            Some((start, end))
        }
        other => return Err(reader.fail("0 or 1", other)),
    };
    let text = reader.text(VALUE_BYTES)?.to_owned();
    if text.is_empty() && span.is_none() {
        return Err(reader.fail("a value or its span", "neither"));
    }
    Ok(Value { text, span })
}

fn put_top(out: &mut Vec<u8>, top: &Top) {
    top.page.encode(out);
    out.push(top.level);
    put_varint(out, u64::from(top.count));
}

fn top(reader: &mut Reader<'_>, offset: u64) -> Result<Top, FormatError> {
    let page = page(reader, offset)?;
    let level = reader.u8()?;
    let count = reader.varint32()?;
    if level > OUTLINE_LEVELS || count == 0 {
        return Err(reader.fail("a level of at most 32 and a count from 1", format_args!("{level} and {count}")));
    }
    Ok(Top { page, level, count })
}

pub(crate) fn put_root(out: &mut Vec<u8>, root: &Top) {
    put_top(out, root);
}

pub(crate) fn root(reader: &mut Reader<'_>) -> Result<Top, FormatError> {
    top(reader, u64::MAX)
}

pub(crate) fn put_item(out: &mut Vec<u8>, item: &Item) {
    match item {
        Item::Category { name, position, summary, overview, top } => {
            out.push(CATEGORY);
            put_string(out, name.as_bytes());
            put_varint(out, u64::from(*position));
            put_string(out, summary.as_bytes());
            put_string(out, overview.as_bytes());
            put_top(out, top);
        }
        Item::Subject(subject) => {
            out.push(SUBJECT);
            put_string(out, subject.name.as_bytes());
            put_string(out, subject.summary.as_bytes());
            put_varint(out, subject.fields.len() as u64);
            for field in &subject.fields {
                put_string(out, field.name.as_bytes());
                put_varint(out, field.values.len() as u64);
                field.values.iter().for_each(|value| put_value(out, value));
            }
            put_varint(out, subject.links.len() as u64);
            subject.links.iter().for_each(|link| put_path(out, link));
        }
        Item::LargeSubject { name, summary, overview, top } => {
            out.push(LARGE_SUBJECT);
            put_string(out, name.as_bytes());
            put_string(out, summary.as_bytes());
            put_string(out, overview.as_bytes());
            put_top(out, top);
        }
        Item::Value { field, number, name, value } => {
            out.push(VALUE);
            put_varint(out, u64::from(*field));
            put_varint(out, u64::from(*number));
            put_string(out, name.as_bytes());
            put_value(out, value);
        }
        Item::Link { number, path } => {
            out.push(LINK);
            put_varint(out, u64::from(*number));
            put_path(out, path);
        }
    }
}

/// Reads an item of the page at `offset`.
pub(crate) fn item(reader: &mut Reader<'_>, offset: u64, of_subject: bool) -> Result<Item, FormatError> {
    let tag = reader.u8()?;
    if of_subject != matches!(tag, VALUE | LINK) {
        let expected = if of_subject { "a value or a link" } else { "a category or a subject" };
        return Err(reader.fail(expected, tag));
    }
    Ok(match tag {
        CATEGORY => Item::Category {
            name: reader.text(KEY_BYTES)?.to_owned(),
            position: reader.varint32()?,
            summary: reader.text(SUMMARY_BYTES)?.to_owned(),
            overview: reader.text(PAGE_SUMMARY_BYTES)?.to_owned(),
            top: top(reader, offset)?,
        },
        SUBJECT => {
            let mut subject = Subject {
                name: reader.text(KEY_BYTES)?.to_owned(),
                summary: reader.text(SUMMARY_BYTES)?.to_owned(),
                ..Subject::default()
            };
            // Every field takes a byte, and every value and link, so what is left bounds the counts.
            for _ in 0..reader.varint_at_most(reader.remaining().min(SUBJECT_VALUES), "a field count")? {
                let name = reader.text(KEY_BYTES)?.to_owned();
                let count = reader.varint_at_most(reader.remaining().min(SUBJECT_VALUES), "a value count")?;
                let mut values = Vec::new();
                for _ in 0..count {
                    values.push(value(reader)?);
                }
                subject.fields.push(Field { name, values });
            }
            for _ in 0..reader.varint_at_most(SUBJECT_LINKS, "a link count")? {
                subject.links.push(names(reader, OUTLINE_DEPTH.saturating_add(1))?);
            }
            Item::Subject(subject)
        }
        LARGE_SUBJECT => Item::LargeSubject {
            name: reader.text(KEY_BYTES)?.to_owned(),
            summary: reader.text(SUMMARY_BYTES)?.to_owned(),
            overview: reader.text(PAGE_SUMMARY_BYTES)?.to_owned(),
            top: top(reader, offset)?,
        },
        VALUE => Item::Value {
            field: reader.varint32()?,
            number: reader.varint32()?,
            name: reader.text(KEY_BYTES)?.to_owned(),
            value: value(reader)?,
        },
        LINK => Item::Link { number: reader.varint32()?, path: names(reader, OUTLINE_DEPTH.saturating_add(1))? },
        other => return Err(reader.fail("a known item", other)),
    })
}
