//! The one ordered key space of a segment.
//!
//! A segment is a sorted map from byte keys to byte values. The first byte of a key tells what its value is and how
//! values of the same key in several segments become one; numbers in keys are big-endian, so that their order is the
//! order of the bytes.
//!
//! | kind | key after the kind byte | value | same key in two segments |
//! |---|---|---|---|
//! | [`DOCUMENT`] | document u32 | [`crate::document`] head | the newer |
//! | [`DOCUMENT_ID`] | id | document, a varint | the newer, while it stands |
//! | [`REPLACEMENT`] | id | the document that is to take its place, a varint | the newer, while it stands |
//! | [`CHUNK_PLACES`] | chunk / 256, u32 | [`crate::chunk`] places | rows by chunk |
//! | [`CHUNK_TEXTS`] | chunk / 32, u32 | [`crate::chunk`] texts | rows by chunk |
//! | [`EXTERNAL_ID`] | id, 0, document u32 | chunk, a varint | the newer |
//! | [`CHUNK_ENTITIES`] | chunk u32, entity / 65,536 u16 | [`crate::idset`] | union |
//! | [`ENTITY_PART`] | entity u32, part u32 | [`crate::entity`] part | the newer |
//! | [`ENTITY_ROWS`] | entity / 64, u32 | [`crate::entity`] rows | rows by entity, the newer |
//! | [`ENTITY_NAME`] | scope u32, key | entity, a varint | the newer, while it stands |
//! | [`ENTITY_ALIAS`] | scope u32, key, 0, entity / 65,536 u16 | [`crate::idset`] | union |
//! | [`ENTITY_CHUNKS`] | entity u32, chunk / 65,536 u16 | [`crate::idset`] | union |
//! | [`DOCUMENT_ENTITIES`] | document u32, entity / 65,536 u16 | [`crate::idset`] | union |
//! | [`ENTITY_DESCRIPTION`] | entity u32, part / 64 u16 | [`crate::idset`] of hashes of descriptions | union |
//! | [`SUMMARY_ROWS`] | unit / 64, u32 | [`crate::entity`] lengths | rows by unit, the newer |
//! | [`OUTLINE`] | document u32 | [`crate::outline_head`] head | the newer |
//! | [`CATEGORY`] | document u32, 16 bytes: hash of the path | [`crate::outline_head`] category | the newer |
//! | [`SUBJECT_NAME`] | document u32, bounded key, 0, 16 bytes: hash of the category's path | 1, or 0 where it is gone | the newer |
//! | [`PAGE_SUMMARY`] | document u32, 16 bytes: hash of a page's content | summary | the newer |
//! | [`POSTINGS`] | term, but for the text of chunks the [`Field`]'s number | [`crate::postings`] value | by id, the newer |
//!
//! A key that ends in a document or a piece number is told from a longer key with the same start by its length.

/// Document head, by number.
pub const DOCUMENT: u8 = 0x10;
/// Document number, by id.
pub const DOCUMENT_ID: u8 = 0x11;
/// Number of a staged document that takes the place of the one with this id when it is complete.
pub const REPLACEMENT: u8 = 0x12;
/// Document, ordinal and token count of each chunk.
pub const CHUNK_PLACES: u8 = 0x20;
/// Text, source span and external id of each chunk.
pub const CHUNK_TEXTS: u8 = 0x21;
/// Chunk, by external id.
pub const EXTERNAL_ID: u8 = 0x22;
/// Entities linked to a chunk.
pub const CHUNK_ENTITIES: u8 = 0x23;
/// What was added to an entity's record at once.
pub const ENTITY_PART: u8 = 0x30;
/// Scope, part count and token counts of each entity.
pub const ENTITY_ROWS: u8 = 0x31;
/// Entity, by the key of its name.
pub const ENTITY_NAME: u8 = 0x32;
/// Entities, by the key of an alias.
pub const ENTITY_ALIAS: u8 = 0x33;
/// Chunks linked to an entity.
pub const ENTITY_CHUNKS: u8 = 0x34;
/// Entities linked to chunks of a document.
pub const DOCUMENT_ENTITIES: u8 = 0x35;
/// Short hashes of the descriptions of 64 parts of a record, so that one that is new is mostly known without reading them.
pub const ENTITY_DESCRIPTION: u8 = 0x36;
/// Token count of each level-1 summary.
pub const SUMMARY_ROWS: u8 = 0x40;
/// Head of a document's outline.
pub const OUTLINE: u8 = 0x60;
/// A category of an outline, by the hash of its path.
pub const CATEGORY: u8 = 0x61;
/// Categories that have a subject of this name.
pub const SUBJECT_NAME: u8 = 0x62;
/// A summary that a page of an outline was given, by the hash of its content.
pub const PAGE_SUMMARY: u8 = 0x63;
/// Postings of a term in a field.
pub const POSTINGS: u8 = 0x50;

