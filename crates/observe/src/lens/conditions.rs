//! What a report says of how it was made.

use super::subject::Subject;
use crate::observed;
use crate::settings::ObserveSettings;
use std::ffi::OsString;
use unspin_trace::{Losses, Target};

/// How a report was made.
#[derive(Clone, PartialEq, Debug)]
pub struct Conditions {
    /// The processes that were observed.
    pub target: Target,
    /// The same in the commands that the report suggests.
    pub subject: Subject,
    /// Seconds observed.
    pub seconds: f64,
    /// Number of CPUs of the machine.
    pub cpus: usize,
    /// What the kernel did not tell.
    pub losses: Losses,
}

impl Conditions {
    /// Of an observation with these options, of a program if there is one.
    pub fn new(options: &ObserveSettings, command: &[OsString], seconds: f64, losses: Losses) -> Conditions {
        let target = observed::target(options);
        let subject = Subject::new(options, command);
        Conditions { target, subject, seconds, cpus: unspin_trace::cpus(), losses }
    }

    /// The word for the target in reports.
    pub fn target(&self) -> &'static str {
        match self.target {
            Target::System => "system",
            Target::Children | Target::Executing(_) | Target::Started => "command",
            Target::Tree(_) => "process",
        }
    }
}
