//! When a condition was last signalled: from then on who is woken waits for the mutex, not for the condition.
//!
//! A word is shared by all conditions of a hash. One that another condition overwrites makes a wait for the mutex look
//! shorter.

use unspin_sync::atomic::{AtomicU64, Ordering::Relaxed};

const WORDS: usize = 1024;
static AT: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

fn word(condition: usize) -> &'static AtomicU64 {
    &AT[((condition as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize % WORDS]
}

/// Notes a signal, at a time in ticks.
pub fn note(condition: usize, now: u64) {
    // Relaxed: a time, which whoever reads it compares with others.
    word(condition).store(now, Relaxed);
}

/// When it was signalled last, in ticks; 0 if that is not known.
pub fn latest(condition: usize) -> u64 {
    // Relaxed: as above.
    word(condition).load(Relaxed)
}
