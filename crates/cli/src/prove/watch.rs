//! Who looks at the program while it runs.

use std::time::Duration;

/// Looks at a program that runs, some times a second, from the thread that waits for it anyway: a busier one would become
/// part of the measurement.
pub trait Watch {
    /// How long until the next look, at most.
    fn pause(&self) -> Duration {
        Duration::MAX
    }

    /// Looks. The last time it has ended, but has not been waited for yet.
    fn look(&mut self, pid: u32);
}

/// Nobody looks.
pub struct Nobody;

impl Watch for Nobody {
    fn look(&mut self, _pid: u32) {}
}
