//! What to do with the verdict.

use crate::fleet::{Fleet, JudgedCandidate};
use crate::format::{clean, first_of, hosts, list_first};
use crate::host::{HostResult, grouped, names};
use crate::table::plan_lines;
use unspin_report::figures::list;
use unspin_report::shell_line;
use unspin_stats::fleet::FleetVerdict;

/// What to do if no host judged a candidate.
const GIVE_A_CANDIDATE: &str = "Judge the same candidate on each host: give one to `unspin prove` (--mutex, --waits, --use-plan FILE). A \
    search judges only what it finds, and the report of each host says why it found nothing.";

/// One sentence for each thing to do.
pub fn steps(fleet: &Fleet) -> Vec<String> {
    let mut steps = Vec::new();
    if let Some(best) = best(fleet) {
        let place = fleet.single_host().map_or_else(|| "this fleet".into(), clean);
        steps.push(format!("Use {} on {place}.", clean(&best.comparison.name)));
        steps.push(plans(fleet));
    }
    for candidate in &fleet.candidates {
        let name = clean(&candidate.comparison.name);
        if matches!(candidate.comparison.verdict, FleetVerdict::DependsOnHost { .. }) {
            steps.push(match candidate.groupings.first() {
                Some(grouping) => format!(
                    "Decide on {name} for each group of hosts, by {}: combine the results of each group by itself.",
                    list(&grouping.properties, "and")
                ),
                None => format!(
                    "The results name no property by which the hosts on which {name} is better differ from the others: decide \
                     for each host by its own verdict."
                ),
            });
        }
        if !candidate.lacking.is_empty() {
            let which = candidate.lacking.iter().map(|&host| fleet.hosts[host].name.clone());
            steps.push(format!(
                "Measure {name} on {}, with the options that the other hosts had.",
                list_first(which.collect())
            ));
        }
    }
    if fleet.candidates.is_empty() {
        return vec![GIVE_A_CANDIDATE.into()];
    }
    let lost: Vec<String> = fleet.failed.iter().map(|(host, _)| fleet.hosts[*host].name.clone()).collect();
    if !lost.is_empty() {
        steps.push(format!("Measure again on {}.", list_first(lost)));
    }
    let is_open = |candidate: &JudgedCandidate| {
        matches!(candidate.comparison.verdict, FleetVerdict::NothingProven { .. })
    };
    if steps.is_empty() && fleet.candidates.iter().any(is_open) {
        steps.push(more(fleet));
    }
    steps
}

/// The recommended candidate with the largest mean ratio.
fn best(fleet: &Fleet) -> Option<&JudgedCandidate> {
    let ratio =
        |candidate: &&JudgedCandidate| candidate.comparison.combined.as_ref().map_or(0.0, |c| c.ratio.value);
    let recommended = fleet.candidates.iter().filter(|candidate| candidate.is_recommended());
    recommended.max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
}

/// More hosts, more rounds on each, or more digits: that which makes the interval narrower.
fn more(fleet: &Fleet) -> String {
    let spreads = fleet.candidates.iter().filter_map(|candidate| candidate.comparison.combined.as_ref());
    let between = spreads.clone().any(|combined| {
        combined.tau.powi(2) > 0.5 * f64::from(combined.hosts) * combined.standard_error.powi(2)
    });
    if fleet.digits().is_some() {
        return "Let the program print more digits, or compare larger figures: neither rounds nor hosts narrow the interval.".into();
    }
    match between || spreads.count() == 0 {
        true => "Measure on more hosts: the interval is wide because hosts differ, or because they are few.".into(),
        false => "Measure more rounds on each host (--runs, --time-budget), or on more hosts: the interval is wide because the \
                  rounds scatter."
            .into(),
    }
}

/// Whether the hosts' own proven plans agree.
fn plans(fleet: &Fleet) -> String {
    let groups = grouped_plans(fleet);
    match groups.as_slice() {
        [] => "No host proved a plan of its own: run the program with the options with which the candidate was measured.".into(),
        [(_, which)] => format!(
            "The plans that {} proved are the same (below): `unspin run --use-plan FILE -- {}`.",
            hosts(which.len()),
            clean(&shell_line(&fleet.hosts[0].proof.command))
        ),
        several => {
            let each: Vec<String> = several.iter().map(|(_, which)| names(which)).collect();
            format!(
                "The hosts proved {} different plans ({}): measure one of them on all hosts, by `unspin prove --use-plan FILE`, \
                 before you use it.",
                several.len(),
                first_of(each).join("; ")
            )
        }
    }
}

/// Each plan that hosts proved, as the first of them wrote it, and these hosts.
pub fn grouped_plans(fleet: &Fleet) -> Vec<(&str, Vec<&HostResult>)> {
    let groups = grouped(&fleet.hosts, |host| host.proof.plan.as_deref().map(plan_lines));
    groups.into_iter().filter_map(|(_, which)| Some((which[0].proof.plan.as_deref()?, which))).collect()
}
