//! A call to the system that fails, at any point and in any way: no panic, and nothing lost that was acknowledged.

use super::super::{Fault, Run, Trouble};
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
                    Run::new(&plan).fail(&plan.steps, Trouble::Call { after, fault, stuck });
                    count += 1;
                }
            }
        }
    }
    println!("{count} failures at {calls} calls of {} steps", plan.steps.len());
}

/// A disk that is full, at any length of its files: what fails is refused, and goes on when there is room.
#[test]
fn a_full_disk_refuses_and_goes_on_when_there_is_room() {
    let (steps, stride) = (effort("PLICA_FAULT_STEPS", 60), effort("PLICA_FULL_STRIDE", 1_501));
    let plan = plan(4, steps);
    let mut run = Run::new(&plan);
    let least = run.disk().now().files.iter().map(Vec::len).sum::<usize>();
    plan.steps.iter().for_each(|step| run.step(step).unwrap());
    run.finish();
    let most = run.disk().now().files.iter().map(Vec::len).sum::<usize>();
    let mut count = 0;
    for bytes in (least..most).step_by(stride) {
        Run::new(&plan).fail(&plan.steps, Trouble::Full { bytes: bytes as u64 });
        count += 1;
    }
    assert!(count > 5, "{count} sizes from {least} to {most} bytes");
}
