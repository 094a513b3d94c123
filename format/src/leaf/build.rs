//! Putting a leaf together, and choosing its form.

use super::front::{self, FrontLeaf, common_prefix_bytes, put_lengths};
use super::{GROUP, LEAF_KEY_BYTES, LEAF_VALUE_BYTES, LeafForm, STRUCTURE};
use crate::FormatError;
use crate::bytes::{put_string, put_varint};
use crate::fst_check::DEPTH;
use crate::limits::{LEAF_KEYS, LEAF_RAW_BYTES};

/// From this many entries on, [`LeafBuilder::finish`] may try the fst form.
const FST_ENTRIES_LEAST: usize = 4000;
/// The fst form is tried where a key takes less than this in the front-coded form, lengths and restarts included.
///
/// Measured (`examples/leaf_sizes.rs`): words take 4.5 bytes a key front-coded and 6.2 as an automaton, which is also
/// slower to build (9 times), to check (7 times), to scan (6 times) and to look up, misses apart. Keys that count, such
/// as numbered ids, take 2.3 to 2.9 bytes front-coded and 0.1 to 0.4 as an automaton. An attempt that is not kept would
/// cost milliseconds, so the mean length of what keys do not share decides whether there is one.
const FST_KEY_BYTES_BELOW: usize = 3;

/// Takes entries in ascending order of their keys and writes a leaf.
///
/// The front-coded form is written as entries come, so its size is always known; the other form is made from it at
/// the end, and only kept where it is smaller.
#[derive(Debug, Clone)]
pub struct LeafBuilder {
    /// The front-coded leaf so far, without the restarts; the count is filled in at the end.
    bytes: Vec<u8>,
    /// Offset of every 16th entry.
    restarts: Vec<u16>,
    /// Entries.
    count: usize,
    /// Key of the last entry.
    last_key: Vec<u8>,
    /// Bytes of the longest key.
    longest_key_bytes: usize,
    /// Bytes of all values with their lengths, as written.
    values_bytes: usize,
}

impl Default for LeafBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl LeafBuilder {
    /// A builder without entries.
    pub fn new() -> Self {
        Self {
            bytes: vec![LeafForm::Front as u8, 0, 0],
            restarts: Vec::new(),
            count: 0,
            last_key: Vec::new(),
            longest_key_bytes: 0,
            values_bytes: 0,
        }
    }

    /// Entries so far.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether nothing was pushed yet.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes that [`finish`](Self::finish) will give at most.
    pub fn raw_bytes(&self) -> usize {
        self.bytes.len().saturating_add(self.restarts.len().saturating_mul(2))
    }

    /// The last key pushed.
    pub fn last_key(&self) -> Option<&[u8]> {
        (self.count > 0).then_some(&self.last_key)
    }

    /// Whether an entry can still be pushed without the leaf passing its limits of bytes and keys. Lengths and order of
    /// keys are for [`push`](Self::push) to check.
    pub fn fits(&self, key: &[u8], value: &[u8]) -> bool {
        let suffix = key.len().saturating_sub(self.shared_with_last(key));
        // A byte of nibbles, three varints of at most two bytes each for lengths below 16,384, and perhaps a restart.
        let most = suffix.saturating_add(value.len()).saturating_add(1 + 3 * 2 + 2);
        self.count < LEAF_KEYS && self.raw_bytes().saturating_add(most) <= LEAF_RAW_BYTES
    }

    /// How much of `key` the next entry need not hold.
    fn shared_with_last(&self, key: &[u8]) -> usize {
        if self.count.is_multiple_of(GROUP) { 0 } else { common_prefix_bytes(&self.last_key, key) }
    }

