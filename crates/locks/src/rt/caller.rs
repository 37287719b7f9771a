//! The calling thread: its id, and whether other threads depend on how long it waits.

#[cfg(any(loom, shuttle))]
#[path = "caller/model.rs"]
mod system;

#[cfg(all(test, loom))]
pub(super) use system::be_real_time;
#[cfg(not(any(loom, shuttle)))]
use system::real_time_priority;
#[cfg(any(loom, shuttle))]
pub(super) use system::real_time_priority;
pub(super) use system::tid;
use system::{set_status, status};

/// In a thread's status: it was a real-time thread at the last check.
const REAL_TIME: usize = 1;
/// In a thread's status: the count of held locks, in this unit.
const LOCK: usize = 2;

/// The calling thread has acquired a lock.
#[inline(always)]
pub(super) fn note_acquired() {
    set_status(status() + LOCK);
}

/// The calling thread has released a lock. It may not have held it.
#[inline(always)]
pub(super) fn note_released() {
    let status = status();
    if status >= LOCK {
        set_status(status - LOCK);
    }
}

/// Whether the calling thread is real-time, or holds a lock that a real-time thread may wait for.
pub(super) fn is_urgent() -> bool {
    let real_time = if real_time_priority() > 0 { REAL_TIME } else { 0 };
    set_status(status() & !REAL_TIME | real_time);
    was_urgent()
}

/// The result of the last [`is_urgent`], without a system call; the locks held are current. For decisions that may be
/// stale.
pub(super) fn was_urgent() -> bool {
    status() != 0
}

#[cfg(not(any(loom, shuttle)))]
mod system {
    use unspin_sys::tls::{self, Word};

    pub(super) use unspin_sys::sched::real_time_priority;
    pub(in crate::rt) use unspin_sys::tid::get as tid;

    #[inline(always)]
    pub(super) fn status() -> usize {
        tls::value::<{ Word::Locks as usize }>()
    }

    #[inline(always)]
    pub(super) fn set_status(status: usize) {
        tls::word(Word::Locks).set(status);
    }
}