/// Row of a record, by entity and label.
pub const RECORD: u8 = 0x70;
/// Records of a document.
pub const RECORD_OF_DOCUMENT: u8 = 0x71;
/// Records, by label and value.
pub const RECORD_BY_LABEL: u8 = 0x72;
/// Records, by value.
pub const RECORD_BY_VALUE: u8 = 0x73;
/// Records, by coarse label.
pub const RECORD_BY_COARSE: u8 = 0x74;
/// Number of records, by type and entity.
pub const RECORD_TYPES: u8 = 0x75;
/// Number of records, by label.
pub const RECORD_LABELS: u8 = 0x76;
/// Number of records, by kind.
pub const RECORD_KINDS: u8 = 0x77;

/// Rows of one [`CHUNK_PLACES`] value.
pub const PLACES_A_BLOCK: u32 = 256;
/// Rows of one [`CHUNK_TEXTS`] value; few enough that it fits a block whatever the external ids.
pub const TEXTS_A_BLOCK: u32 = 32;
/// Rows of one [`ENTITY_ROWS`] or [`SUMMARY_ROWS`] value.
pub const ROWS_A_BLOCK: u32 = 64;
/// The scope number of an index-wide memory, which is no document's.
pub const INDEX_SCOPE: u32 = u32::MAX;

/// The searched fields, in the order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Field {
    /// Title and text of a chunk; the unit is the chunk.
    Text = 0,
    /// Name of an entity; the unit is the entity.
    Name = 1,
    /// Aliases of an entity.
    Aliases = 2,
    /// Descriptions of an entity.
    Descriptions = 3,
    /// A level-1 summary; the unit is the first chunk it covers.
    Summary = 4,
}

impl Field {
    /// All fields.
    pub const ALL: [Self; 5] = [Self::Text, Self::Name, Self::Aliases, Self::Descriptions, Self::Summary];
    /// The fields of the entity memory.
    pub const MEMORY: [Self; 3] = [Self::Name, Self::Aliases, Self::Descriptions];

    /// Key of the field's postings of a term. The fields of a term lie together, the text of chunks first: no token holds
    /// a control character.
    pub fn key(self, term: &str) -> Vec<u8> {
        let mut key = Vec::with_capacity(term.len().saturating_add(2));
        key.push(POSTINGS);
        key.extend_from_slice(term.as_bytes());
        if self != Self::Text {
            key.push(self as u8);
        }
        key
    }

    /// Field and term of a key of the kind [`POSTINGS`].
    pub fn of_key(key: &[u8]) -> Option<(Self, &[u8])> {
        let (&POSTINGS, rest) = key.split_first()? else { return None };
        let (&last, term) = rest.split_last()?;
        match Self::ALL.into_iter().find(|&field| field as u8 == last) {
            Some(field) if field == Self::Text || term.is_empty() => None,
            Some(field) => Some((field, term)),
            None => Some((Self::Text, rest)),
        }
    }
}

/// How the values of one key in several segments become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The newest stands.
    Newest,
    /// Union of id sets, from the newest one on that replaces what is older.
    Union,
    /// Rows of [`CHUNK_PLACES`].
    Places,
    /// Rows of [`CHUNK_TEXTS`].
    Texts,
    /// Rows of [`ENTITY_ROWS`].
    EntityRows,
    /// Rows of [`SUMMARY_ROWS`].
    SummaryRows,
    /// Posting lists.
    Postings,
    /// The newest stands; an empty value says that the key is gone.
    Standing,
}

/// The merge rule of a key, or `None` where its kind byte is unknown.
pub fn merge_rule(key: &[u8]) -> Option<Merge> {
    Some(match *key.first()? {
        DOCUMENT | EXTERNAL_ID | ENTITY_PART => Merge::Newest,
        DOCUMENT_ID | REPLACEMENT | ENTITY_NAME => Merge::Standing,
        OUTLINE | CATEGORY | SUBJECT_NAME | PAGE_SUMMARY => Merge::Newest,
        CHUNK_ENTITIES | ENTITY_ALIAS | ENTITY_CHUNKS | DOCUMENT_ENTITIES | ENTITY_DESCRIPTION => Merge::Union,
        CHUNK_PLACES => Merge::Places,
        CHUNK_TEXTS => Merge::Texts,
        ENTITY_ROWS => Merge::EntityRows,
        SUMMARY_ROWS => Merge::SummaryRows,
        POSTINGS => Merge::Postings,
        RECORD..=RECORD_KINDS => Merge::Standing,
        _ => return None,
    })
}

