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
use crate::block::Reference;
use crate::bytes::{Reader, put_string, put_varint};
use crate::limits::{KEY_BYTES, ORDER_KEY_BYTES, OUTLINE_ENTRIES, PAGE_SUMMARY_BYTES};
pub use crate::outline_item::{Field, Item, Path, Subject, Top, Value};
use crate::outline_item::{item, page, put_item};

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
        u32::try_from(self.sum()).unwrap_or(u32::MAX)
    }

    /// What lies below; the sum of 64 counts at most.
    fn sum(&self) -> u64 {
        let add = |sum: u64, count: u32| sum.saturating_add(u64::from(count));
        match self {
            Self::Items(items) => items.iter().map(Item::count).fold(0, add),
            Self::Ranges(ranges) => ranges.iter().map(|range| range.count).fold(0, add),
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

    /// What a page says of itself, for one that no parent leads to; of a category's node or, where `is_subject`, of a
    /// subject's.
    pub fn claim(bytes: &[u8], is_subject: bool) -> Result<Expected, FormatError> {
        let mut reader = Reader::new("outline page", bytes);
        let document = reader.varint32()?;
        let node = reader.array()?;
        let level = reader.u8()?;
        Ok(Expected { document, node, is_subject, level, count: reader.varint32()? })
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
                let range = Range {
                    first_key,
                    first: reader.text(KEY_BYTES)?.to_owned(),
                    last: reader.text(KEY_BYTES)?.to_owned(),
                    summary: reader.text(PAGE_SUMMARY_BYTES)?.to_owned(),
                    count: reader.varint32()?,
                    page: page(&mut reader, offset)?,
                };
                if range.count == 0 {
                    return Err(reader.fail("ranges of at least one item", range.count));
                }
                ranges.push(range);
            }
            Entries::Ranges(ranges)
        };
        // Without saturation: a sum that does not fit 32 bits is no count.
        let sum = entries.sum();
        if sum != u64::from(count) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::BlockKind;

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
