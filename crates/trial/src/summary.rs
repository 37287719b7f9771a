//! What the report says first, as sentences of the JSON document.

use crate::next::not_searched;
use crate::report::Report;
use crate::text::{ended_early, plan, summary};
use serde::Serialize;
use unspin_launch::output::shell;

/// The sentences that the printed report begins and ends with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportSummary {
    /// What was compared; none if no candidate was.
    compared: Option<String>,
    /// What is proven, or why nothing is.
    proven: String,
    /// How certain the proof is.
    how_sure: Option<String>,
    /// What the figures rest on: the requests of a percentile, the steps of the digits.
    evidence: Option<String>,
    /// What makes the figures doubtful.
    caution: Option<String>,
    /// Why nothing is proven better, and what to do next: a sentence each.
    next: Vec<String>,
    /// The command that applies what is recommended, with `FILE` for the file of the plan if none was written.
    apply: Option<String>,
    /// The command that repeats the measurement; none if another command measured.
    repeat: Option<String>,
}

impl ReportSummary {
    /// Of a report.
    pub fn of(report: &Report) -> ReportSummary {
        let (proven, searched) = match report.locks.ended_early() {
            Some((metered, why)) => (ended_early::outcome(metered, why), Vec::new()),
            None if report.has_judged() => (summary::outcome(report), Vec::new()),
            None => not_judged(report),
        };
        let no_plan = plan::no_plan(report).into_iter();
        let next = no_plan.flat_map(|(headline, reasons)| [vec![headline + "."], reasons].concat());
        ReportSummary {
            compared: summary::compared(report),
            proven,
            how_sure: summary::how_sure(report).filter(|_| report.has_judged()),
            evidence: summary::evidence(report),
            caution: summary::caution(report),
            next: searched.into_iter().chain(next).collect(),
            apply: plan::apply(report),
            repeat: report.command_of_unspin.as_ref().map(|words| shell::line(words)),
        }
    }
}

/// Why no candidate was judged, and what to do.
fn not_judged(report: &Report) -> (String, Vec<String>) {
    let search = report.search.as_ref().filter(|_| !report.interrupted);
    let nothing = || "nothing, because no candidate was compared.".to_owned();
    let Some(search) = search else { return (nothing(), Vec::new()) };
    if let Some(shortfall) = &search.shortfall {
        return (format!("nothing, because {}.", shortfall.sentence()), Vec::new());
    }
    if let Some(unprovable) = &search.unprovable {
        let sentences = not_searched::unprovable(unprovable, &report.session.analysis.control);
        return (nothing(), sentences.to_vec());
    }
    (nothing(), search.not_worth.map(not_searched::not_worth).into_iter().collect())
}
