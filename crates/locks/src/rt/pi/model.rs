//! The kernel's queue of a model, as futex(2) describes it: by priority, then by arrival. Sleepers are parked, so that
//! a thread that never gets the lock shows as a deadlock. A wait with a timeout may time out at any moment. There is no
//! boosting: the checker decides when a model's threads run.

use super::{OWNER, WAITERS};
use crate::Until;
use crate::rt::caller;
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sync::modelled::{Mutex, Thread, current, lazy_static, park};
use unspin_sys::Errno;

struct Waiter {
    at: usize,
    tid: u32,
    priority: u32,
    thread: Thread,
}

lazy_static! {
    /// Protected by a lock, as in the kernel, where calls on one word exclude each other.
    static ref QUEUE: Mutex<Vec<Waiter>> = Mutex::new(Vec::new());
}

pub(in crate::rt) fn lock(word: &AtomicU32, until: Option<Until>) -> Result<(), Errno> {
    let at = core::ptr::from_ref(word) as usize;
    let tid = caller::tid();
    {
        let mut queue = QUEUE.lock().unwrap();
        loop {
            // Relaxed: the compare-exchange provides the ordering.
            let seen = word.load(Ordering::Relaxed);
            if seen & OWNER == tid {
                return Err(Errno::EDEADLK);
            }
            let is_free = seen & OWNER == 0;
            let new = if is_free { seen | tid } else { seen | WAITERS };
            // Acquire and Release: a system call orders in both directions.
            if word.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                continue;
            }
            if is_free {
                return Ok(());
            }
            break;
        }
        queue.push(Waiter { at, tid, priority: caller::real_time_priority(), thread: current() });
    }
    loop {
        if until.is_none() {
            park();
        }
        let mut queue = QUEUE.lock().unwrap();
        let waits = queue.iter().any(|waiter| waiter.at == at && waiter.tid == tid);
        if !waits {
            return Ok(());
        }
        if until.is_some() {
            queue.retain(|waiter| waiter.at != at || waiter.tid != tid);
            return Err(Errno::ETIMEDOUT);
        }
    }
}

pub(in crate::rt) fn unlock(word: &AtomicU32) -> Result<(), Errno> {
    let at = core::ptr::from_ref(word) as usize;
    let mut queue = QUEUE.lock().unwrap();
    // Relaxed: the compare-exchange provides the ordering.
    let seen = word.load(Ordering::Relaxed);
    if seen & OWNER != caller::tid() {
        return Err(Errno::EPERM);
    }
    let here = queue.iter().enumerate().filter(|(_, waiter)| waiter.at == at);
    // The first of the threads with the highest priority.
    let first = here.rev().max_by_key(|(_, waiter)| waiter.priority).map(|(at, _)| at);
    let new = first.map_or(0, |first| queue[first].tid | WAITERS);
    // Acquire and Release: a system call orders in both directions.
    if word.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return Err(Errno::EAGAIN);
    }
    if let Some(first) = first {
        queue.remove(first).thread.unpark();
    }
    Ok(())
}

pub(in crate::rt) fn has_waiters(word: &AtomicU32) -> bool {
    let at = core::ptr::from_ref(word) as usize;
    QUEUE.lock().unwrap().iter().any(|waiter| waiter.at == at)
}
