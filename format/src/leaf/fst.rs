//! The fst form: keys as an automaton from key to ordinal, values apart.

use super::offsets::Offsets;
use super::{GROUP, LEAF_VALUE_BYTES, STRUCTURE};
use crate::FormatError;
use crate::bytes::Reader;
use crate::fst_check::{DEPTH, Fst, Node};
use crate::limits::LEAF_KEYS;

/// Bytes before the automaton: form and its length.
pub(super) const HEAD_BYTES: usize = 5;
/// Most steps of one cursor: on checked bytes every key costs at most its length down and as much up. It bounds the work
/// on bytes that were not checked.
const CURSOR_STEPS: usize = LEAF_KEYS * 2 * (DEPTH + 1);

/// An fst leaf whose head is sound.
#[derive(Debug, Clone, Copy)]
pub(super) struct FstLeaf<'a> {
    keys: Fst<'a>,
    values: Values<'a>,
}

/// The values of an fst leaf.
#[derive(Debug, Clone, Copy)]
struct Values<'a> {
    /// The leaf up to its last value.
    bytes: &'a [u8],
    /// Where the first value is.
    start: usize,
    /// Where every 16th value is.
    groups: Offsets<'a>,
    /// Values.
    count: usize,
}

impl<'a> Values<'a> {
    /// A reader at value `ordinal`, which must be one of them.
    fn reader(&self, ordinal: usize) -> Result<Reader<'a>, FormatError> {
        if ordinal >= self.count {
            return Err(FormatError::new(STRUCTURE, self.start, format!("an ordinal below {}", self.count), ordinal));
        }
        let at = self.groups.get(ordinal / GROUP);
        let mut reader = Reader::new(STRUCTURE, self.bytes.get(at..).unwrap_or_default());
        for _ in 0..ordinal % GROUP {
            reader.string(LEAF_VALUE_BYTES)?;
        }
        Ok(reader)
    }

    fn check(&self) -> Result<(), FormatError> {
        let mut reader = Reader::new(STRUCTURE, self.bytes);
        reader.take(self.start)?;
        for i in 0..self.count {
            self.groups.check(i, reader.position())?;
            reader.string(LEAF_VALUE_BYTES)?;
        }
        reader.finish()
    }
}

/// The error of a walk that could not go on; bytes that were checked never show it.
fn broken() -> FormatError {
    FormatError::new(STRUCTURE, HEAD_BYTES, "an automaton that was checked", "one that does not hold together")
}

impl<'a> FstLeaf<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let mut reader = Reader::new(STRUCTURE, bytes);
        reader.u8()?;
        let length = usize::try_from(reader.u32()?).unwrap_or(usize::MAX);
        let keys = Fst::open(reader.take(length)?)?;
        let groups = Offsets::open(bytes, keys.count())?;
        match bytes.get(..groups.start()) {
            Some(values) if groups.start().saturating_sub(reader.position()) >= keys.count() => Ok(Self {
                keys,
                values: Values { bytes: values, start: reader.position(), groups, count: keys.count() },
            }),
            _ => Err(reader.fail("at least a byte a value", keys.count())),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.count()
    }

    pub(super) fn check(&self) -> Result<(), FormatError> {
        self.keys.check().map_err(|error| FormatError { at: error.at.saturating_add(HEAD_BYTES as u64), ..error })?;
        self.values.check()
    }

    /// The ordinal of `key`, if the automaton takes it.
    fn ordinal(&self, key: &[u8]) -> Result<Option<usize>, FormatError> {
        let mut node = self.keys.root().ok_or_else(broken)?;
        let mut ordinal = 0usize;
        for &byte in key {
            let Some(i) = node.find(byte) else {
                return Ok(None);
            };
            let transition = node.transition(i).ok_or_else(broken)?;
            ordinal = ordinal.saturating_add(transition.output);
            node = self.keys.node(transition.target).ok_or_else(broken)?;
        }
        Ok(node.is_final().then_some(ordinal))
    }

    pub(super) fn get(&self, key: &[u8]) -> Result<Option<&'a [u8]>, FormatError> {
        match self.ordinal(key)? {
            Some(ordinal) => self.values.reader(ordinal)?.string(LEAF_VALUE_BYTES).map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn first_key(&self) -> Result<Vec<u8>, FormatError> {
        let mut cursor = self.seek(b"")?;
        match cursor.advance()? {
            Some(_) => Ok(cursor.key),
            None => Err(broken()),
        }
    }

    pub(super) fn last_key(&self) -> Result<Vec<u8>, FormatError> {
        let mut node = self.keys.root().ok_or_else(broken)?;
        let mut key = Vec::new();
        while let Some(last) = node.len().checked_sub(1) {
            if key.len() == DEPTH {
                return Err(broken());
            }
            let transition = node.transition(last).ok_or_else(broken)?;
            key.push(transition.input);
            node = self.keys.node(transition.target).ok_or_else(broken)?;
        }
        Ok(key)
    }

    pub(super) fn seek(&self, key: &[u8]) -> Result<FstCursor<'a>, FormatError> {
        let mut cursor =
            FstCursor { leaf: *self, path: Vec::new(), key: Vec::new(), values: None, steps_left: CURSOR_STEPS };
        cursor.enter(0, self.keys.root().ok_or_else(broken)?)?;
        for &byte in key {
            let Some(step) = cursor.path.last_mut() else {
                return Err(broken());
            };
            // A key that ends here is a prefix of `key`, so below it.
            step.ends_here = false;
            match step.node.find(byte) {
                Some(i) => cursor.take(i, byte)?,
                None => {
                    step.next = step.node.find_above(byte).unwrap_or(step.node.len());
                    break;
                }
            }
        }
        Ok(cursor)
    }
}

