//! The state word of a task: which thread may do what with it.
//!
//! ```text
//!                    wake                     begin_run                 end_run
//!  suspended ─────────────────► SCHEDULED ───────────────► RUNNING ───────────────► suspended
//!      │                                                    │ │ ▲
//!      │ cancel                                             │ │ └─ wake: SCHEDULED is set as well, until `begin_run`
//!      └──────────► RUNNING (dropping its future) ─────────►│ │
//!                                                           │ └─ yields, or was woken: back into the run queue as it is
//!                                                           └──► COMPLETED
//! ```
//!
//! A wake-up of a task that is scheduled already, or that runs, changes the word and nothing else.
//!
//! A task that goes back into the run queue keeps `RUNNING`: its runnable owns the future. So a run that yields exchanges
//! the word neither at its end nor at its next beginning. A wake-up that comes while the task waits in the queue sets
//! `SCHEDULED`, as it does during a run.

use unspin_sync::atomic::{AtomicUsize, Ordering};

/// The state word of a task. Above the bits is the number of references.
#[derive(Debug)]
pub(crate) struct State(AtomicUsize);

/// The task was woken, and no run has begun since. Without `RUNNING` it is in a run queue, or a thread is about to put it
/// there. Set by the thread that wakes it, cleared by the worker that begins the run.
const SCHEDULED: usize = 1;
/// A thread owns the future: it polls it, or drops it. Or the task's runnable owns it, which that thread has put back into
/// a run queue. Set by the thread that takes the future over, cleared by the one that suspends or completes the task.
const RUNNING: usize = 1 << 1;
/// The future is gone. Set once, by the thread that owned the future; nothing clears it.
const COMPLETED: usize = 1 << 2;
/// The future is to be dropped without another poll. Set by `cancel`; nothing clears it.
const CANCELLED: usize = 1 << 3;
/// There is a join handle, which owns the output once the task is completed. Cleared by its drop.
const JOINED: usize = 1 << 4;
/// The slot of the join handle's waker belongs to the thread that completes the task. Set and cleared by the handle,
/// before the task is completed.
const AWAITED: usize = 1 << 5;
/// One reference. They are held by the run queue or the worker that runs the task, the join handle, each waker, and the
/// list of suspended tasks.
const REFERENCE: usize = 1 << 6;

/// A new task: scheduled, with a join handle.
const NEW: usize = SCHEDULED | JOINED | (2 * REFERENCE);

/// What a worker has to do with a task that it takes from a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Begin {
    Poll,
    /// Drop the future.
    Cancel,
}

/// What a worker has to do with a task whose future is pending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pending {
    /// Nothing: the task no longer belongs to the worker.
    Suspended,
    /// The task no longer belongs to the worker, and no reference to it is left.
    Abandoned,
    /// The task was woken meanwhile: put it into a run queue, which gets the future.
    Woken,
    /// The task was cancelled meanwhile: drop its future. The worker still owns it.
    Cancel,
}

/// What a thread has to do that has woken a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wake {
    Nothing,
    /// Put the task into a run queue. The queue gets a reference, which this call has counted.
    Schedule,
}

/// What a thread has to do that has woken a task and given up the reference by which it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LastWake {
    Nothing,
    /// Put the task into a run queue, which gets the reference.
    Schedule,
    /// Free the task: the reference was the last.
    Free,
}

/// What a thread has to do that has cancelled a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cancel {
    /// Nothing: it is completed, or the worker that has it will see to it.
    Nothing,
    /// Drop the future: this thread owns it now.
    Drop,
}

/// What was there when a task was completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Completed {
    /// There is a join handle, so the output belongs to it.
    pub is_joined: bool,
    /// The join handle's waker has to be woken.
    pub is_awaited: bool,
    /// The reference of the thread that completes the task is the only one.
    pub is_last_reference: bool,
}

impl State {
    pub fn new() -> State {
        State(AtomicUsize::new(NEW))
    }

