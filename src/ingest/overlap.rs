//! Calls of a model that may run at the same time.

use crate::Result;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `call` for 0 to `count`, on up to `threads` threads, and gives the answers in order. The first error, by
/// number, is the answer where there is one.
pub(super) fn overlap<T: Send>(
    threads: usize,
    count: usize,
    call: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    if threads == 1 || count <= 1 {
        return (0..count).map(call).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return done;
            }
            done.push((at, call(at)));
        }
    };
    let mut answers: Vec<(usize, Result<T>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(count)).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined.flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
