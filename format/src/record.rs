//! Records (EnSI-RAG): rows that lead from (entity, type, kind, label, value) to a set of chunks.
//!
//! A row holds the fields in their original spelling and the chunks that support them. The fields in their compared
//! form are in the [keys](crate::key) that lead to it. A row is written whole whenever it changes, so the newest one is
//! the record; an empty value in its place says that the record was removed.

use crate::FormatError;
use crate::bytes::{Reader, put_string, put_varint};
use crate::limits::{KEY_BYTES, LEAF_RAW_BYTES};

/// Name of the structure in errors.
const STRUCTURE: &str = "record row";
/// Low bits of the flags that are the kind.
const KIND_BITS: u8 = 3;
/// The kinds there are: 0 property, 1 relation, 2 aspect.
pub const KINDS: u8 = 3;
/// The flags of the optional fields, in the order in which they are written.
const TYPE: u8 = 1 << 2;
const LABEL: u8 = 1 << 3;
const COARSE: u8 = 1 << 4;
const VALUE: u8 = 1 << 5;
const CONDITION: u8 = 1 << 6;
const VALID: u8 = 1 << 7;

/// A record, borrowed. Absent fields are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordRow<'a> {
    /// 0 property, 1 relation, 2 aspect.
    pub kind: u8,
    /// Whom or what it is about.
    pub entity: &'a str,
    /// Type of the entity.
    pub entity_type: &'a str,
    /// The property, relation or aspect.
    pub label: &'a str,
    /// A coarse label for the same.
    pub coarse: &'a str,
    /// The value; of a relation, the other entity.
    pub value: &'a str,
    /// Label and value of the condition under which it holds; both empty where there is none.
    pub condition: (&'a str, &'a str),
    /// When it holds.
    pub valid: &'a str,
    /// Chunks that support it, strictly ascending; at least one.
    pub chunks: Vec<u32>,
}

impl<'a> RecordRow<'a> {
    /// Appends the row. Its chunks must ascend strictly, and there must be one.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), FormatError> {
        let fail = |expected: &'static str, got: usize| Err(FormatError::new(STRUCTURE, 0, expected, got));
        if self.kind >= KINDS {
            return fail("a kind below 3", usize::from(self.kind));
        }
        if self.chunks.is_empty() || !self.chunks.is_sorted_by(|a, b| a < b) {
            return fail("chunks that ascend, at least one", self.chunks.len());
        }
        let start = out.len();
        let (condition_label, condition_value) = self.condition;
        let has_condition = !condition_label.is_empty() || !condition_value.is_empty();
        let mut flags = self.kind;
        for (flag, there) in [
            (TYPE, !self.entity_type.is_empty()),
            (LABEL, !self.label.is_empty()),
            (COARSE, !self.coarse.is_empty()),
            (VALUE, !self.value.is_empty()),
            (CONDITION, has_condition),
            (VALID, !self.valid.is_empty()),
        ] {
            flags |= if there { flag } else { 0 };
        }
        out.push(flags);
        put_string(out, self.entity.as_bytes());
        for field in [self.entity_type, self.label, self.coarse, self.value] {
            if !field.is_empty() {
                put_string(out, field.as_bytes());
            }
        }
        if has_condition {
            put_string(out, condition_label.as_bytes());
            put_string(out, condition_value.as_bytes());
        }
        if !self.valid.is_empty() {
            put_string(out, self.valid.as_bytes());
        }
        let mut next = 0u64;
        for &chunk in &self.chunks {
            put_varint(out, u64::from(chunk).saturating_sub(next));
            next = u64::from(chunk).saturating_add(1);
        }
        match out.len().saturating_sub(start) {
            bytes if bytes > LEAF_RAW_BYTES => fail("at most 65536 bytes", bytes),
            _ => Ok(()),
        }
    }

    /// Reads a row. Whatever is accepted is what [`encode`](Self::encode) writes for it.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, FormatError> {
        if bytes.len() > LEAF_RAW_BYTES {
            return Err(FormatError::new(STRUCTURE, 0, "at most 65536 bytes", bytes.len()));
        }
        let mut reader = Reader::new(STRUCTURE, bytes);
        let flags = reader.u8()?;
        let kind = flags & KIND_BITS;
        if kind >= KINDS {
            return Err(reader.fail("a kind below 3", kind));
        }
        let entity = reader.text(KEY_BYTES)?;
        let mut field = |flag: u8| match flags & flag {
            0 => Ok(""),
            _ => match reader.text(KEY_BYTES)? {
                "" => Err(reader.fail("a field that is not empty", "an empty one")),
                text => Ok(text),
            },
        };
        let (entity_type, label) = (field(TYPE)?, field(LABEL)?);
        let (coarse, value) = (field(COARSE)?, field(VALUE)?);
        let condition = match flags & CONDITION {
            0 => ("", ""),
            _ => match (reader.text(KEY_BYTES)?, reader.text(KEY_BYTES)?) {
                ("", "") => return Err(reader.fail("a condition that is not empty", "an empty one")),
                condition => condition,
            },
        };
        let valid = match flags & VALID {
            0 => "",
            _ => match reader.text(KEY_BYTES)? {
                "" => return Err(reader.fail("a field that is not empty", "an empty one")),
                text => text,
            },
        };
        // Every chunk takes a byte, so what is left bounds their number.
        let mut chunks = Vec::with_capacity(reader.remaining().min(4));
        let mut next = 0u64;
        while !reader.is_empty() {
            let chunk = next.checked_add(reader.varint()?).and_then(|chunk| u32::try_from(chunk).ok());
            let chunk = chunk.ok_or_else(|| reader.fail("a chunk of 32 bits", "a greater one"))?;
            chunks.push(chunk);
            next = u64::from(chunk).saturating_add(1);
        }
        if chunks.is_empty() {
            return Err(reader.fail("a chunk", "none"));
        }
        Ok(Self { kind, entity, entity_type, label, coarse, value, condition, valid, chunks })
    }
}

