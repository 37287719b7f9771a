//! What a thread knows of the executor that it works for.

use crate::executor::shared::Shared;
use crate::executor::timed_wait::TimedWait;
use crate::schedule::{TICK, WorkerId};
use core::cell::{Cell, RefCell};
use core::ptr;
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
    /// The task that runs has called [`yield_now`](crate::yield_now).
    yielded: Cell<bool>,
    /// Time up to which tasks have been charged, in nanoseconds.
    charged: Cell<u64>,
    /// When the worker's present wait began, in ticks, if its time is to be reported.
    pub wait: Cell<Option<TimedWait>>,
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
            yielded: Cell::new(false),
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

    pub fn note_yield(&self) {
        self.yielded.set(true);
    }

    /// Whether the task has yielded since this was last asked.
    pub fn take_yield(&self) -> bool {
        self.yielded.replace(false)
    }

    /// The ticks since tasks were last charged.
    #[inline(always)]
    pub fn take_ticks(&self) -> u64 {
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
