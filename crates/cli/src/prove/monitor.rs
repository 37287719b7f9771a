//! Who looks at the program while it runs.

use std::time::Duration;

/// MeteringMonitor at a program that runs, some times a second, from the thread that waits for it anyway: a busier one would become
/// part of the measurement.
pub trait RunMonitor {
    /// How long until the next look, at most.
    fn pause(&self) -> Duration {
        Duration::MAX
    }

    /// MeteringMonitor. The last time it has ended, but has not been waited for yet.
    fn check(&mut self, pid: u32);
}

/// NoMonitor looks.
pub struct NoMonitor;

impl RunMonitor for NoMonitor {
    fn check(&mut self, _pid: u32) {}
}
