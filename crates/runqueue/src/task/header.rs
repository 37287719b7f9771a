//! What every task has, whatever its future is.

use crate::lock::cell::UnsafeCell;
use crate::schedule::Schedule;
use crate::task::state::State;
use core::ptr::NonNull;
use core::task::{Poll, Waker};
use unspin_sync::atomic::{AtomicU64, Ordering};

/// The part of a task that does not depend on its future.
pub(super) struct Header {
    pub state: State,
    /// Immutable.
    pub functions: &'static Functions,
    /// The scheduling state: [`Schedule::to_word`]. It belongs to the thread that has the task's [`Runnable`], or that
    /// runs it.
    schedule: AtomicU64,
    /// Where the task is in the list of suspended tasks; 0: it was never suspended. It belongs to the thread that owns
    /// the future.
    listed: AtomicU64,
    /// Protected by the bit `AWAITED` of the state.
    pub join_waker: UnsafeCell<Option<Waker>>,
}

/// The functions that depend on the types of the future and of the executor. Each takes a pointer to a header that is
/// the beginning of a cell of these types.
pub(super) struct Functions {
    /// Polls the future; `waker` wakes the task. For the thread that owns the future. An output is stored in the cell.
    pub poll: unsafe fn(NonNull<Header>, &Waker) -> Poll<()>,
    /// Drops the future and stores that the task was cancelled. For the thread that owns the future.
    pub cancel: unsafe fn(NonNull<Header>),
    /// Drops the output. For the thread that owns it.
    pub drop_output: unsafe fn(NonNull<Header>),
    /// Moves the output to `*mut Option<Result<Output, JoinError>>`. For the thread that owns it.
    pub take_output: unsafe fn(NonNull<Header>, *mut ()),
    /// Puts a runnable into a run queue of the executor.
    pub schedule: unsafe fn(NonNull<Header>),
    /// Adds the task to the list of suspended tasks. For the thread that owns the future.
    pub list: unsafe fn(NonNull<Header>) -> u64,
    /// Tells the executor that the task is about to be completed, and gives up the reference of the list, where the task
    /// has this place. For the thread that owns the future, which has another reference.
    pub retire: unsafe fn(NonNull<Header>, u64),
    /// Frees the cell. For the thread that had the last reference.
    pub free: unsafe fn(NonNull<Header>),
}

impl Header {
    pub fn new(functions: &'static Functions, schedule: Schedule) -> Header {
        Header {
            state: State::new(),
            functions,
            schedule: AtomicU64::new(schedule.to_word()),
            listed: AtomicU64::new(0),
            join_waker: UnsafeCell::new(None),
        }
    }

    #[inline(always)]
    pub fn schedule(&self) -> Schedule {
        // Relaxed: the thread that has the runnable got it by a run queue's lock or an exchange of the state.
        Schedule::from_word(self.schedule.load(Ordering::Relaxed))
    }

    #[inline(always)]
    pub fn set_schedule(&self, schedule: Schedule) {
        // Relaxed: as above.
        self.schedule.store(schedule.to_word(), Ordering::Relaxed);
    }

    pub fn list_place(&self) -> u64 {
        // Relaxed: the future's owner got it by an exchange of the state.
        self.listed.load(Ordering::Relaxed)
    }

    pub fn set_list_place(&self, place: u64) {
        // Relaxed: as above.
        self.listed.store(place, Ordering::Relaxed);
    }
}