    /// Adds an entry. Fails, and changes nothing, where the key is not above the last one, the key or the value is too
    /// long, or the entry does not [fit](Self::fits).
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), FormatError> {
        let at = self.bytes.len();
        if self.count > 0 && key <= self.last_key.as_slice() {
            let (last, got) = (self.last_key.escape_ascii(), key.escape_ascii());
            return Err(FormatError::new(STRUCTURE, at, format!("a key above {last}"), got));
        }
        if key.len() > LEAF_KEY_BYTES {
            return Err(FormatError::new(STRUCTURE, at, format!("a key of at most {LEAF_KEY_BYTES} bytes"), key.len()));
        }
        if value.len() > LEAF_VALUE_BYTES {
            let expected = format!("a value of at most {LEAF_VALUE_BYTES} bytes");
            return Err(FormatError::new(STRUCTURE, at, expected, value.len()));
        }
        let offset = u16::try_from(at).ok().filter(|_| self.fits(key, value));
        let Some(offset) = offset else {
            return Err(FormatError::new(STRUCTURE, at, "an entry that fits the leaf", "a full leaf"));
        };
        let shared = self.shared_with_last(key);
        if self.count.is_multiple_of(GROUP) {
            self.restarts.push(offset);
        }
        let suffix = key.get(shared..).unwrap_or_default();
        put_lengths(&mut self.bytes, shared, suffix.len());
        self.bytes.extend_from_slice(suffix);
        let value_at = self.bytes.len();
        put_string(&mut self.bytes, value);
        self.values_bytes = self.values_bytes.saturating_add(self.bytes.len().saturating_sub(value_at));
        self.count = self.count.saturating_add(1);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(suffix);
        self.longest_key_bytes = self.longest_key_bytes.max(key.len());
        Ok(())
    }

    /// The leaf, never over [`LEAF_RAW_BYTES`]: in the fst form where it has at least 4,000 entries, their keys share
    /// nearly all of themselves with their neighbours (under 3 bytes a key front-coded), and that form is the smaller;
    /// else front-coded. A leaf without entries cannot be written: an empty builder gives no bytes.
    pub fn finish(self) -> Vec<u8> {
        let front = self.front();
        let keys_bytes = self.raw_bytes().saturating_sub(self.values_bytes);
        let regular = keys_bytes < self.count.saturating_mul(FST_KEY_BYTES_BELOW);
        if self.count < FST_ENTRIES_LEAST || !regular {
            return front;
        }
        match self.fst(&front) {
            Some(fst) if fst.len() < front.len() => fst,
            _ => front,
        }
    }

    /// The leaf in a form of the caller's choice, or `None` where it has no entries, or the form is fst and a key is
    /// over 255 bytes or the leaf would be over [`LEAF_RAW_BYTES`].
    pub fn finish_as(self, form: LeafForm) -> Option<Vec<u8>> {
        let front = self.front();
        match form {
            LeafForm::Front => Some(front).filter(|front| !front.is_empty()),
            LeafForm::Fst => self.fst(&front),
        }
    }

    /// The front-coded leaf, or nothing when there are no entries.
    fn front(&self) -> Vec<u8> {
        if self.count == 0 {
            return Vec::new();
        }
        let mut out = Vec::with_capacity(self.raw_bytes());
        out.push(LeafForm::Front as u8);
        // At most LEAF_KEYS, as `fits` sees to.
        out.extend_from_slice(&(self.count as u16).to_le_bytes());
        out.extend_from_slice(self.bytes.get(front::HEAD_BYTES..).unwrap_or_default());
        out.extend(self.restarts.iter().flat_map(|offset| offset.to_le_bytes()));
        out
    }

    /// The fst leaf with the entries of a front-coded one.
    fn fst(&self, front: &[u8]) -> Option<Vec<u8>> {
        if self.longest_key_bytes > DEPTH {
            return None;
        }
        let mut keys = fst::MapBuilder::memory();
        let mut values = Vec::new();
        let mut group_starts = Vec::new();
        let mut entries = FrontLeaf::open(front).ok()?.seek(b"").ok()?;
        let mut ordinal = 0u64;
        while let Some(value) = entries.advance().ok()? {
            keys.insert(entries.key(), ordinal).ok()?;
            if ordinal.is_multiple_of(GROUP as u64) {
                group_starts.push(values.len());
            }
            put_varint(&mut values, value.len() as u64);
            values.extend_from_slice(value);
            ordinal = ordinal.saturating_add(1);
        }
        let keys = keys.into_inner().ok()?;
        let mut out = vec![LeafForm::Fst as u8];
        out.extend_from_slice(&u32::try_from(keys.len()).ok()?.to_le_bytes());
        out.extend_from_slice(&keys);
        let values_at = out.len();
        out.extend_from_slice(&values);
        for start in group_starts {
            out.extend_from_slice(&u16::try_from(values_at.checked_add(start)?).ok()?.to_le_bytes());
        }
        (out.len() <= LEAF_RAW_BYTES).then_some(out)
    }
}
