//! The cost of a wake-up on this machine, for recordings.

use crate::wakeup;
use unspin_meter::{Recording, WakeUpCost};

/// Measures the cost now, for [`store`].
pub fn measure() {
    let _ = wakeup::cost();
}

/// Stores the cost in the recording. If it cannot be measured, the recording does not contain it.
pub fn store(recording: &Recording) {
    if let Ok(cost) = wakeup::cost() {
        recording.set_wake_up(WakeUpCost { futex_ns: cost.futex_ns, epoll_ns: cost.epoll_ns });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_waiting::wakeup::ASSUMED_NS;

    #[test]
    fn assumed_costs_are_equal_in_both_crates() {
        assert_eq!(WakeUpCost::ASSUMED, WakeUpCost { futex_ns: ASSUMED_NS, epoll_ns: ASSUMED_NS });
    }
}
