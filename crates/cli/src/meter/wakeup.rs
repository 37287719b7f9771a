//! What a wake-up costs on this machine, for recordings.

use std::sync::OnceLock;
use unspin_meter::{Recording, WakeUpCost};
use unspin_waiting::wakeup::WakeUp;

/// Measures the cost, once in the life of this process (some 20 ms), and stores it in the recording. To be called before the
/// recorded program is started, which would disturb the measurement. Where it cannot be measured the recording does not say it.
pub fn store(recording: &Recording) {
    static COST: OnceLock<Option<WakeUpCost>> = OnceLock::new();
    let measure = || {
        let WakeUp { futex_ns, epoll_ns } = WakeUp::measure().ok()?;
        Some(WakeUpCost { futex_ns, epoll_ns })
    };
    if let Some(cost) = *COST.get_or_init(measure) {
        recording.set_wake_up(cost);
    }
}
