//! What a wake-up costs on this machine, measured once in the life of this process (some 20 ms).

use std::sync::OnceLock;
use unspin_sys::Errno;
use unspin_waiting::wakeup::WakeUp;

/// The cost. To be asked before a program is started, which would disturb the measurement.
pub fn cost() -> Result<WakeUp, Errno> {
    static COST: OnceLock<Result<WakeUp, Errno>> = OnceLock::new();
    *COST.get_or_init(WakeUp::measure)
}
