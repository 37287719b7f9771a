//! For how long a lock is held for reading by anybody: the time from the first reader to the last, as Lockmeter has it.
//!
//! The first and the last reader know it from the lock itself, so only they write to what all threads share here. Between a
//! look at the lock and what follows from it another reader can come or go: a stretch then ends early, or is counted from when
//! its last reader came. Two locks that share a word take it from each other, and lose stretches; they never add any.

use super::layout;
use crate::watch::{Hook, Object, Thread};
use core::ffi::c_int;
use libc::pthread_rwlock_t;
use unspin_meter::{Kind, Place};
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
    if unsafe { layout::readers(lock) } != 1 {
        return;
    }
    let Some(thread) = Thread::current().filter(|thread| thread.has_clock()) else { return };
    let hold = thread.table().latest(Object::new(Kind::Read, lock).held());
    let now = hold.map(|hold| hold.since).filter(|&since| since != 0).unwrap_or_else(clock::ticks);
    let (since, tag) = word(lock);
    // Relaxed: a time; see above for what a race makes of it.
    since.store(now & !TAG | tag, Relaxed);
}

/// The end of a hold for reading. `released` is libc's unlock.
///
/// # Safety
/// A live lock.
#[inline]
pub unsafe fn release(lock: *const pthread_rwlock_t, hook: Hook, released: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = Thread::current() else { return released() };
    let held = Object::new(Kind::Read, lock).held();
    thread.judge(held, hook);
    // SAFETY: the caller's promise.
    let is_last = thread.has_clock() && unsafe { layout::readers(lock) } == 1;
    let stretch = if is_last { last(thread, lock, held) } else { None };
    let now = if stretch.is_some() { clock::ticks() } else { thread.letting_go(held) };
    let code = released();
    if code == 0 {
        if let Some((place, begin)) = stretch {
            thread.table().busy(place, now.saturating_sub(begin));
        }
        thread.let_go(held, now);
    }
    code
}

/// The stretch that ends with the last reader: where to record it, and when it began.
fn last(thread: &Thread, lock: *const pthread_rwlock_t, held: u64) -> Option<(Place, u64)> {
    let hold = thread.table().latest(held)?;
    let (since, tag) = word(lock);
    // Relaxed: as above. Before the release, after which another first reader may come.
    let begin = match since.swap(0, Relaxed) {
        begin if begin != 0 && begin & TAG == tag => begin & !TAG,
        _ => hold.since,
    };
    (begin != 0).then(|| (hold.place(), begin))
}
