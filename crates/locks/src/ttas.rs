//! Test-and-test-and-set: the first thread that sees the lock free takes it. Experimental: with more threads than CPUs
//! the waiters spin while the owner waits for a CPU.

use crate::raw::{free, poll};
use crate::{RawLock, Until, Waited};
use unspin_sync::atomic::{AtomicU32, Ordering};

/// A test-and-test-and-set lock.
#[derive(Debug)]
pub struct Ttas {
    /// 0 free, 1 held.
    word: AtomicU32,
}

// SAFETY: 1. the thread that moves the word from 0 to 1 holds the lock, and only one thread does; 2. a free lock is 0.
unsafe impl RawLock for Ttas {
    type Node = ();

    free!(Ttas { word: AtomicU32::new(0) });

    #[inline(always)]
    fn try_lock(&self) -> bool {
        // Acquire: partner of the Release in `unlock`.
        // Relaxed on failure: a failed attempt reads nothing.
        self.word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[inline(always)]
    fn lock(&self, _: &mut ()) -> Waited {
        if self.try_lock() {
            Waited::No
        } else {
            poll(self, None).expect("without a time there is no timeout")
        }
    }

    fn lock_until(&self, _: &mut (), until: Until) -> Option<Waited> {
        if self.try_lock() { Some(Waited::No) } else { poll(self, Some(until)) }
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        // Release: partner of the Acquire in `try_lock`.
        self.word.store(0, Ordering::Release);
    }

    fn is_locked(&self) -> bool {
        // Relaxed: a snapshot, which orders nothing.
        self.word.load(Ordering::Relaxed) != 0
    }
}
