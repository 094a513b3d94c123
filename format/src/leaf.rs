//! A leaf: up to 16,384 sorted keys with their values, in one block of at most 64 KiB.
//!
//! A segment is one immutable sorted map from byte keys to byte values. Its entries lie in leaves, in ascending order
//! of keys, and [separator pages](crate::separator) above the leaves say which leaf to read. A leaf has one of two
//! forms, told by its first byte; both answer [`get`](Leaf::get) and [`seek`](Leaf::seek) alike, and the values are
//! bytes that mean nothing here.
//!
//! * **Front-coded**: each key without the prefix that it shares with the key before, with its value beside it. Every
//!   16th key is whole (a *restart*), and an array of the restarts' offsets makes a binary search possible. Cheap to
//!   write, small for few keys.
//! * **Fst**: the keys as a minimal automaton that maps a key to its *ordinal*, its place in the leaf, and the values
//!   one after another with an offset for every 16th. Ordinals as outputs let keys share endings as well as beginnings,
//!   and let the reader prove every output without walking the keys.
//!
//! [`LeafBuilder`] takes entries in order and picks the form; a caller asks [`LeafBuilder::fits`] and begins a new leaf
//! when it says no. [`Leaf::decode`] proves everything about the bytes once; [`Leaf::trusted`] skips the proof for bytes
//! that passed before. On bytes that never passed it may answer nonsense, but it never panics and always ends.

mod build;
mod front;
mod fst;
mod offsets;

pub use build::LeafBuilder;
pub(crate) use front::{common_prefix_bytes, put_lengths, read_lengths};

use crate::FormatError;
use crate::limits::LEAF_RAW_BYTES;

/// Longest key of a segment, in bytes.
pub const LEAF_KEY_BYTES: usize = 4 << 10;
/// Longest value in a leaf, in bytes; a longer one goes to a block of its own.
pub const LEAF_VALUE_BYTES: usize = 8 << 10;
/// Entries from one restart, or one value offset, to the next.
const GROUP: usize = 16;
/// Name of the structure in errors.
const STRUCTURE: &str = "leaf";

/// How the entries of a leaf are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum LeafForm {
    /// Keys without their shared prefixes, values beside them.
    Front = 1,
    /// Keys as an automaton, values apart; for keys of at most 255 bytes.
    Fst = 2,
}

/// A leaf, borrowed from its block.
#[derive(Debug, Clone, Copy)]
pub struct Leaf<'a>(Form<'a>);

