//! What the lock of a run queue is taken for: the callers in the meter's table.

use core::fmt;

/// An operation on a run queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u64)]
pub enum Operation {
    /// A new task is added.
    Push = 1,
    /// A task that has waited is added.
    Wake = 2,
    /// A task that is runnable is added, and the best one is taken.
    Yield = 3,
    /// A worker takes a task from its own queue, or from the one of all.
    Pop = 4,
    /// A worker takes tasks from another one's queue, or adds what it has taken there to its own.
    Steal = 5,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Operation; 5] =
        [Operation::Push, Operation::Wake, Operation::Yield, Operation::Pop, Operation::Steal];

    /// The name in the meter's table.
    pub const fn name(self) -> &'static str {
        match self {
            Operation::Push => "push",
            Operation::Wake => "wake",
            Operation::Yield => "yield",
            Operation::Pop => "pop",
            Operation::Steal => "steal",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
