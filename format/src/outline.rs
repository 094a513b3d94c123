//! Pages of a document's outline.
//!
//! An outline is a tree of *nodes*: the root, categories below it, and subjects that are too large for a place in their
//! category's page. A node has a sorted sequence of *items*: a category's are its sub-categories and subjects, a large
//! subject's are its values and links. The items lie in pages of level 0; where one page cannot hold them, pages of
//! level 1 list those of level 0, each with the first and last item that it holds and a summary, and so on up to one
//! page. Which items lie together is a function of the items alone; the writer decides it, and a reader need not know how.
//!
//! A page names its document, its node (a hash of the path) and its level, and how many subjects (of a subject's node:
//! values and links) lie below it. Whoever refers to it expects just that.

use crate::FormatError;
use crate::block::{BlockKind, Reference};
use crate::bytes::{Reader, put_string, put_varint};
use crate::limits::{
    KEY_BYTES, ORDER_KEY_BYTES, OUTLINE_DEPTH, OUTLINE_ENTRIES, OUTLINE_LEVELS, PAGE_SUMMARY_BYTES, SUBJECT_LINKS,
    SUBJECT_VALUES, SUMMARY_BYTES, VALUE_BYTES,
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

/// An entry of a page above level 0: a page of the level below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The key by which its first item is ordered.
    pub first_key: Vec<u8>,
    /// Name of its first item.
    pub first: String,
    /// Name of its last item.
    pub last: String,
    /// Its summary.
    pub summary: String,
    /// What lies below it, counted as in [`Top`].
    pub count: u32,
    /// The page.
    pub page: Reference,
}

/// What a page lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entries {
    /// Of level 0.
    Items(Vec<Item>),
    /// Above.
    Ranges(Vec<Range>),
}

impl Entries {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Items(items) => items.len(),
            Self::Ranges(ranges) => ranges.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What lies below.
    pub fn count(&self) -> u32 {
        match self {
            Self::Items(items) => items.iter().fold(0, |sum: u32, item| sum.saturating_add(item.count())),
            Self::Ranges(ranges) => ranges.iter().fold(0, |sum: u32, range| sum.saturating_add(range.count)),
        }
    }
}

/// What is known of a page before reading it; the page must say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Number of the document.
    pub document: u32,
    /// Hash of the node's path.
    pub node: [u8; 16],
    /// Whether the node is a large subject.
    pub is_subject: bool,
    /// Level.
    pub level: u8,
    /// What lies below, counted as in [`Top`].
    pub count: u32,
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlinePage {
    /// Number of the document.
    pub document: u32,
    /// Hash of the node's path.
    pub node: [u8; 16],
    /// Level within the node.
    pub level: u8,
    /// What it lists.
    pub entries: Entries,
}

const CATEGORY: u8 = 0;
const SUBJECT: u8 = 1;
const LARGE_SUBJECT: u8 = 2;
const VALUE: u8 = 3;
const LINK: u8 = 4;

impl OutlinePage {
    /// The bytes of the page.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, u64::from(self.document));
        out.extend_from_slice(&self.node);
        out.push(self.level);
        put_varint(&mut out, u64::from(self.entries.count()));
        out.push(self.entries.len() as u8);
        match &self.entries {
            Entries::Items(items) => items.iter().for_each(|item| put_item(&mut out, item)),
            Entries::Ranges(ranges) => {
                for range in ranges {
                    put_string(&mut out, &range.first_key);
                    for text in [&range.first, &range.last, &range.summary] {
                        put_string(&mut out, text.as_bytes());
                    }
                    put_varint(&mut out, u64::from(range.count));
                    range.page.encode(&mut out);
                }
            }
        }
        out
    }

    /// Reads the page at `offset` and demands that it is what was expected. References must point strictly lower in
    /// the file, so no walk can come back to a page.
    pub fn decode(bytes: &[u8], offset: u64, expected: Expected) -> Result<Self, FormatError> {
        let mut reader = Reader::new("outline page", bytes);
        let document = reader.varint32()?;
        let node = reader.array()?;
        let level = reader.u8()?;
        let count = reader.varint32()?;
        let found = (document, node, level, count);
        if found != (expected.document, expected.node, expected.level, expected.count) {
            let got = format_args!("document {document}, level {level}, {count} below");
            return Err(reader.fail("the document, node, level and count that its parent expects", got));
        }
        let entries = usize::from(reader.u8()?);
        if entries == 0 || entries > OUTLINE_ENTRIES {
            return Err(reader.fail("1 to 64 entries", entries));
        }
        let entries = if level == 0 {
            let mut items = Vec::with_capacity(entries);
            for _ in 0..entries {
                items.push(item(&mut reader, offset, expected.is_subject)?);
            }
            Entries::Items(items)
        } else {
            let mut ranges: Vec<Range> = Vec::with_capacity(entries);
            for _ in 0..entries {
                let first_key = reader.string(ORDER_KEY_BYTES)?.to_vec();
                if ranges.last().is_some_and(|before| before.first_key >= first_key) {
                    return Err(reader.fail("ranges in ascending order", "one that is not behind the one before"));
                }
                ranges.push(Range {
                    first_key,
                    first: reader.text(KEY_BYTES)?.to_owned(),
                    last: reader.text(KEY_BYTES)?.to_owned(),
                    summary: reader.text(PAGE_SUMMARY_BYTES)?.to_owned(),
                    count: reader.varint32()?,
                    page: page(&mut reader, offset)?,
                });
            }
            Entries::Ranges(ranges)
        };
        let sum = entries.count();
        if sum != count {
            return Err(reader.fail("entries that sum up to the count", format_args!("{sum} instead of {count}")));
        }
        reader.finish()?;
        Ok(Self { document, node, level, entries })
    }

    /// The pages that it refers to.
    pub fn children(&self) -> Vec<Reference> {
        match &self.entries {
            Entries::Ranges(ranges) => ranges.iter().map(|range| range.page).collect(),
            Entries::Items(items) => items
                .iter()
                .filter_map(|item| match item {
                    Item::Category { top, .. } | Item::LargeSubject { top, .. } => Some(top.page),
                    _ => None,
                })
                .collect(),
        }
    }
}