/// A leaf by its form.
#[derive(Debug, Clone, Copy)]
enum Form<'a> {
    Front(front::FrontLeaf<'a>),
    Fst(fst::FstLeaf<'a>),
}

impl<'a> Leaf<'a> {
    /// Reads a leaf and proves all of it: that its keys ascend, that each length, count, offset and checksum is what
    /// it must be, and that nothing is left over. Time is linear in the bytes; an fst needs memory for seven bytes a
    /// byte meanwhile.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let leaf = Self::trusted(bytes)?;
        match &leaf.0 {
            Form::Front(leaf) => leaf.check()?,
            Form::Fst(leaf) => leaf.check()?,
        }
        Ok(leaf)
    }

    /// Reads a leaf that [`decode`](Self::decode) has passed before, in constant time.
    pub fn trusted(bytes: &'a [u8]) -> Result<Self, FormatError> {
        if bytes.len() > LEAF_RAW_BYTES {
            return Err(FormatError::new(STRUCTURE, 0, format!("at most {LEAF_RAW_BYTES} bytes"), bytes.len()));
        }
        match bytes.first() {
            Some(1) => Ok(Self(Form::Front(front::FrontLeaf::open(bytes)?))),
            Some(2) => Ok(Self(Form::Fst(fst::FstLeaf::open(bytes)?))),
            Some(form) => Err(FormatError::new(STRUCTURE, 0, "a known form, 1 or 2", form)),
            None => Err(FormatError::new(STRUCTURE, 0, "a form", "nothing")),
        }
    }

    /// The form it is written in.
    pub fn form(&self) -> LeafForm {
        match &self.0 {
            Form::Front(_) => LeafForm::Front,
            Form::Fst(_) => LeafForm::Fst,
        }
    }

    /// Entries, at least one.
    #[allow(clippy::len_without_is_empty)] // Never empty.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::Front(leaf) => leaf.len(),
            Form::Fst(leaf) => leaf.len(),
        }
    }

    /// The least key.
    pub fn first_key(&self) -> Result<Vec<u8>, FormatError> {
        match &self.0 {
            Form::Front(leaf) => leaf.first_key(),
            Form::Fst(leaf) => leaf.first_key(),
        }
    }

    /// The greatest key.
    pub fn last_key(&self) -> Result<Vec<u8>, FormatError> {
        match &self.0 {
            Form::Front(leaf) => leaf.last_key(),
            Form::Fst(leaf) => leaf.last_key(),
        }
    }

    /// The value of `key`, if the leaf has it.
    pub fn get(&self, key: &[u8]) -> Result<Option<&'a [u8]>, FormatError> {
        match &self.0 {
            Form::Front(leaf) => leaf.get(key),
            Form::Fst(leaf) => leaf.get(key),
        }
    }

    /// A cursor whose first entry is the first with a key of at least `key`; `b""` starts at the beginning.
    pub fn seek(&self, key: &[u8]) -> LeafCursor<'a> {
        LeafCursor(match &self.0 {
            Form::Front(leaf) => leaf.seek(key).map(Cursor::Front),
            Form::Fst(leaf) => leaf.seek(key).map(Cursor::Fst),
        })
    }

    /// Compares the leaf with what the page above it says: the exact first key, and the first key of the next leaf,
    /// which all keys here must stay below.
    pub fn check_under(&self, first_key: &[u8], upper_bound: Option<&[u8]>) -> Result<(), FormatError> {
        check_keys(STRUCTURE, first_key, upper_bound, &self.first_key()?, &self.last_key()?)
    }
}

/// The comparison that [`Leaf::check_under`] and its namesake of separator pages make.
pub(crate) fn check_keys(
    structure: &'static str,
    expected_first: &[u8],
    upper_bound: Option<&[u8]>,
    first: &[u8],
    last: &[u8],
) -> Result<(), FormatError> {
    if first != expected_first {
        let (expected, got) = (expected_first.escape_ascii(), first.escape_ascii());
        return Err(FormatError::new(structure, 0, format!("first key {expected}, as the page above says"), got));
    }
    match upper_bound {
        Some(bound) if last >= bound => {
            let (expected, got) = (bound.escape_ascii(), last.escape_ascii());
            Err(FormatError::new(structure, 0, format!("keys below {expected}, as the page above says"), got))
        }
        _ => Ok(()),
    }
}

/// A key, lent from a cursor, and its value, which lives as long as the leaf's bytes.
pub type LeafEntry<'k, 'a> = (&'k [u8], &'a [u8]);

/// A place between two entries of a leaf, moving up. It owns the buffer that keys are put together in.
#[derive(Debug, Clone)]
pub struct LeafCursor<'a>(Result<Cursor<'a>, FormatError>);

/// A cursor by the form of its leaf.
#[derive(Debug, Clone)]
enum Cursor<'a> {
    Front(front::FrontCursor<'a>),
    Fst(fst::FstCursor<'a>),
}

impl<'a> LeafCursor<'a> {
    /// The next entry, or `None` after the last. An error is the end: every later call repeats it.
    #[allow(clippy::should_implement_trait)] // The key is lent from the cursor, which an iterator cannot do.
    pub fn next(&mut self) -> Result<Option<LeafEntry<'_, 'a>>, FormatError> {
        let cursor = match &mut self.0 {
            Ok(cursor) => cursor,
            Err(error) => return Err(error.clone()),
        };
        let step = match cursor {
            Cursor::Front(cursor) => cursor.advance(),
            Cursor::Fst(cursor) => cursor.advance(),
        };
        match step {
            Ok(None) => Ok(None),
            Ok(Some(value)) => match &self.0 {
                Ok(Cursor::Front(cursor)) => Ok(Some((cursor.key(), value))),
                Ok(Cursor::Fst(cursor)) => Ok(Some((cursor.key(), value))),
                Err(error) => Err(error.clone()),
            },
            Err(error) => {
                self.0 = Err(error.clone());
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests;
