//! The error of the engine: what was expected, what was found, where, and what to do about it.

use plica_format::FormatError;
use plica_format::block::Reference;
use std::io;
use std::path::{Path, PathBuf};

/// Result of the engine's operations.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Anything that can go wrong. Nothing that was committed is lost by any of them.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation.
    Io {
        /// What was being done.
        action: &'static str,
        /// The file, where there is one.
        path: Option<PathBuf>,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no Plica index.
    NotAnIndex {
        /// The file.
        path: Option<PathBuf>,
        /// What stands where page 0 should.
        got: String,
    },
    /// The file needs something that this version does not have.
    Unsupported {
        /// The feature, version or tokenizer, by name or number.
        what: String,
    },
    /// Bytes of the file are not what they must be.
    Damaged {
        /// Offset in the file of the block or page.
        offset: u64,
        /// Kind of block, or which page.
        what: String,
        /// What was expected and what was found.
        detail: String,
    },
    /// Another writer holds the file.
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// A commit failed before it was made; the state is that of the last commit and the writer can be used again.
    NotCommitted {
        /// What failed.
        source: Box<Error>,
    },
    /// A commit may or may not have reached the medium; the next `Writer::open` decides and reports it.
    InDoubt {
        /// The sequence number of that commit.
        sequence: u64,
        /// What failed.
        source: Box<Error>,
    },
    /// The writer can no longer be used: an earlier failure, or the process was forked.
    Unusable {
        /// Why, and what to do.
        reason: &'static str,
    },
    /// A limit of the format or of the caller was passed.
    Limit {
        /// What is limited.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// What was asked for.
        got: u64,
    },
    /// Input that cannot be taken.
    Invalid {
        /// What was expected and what was found.
        message: String,
    },
    /// A line of an import that cannot be taken.
    Line {
        /// Its number, from 1.
        line: u64,
        /// Why.
        source: Box<Error>,
    },
    /// No such document, chunk, entity or commit.
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// The name it was looked for by.
        name: String,
    },
    /// A name that means several things.
    Ambiguous {
        /// What was looked for.
        what: &'static str,
        /// The name it was looked for by.
        name: String,
        /// What it could mean.
        candidates: Vec<String>,
    },
    /// The model failed; what was appended before stays.
    Model {
        /// What the model said.
        message: String,
    },
    /// The caller's deadline passed or its cancel flag was set.
    Cancelled,
}

impl Error {
    /// Whether the file itself is damaged (exit status 3 of the command).
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } => true,
            Self::NotCommitted { source } | Self::InDoubt { source, .. } | Self::Line { source, .. } => {
                source.is_damage()
            }
            _ => false,
        }
    }

    /// An [`Error::Io`] maker for `map_err`.
    pub(crate) fn io(action: &'static str, path: Option<&Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.map(Path::to_path_buf);
        move |source| Self::Io { action, path, source }
    }

    /// An [`Error::Invalid`].
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid { message: message.into() }
    }

    /// What the format refuses to encode: a limit that no caller can pass by what it appends.
    pub(crate) fn encoding(error: FormatError) -> Self {
        Self::Invalid { message: format!("cannot be written: {error}") }
    }

    /// Damage within the block that `reference` names.
    pub(crate) fn damaged_block(reference: &Reference) -> impl FnOnce(FormatError) -> Self {
        let (offset, kind) = (reference.offset, reference.kind);
        move |error| Self::Damaged { offset, what: format!("{} block", kind.name()), detail: error.to_string() }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io { action, path: Some(path), source } => write!(f, "cannot {action} {}: {source}", path.display()),
            Self::Io { action, path: None, source } => write!(f, "cannot {action}: {source}"),
            Self::NotAnIndex { path: Some(path), got } => {
                write!(f, "{} is no Plica index: it starts with {got}", path.display())
            }
            Self::NotAnIndex { path: None, got } => write!(f, "these bytes are no Plica index: they start with {got}"),
            Self::Unsupported { what } => {
                write!(f, "the index needs {what}, which this version does not have; use a newer version of plica")
            }
            Self::Damaged { offset, what, detail } => {
                write!(f, "damaged {what} at offset {offset}: {detail}; restore the file from a copy")
            }
            Self::Locked { path } => write!(
                f,
                "{} is being written by another writer; wait until it is done, or read it without writing",
                path.display()
            ),
            Self::NotCommitted { source } => {
                write!(f, "not committed, the last commit stands and the writer can go on: {source}")
            }
            Self::InDoubt { sequence, source } => write!(
                f,
                "commit {sequence} is in doubt (it is there whole or not at all); open the index for writing again to settle it: {source}"
            ),
            Self::Unusable { reason } => write!(f, "this writer cannot be used any more: {reason}"),
            Self::Limit { what, limit, got } => write!(f, "{what} is limited to {limit}, got {got}"),
            Self::Invalid { message } => f.write_str(message),
            Self::Line { line, source } => write!(f, "line {line}: {source}"),
            Self::NotFound { what, name } => write!(f, "no {what} {name:?}"),
            Self::Ambiguous { what, name, candidates } => {
                write!(f, "{what} {name:?} is ambiguous; it could be {}", candidates.join(", "))
            }
            Self::Model { message } => write!(f, "the model failed: {message}"),
            Self::Cancelled => f.write_str("stopped: the deadline passed or it was cancelled"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::NotCommitted { source } | Self::InDoubt { source, .. } | Self::Line { source, .. } => Some(source),
            _ => None,
        }
    }
}
