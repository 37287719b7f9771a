//! For how long a lock is held for reading by anybody: the time from the first reader to the last, as Lockmeter has it.
//!
//! The first and the last reader know it from the lock itself, so only they write to what all threads share here. Between a
//! look at the lock and what follows from it another reader can come or go: a stretch then ends early, or is counted from when
//! its last reader came. Two locks that share a word take it from each other, and lose stretches; they never add any.

use super::layout;
use crate::watch::Thread;
use libc::pthread_rwlock_t;
use unspin_sync::atomic::{AtomicU64, Ordering::Relaxed};
use unspin_sys::clock;

/// Locks that are followed at a time.
const WORDS: usize = 1024;

/// One lock's first reader: since when there has been one, in ticks, with a few bits of the lock's address in place of the
/// lowest.
static SINCE: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

/// Bits of a time that give way to the address: 64 ticks, as many nanoseconds as a clock takes.
const TAG: u64 = 63;

fn word(lock: *const pthread_rwlock_t) -> (&'static AtomicU64, u64) {
    let hash = (lock as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    (&SINCE[hash as usize % WORDS], hash >> 10)
}

/// A thread has got the lock for reading.
///
/// # Safety
/// A live lock.
#[inline]
pub unsafe fn reader_came(lock: *const pthread_rwlock_t) {
    // SAFETY: the caller's promise.
    let first = unsafe { layout::readers(lock) } == 1;
    if first && Thread::current().is_some_and(Thread::has_clock) {
        let (since, tag) = word(lock);
        // Relaxed: a time; see above for what a race makes of it.
        since.store(clock::ticks() & !TAG | tag, Relaxed);
    }
}

/// A thread that has the lock for reading, as `held`, is about to give it back.
///
/// # Safety
/// A live lock.
#[inline]
pub unsafe fn reader_goes(lock: *const pthread_rwlock_t, held: u64) {
    // SAFETY: the caller's promise.
    if unsafe { layout::readers(lock) } == 1 {
        last_reader_goes(lock, held);
    }
}

fn last_reader_goes(lock: *const pthread_rwlock_t, held: u64) {
    let Some(thread) = Thread::current().filter(|thread| thread.has_clock()) else { return };
    let Some(grip) = thread.table().latest(held) else { return };
    let (since, tag) = word(lock);
    // Relaxed: as above.
    let begin = match since.swap(0, Relaxed) {
        begin if begin != 0 && begin & TAG == tag => begin & !TAG,
        _ => grip.since,
    };
    if begin != 0 {
        thread.table().busy(grip.place(), clock::ticks().saturating_sub(begin));
    }
}
