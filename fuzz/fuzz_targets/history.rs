//! What a user does to an index, on a disk that crashes and fails, held against a plain model.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| plica::simulation::fuzz_history(bytes));
