//! A medium in memory that remembers every operation, so that any crash can be made of them.

use super::super::source::{Medium, Source};
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;

/// What was done to the medium.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    /// Bytes at an offset.
    Write(u64, Vec<u8>),
    /// A new length.
    SetLen(u64),
    /// All before is durable.
    Sync,
}

/// An operation that is to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It does nothing.
    Nothing,
    /// A write reaches the medium in its first half, another operation not at all.
    Half,
    /// It does all, and says that it failed.
    All,
}

#[derive(Debug, Default)]
struct Inner {
    bytes: Vec<u8>,
    log: Vec<Operation>,
    fault: Option<(usize, Fault)>,
    stuck: bool,
}

/// The medium; clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct SimulatedMedium {
    inner: Arc<Mutex<Inner>>,
}

impl SimulatedMedium {
    /// A medium that holds these bytes, all of them durable.
    pub(super) fn with(bytes: Vec<u8>) -> Self {
        Self { inner: Arc::new(Mutex::new(Inner { bytes, ..Inner::default() })) }
    }

    /// Lets the operation after `after` more ones fail; with `stuck` all later ones fail, too.
    pub(super) fn fail(&self, after: usize, fault: Fault, stuck: bool) {
        let mut inner = self.inner.lock();
        inner.fault = Some((inner.log.len() + after, fault));
        inner.stuck = stuck;
    }

    /// No further failures.
    pub(super) fn heal(&self) {
        self.inner.lock().fault = None;
    }

    /// The bytes as a running system sees them.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.inner.lock().bytes.clone()
    }

    /// The operations so far.
    pub(super) fn log(&self) -> Vec<Operation> {
        self.inner.lock().log.clone()
    }

    fn operate(&self, operation: Operation) -> io::Result<()> {
        let mut inner = self.inner.lock();
        let number = inner.log.len();
        let mut done = Some(operation.clone());
        let mut result = Ok(());
        if let Some((at, fault)) = inner.fault
            && (number == at || inner.stuck && number > at)
        {
            result = Err(io::Error::other("simulated failure"));
            done = match (fault, operation) {
                (Fault::All, operation) => Some(operation),
                (Fault::Half, Operation::Write(offset, bytes)) => {
                    Some(Operation::Write(offset, bytes[..bytes.len() / 2].to_vec()))
                }
                _ => None,
            };
        }
        match done {
            Some(operation) => {
                apply(&mut inner.bytes, &operation);
                inner.log.push(operation);
            }
            // Something that does nothing, to keep count.
            None => inner.log.push(Operation::Write(0, Vec::new())),
        }
        result
    }
}

/// Does an operation to the bytes of a medium.
pub(super) fn apply(bytes: &mut Vec<u8>, operation: &Operation) {
    match operation {
        Operation::Write(offset, new) => {
            let start = *offset as usize;
            if bytes.len() < start + new.len() && !new.is_empty() {
                bytes.resize(start + new.len(), 0);
            }
            if !new.is_empty() {
                bytes[start..start + new.len()].copy_from_slice(new);
            }
        }
        Operation::SetLen(length) => bytes.resize(*length as usize, 0),
        Operation::Sync => {}
    }
}

impl Source for SimulatedMedium {
    fn len(&self) -> io::Result<u64> {
        Ok(self.inner.lock().bytes.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let inner = self.inner.lock();
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let bytes = inner.bytes.get(start..start + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

impl Medium for SimulatedMedium {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.operate(Operation::Write(offset, bytes.to_vec()))
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.operate(Operation::SetLen(length))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.operate(Operation::Sync)
    }
}
