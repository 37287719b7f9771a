//! What a wake-up costs on this machine, measured once in the life of this process (some 20 ms).

use std::sync::OnceLock;
use unspin_sys::Errno;
use unspin_waiting::wakeup::MeasuredWakeUp;

/// The cost. To be asked before a program is started, which would disturb the measurement.
pub fn cost() -> Result<MeasuredWakeUp, Errno> {
    static COST: OnceLock<Result<MeasuredWakeUp, Errno>> = OnceLock::new();
    *COST.get_or_init(MeasuredWakeUp::measure)
}
