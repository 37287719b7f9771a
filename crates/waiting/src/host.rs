//! The questions that the policy asks the operating system.

#[cfg(not(any(loom, shuttle)))]
pub(crate) use machine::*;

#[cfg(not(any(loom, shuttle)))]
mod machine {
    pub(crate) use unspin_sys::clock::{ticks, ticks_in};
    use unspin_sys::process;
    use unspin_sys::sched::{self, ThreadQueries};

    /// How often the thread has lost its CPU to another thread; 0 where system calls are not allowed (after a seccomp
    /// filter).
    pub(crate) fn involuntary_switches() -> u64 {
        match sched::thread_queries() {
            ThreadQueries::Allowed => process::involuntary_switches(),
            ThreadQueries::Forbidden => 0,
        }
    }

    /// Whether the calling thread is in a real-time scheduling class.
    pub(crate) fn is_real_time() -> bool {
        sched::real_time_priority() > 0
    }

    /// Gives up the CPU once, where system calls are allowed.
    pub(crate) fn yield_now() {
        if sched::thread_queries() == ThreadQueries::Allowed {
            sched::yield_now();
        }
    }
}

#[cfg(any(loom, shuttle))]
pub(crate) use model::*;

#[cfg(any(loom, shuttle))]
mod model {
    /// The model's clock stands still.
    pub(crate) fn ticks() -> u64 {
        0
    }

    /// A tick of the model's clock is a nanosecond.
    pub(crate) fn ticks_in(ns: u64) -> u64 {
        ns
    }

    pub(crate) fn involuntary_switches() -> u64 {
        0
    }

    pub(crate) fn is_real_time() -> bool {
        false
    }

    pub(crate) fn yield_now() {
        unspin_sync::thread::yield_now();
    }
}
