//! The cost of a wake-up on this machine, for recordings.

use unspin_launch::error::Error;
use unspin_launch::machine::wakeup;
use unspin_wire::{Level, Recording, WakeUpCost};

/// Determines the cost now, for [`store`], if a recording of this level is compared with it.
pub fn determine(level: Level) -> Result<(), Error> {
    match level {
        Level::Counts => Ok(()),
        Level::Full | Level::Auto | Level::Sampled { .. } => wakeup::cost().map(drop),
    }
}

/// Stores the cost in a recording of this level.
pub fn store(recording: &Recording, level: Level) {
    if level != Level::Counts
        && let Ok(cost) = wakeup::cost()
    {
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
