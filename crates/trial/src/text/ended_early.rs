//! The report if the control's metered run ended before the program did: what the meter found until then.

use super::super::budget::duration;
use super::super::format::paragraph;
use super::super::locks::Metered;
use super::super::metering::EndedEarly;
use super::super::report::Report;
use super::search;
use crate::next;
use std::fmt::{self, Formatter};
use unspin_launch::output::shell;
use unspin_launch::program::NEEDS_AN_END;
use unspin_report::Cause;

/// Prints why nothing was compared, the findings, and what to do next.
pub fn write(f: &mut Formatter<'_>, report: &Report, metered: &Metered, why: EndedEarly) -> fmt::Result {
    write!(f, "{}", paragraph(&shell::line(&report.command), 0))?;
    writeln!(f, "{}", paragraph(&format!("Proven: {}", outcome(metered, why)), 0))?;
    let findings = metered.report.findings();
    for finding in &findings {
        write!(f, "{}", paragraph(&finding.text, 0))?;
        next::write(f, &finding.next)?;
        writeln!(f)?;
    }
    if findings.is_empty() {
        match report.search.as_ref().map(|search| &search.findings.silence) {
            Some(Some(silence)) => writeln!(f, "{}", paragraph(silence, 0))?,
            Some(None) => search::write(f, report)?,
            None => writeln!(f, "The meter found no lock that is worth the time until then.\n")?,
        }
    }
    if findings.iter().any(|finding| finding.cause == Cause::Deadlock) {
        return Ok(());
    }
    writeln!(f, "{}", paragraph(&format!("{NEEDS_AN_END}."), 0))
}

/// The findings and what to do next: a sentence each.
pub fn next(report: &Report, metered: &Metered) -> Vec<String> {
    let findings = metered.report.findings();
    let is_deadlock = findings.iter().any(|finding| finding.cause == Cause::Deadlock);
    let silence = report.search.as_ref().and_then(|search| search.findings.silence.clone());
    let silence = silence.filter(|_| findings.is_empty());
    let found = findings.into_iter().flat_map(|finding| [finding.text, finding.next.sentence()]);
    silence.into_iter().chain(found).chain((!is_deadlock).then(|| format!("{NEEDS_AN_END}."))).collect()
}

/// Why nothing is proven.
pub fn outcome(metered: &Metered, why: EndedEarly) -> String {
    let after = duration(metered.elapsed_s);
    match why {
        EndedEarly::Interrupt => format!("nothing, because the metered run was interrupted after {after}."),
        EndedEarly::TimeLimit => {
            format!("nothing, because the program did not end within {after} (--time-limit).")
        }
    }
}