/// Kind byte and one number.
pub fn numbered(kind: u8, number: u32) -> Vec<u8> {
    let mut key = Vec::with_capacity(5);
    key.push(kind);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Kind byte and two numbers.
pub fn numbered2(kind: u8, first: u32, second: u32) -> Vec<u8> {
    let mut key = numbered(kind, first);
    key.extend_from_slice(&second.to_be_bytes());
    key
}

/// Kind byte and a string.
pub fn named(kind: u8, name: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len().saturating_add(1));
    key.push(kind);
    key.extend_from_slice(name);
    key
}

/// Key of an entity's name in a scope.
pub fn entity_name(scope: u32, key: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(key.len().saturating_add(5));
    out.push(ENTITY_NAME);
    out.extend_from_slice(&scope.to_be_bytes());
    out.extend_from_slice(key.as_bytes());
    out
}

/// Start of the keys of an alias in a scope; a piece number follows.
pub fn entity_alias(scope: u32, key: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(key.len().saturating_add(6));
    out.push(ENTITY_ALIAS);
    out.extend_from_slice(&scope.to_be_bytes());
    out.extend_from_slice(key.as_bytes());
    out.push(0);
    out
}

/// Parts of a record whose descriptions are noted in one set of [`ENTITY_DESCRIPTION`].
pub const PARTS_A_SET: u32 = 64;

/// The piece of [`ENTITY_DESCRIPTION`] that notes the descriptions of a part.
pub fn parts_piece(part: u32) -> u16 {
    (part / PARTS_A_SET).min(u32::from(u16::MAX)) as u16
}

/// The parts, of `parts` that there are, whose descriptions a piece of [`ENTITY_DESCRIPTION`] notes.
pub fn parts_of_piece(piece: u16, parts: u32) -> std::ops::Range<u32> {
    let first = u32::from(piece).saturating_mul(PARTS_A_SET);
    let end = if piece == u16::MAX { parts } else { first.saturating_add(PARTS_A_SET).min(parts) };
    first..end
}

/// How a description is noted in a set: the first two bytes of its BLAKE3 hash.
pub fn description_hash(hash: &[u8; 32]) -> u16 {
    hash.first_chunk::<2>().map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

/// Key that ends in a hash of 16 bytes: a category, a page summary.
pub fn hashed(kind: u8, document: u32, hash: &[u8; 16]) -> Vec<u8> {
    let mut key = numbered(kind, document);
    key.extend_from_slice(hash);
    key
}

/// Start of the keys of a subject's name; the hash of its category's path follows.
pub fn subject_name(document: u32, bounded: &str) -> Vec<u8> {
    let mut key = numbered(SUBJECT_NAME, document);
    key.extend_from_slice(bounded.as_bytes());
    key.push(0);
    key
}

/// Start of the keys of an external id; a document number follows.
pub fn external_id(id: &str) -> Vec<u8> {
    let mut out = named(EXTERNAL_ID, id.as_bytes());
    out.push(0);
    out
}

/// The piece number at the end of a key of an id set.
pub fn piece(key: &[u8]) -> Option<u16> {
    key.last_chunk::<2>().map(|bytes| u16::from_be_bytes(*bytes))
}

/// The number at the end of a key.
pub fn last_number(key: &[u8]) -> Option<u32> {
    key.last_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))
}

/// The number after the kind byte.
pub fn first_number(key: &[u8]) -> Option<u32> {
    key.get(1..)?.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))
}

/// First bytes of the BLAKE3 hash of a record's fields that its keys have.
pub const RECORD_HASH_BYTES: usize = 16;

/// What the keys of a record are made of, in compared form: none holds a zero byte, and none is over 255 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordKey<'a> {
    /// Entity.
    pub entity: &'a [u8],
    /// Label.
    pub label: &'a [u8],
    /// Start of the hash of all fields that make records the same.
    pub hash: [u8; RECORD_HASH_BYTES],
    /// Document.
    pub document: u32,
}

/// Parts with a zero byte behind each, after a kind byte.
pub fn parted(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let bytes: usize = parts.iter().map(|part| part.len().saturating_add(1)).sum();
    let mut key = Vec::with_capacity(bytes.saturating_add(1).saturating_add(RECORD_HASH_BYTES).saturating_add(4));
    key.push(kind);
    for part in parts {
        key.extend_from_slice(part);
        key.push(0);
    }
    key
}

