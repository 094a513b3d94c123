//! Crashes: whatever subset of the unsynced writes reaches the medium, whole or torn, the next opening finds the last
//! acknowledged commit or the one in doubt, and all its blocks.
//!
//! Runs of commits (immediate and deferred), rollbacks and reopenings are made over a medium that logs every
//! operation. After each operation a number of media that a power loss could leave are made and opened, for reading
//! and for writing; the recovery that the latter does is cut short in the same way, and so is the commit after it.

use super::super::head::Head;
use super::super::memory::MemorySource;
use super::super::open::open_source;
use super::super::{Blocks, Durability, StoreWriter};
use super::simulated::{Fault, Operation, SimulatedMedium, apply};
use super::{decode_state, encode_state, options, parameters, payload};
use crate::Error;
use crate::format::block::{BlockKind, Reference};
use crate::format::limits::FIRST_BLOCK_OFFSET;
use std::collections::HashMap;
use std::sync::Arc;

/// Media made at each point: all subsets of up to this many unsynced writes, samples of more.
const SUBSET_BITS: usize = 6;

/// A generator of choices (xorshift).
pub(super) struct Choices(pub(super) u64);

impl Choices {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }
}

/// A commit by what it says: number and state.
type Expected = (u64, Vec<u8>);

/// What may be found from the `at`th operation on.
#[derive(Clone)]
struct Mark {
    at: usize,
    acknowledged: Expected,
    doubt: Option<Expected>,
}

/// One run and what may be found after each of its operations.
pub(super) struct Run {
    medium: SimulatedMedium,
    /// What was durable before the first operation.
    base: Vec<u8>,
    marks: Vec<Mark>,
    /// Blocks that were appended, by reference.
    contents: HashMap<Reference, Vec<u8>>,
}

fn expected(head: &Head) -> Expected {
    (head.commit.sequence, head.commit.state.clone())
}

impl Run {
    /// A run on a medium that may hold either of two commits.
    fn on(
        base: Vec<u8>,
        acknowledged: Expected,
        doubt: Option<Expected>,
        contents: HashMap<Reference, Vec<u8>>,
    ) -> Self {
        let medium = SimulatedMedium::with(base.clone());
        Self { medium, base, marks: vec![Mark { at: 0, acknowledged, doubt }], contents }
    }

    /// A run on a new index, and its writer.
    pub(super) fn new(salt: u64) -> (Self, StoreWriter) {
        let medium = SimulatedMedium::default();
        let writer = StoreWriter::create_on(Arc::new(medium.clone()), None, parameters(), &options(salt)).unwrap();
        let run = Self::on(medium.bytes(), expected(writer.head()), None, HashMap::new());
        drop(writer);
        let writer = StoreWriter::open_on(Arc::new(run.medium.clone()), None, &options(salt)).unwrap().0;
        (run, writer)
    }

    fn last(&self) -> &Mark {
        self.marks.last().unwrap()
    }

    fn mark(&mut self, acknowledged: Expected, doubt: Option<Expected>) {
        self.marks.push(Mark { at: self.medium.log().len(), acknowledged, doubt });
    }

    /// Appends blocks and returns the state that refers to them and all committed ones.
    fn append(&mut self, writer: &mut StoreWriter, choices: &mut Choices) -> crate::Result<Vec<u8>> {
        let mut references = decode_state(&writer.head().commit.state);
        for block in 0..1 + choices.below(3) as u64 {
            let kind = [BlockKind::Text, BlockKind::Fold, BlockKind::Leaf][choices.below(3)];
            let bytes = payload(choices.below(1_000) as u64, block, choices.below(6_000));
            let reference = writer.append(kind, &bytes, choices.one_in(2))?;
            self.contents.insert(reference, bytes);
            if choices.one_in(3) {
                // Writes what is buffered, so that a commit takes several writes.
                writer.blocks()?;
            }
            references.push(reference);
        }
        Ok(encode_state(&references))
    }

    /// One commit, with the marks around it.
    fn commit(&mut self, writer: &mut StoreWriter, state: Vec<u8>, durability: Durability) -> crate::Result<()> {
        let next = (writer.head().commit.sequence + 1, state.clone());
        let acknowledged = self.last().acknowledged.clone();
        let doubt = (durability == Durability::Immediate).then_some(next.clone());
        self.mark(acknowledged.clone(), doubt.clone());
        match writer.commit(state, durability) {
            Ok(head) => {
                assert_eq!(expected(&head), next);
                if durability == Durability::Immediate {
                    self.mark(next, None);
                }
                Ok(())
            }
            Err(error) => {
                self.mark(acknowledged, if matches!(error, Error::InDoubt { .. }) { doubt } else { None });
                Err(error)
            }
        }
    }

