//! The lock tables of all configurations.

use super::super::format::{count, paragraph};
use super::super::locks::Metered;
use super::super::report::Report;
use super::{Detail, head};
use std::fmt::{self, Formatter};
use unspin_meter::figures::{number, percent, time};
use unspin_meter::{MeterReport as LockReport, ReportComparison};

/// Number of locks that are shown: those with the most lost time under any configuration.
const SHOWN: usize = 6;

/// Prints the tables, and the reasons for missing ones.
pub fn write(f: &mut Formatter<'_>, report: &Report, detail: Detail) -> fmt::Result {
    let metered = &report.locks.metered;
    // If only waits are judged, the figures of locks decide nothing. Run queues have tables of their own.
    let is_shown = detail == Detail::Full || !(report.is_about_waits() || report.is_about_run_queues());
    if is_shown && metered.iter().any(|metered| !metered.report.locks.is_empty()) {
        writeln!(f, "The locks, in one metered run each")?;
        let reports: Vec<LockReport> = metered.iter().map(|m| m.report.clone()).collect();
        let (reports, left_out) = worst(reports);
        let labels = metered.iter().map(|metered| metered.candidate.as_str());
        match detail {
            Detail::Brief => write_brief(f, &metered.iter().zip(&reports).collect::<Vec<_>>())?,
            Detail::Full => {
                let table = labels
                    .zip(&reports)
                    .fold(ReportComparison::new(), |table, (label, report)| table.with(label, report));
                write!(f, "{table}")?;
            }
        }
        if left_out > 0 {
            writeln!(f, "\nand {left_out} locks with less lost time: `unspin meter` shows all.")?;
        }
        for metered in metered {
            let events = metered.report.events.iter();
            let counts: Vec<String> =
                events.map(|e| format!("{} {}", count(e.count as f64), e.event.name())).collect();
            if !counts.is_empty() {
                let text = format!("Counted beside, {}: {}.", metered.candidate, counts.join(", "));
                write!(f, "{}", paragraph(&text, 0))?;
            }
        }
        writeln!(f)?;
    }
    // A control that fails when it is metered also fails in the session, which is reported below.
    let missing = report.locks.missing.iter().filter(|_| report.control_failure().is_none());
    for missing in missing {
        write!(f, "{}", paragraph(missing, 0))?;
    }
    Ok(())
}

/// The columns that distinguish candidates: a line for each candidate, under the name of the lock.
fn write_brief(f: &mut Formatter<'_>, reports: &[(&Metered, &LockReport)]) -> fmt::Result {
    let mut names: Vec<&str> = Vec::new();
    for lock in reports.iter().flat_map(|(_, report)| &report.locks) {
        if !names.contains(&lock.row.name.as_str()) {
            names.push(&lock.row.name);
        }
    }
    writeln!(
        f,
        "{:15} {:>9} {:>9} {:>6} {:>10} {:>10} {:>11} {:>8}",
        "", "lost", "CPUs used", "held", "mean hold", "mean wait", "operations", "waited"
    )?;
    for name in names {
        writeln!(f, "{name}")?;
        for (metered, report) in reports {
            let under = if metered.libcs.contains(name) { "libc's, under " } else { "" };
            let label = head(&format!("  {under}{}", metered.candidate));
            match report.lock(name) {
                Some(lock) => {
                    let row = &lock.row;
                    writeln!(
                        f,
                        "{label} {:>9} {:>9} {:>6} {:>10} {:>10} {:>11} {:>8}",
                        time(row.lost),
                        format!("{} of {}", number(row.cpus), report.cpus),
                        percent(row.util).trim(),
                        time(row.hold_mean),
                        time(row.wait_mean),
                        count(row.attempts as f64),
                        percent(row.con).trim()
                    )?;
                }
                None => writeln!(f, "{label} {:>9}", "-")?,
            }
        }
    }
    Ok(())
}

/// The reports with only the locks with the most lost time under any configuration, and the number of names that were
/// left out.
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
