//! Crashes: whatever subset of the unsynced writes reaches the medium, whole or torn, the next opening finds the last
//! acknowledged commit or the one in doubt, and all its blocks.
//!
//! Runs of commits (immediate and deferred), rollbacks and reopenings are made over a medium that logs every
//! operation. After each operation a number of media that a power loss could leave are made and opened, for reading
//! and for writing; the recovery that the latter does is cut short in the same way, and so is the commit after it.

use super::super::head::Head;
use super::super::memory::MemorySource;
use super::super::open::open_source;
use super::super::simulated::{Choices, Disk, Fault, Operation, Replay};
use super::super::{Blocks, Durability, StoreWriter};
use super::{create, decode_state, encode_state, open, options, payload};
use crate::Error;
use crate::format::block::{BlockKind, Reference};
use std::collections::HashMap;
use std::sync::Arc;

/// The name of the file.
const NAME: &str = "a.plica";

/// How many states are to be tried, and of how many unsynced writes every part is: the whole run sets the first by
/// `PLICA_CRASH_STATES`.
fn effort() -> (usize, usize) {
    match std::env::var("PLICA_CRASH_STATES").ok().and_then(|states| states.parse().ok()) {
        Some(states) => (states, 12),
        None => (20_000, 6),
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
    disk: Disk,
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
        let disk = Disk::with_file(NAME, base);
        Self { disk, marks: vec![Mark { at: 0, acknowledged, doubt }], contents }
    }

    /// A run on a new index, and its writer.
    pub(super) fn new(salt: u64) -> (Self, StoreWriter) {
        let disk = Disk::default();
        let writer = create(&disk, NAME, &options(salt)).unwrap();
        let run = Self::on(disk.bytes(NAME).unwrap(), expected(writer.head()), None, HashMap::new());
        drop(writer);
        let writer = open(&run.disk, NAME, &options(salt)).unwrap().0;
        (run, writer)
    }

    fn last(&self) -> &Mark {
        self.marks.last().unwrap()
    }

    fn mark(&mut self, acknowledged: Expected, doubt: Option<Expected>) {
        self.marks.push(Mark { at: self.disk.operations(), acknowledged, doubt });
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
                    let (opened, report) = open(&self.disk, NAME, &options).unwrap();
                    assert!(report.clean && report.adopted.is_none() && report.discarded.is_none());
                    assert_eq!(expected(opened.head()), self.last().acknowledged);
                    writer = opened;
                }
            }
        }
    }

    /// Makes states that a crash after each operation could leave, and opens them. Returns how many. `depth` 0 is a run,
    /// 1 what came after a crash of it.
    pub(super) fn crash_everywhere(&self, choices: &mut Choices, bits: usize, depth: usize) -> usize {
        let mut replay = Replay::of(&self.disk);
        let mut count = 0;
        loop {
            // The last mark before the operation holds while it runs, those at it after it.
            let mark = self.marks.iter().rfind(|mark| mark.at <= replay.at()).unwrap();
            let subsets = replay.subsets(bits);
            let rounds = if depth == 0 { 3 } else { 1 };
            for number in (0..subsets).cycle().take(rounds * subsets) {
                if depth > 0 && !choices.one_in(6) {
                    continue;
                }
                let content = replay.crash(number, bits, choices);
                count += 1 + self.check(content.named(NAME).unwrap().to_vec(), mark, choices, bits, depth);
            }
            if !replay.advance(choices) {
                return count;
            }
        }
    }

    /// Opens what a crash has left.
    fn check(&self, image: Vec<u8>, mark: &Mark, choices: &mut Choices, bits: usize, depth: usize) -> usize {
        let opened = open_source(Arc::new(MemorySource::new(image.clone().into()))).unwrap_or_else(|error| {
            panic!("commit {:?}, doubt {:?}: {error}", mark.acknowledged.0, mark.doubt.is_some())
        });
        let found = expected(&opened.head);
        self.demand(&found, mark);
        self.demand_blocks(&opened.blocks, &found);

        let mut run = Self::on(image, mark.acknowledged.clone(), mark.doubt.clone(), self.contents.clone());
        let (mut writer, report) = open(&run.disk, NAME, &options(choices.below(1 << 20) as u64)).unwrap();
        assert_eq!(expected(writer.head()), found, "reader and writer agree");
        let adopted = report.adopted.map_or(found.0, |adopted| adopted);
        assert_eq!(adopted, found.0);
        run.mark(found.clone(), None);
        self.demand_blocks(&writer.blocks().unwrap(), &found);
        if depth == 0 && choices.one_in(3) {
            let state = run.append(&mut writer, choices).unwrap();
            run.commit(&mut writer, state, Durability::Immediate).unwrap();
            return run.crash_everywhere(choices, bits, 1);
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

#[test]
fn after_any_crash_the_acknowledged_commit_or_the_one_in_doubt_is_there() {
    let ((states, bits), mut count) = (effort(), 0);
    for seed in 1.. {
        let mut choices = Choices::new(seed);
        let (mut run, writer) = Run::new(seed);
        run.go(writer, &mut choices);
        count += run.crash_everywhere(&mut choices, bits, 0);
        if count >= states {
            println!("{count} states of {seed} runs of the store");
            return;
        }
    }
}

/// A commit that is reported as not made must not come up after a later power loss, and one in doubt must be there
/// whole or not at all, whichever operation fails, and however much of it was done.
#[test]
fn failures_mean_what_they_say_even_when_a_crash_follows() {
    let mut choices = Choices::new(99);
    let (mut refused, mut doubtful) = (0, 0);
    for fault in Fault::EVERY {
        for (after, stuck) in (0..6).flat_map(|after| [(after, false), (after, true)]) {
            let (mut run, mut writer) = Run::new(5);
            let state = run.append(&mut writer, &mut choices).unwrap();
            run.commit(&mut writer, state, Durability::Immediate).unwrap();
            let state = run.append(&mut writer, &mut choices).unwrap();
            run.disk.fail(after, fault, stuck);
            let result = run.commit(&mut writer, state.clone(), Durability::Immediate);
            run.disk.heal();
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
            run.crash_everywhere(&mut choices, 6, 0);
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
    let start = run.disk.log().len();
    writer.append(BlockKind::Text, &payload(2, 0, 3_000), false).unwrap();
    writer.blocks().unwrap();
    writer.rollback().unwrap();
    let reference = writer.append(BlockKind::Text, &payload(9, 0, 3_000), false).unwrap();
    writer.blocks().unwrap();
    writer.commit(encode_state(&[reference]), Durability::Immediate).unwrap();
    let log = run.disk.log();
    let [first, _cut, second, commit, intent] = &log[start..start + 5] else { panic!("five operations expected") };
    let open = |operations: &[&Operation]| {
        let image = run.disk.base().after(operations);
        let image = image.named(NAME).unwrap().to_vec();
        open_source(Arc::new(MemorySource::new(image.into()))).unwrap().head.commit.sequence
    };
    assert_eq!(open(&[first, second, commit, intent]), 2);
    assert_eq!(open(&[first, commit, intent]), 1);
}

#[test]
fn a_creation_that_is_cut_short_leaves_no_index_or_a_whole_one() {
    let disk = Disk::default();
    drop(create(&disk, NAME, &options(1)).unwrap());
    let log: Vec<Operation> = disk.log();
    for at in 0..=log.len() {
        let image = disk.base().after(&log[..at].iter().collect::<Vec<_>>());
        let image = image.named(NAME).unwrap_or_default().to_vec();
        match open_source(Arc::new(MemorySource::new(image.into()))) {
            Ok(opened) => assert_eq!(opened.head.commit.sequence, 1),
            Err(Error::NotAnIndex { .. } | Error::Damaged { .. }) => assert!(at < log.len()),
            Err(error) => panic!("{error}"),
        }
    }
}
