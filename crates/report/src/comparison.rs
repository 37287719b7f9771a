//! Compares the same locks in several reports, with their rows below each other.

use crate::figures::number;
use crate::layout::Layout;
use crate::line::{Line, fitted};
use crate::lock::Lock;
use crate::lock_id::LockId;
use crate::printed_table::PrintedTable;
use crate::report::MeterReport;
use crate::units::Units;
use std::fmt;
use unspin_wire::Level;

/// Several reports, each with a label: the one before a change first, then those after it.
///
/// Locks are paired by their identity ([`LockId`]). If a report lacks a lock, its line says so: the lock is gone, or it is new.
#[derive(Clone, Debug, Default)]
pub struct ReportComparison<'a> {
    columns: Vec<(String, &'a MeterReport)>,
}

impl<'a> ReportComparison<'a> {
    /// An empty comparison.
    pub fn new() -> ReportComparison<'a> {
        ReportComparison::default()
    }

    /// Adds a report.
    #[must_use]
    pub fn with(mut self, label: impl Into<String>, report: &'a MeterReport) -> ReportComparison<'a> {
        self.columns.push((label.into(), report));
        self
    }

    /// The locks, in the order of the first report that has them.
    pub fn ids(&self) -> Vec<LockId> {
        let mut ids = Vec::new();
        for id in self.columns.iter().flat_map(|(_, report)| &report.locks).map(Lock::id) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    /// `CPUs eaten by runqueue_lock: 4.56 of 8 → 0.58 of 8`; a report without the lock has `none` there.
    fn headline(&self, id: &LockId, name: &str) -> String {
        let eaten: Vec<String> = self
            .columns
            .iter()
            .map(|(_, report)| match report.same_lock(id) {
                Some(lock) => format!("{} of {}", number(lock.row.cpus), report.cpus),
                None => "none".into(),
            })
            .collect();
        format!("CPUs eaten by {name}: {}", eaten.join(" → "))
    }
}

/// The width of the lines between the rows.
const WIDTH: usize = 120;

/// A layout that is wide enough for labels, which must be distinguishable beside the numbers.
fn layout() -> Layout {
    Layout { width: 160, ..Layout::default() }
}

impl fmt::Display for ReportComparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = layout();
        let printed = |level| PrintedTable::locks(Units::of_level(level), &layout);
        f.write_str(&printed(Level::Full).titles("NAME"))?;
        let ids = self.ids();
        for id in &ids {
            writeln!(f, "\n{}", fitted(&self.headline(id, &id.among(&ids)), WIDTH))?;
            for (label, report) in &self.columns {
                match report.same_lock(id) {
                    Some(lock) => {
                        let line = Line::of_lock(&lock.row, labelled(label, lock));
                        writeln!(f, "{}", line.print(&printed(report.level)))?;
                    }
                    None => writeln!(f, "{:>6}{:94}{label}", "-", "")?,
                }
            }
        }
        Ok(())
    }
}

/// The label, with the number of locks if there are several.
fn labelled(label: &str, lock: &Lock) -> String {
    match lock.locks {
        1 => label.into(),
        n => format!("{label} ({n} locks)"),
    }
}
