//! The plan that won.

use super::report::Report;
use crate::error::Error;
use crate::mutex::Plan;
use crate::outfile;
use std::path::Path;
use unspin_stats::{Comparison, Verdict};

/// A plan that was seen to win.
#[derive(Clone, Copy, Debug)]
pub struct Recommended<'r> {
    /// The candidate's name.
    pub name: &'r str,
    /// What replaces which mutex.
    pub plan: &'r Plan,
    /// What is proven about it.
    pub comparison: &'r Comparison,
}

/// Of the plans that are proven faster, the one by most.
pub fn of(report: &Report) -> Option<Recommended<'_>> {
    let proven = report.contestants.iter().filter_map(|contestant| {
        let (plan, comparison) = (contestant.judged_plan()?, report.comparison(contestant)?);
        let Verdict::ProvenFaster { ratio } = comparison.verdict else { return None };
        Some((ratio.value, Recommended { name: contestant.name(), plan, comparison }))
    });
    proven.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, recommended)| recommended)
}

impl Recommended<'_> {
    /// The plan as a file for `unspin run --mutex-plan`.
    pub fn text(&self) -> String {
        format!("{:?}\n", self.plan)
    }
}

/// Writes the plan that won; without one says so, and leaves the file as it is.
pub fn write(report: &Report, file: &Path) -> Result<(), Error> {
    match of(report) {
        Some(recommended) => outfile::write(file, recommended.text().as_bytes()),
        None => {
            eprintln!("unspin: --plan {}: no plan is written, because none won", file.display());
            Ok(())
        }
    }
}
