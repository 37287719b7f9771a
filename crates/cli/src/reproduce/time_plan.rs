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
    /// Of these reports. A report has the budgets of its sessions.
    pub fn of(reports: &[&dyn HistoricalReport], size: Size, database: &str) -> TimePlan {
        let budget = |report: &&dyn HistoricalReport| {
            let sessions = report.experiments(size, database);
            (report.name(), sessions.iter().map(|experiment| experiment.budget).sum())
        };
        TimePlan { budgets: reports.iter().map(budget).collect() }
    }

    /// The time of the whole, at most; each session may exceed its budget by one run.
    pub fn total(&self) -> Duration {
        self.budgets.iter().map(|(_, budget)| *budget).sum()
    }

    /// The time of a report and of those after it, from a session of the report on, at most.
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
