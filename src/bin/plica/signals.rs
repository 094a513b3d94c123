//! Ctrl-C and termination: the work that is under way is brought to an end that the same command goes on from.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// Set when the command is to stop.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on the first Ctrl-C (or termination signal) sets the flag that is given back, and the second ends the
/// process at once; either way the index is sound. Commands that only read leave signals as they are.
pub fn stop_flag() -> &'static AtomicBool {
    // Without a handler, which a platform may refuse, a signal ends the process: that is safe, too.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(1);
        }
        let _ = writeln!(std::io::stderr(), "plica: stopping where it is safe; press Ctrl-C again to end at once");
    });
    &STOP
}

/// As [`stop_flag`], for limits that hold their flag.
pub fn shared_stop_flag() -> Arc<AtomicBool> {
    stop_flag();
    Arc::clone(&STOP)
}

/// Asks the work to stop, as Ctrl-C does.
pub fn stop() {
    STOP.store(true, Ordering::SeqCst);
}
