//! The handle by which a task's output is awaited.

use crate::task::JoinError;
use crate::task::header::Header;
use crate::task::raw::{self, Reference};
use core::fmt;
use core::marker::PhantomData;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

/// Awaits the output of a task. Dropping the handle lets the task go on, as [`detach`](JoinHandle::detach) does;
/// [`cancel`](JoinHandle::cancel) ends it.
#[must_use = "await the handle, or call `detach` if the output and a panic of the task do not matter"]
pub struct JoinHandle<T> {
    task: Reference,
    output: PhantomData<T>,
}

// SAFETY: a handle moves the output to its own thread: `T: Send`. All else that it does to the task is done by exchanges
// of the state.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: by reference a handle only cancels, or reads the state.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// # Safety
    /// `task` is a reference that was counted for the handle, and its future's output is a `T`.
    pub(super) unsafe fn from_raw(task: Reference) -> JoinHandle<T> {
        JoinHandle { task, output: PhantomData }
    }

    fn header(&self) -> &Header {
        // SAFETY: the reference keeps it.
        unsafe { self.task.as_ref() }
    }

    /// Requests that the task ends without another poll. Its future is dropped: here, if the task waits; by its worker,
    /// if it runs or can run. If the task has completed before, nothing happens.
    pub fn cancel(&self) {
        // SAFETY: the handle has a reference.
        unsafe { raw::request_cancel(self.task) };
    }

    /// Lets the task go on without a handle. Its output is dropped. Only the panic hook reports its panic.
    ///
    /// ```
    /// # let executor = unspin_runqueue::Builder::new().workers(1).build().unwrap();
    /// executor.spawn(async { println!("no task awaits this one") }).detach();
    /// # assert!(executor.wait_until_idle(None));
    /// ```
    pub fn detach(self) {
        drop(self);
    }

    /// Whether the task is completed or its future was dropped. Then awaiting the handle does not wait.
    pub fn is_finished(&self) -> bool {
        self.header().state.is_completed()
    }

    /// Stores the waker for the thread that completes the task. False: the task is completed.
    fn store_waker(&self, waker: &Waker) -> bool {
        let header = self.header();
        if !header.state.take_waker_back() {
            return false;
        }
        header.join_waker.with_mut(|slot| {
            // SAFETY: `AWAITED` is clear and the task was not completed, so the slot is the handle's. The handle is
            // borrowed mutably by `poll`, the only caller.
            let slot = unsafe { &mut *slot };
            match slot {
                Some(known) => known.clone_from(waker),
                None => *slot = Some(waker.clone()),
            }
        });
        header.state.give_waker()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.is_finished() && self.store_waker(context.waker()) {
            return Poll::Pending;
        }
        let mut output: Option<Self::Output> = None;
        // SAFETY: 1. the task is completed and this is its handle, so the output is the handle's; 2. the future's output
        // is a `T`, so `output` is the option that the function writes.
        unsafe { (self.header().functions.take_output)(self.task, (&raw mut output).cast()) };
        Poll::Ready(output.expect("a handle is not awaited again after it was ready"))
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: 1. the reference keeps the task until it is given up; 2. the output of a completed task is the
        // handle's, until the handle is gone.
        unsafe {
            let header = self.task.as_ref();
            if header.state.detach_new() {
                return;
            }
            if header.state.unjoin() {
                (header.functions.drop_output)(self.task);
            }
            raw::drop_reference(self.task);
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("is_finished", &self.is_finished()).finish()
    }
}
