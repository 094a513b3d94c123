//! Reading keys in an order that is not theirs: near ones by stepping on, far ones by seeking.

use crate::Result;
use crate::dictionary::{Dictionary, MergeCursor, load_value};

/// Keys that are stepped over before a new search is cheaper.
const STEPS: u32 = 16;

/// A cursor over all segments that goes where it is asked for.
pub(super) struct Walk<'a> {
    dictionary: &'a Dictionary,
    cursor: Option<MergeCursor<'a>>,
    /// All keys from here on are still before the cursor.
    from: Vec<u8>,
}

/// A key with its values, oldest first.
pub(super) type Entry = (Vec<u8>, Vec<Vec<u8>>);

impl<'a> Walk<'a> {
    pub(super) fn new(dictionary: &'a Dictionary) -> Self {
        Self { dictionary, cursor: None, from: Vec::new() }
    }

    /// The next key that starts with `prefix`: the first one where the last call asked for another prefix.
    pub(super) fn next(&mut self, prefix: &[u8]) -> Result<Option<Entry>> {
        let Some(key) = self.seek(prefix)? else { return Ok(None) };
        if !key.starts_with(prefix) {
            return Ok(None);
        }
        self.take(key).map(Some)
    }

    /// The values of a key, oldest first; none where it is not there.
    pub(super) fn values(&mut self, key: &[u8]) -> Result<Vec<Vec<u8>>> {
        match self.seek(key)? {
            Some(found) if found == key => Ok(self.take(found)?.1),
            _ => Ok(Vec::new()),
        }
    }

    /// The first key that is not below `key`; within the prefix that is being read, the first that was not given yet.
    fn seek(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let goes_on = self.from.starts_with(key) && self.from.len() > key.len();
        if let Some(cursor) = &mut self.cursor
            && (goes_on || self.from.as_slice() <= key)
        {
            for _ in 0..STEPS {
                match cursor.key() {
                    Some(found) if found.as_slice() < key => cursor.take(&found, |_, _| Ok(()))?,
                    found => {
                        if !goes_on {
                            self.from = key.to_vec();
                        }
                        return Ok(found);
                    }
                }
            }
        }
        self.from = key.to_vec();
        let cursor = self.cursor.insert(MergeCursor::new(self.dictionary, &self.dictionary.segments, key)?);
        Ok(cursor.key())
    }

    /// Takes the values of the key at which the cursor stands.
    fn take(&mut self, key: Vec<u8>) -> Result<Entry> {
        let mut values = Vec::new();
        let blocks = &self.dictionary.blocks;
        if let Some(cursor) = &mut self.cursor {
            cursor.take(&key, |leaf, stored| {
                load_value(blocks, leaf, stored, |value| {
                    values.push(value.to_vec());
                    Ok(())
                })
            })?;
        }
        // The least key behind it.
        self.from = key.clone();
        self.from.push(0);
        Ok((key, values))
    }
}