    /// A random run of a few steps.
    fn go(&mut self, mut writer: StoreWriter, choices: &mut Choices) {
        for step in 0..3 + choices.below(4) {
            match choices.below(10) {
                0..=4 => {
                    let state = self.append(&mut writer, choices).unwrap();
                    self.commit(&mut writer, state, Durability::Immediate).unwrap();
                }
                5 | 6 => {
                    let state = self.append(&mut writer, choices).unwrap();
                    self.commit(&mut writer, state, Durability::Deferred).unwrap();
                }
                7 => {
                    self.append(&mut writer, choices).unwrap();
                    if choices.one_in(2) {
                        writer.blocks().unwrap();
                    }
                    writer.rollback().unwrap();
                }
                8 => {
                    let (acknowledged, head) = (self.last().acknowledged.clone(), expected(writer.head()));
                    self.mark(acknowledged, Some(head.clone()));
                    writer.sync().unwrap();
                    self.mark(head, None);
                }
                _ => {
                    drop(writer);
                    let options = options(choices.below(3) as u64 + step as u64);
                    let (opened, report) = StoreWriter::open_on(Arc::new(self.medium.clone()), None, &options).unwrap();
                    assert!(report.clean && report.adopted.is_none() && report.discarded.is_none());
                    assert_eq!(expected(opened.head()), self.last().acknowledged);
                    writer = opened;
                }
            }
        }
    }

    /// Makes media that a crash after each operation could leave, and opens them. Returns how many.
    pub(super) fn crash_everywhere(&self, choices: &mut Choices, depth: usize) -> usize {
        let log = self.medium.log();
        let mut durable = self.base.clone();
        let mut pending: Vec<&Operation> = Vec::new();
        let mut count = 0;
        for at in 0..=log.len() {
            if let Some(operation) = at.checked_sub(1).map(|last| &log[last]) {
                match operation {
                    Operation::Sync => pending.drain(..).for_each(|operation| apply(&mut durable, operation)),
                    other => pending.push(other),
                }
            }
            // The last mark before the operation holds while it runs, those at it after it.
            let reached: Vec<&Mark> = self.marks.iter().filter(|mark| mark.at <= at).collect();
            let mark = reached[reached.len() - 1];
            let bits = pending.len().min(SUBSET_BITS);
            let rounds = if depth == 0 { 3 } else { 1 };
            for subset in (0..1usize << bits).cycle().take(rounds << bits) {
                if depth > 0 && !choices.one_in(6) {
                    continue;
                }
                let everything = pending.len() <= SUBSET_BITS;
                let kept = |index: usize, choices: &mut Choices| {
                    if everything { subset >> index & 1 == 1 } else { subset == 0 || choices.one_in(2) }
                };
                let mut image = durable.clone();
                for (index, operation) in pending.iter().enumerate() {
                    if kept(index, choices) {
                        tear(&mut image, operation, choices);
                    }
                }
                if image.len() > durable.len() && choices.one_in(4) {
                    let length = durable.len() + choices.below(image.len() - durable.len());
                    image.truncate(length);
                }
                count += 1 + self.check(image, mark, choices, depth);
            }
        }
        count
    }

    /// Opens a medium that a crash has left.
    fn check(&self, image: Vec<u8>, mark: &Mark, choices: &mut Choices, depth: usize) -> usize {
        let opened = open_source(Arc::new(MemorySource::new(image.clone().into()))).unwrap_or_else(|error| {
            panic!("commit {:?}, doubt {:?}: {error}", mark.acknowledged.0, mark.doubt.is_some())
        });
        let found = expected(&opened.head);
        self.demand(&found, mark);
        self.demand_blocks(&opened.blocks, &found);

        let mut run = Self::on(image, mark.acknowledged.clone(), mark.doubt.clone(), self.contents.clone());
        let options = options(choices.below(1 << 20) as u64);
        let (mut writer, report) = StoreWriter::open_on(Arc::new(run.medium.clone()), None, &options).unwrap();
        assert_eq!(expected(writer.head()), found, "reader and writer agree");
        let adopted = report.adopted.map_or(found.0, |adopted| adopted);
        assert_eq!(adopted, found.0);
        run.mark(found.clone(), None);
        self.demand_blocks(&writer.blocks().unwrap(), &found);
        if depth == 0 && choices.one_in(3) {
            let state = run.append(&mut writer, choices).unwrap();
            run.commit(&mut writer, state, Durability::Immediate).unwrap();
            return run.crash_everywhere(choices, 1);
        }
        0
    }

    fn demand(&self, found: &Expected, mark: &Mark) {
        let right = *found == mark.acknowledged || mark.doubt.as_ref() == Some(found);
        assert!(
            right,
            "found {}, acknowledged {}, doubt {:?}",
            found.0,
            mark.acknowledged.0,
            mark.doubt.as_ref().map(|d| d.0)
        );
    }

    fn demand_blocks(&self, blocks: &Blocks, (_, state): &Expected) {
        for reference in decode_state(state) {
            assert_eq!(*blocks.read(&reference).unwrap(), self.contents[&reference][..]);
        }
    }
}

