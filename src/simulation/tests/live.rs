//! A reader beside a live writer finds what was acknowledged or is in doubt, whole, whenever it looks.

use super::super::{Choices, Fault, Run, Trouble};
use super::{effort, plan};

#[test]
fn at_every_operation_of_a_live_writer_readers_find_a_whole_commit() {
    let looks = effort("PLICA_LIVE_LOOKS", 6_000);
    let (mut count, mut seed) = (0, 0);
    while count < looks {
        seed += 1;
        let plan = plan(seed, 30);
        // Shown where the test fails.
        println!("seed {seed}: {plan:?}");
        let mut run = Run::new(&plan);
        for step in &plan.steps {
            run.step(step).unwrap_or_else(|error| panic!("seed {seed}, {step:?}: {error}"));
        }
        run.finish();
        count += run.watch(&mut Choices::new(seed), 2 + seed as usize % 9);
    }
    println!("{count} looks at {seed} indexes");
}

/// The same while a call of the writer fails, so that there are refused commits and ones in doubt, and writers that die.
#[test]
fn at_every_operation_of_a_writer_that_fails_readers_find_a_whole_commit() {
    let looks = effort("PLICA_LIVE_LOOKS", 4_000);
    let ways = [Fault::Io, Fault::Short, Fault::Half, Fault::All, Fault::LostPages { forgotten: false }];
    let (mut count, mut seed) = (0, 100);
    while count < looks {
        seed += 1;
        let (plan, mut choices) = (plan(seed, 16), Choices::new(seed));
        println!("seed {seed}: {plan:?}");
        let mut run = Run::new(&plan);
        plan.steps.iter().for_each(|step| run.step(step).unwrap());
        run.finish();
        let (after, fault) = (choices.below(run.disk().calls()), ways[choices.below(ways.len())]);
        let trouble = Trouble::Call { after, fault, stuck: choices.one_in(2) };
        let run = Run::new(&plan).fail(&plan.steps, trouble);
        count += run.watch(&mut choices, 2 + seed as usize % 9);
    }
    println!("{count} looks at {seed} indexes");
}
