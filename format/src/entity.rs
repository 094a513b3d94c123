//! The entity memory: parts of records, and a row for each record.
//!
//! A record only grows. Each time something is added it is written as one *part*, numbered from 0 within its record;
//! the record is its parts in order, and a part its additions. The *row* of a record says whose memory it belongs to, how many parts it has and
//! how many tokens each searched field has, so that scoring needs no part.

use crate::FormatError;
use crate::bytes::{Reader, put_string, put_varint};
use crate::chunk::{put_low, read_low};
use crate::key::ROWS_A_BLOCK;
use crate::limits::{DESCRIPTION_BYTES, KEY_BYTES, LEAF_RAW_BYTES};
use crate::quote::{QUOTED_RATIO, Quoted};

/// What was added to a record at once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Addition {
    /// Document whose reading added it.
    pub document: u32,
    /// The name, in the addition that created the record; else empty.
    pub name: String,
    /// The kind, where this addition gave one; else empty.
    pub kind: String,
    /// Aliases that were new.
    pub aliases: Vec<String>,
    /// Descriptions that were new; they quote chunks of the document.
    pub descriptions: Vec<Quoted>,
}

const HAS_NAME: u8 = 4;
const HAS_KIND: u8 = 8;
const HAS_ALIASES: u8 = 16;
const HAS_DESCRIPTIONS: u8 = 32;
const ONE_DESCRIPTION: u8 = 64;
const OTHER_DOCUMENT: u8 = 128;

impl Addition {
    /// What its descriptions are made of, in bytes.
    pub fn source_bytes(&self) -> usize {
        self.descriptions.iter().map(Quoted::source_bytes).fold(0, usize::saturating_add)
    }

    fn encode(&self, before: &mut Option<u32>, ordinal: &mut u32, out: &mut Vec<u8>) {
        let mut flags = 0;
        for (flag, set) in [
            (HAS_NAME, !self.name.is_empty()),
            (HAS_KIND, !self.kind.is_empty()),
            (HAS_ALIASES, !self.aliases.is_empty()),
            (HAS_DESCRIPTIONS, self.descriptions.len() > 1),
            (ONE_DESCRIPTION, self.descriptions.len() == 1),
            (OTHER_DOCUMENT, *before != Some(self.document)),
        ] {
            if set {
                flags |= flag;
            }
        }
        out.push(flags);
        if flags & OTHER_DOCUMENT != 0 {
            put_varint(out, u64::from(self.document));
            (*before, *ordinal) = (Some(self.document), 0);
        }
        for text in [&self.name, &self.kind].into_iter().filter(|text| !text.is_empty()) {
            put_string(out, text.as_bytes());
        }
        if !self.aliases.is_empty() {
            put_varint(out, self.aliases.len() as u64);
            self.aliases.iter().for_each(|alias| put_string(out, alias.as_bytes()));
        }
        if flags & HAS_DESCRIPTIONS != 0 {
            put_varint(out, self.descriptions.len() as u64);
        }
        self.descriptions.iter().for_each(|description| description.encode(ordinal, out));
    }

    fn decode(reader: &mut Reader<'_>, before: &mut Option<u32>, ordinal: &mut u32) -> Result<Self, FormatError> {
        let flags = reader.u8()?;
        if flags & 3 != 0 || flags & (HAS_DESCRIPTIONS | ONE_DESCRIPTION) == HAS_DESCRIPTIONS | ONE_DESCRIPTION {
            return Err(reader.fail("known flags", flags));
        }
        if flags & OTHER_DOCUMENT != 0 {
            let document = reader.varint32()?;
            if before.replace(document) == Some(document) {
                return Err(reader.fail("another document than that of the addition before", document));
            }
            *ordinal = 0;
        }
        let Some(document) = *before else { return Err(reader.fail("a document in the first addition", "none")) };
        let mut addition = Self { document, ..Self::default() };
        for (flag, text) in [(HAS_NAME, &mut addition.name), (HAS_KIND, &mut addition.kind)] {
            if flags & flag != 0 {
                reader.text(KEY_BYTES)?.clone_into(text);
                if text.is_empty() {
                    return Err(reader.fail("a name or kind that is not empty", "an empty one"));
                }
            }
        }
        // Every alias and description takes a byte, so what is left bounds their counts.
        if flags & HAS_ALIASES != 0 {
            let count = reader.varint_at_most(reader.remaining(), "a count")?;
            if count == 0 {
                return Err(reader.fail("an alias", "none"));
            }
            for _ in 0..count {
                addition.aliases.push(reader.text(KEY_BYTES)?.to_owned());
            }
        }
        let count = match flags & (HAS_DESCRIPTIONS | ONE_DESCRIPTION) {
            HAS_DESCRIPTIONS => {
                let count = reader.varint_at_most(reader.remaining(), "a count")?;
                if count < 2 {
                    return Err(reader.fail("several descriptions", count));
                }
                count
            }
            ONE_DESCRIPTION => 1,
            _ => 0,
        };
        for _ in 0..count {
            addition.descriptions.push(Quoted::decode(reader, ordinal, DESCRIPTION_BYTES)?);
        }
        Ok(addition)
    }
}

