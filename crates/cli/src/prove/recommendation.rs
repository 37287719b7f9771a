//! The plan that won.

use super::report::Report;
use crate::error::Error;
use crate::plan::PlanFile;
use crate::program::Program;

/// A plan that was seen to win.
#[derive(Clone, Debug)]
pub struct Recommended {
    /// The candidate's name.
    pub name: String,
    /// The plan for `unspin run --use-plan`.
    pub file: PlanFile,
}

impl Recommended {
    /// Of the plans that are proven faster, within the limit of CPU time if there is one, the fastest.
    pub fn of(report: &Report, program: &Program) -> Result<Option<Recommended>, Error> {
        let proven = report.contestants.iter().filter_map(|contestant| {
            let (plan, comparison) = (contestant.judged_plan()?, report.comparison(contestant)?);
            Some((comparison.recommended()?.value, comparison, plan))
        });
        let Some((_, comparison, plan)) = proven.max_by(|a, b| a.0.total_cmp(&b.0)) else { return Ok(None) };
        let comment = format!("Of `unspin prove {}`:\n{}", report.command.join(" "), comparison.sentence);
        let file = PlanFile::new(plan, program, &comment)?;
        Ok(Some(Recommended { name: comparison.name.clone(), file }))
    }
}
