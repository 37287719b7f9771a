//! Sequences of calls, performed by the engine `rcu` and by a sequential model.
#![no_main]

use unspin_fuzz::families::messages::Messages;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unspin_fuzz::run::<Messages>(bytes));
