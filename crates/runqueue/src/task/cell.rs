//! A task's allocation, with its types.

use crate::lock::cell::UnsafeCell;
use crate::task::JoinError;
use crate::task::header::Header;

/// The header comes first: a pointer to the cell is one to its header.
#[repr(C)]
pub(super) struct Cell<F: Future, S> {
    pub header: Header,
    /// Immutable.
    pub owner: S,
    /// It belongs to the thread that has set `RUNNING` in the state, or that has got the task's runnable from it, until that
    /// thread sets `COMPLETED`; then to the join handle, if there is one, else to the thread that completed the task.
    pub stage: UnsafeCell<Stage<F>>,
}

/// What there is of a task.
pub(super) enum Stage<F: Future> {
    Future(F),
    Output(Result<F::Output, JoinError>),
    /// The output was taken.
    Empty,
}
