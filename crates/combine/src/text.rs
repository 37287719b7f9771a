//! The printed report.

use crate::fleet::{Fleet, JudgedCandidate};
use crate::format::{WIDTH, clean, paragraph, shown};
use crate::{next, sentence};
use std::ffi::OsString;
use std::fmt::Write;
use unspin_launch::output::shell;
use unspin_stats::fleet::HostSide;

/// The report: the verdict first.
pub fn report(fleet: &Fleet) -> String {
    let command: Vec<OsString> = fleet.hosts[0].proof.command.iter().map(OsString::from).collect();
    let mut text = format!("{}\n", clean(&shell::line(&command)));
    let mut say = |sentence: String| text.push_str(&paragraph(&sentence, WIDTH, 0));
    say(format!("Compared: {}", sentence::compared(fleet)));
    for candidate in &fleet.candidates {
        say(format!("Proven: {}", sentence::verdict(fleet, candidate)));
        if let Some(certainty) = sentence::certainty(fleet, candidate) {
            say(format!("How sure: {certainty}"));
        }
    }
    say(sentence::noise(fleet));
    sentence::hosts_to_mention(fleet).into_iter().for_each(say);
    for candidate in fleet.candidates.iter().filter(|candidate| !candidate.comparison.hosts.is_empty()) {
        text.push('\n');
        text.push_str(&hosts_table(fleet, candidate));
        text.push_str(&between_hosts(fleet, candidate));
    }
    let steps = next::steps(fleet);
    if !steps.is_empty() {
        text.push_str("\nWhat to do\n");
        steps.iter().for_each(|step| text.push_str(&paragraph(step, WIDTH, 2)));
    }
    if let Some(plan) = next::common_plan(fleet) {
        let indented = plan.iter().map(|line| format!("    {}", clean(line)));
        indented.for_each(|line| _ = writeln!(text, "{}", line.trim_end()));
    }
    text
}

/// A line of the table: host, rounds, ratio, interval, weight, alone, machine.
pub type Line = [String; 7];

/// The titles of the table.
pub const TITLES: [&str; 7] = ["host", "rounds", "ratio", "95 % interval", "weight", "alone", "machine"];

/// The lines of the hosts, then the mean and the prediction.
pub fn lines(fleet: &Fleet, candidate: &JudgedCandidate) -> Vec<Line> {
    let comparison = &candidate.comparison;
    let mut lines: Vec<Line> = comparison
        .hosts
        .iter()
        .map(|host| {
            let result = &fleet.hosts[host.host];
            let machine = &result.proof.machine;
            let (ratio, interval) = shown(host.ratio);
            let weight = host.weight.map_or("-".into(), |weight| format!("{:.0} %", 100.0 * weight));
            let alone = match host.side {
                HostSide::Faster => "better",
                HostSide::Slower => "worse",
                HostSide::Undecided => "-",
            };
            let about = format!("{} × {}, {}", machine.cpus, machine.processor, machine.kernel);
            [
                result.name.clone(),
                host.rounds.to_string(),
                ratio,
                interval,
                weight,
                alone.into(),
                clean(&about),
            ]
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

fn hosts_table(fleet: &Fleet, candidate: &JudgedCandidate) -> String {
    let lines = lines(fleet, candidate);
    let width = |column: usize| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        cells.chain([TITLES[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..TITLES.len()).map(width).collect();
    let mut text =
        format!("{}: how many times as good as {}\n", clean(&candidate.comparison.name), control(fleet));
    let mut row = |cells: [&str; 7]| {
        // The host and the machine begin at the left; figures end at the right.
        let cells = cells.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 | 6 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    };
    row(TITLES);
    lines.iter().for_each(|line| row(line.each_ref().map(String::as_str)));
    text.push_str(&paragraph(
        "ratio: the geometric mean of the rounds' ratios. alone: what the host proves by itself, corrected for the number of \
         hosts. weight: its share of the mean.",
        WIDTH,
        0,
    ));
    text
}

fn control(fleet: &Fleet) -> String {
    clean(&fleet.hosts[0].proof.analysis.control)
}

fn between_hosts(fleet: &Fleet, candidate: &JudgedCandidate) -> String {
    let alpha = fleet.analysis.settings.alpha;
    let mut text = String::new();
    if let Some(sentence) = sentence::heterogeneity(candidate, alpha) {
        text.push_str(&paragraph(&sentence, WIDTH, 0));
    }
    for grouping in &candidate.groupings {
        text.push_str(&paragraph(&sentence::grouping(grouping, alpha), WIDTH, 2));
        for (value, group) in grouping.values.iter().zip(&grouping.moderator.groups) {
            let (ratio, interval) = shown(group.ratio);
            let names: Vec<&str> = group.hosts.iter().map(|&host| fleet.hosts[host].name.as_str()).collect();
            let line = format!("{value}: {ratio} ({interval}) on {}", names.join(", "));
            text.push_str(&paragraph(&line, WIDTH, 4));
        }
    }
    text
}
