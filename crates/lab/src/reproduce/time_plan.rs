//! How much time each report may take, and how much is left.

use super::experiment::Size;
use super::historical_report::HistoricalReport;
use std::time::Duration;
use unspin_trial::duration;

/// The budgets of the reports that are to be measured, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct TimePlan {
    budgets: Vec<(&'static str, Duration)>,
}

impl TimePlan {
    /// The plan of these reports. The budget of a report is the sum of its sessions' budgets, and of the limits of its
    /// observations.
    pub fn of(reports: &[&dyn HistoricalReport], size: Size, database: &str) -> TimePlan {
        let budget = |report: &&dyn HistoricalReport| {
            let sessions = report.experiments(size, database);
            let sessions = sessions.iter().map(|experiment| experiment.command.time_budget());
            let observations = report.observations(size).into_iter().map(|observation| observation.limit);
            (report.name(), sessions.chain(observations).sum())
        };
        TimePlan { budgets: reports.iter().map(budget).collect() }
    }

    /// The maximum time of all reports. Each session may exceed its budget by one run.
    pub fn total(&self) -> Duration {
        self.budgets.iter().map(|(_, budget)| *budget).sum()
    }

    /// The maximum time left for a report and those after it, when the report has spent `spent` of its budget.
    pub fn left(&self, report: usize, spent: Duration) -> Duration {
        let rest: Duration = self.budgets.iter().skip(report).map(|(_, budget)| *budget).sum();
        rest.saturating_sub(spent)
    }

    /// "semopbench 30 s, dbt1 38 s".
    pub fn parts(&self) -> String {
        let parts: Vec<String> = self
            .budgets
            .iter()
            .map(|(name, budget)| format!("{name} {}", duration(budget.as_secs_f64())))
            .collect();
        parts.join(", ")
    }
}
