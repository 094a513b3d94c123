//! A separator page: the first keys of up to some hundred children and where they are.
//!
//! The pages of a segment stand on its leaves as a B+-tree built from the bottom up: level 1 points to leaves, each
//! higher level to pages of the level below, one page at the top. An entry holds the *exact* first key of its child
//! (not a shortened one), so a child can be checked against it ([`SeparatorPage::check_under`],
//! [`Leaf::check_under`](crate::leaf::Leaf::check_under)): a reference to a wrong page, or to one shared with another
//! place, does not pass. Keys are front-coded as in a leaf, without restarts: a page is decoded as a whole and kept.

use crate::FormatError;
use crate::block::{BlockKind, Reference};
use crate::bytes::{Reader, put_varint};
use crate::leaf::{LEAF_KEY_BYTES, check_keys, common_prefix_bytes, put_lengths, read_lengths};
use crate::limits::{SEPARATOR_LEVELS, SEPARATOR_RAW_BYTES};

/// All keys of a page together, written out, in bytes. Prefixes are shared in the page but not in memory: without this
/// limit a page of 16 KiB could ask for megabytes.
pub const SEPARATOR_KEYS_BYTES: usize = 256 << 10;
/// Most bytes of an encoded reference: two varints, of 58 and of 32 bits, kind and checksum.
const REFERENCE_BYTES: usize = 9 + 5 + 1 + 4;
/// Bytes before the first entry at most: level and a count of up to three bytes.
const HEAD_BYTES: usize = 1 + 3;
/// Name of the structure in errors.
const STRUCTURE: &str = "separator page";

/// A decoded separator page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeparatorPage {
    /// 1 where the children are leaves, else one more than the level of the children.
    pub level: u8,
    /// First key and place of each child, by ascending key; at least one.
    pub entries: Vec<(Vec<u8>, Reference)>,
}

impl SeparatorPage {
    /// The page as bytes; fails where [`decode`](Self::decode) would.
    pub fn encode(&self) -> Result<Vec<u8>, FormatError> {
        let mut builder = SeparatorBuilder::new(self.level)?;
        for (key, child) in &self.entries {
            builder.push(key, *child)?;
        }
        builder.finish()
    }

    /// Reads a page and checks all that can be seen without its parent: level, count, order and lengths of keys, kinds of
    /// the children, nothing left over.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut reader = Reader::new(STRUCTURE, bytes);
        if bytes.len() > SEPARATOR_RAW_BYTES {
            return Err(reader.fail("at most 16384 bytes", bytes.len()));
        }
        let level = reader.u8()?;
        let kind = child_kind(level)?;
        let count = reader.varint_at_most(SEPARATOR_RAW_BYTES, "a count of entries")?;
        if count == 0 {
            return Err(reader.fail("at least one entry", count));
        }
        let mut entries: Vec<(Vec<u8>, Reference)> = Vec::new();
        let mut keys_bytes = 0usize;
        for i in 0..count {
            let (shared, suffix) = read_lengths(&mut reader)?;
            let suffix = reader.take(suffix)?;
            let before = entries.last().map_or(&b""[..], |(key, _)| key);
            let Some((common, rest)) = before.split_at_checked(shared) else {
                return Err(reader.fail("a prefix of the key before", shared));
            };
            let in_order = match (rest.first(), suffix.first()) {
                (None, Some(_)) => true,
                (Some(before), Some(now)) => before < now,
                (_, None) => i == 0,
            };
            if !in_order {
                return Err(reader.fail("keys that ascend and share just their common prefix", "others"));
            }
            keys_bytes = keys_bytes.saturating_add(common.len()).saturating_add(suffix.len());
            if keys_bytes > SEPARATOR_KEYS_BYTES {
                return Err(reader.fail("keys of at most 262144 bytes together", keys_bytes));
            }
            let key = [common, suffix].concat();
            entries.push((key, Reference::decode(&mut reader, kind)?));
        }
        reader.finish()?;
        Ok(Self { level, entries })
    }

    /// Which entry's child may hold `key`: the last whose first key is at most `key`; `None` where `key` lies before
    /// all of them.
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        self.entries.partition_point(|(first, _)| first.as_slice() <= key).checked_sub(1)
    }

    /// Compares the page with what its parent says: its level, its exact first key, and the first key of the page after
    /// it, which all keys here must stay below.
    pub fn check_under(
        &self,
        expected_level: u8,
        expected_first_key: &[u8],
        upper_bound: Option<&[u8]>,
    ) -> Result<(), FormatError> {
        if self.level != expected_level {
            let expected = format!("level {expected_level}, as the page above says");
            return Err(FormatError::new(STRUCTURE, 0, expected, self.level));
        }
        match (self.entries.first(), self.entries.last()) {
            (Some((first, _)), Some((last, _))) => check_keys(STRUCTURE, expected_first_key, upper_bound, first, last),
            _ => Err(FormatError::new(STRUCTURE, 1, "at least one entry", 0)),
        }
    }
}

