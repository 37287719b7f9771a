//! What the report says first, as sentences of the JSON document.

use crate::next::not_searched;
use crate::reason::Reason;
use crate::report::Report;
use crate::text::{disturbance, ended_early, plan, search, summary, waits};
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
    /// What disturbed the measurement, and what to do about it: a sentence each.
    warnings: Vec<String>,
    /// Where the program loses time, and how that changed.
    why: Vec<Reason>,
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
            warnings: warnings(report),
            why: why(report),
            next: searched.into_iter().chain(next).collect(),
            apply: plan::apply(report),
            repeat: report.command_of_unspin.as_ref().map(|words| shell::line(words)),
        }
    }
}

/// What disturbed the measurement, and what to do about it.
pub fn warnings(report: &Report) -> Vec<String> {
    let disturbance = &report.session.disturbance;
    let others = disturbance::is_high(disturbance).then(|| disturbance::sentence(disturbance));
    let quota = disturbance::explain_throttling(disturbance);
    others.into_iter().chain(quota).chain(search::disturbed(report).map(str::to_owned)).collect()
}

/// Where the program loses time, as the search found it, and how the waits changed.
fn why(report: &Report) -> Vec<Reason> {
    search::found(report).into_iter().chain(waits::changes(report).into_iter().map(Reason::from)).collect()
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
