//! A task that can run now.

use crate::schedule::{Schedulable, Schedule};
use crate::task::Runner;
use crate::task::header::Header;
use crate::task::raw::{self, Reference};
use crate::task::state::{Begin, ListedNow, Pending};
use crate::task::waker::{self, TaskAddress};
use core::ptr::NonNull;
use core::task::Poll;

/// The right to run a task once. It is in a run queue, or a worker has it. Dropping it cancels the task.
pub(crate) struct Runnable(Reference);

// SAFETY: futures and outputs of tasks are `Send`, and only one runnable of a task exists at a time.
unsafe impl Send for Runnable {}

/// The result of a run.
#[must_use]
pub(crate) enum Ran {
    /// The task is completed, or waits to be woken.
    Done,
    /// It was woken meanwhile, or has yielded, so it can run again.
    Again(Runnable),
}

impl Runnable {
    /// # Safety
    /// The task is scheduled, and `task` is a reference that was counted for its one runnable.
    pub(super) unsafe fn from_raw(task: Reference) -> Runnable {
        Runnable(task)
    }

    fn into_raw(self) -> Reference {
        core::mem::ManuallyDrop::new(self).0
    }

    #[inline(always)]
    fn header(&self) -> &Header {
        // SAFETY: the reference keeps it.
        unsafe { self.0.as_ref() }
    }

    /// The task's address, by which its own waker is known.
    #[inline(always)]
    pub fn address(&self) -> TaskAddress {
        TaskAddress::of(self.0)
    }

    /// Polls the future once.
    #[inline]
    pub fn run(self, runner: &impl Runner) -> Ran {
        let task = self.into_raw();
        // SAFETY: the reference keeps the task.
        let header = unsafe { task.as_ref() };
        if header.state.begin_run() == Begin::Cancel {
            // SAFETY: `RUNNING` is set, and this thread has the runnable: it owns the future, and the reference.
            unsafe { end(task, raw::cancel_and_complete) };
            return Ran::Done;
        }
        let polled = waker::with(task, |waker| {
            // SAFETY: `RUNNING` is set, and this thread has the runnable, so it owns the future; the functions belong to
            // this task.
            unsafe { (header.functions.poll)(task, waker) }
        });
        match polled {
            Poll::Ready(()) => {
                // SAFETY: as above; the output is there.
                unsafe { end(task, raw::complete) };
                Ran::Done
            }
            Poll::Pending => end_pending_run(task, runner),
        }
    }

    /// Drops the future.
    pub fn cancel(self) {
        let task = self.into_raw();
        // SAFETY: the reference keeps the task; from here on `RUNNING` is set, and this thread has the runnable.
        unsafe {
            task.as_ref().state.begin_run();
            end(task, raw::cancel_and_complete);
        }
    }
}

#[cfg(all(test, loom))]
impl Runnable {
    /// A mistake that the models must find: the output is stored after the task was completed.
    pub fn complete_before_the_output(self) {
        let task = self.into_raw();
        // SAFETY: the reference keeps the task. This thread does not own the stage any more when it stores the output.
        unsafe {
            let functions = task.as_ref().functions;
            task.as_ref().state.begin_run();
            task.as_ref().state.complete();
            let _ = waker::with(task, |waker| (functions.poll)(task, waker));
            raw::drop_reference(task);
        }
    }
}

/// Ends a task by `how`, and gives up the runnable's reference.
///
/// # Safety
/// The caller has the reference, and meets what `how` asks for.
#[inline]
unsafe fn end(task: Reference, how: unsafe fn(NonNull<Header>) -> bool) {
    // SAFETY: guaranteed by the caller. A reference that is the only one cannot become another one's: it frees the task
    // without being counted off.
    unsafe {
        let functions = task.as_ref().functions;
        if how(task) {
            (functions.free)(task);
        } else {
            raw::drop_reference(task);
        }
    }
}

/// Ends a run whose future is pending. The calling thread owns the future.
#[inline]
fn end_pending_run(task: Reference, runner: &impl Runner) -> Ran {
    // SAFETY: the reference of the runnable keeps the task until it is given up.
    let header = unsafe { task.as_ref() };
    let before = header.schedule();
    let after = runner.charge(before);
    if after != before {
        header.set_schedule(after);
    }
    if runner.has_yielded() || header.state.is_woken() {
        // The future goes with the runnable: the state stays as it is.
        return Ran::Again(Runnable(task));
    }
    let mut listed_now = ListedNow::No;
    if header.list_place() == 0 {
        // SAFETY: the functions belong to this task, and this thread owns its future. The reference for the list is counted
        // when the run ends.
        header.set_list_place(unsafe { (header.functions.list)(task) });
        listed_now = ListedNow::Yes;
    }
    match header.state.end_run(listed_now) {
        Pending::Suspended => Ran::Done,
        // SAFETY: the last reference is gone, and this thread has counted it off.
        Pending::Abandoned => unsafe {
            (header.functions.free)(task);
            Ran::Done
        },
        Pending::Woken => Ran::Again(Runnable(task)),
        Pending::Cancel => {
            // SAFETY: the thread still owns the future.
            unsafe { end(task, raw::cancel_and_complete) };
            Ran::Done
        }
    }
}

impl Drop for Runnable {
    fn drop(&mut self) {
        Runnable(self.0).cancel();
    }
}

impl Schedulable for Runnable {
    #[inline(always)]
    fn schedule(&self) -> Schedule {
        self.header().schedule()
    }

    #[inline(always)]
    fn set_schedule(&mut self, schedule: Schedule) {
        self.header().set_schedule(schedule);
    }
}
