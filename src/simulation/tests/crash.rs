//! After any crash a reader finds what was acknowledged or is in doubt, whole, and a writer goes on from there.

use super::super::{Choices, Run};
use super::{effort, plan};

#[test]
fn after_any_crash_an_index_holds_what_was_acknowledged_or_is_in_doubt() {
    let states = effort("PLICA_INDEX_CRASH_STATES", 2_000);
    let (mut count, mut seed) = (0, 0);
    while count < states {
        seed += 1;
        let plan = plan(seed, 24);
        // Shown where the test fails.
        println!("seed {seed}: {plan:?}");
        let mut run = Run::new(&plan);
        for step in &plan.steps {
            run.step(step).unwrap_or_else(|error| panic!("seed {seed}, {step:?}: {error}"));
        }
        run.finish();
        count += run.crash_some(&mut Choices::new(seed), 12, 64);
    }
    println!("{count} states of {seed} indexes");
}
