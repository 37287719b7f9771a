//! Priority inversion: a thread waits long for a mutex whose owner the scheduler prefers less than the waiting thread.
//!
//! The owner's thread id is read before the wait, where it costs one load. The kernel is asked for the two priorities
//! only after a long wait, so a call that waits shortly pays nothing. The owner may have changed meanwhile; then the
//! wait is judged by its first owner. An owner that has ended since is not judged.
//!
//! A mutex that raises its owner's priority to that of a real-time thread that waits prevents priority inversion. The
//! kernel raises no nice values (`__waiter_prio` of kernel/locking/rtmutex.c).

use crate::glibc::mutex::MutexLayout;
use crate::sandbox;
use crate::swap::mutex_impl::raises_priority;
use crate::watch::{Hook, Object, Thread};
use unspin_sys::{clock, sched};
use unspin_wire::{AttemptOutcome, RecordKind};

/// The minimum length of a wait that is judged. The kernel preempts a thread for some milliseconds at a time (sched(7)),
/// so shorter waits are no inversion that matters.
const LONG_NS: u64 = 800_000;

/// Records a wait of this many ticks if the owner had the lower priority.
#[inline(always)]
pub fn note(thread: &'static Thread, mutex: &MutexLayout, owner: u32, wait: u64, hook: Hook) {
    if owner != 0 && wait >= clock::ticks_in(LONG_NS) {
        compare(thread, mutex, owner, wait, hook);
    }
}

#[cold]
#[inline(never)]
fn compare(thread: &'static Thread, mutex: &MutexLayout, owner: u32, wait: u64, hook: Hook) {
    if sandbox::is_closed() {
        return;
    }
    let (Some(own), Some(others)) = (sched::precedence(0), sched::precedence(owner)) else { return };
    if others >= own || own >= sched::REAL_TIME && raises_priority(mutex) {
        return;
    }
    let object = Object::new(RecordKind::Inverted, mutex.as_ptr());
    if let Some(row) = thread.row(object, hook) {
        let table = thread.table();
        table.count_attempt(row);
        table.reclassify_attempt(row, AttemptOutcome::NoWait, AttemptOutcome::Slept);
        table.add_wait(row, AttemptOutcome::Slept, 0, wait);
    }
}