/// Appends a part: one or more additions, in order.
pub fn encode_part(additions: &[Addition], out: &mut Vec<u8>) {
    let (mut document, mut ordinal) = (None, 0);
    additions.iter().for_each(|addition| addition.encode(&mut document, &mut ordinal, out));
}

/// Reads a part.
pub fn decode_part(bytes: &[u8]) -> Result<Vec<Addition>, FormatError> {
    let mut reader = Reader::new("entity part", bytes);
    let (mut document, mut ordinal, mut read) = (None, 0, 0usize);
    let mut additions = Vec::new();
    loop {
        let addition = Addition::decode(&mut reader, &mut document, &mut ordinal)?;
        read = read.saturating_add(addition.source_bytes());
        if read > LEAF_RAW_BYTES.saturating_mul(QUOTED_RATIO) {
            return Err(reader.fail("descriptions within their limit", read));
        }
        additions.push(addition);
        if reader.is_empty() {
            return Ok(additions);
        }
    }
}

/// The row of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntityRow {
    /// Internal entity id; ids are given in the order of creation.
    pub entity: u32,
    /// The document whose memory it belongs to, or [`crate::key::INDEX_SCOPE`].
    pub scope: u32,
    /// Parts of the record.
    pub parts: u32,
    /// One more than the number of the part that gave the kind; 0 where none has.
    pub kind_part: u32,
    /// Tokens of its name, of all aliases, of all descriptions.
    pub tokens: [u32; 3],
}

/// Encodes rows of one block, in ascending order of entity.
pub fn encode_rows(rows: &[EntityRow], out: &mut Vec<u8>) {
    put_varint(out, rows.len() as u64);
    let mut before: Option<EntityRow> = None;
    for row in rows {
        put_low(out, row.entity, before.map(|b| b.entity), ROWS_A_BLOCK);
        // 0: the scope of the row before; else the scope plus one, as 33 bits.
        match before {
            Some(b) if b.scope == row.scope => out.push(0),
            _ => put_varint(out, u64::from(row.scope).saturating_add(1)),
        }
        put_varint(out, u64::from(row.parts));
        put_varint(out, u64::from(row.kind_part));
        for tokens in row.tokens {
            put_varint(out, u64::from(tokens));
        }
        before = Some(*row);
    }
}

/// Decodes the rows of block number `block`.
pub fn decode_rows(block: u32, bytes: &[u8]) -> Result<Vec<EntityRow>, FormatError> {
    let mut reader = Reader::new("entity rows", bytes);
    let count = reader.varint_at_most(ROWS_A_BLOCK as usize, "a row count")?;
    let mut rows: Vec<EntityRow> = Vec::with_capacity(count);
    for _ in 0..count {
        let before = rows.last().copied();
        let entity = read_low(&mut reader, block, before.map(|b| b.entity), ROWS_A_BLOCK)?;
        let scope = match (reader.varint()?, before) {
            (0, Some(b)) => b.scope,
            (0, None) => return Err(reader.fail("a scope in the first row", "none")),
            (scope, b) => {
                let Ok(scope) = u32::try_from(scope.saturating_sub(1)) else {
                    return Err(reader.fail("a scope of 32 bits", scope));
                };
                if b.is_some_and(|b| b.scope == scope) {
                    return Err(reader.fail("the short form of the same scope", "the long form"));
                }
                scope
            }
        };
        let parts = reader.varint32()?;
        let kind_part = reader.varint32()?;
        if kind_part > parts {
            return Err(reader.fail("a part of the record that gave the kind", kind_part));
        }
        let tokens = [reader.varint32()?, reader.varint32()?, reader.varint32()?];
        rows.push(EntityRow { entity, scope, parts, kind_part, tokens });
    }
    reader.finish()?;
    Ok(rows)
}

/// Token count of a level-1 summary, by the first chunk it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryRow {
    /// Internal id of the first chunk that the summary covers.
    pub unit: u32,
    /// Tokens of the summary.
    pub tokens: u32,
}

