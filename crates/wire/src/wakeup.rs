//! The cost of a wake-up, as measured by the recording's owner.

use crate::kind::RecordKind;

/// The time from the call that wakes a thread until that thread runs again, on an idle CPU, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeUpCost {
    /// For a thread that sleeps on a futex: in a condition, a barrier, a semaphore, a join.
    pub futex_ns: u64,
    /// For a thread that sleeps in epoll_wait(2), on descriptors of any type.
    pub epoll_ns: u64,
}

/// A wait is short if it ends within the time of this many wake-ups: that of the waiting thread, that of its partner
/// if the partner sleeps too, and the answer between them.
pub(crate) const SHORT_WAKE_UPS: u64 = 3;

impl WakeUpCost {
    /// The value in a recording if the CPUs were too busy to measure; typical of a virtual machine.
    pub const ASSUMED: WakeUpCost = WakeUpCost { futex_ns: 40_000, epoll_ns: 40_000 };

    /// Whether the cost for waits of this kind is assumed.
    pub fn is_assumed(self, kind: RecordKind) -> bool {
        self.ns(kind) == WakeUpCost::ASSUMED.ns(kind)
    }

    /// The cost of waking a thread from a wait of this kind, in seconds.
    pub fn seconds(self, kind: RecordKind) -> f64 {
        self.ns(kind) as f64 / 1e9
    }

    /// A bound in seconds: waits of this kind that end sooner are short. A thread that polled first would not have
    /// slept in most of them.
    pub fn short(self, kind: RecordKind) -> f64 {
        self.ns(kind).saturating_mul(SHORT_WAKE_UPS) as f64 / 1e9
    }

    fn ns(self, kind: RecordKind) -> u64 {
        match kind {
            RecordKind::Poll
            | RecordKind::Select
            | RecordKind::Epoll
            | RecordKind::Receive
            | RecordKind::Accept => self.epoll_ns,
            _ => self.futex_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_cost_an_epoll_wake_up_and_the_rest_a_futex_wake_up() {
        let cost = WakeUpCost { futex_ns: 40_000, epoll_ns: 50_000 };
        assert_eq!(
            [RecordKind::Condition, RecordKind::Join, RecordKind::Futex].map(|kind| cost.seconds(kind)),
            [40e-6; 3]
        );
        assert_eq!(
            [RecordKind::Poll, RecordKind::Epoll, RecordKind::Receive].map(|kind| cost.seconds(kind)),
            [50e-6; 3]
        );
        assert_eq!((cost.short(RecordKind::Barrier), cost.short(RecordKind::Accept)), (120e-6, 150e-6));
        let half = WakeUpCost { epoll_ns: 50_000, ..WakeUpCost::ASSUMED };
        assert!(half.is_assumed(RecordKind::Join) && !half.is_assumed(RecordKind::Poll));
        let absurd = WakeUpCost { futex_ns: u64::MAX, epoll_ns: 1 };
        assert!(absurd.short(RecordKind::Futex).is_finite());
    }
}
