//! The waker of a task.

use crate::task::header::Header;
use crate::task::raw::{self, Reference};
use crate::task::state::{LastWake, Wake};
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::task::{RawWaker, RawWakerVTable, Waker};

static FUNCTIONS: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// Calls `f` with a waker of the task that borrows the caller's reference.
#[inline(always)]
pub(super) fn with<R>(task: NonNull<Header>, f: impl FnOnce(&Waker) -> R) -> R {
    // SAFETY: the functions do what the contract of `RawWaker` asks for, on pointers to tasks. The waker is not dropped,
    // so it needs no reference of its own.
    let waker =
        ManuallyDrop::new(unsafe { Waker::from_raw(RawWaker::new(task.as_ptr().cast(), &FUNCTIONS)) });
    f(&waker)
}

/// Where a task is. It tells tasks apart as long as they exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaskAddress(*const ());

impl TaskAddress {
    #[inline(always)]
    pub(super) fn of(task: NonNull<Header>) -> TaskAddress {
        TaskAddress(task.as_ptr().cast_const().cast())
    }

    /// Whether this waker is the task's own.
    #[inline]
    pub fn is_woken_by(self, waker: &Waker) -> bool {
        waker.data() == self.0 && core::ptr::eq(waker.vtable(), &raw const FUNCTIONS)
    }
}

/// # Safety
/// `data` is a waker's, so the waker's reference keeps the task.
unsafe fn task(data: *const ()) -> Reference {
    // SAFETY: made in `with` from such a pointer, or in `clone` from another waker's.
    unsafe { NonNull::new_unchecked(data.cast_mut().cast()) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the waker that is cloned has a reference.
    unsafe { task(data).as_ref().state.add_reference() };
    RawWaker::new(data, &FUNCTIONS)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the caller gives up the waker, and its reference, which keeps the task until it is passed on or counted off.
    // `Schedule` means that it is the runnable's now, and that no other runnable exists; `Free`, that it was the last.
    unsafe {
        let task = task(data);
        let functions = task.as_ref().functions;
        match task.as_ref().state.wake_and_drop() {
            LastWake::Nothing => {}
            LastWake::Schedule => (functions.schedule)(task),
            LastWake::Free => (functions.free)(task),
        }
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker's reference keeps the task. `Schedule` means that a reference was counted for the runnable, and
    // that no other runnable exists.
    unsafe {
        let task = task(data);
        if task.as_ref().state.wake() == Wake::Schedule {
            (task.as_ref().functions.schedule)(task);
        }
    }
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: the caller gives up the waker, and its reference.
    unsafe { raw::drop_reference(task(data)) };
}