/// Encodes rows of one block, in ascending order of unit.
pub fn encode_summary_rows(rows: &[SummaryRow], out: &mut Vec<u8>) {
    put_varint(out, rows.len() as u64);
    let mut before = None;
    for row in rows {
        put_low(out, row.unit, before, ROWS_A_BLOCK);
        put_varint(out, u64::from(row.tokens));
        before = Some(row.unit);
    }
}

/// Decodes the rows of block number `block`.
pub fn decode_summary_rows(block: u32, bytes: &[u8]) -> Result<Vec<SummaryRow>, FormatError> {
    let mut reader = Reader::new("summary rows", bytes);
    let count = reader.varint_at_most(ROWS_A_BLOCK as usize, "a row count")?;
    let mut rows: Vec<SummaryRow> = Vec::with_capacity(count);
    for _ in 0..count {
        let unit = read_low(&mut reader, block, rows.last().map(|r| r.unit), ROWS_A_BLOCK)?;
        rows.push(SummaryRow { unit, tokens: reader.varint32()? });
    }
    reader.finish()?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::INDEX_SCOPE;
    use crate::quote::{Piece, Quote};

    #[test]
    fn a_part_reads_back() {
        let quote = Quote { ordinal: 7, start: 12, bytes: 30, squeezed: true };
        let pieces = vec![Piece::Literal("Chapter 1: ".into()), Piece::Quote(quote)];
        let first = Addition {
            document: 3,
            name: "Elizabeth Bennet".into(),
            kind: "person".into(),
            aliases: vec!["Lizzy".into(), "".into()],
            descriptions: vec!["Second of five sisters.".into(), Quoted { pieces }, "".into()],
        };
        let one = vec![Quoted { pieces: vec![Piece::Quote(Quote { ordinal: 9, ..quote })] }];
        let second = Addition { document: 3, descriptions: one, ..Addition::default() };
        let other = Addition { document: 4, ..Addition::default() };
        let part = [first, second.clone(), other, second];
        let mut out = Vec::new();
        encode_part(&part, &mut out);
        assert_eq!(decode_part(&out).unwrap(), part);
        for cut in 0..out.len() {
            assert_ne!(decode_part(&out[..cut]).ok().as_deref(), Some(&part[..]));
        }
        let mut out = Vec::new();
        encode_part(&[Addition { name: "Jane".into(), ..Addition::default() }], &mut out);
        assert_eq!(out, b"\x84\x00\x04Jane");
    }

    #[test]
    fn parts_that_say_nothing_or_too_much_are_refused() {
        assert!(decode_part(&[]).is_err(), "no addition");
        assert!(decode_part(&[1 | OTHER_DOCUMENT, 0]).is_err(), "an unknown flag");
        assert!(decode_part(&[HAS_NAME, 1, b'a']).is_err(), "no document");
        assert!(decode_part(&[OTHER_DOCUMENT, 5, OTHER_DOCUMENT, 5]).is_err(), "the same document again");
        assert!(decode_part(&[OTHER_DOCUMENT | HAS_NAME, 0, 0]).is_err(), "an empty name");
        assert!(decode_part(&[OTHER_DOCUMENT | HAS_ALIASES, 0, 0]).is_err(), "no alias");
        assert!(decode_part(&[OTHER_DOCUMENT | HAS_DESCRIPTIONS, 0, 1, 0]).is_err(), "one description as several");
        // Each description quotes 16 KiB of a chunk in five bytes.
        let one = [0x82, 0x80, 0x04, 0, 0];
        let many = |count: u8| [&[OTHER_DOCUMENT | HAS_DESCRIPTIONS, 0, count][..], &one.repeat(count.into())].concat();
        assert!(decode_part(&many(16)).is_ok());
        assert!(decode_part(&many(17)).is_err(), "over 256 KiB of chunks");
    }

    #[test]
    fn rows_read_back_and_scopes_are_told_apart() {
        let row = |entity, scope| EntityRow { entity, scope, parts: 2, kind_part: 1, tokens: [1, 0, 9] };
        let rows = [row(64, 7), row(65, 7), row(70, INDEX_SCOPE), row(127, 0)];
        let mut out = Vec::new();
        encode_rows(&rows, &mut out);
        assert_eq!(decode_rows(1, &out).unwrap(), rows);
        assert!(decode_rows(2, &out).map(|r| r != rows).unwrap_or(true));
    }

    #[test]
    fn summary_rows_read_back() {
        let rows = [SummaryRow { unit: 5, tokens: 40 }, SummaryRow { unit: 10, tokens: 0 }];
        let mut out = Vec::new();
        encode_summary_rows(&rows, &mut out);
        assert_eq!(decode_summary_rows(0, &out).unwrap(), rows);
    }
}
