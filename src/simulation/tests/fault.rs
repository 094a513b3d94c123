//! A call to the system that fails, at any point and in any way: no panic, and nothing lost that was acknowledged.

use super::super::{Fault, Run};
use super::{effort, plan};

/// Every call of a run (or every so many) fails in every way, once and for ever.
#[test]
fn whichever_call_fails_nothing_that_was_acknowledged_is_lost() {
    let (steps, stride) = (effort("PLICA_FAULT_STEPS", 30), effort("PLICA_FAULT_STRIDE", 29));
    let plan = plan(4, steps);
    let mut run = Run::new(&plan);
    plan.steps.iter().for_each(|step| run.step(step).unwrap());
    run.finish();
    let calls = run.disk().calls();
    let mut count = 0;
    for (number, after) in (0..calls).step_by(stride).enumerate() {
        for (way, fault) in Fault::EVERY.into_iter().enumerate() {
            for stuck in [false, true] {
                // A slice takes each way somewhere, the whole run each way everywhere.
                if stride == 1 || (number + way) % 4 == 0 {
                    Run::new(&plan).fail(&plan.steps, after, fault, stuck);
                    count += 1;
                }
            }
        }
    }
    println!("{count} failures at {calls} calls of {} steps", plan.steps.len());
}
