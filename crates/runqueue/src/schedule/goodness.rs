//! How urgent a task is.

/// What a task's goodness is more on the worker on which it ran last.
pub const AFFINITY: u16 = 15;

/// The goodness of a real-time task without its priority.
pub(crate) const REAL_TIME: u16 = 1000;

/// How urgently a worker should run a task: the more, the sooner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Goodness(pub(super) u16);

impl Goodness {
    /// The goodness of a normal task that has spent its slice.
    pub const SPENT: Goodness = Goodness(0);

    /// The goodness as a number.
    pub const fn value(self) -> u16 {
        self.0
    }

    /// The goodness with this number.
    pub(crate) const fn from_value(value: u16) -> Goodness {
        Goodness(value)
    }

    /// The task's goodness on a worker on which it has the affinity bonus.
    #[inline(always)]
    pub const fn with_affinity(self) -> Goodness {
        match self.0 {
            0 | REAL_TIME.. => self,
            value => Goodness(value + AFFINITY),
        }
    }
}
