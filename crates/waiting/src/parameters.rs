//! Properties of the machine that the wait policy needs.

use crate::host;

/// Times in ticks of the time-stamp counter. The default: no thread polls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PollParameters {
    /// The cost of one wake-up.
    pub wake_up: u64,
    /// A call that took less time than this did not sleep.
    pub ready: u64,
}

impl PollParameters {
    /// The cost of a wake-up on a virtual machine whose CPU has halted, in nanoseconds. Assumed where none is measured.
    pub const ASSUMED_WAKE_UP_NS: u64 = 40_000;

    /// Whether threads poll.
    #[inline(always)]
    pub const fn permit_polls(&self) -> bool {
        self.wake_up > 0
    }

    /// The parameters of a machine with this wake-up cost.
    #[inline]
    pub fn new(wake_up_ns: u64) -> PollParameters {
        let wake_up_ns = wake_up_ns.clamp(MIN_NS, MAX_NS);
        PollParameters { wake_up: host::ticks_in(wake_up_ns), ready: host::ticks_in(READY_NS) }
    }
}

/// Smaller and larger wake-up costs are replaced by these limits. A hypervisor may poll for its guest for a while
/// before it halts the CPU (`halt_poll_ns` of KVM). Wake-ups are cheap only while it does that: a measured low cost may
/// be 40 us a second later. Each trial measures anew how much time polling really saves.
const MIN_NS: u64 = 30_000;
const MAX_NS: u64 = 200_000;
/// No wake-up is this short, and few system calls that find something ready take this long.
const READY_NS: u64 = 1_500;
