//! The busy time of a read-write lock: how long it is held for reading by any thread, from the first reader to the
//! last, as in Lockmeter.
//!
//! The first and the last reader know from the lock itself that they are. So only they write to the words here, which
//! all threads share. Between reading the lock and the action that follows, another reader can come or go. Then a busy
//! period ends too early, or is counted from the arrival of its last reader. Two locks that share a word overwrite each
//! other's start time: busy periods are then lost, but never added.

use super::attempt::Release;
use crate::glibc::rwlock::RwLockLayout;
use crate::swap::rwlock::RwLock;
use crate::watch::{Hook, Object, Thread};
use core::ffi::c_int;
use unspin_sync::atomic::{AtomicU64, Ordering::Relaxed};
use unspin_sys::clock;
use unspin_wire::{RecordKind, RowRef};

/// Number of locks that can be tracked at the same time.
const WORDS: usize = 1024;

/// Arrival of a lock's first reader, in ticks. A few bits of the lock's address replace the lowest bits.
static SINCE: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

/// The bits of a time that the address replaces: 64 ticks, about the time that reading the clock takes.
const TAG: u64 = 63;

fn word(lock: &RwLockLayout) -> (&'static AtomicU64, u64) {
    let hash = (&raw const *lock as u64 >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    (&SINCE[hash as usize % WORDS], hash >> 10)
}

/// The lock, held for reading, as an object of the meter.
fn object(lock: &RwLockLayout) -> Object {
    Object::new(RecordKind::Read, lock)
}

/// To be called after this thread, which is recorded, has acquired the lock for reading.
#[inline]
pub fn reader_came(thread: &Thread, lock: RwLock<'_>) {
    if !thread.has_clock() || lock.readers() != 1 {
        return;
    }
    let hold = thread.table().latest_hold(object(lock.words()).held());
    let now = hold.map(|hold| hold.since).filter(|&since| since != 0).unwrap_or_else(clock::ticks);
    let (since, tag) = word(lock.words());
    // Relaxed: a time; the module documentation tells the effects of a race.
    since.store(now & !TAG | tag, Relaxed);
}

/// pthread_rwlock_unlock(3) of a lock that is held for reading, by a thread that is recorded.
#[inline]
pub fn release(thread: &'static Thread, lock: RwLock<'_>, hook: Hook) -> c_int {
    let Some(mut release) = Release::begin(thread, object(lock.words()), hook) else { return lock.unlock() };
    let period = if lock.readers() == 1 { last(thread, lock.words()) } else { None };
    if period.is_some() {
        release.set_time(clock::ticks());
    }
    let code = lock.unlock();
    if let Some((row, begin)) = period.filter(|_| code == 0) {
        thread.table().add_busy_period(row, release.time().saturating_sub(begin));
    }
    release.end(code)
}

/// The busy period that ends with the last reader: the row to record it in, and its begin.
fn last(thread: &Thread, lock: &RwLockLayout) -> Option<(RowRef, u64)> {
    let hold = thread.table().latest_hold(object(lock).held())?;
    let (since, tag) = word(lock);
    // Relaxed: as above. The swap happens before the release; after the release another first reader may come.
    let begin = match since.swap(0, Relaxed) {
        begin if begin != 0 && begin & TAG == tag => begin & !TAG,
        _ => hold.since,
    };
    (begin != 0).then(|| (hold.row_ref(), begin))
}
