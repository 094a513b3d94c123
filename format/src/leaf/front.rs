//! The front-coded form: shared prefix lengths, suffixes and values, with a whole key every 16 entries.

use super::offsets::Offsets;
use super::{GROUP, LEAF_KEY_BYTES, LEAF_VALUE_BYTES, STRUCTURE};
use crate::FormatError;
use crate::bytes::{Reader, put_varint};
use crate::limits::LEAF_KEYS;
use std::cmp::Ordering;

/// Bytes before the first entry: form and count.
pub(super) const HEAD_BYTES: usize = 3;
/// A nibble of this says that the rest of the length follows as a varint.
const NIBBLE_FULL: usize = 15;

/// How many bytes two keys have in common at their start.
pub(crate) fn common_prefix_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Appends the lengths of a shared prefix and of a suffix: both in one byte where both are under 15.
pub(crate) fn put_lengths(out: &mut Vec<u8>, shared: usize, suffix: usize) {
    let nibble = |length: usize| length.min(NIBBLE_FULL) as u8;
    out.push(nibble(shared) << 4 | nibble(suffix));
    for length in [shared, suffix] {
        if let Some(rest) = length.checked_sub(NIBBLE_FULL) {
            put_varint(out, rest as u64);
        }
    }
}

/// Reads what [`put_lengths`] wrote; their sum is at most [`LEAF_KEY_BYTES`].
pub(crate) fn read_lengths(reader: &mut Reader<'_>) -> Result<(usize, usize), FormatError> {
    let byte = reader.u8()?;
    let mut lengths = [usize::from(byte >> 4), usize::from(byte & 15)];
    for length in &mut lengths {
        if *length == NIBBLE_FULL {
            *length = reader.varint_at_most(LEAF_KEY_BYTES, "a key length")?.saturating_add(NIBBLE_FULL);
        }
    }
    let [shared, suffix] = lengths;
    if shared.saturating_add(suffix) > LEAF_KEY_BYTES {
        return Err(reader.fail("a key of at most 4096 bytes", shared.saturating_add(suffix)));
    }
    Ok((shared, suffix))
}

/// Bytes that are copied at once where a suffix is no longer: cheaper than as many as there are.
const COPIED_BYTES: usize = 16;

/// A key that is put together entry by entry.
#[derive(Default)]
struct KeyBefore {
    /// The key and, behind it, anything.
    bytes: Vec<u8>,
    length: usize,
}

impl KeyBefore {
    fn key(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Makes it the key of the entry, which shares no more than there is.
    #[inline(always)]
    fn go_on(&mut self, entry: &Entry<'_>) {
        self.length = entry.shared.saturating_add(entry.suffix.len());
        if entry.suffix.len() <= COPIED_BYTES
            && let Some(from) = entry.on.first_chunk::<COPIED_BYTES>()
            && let Some(to) = self.bytes.get_mut(entry.shared..).and_then(|to| to.first_chunk_mut::<COPIED_BYTES>())
        {
            *to = *from;
            return;
        }
        self.bytes.truncate(entry.shared);
        self.bytes.extend_from_slice(entry.suffix);
        self.bytes.resize(self.length.saturating_add(4 * COPIED_BYTES), 0);
    }
}

/// The error for entry `i` at `at`.
#[cold]
fn not_ascending(at: usize, i: usize) -> FormatError {
    FormatError::new(STRUCTURE, at, "keys that ascend and share just their common prefix: entry", i)
}

/// A front-coded leaf whose head is sound.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrontLeaf<'a> {
    /// The leaf up to its last entry.
    entries: &'a [u8],
    /// Where every 16th entry is.
    restarts: Offsets<'a>,
    /// Entries.
    count: usize,
}

/// One entry as it is written.
struct Entry<'a> {
    shared: usize,
    suffix: &'a [u8],
    value: &'a [u8],
    /// The entries from the suffix on.
    on: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Reads the entry at `at` of `entries`, and moves `at` behind it.
    #[inline(always)]
    fn read(entries: &'a [u8], at: &mut usize) -> Result<Self, FormatError> {
        if let Some((entry, rest)) = Self::read_short(entries.get(*at..).unwrap_or_default()) {
            *at = entries.len().saturating_sub(rest.len());
            return Ok(entry);
        }
        Self::read_long(entries, at)
    }

    /// As [`Entry::read`], for entries that are not short.
    #[inline(never)]
    fn read_long(entries: &'a [u8], at: &mut usize) -> Result<Self, FormatError> {
        let mut reader = reader(entries, *at);
        let entry = Self::read_any(&mut reader).map_err(|error| shifted(error, *at))?;
        *at = at.saturating_add(reader.position());
        Ok(entry)
    }

    /// Reads an entry whose lengths take a byte more than their nibbles at most, and two for the value, as nearly all do,
    /// and gives what follows.
    #[inline(always)]
    fn read_short(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (shared, suffix, on) = short_lengths(bytes)?;
        let (suffix, rest) = on.split_at_checked(suffix)?;
        let (&low, rest) = rest.split_first()?;
        let (length, rest) = match low {
            0..0x80 => (usize::from(low), rest),
            _ => {
                let (&high, rest) = rest.split_first()?;
                let high = Some(usize::from(high)).filter(|high| (1..0x80).contains(high))?;
                (high << 7 | usize::from(low & 0x7f), rest)
            }
        };
        let (value, rest) = rest.split_at_checked(length).filter(|_| length <= LEAF_VALUE_BYTES)?;
        Some((Self { shared, suffix, value, on }, rest))
    }

    /// Reads any entry.
    fn read_any(reader: &mut Reader<'a>) -> Result<Self, FormatError> {
        let (shared, suffix) = read_lengths(reader)?;
        let suffix = reader.take(suffix)?;
        let value = reader.string(LEAF_VALUE_BYTES)?;
        Ok(Self { shared, suffix, value, on: suffix })
    }
}

