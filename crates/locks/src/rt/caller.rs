//! The calling thread: who it is, and whether its waiting is anybody else's business.

#[cfg(any(loom, shuttle))]
#[path = "caller/model.rs"]
mod system;

#[cfg(not(any(loom, shuttle)))]
use system::real_time_priority;
pub(super) use system::tid;
#[cfg(any(loom, shuttle))]
pub(super) use system::{be_real_time, real_time_priority};
use system::{note, notes};

/// In a thread's notes: it was a real-time thread when it was last asked.
const REAL_TIME: usize = 1;
/// In a thread's notes: one lock.
const LOCK: usize = 2;

/// It has acquired a lock.
#[inline(always)]
pub(super) fn acquired() {
    note(notes() + LOCK);
}

/// It has released a lock, which it may not have held.
#[inline(always)]
pub(super) fn released() {
    let notes = notes();
    if notes >= LOCK {
        note(notes - LOCK);
    }
}

/// Whether it is a real-time thread, or holds a lock that one may wait for.
pub(super) fn is_urgent() -> bool {
    let real_time = if real_time_priority() > 0 { REAL_TIME } else { 0 };
    note(notes() & !REAL_TIME | real_time);
    was_urgent()
}

/// [`is_urgent`], as it was when last asked: for what does no harm if that has changed.
pub(super) fn was_urgent() -> bool {
    notes() != 0
}

#[cfg(not(any(loom, shuttle)))]
mod system {
    use unspin_sys::tls::{self, Word};

    pub(super) use unspin_sys::sched::real_time_priority;
    pub(in crate::rt) use unspin_sys::tid::get as tid;

    #[inline(always)]
    pub(super) fn notes() -> usize {
        tls::value::<{ Word::Locks as usize }>()
    }

    #[inline(always)]
    pub(super) fn note(notes: usize) {
        tls::word(Word::Locks).set(notes);
    }
}
