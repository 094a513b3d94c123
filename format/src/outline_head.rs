//! The head of a document's outline, and its categories.
//!
//! The head says where the pages start and how far the document was compiled. The categories are what discovery named;
//! each is a value of its own, so that an outline may have many.

use crate::FormatError;
use crate::bytes::{Reader, put_string, put_varint};
use crate::limits::{CATEGORY_FIELDS, CONTEXT_BYTES, OUTLINE_DEPTH, SUMMARY_BYTES};
use crate::outline_item::{Path, Top, names, put_names, put_root, root};

/// The head of an outline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutlineHead {
    /// Greatest number of tokens of a page; 0 where it was never set.
    pub budget: u32,
    /// The pages of the root; `None` without subjects.
    pub root: Option<Top>,
    /// Values of all subjects.
    pub values: u64,
    /// Whether the categories were discovered.
    pub discovered: bool,
    /// Bytes of the document's text whose subjects were extracted.
    pub compiled: u64,
    /// Chunks of the document whose records were extracted.
    pub extracted: u32,
    /// What the compiler handed on.
    pub context: String,
    /// Calls of a compiler or an extractor: to discover, to extract subjects, to summarise a page, to extract records.
    pub calls: [u64; 4],
}

impl OutlineHead {
    /// Appends the head.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.budget));
        out.push(u8::from(self.root.is_some()));
        if let Some(root) = &self.root {
            put_root(out, root);
        }
        out.push(u8::from(self.discovered));
        for value in [self.values, self.compiled, u64::from(self.extracted)] {
            put_varint(out, value);
        }
        put_string(out, self.context.as_bytes());
        self.calls.iter().for_each(|&calls| put_varint(out, calls));
    }

    /// Reads a head.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut reader = Reader::new("outline head", bytes);
        let budget = reader.varint32()?;
        let root = if flag(&mut reader)? { Some(root(&mut reader)?) } else { None };
        let discovered = flag(&mut reader)?;
        let head = Self {
            budget,
            root,
            discovered,
            values: reader.sum()?,
            compiled: reader.sum()?,
            extracted: reader.varint32()?,
            context: reader.text(CONTEXT_BYTES)?.to_owned(),
            calls: [reader.sum()?, reader.sum()?, reader.sum()?, reader.sum()?],
        };
        reader.finish()?;
        Ok(head)
    }
}

fn flag(reader: &mut Reader<'_>) -> Result<bool, FormatError> {
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(reader.fail("0 or 1", other)),
    }
}

/// A category. That of the root has an empty path, and title and overview of the outline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CategoryRow {
    /// Names from the root down.
    pub path: Path,
    /// Its place among those that were named; `u32::MAX` for one that came with a subject.
    pub position: u32,
    /// Title, of the root only; else empty, and the last name of the path is its title.
    pub title: String,
    /// What belongs into it, or empty.
    pub summary: String,
    /// Names of the fields to record of its subjects.
    pub fields: Vec<String>,
}

impl CategoryRow {
    /// Appends the category.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_names(out, &self.path);
        put_varint(out, u64::from(self.position));
        put_string(out, self.title.as_bytes());
        put_string(out, self.summary.as_bytes());
        put_names(out, &self.fields);
    }

    /// Reads a category.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut reader = Reader::new("category", bytes);
        let row = Self {
            path: names(&mut reader, OUTLINE_DEPTH)?,
            position: reader.varint32()?,
            title: reader.text(SUMMARY_BYTES)?.to_owned(),
            summary: reader.text(SUMMARY_BYTES)?.to_owned(),
            fields: names(&mut reader, CATEGORY_FIELDS)?,
        };
        reader.finish()?;
        Ok(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{BlockKind, Reference};

    #[test]
    fn heads_and_categories_read_back() {
        let page = Reference { offset: 1 << 40, stored_bytes: 9, kind: BlockKind::Outline, checksum: 3 };
        let head = OutlineHead {
            budget: 2000,
            root: Some(Top { page, level: 2, count: 7 }),
            values: 40,
            discovered: true,
            compiled: 1 << 33,
            extracted: 12,
            context: "Part One".into(),
            calls: [1, 2, 3, 4],
        };
        for head in [head, OutlineHead::default()] {
            let mut out = Vec::new();
            head.encode(&mut out);
            assert_eq!(OutlineHead::decode(&out).unwrap(), head);
            for cut in 0..out.len() {
                assert!(OutlineHead::decode(&out[..cut]).is_err());
            }
        }
        let row = CategoryRow {
            path: vec!["People".into(), "Officers".into()],
            position: u32::MAX,
            title: String::new(),
            summary: "Who serves.".into(),
            fields: vec!["rank".into()],
        };
        let mut out = Vec::new();
        row.encode(&mut out);
        assert_eq!(CategoryRow::decode(&out).unwrap(), row);
        for cut in 0..out.len() {
            assert!(CategoryRow::decode(&out[..cut]).is_err());
        }
    }
}
