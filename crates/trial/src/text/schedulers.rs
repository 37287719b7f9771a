//! The schedulers of a session in the printed report.

use super::super::format::paragraph;
use super::super::report::Report;
use std::fmt::{Formatter, Result};

/// How the schedulers compare with each other.
pub fn write_pairs(f: &mut Formatter<'_>, report: &Report) -> Result {
    for pair in &report.between_schedulers {
        write!(f, "{}", paragraph(&format!("Between the schedulers: {}", pair.comparison.sentence), 2))?;
    }
    Ok(())
}

/// What the kernel had enabled.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> Result {
    let mut any = false;
    for (configuration, scheduler) in report.configurations.iter().zip(&report.schedulers) {
        let Some(scheduler) = scheduler else { continue };
        if !any {
            writeln!(f, "Schedulers")?;
        }
        any = true;
        write!(f, "{}", paragraph(&scheduler.sentence(configuration.name()), 2))?;
    }
    if any { writeln!(f) } else { Ok(()) }
}