/// Both lengths, where a nibble and at most a byte more hold each, and what follows.
#[inline(always)]
fn short_lengths(bytes: &[u8]) -> Option<(usize, usize, &[u8])> {
    let (&byte, rest) = bytes.split_first()?;
    let [shared, suffix] = [usize::from(byte >> 4), usize::from(byte & 15)];
    if shared != NIBBLE_FULL && suffix != NIBBLE_FULL {
        return Some((shared, suffix, rest));
    }
    longer_lengths(byte, rest)
}

/// As [`short_lengths`], where a nibble at least is full; `rest` follows the nibbles.
#[inline(never)]
fn longer_lengths(byte: u8, mut rest: &[u8]) -> Option<(usize, usize, &[u8])> {
    let mut lengths = [usize::from(byte >> 4), usize::from(byte & 15)];
    for length in &mut lengths {
        if *length == NIBBLE_FULL {
            let (&more, after) = rest.split_first().filter(|(more, _)| **more < 0x80)?;
            *length = length.saturating_add(usize::from(more));
            rest = after;
        }
    }
    let [shared, suffix] = lengths;
    Some((shared, suffix, rest))
}

/// A reader at an offset of the leaf.
fn reader(entries: &[u8], at: usize) -> Reader<'_> {
    Reader::new(STRUCTURE, entries.get(at..).unwrap_or_default())
}

/// An error of a [`reader`], with the place in the leaf.
fn shifted(error: FormatError, at: usize) -> FormatError {
    FormatError { at: error.at.saturating_add(at as u64), ..error }
}

