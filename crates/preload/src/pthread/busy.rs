//! The busy time of a read-write lock: how long it is held for reading by any thread, from the first reader to the
//! last, as in Lockmeter.
//!
//! The first and the last reader know from the lock itself that they are. So only they write to the words here, which
//! all threads share. Between reading the lock and the action that follows, another reader can come or go. Then a busy
//! period ends too early, or is counted from the arrival of its last reader. Two locks that share a word overwrite each
//! other's start time: busy periods are then lost, but never added.

use super::layout;
use crate::watch::{Hook, Object, Thread};
use core::ffi::c_int;
use libc::pthread_rwlock_t;
use unspin_meter::{RecordKind, RowRef};
use unspin_sync::atomic::{AtomicU64, Ordering::Relaxed};
use unspin_sys::clock;

/// Number of locks that can be tracked at the same time.
const WORDS: usize = 1024;

/// Arrival of a lock's first reader, in ticks. A few bits of the lock's address replace the lowest bits.
static SINCE: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

/// The bits of a time that the address replaces: 64 ticks, about the time that reading the clock takes.
const TAG: u64 = 63;

fn word(lock: *const pthread_rwlock_t) -> (&'static AtomicU64, u64) {
    let hash = (lock as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    (&SINCE[hash as usize % WORDS], hash >> 10)
}

/// To be called after a thread has acquired the lock for reading.
///
/// # Safety
/// `lock` is live.
#[inline]
pub unsafe fn reader_came(lock: *const pthread_rwlock_t) {
    // SAFETY: the caller's promise.
    if unsafe { layout::readers(lock) } != 1 {
        return;
    }
    let Some(thread) = Thread::current().filter(|thread| thread.has_clock()) else { return };
    let hold = thread.table().latest_hold(Object::new(RecordKind::Read, lock).held());
    let now = hold.map(|hold| hold.since).filter(|&since| since != 0).unwrap_or_else(clock::ticks);
    let (since, tag) = word(lock);
    // Relaxed: a time; the module documentation tells the effects of a race.
    since.store(now & !TAG | tag, Relaxed);
}

/// Ends a hold for reading. `released` is libc's unlock.
///
/// # Safety
/// `lock` is live.
#[inline]
pub unsafe fn release(lock: *const pthread_rwlock_t, hook: Hook, released: impl FnOnce() -> c_int) -> c_int {
    let Some(thread) = Thread::current() else { return released() };
    let held = Object::new(RecordKind::Read, lock).held();
    thread.judge(held, hook);
    // SAFETY: the caller's promise.
    let is_last = thread.has_clock() && unsafe { layout::readers(lock) } == 1;
    let stretch = if is_last { last(thread, lock, held) } else { None };
    let now = if stretch.is_some() { clock::ticks() } else { thread.letting_go(held) };
    let code = released();
    if code == 0 {
        if let Some((place, begin)) = stretch {
            thread.table().add_busy_period(place, now.saturating_sub(begin));
        }
        thread.let_go(held, now);
    }
    code
}

/// The busy period that ends with the last reader: the row to record it in, and its begin.
fn last(thread: &Thread, lock: *const pthread_rwlock_t, held: u64) -> Option<(RowRef, u64)> {
    let hold = thread.table().latest_hold(held)?;
    let (since, tag) = word(lock);
    // Relaxed: as above. The swap happens before the release; after the release another first reader may come.
    let begin = match since.swap(0, Relaxed) {
        begin if begin != 0 && begin & TAG == tag => begin & !TAG,
        _ => hold.since,
    };
    (begin != 0).then(|| (hold.row_ref(), begin))
}
