//! Sequences of calls, performed by the engine `rcu` and by a sequential model.
#![no_main]

use unspin_fuzz::families::semaphores::Semaphores;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| unspin_fuzz::run::<Semaphores>(bytes));
