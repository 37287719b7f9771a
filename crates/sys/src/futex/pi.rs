//! Futexes with priority inheritance (futex(2), "Priority-inheritance futexes"), on words that are private to one
//! process.
//!
//! Such a word holds the thread id of its owner, or 0, and the kernel relies on that: waiters sleep in a queue by
//! priority, and lend their priority to the owner. Taking a free word, and releasing one without [`WAITERS`], needs no
//! system call.

use super::{Clock, Until};
use crate::{Errno, raw};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Set by the kernel while threads sleep in its queue. Then only the kernel may release the word, to the first of them.
pub const WAITERS: u32 = 1 << 31;
/// The bits of the owner's thread id.
pub const OWNER: u32 = (1 << 30) - 1;

/// Acquires the word. Sleeps in the kernel's queue if necessary, at most until `until` (`ETIMEDOUT`).
///
/// Other errors (futex(2)): `EDEADLK`: the caller owns the word, or waiting would close a cycle. `ESRCH`: its owner has
/// ended or never existed. `EAGAIN`: its owner is about to end: try again. `EINVAL`: a thread has written to the word
/// in a way that the kernel does not allow. `ENOMEM`. `ENOSYS`: this kernel has no such futexes.
pub fn lock(word: &AtomicU32, until: Option<Until>) -> Result<(), Errno> {
    let Some(until) = until else { return lock_by(libc::FUTEX_LOCK_PI, word, 0) };
    if until.clock == Clock::Monotonic {
        match lock_monotonic(word, until) {
            Err(Errno::ENOSYS) => {}
            result => return result,
        }
    }
    let time = until.on_realtime_clock().timespec();
    lock_by(libc::FUTEX_LOCK_PI, word, &raw const time as usize)
}

/// By FUTEX_LOCK_PI2 (Linux 5.14).
fn lock_monotonic(word: &AtomicU32, until: Until) -> Result<(), Errno> {
    static MISSING: AtomicBool = AtomicBool::new(false);
    // Relaxed: a thread that does not see the flag yet asks the kernel once more.
    if MISSING.load(Ordering::Relaxed) {
        return Err(Errno::ENOSYS);
    }
    let time = until.timespec();
    let result = lock_by(libc::FUTEX_LOCK_PI2, word, &raw const time as usize);
    if result == Err(Errno::ENOSYS) {
        // Relaxed: as above.
        MISSING.store(true, Ordering::Relaxed);
    }
    result
}

fn lock_by(operation: i32, word: &AtomicU32, time: usize) -> Result<(), Errno> {
    let operation = (operation | libc::FUTEX_PRIVATE_FLAG) as usize;
    loop {
        // SAFETY: `word` is a live aligned word, which may be written through a shared reference; `time` is 0 or the
        // address of a live timespec.
        match unsafe { raw::call(libc::SYS_futex, [word.as_ptr() as usize, operation, 0, time]) } {
            Ok(_) => {
                // Acquire: partner of the Release in `unlock`. The kernel orders the two already, but checkers do not
                // see what the kernel does.
                word.load(Ordering::Acquire);
                return Ok(());
            }
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Releases a word that the calling thread owns: to the first thread in the kernel's queue, or else to free. `EPERM`:
/// the caller does not own the word. `EINVAL`: as for [`lock`].
pub fn unlock(word: &AtomicU32) -> Result<(), Errno> {
    let operation = (libc::FUTEX_UNLOCK_PI | libc::FUTEX_PRIVATE_FLAG) as usize;
    // Release: partner of the Acquire in `lock_by`, and of a thread that takes the word without a system call; see
    // `lock_by`.
    word.fetch_or(0, Ordering::Release);
    loop {
        // SAFETY: `word` is a live aligned word, which may be written through a shared reference.
        match unsafe { raw::call(libc::SYS_futex, [word.as_ptr() as usize, operation]) } {
            Ok(_) => return Ok(()),
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether threads of this process sleep in the kernel's queue. The word does not tell: after a fork it still reports
/// the parent's waiters. FUTEX_WAKE refuses to wake such threads (futex(2), `EINVAL`), which this function uses.
pub fn has_waiters(word: &AtomicU32) -> bool {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: FUTEX_WAKE uses the address as a key only.
    let result = unsafe { raw::call(libc::SYS_futex, [word.as_ptr() as usize, operation, 1]) };
    result == Err(Errno::EINVAL)
}

impl Until {
    /// The moment on the realtime clock, which is right as long as that clock is not set until then.
    fn on_realtime_clock(self) -> Until {
        let at = match self.clock {
            Clock::Realtime => self.at,
            Clock::Monotonic => {
                Clock::Realtime.now().saturating_add(self.at.saturating_sub(Clock::Monotonic.now()))
            }
        };
        Until { clock: Clock::Realtime, at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tid;
    use core::time::Duration;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn free_word_is_acquired_and_own_word_is_refused() {
        let word = AtomicU32::new(0);
        assert_eq!(lock(&word, None), Ok(()));
        // Relaxed, here and below: the system calls provide the ordering.
        assert_eq!(word.load(Ordering::Relaxed) & OWNER, tid::get());
        assert_eq!(lock(&word, None), Err(Errno::EDEADLK));
        assert!(!has_waiters(&word));
        assert_eq!(unlock(&word), Ok(()));
        assert_eq!(word.load(Ordering::Relaxed), 0);
        assert_eq!(unlock(&word), Err(Errno::EPERM));
    }

    #[test]
    fn waiter_is_seen_and_acquires_or_times_out() {
        let word = Arc::new(AtomicU32::new(tid::get()));
        for clock in [Clock::Realtime, Clock::Monotonic] {
            let word = word.clone();
            let late = Until { clock, at: clock.now() + Duration::from_millis(5) };
            assert_eq!(thread::spawn(move || lock(&word, Some(late))).join().unwrap(), Err(Errno::ETIMEDOUT));
            assert!(late.is_over());
        }
        let waiter = {
            let word = word.clone();
            thread::spawn(move || (lock(&word, Some(Until::after(Duration::from_secs(1000)))), unlock(&word)))
        };
        while !has_waiters(&word) {
            thread::yield_now();
        }
        assert!(word.load(Ordering::Relaxed) & WAITERS != 0);
        assert_eq!(unlock(&word), Ok(()));
        assert_eq!(waiter.join().unwrap(), (Ok(()), Ok(())));
        assert_eq!((word.load(Ordering::Relaxed), has_waiters(&word)), (0, false));
    }

    #[test]
    fn word_of_an_ended_owner_is_not_acquired() {
        let word = AtomicU32::new(thread::spawn(tid::get).join().unwrap());
        // A thread counts as ending until the kernel has released it.
        let refused = loop {
            match lock(&word, None) {
                Err(Errno::EAGAIN) => thread::yield_now(),
                result => break result,
            }
        };
        assert_eq!(refused, Err(Errno::ESRCH));
    }

    #[test]
    fn kernels_before_5_14_get_the_other_clock() {
        let at = Clock::Monotonic.now() + Duration::from_secs(100_000);
        let converted = Until { clock: Clock::Monotonic, at }.on_realtime_clock();
        let away = converted.at - Clock::Realtime.now();
        assert!(converted.clock == Clock::Realtime && away <= Duration::from_secs(100_000));
        assert!(away > Duration::from_secs(50_000), "{away:?}");
    }
}