/// A node on the path to the cursor's key.
#[derive(Debug, Clone, Copy)]
struct Step<'a> {
    node: Node<'a>,
    /// Outputs up to this node.
    ordinal: usize,
    /// Whether a key ends at this node that was not given yet.
    ends_here: bool,
    /// The first transition not taken yet.
    next: usize,
}

/// A cursor over an fst leaf: the path from the root to its place.
#[derive(Debug, Clone)]
pub(super) struct FstCursor<'a> {
    leaf: FstLeaf<'a>,
    /// Nodes from the root on; one more than `key` has bytes.
    path: Vec<Step<'a>>,
    /// Bytes along the path.
    key: Vec<u8>,
    /// At the value of the next key; unknown before the first.
    values: Option<Reader<'a>>,
    /// See [`CURSOR_STEPS`].
    steps_left: usize,
}

impl<'a> FstCursor<'a> {
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Puts a node at the end of the path.
    fn enter(&mut self, ordinal: usize, node: Node<'a>) -> Result<(), FormatError> {
        if self.path.len() > DEPTH {
            return Err(broken());
        }
        self.path.push(Step { node, ordinal, ends_here: node.is_final(), next: 0 });
        Ok(())
    }

    /// Goes on through transition `i` of the last node, which takes `input`.
    fn take(&mut self, i: usize, input: u8) -> Result<(), FormatError> {
        let step = self.path.last_mut().ok_or_else(broken)?;
        step.next = i.saturating_add(1);
        let transition = step.node.transition(i).ok_or_else(broken)?;
        let ordinal = step.ordinal.saturating_add(transition.output);
        let node = self.leaf.keys.node(transition.target).ok_or_else(broken)?;
        self.enter(ordinal, node)?;
        self.key.push(input);
        Ok(())
    }

    /// Moves to the next key and gives its value.
    pub(super) fn advance(&mut self) -> Result<Option<&'a [u8]>, FormatError> {
        loop {
            self.steps_left = self.steps_left.checked_sub(1).ok_or_else(broken)?;
            let Some(step) = self.path.last_mut() else {
                return Ok(None);
            };
            if step.ends_here {
                step.ends_here = false;
                let mut reader = match self.values.take() {
                    Some(reader) => reader,
                    None => self.leaf.values.reader(step.ordinal)?,
                };
                let value = reader.string(LEAF_VALUE_BYTES)?;
                self.values = Some(reader);
                return Ok(Some(value));
            }
            let i = step.next;
            if i < step.node.len() {
                let input = step.node.transition(i).ok_or_else(broken)?.input;
                self.take(i, input)?;
            } else {
                self.path.pop();
                self.key.pop();
            }
        }
    }
}
