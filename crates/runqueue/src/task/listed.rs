//! A reference of a task for the list of suspended tasks.

use crate::task::raw::{self, Reference};

/// A task in the list: the list's reference of it.
pub(crate) struct Listed(Reference);

// SAFETY: it only requests that the task is cancelled, which drops a future that is `Send`.
unsafe impl Send for Listed {}

impl Listed {
    /// # Safety
    /// `task` is a reference that was counted for the list, or will be before another thread can use the value.
    pub(super) unsafe fn from_raw(task: Reference) -> Listed {
        Listed(task)
    }

    /// Drops the task's future, unless another thread has it; then that thread will.
    pub fn cancel(&self) {
        // SAFETY: this value has a reference.
        unsafe { raw::request_cancel(self.0) };
    }

    /// A second reference.
    pub fn another(&self) -> Listed {
        // SAFETY: this value has a reference; the new one is counted.
        unsafe { self.0.as_ref().state.add_reference() };
        Listed(self.0)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        // SAFETY: this value has a reference, which is not used again.
        unsafe { raw::drop_reference(self.0) };
    }
}
