//! Tasks on their way from one ready list to another.

/// At most so many tasks are moved at a time. Moving one costs a few instructions, because the tasks themselves are not
/// touched, so a large batch is cheap; and the more tasks a worker has taken, the later it disturbs the other one again.
#[cfg(not(loom))]
pub(crate) const BATCH: usize = 256;
/// The stacks of a model's threads are small.
#[cfg(loom)]
pub(crate) const BATCH: usize = 2;

/// Tasks of one group and level.
pub(crate) struct Batch<T> {
    /// The group in the list where they were taken.
    pub(super) group: usize,
    pub(super) level: usize,
    /// Not an array: most batches are small, and a value of this size would be moved several times.
    pub(super) tasks: Vec<T>,
}

impl<T> Batch<T> {
    /// An empty batch that can take so many tasks, but at most [`BATCH`], without an allocation.
    pub fn with_room_for(tasks: usize) -> Batch<T> {
        Batch { group: 0, level: 0, tasks: Vec::with_capacity(tasks.min(BATCH)) }
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }
}
