//! What the policy asks of the machine.

#[cfg(not(any(loom, shuttle)))]
pub(crate) use unspin_sys::{clock::ticks, process::involuntary_switches, sched::yield_now};

#[cfg(any(loom, shuttle))]
pub(crate) use model::*;

#[cfg(any(loom, shuttle))]
mod model {
    /// Time stands still.
    pub(crate) fn ticks() -> u64 {
        0
    }

    pub(crate) fn involuntary_switches() -> u64 {
        0
    }

    pub(crate) fn yield_now() {
        unspin_sync::thread::yield_now();
    }
}
