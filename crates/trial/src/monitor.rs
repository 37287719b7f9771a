//! Observation of the program during a run.

use std::time::Duration;

/// Observes a running program a few times a second, from the thread that waits for it: more frequent checks would
/// disturb the measurement.
pub trait RunMonitor {
    /// Maximum time until the next check.
    fn pause(&self) -> Duration {
        Duration::MAX
    }

    /// Checks once. At the last check the program is a zombie.
    fn check(&mut self, pid: u32);

    /// The load of a server begins now.
    fn load_begins(&mut self) {}

    /// The program has ended, and what it left behind; or the load of a server. `cpu_time` is the program's, or the server's in
    /// the time of the load.
    fn ends(&mut self, _cpu_time: Duration) {}
}

/// Observes nothing.
pub struct NoMonitor;

impl RunMonitor for NoMonitor {
    fn check(&mut self, _pid: u32) {}
}
