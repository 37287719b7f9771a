//! libc's operations on the word, for the models: those of glibc for x86 (sysdeps/x86_64/nptl/pthread_spin_lock.S).

use super::{LIBCS_FREE, SLEEPERS, SpinLock, State, state};
use crate::park;
use unspin_sync::atomic::Ordering;

impl<W> SpinLock<W> {
    /// pthread_spin_lock(3), as far as it does not spin: false where a thread of libc would read the word until it is greater than
    /// 0. (With two threads that do, loom takes the model for an endless one.) The decrement stays, as libc's does.
    pub(crate) fn libcs_lock(&self) -> bool {
        loop {
            // Acquire: partner of the Release in `libcs_unlock` and `release`, as every locked instruction of x86 orders.
            let before = self.word.fetch_sub(1, Ordering::Acquire) as i32;
            if before <= 1 {
                return before == 1;
            }
        }
    }

    /// pthread_spin_unlock(3): a store there. Loom would let a decrement that has read an older value come after a store.
    pub(crate) fn libcs_unlock(&self) {
        // Release: partner of the Acquire in `libcs_lock`, and of that in `exchange`. Every store of x86 is one.
        self.word.swap(LIBCS_FREE, Ordering::Release);
    }

    /// Sleeps as a waiter does whose lock is held, and forgets the duty that it has then.
    pub(crate) fn sleep_once(&self) {
        loop {
            // Relaxed: the compare-exchange decides.
            let word = self.word.load(Ordering::Relaxed);
            if state(word) != State::Held {
                return;
            }
            let asleep = word | SLEEPERS;
            // Relaxed (both): announces a sleeper to `release`, which exchanges the same word.
            if asleep == word
                || self.word.compare_exchange(word, asleep, Ordering::Relaxed, Ordering::Relaxed).is_ok()
            {
                park::wait_shared_for(&self.word, asleep, None);
                return;
            }
        }
    }
}
