//! The outcomes as JSON, with a versioned schema.

use super::evidence::Evidence;
use super::observation::Observed;
use super::outcome::{ReportOutcome, Shortcoming};
use super::published::Published;
use super::row::Row;
use serde::Serialize;
use std::path::Path;
use unspin_launch::error::Error;
use unspin_launch::machine::{Build, Machine};
use unspin_launch::output::document::write_json;
use unspin_stats::Comparison;
use unspin_trial::{ProveDocument, document};

/// The number after the slash is increased when a field changes its meaning or is removed. New fields may be added
/// without that.
const SCHEMA: &str = "unspin.reproduce/1";

#[derive(Serialize)]
struct ReproduceDocument<'a> {
    schema: &'static str,
    unspin: Build,
    machine: Machine,
    quick: bool,
    reports: Vec<ReportEntry<'a>>,
}

#[derive(Serialize)]
struct ReportEntry<'a> {
    name: &'static str,
    title: &'static str,
    published: Vec<PublishedEntry<'a>>,
    /// "measured", "missing", "failed" or "interrupted".
    outcome: &'static str,
    why: Option<&'a str>,
    rows: Vec<Row>,
    experiments: Vec<ExperimentEntry<'a>>,
    observations: &'a [Observed],
}

#[derive(Serialize)]
struct PublishedEntry<'a> {
    #[serde(flatten)]
    published: &'a Published,
    ratio: Option<super::figure::Improvement>,
    evidence: &'a Evidence,
}

#[derive(Serialize)]
struct ExperimentEntry<'a> {
    what: &'static str,
    command: Vec<String>,
    pairs: Vec<PairEntry<'a>>,
    prove: ProveDocument<'a>,
}

#[derive(Serialize)]
struct PairEntry<'a> {
    what: &'static str,
    before: &'static str,
    after: &'static str,
    comparison: &'a Comparison,
}

/// Writes all outcomes, with every run.
pub fn write(outcomes: &[ReportOutcome<'_>], is_quick: bool, file: &Path) -> Result<(), Error> {
    let document = ReproduceDocument {
        schema: SCHEMA,
        unspin: Build::THIS,
        machine: Machine::this(),
        quick: is_quick,
        reports: outcomes.iter().map(entry).collect(),
    };
    write_json(&document, file)
}

fn entry<'a>(outcome: &'a ReportOutcome<'_>) -> ReportEntry<'a> {
    let published = outcome.published.iter().zip(&outcome.evidence);
    let (name, why) = match &outcome.shortcoming {
        None => ("measured", None),
        Some(Shortcoming::Missing(why)) => ("missing", Some(why.as_str())),
        Some(Shortcoming::Failed(why)) => ("failed", Some(why.as_str())),
        Some(Shortcoming::TooSlow(why)) => ("too_slow", Some(why.as_str())),
        Some(Shortcoming::Interrupted) => ("interrupted", None),
    };
    let experiments = outcome.measured.iter().map(|measured| ExperimentEntry {
        what: measured.experiment.what,
        command: measured.experiment.command.words(),
        pairs: measured
            .pairs
            .iter()
            .map(|one| PairEntry {
                what: one.pair.what,
                before: one.pair.before,
                after: one.pair.after,
                comparison: &one.comparison,
            })
            .collect(),
        prove: document(&measured.report),
    });
    ReportEntry {
        name: outcome.report.name(),
        title: outcome.report.title(),
        published: published
            .map(|(published, evidence)| PublishedEntry {
                published,
                ratio: published.improvement(),
                evidence,
            })
            .collect(),
        outcome: name,
        why,
        rows: outcome.rows(),
        experiments: experiments.collect(),
        observations: &outcome.observed,
    }
}
