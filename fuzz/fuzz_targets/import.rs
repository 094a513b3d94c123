//! Lines of any bytes, or lines of all types with odd content: what an import takes is sound, and its export makes an index
//! of the same export.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| plica::simulation::fuzz_import(bytes));