/// A reference to a page that lies before `offset`.
fn page(reader: &mut Reader<'_>, offset: u64) -> Result<Reference, FormatError> {
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

fn put_item(out: &mut Vec<u8>, item: &Item) {
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

fn item(reader: &mut Reader<'_>, offset: u64, of_subject: bool) -> Result<Item, FormatError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(offset: u64) -> Reference {
        Reference { offset, stored_bytes: 100, kind: BlockKind::Outline, checksum: 7 }
    }

    fn pages() -> Vec<(OutlinePage, bool)> {
        let top = Top { page: reference(20_480), level: 1, count: 9 };
        let value = Value { text: "the heroine".into(), span: Some((120, 180)) };
        let kept = Value { text: String::new(), span: Some((1, 9)) };
        let subject = Subject {
            name: "Elizabeth".into(),
            summary: "Second of five.".into(),
            fields: vec![Field { name: "role".into(), values: vec![value.clone(), kept] }],
            links: vec![vec!["events".into(), "The ball".into()]],
        };
        let text = || "text".to_owned();
        let items = vec![
            Item::Category { name: text(), position: u32::MAX, summary: text(), overview: text(), top },
            Item::Subject(subject),
            Item::LargeSubject { name: text(), summary: text(), overview: text(), top },
        ];
        let values = vec![
            Item::Value { field: 0, number: 3, name: text(), value },
            Item::Link { number: 0, path: vec![text(), text()] },
        ];
        let range = |key: &str, count| Range {
            first_key: key.into(),
            first: text(),
            last: text(),
            summary: text(),
            count,
            page: reference(20_480),
        };
        let ranges = vec![range("a", 3), range("b", 4)];
        let page = |level, entries| OutlinePage { document: 5, node: [3; 16], level, entries };
        vec![
            (page(0, Entries::Items(items)), false),
            (page(0, Entries::Items(values)), true),
            (page(2, Entries::Ranges(ranges)), false),
        ]
    }

    #[test]
    fn pages_read_back_and_are_held_against_what_is_expected() {
        for (page, is_subject) in pages() {
            let bytes = page.encode();
            let count = page.entries.count();
            let expected = Expected { document: 5, node: [3; 16], is_subject, level: page.level, count };
            assert_eq!(OutlinePage::decode(&bytes, 1 << 30, expected).unwrap(), page);
            for wrong in [
                Expected { document: 6, ..expected },
                Expected { node: [4; 16], ..expected },
                Expected { level: 1, ..expected },
                Expected { count: count + 1, ..expected },
            ] {
                assert!(OutlinePage::decode(&bytes, 1 << 30, wrong).is_err());
            }
            if page.level == 0 {
                let other = Expected { is_subject: !is_subject, ..expected };
                assert!(OutlinePage::decode(&bytes, 1 << 30, other).is_err());
            }
            if !page.children().is_empty() {
                assert!(OutlinePage::decode(&bytes, 20_480, expected).is_err(), "a child behind its parent");
            }
            for cut in 0..bytes.len() {
                assert!(OutlinePage::decode(&bytes[..cut], 1 << 30, expected).is_err());
            }
        }
    }
}
