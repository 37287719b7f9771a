//! The lock inside a condition variable: held for a few writes at a time, never over a system call.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–30 | generation of the process whose thread holds it; 0: free |
//! | 31 | `SLEEPERS`: a thread sleeps on the word, or is about to |
//!
//! A thread that goes to sleep sets `SLEEPERS`; the release clears it. Set needlessly, it costs one useless wake-up.
//!
//! A thread that held the latch while another thread forked does not exist in the child. There any thread may take the
//! latch.

use crate::park;
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sync::hint;

/// The lock inside a condition variable.
#[derive(Default, Debug)]
pub(super) struct Latch(AtomicU32);

const SLEEPERS: u32 = 1 << 31;
/// Longer than the latch is held without preemption (some ten ns), shorter than a sleep and its wake-up (some µs).
const SPINS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 60 };

impl Latch {
    /// Acquires the latch, for a thread of the process with this generation.
    #[inline]
    pub(super) fn acquire(&self, generation: u32) {
        if !self.take(0, generation) {
            self.wait(generation);
        }
    }

    /// Releases the latch. Does not touch it once another thread can hold it.
    #[inline]
    pub(super) fn release(&self) {
        let word = &raw const self.0;
        // Release: partner of the Acquire in `take`.
        if self.0.swap(0, Ordering::Release) & SLEEPERS != 0 {
            park::wake(word, 1);
        }
    }

    fn take(&self, seen: u32, new: u32) -> bool {
        // Acquire: partner of the Release in `release`. Relaxed on failure: a failed attempt reads nothing.
        self.0.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Spins, then sleeps, so that waiters do not keep the owner off the CPU.
    #[cold]
    fn wait(&self, generation: u32) {
        for _ in 0..SPINS {
            hint::spin_loop();
            // Relaxed: the decision rests on the compare-exchange in `take`.
            let seen = self.0.load(Ordering::Relaxed);
            if is_takeable(seen, generation) && self.take(seen, generation) {
                return;
            }
        }
        loop {
            // Relaxed: as above.
            let seen = self.0.load(Ordering::Relaxed);
            if is_takeable(seen, generation) {
                // Other threads may sleep: the release has cleared the bit that says so.
                if self.take(seen, generation | SLEEPERS) {
                    return;
                }
            } else if seen & SLEEPERS != 0 || self.take(seen, seen | SLEEPERS) {
                park::wait(&self.0, seen | SLEEPERS, None);
            }
        }
    }
}

/// Whether the latch is free, or held by a thread of another process (the parent before a fork).
fn is_takeable(word: u32, generation: u32) -> bool {
    word & !SLEEPERS != generation
}