/// What a page of this level points to.
fn child_kind(level: u8) -> Result<BlockKind, FormatError> {
    match level {
        1 => Ok(BlockKind::Leaf),
        2..=SEPARATOR_LEVELS => Ok(BlockKind::Separator),
        _ => Err(FormatError::new(STRUCTURE, 0, format!("a level of 1 to {SEPARATOR_LEVELS}"), level)),
    }
}

/// Takes children in ascending order of their first keys and writes a page.
#[derive(Debug, Clone)]
pub struct SeparatorBuilder {
    level: u8,
    /// Kind of the children.
    kind: BlockKind,
    /// Encoded entries.
    entries: Vec<u8>,
    /// How many.
    count: usize,
    /// First key of the first child, which is that of the page.
    first_key: Vec<u8>,
    /// First key of the last child.
    last_key: Vec<u8>,
    /// Bytes of all keys, written out.
    keys_bytes: usize,
}

impl SeparatorBuilder {
    /// A builder of a page without entries; fails on a level that is not 1 to
    /// [`SEPARATOR_LEVELS`].
    pub fn new(level: u8) -> Result<Self, FormatError> {
        Ok(Self {
            level,
            kind: child_kind(level)?,
            entries: Vec::new(),
            count: 0,
            first_key: Vec::new(),
            last_key: Vec::new(),
            keys_bytes: 0,
        })
    }

    /// Children so far.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether nothing was pushed yet.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// First key of the page's first child; empty before a push.
    pub fn first_key(&self) -> &[u8] {
        &self.first_key
    }

    /// Bytes that [`finish`](Self::finish) will give at most.
    pub fn raw_bytes(&self) -> usize {
        self.entries.len().saturating_add(HEAD_BYTES)
    }

    /// Whether a child with this first key can still be pushed. At least three keys of any length fit a page.
    pub fn fits(&self, key: &[u8]) -> bool {
        let suffix = key.len().saturating_sub(common_prefix_bytes(&self.last_key, key));
        // A byte of nibbles and two varints of at most two bytes each.
        let most = suffix.saturating_add(1 + 2 * 2 + REFERENCE_BYTES);
        self.raw_bytes().saturating_add(most) <= SEPARATOR_RAW_BYTES
            && self.keys_bytes.saturating_add(key.len()) <= SEPARATOR_KEYS_BYTES
    }

    /// Adds a child. Fails, and changes nothing, where the key is not above the last one or too long, the reference's
    /// kind is not that of the level's children, or the page is full.
    pub fn push(&mut self, first_key: &[u8], child: Reference) -> Result<(), FormatError> {
        let at = self.raw_bytes();
        if self.count > 0 && first_key <= self.last_key.as_slice() {
            let (last, got) = (self.last_key.escape_ascii(), first_key.escape_ascii());
            return Err(FormatError::new(STRUCTURE, at, format!("a key above {last}"), got));
        }
        if first_key.len() > LEAF_KEY_BYTES {
            let expected = format!("a key of at most {LEAF_KEY_BYTES} bytes");
            return Err(FormatError::new(STRUCTURE, at, expected, first_key.len()));
        }
        if child.kind != self.kind {
            let expected = format!("a {} below level {}", self.kind.name(), self.level);
            return Err(FormatError::new(STRUCTURE, at, expected, child.kind.name()));
        }
        if !self.fits(first_key) {
            return Err(FormatError::new(STRUCTURE, at, "a child that fits the page", "a full page"));
        }
        let shared = common_prefix_bytes(&self.last_key, first_key);
        let suffix = first_key.get(shared..).unwrap_or_default();
        put_lengths(&mut self.entries, shared, suffix.len());
        self.entries.extend_from_slice(suffix);
        child.encode(&mut self.entries);
        if self.count == 0 {
            self.first_key = first_key.to_vec();
        }
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(suffix);
        self.count = self.count.saturating_add(1);
        self.keys_bytes = self.keys_bytes.saturating_add(first_key.len());
        Ok(())
    }

    /// The page; fails where nothing was pushed.
    pub fn finish(self) -> Result<Vec<u8>, FormatError> {
        if self.count == 0 {
            return Err(FormatError::new(STRUCTURE, 1, "at least one entry", 0));
        }
        let mut out = Vec::with_capacity(self.raw_bytes());
        out.push(self.level);
        put_varint(&mut out, self.count as u64);
        out.extend_from_slice(&self.entries);
        Ok(out)
    }
}

#[cfg(test)]
mod tests;
