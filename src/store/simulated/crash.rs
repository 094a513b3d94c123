//! The states that a power loss can leave.
//!
//! Of what was done to a file since its last good sync, any part may be on the medium: some writes and not others,
//! whatever their order; of a write, some sectors and not others; a new length, or not. Names change in their order, and
//! may be behind. What was synced is there.

use super::{Content, Disk, FileNumber, Operation};
use plica_format::limits::{FIRST_BLOCK_OFFSET, PAGE_BYTES};

/// A generator of choices (xorshift).
#[derive(Debug, Clone)]
pub(crate) struct Choices(u64);

impl Choices {
    /// Choices that depend on nothing but `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }

    /// True once in so many times.
    pub(crate) fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }
}

/// An operation that may be on the medium.
#[derive(Debug, Clone)]
struct Pending {
    operation: Operation,
    /// No later sync makes it durable.
    is_lost: bool,
}

/// The way through the operations of a disk, with what is durable and what may be at each point.
#[derive(Debug)]
pub(crate) struct Replay {
    log: Vec<Operation>,
    at: usize,
    durable: Content,
    /// To files.
    pending: Vec<Pending>,
    /// To names.
    names: Vec<Operation>,
}

impl Replay {
    /// Before the first operation of a disk.
    pub(crate) fn of(disk: &Disk) -> Self {
        Self { log: disk.log(), at: 0, durable: disk.base(), pending: Vec::new(), names: Vec::new() }
    }

    /// Operations that have been gone through.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Goes on by an operation; false where there is none.
    pub(crate) fn advance(&mut self, choices: &mut Choices) -> bool {
        let Some(operation) = self.log.get(self.at).cloned() else { return false };
        self.at += 1;
        match operation {
            Operation::Write { .. } | Operation::SetLen { .. } => {
                self.pending.push(Pending { operation, is_lost: false });
            }
            Operation::Sync { file } => self.sync(file, choices),
            Operation::LostSync { file } => {
                self.pending
                    .iter_mut()
                    .filter(|pending| is_of(&pending.operation, file))
                    .for_each(|p| p.is_lost = true);
            }
            Operation::Create { file, .. } => {
                self.durable.files.resize(self.durable.files.len().max(file + 1), Vec::new());
                self.names.push(operation);
            }
            Operation::Rename { .. } | Operation::Remove { .. } => self.names.push(operation),
            Operation::SyncFolder => {
                let durable = &mut self.durable;
                self.names.drain(..).for_each(|operation| durable.apply(&operation));
            }
        }
        true
    }

    fn sync(&mut self, file: FileNumber, choices: &mut Choices) {
        let durable = &mut self.durable;
        self.pending.retain(|pending| {
            let is_of = is_of(&pending.operation, file);
            if is_of && (!pending.is_lost || choices.one_in(2)) {
                durable.apply(&pending.operation);
            }
            !is_of
        });
    }

    /// How many parts of what is pending there are, if up to `most`; else the samples to take.
    pub(crate) fn subsets(&self, most_bits: usize) -> usize {
        (1 << self.pending.len().min(most_bits)) * (self.names.len() + 1)
    }

    /// A state that a power loss can leave now. The numbers below [`Replay::subsets`] go through all parts of what is pending,
    /// where there are so few; each is torn by chance.
    pub(crate) fn crash(&self, number: usize, most_bits: usize, choices: &mut Choices) -> Content {
        let mut image = self.durable.clone();
        let (subset, names) = (number / (self.names.len() + 1), number % (self.names.len() + 1));
        self.names.iter().take(names).for_each(|operation| image.apply(operation));
        let everything = self.pending.len() <= most_bits;
        for (index, pending) in self.pending.iter().enumerate() {
            let kept = if everything { subset >> index & 1 == 1 } else { subset == 0 || choices.one_in(2) };
            if kept {
                tear(&mut image, &pending.operation, choices);
            }
        }
        for (file, durable) in image.files.iter_mut().zip(&self.durable.files) {
            // The length is written apart from the bytes.
            if file.len() > durable.len() && choices.one_in(4) {
                file.truncate(durable.len() + choices.below(file.len() - durable.len()));
            }
        }
        image
    }
}

/// Whether an operation is one to the bytes of a file.
fn is_of(operation: &Operation, number: FileNumber) -> bool {
    matches!(operation, Operation::Write { file, .. } | Operation::SetLen { file, .. } if *file == number)
}

/// Whether a slot lies at an offset.
fn is_slot(offset: u64) -> bool {
    (PAGE_BYTES as u64..FIRST_BLOCK_OFFSET).contains(&offset)
}

/// Lets a write reach the medium, sometimes only some of its sectors. Of a head page, which has its sectors to itself, the
/// one that was being written when the power went may hold anything.
fn tear(image: &mut Content, operation: &Operation, choices: &mut Choices) {
    let Operation::Write { file, offset, bytes } = operation else { return image.apply(operation) };
    let sector = if choices.one_in(2) { 512 } else { 4096 };
    let torn = bytes.len() > 512 && choices.one_in(4);
    // A head page is torn once, data in any way.
    let is_head = *offset < FIRST_BLOCK_OFFSET;
    let sector = if is_head { 512 } else { sector };
    let (first, parity) = (choices.below(bytes.len() / sector + 1), choices.below(2));
    for (number, part) in bytes.chunks(sector).enumerate() {
        let kept = if is_head { (number < first) == (parity == 0) } else { choices.one_in(2) };
        if !torn || kept {
            let offset = offset + (number * sector) as u64;
            image.apply(&Operation::Write { file: *file, offset, bytes: part.to_vec() });
        }
        if torn && is_slot(*offset) && number == first && choices.one_in(2) {
            let bytes = part.iter().map(|_| choices.below(256) as u8).collect();
            image.apply(&Operation::Write { file: *file, offset: offset + (number * sector) as u64, bytes });
        }
    }
}
