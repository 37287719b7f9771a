//! All results as JSON, with a versioned schema.

use crate::fleet::{Fleet, JudgedCandidate};
use crate::group::Grouping;
use crate::{next, sentence};
use serde::Serialize;
use std::path::Path;
use unspin_launch::error::Error;
use unspin_launch::machine::Build;
use unspin_launch::output::outfile;
use unspin_stats::fleet::FleetComparison;
use unspin_stats::{Conclusion, Metric, NoiseFloor, Settings};

/// The number after the slash is increased when a field changes its meaning or is removed. New fields may be added
/// without that.
const SCHEMA: &str = "unspin.combine/1";

#[derive(Serialize)]
struct CombineDocument<'a> {
    schema: &'static str,
    unspin: Build,
    command: &'a [String],
    metric: &'a Metric,
    control: &'a str,
    conclusion: Conclusion,
    hosts_expected: u32,
    hosts: Vec<HostEntry<'a>>,
    seed: u64,
    settings: &'a Settings,
    noise_floor: Option<NoiseFloor>,
    candidates: Vec<CandidateEntry<'a>>,
    plans: Vec<PlanEntry<'a>>,
    next: Vec<String>,
}

#[derive(Serialize)]
struct HostEntry<'a> {
    name: &'a str,
    file: &'a str,
    host: &'a str,
    processor: &'a str,
    cpus: usize,
    kernel: &'a str,
    unspin: String,
    rounds: u32,
    elapsed_s: f64,
    conclusion: Conclusion,
    failure: Option<&'a str>,
    ended_early: Option<String>,
}

#[derive(Serialize)]
struct CandidateEntry<'a> {
    sentence: String,
    recommended: bool,
    lacking: &'a [usize],
    not_ranked: Vec<NotRanked<'a>>,
    over_cpu_limit: &'a [usize],
    groupings: &'a [Grouping],
    #[serde(flatten)]
    comparison: &'a FleetComparison,
}

#[derive(Serialize)]
struct NotRanked<'a> {
    host: usize,
    sentence: &'a str,
}

#[derive(Serialize)]
struct PlanEntry<'a> {
    plan: &'a str,
    hosts: Vec<String>,
}

/// Writes the document.
pub fn write(fleet: &Fleet, file: &Path) -> Result<(), Error> {
    let mut text = serde_json::to_string_pretty(&document(fleet))
        .map_err(|e| Error::at(file, "the result cannot be written as JSON", e))?;
    text.push('\n');
    outfile::write(file, text.as_bytes())
}

fn document(fleet: &Fleet) -> CombineDocument<'_> {
    let first = &fleet.hosts[0].proof;
    let plans = next::grouped_plans(fleet).into_iter().map(|(plan, hosts)| PlanEntry { plan, hosts });
    CombineDocument {
        schema: SCHEMA,
        unspin: Build::THIS,
        command: &first.command,
        metric: &first.analysis.metric,
        control: &first.analysis.control,
        conclusion: fleet.conclusion(),
        hosts_expected: fleet.expected,
        hosts: hosts(fleet),
        seed: fleet.analysis.seed,
        settings: &fleet.analysis.settings,
        noise_floor: fleet.analysis.noise_floor,
        candidates: fleet.candidates.iter().map(|candidate| entry(fleet, candidate)).collect(),
        plans: plans.collect(),
        next: next::steps(fleet),
    }
}

fn hosts(fleet: &Fleet) -> Vec<HostEntry<'_>> {
    let failure = |index| fleet.failed.iter().find(|(host, _)| *host == index).map(|(_, why)| why.as_str());
    let entry = |index: usize| {
        let result = &fleet.hosts[index];
        let (proof, machine) = (&result.proof, &result.proof.machine);
        HostEntry {
            name: &result.name,
            file: &result.file,
            host: &machine.host,
            processor: &machine.processor,
            cpus: machine.cpus,
            kernel: &machine.kernel,
            unspin: format!("{} ({})", proof.unspin.version, proof.unspin.commit),
            rounds: proof.rounds,
            elapsed_s: proof.elapsed_s,
            conclusion: proof.conclusion,
            failure: failure(index),
            ended_early: failure(index).is_none().then(|| result.ended_early()).flatten(),
        }
    };
    (0..fleet.hosts.len()).map(entry).collect()
}

fn entry<'a>(fleet: &Fleet, candidate: &'a JudgedCandidate) -> CandidateEntry<'a> {
    let not_ranked = candidate.unsound.iter().map(|(host, sentence)| NotRanked { host: *host, sentence });
    CandidateEntry {
        sentence: sentence::verdict(fleet, candidate),
        recommended: candidate.is_recommended(),
        lacking: &candidate.lacking,
        not_ranked: not_ranked.collect(),
        over_cpu_limit: &candidate.over_cpu_limit,
        groupings: &candidate.groupings,
        comparison: &candidate.comparison,
    }
}