    fn change<R>(&self, mut f: impl FnMut(usize) -> (usize, R)) -> R {
        // Relaxed: the exchange decides.
        let mut seen = self.0.load(Ordering::Relaxed);
        loop {
            let (new, result) = f(seen);
            // AcqRel: partner of itself: the thread that gets the future, the output or the slot of the waker by this
            // exchange sees what the thread before it has done there. An exchange that does not change the word is
            // needed for the same reason: the worker that polls next sees what the thread that woke the task has done.
            // Relaxed on failure: the loop tries again.
            match self.0.compare_exchange_weak(seen, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return result,
                Err(now) => seen = now,
            }
        }
    }

    /// A worker has taken the task from a queue.
    #[inline]
    pub fn begin_run(&self) -> Begin {
        // Relaxed: a hint for what others do: a wake-up or a cancellation that it misses keeps its bit, which the end of
        // the run or the next beginning sees. `RUNNING` is this thread's. `SCHEDULED` without it is the run queue's: other
        // threads change neither. So the bits need no comparison, only a subtraction.
        let before = self.0.load(Ordering::Relaxed);
        let seen = match before & (SCHEDULED | RUNNING) {
            // The task has yielded. Its future came with the runnable, by the run queue's lock.
            RUNNING => before,
            // Acquire (both): partner of the AcqRel exchanges: see `change`.
            SCHEDULED => self.0.fetch_add(RUNNING - SCHEDULED, Ordering::Acquire),
            _ => self.0.fetch_sub(SCHEDULED, Ordering::Acquire),
        };
        debug_assert!(
            seen & (SCHEDULED | RUNNING) != 0 && seen & COMPLETED == 0,
            "a worker runs a task that has no turn"
        );
        if seen & CANCELLED == 0 { Begin::Poll } else { Begin::Cancel }
    }

    /// Whether the task was woken since its present run began. For the worker that runs it. True stays true until the next
    /// run: the worker may put the task into a run queue without another look.
    pub fn is_woken(&self) -> bool {
        // Relaxed: the next `begin_run` clears the bit, and acquires what the waker did. False is a hint: `end_run` decides.
        self.0.load(Ordering::Relaxed) & SCHEDULED != 0
    }

    /// The future is pending. If the task is suspended, the worker gives up its reference.
    #[inline]
    pub fn end_run(&self, listed_now: ListedNow) -> Pending {
        self.change(|seen| match seen & (SCHEDULED | CANCELLED) {
            0 => {
                let suspended = match listed_now {
                    ListedNow::No => (seen & !RUNNING) - REFERENCE,
                    ListedNow::Yes => seen & !RUNNING,
                };
                let is_abandoned = suspended < REFERENCE;
                (suspended, if is_abandoned { Pending::Abandoned } else { Pending::Suspended })
            }
            SCHEDULED => {
                let counted = if listed_now == ListedNow::Yes { REFERENCE } else { 0 };
                (seen + counted, Pending::Woken)
            }
            _ => {
                let counted = if listed_now == ListedNow::Yes { REFERENCE } else { 0 };
                (seen + counted, Pending::Cancel)
            }
        })
    }

    /// Wakes the task. If it has to be scheduled, one reference more is counted.
    #[inline]
    pub fn wake(&self) -> Wake {
        if self.is_completed() {
            return Wake::Nothing;
        }
        self.change(|seen| {
            if seen & (COMPLETED | SCHEDULED) != 0 {
                (seen, Wake::Nothing)
            } else if seen & RUNNING != 0 {
                (seen | SCHEDULED, Wake::Nothing)
            } else {
                ((seen | SCHEDULED) + REFERENCE, Wake::Schedule)
            }
        })
    }

