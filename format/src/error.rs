//! The one error of decoding.

use std::borrow::Cow;
use std::fmt;

/// Bytes that are not what the format says they are.
///
/// The message names the structure, the offset within it, what was expected and what was found; the layer that read
/// the bytes adds which block of which file they came from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormatError {
    /// The structure being decoded, as `SPEC.md` names it.
    pub structure: &'static str,
    /// Offset of the offending bytes from the start of the structure.
    pub at: u64,
    /// What the format asks for there.
    pub expected: Cow<'static, str>,
    /// What was found instead.
    pub got: String,
}

impl FormatError {
    /// Makes an error; `at` counts bytes from the start of the structure.
    pub fn new(
        structure: &'static str,
        at: usize,
        expected: impl Into<Cow<'static, str>>,
        got: impl fmt::Display,
    ) -> Self {
        Self { structure, at: at as u64, expected: expected.into(), got: got.to_string() }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: expected {}, got {}", self.structure, self.at, self.expected, self.got)
    }
}

impl std::error::Error for FormatError {}
