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
    fn note_load_begin(&mut self) {}

    /// The program and the processes that it left behind have ended, or the load of a server has ended. `cpu_time` is
    /// the CPU time of the program, or of the server during the load.
    fn note_end(&mut self, _cpu_time: Duration) {}
}

/// Observes nothing.
pub struct NoMonitor;

impl RunMonitor for NoMonitor {
    fn check(&mut self, _pid: u32) {}
}