impl<'a> RecordKey<'a> {
    /// Key of the row.
    pub fn row(&self) -> Vec<u8> {
        self.behind(parted(RECORD, &[self.entity, self.label]))
    }

    /// Key in the list of the document.
    pub fn of_document(&self) -> Vec<u8> {
        let mut key = numbered(RECORD_OF_DOCUMENT, self.document);
        for part in [self.entity, self.label] {
            key.extend_from_slice(part);
            key.push(0);
        }
        key.extend_from_slice(&self.hash);
        key
    }

    /// Key by label and value.
    pub fn by_label(&self, value: &[u8]) -> Vec<u8> {
        self.behind(parted(RECORD_BY_LABEL, &[self.label, value, self.entity]))
    }

    /// Key by value.
    pub fn by_value(&self, value: &[u8]) -> Vec<u8> {
        self.behind(parted(RECORD_BY_VALUE, &[value, self.entity, self.label]))
    }

    /// Key by coarse label.
    pub fn by_coarse(&self, coarse: &[u8]) -> Vec<u8> {
        self.behind(parted(RECORD_BY_COARSE, &[coarse, self.entity, self.label]))
    }

    fn behind(&self, mut key: Vec<u8>) -> Vec<u8> {
        key.extend_from_slice(&self.hash);
        key.extend_from_slice(&self.document.to_be_bytes());
        key
    }

    /// Takes a key of any of the five kinds apart: the record's own key, and the value or coarse label that stands
    /// first or second in it (empty where there is none). `None` where it is no such key.
    pub fn parse(key: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (&kind, rest) = key.split_first()?;
        let (mut document, mut rest) = match kind {
            RECORD_OF_DOCUMENT => {
                let (number, rest) = rest.split_first_chunk::<4>()?;
                (Some(u32::from_be_bytes(*number)), rest)
            }
            RECORD | RECORD_BY_LABEL | RECORD_BY_VALUE | RECORD_BY_COARSE => (None, rest),
            _ => return None,
        };
        let mut part = || -> Option<&'a [u8]> {
            let at = rest.iter().position(|&byte| byte == 0)?;
            let (head, tail) = rest.split_at_checked(at)?;
            rest = tail.get(1..)?;
            Some(head)
        };
        let (entity, label, other): (&[u8], &[u8], &[u8]) = match kind {
            RECORD_BY_LABEL => {
                let (label, value, entity) = (part()?, part()?, part()?);
                (entity, label, value)
            }
            RECORD_BY_VALUE | RECORD_BY_COARSE => {
                let (other, entity, label) = (part()?, part()?, part()?);
                (entity, label, other)
            }
            _ => (part()?, part()?, b""),
        };
        let (hash, rest) = rest.split_first_chunk::<RECORD_HASH_BYTES>()?;
        if document.is_none() {
            document = Some(u32::from_be_bytes(rest.try_into().ok()?));
        } else if !rest.is_empty() {
            return None;
        }
        Some((Self { entity, label, hash: *hash, document: document? }, other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_of_a_term_lie_together_and_come_apart_again() {
        let mut keys: Vec<Vec<u8>> =
            ["cat", "cats", "ca"].iter().flat_map(|term| Field::ALL.map(|field| field.key(term))).collect();
        keys.sort();
        let apart: Vec<_> = keys.iter().map(|key| Field::of_key(key).unwrap()).collect();
        let expected: Vec<(Field, &[u8])> =
            [&b"ca"[..], b"cat", b"cats"].into_iter().flat_map(|term| Field::ALL.map(|field| (field, term))).collect();
        assert_eq!(apart, expected);
        for bad in [&b""[..], b"\x50", b"\x50\x01", b"\x50a\x00", b"\x51a"] {
            assert_eq!(Field::of_key(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn keys_of_records_come_apart_again(
            parts in prop::collection::vec(prop::collection::vec(1u8.., 0..5), 3),
            hash: [u8; 16],
            document: u32,
        ) {
            let key = RecordKey { entity: &parts[0], label: &parts[1], hash, document };
            let other = parts[2].as_slice();
            for (bytes, other) in [
                (key.row(), &b""[..]),
                (key.of_document(), b""),
                (key.by_label(other), other),
                (key.by_value(other), other),
                (key.by_coarse(other), other),
            ] {
                prop_assert_eq!(RecordKey::parse(&bytes), Some((key, other)));
                prop_assert!(RecordKey::parse(&bytes[..bytes.len() - 1]).is_none());
            }
        }
    }
}
