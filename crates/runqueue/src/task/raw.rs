//! Tasks by pointer: what the safe types of this module are built from.
//!
//! **Which thread may touch what.** The bits of [`State`](crate::task::state::State) decide, and every transfer but one is an
//! exchange of that word:
//!
//! - the *stage* (future, then output) belongs to the thread that set `RUNNING`. That thread may pass it on with the task's
//!   runnable: the run queue's lock is the transfer, and the word stays as it is. From `COMPLETED` on the stage belongs to
//!   the join handle, or to the thread that completed the task if there is no handle;
//! - the *slot of the join handle's waker* belongs to the handle while `AWAITED` is clear, and to the thread that
//!   completes the task while it is set; from `COMPLETED` on to the thread that frees the task;
//! - the *memory* belongs to all references together.
//!
//! **The owner.** A task has a value by which it reaches its executor. It uses that only while it is not completed, so
//! an executor that completes all its tasks before it ends is never used after its end.

use crate::contain::contain;
use crate::schedule::Schedule;
use crate::task::cell::{Cell, Stage};
use crate::task::header::{Functions, Header};
use crate::task::{JoinError, JoinHandle, Listed, Owner, Runnable};
use core::pin::Pin;
use core::ptr::NonNull;
use core::task::{Context, Poll, Waker};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A pointer to a task that counts as one reference of it.
pub(super) type Reference = NonNull<Header>;

/// Makes a task: see [`new`](crate::task::new).
pub(super) fn allocate<F, S>(future: F, schedule: Schedule, owner: S) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Owner,
{
    use crate::lock::cell::UnsafeCell;
    let header = Header::new(functions::<F, S>(), schedule);
    let cell = Box::new(Cell { header, owner, stage: UnsafeCell::new(Stage::Future(future)) });
    let task = NonNull::from(Box::leak(cell)).cast::<Header>();
    // SAFETY: a new task counts two references: these. Nothing else has its pointer yet. The output's type is `F`'s.
    unsafe { (Runnable::from_raw(task), JoinHandle::from_raw(task)) }
}

fn functions<F, S>() -> &'static Functions
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
    S: Owner,
{
    const {
        &Functions {
            poll: poll::<F, S>,
            cancel: cancel::<F, S>,
            drop_output: drop_output::<F, S>,
            take_output: take_output::<F, S>,
            schedule: schedule::<F, S>,
            list: list::<F, S>,
            retire: retire::<F, S>,
            free: free::<F, S>,
        }
    }
}

/// The cell of a header.
///
/// # Safety
/// The header is the beginning of a cell of these types, which is not freed during `'a`.
#[inline(always)]
unsafe fn cell<'a, F: Future, S>(task: NonNull<Header>) -> &'a Cell<F, S> {
    // SAFETY: guaranteed by the caller; all parts that change are in cells of their own.
    unsafe { task.cast::<Cell<F, S>>().as_ref() }
}

impl<F: Future, S> Cell<F, S> {
    /// Replaces the stage. Dropping what was there may panic; the panic is thrown away, because its task has an output
    /// already.
    ///
    /// # Safety
    /// The caller owns the stage.
    unsafe fn set_stage(&self, stage: Stage<F>) {
        self.stage.with_mut(|place| {
            // SAFETY: the caller owns the stage. A future is pinned, so it is dropped in its place, not moved out before.
            // `write` does not drop it again; after a panic its other fields are dropped as well.
            unsafe {
                contain(|| place.drop_in_place());
                place.write(stage);
            }
        });
    }
}

unsafe fn poll<F: Future, S>(task: NonNull<Header>, waker: &Waker) -> Poll<()> {
    // SAFETY: the caller passes a header of these types, and has a reference.
    let cell = unsafe { cell::<F, S>(task) };
    let polled = cell.stage.with_mut(|stage| {
        // SAFETY: the caller owns the stage.
        let Stage::Future(future) = (unsafe { &mut *stage }) else { unreachable!("the task is completed") };
        // SAFETY: the future is in an allocation that is not moved, and is dropped there.
        let future = unsafe { Pin::new_unchecked(future) };
        // If it panics it is dropped next, and not polled again.
        catch_unwind(AssertUnwindSafe(|| future.poll(&mut Context::from_waker(waker))))
    });
    let output = match polled {
        Ok(Poll::Pending) => return Poll::Pending,
        Ok(Poll::Ready(output)) => Ok(output),
        Err(payload) => Err(JoinError::Panicked(payload)),
    };
    // SAFETY: the caller owns the stage.
    unsafe { cell.set_stage(Stage::Output(output)) };
    Poll::Ready(())
}

