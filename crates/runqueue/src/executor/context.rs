//! What a thread knows of the executor that it works for.

use crate::executor::shared::Shared;
use crate::executor::timed_wait::TimedWait;
use crate::queue::Requeue;
use crate::schedule::{Schedule, TICK, WorkerId};
use crate::task::{Ran, Runnable, Runner, TaskAddress};
use core::cell::{Cell, RefCell};
use core::ptr;
use core::task::Waker;
use std::sync::Arc;
use unspin_sys::clock;

/// What a worker keeps for the tasks that it runs.
pub(crate) struct Context {
    pub shared: Arc<Shared>,
    /// The worker that the thread is.
    pub worker: WorkerId,
    /// The worker drives the reactor, and has no task.
    pub in_driver: Cell<bool>,
    /// The task that runs is in a `block_on`. Until that returns, the thread's executor may be another one.
    is_covered: Cell<bool>,
    /// The task that runs.
    running: Cell<Option<TaskAddress>>,
    /// Whether that task has called [`yield_now`](crate::yield_now).
    yielded: Cell<Yielded>,
    /// Time up to which tasks have been charged, in nanoseconds.
    charged: Cell<u64>,
    /// When the worker's present wait began, in ticks, if its time is to be reported.
    pub wait: Cell<Option<TimedWait>>,
}

/// What a task has yielded, in the order of what follows from it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Yielded {
    Nothing,
    /// A part that has a waker of its own, such as a future in a join or in a `block_on`. The part was woken by that waker.
    Part,
    /// The whole task. No waker was used: the worker runs the task again.
    Task,
}

thread_local! {
    /// The context of a worker; null in other threads.
    static CURRENT: Cell<*const Context> = const { Cell::new(ptr::null()) };
    /// The executor of a thread that is no worker, or whose context is covered.
    static ENTERED: RefCell<Option<Arc<Shared>>> = const { RefCell::new(None) };
}

impl Context {
    pub fn new(shared: Arc<Shared>, worker: WorkerId) -> Context {
        Context {
            shared,
            worker,
            in_driver: Cell::new(false),
            is_covered: Cell::new(false),
            running: Cell::new(None),
            yielded: Cell::new(Yielded::Nothing),
            charged: Cell::new(clock::monotonic_tick_ns()),
            wait: Cell::new(None),
        }
    }

    /// Makes this the context of the calling thread while `f` runs.
    pub fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Leave(*const Context);
        impl Drop for Leave {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _leave = Leave(CURRENT.replace(ptr::from_ref(self)));
        f()
    }

    /// Calls `f` with the calling thread's context, if it is a worker.
    #[inline(always)]
    pub fn with<R>(f: impl FnOnce(Option<&Context>) -> R) -> R {
        let current = CURRENT.get();
        // SAFETY: `enter` sets the pointer to a context that it borrows, and sets it back before it returns. `f` cannot
        // keep the reference.
        f(unsafe { current.as_ref() })
    }

    /// Calls `f` with the calling thread's context, if it is a worker and the context is not covered.
    #[inline(always)]
    pub fn with_if_uncovered<R>(f: impl FnOnce(Option<&Context>) -> R) -> R {
        Context::with(|context| f(context.filter(|context| !context.is_covered.get())))
    }

    /// Sets whether the context of the calling thread is covered, if there is one. Returns what it was.
    fn cover(is_covered: bool) -> bool {
        Context::with(|context| context.is_some_and(|context| context.is_covered.replace(is_covered)))
    }

    /// Runs a task. If it can run again, says how it comes back into the queue.
    #[inline(always)]
    pub fn run(&self, task: Runnable) -> Option<(Runnable, Requeue)> {
        self.running.set(Some(task.address()));
        let ran = task.run(self);
        self.running.set(None);
        // The task may also have yielded before it ended. The next task has not yielded.
        let yielded = self.yielded.replace(Yielded::Nothing);
        let Ran::Again(task) = ran else { return None };
        Some((task, if yielded == Yielded::Nothing { Requeue::Woken } else { Requeue::Yielded }))
    }

    /// The task that runs yields, in a future that is polled with this waker. If that is not the task's own waker, wakes the
    /// future. The own one is not used: what it does is known here.
    #[inline]
    pub fn yield_by(&self, waker: &Waker) {
        let yielded = if self.running.get().is_some_and(|task| task.is_woken_by(waker)) {
            Yielded::Task
        } else {
            waker.wake_by_ref();
            Yielded::Part
        };
        self.yielded.set(self.yielded.get().max(yielded));
    }

    /// The ticks since tasks were last charged.
    #[inline(always)]
    fn take_ticks(&self) -> u64 {
        const NS: u64 = TICK.as_nanos() as u64;
        let time = clock::monotonic_tick_ns().saturating_sub(self.charged.get());
        if time < NS {
            return 0;
        }
        self.charged.set(self.charged.get() + time / NS * NS);
        time / NS
    }

    /// Charges the time since tasks were last charged to no task, because the worker had none.
    pub fn skip_ticks(&self) {
        self.charged.set(clock::monotonic_tick_ns());
    }
}

impl Runner for Context {
    #[inline(always)]
    fn charge(&self, schedule: Schedule) -> Schedule {
        match self.take_ticks() {
            0 => schedule,
            ticks => {
                let epoch = self.shared.pool.queue().epoch(self.worker);
                schedule.recalculate_to(epoch).charge(ticks)
            }
        }
    }

    #[inline(always)]
    fn has_yielded(&self) -> bool {
        self.yielded.get() == Yielded::Task
    }
}

/// Makes this the calling thread's executor while `f` runs. If the thread is a worker, its context is covered meanwhile.
pub(crate) fn enter_outside<R>(shared: &Arc<Shared>, f: impl FnOnce() -> R) -> R {
    struct Leave {
        before: Option<Arc<Shared>>,
        was_covered: bool,
    }
    impl Drop for Leave {
        fn drop(&mut self) {
            Context::cover(self.was_covered);
            drop(replace_executor(self.before.take()));
        }
    }
    let before = replace_executor(Some(Arc::clone(shared)));
    let _leave = Leave { before, was_covered: Context::cover(true) };
    f()
}

fn replace_executor(shared: Option<Arc<Shared>>) -> Option<Arc<Shared>> {
    // It fails in a thread that ends, once its variables are gone. Then the thread has no executor.
    ENTERED.try_with(|entered| entered.replace(shared)).ok().flatten()
}

/// The executor of the calling thread.
pub(crate) fn current() -> Option<Arc<Shared>> {
    Context::with_if_uncovered(|context| context.map(|context| Arc::clone(&context.shared)))
        .or_else(|| ENTERED.try_with(|entered| entered.borrow().clone()).ok().flatten())
}