/// Reads a count: a varint that is not 0, and a whole value. An empty value stands for 0.
pub fn decode_count(bytes: &[u8]) -> Result<u64, FormatError> {
    if bytes.is_empty() {
        return Ok(0);
    }
    let mut reader = Reader::new("record count", bytes);
    let count = reader.varint()?;
    if count == 0 {
        return Err(reader.fail("a count, or nothing for 0", count));
    }
    reader.finish()?;
    Ok(count)
}

/// Appends a count; of 0 nothing.
pub fn encode_count(count: u64, out: &mut Vec<u8>) {
    if count > 0 {
        put_varint(out, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_row_reads_back(
            kind in 0u8..3,
            fields in prop::collection::vec("[a-z é]{0,6}", 8),
            chunks in prop::collection::btree_set(any::<u32>(), 1..20),
        ) {
            let row = RecordRow {
                kind,
                entity: &fields[0],
                entity_type: &fields[1],
                label: &fields[2],
                coarse: &fields[3],
                value: &fields[4],
                condition: (&fields[5], &fields[6]),
                valid: &fields[7],
                chunks: chunks.into_iter().collect(),
            };
            let mut bytes = Vec::new();
            row.encode(&mut bytes).unwrap();
            prop_assert_eq!(RecordRow::decode(&bytes).unwrap(), row);
        }

        #[test]
        fn what_is_accepted_is_what_would_be_written(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(row) = RecordRow::decode(&bytes) {
                let mut again = Vec::new();
                row.encode(&mut again).unwrap();
                prop_assert_eq!(again, bytes);
            }
        }

        #[test]
        fn a_count_reads_back(count: u64) {
            let mut bytes = Vec::new();
            encode_count(count, &mut bytes);
            prop_assert_eq!(decode_count(&bytes).unwrap(), count);
        }
    }

    #[test]
    fn chunks_must_ascend_and_fit() {
        let row = |chunks: Vec<u32>| RecordRow { entity: "e", chunks, ..RecordRow::default() };
        assert!(row(vec![]).encode(&mut Vec::new()).is_err());
        assert!(row(vec![3, 3]).encode(&mut Vec::new()).is_err());
        assert!(row((0..70_000).collect()).encode(&mut Vec::new()).is_err());
        assert!(row((0..60_000).collect()).encode(&mut Vec::new()).is_ok());
        assert!(RecordRow::decode(b"\x00\x01e").is_err());
    }
}
