//! What has a line of its own in a timeline.

/// What waits: a thread. Threads without a number of their own are told apart by CPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Track {
    /// A thread by its process and its number.
    Thread(u32, u32),
    /// The idle thread of a CPU.
    Idle(u32),
    /// Threads that end and have given up their numbers, by CPU.
    Exiting(u32),
}

impl Track {
    /// The number of the process; 0 for idle threads, as in the kernel's records.
    pub fn pid(self) -> u32 {
        match self {
            Track::Thread(pid, _) => pid,
            Track::Idle(_) => 0,
            Track::Exiting(_) => u32::MAX,
        }
    }

    /// The number of the thread, or of the CPU.
    pub fn tid(self) -> u32 {
        match self {
            Track::Thread(_, number) | Track::Idle(number) | Track::Exiting(number) => number,
        }
    }
}
