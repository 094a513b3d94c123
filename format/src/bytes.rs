//! The cursor that every decoder reads through, and the integer encodings that every encoder writes.
//!
//! Fixed integers are little-endian. A *varint* is LEB128: seven bits a byte, low bits first, the high bit set on all
//! but the last byte, at most ten bytes, and always the shortest form, so that equal values have equal bytes. A
//! *string* is a varint byte length and that many bytes.

use crate::FormatError;
use crate::limits::SUM_BOUND;
use std::fmt;

/// Reads a structure front to back; every call checks what is left before it takes anything.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    /// Name of the structure, for errors.
    structure: &'static str,
    /// What has not been read yet.
    rest: &'a [u8],
    /// Bytes read so far.
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`, which are one `structure`.
    pub fn new(structure: &'static str, bytes: &'a [u8]) -> Self {
        Self { structure, rest: bytes, at: 0 }
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Whether all has been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// An error at the present position.
    pub fn fail(&self, expected: &'static str, got: impl fmt::Display) -> FormatError {
        FormatError::new(self.structure, self.at, expected, got)
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], FormatError> {
        match self.rest.split_at_checked(count) {
            Some((head, tail)) => {
                self.rest = tail;
                self.at = self.at.saturating_add(count);
                Ok(head)
            }
            None => Err(self.too_short(count)),
        }
    }

    #[cold]
    fn too_short(&self, count: usize) -> FormatError {
        let left = format_args!("{} before the end", self.rest.len());
        FormatError::new(self.structure, self.at, format!("{count} more bytes"), left)
    }

    /// Passes over `bytes` if they come next; gives whether they did.
    #[inline]
    pub fn skip_over(&mut self, bytes: &[u8]) -> bool {
        let Some(rest) = self.rest.strip_prefix(bytes) else { return false };
        self.rest = rest;
        self.at = self.at.saturating_add(bytes.len());
        true
    }

    /// The next `N` bytes, by value.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, FormatError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// A fixed 16-bit integer.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, FormatError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// A fixed 32-bit integer.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, FormatError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A fixed 64-bit integer.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, FormatError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A varint of up to 64 bits; a longer form than needed is refused.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, FormatError> {
        // Most are of one byte, and most others of two.
        match *self.rest {
            [byte @ 0..0x80, ref rest @ ..] => {
                self.rest = rest;
                self.at = self.at.saturating_add(1);
                Ok(u64::from(byte))
            }
            [low, high @ 1..0x80, ref rest @ ..] => {
                self.rest = rest;
                self.at = self.at.saturating_add(2);
                Ok(u64::from(high) << 7 | u64::from(low & 0x7f))
            }
            _ => self.long_varint(),
        }
    }

    /// A varint of several bytes.
    fn long_varint(&mut self) -> Result<u64, FormatError> {
        let mut value = 0u64;
        let mut shift = 0u32;
        loop {
            let byte = self.u8()?;
            let low = u64::from(byte & 0x7f);
            if shift == 63 && low > 1 {
                return Err(self.fail("a varint of at most 64 bits", "a longer one"));
            }
            value |= low << shift;
            if byte & 0x80 == 0 {
                if byte == 0 && shift > 0 {
                    return Err(self.fail("a varint in its shortest form", "a longer form"));
                }
                return Ok(value);
            }
            shift = shift.saturating_add(7);
            if shift > 63 {
                return Err(self.fail("a varint of at most 10 bytes", "a longer one"));
            }
        }
    }

    /// A varint that fits 32 bits.
    #[inline(always)]
    pub fn varint32(&mut self) -> Result<u32, FormatError> {
        let value = self.varint()?;
        u32::try_from(value).map_err(|_| self.fail("a varint of at most 32 bits", value))
    }

    /// A varint below [`SUM_BOUND`], for sums and counts that go on growing: more may be added to it without overflow.
    #[inline]
    pub fn sum(&mut self) -> Result<u64, FormatError> {
        let value = self.varint()?;
        match value < SUM_BOUND {
            true => Ok(value),
            false => Err(self.fail("a sum below 2^60", value)),
        }
    }

    /// A varint that is at most `limit`, for counts and lengths.
    #[inline]
    pub fn varint_at_most(&mut self, limit: usize, what: &'static str) -> Result<usize, FormatError> {
        let value = self.varint()?;
        match usize::try_from(value) {
            Ok(value) if value <= limit => Ok(value),
            _ => Err(FormatError::new(self.structure, self.at, format!("{what} of at most {limit}"), value)),
        }
    }

    /// A string of at most `limit` bytes, uninterpreted.
    #[inline]
    pub fn string(&mut self, limit: usize) -> Result<&'a [u8], FormatError> {
        let length = self.varint_at_most(limit, "a length")?;
        self.take(length)
    }

    /// A string of at most `limit` bytes that must be UTF-8.
    pub fn text(&mut self, limit: usize) -> Result<&'a str, FormatError> {
        let bytes = self.string(limit)?;
        std::str::from_utf8(bytes).map_err(|e| self.fail("UTF-8", e))
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = std::mem::take(&mut self.rest);
        self.at = self.at.saturating_add(rest.len());
        rest
    }

    /// Refuses bytes after the end of the structure.
    pub fn finish(self) -> Result<(), FormatError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.fail("the end", format_args!("{} more bytes", self.rest.len())))
        }
    }
}

/// Appends a varint in its shortest form.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a string: its length as a varint, then its bytes.
pub fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_varint_reads_back_and_has_one_form(value: u64) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            let mut reader = Reader::new("test", &out);
            prop_assert_eq!(reader.varint().unwrap(), value);
            prop_assert!(reader.finish().is_ok());
        }

        #[test]
        fn any_accepted_varint_is_the_one_that_would_be_written(bytes: [u8; 11]) {
            let mut reader = Reader::new("test", &bytes);
            if let Ok(value) = reader.varint() {
                let mut out = Vec::new();
                put_varint(&mut out, value);
                prop_assert_eq!(&out[..], &bytes[..reader.position()]);
            }
        }
    }

    #[test]
    fn a_string_longer_than_what_is_left_is_refused() {
        let error = Reader::new("test", &[5, b'a']).string(100).unwrap_err();
        assert_eq!(error.to_string(), "test at byte 1: expected 5 more bytes, got 1 before the end");
    }
}