impl<'a> FrontLeaf<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let mut reader = Reader::new(STRUCTURE, bytes);
        reader.u8()?;
        let count = usize::from(reader.u16()?);
        if !(1..=LEAF_KEYS).contains(&count) {
            return Err(reader.fail("1 to 16384 entries", count));
        }
        let restarts = Offsets::open(bytes, count)?;
        match bytes.get(..restarts.start()) {
            // An entry has at least its lengths and its value's length.
            Some(entries) if entries.len().saturating_sub(HEAD_BYTES) / 2 >= count => {
                Ok(Self { entries, restarts, count })
            }
            _ => Err(reader.fail("at least two bytes an entry", count)),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Proves every entry and restart.
    pub(super) fn check(&self) -> Result<(), FormatError> {
        let mut at = HEAD_BYTES;
        let mut before = KeyBefore::default();
        for group in 0..self.restarts.len() {
            let first = group.saturating_mul(GROUP);
            self.restarts.check(first, at)?;
            let start = at;
            let entry = Entry::read(self.entries, &mut at)?;
            if entry.shared != 0 {
                return Err(FormatError::new(STRUCTURE, start, "a whole key every 16 entries", entry.shared));
            }
            if first > 0 && entry.suffix <= before.key() {
                return Err(not_ascending(start, first));
            }
            before.go_on(&entry);
            for i in 1..self.count.saturating_sub(first).min(GROUP) {
                let start = at;
                let entry = Entry::read(self.entries, &mut at)?;
                // What follows the common prefix: it must be all that the two keys share, and the new key the greater.
                let in_order = match entry.suffix.first() {
                    None => false,
                    Some(now) if entry.shared < before.length => before.bytes.get(entry.shared) < Some(now),
                    Some(_) if entry.shared == before.length => true,
                    Some(_) => {
                        return Err(FormatError::new(STRUCTURE, start, "a prefix of the key before", entry.shared));
                    }
                };
                if !in_order {
                    return Err(not_ascending(start, first.saturating_add(i)));
                }
                before.go_on(&entry);
            }
        }
        if at == self.entries.len() {
            Ok(())
        } else {
            Err(FormatError::new(STRUCTURE, at, "the offsets of the restarts", "more bytes before them"))
        }
    }

    /// The whole key at a restart; of bytes that were not checked, whatever stands there.
    fn restart_key(&self, group: usize) -> Result<&'a [u8], FormatError> {
        let at = self.restarts.get(group);
        let bytes = self.entries.get(at..).unwrap_or_default();
        if let Some((_, suffix, rest)) = short_lengths(bytes)
            && let Some(key) = rest.get(..suffix)
        {
            return Ok(key);
        }
        let mut reader = reader(self.entries, at);
        let (_, suffix) = read_lengths(&mut reader).map_err(|error| shifted(error, at))?;
        reader.take(suffix).map_err(|error| shifted(error, at))
    }

    /// The last group whose first key is at most `key`, or the first group.
    fn group_of(&self, key: &[u8]) -> Result<usize, FormatError> {
        let (mut low, mut high) = (0usize, self.restarts.len());
        // Group `low` is at most `key` or the first; group `high` is greater or past the last.
        while high.saturating_sub(low) > 1 {
            let middle = low.midpoint(high);
            if self.restart_key(middle)? <= key { low = middle } else { high = middle }
        }
        Ok(low)
    }

    pub(super) fn first_key(&self) -> Result<Vec<u8>, FormatError> {
        self.restart_key(0).map(<[u8]>::to_vec)
    }

    pub(super) fn last_key(&self) -> Result<Vec<u8>, FormatError> {
        let mut cursor = self.cursor(self.restarts.len().saturating_sub(1));
        while cursor.advance()?.is_some() {}
        Ok(cursor.key)
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<&'a [u8]>, FormatError> {
        let group = self.group_of(key)?;
        let mut at = self.restarts.get(group);
        let left = self.count.saturating_sub(group.saturating_mul(GROUP)).min(GROUP);
        // Invariant: the entry before is below `key` and has exactly `matched` bytes in common with it; `rest` follows.
        let (mut matched, mut rest) = (0usize, key);
        for _ in 0..left {
            let entry = Entry::read(self.entries, &mut at)?;
            // It shares with the entry before more than `key` does, so it is below `key` at the same byte.
            if entry.shared > matched {
                continue;
            }
            // It left the entry before at a byte where that was equal to `key`, and went up.
            if entry.shared < matched {
                return Ok(None);
            }
            let more = common_prefix_bytes(entry.suffix, rest);
            rest = rest.get(more..).unwrap_or_default();
            match (entry.suffix.get(more), rest.first()) {
                (None, None) => return Ok(Some(entry.value)),
                (None, Some(_)) => {}
                (Some(_), None) => return Ok(None),
                (Some(here), Some(there)) if here > there => return Ok(None),
                (Some(_), Some(_)) => {}
            }
            matched = matched.saturating_add(more);
        }
        Ok(None)
    }

    /// A cursor at the start of a group.
    fn cursor(&self, group: usize) -> FrontCursor<'a> {
        FrontCursor {
            entries: self.entries,
            at: self.restarts.get(group),
            left: self.count.saturating_sub(group.saturating_mul(GROUP)),
            key: Vec::new(),
            found: None,
        }
    }

    /// A cursor at the first entry that is not below `key`.
    pub(super) fn seek(&self, key: &[u8]) -> Result<FrontCursor<'a>, FormatError> {
        let mut cursor = self.cursor(self.group_of(key)?);
        // As in `get`: the entry before is below `key` and has exactly `matched` bytes in common with it, so what is passed
        // over is never put together.
        let mut matched = 0usize;
        while let Some(left) = cursor.left.checked_sub(1) {
            let entry = Entry::read(self.entries, &mut cursor.at)?;
            cursor.left = left;
            let is_reached = match entry.shared.cmp(&matched) {
                Ordering::Greater => false,
                Ordering::Less => true,
                Ordering::Equal => {
                    let rest = key.get(matched..).unwrap_or_default();
                    let more = common_prefix_bytes(entry.suffix, rest);
                    matched = matched.saturating_add(more);
                    entry.suffix.get(more) >= rest.get(more)
                }
            };
            if is_reached {
                // Room for the keys that follow, too.
                cursor.key.reserve(entry.shared.saturating_add(entry.suffix.len()).saturating_add(64));
                cursor.key.extend_from_slice(key.get(..entry.shared).unwrap_or_default());
                cursor.key.extend_from_slice(entry.suffix);
                cursor.found = Some(entry.value);
                break;
            }
        }
        Ok(cursor)
    }
}

/// A cursor over a front-coded leaf.
#[derive(Debug, Clone)]
pub(super) struct FrontCursor<'a> {
    /// Those of the leaf.
    entries: &'a [u8],
    /// Where the entry after that of `key` starts.
    at: usize,
    /// Entries not read yet.
    left: usize,
    /// Key of the last entry read.
    key: Vec<u8>,
    /// Value of the last entry read, where seeking read it and nobody was given it yet.
    found: Option<&'a [u8]>,
}

impl<'a> FrontCursor<'a> {
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Moves to the next entry and gives its value.
    pub(super) fn advance(&mut self) -> Result<Option<&'a [u8]>, FormatError> {
        if let Some(value) = self.found.take() {
            return Ok(Some(value));
        }
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        let start = self.at;
        let entry = Entry::read(self.entries, &mut self.at)?;
        if entry.shared > self.key.len() {
            return Err(FormatError::new(STRUCTURE, start, "a prefix of the key before", entry.shared));
        }
        self.key.truncate(entry.shared);
        self.key.extend_from_slice(entry.suffix);
        self.left = left;
        Ok(Some(entry.value))
    }
}
