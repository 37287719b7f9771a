//! The table of a candidate's hosts, which text and Markdown share.

use crate::format::{clean, first_of, shown};
use unspin_results::{CombinedCandidate, CombinedResults, Grouping};
use unspin_stats::fleet::HostSide;

/// A line of the table: host, rounds, ratio, interval, weight, alone, machine.
pub type Line = [String; 7];

/// The titles of the table.
pub const TITLES: [&str; 7] = ["host", "rounds", "ratio", "95 % interval", "weight", "alone", "machine"];

/// The lines of the hosts, then the mean and the prediction.
pub fn lines(results: &CombinedResults, candidate: &CombinedCandidate) -> Vec<Line> {
    let comparison = &candidate.comparison;
    let mut lines: Vec<Line> = comparison
        .hosts
        .iter()
        .map(|host| {
            let machine = &results.hosts[host.host];
            let (ratio, interval) = shown(host.ratio);
            let weight = host.weight.map_or("-".into(), |weight| format!("{:.0} %", 100.0 * weight));
            let alone = match host.side {
                HostSide::Faster => "better",
                HostSide::Slower => "worse",
                HostSide::Undecided => "-",
            };
            let about = format!("{} × {}, {}", machine.cpus, machine.processor, machine.kernel);
            let (rounds, about) = (host.rounds.to_string(), clean(&about));
            [machine.name.clone(), rounds, ratio, interval, weight, alone.into(), about]
        })
        .collect();
    let all = |name: &str, ratio: String, interval: String, weight: &str| -> Line {
        [name.into(), String::new(), ratio, interval, weight.into(), String::new(), String::new()]
    };
    if let Some(combined) = &comparison.combined {
        let (ratio, interval) = shown(combined.ratio);
        lines.push(all("average host", ratio, interval, "100 %"));
        if let Some(prediction) = combined.prediction {
            lines.push(all("a further host", String::new(), shown(prediction).1, ""));
        }
    }
    lines
}

/// One line for each group: its value, its ratio and its hosts.
pub fn group_lines(results: &CombinedResults, grouping: &Grouping) -> Vec<String> {
    let groups = grouping.values.iter().zip(&grouping.moderator.groups);
    let line = |(value, group): (&String, &unspin_stats::fleet::ModeratorGroup)| {
        let (ratio, interval) = shown(group.ratio);
        let names = group.hosts.iter().map(|&host| results.hosts[host].name.clone());
        format!("{value}: {ratio} ({interval}) on {}", first_of(names.collect()).join(", "))
    };
    groups.map(line).collect()
}

/// The candidates that some host ranked.
pub fn ranked(results: &CombinedResults) -> impl Iterator<Item = &CombinedCandidate> {
    results.candidates.iter().filter(|candidate| !candidate.comparison.hosts.is_empty())
}

/// The lines of the plan on which all hosts that proved one agree, if a candidate is recommended.
pub fn common_plan(results: &CombinedResults) -> Option<Vec<&str>> {
    match results.plans.as_slice() {
        [one] if results.candidates.iter().any(|candidate| candidate.recommended) => {
            Some(plan_lines(&one.plan))
        }
        _ => None,
    }
}

/// The lines of a plan without its comments, in which `unspin prove` states the figures of one host, and without empty lines before
/// the first.
pub fn plan_lines(plan: &str) -> Vec<&str> {
    plan.lines().filter(|line| !line.starts_with('#')).skip_while(|line| line.is_empty()).collect()
}
