//! The time of the latest signal of each condition. From then on the woken thread waits for the mutex, not for the
//! condition.
//!
//! All conditions with the same hash share one word. If another condition overwrites it, a wait for the mutex looks
//! shorter.

use unspin_sync::atomic::{AtomicU64, Ordering::Relaxed};

const WORDS: usize = 1024;
static AT: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

fn word(condition: usize) -> &'static AtomicU64 {
    &AT[((condition as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize % WORDS]
}

/// Notes a signal at time `now`, in ticks.
pub fn note(condition: usize, now: u64) {
    // Relaxed: a time, which the reader only compares with other times.
    word(condition).store(now, Relaxed);
}

/// Time of the latest signal, in ticks; 0 if it is unknown.
pub fn latest(condition: usize) -> u64 {
    // Relaxed: as above.
    word(condition).load(Relaxed)
}
