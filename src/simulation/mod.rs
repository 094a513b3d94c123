//! An index on a simulated disk, held against a plain model.
//!
//! A [`Plan`] is a list of what a user may do: append, summarize, remove, replace, commit, roll back, vacuum, close and
//! open again. A [`Run`] carries it out on a disk that remembers every call ([`Disk`]) and keeps, beside the index, a
//! [`Model`]: plain lists of what is there, one for what was acknowledged and one for what is in doubt. Whatever
//! happens to the disk, a reader must find one of these two, whole, at every moment. Plans are read from bytes, so a fuzzer can write
//! them.
//!
//! For tests and fuzzing alone: nothing here is part of the interface.

mod import;
mod model;
mod plan;
mod run;
#[cfg(test)]
mod tests;
mod watch;

pub(crate) use crate::store::simulated::{Choices, Content, Disk, Fault, Past, Replay};
pub use import::{fuzz_import, small_index};
pub(crate) use plan::{Plan, Step};
pub(crate) use run::{NAME, Run, Trouble};

/// Subsets of unsynced writes that are tried after each operation of a fuzzed plan: all of so many bits.
const FUZZED_BITS: usize = 2;
/// Steps of a fuzzed plan at most.
const FUZZED_STEPS: usize = 40;

/// Carries out the plan that `bytes` are read as, with crashes after its operations and a failure at one of them.
///
/// # Panics
/// Where a reader finds anything but what was acknowledged or is in doubt. A fuzzer takes this as a finding.
pub fn fuzz_history(bytes: &[u8]) {
    let (first, rest) = bytes.split_at(bytes.len().min(4));
    let seed = first.iter().fold(0, |seed, &byte| seed << 8 | u64::from(byte));
    let mut choices = Choices::new(seed);
    let plan = Plan::read(rest, FUZZED_STEPS);
    let mut run = Run::new(&plan);
    for step in &plan.steps {
        run.step(step).unwrap_or_else(|error| panic!("{step:?}: {error}"));
    }
    run.finish();
    run.crash_some(&mut choices, FUZZED_BITS, 12);
    run.watch(&mut choices, 4);
    let trouble = match choices.below(Fault::EVERY.len() + 1).checked_sub(1) {
        Some(way) => {
            let (after, stuck) = (choices.below(run.disk().calls()), choices.one_in(2));
            Trouble::Call { after, fault: Fault::EVERY[way], stuck }
        }
        None => Trouble::Full { bytes: choices.below(run.disk().bytes(NAME).map_or(0, |bytes| bytes.len())) as u64 },
    };
    Run::new(&plan).fail(&plan.steps, trouble);
}