    /// Wakes the task, and gives up a reference.
    #[inline]
    pub fn wake_and_drop(&self) -> LastWake {
        self.change(|seen| {
            if seen & (COMPLETED | SCHEDULED) != 0 {
                let is_last = seen < 2 * REFERENCE;
                (seen - REFERENCE, if is_last { LastWake::Free } else { LastWake::Nothing })
            } else if seen & RUNNING != 0 {
                ((seen | SCHEDULED) - REFERENCE, LastWake::Nothing)
            } else {
                (seen | SCHEDULED, LastWake::Schedule)
            }
        })
    }

    /// Requests that the future is dropped.
    pub fn cancel(&self) -> Cancel {
        self.change(|seen| {
            if seen & COMPLETED != 0 {
                (seen, Cancel::Nothing)
            } else if seen & (SCHEDULED | RUNNING) != 0 {
                (seen | CANCELLED, Cancel::Nothing)
            } else {
                (seen | CANCELLED | RUNNING, Cancel::Drop)
            }
        })
    }

    /// The future is gone, and the output is there. For the thread that owned the future.
    #[inline]
    pub fn complete(&self) -> Completed {
        self.change(|seen| {
            let completed = Completed {
                is_joined: seen & JOINED != 0,
                is_awaited: seen & AWAITED != 0,
                is_last_reference: seen < 2 * REFERENCE,
            };
            (seen & !(RUNNING | SCHEDULED) | COMPLETED, completed)
        })
    }

    /// Whether the future is gone. If so, the caller sees what its owner has done.
    pub fn is_completed(&self) -> bool {
        // Acquire: partner of the AcqRel exchange in `complete`.
        self.0.load(Ordering::Acquire) & COMPLETED != 0
    }

    /// Gives the slot of the join handle's waker to the thread that completes the task. False: it is completed.
    pub fn give_waker(&self) -> bool {
        self.change(|seen| if seen & COMPLETED != 0 { (seen, false) } else { (seen | AWAITED, true) })
    }

    /// Takes the slot back. False: the task is completed.
    pub fn take_waker_back(&self) -> bool {
        self.change(|seen| if seen & COMPLETED != 0 { (seen, false) } else { (seen & !AWAITED, true) })
    }

    /// The join handle is dropped, by a thread that then gives up its reference. True: the task is completed, so the
    /// caller owns the output.
    pub fn unjoin(&self) -> bool {
        self.change(|seen| (seen & !JOINED, seen & COMPLETED != 0))
    }

    /// [`unjoin`](State::unjoin) and [`drop_reference`](State::drop_reference) in one exchange, for a task that has not
    /// run yet. False: nothing was done.
    #[inline]
    pub fn detach_new(&self) -> bool {
        // Release: partner of the Acquire of the thread that frees the task. Relaxed on failure: nothing is done.
        let detached = NEW - JOINED - REFERENCE;
        self.0.compare_exchange(NEW, detached, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Counts a reference more. The caller has one.
    pub fn add_reference(&self) {
        // Relaxed: a reference is made from another one, which keeps the task alive.
        let seen = self.0.fetch_add(REFERENCE, Ordering::Relaxed);
        // Half of the range is left for the threads that are on their way here.
        assert!(seen <= isize::MAX as usize, "a task has too many wakers");
    }

    /// Counts a reference less. True: it was the last one, and the caller frees the task.
    #[inline]
    pub fn drop_reference(&self) -> bool {
        // AcqRel: partner of itself: the thread that frees the task sees what all others have done with it.
        self.0.fetch_sub(REFERENCE, Ordering::AcqRel) < 2 * REFERENCE
    }
}

#[cfg(all(test, loom))]
impl State {
    /// A mistake that the models must find: a wake-up between the load and the store is lost.
    pub fn begin_run_by_store(&self) {
        // Relaxed (both): no ordering helps.
        self.0.store(self.0.load(Ordering::Relaxed) & !SCHEDULED, Ordering::Relaxed);
    }
}

/// Whether the run that ends has put the task into the list of suspended tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListedNow {
    Yes,
    No,
}
