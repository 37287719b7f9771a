//! What the policy knows of the machine.

/// Times in ticks of the time-stamp counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// What a wake-up costs.
    pub wake_up: u64,
    /// A call that took less time did not sleep.
    pub ready: u64,
}

impl Policy {
    /// The policy of a machine whose wake-ups cost that much, and whose counter runs at that rate.
    pub fn new(wake_up_ns: u64, ticks_per_second: u64) -> Policy {
        let ticks = |ns: u64| (u128::from(ns) * u128::from(ticks_per_second) / 1_000_000_000) as u64;
        let wake_up_ns = wake_up_ns.clamp(LEAST_NS, MOST_NS);
        Policy { wake_up: ticks(wake_up_ns), ready: ticks(READY_NS) }
    }
}

/// Wake-ups that seem to cost less or more than that are taken for these. A hypervisor that polls for its guest for a while makes
/// them cheap until it stops (`halt_poll_ns` of KVM), so a cheap one today may cost 40 us in a second; what polling saves in
/// fact each trial measures anew.
const LEAST_NS: u64 = 30_000;
const MOST_NS: u64 = 200_000;
/// No wake-up is as short; few system calls that find something ready are as long.
const READY_NS: u64 = 1_500;
