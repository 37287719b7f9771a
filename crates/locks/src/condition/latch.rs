//! The lock inside a condition variable: held for a few writes at a time, never over a system call.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–30 | generation of the process whose thread holds it; 0: free |
//! | 31 | `SLEEPERS`: somebody sleeps on the word, or is about to. Set by him, cleared by the release. Too often set, it costs a wake-up of nobody |
//!
//! A thread that held it while another one forked does not exist in the child: there whoever comes takes it from him.

use crate::park;
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sync::hint;

/// See the module.
#[derive(Default, Debug)]
pub(super) struct Latch(AtomicU32);

const SLEEPERS: u32 = 1 << 31;
/// Longer than the lock is held without preemption (some ten ns), shorter than to sleep and be woken (some us).
const SPINS: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 60 };

impl Latch {
    /// Acquires, for a thread of the process of this generation.
    #[inline]
    pub(super) fn acquire(&self, generation: u32) {
        if !self.take(0, generation) {
            self.wait(generation);
        }
    }

    /// Releases. Does not touch the latch once the next one may hold it.
    #[inline]
    pub(super) fn release(&self) {
        let word = &raw const self.0;
        // Release: partner of the Acquire in `take`.
        if self.0.swap(0, Ordering::Release) & SLEEPERS != 0 {
            park::wake(word, 1);
        }
    }

    fn take(&self, seen: u32, new: u32) -> bool {
        // Acquire: partner of the Release in `release`. Relaxed: a failure tells nothing.
        self.0.compare_exchange(seen, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Spins, then sleeps: however many threads there are, only the owner keeps a CPU from the owner.
    #[cold]
    fn wait(&self, generation: u32) {
        for _ in 0..SPINS {
            hint::spin_loop();
            // Relaxed: only what `take` exchanges is relied on.
            let seen = self.0.load(Ordering::Relaxed);
            if is_takeable(seen, generation) && self.take(seen, generation) {
                return;
            }
        }
        loop {
            // Relaxed: as above.
            let seen = self.0.load(Ordering::Relaxed);
            if is_takeable(seen, generation) {
                // Others may sleep: the bit that told of them is gone with the release.
                if self.take(seen, generation | SLEEPERS) {
                    return;
                }
            } else if seen & SLEEPERS != 0 || self.take(seen, seen | SLEEPERS) {
                park::wait(&self.0, seen | SLEEPERS, None);
            }
        }
    }
}

/// Free, or held by somebody whom a fork has left behind.
fn is_takeable(word: u32, generation: u32) -> bool {
    word & !SLEEPERS != generation
}
