//! Which run queue a program uses.

use core::fmt;
use core::str::FromStr;

/// A kind of run queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Policy {
    /// One queue and one lock for all workers: [`Global`](crate::queue::Global).
    Global,
    /// A queue and a lock for each worker: [`PerCpu`](crate::queue::PerCpu).
    #[default]
    PerCpu,
}

impl Policy {
    /// Both.
    pub const ALL: [Policy; 2] = [Policy::Global, Policy::PerCpu];

    /// The name on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Policy::Global => "global",
            Policy::PerCpu => "percpu",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Error: the name belongs to no policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownPolicy;

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there are the run queues global and percpu")
    }
}

impl std::error::Error for UnknownPolicy {}

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Policy, UnknownPolicy> {
        Policy::ALL.into_iter().find(|policy| policy.name() == name).ok_or(UnknownPolicy)
    }
}
