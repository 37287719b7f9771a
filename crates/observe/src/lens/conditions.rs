//! How a report was made, as it states it.

use crate::observed;
use crate::settings::ObserveSettings;
use std::ffi::OsString;
use unspin_report::next::Subject;
use unspin_trace::{Losses, Target};

/// How a report was made.
#[derive(Clone, PartialEq, Debug)]
pub struct Conditions {
    /// The processes that were observed.
    pub target: Target,
    /// The observed processes, for the commands that the report suggests.
    pub subject: Subject,
    /// Seconds observed.
    pub seconds: f64,
    /// Number of CPUs of the machine.
    pub cpus: usize,
    /// What the kernel did not tell.
    pub losses: Losses,
}

impl Conditions {
    /// The conditions of an observation with these options, and of a program if there is one.
    pub fn new(options: &ObserveSettings, command: &[OsString], seconds: f64, losses: Losses) -> Conditions {
        let target = observed::target(options);
        let subject = options.subject(command);
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
