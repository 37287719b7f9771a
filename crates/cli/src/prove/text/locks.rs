//! The locks under each other: before, and after.

use super::super::format::{count, paragraph};
use super::super::report::Report;
use std::fmt::{self, Formatter};
use unspin_meter::Report as LockReport;

/// Locks that are shown, those that most time was lost on under any candidate: what is below them decides nothing.
const SHOWN: usize = 6;

/// Prints the tables, and why one is not there.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let metered = &report.locks.metered;
    // Where waits are judged alone, the figures of locks decide nothing.
    if !report.is_about_waits() && metered.iter().any(|metered| !metered.report.locks.is_empty()) {
        writeln!(f, "The locks, in one more run each, metered")?;
        let reports: Vec<LockReport> = metered.iter().map(|m| m.report.clone()).collect();
        let (reports, left_out) = worst(reports);
        let comparison = metered
            .iter()
            .zip(&reports)
            .fold(unspin_meter::Comparison::new(), |table, (m, report)| table.with(&m.candidate, report));
        write!(f, "{comparison}")?;
        if left_out > 0 {
            writeln!(f, "\nand {left_out} locks that less time was lost on: unspin meter shows all.")?;
        }
        for metered in metered {
            let events = metered.report.events.iter();
            let counts: Vec<String> =
                events.map(|e| format!("{} {}", count(e.count as f64), e.event.name())).collect();
            if !counts.is_empty() {
                writeln!(f, "Counted beside, {}: {}.", metered.candidate, counts.join(", "))?;
            }
        }
        writeln!(f)?;
    }
    // A control that fails when it is metered fails by itself too, which is told below.
    let missing = report.locks.missing.iter().filter(|_| report.control_failure().is_none());
    for missing in missing {
        write!(f, "{}", paragraph(missing, 0))?;
    }
    Ok(())
}

/// The reports with the locks that most time was lost on under any candidate, and how many names were left out.
fn worst(mut reports: Vec<LockReport>) -> (Vec<LockReport>, usize) {
    let mut names: Vec<(String, f64)> = Vec::new();
    for lock in reports.iter().flat_map(|report| &report.locks) {
        match names.iter_mut().find(|(name, _)| *name == lock.row.name) {
            Some((_, lost)) => *lost = lost.max(lock.row.lost),
            None => names.push((lock.row.name.clone(), lock.row.lost)),
        }
    }
    names.sort_by(|a, b| b.1.total_cmp(&a.1));
    let left_out = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    for report in &mut reports {
        report.locks.retain(|lock| names.iter().any(|(name, _)| *name == lock.row.name));
    }
    (reports, left_out)
}
