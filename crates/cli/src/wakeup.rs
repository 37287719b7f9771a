//! The cost of a wake-up on this machine, measured once in each process (about 20 ms).

use std::sync::OnceLock;
use unspin_sys::Errno;
use unspin_waiting::wakeup::MeasuredWakeUp;

/// The cost. Call it before a program is started: a running program disturbs the measurement.
pub fn cost() -> Result<MeasuredWakeUp, Errno> {
    static COST: OnceLock<Result<MeasuredWakeUp, Errno>> = OnceLock::new();
    *COST.get_or_init(MeasuredWakeUp::measure)
}
