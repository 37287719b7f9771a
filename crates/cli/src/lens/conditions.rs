//! What a report says of how it was made.

use crate::observed;
use crate::options::ObserveOptions;
use unspin_trace::{Losses, Target};

/// How a report was made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Conditions {
    /// The processes that were observed.
    pub target: Target,
    /// Seconds observed.
    pub seconds: f64,
    /// Number of CPUs of the machine.
    pub cpus: usize,
    /// What the kernel did not tell.
    pub losses: Losses,
}

impl Conditions {
    /// Of an observation with these options.
    pub fn new(options: &ObserveOptions, seconds: f64, losses: Losses) -> Conditions {
        Conditions { target: observed::target(options), seconds, cpus: unspin_trace::cpus(), losses }
    }

    /// The word for the target in reports.
    pub fn target(&self) -> &'static str {
        match self.target {
            Target::System => "system",
            Target::Children | Target::Started => "command",
            Target::Tree(_) => "process",
        }
    }
}
