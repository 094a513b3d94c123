//! The ways in which a call fails.

use std::io;

/// How a call is to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The device says that it cannot; nothing is done.
    Io,
    /// There is no room; nothing is done.
    NoSpace,
    /// A signal came first; nothing is done.
    Interrupted,
    /// A write does only half of what it was asked, and says so. Other calls work.
    Short,
    /// A write reaches the disk in its first half, another call not at all, and it says that it failed.
    Half,
    /// It does all, and says that it failed.
    All,
    /// A sync says that it failed, and what was not durable counts as written all the same. With `forgotten` it is not
    /// even seen any more. Other calls do nothing, and say that they failed.
    LostPages { forgotten: bool },
}

impl Fault {
    /// All of them.
    pub(crate) const EVERY: [Self; 8] = [
        Self::Io,
        Self::NoSpace,
        Self::Interrupted,
        Self::Short,
        Self::Half,
        Self::All,
        Self::LostPages { forgotten: false },
        Self::LostPages { forgotten: true },
    ];

    /// What the call says.
    pub(super) fn error(self) -> io::Error {
        match self {
            Self::NoSpace => io::ErrorKind::StorageFull.into(),
            Self::Interrupted => io::ErrorKind::Interrupted.into(),
            _ => io::Error::other("simulated failure of the device"),
        }
    }

    /// A read with this fault. Reads that are interrupted or come in parts are the business of the source.
    pub(super) fn refuse_read(self) -> io::Result<()> {
        if matches!(self, Self::Short | Self::Interrupted) { Ok(()) } else { Err(self.error()) }
    }
}

/// Which call is to fail.
#[derive(Debug, Default)]
pub(super) struct Faults {
    calls: usize,
    planned: Option<(usize, Fault, bool)>,
    /// Calls that failed since the last plan.
    failed: usize,
}

impl Faults {
    pub(super) fn calls(&self) -> usize {
        self.calls
    }

    pub(super) fn set(&mut self, after: usize, fault: Fault, stuck: bool) {
        (self.planned, self.failed) = (Some((self.calls + after, fault, stuck)), 0);
    }

    pub(super) fn heal(&mut self) -> bool {
        self.planned = None;
        std::mem::take(&mut self.failed) > 0
    }

    /// Counts a call; gives how it is to fail.
    pub(super) fn next(&mut self) -> Option<Fault> {
        let number = self.calls;
        self.calls += 1;
        let (at, fault, stuck) = self.planned?;
        let fails = number == at || stuck && number > at;
        self.failed += usize::from(fails);
        fails.then_some(fault)
    }
}