unsafe fn cancel<F: Future, S>(task: NonNull<Header>) {
    // SAFETY: the caller passes a header of these types, has a reference, and owns the stage.
    unsafe { cell::<F, S>(task).set_stage(Stage::Output(Err(JoinError::Cancelled))) };
}

unsafe fn drop_output<F: Future, S>(task: NonNull<Header>) {
    // SAFETY: as in `cancel`.
    unsafe { cell::<F, S>(task).set_stage(Stage::Empty) };
}

unsafe fn take_output<F: Future, S>(task: NonNull<Header>, to: *mut ()) {
    // SAFETY: the caller passes a header of these types, and has a reference.
    let cell = unsafe { cell::<F, S>(task) };
    // SAFETY: the caller owns the stage.
    let stage = cell.stage.with_mut(|stage| unsafe { stage.replace(Stage::Empty) });
    if let Stage::Output(output) = stage {
        // SAFETY: the caller passes a pointer to such an option, which it does not use meanwhile.
        unsafe { *to.cast::<Option<Result<F::Output, JoinError>>>() = Some(output) };
    }
}

unsafe fn schedule<F: Future, S: Owner>(task: NonNull<Header>) {
    // SAFETY: the caller passes a header of these types, and a reference that it has counted for the queue. The task is
    // scheduled, so no other runnable exists.
    unsafe { cell::<F, S>(task).owner.schedule(Runnable::from_raw(task)) };
}

unsafe fn list<F: Future, S: Owner>(task: NonNull<Header>) -> u64 {
    // SAFETY: the caller passes a header of these types, and a reference for the list.
    unsafe { cell::<F, S>(task).owner.list(Listed::from_raw(task)) }
}

unsafe fn retire<F: Future, S: Owner>(task: NonNull<Header>, place: u64) {
    // SAFETY: the caller passes a header of these types, and has a reference besides the list's.
    let listed = unsafe { cell::<F, S>(task).owner.retire(place) };
    drop(listed);
}

unsafe fn free<F: Future, S>(task: NonNull<Header>) {
    // SAFETY: the pointer came from such a box, and the caller had the last reference.
    let cell = unsafe { Box::from_raw(task.cast::<Cell<F, S>>().as_ptr()) };
    contain(|| drop(cell));
}

/// Ends a task whose output is in its stage: hands the output over and wakes the join handle. Returns whether the caller's
/// reference is the only one.
///
/// # Safety
/// The caller has a reference and owns the stage, and no longer does afterwards.
pub(super) unsafe fn complete(task: NonNull<Header>) -> bool {
    // SAFETY: the caller has a reference.
    let header = unsafe { task.as_ref() };
    // SAFETY: the functions belong to this task; the caller owns the future's place, and has a reference.
    unsafe { (header.functions.retire)(task, header.list_place()) };
    let completed = header.state.complete();
    if !completed.is_joined {
        // SAFETY: as above; without a handle the output is the caller's.
        unsafe { (header.functions.drop_output)(task) };
    } else if completed.is_awaited {
        header.join_waker.with_mut(|waker| {
            // SAFETY: `AWAITED` was set when the task was completed, so the slot is the caller's.
            if let Some(waker) = unsafe { (*waker).take() } {
                // A waker is code of the program.
                contain(|| waker.wake());
            }
        });
    }
    completed.is_last_reference
}

/// Drops the future of a task, and ends the task. Returns what [`complete`] does.
///
/// # Safety
/// As of [`complete`].
pub(super) unsafe fn cancel_and_complete(task: NonNull<Header>) -> bool {
    // SAFETY: guaranteed by the caller.
    unsafe {
        (task.as_ref().functions.cancel)(task);
        complete(task)
    }
}

/// Gives up a reference, and frees the task if it was the last.
///
/// # Safety
/// The caller has the reference and does not use it again.
#[inline]
pub(super) unsafe fn drop_reference(task: Reference) {
    // SAFETY: the caller has a reference until `drop_reference` has counted it off; the last one frees.
    unsafe {
        let header = task.as_ref();
        let functions = header.functions;
        if header.state.drop_reference() {
            (functions.free)(task);
        }
    }
}

/// Requests that a task is cancelled, and drops its future if no other thread has it.
///
/// # Safety
/// The caller has a reference.
pub(super) unsafe fn request_cancel(task: NonNull<Header>) {
    // SAFETY: the caller has a reference; `Drop` means that it owns the future now.
    unsafe {
        if task.as_ref().state.cancel() == crate::task::state::Cancel::Drop {
            cancel_and_complete(task);
        }
    }
}
