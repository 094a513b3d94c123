//! Why a command ends early, and with which exit status.

use std::io;
use std::process::ExitCode;

/// Result of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

/// What ends a command early.
#[derive(Debug)]
pub enum Failure {
    /// The engine's error.
    Engine(plica::Error),
    /// An error of the command itself, in words.
    Message(String),
    /// The arguments do not fit together.
    Usage(String),
    /// Standard output cannot be written to.
    Output(io::Error),
    /// Whoever read the output has gone: nothing is left to do, and nothing to say.
    Closed,
    /// A check found damage, and has said so.
    Findings,
}

impl Failure {
    /// An error in words.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message(text.into())
    }

    /// What to say on standard error, if anything.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Engine(plica::Error::Cancelled) => {
                Some("stopped; what is complete is committed, and the same command goes on from there".to_owned())
            }
            Self::Engine(error) => Some(error.to_string()),
            Self::Message(text) | Self::Usage(text) => Some(text.clone()),
            Self::Output(error) => Some(format!("cannot write to standard output: {error}")),
            Self::Closed | Self::Findings => None,
        }
    }

    /// The exit status: 1 for an error, 2 for wrong usage, 3 for damage.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Engine(error) if error.is_damage() => 3,
            Self::Findings => 3,
            Self::Usage(_) => 2,
            Self::Closed => 0,
            Self::Engine(_) | Self::Message(_) | Self::Output(_) => 1,
        })
    }
}

impl From<plica::Error> for Failure {
    fn from(error: plica::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<io::Error> for Failure {
    /// Every plain I/O error in this command comes from writing its output; files are read with errors in words.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Output(error),
        }
    }
}
