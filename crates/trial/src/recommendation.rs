//! The plan that won.

use std::ffi::OsString;
use std::path::PathBuf;
use unspin_launch::error::Error;
use unspin_launch::output::shell;
use unspin_launch::plan::{Plan, PlanFile};
use unspin_launch::program::Program;
use unspin_stats::Comparison;

/// Share of the fastest plan's ratio from which on a plan counts as about as fast.
const AS_GOOD: f64 = 0.95;

/// A plan that won.
#[derive(Clone, Debug)]
pub struct Recommended {
    /// The candidate's name.
    pub name: String,
    /// The plan for `unspin run --use-plan`.
    pub file: PlanFile,
    /// The file that has it, if `--plan` has written one.
    pub path: Option<PathBuf>,
}

impl Recommended {
    /// Of the plans that are proven faster by a command, each with its ratio: the fastest, or one with fewer entries that is
    /// about as fast.
    pub fn of(
        mut proven: Vec<(f64, &Comparison, &Plan)>,
        command: &[OsString],
        program: &Program,
    ) -> Result<Option<Recommended>, Error> {
        let fastest = proven.iter().map(|(ratio, ..)| *ratio).fold(0.0, f64::max);
        proven.retain(|(ratio, ..)| *ratio >= AS_GOOD * fastest);
        let entries = |plan: &Plan| plan.locks.len() + plan.waits.len();
        let simplest =
            proven.into_iter().min_by(|a, b| entries(a.2).cmp(&entries(b.2)).then(b.0.total_cmp(&a.0)));
        let Some((_, comparison, plan)) = simplest else { return Ok(None) };
        let comment = format!("Of `unspin prove {}`:\n{}", shell::line(command), comparison.sentence);
        let file = PlanFile::new(plan, program, &comment)?;
        Ok(Some(Recommended { name: comparison.name.clone(), file, path: None }))
    }
}
