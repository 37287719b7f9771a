//! Which worker gets a task that has become runnable: the rules of the MQ patch (`reschedule_idle`).
//!
//! 1. Its last worker, if that one is idle.
//! 2. Else the worker that has been idle longest.
//! 3. Else, by comparison of goodness: its last worker if it would be the next one there, and not here; else the worker
//!    that woke it. That one has just written to the task, and to what the task waited for.
//!
//! Rules 1 and 2 do not apply while a worker searches: that one will find the task wherever it is, and to wake another
//! one costs more than most tasks. Nor does rule 3 then, if the task's last worker is idle: the task stays here. In the
//! queue of a worker that sleeps it would have to be stolen, one task from each such queue. A task that has not run yet
//! counts as one that ran last on the worker that starts it. Threads that are no workers spread such tasks over the
//! queues.

use crate::queue::{Origin, RunQueue};
use crate::schedule::{Schedulable, Schedule, WorkerId};

/// The target of a task for which no worker is woken.
#[inline(always)]
pub(crate) fn target_among_busy<T: Schedulable>(
    queue: &dyn RunQueue<T>,
    task: Schedule,
    origin: Origin,
    is_idle: impl FnOnce(WorkerId) -> bool,
) -> WorkerId {
    match (task.last(), origin) {
        (None, Origin::Worker(own)) => own,
        (None, Origin::Outside) => outside::own_queue(queue.workers()),
        (Some(last), Origin::Outside) => last,
        (Some(last), Origin::Worker(own)) if last == own || is_idle(last) => own,
        (Some(last), Origin::Worker(own)) => target_by_goodness(queue, task, last, own),
    }
}

fn target_by_goodness<T: Schedulable>(
    queue: &dyn RunQueue<T>,
    task: Schedule,
    last: WorkerId,
    own: WorkerId,
) -> WorkerId {
    let goodness = task.plain_goodness();
    let is_next_there = queue.best(last).is_none_or(|best| best < goodness);
    let is_next_here = queue.best(own).is_none_or(|best| best.with_affinity() < goodness);
    if is_next_there && !is_next_here { last } else { own }
}

#[cfg(not(any(loom, shuttle)))]
pub(crate) use outside::thread_number;

#[cfg(not(any(loom, shuttle)))]
mod outside {
    use crate::schedule::WorkerId;
    use core::cell::Cell;
    use unspin_sync::machine::{AtomicUsize, Ordering};

    static THREADS: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        /// One more than the thread's number; 0: it has none yet.
        static NUMBER: Cell<usize> = const { Cell::new(0) };
    }

    /// The queue to which a thread that is no worker pushes: always the same one, so that threads do not meet at their
    /// locks.
    pub(super) fn own_queue(workers: usize) -> WorkerId {
        WorkerId::new(thread_number() % workers)
    }

    /// A number of the calling thread. Threads that end have 0.
    pub(crate) fn thread_number() -> usize {
        let number = NUMBER.try_with(|number| {
            if number.get() == 0 {
                // Relaxed: a number that no other thread has.
                number.set(1 + THREADS.fetch_add(1, Ordering::Relaxed));
            }
            number.get() - 1
        });
        number.unwrap_or(0)
    }
}

#[cfg(any(loom, shuttle))]
mod outside {
    use crate::schedule::WorkerId;

    pub(super) fn own_queue(_: usize) -> WorkerId {
        WorkerId::new(0)
    }
}
