//! The latest signal or broadcast of each condition: its time, and which of the two it was. From that time on the woken
//! thread waits for the mutex, not for the condition.
//!
//! All conditions with the same hash share one word. If another condition overwrites it, a wait for the mutex looks
//! shorter, and a wait may be taken for one that the other call has ended.

use unspin_sync::atomic::{AtomicU64, Ordering::Relaxed};

const WORDS: usize = 1024;
static AT: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

fn word(condition: usize) -> &'static AtomicU64 {
    &AT[((condition as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize % WORDS]
}

/// A call that wakes the waiters of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WakeCall {
    /// pthread_cond_signal(3).
    Signal,
    /// pthread_cond_broadcast(3).
    Broadcast,
}

/// The lowest bit of a word: the call is a broadcast. The time loses one tick.
const IS_BROADCAST: u64 = 1;

/// Notes a call at time `now`, in ticks.
pub fn note(condition: usize, call: WakeCall, now: u64) {
    let bit = if call == WakeCall::Broadcast { IS_BROADCAST } else { 0 };
    // Relaxed: a time, which the reader only compares with other times.
    word(condition).store(now & !IS_BROADCAST | bit, Relaxed);
}

/// Time of the latest call, in ticks, and the call; 0 if it is unknown.
pub fn latest(condition: usize) -> (u64, WakeCall) {
    // Relaxed: as above.
    let word = word(condition).load(Relaxed);
    let call = if word & IS_BROADCAST == 0 { WakeCall::Signal } else { WakeCall::Broadcast };
    (word & !IS_BROADCAST, call)
}
