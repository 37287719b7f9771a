//! How long a reader waits until it has a lock of ours for writing, to move it to libc.

use super::algorithm::Algorithm;
use crate::glibc::rwlock::RwLockLayout;
use core::time::Duration;
use unspin_locks::Until;
use unspin_sync::atomic::{AtomicU64, Ordering::Relaxed};
use unspin_sys::futex::Clock;

/// Longer than a thread that moves a lock has it, even if it loses its CPU.
pub const SOON: Duration = Duration::from_millis(10);

/// Longer than most locks are held for reading. If a thread that holds the lock waits for the one that waits here, both lose
/// this time.
const PATIENCE: Duration = Duration::from_millis(100);

/// For this long after a wait in vain no thread waits for the lock again: so a lock that is held for reading all the time costs
/// a thread no more than a twentieth of its time.
const PAUSE: Duration = Duration::from_secs(2);

/// The time until which no thread is to wait, in nanoseconds of the monotonic clock. Locks that share a word share its pause.
static PAUSES: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

fn pause(lock: &RwLockLayout) -> &'static AtomicU64 {
    let hash = ((&raw const *lock).addr() as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
    &PAUSES[hash as usize]
}

/// Acquires the lock for writing, unless that takes too long, or longer than `until`.
pub fn exclusively(lock: &RwLockLayout, algorithm: &Algorithm, until: Option<Until>) -> bool {
    if (algorithm.try_write)(lock) {
        return true;
    }
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let now = Clock::Monotonic.now();
    // Relaxed (both): a time; no other data is read because of it.
    if nanoseconds(now) < pause(lock).load(Relaxed) {
        return false;
    }
    let left = until.map_or(PATIENCE, |until| until.at.saturating_sub(until.clock.now()));
    let limit = Until { clock: Clock::Monotonic, at: now.saturating_add(left.min(PATIENCE)) };
    let is_mine = (algorithm.write)(lock, Some(limit)).is_some();
    if !is_mine && left >= PATIENCE {
        pause(lock).store(nanoseconds(now.saturating_add(PATIENCE + PAUSE)), Relaxed);
    }
    is_mine
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_locks::{Recursion, RwLockKind};

    #[test]
    fn reader_waits_once_for_a_lock_that_stays_held_and_not_longer_than_its_deadline() {
        let mut object = libc::PTHREAD_RWLOCK_INITIALIZER;
        // SAFETY: a live lock of this thread.
        let lock = unsafe { RwLockLayout::of(&raw mut object) };
        let algorithm = Algorithm::of(RwLockKind::Fair).unwrap();
        assert_eq!((algorithm.try_read)(lock, Recursion::Allowed), Ok(()));
        // Relaxed (all): one thread.
        assert!(!exclusively(lock, algorithm, Some(Until::after(Duration::from_millis(1)))));
        assert_eq!(pause(lock).load(Relaxed), 0);
        let begin = Clock::Monotonic.now();
        assert!(!exclusively(lock, algorithm, None));
        assert!(Clock::Monotonic.now() - begin >= PATIENCE);
        assert!(pause(lock).load(Relaxed) > 0 && !exclusively(lock, algorithm, None));
        // SAFETY: acquired above.
        unsafe { (algorithm.unlock_read)(lock) };
        assert!(exclusively(lock, algorithm, None));
        // SAFETY: acquired in the line before.
        unsafe { (algorithm.unlock_write)(lock) };
    }
}
