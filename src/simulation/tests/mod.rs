//! Crashes and failures of whole indexes.

mod crash;
mod fault;
mod live;

use super::{Choices, Plan};

/// A plan by chance.
fn plan(seed: u64, steps: usize) -> Plan {
    let mut choices = Choices::new(seed);
    let bytes: Vec<u8> = (0..steps * 3).map(|_| choices.below(256) as u8).collect();
    Plan::read(&bytes, steps)
}

/// How much of the whole run is to be done; a slice where nothing is said.
fn effort(variable: &str, slice: usize) -> usize {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(slice)
}
