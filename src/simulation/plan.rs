//! What is to be done, read from bytes.

use crate::{Durability, MemoryScope};

/// One thing that a user does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A chunk of so many words for a document, which is made where it is not there.
    Append { document: u8, words: u8, seed: u8 },
    /// Summaries for all nodes that have none, and an entity of the first chunk.
    Understand { document: u8 },
    /// A record of a document.
    Record { document: u8, seed: u8 },
    /// A subject of a document's outline.
    Subject { document: u8, seed: u8 },
    /// Readers are to see the document.
    Publish { document: u8 },
    /// A document goes.
    Remove { document: u8 },
    /// What is appended from now on is to take the document's place when it is published.
    Replace { document: u8 },
    /// What was added is kept.
    Commit,
    /// Deferred commits are made durable.
    Sync,
    /// What was added goes.
    Rollback,
    /// The writer is closed and opened again.
    Reopen(Durability),
    /// A new file takes the place of the old one.
    Vacuum,
}

/// Steps, and the index that they are done to.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) fanout: u8,
    pub(crate) memory: MemoryScope,
    pub(crate) steps: Vec<Step>,
}

impl Plan {
    /// Reads a plan; any bytes are one.
    pub(crate) fn read(bytes: &[u8], most_steps: usize) -> Self {
        let mut bytes = bytes.iter().copied();
        let mut next = || bytes.next();
        let first = next().unwrap_or(0);
        let memory = if first & 64 == 0 { MemoryScope::Document } else { MemoryScope::Index };
        let mut steps = Vec::new();
        while steps.len() < most_steps {
            let Some(code) = next() else { break };
            let document = code >> 4 & 3;
            let mut operand = || next().unwrap_or(0);
            steps.push(match code & 15 {
                0..=3 => Step::Append { document, words: operand(), seed: operand() },
                4 => Step::Understand { document },
                5 => Step::Record { document, seed: operand() },
                6 => Step::Subject { document, seed: operand() },
                7 => Step::Publish { document },
                8 => Step::Remove { document },
                9 => Step::Replace { document },
                10 | 11 => Step::Commit,
                12 => Step::Sync,
                13 => Step::Rollback,
                14 if code & 64 == 0 => Step::Reopen(Durability::Immediate),
                14 => Step::Reopen(Durability::Deferred),
                _ => Step::Vacuum,
            });
        }
        Self { fanout: 2 + first % 3, memory, steps }
    }
}
