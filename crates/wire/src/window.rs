//! The stretch of time that was metered.

/// What turns counts into shares: how long was metered, on how many CPUs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// Seconds metered; greater than 0.
    pub seconds: f64,
    /// CPUs that the program could run on; at least 1.
    pub cpus: u32,
    /// Ticks in a second; greater than 0.
    pub ticks_per_second: f64,
    /// CPU time that the program used, in seconds, where known.
    pub cpu_seconds: Option<f64>,
}

impl Window {
    /// Converts ticks to seconds.
    pub fn to_seconds(&self, ticks: u64) -> f64 {
        ticks as f64 / self.ticks_per_second
    }

    /// Converts seconds to ticks.
    pub fn to_ticks(&self, seconds: f64) -> u64 {
        (seconds * self.ticks_per_second) as u64
    }
}
