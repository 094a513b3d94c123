//! Clocks and counters: calls timed one by one and interleaved, the core that a thread stays on, and what the system
//! counts of a process.
//!
//! Peers are measured in the same run, turn by turn, so that a slow moment of the machine hits all of them. Each round
//! asks every question of every peer, ten questions in a row before the next peer's turn (a lone call would pay for the
//! instructions that the others pushed out of the caches), questions and turns in orders shuffled by a fixed seed; the
//! first round warms up and is not counted. A set of calls is cut short when it has used
//! up its time, never before one counted round.

use crate::{Random, Result};
use rustix::thread::CpuSet;
use std::time::{Duration, Instant};

/// Questions that a peer answers in a row.
const IN_A_ROW: usize = 10;

/// Times of the calls of one peer, in microseconds.
#[derive(Debug, Clone, Default)]
pub struct Times {
    /// All calls, sorted.
    all: Vec<f64>,
    /// The median of each question, in the order of the questions.
    medians: Vec<f64>,
}

impl Times {
    /// Of single samples, where there are no questions to tell apart.
    pub fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        Self { medians: samples.clone(), all: samples }
    }

    /// The value below which a share of all calls is.
    pub fn quantile(&self, share: f64) -> f64 {
        let last = self.all.len().saturating_sub(1);
        self.all.get(((last as f64) * share).round() as usize).copied().unwrap_or(f64::NAN)
    }

    /// The median of all calls.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The mean over the questions of each one's median: its inverse is the throughput.
    pub fn mean(&self) -> f64 {
        self.medians.iter().sum::<f64>() / self.medians.len().max(1) as f64
    }

    /// How many calls there were.
    pub fn count(&self) -> usize {
        self.all.len()
    }
}

/// A peer's call: it answers a question by number. What it gives is kept from being optimised away.
pub type Call<'a> = Box<dyn FnMut(usize) -> Result<u64> + 'a>;

/// Times `questions` questions to each of `calls`, interleaved, in `rounds` rounds or as many as fit into `limit`.
pub fn interleaved(questions: usize, rounds: u32, limit: Duration, calls: &mut [Call<'_>]) -> Result<Vec<Times>> {
    let mut samples: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); questions]; calls.len()];
    let mut order: Vec<usize> = (0..questions).collect();
    let mut peers: Vec<usize> = (0..calls.len()).collect();
    let mut random = Random::new(0x5EED);
    let begun = Instant::now();
    for round in 0..=rounds {
        shuffle(&mut order, &mut random);
        for turn in order.chunks(IN_A_ROW) {
            shuffle(&mut peers, &mut random);
            for &peer in &peers {
                for &question in turn {
                    let start = Instant::now();
                    std::hint::black_box(calls[peer](question)?);
                    let micros = start.elapsed().as_secs_f64() * 1e6;
                    if round > 0 {
                        samples[peer][question].push(micros);
                    }
                }
            }
        }
        if round > 0 && begun.elapsed() > limit {
            break;
        }
    }
    Ok(samples.into_iter().map(|of_peer| of_questions(of_peer)).collect())
}

fn of_questions(of_peer: Vec<Vec<f64>>) -> Times {
    let medians = of_peer.iter().map(|list| Times::of(list.clone()).median()).collect();
    Times { medians, ..Times::of(of_peer.into_iter().flatten().collect()) }
}

/// Puts a list into an order that depends on the generator alone.
pub fn shuffle<T>(list: &mut [T], random: &mut Random) {
    for at in (1..list.len()).rev() {
        list.swap(at, (random.next() % (at as u64 + 1)) as usize);
    }
}

/// A clock that runs only while it is asked to: wall and processor time of this process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stopwatch {
    /// Wall time.
    pub wall: Duration,
    /// Processor time of all threads.
    pub cpu: Duration,
}

impl Stopwatch {
    /// Adds the time that `work` takes.
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (Instant::now(), cpu_time());
        let out = work();
        self.wall += wall.elapsed();
        self.cpu += cpu_time().saturating_sub(cpu);
        out
    }

    /// Cores that were busy on average.
    pub fn cores(&self) -> f64 {
        self.cpu.as_secs_f64() / self.wall.as_secs_f64().max(1e-9)
    }
}

/// Processor time of this process so far, of all its threads, as Linux counts it: in hundredths of a second.
pub fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program stands in parentheses, and may hold anything.
    let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
    let ticks: u64 = behind.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Keeps this thread, and the threads that it starts from now on, on these cores. Gives whether the system did.
pub fn pin(cores: impl IntoIterator<Item = usize>) -> bool {
    let mut set = CpuSet::new();
    for core in cores {
        set.set(core);
    }
    rustix::thread::sched_setaffinity(None, &set).is_ok()
}

/// A counter of `/proc/self/io`: `wchar` (bytes handed to write calls), `rchar` (bytes got from read calls).
pub fn io_counter(name: &str) -> Option<u64> {
    let counters = std::fs::read_to_string("/proc/self/io").ok()?;
    counters.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.trim().parse().ok())
}

/// Peak of the resident memory of this process in bytes, where the system says it.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_asked_of_every_peer_once_a_round_and_once_to_warm_up() {
        let mut asked = vec![[0; 2]; 5];
        let counts = std::cell::RefCell::new(&mut asked);
        let call = |peer: usize| -> Call<'_> {
            let counts = &counts;
            Box::new(move |question| {
                counts.borrow_mut()[question][peer] += 1;
                Ok(0)
            })
        };
        let times = interleaved(5, 3, Duration::from_secs(60), &mut [call(0), call(1)]).unwrap();
        assert_eq!(times.iter().map(Times::count).collect::<Vec<_>>(), [15, 15]);
        assert!(asked.iter().all(|counts| *counts == [4, 4]));
    }

    #[test]
    fn quantiles_are_of_sorted_samples() {
        let times = Times::of((0..=1000).rev().map(f64::from).collect());
        assert_eq!((times.median(), times.quantile(0.99), times.quantile(0.999)), (500.0, 990.0, 999.0));
    }
}