/// Lets a write reach the medium, sometimes only some of its sectors.
fn tear(image: &mut Vec<u8>, operation: &Operation, choices: &mut Choices) {
    let Operation::Write(offset, new) = operation else { return apply(image, operation) };
    let torn = new.len() > 512 && choices.one_in(4);
    let (first, parity) = (choices.below(new.len() / 512 + 1), choices.below(2));
    for (sector, bytes) in new.chunks(512).enumerate() {
        // A head page is torn once, data in any way.
        let kept = if *offset < FIRST_BLOCK_OFFSET { (sector < first) == (parity == 0) } else { choices.one_in(2) };
        if !torn || kept {
            apply(image, &Operation::Write(offset + sector as u64 * 512, bytes.to_vec()));
        }
    }
}

#[test]
fn after_any_crash_the_acknowledged_commit_or_the_one_in_doubt_is_there() {
    let mut count = 0;
    for seed in 1..=20u64 {
        let mut choices = Choices(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let (mut run, writer) = Run::new(seed);
        run.go(writer, &mut choices);
        count += run.crash_everywhere(&mut choices, 0);
    }
    assert!(count > 5_000, "{count} media");
}

/// A commit that is reported as not made must not come up after a later power loss, and one in doubt must be there
/// whole or not at all, whichever operation fails, and however much of it was done.
#[test]
fn failures_mean_what_they_say_even_when_a_crash_follows() {
    let mut choices = Choices(99);
    let (mut refused, mut doubtful) = (0, 0);
    for fault in [Fault::Nothing, Fault::Half, Fault::All] {
        for (after, stuck) in (0..6).flat_map(|after| [(after, false), (after, true)]) {
            let (mut run, mut writer) = Run::new(5);
            let state = run.append(&mut writer, &mut choices).unwrap();
            run.commit(&mut writer, state, Durability::Immediate).unwrap();
            let state = run.append(&mut writer, &mut choices).unwrap();
            run.medium.fail(after, fault, stuck);
            let result = run.commit(&mut writer, state.clone(), Durability::Immediate);
            run.medium.heal();
            match result {
                Ok(()) => {}
                Err(Error::NotCommitted { .. }) => {
                    refused += 1;
                    let again = run.append(&mut writer, &mut choices);
                    if stuck {
                        // The file could not be cut while everything failed.
                        assert!(matches!(again, Err(Error::Unusable { .. })));
                    } else {
                        run.commit(&mut writer, again.unwrap(), Durability::Immediate).unwrap();
                    }
                }
                Err(Error::InDoubt { sequence, .. }) => {
                    doubtful += 1;
                    assert_eq!(sequence, 3);
                    assert!(matches!(run.append(&mut writer, &mut choices), Err(Error::Unusable { .. })));
                }
                Err(error) => panic!("{error}"),
            }
            drop(writer);
            run.crash_everywhere(&mut choices, 0);
        }
    }
    assert!(refused > 5 && doubtful > 5, "{refused} refused, {doubtful} in doubt");
}

/// After a rollback other blocks of the same session, of the same lengths, come to lie at the same offsets. If the first
/// ones reach the medium and the second ones do not, the commit is not there, though every block found has a right
/// header and payload: only the covered checksum tells.
#[test]
fn blocks_of_a_rolled_back_attempt_are_not_taken_for_those_of_the_commit() {
    let (run, mut writer) = Run::new(3);
    let start = run.medium.log().len();
    writer.append(BlockKind::Text, &payload(2, 0, 3_000), false).unwrap();
    writer.blocks().unwrap();
    writer.rollback().unwrap();
    let reference = writer.append(BlockKind::Text, &payload(9, 0, 3_000), false).unwrap();
    writer.blocks().unwrap();
    writer.commit(encode_state(&[reference]), Durability::Immediate).unwrap();
    let log = run.medium.log();
    let [first, _cut, second, commit, intent] = &log[start..start + 5] else { panic!("five operations expected") };
    let open = |operations: &[&Operation]| {
        let mut image = run.base.clone();
        operations.iter().for_each(|operation| apply(&mut image, operation));
        open_source(Arc::new(MemorySource::new(image.into()))).unwrap().head.commit.sequence
    };
    assert_eq!(open(&[first, second, commit, intent]), 2);
    assert_eq!(open(&[first, commit, intent]), 1);
}

#[test]
fn a_creation_that_is_cut_short_leaves_no_index_or_a_whole_one() {
    let medium = SimulatedMedium::default();
    drop(StoreWriter::create_on(Arc::new(medium.clone()), None, parameters(), &options(1)).unwrap());
    let log = medium.log();
    for at in 0..=log.len() {
        let mut image = Vec::new();
        log[..at].iter().for_each(|operation| apply(&mut image, operation));
        match open_source(Arc::new(MemorySource::new(image.into()))) {
            Ok(opened) => assert_eq!(opened.head.commit.sequence, 1),
            Err(Error::NotAnIndex { .. } | Error::Damaged { .. }) => assert!(at < log.len()),
            Err(error) => panic!("{error}"),
        }
    }
}
