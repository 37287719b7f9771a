//! The hosts: what was measured where, and which failed; and the statistics.

use crate::facts::Facts;
use crate::frame::Section;
use crate::heading::badge;
use crate::name::{name, visible};
use crate::number::{percent, time};
use crate::table::{Cell, Table, TableRow};
use maud::html;
use std::collections::BTreeSet;
use unspin_results::{CombinedHost, CombinedResults};
use unspin_stats::Direction;

/// The section about the hosts.
pub fn section(results: &CombinedResults) -> Section {
    let head = [
        "host",
        "file",
        "processor",
        "CPUs",
        "kernel",
        "unspin",
        "rounds",
        "duration",
        "verdict of its own session",
        "failure",
    ];
    let row = |host: &CombinedHost| TableRow {
        head: name(&host.name),
        cells: vec![
            Cell::Text(name(&host.file)),
            Cell::Text(name(&host.processor)),
            Cell::Number(host.cpus as f64, host.cpus.to_string()),
            Cell::Text(name(&host.kernel)),
            Cell::Text(name(&host.unspin)),
            Cell::Number(f64::from(host.rounds), host.rounds.to_string()),
            Cell::Number(host.elapsed_s, time(host.elapsed_s)),
            Cell::text(badge(host.conclusion).1),
            Cell::text(visible(
                host.failure.as_ref().or(host.ended_early.as_ref()).map_or("", String::as_str),
            )),
        ],
    };
    let hosts: BTreeSet<(&str, &str)> =
        results.hosts.iter().map(|result| (&*result.host, &*result.processor)).collect();
    let missing = (results.hosts_expected as usize).saturating_sub(hosts.len());
    let table = Table {
        caption: "Each result with its host".into(),
        head: head.iter().map(|head| html! { (head) }).collect(),
        rows: results.hosts.iter().map(row).collect(),
    };
    let contents = html! {
        p {
            (results.hosts.len()) " results of " (hosts.len()) @if hosts.len() == 1 { " host" } @else { " hosts" }
            @if missing > 0 { "; " (missing) " of " (results.hosts_expected) " hosts wrote none" }
            "."
        }
        (table.render())
    };
    Section { id: "hosts", title: "Hosts".into(), contents }
}

/// How the results were combined.
pub fn measured(results: &CombinedResults) -> Section {
    let better = match results.metric.direction {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    let settings = &results.settings;
    let facts = Facts::default()
        .with_command("Program", &results.command)
        .with("Measured", html! { (visible(&results.metric.name)) ", " (better) })
        .with("Control", name(&results.control))
        .with("Noise floor", html! { (visible(&results.summary.noise)) })
        .with(
            "Statistics",
            html! {
                "a random-effects model of the hosts' mean log ratios (Paule and Mandel's tau) with a robust variance; intervals of "
                (percent(100.0 * settings.confidence)) ", a difference is proven up to p = " (settings.alpha)
                ", corrected for the number of candidates (Holm)"
            },
        )
        .with("Seed", html! { (results.seed) " (permutation tests)" })
        .with_build(Some(&results.unspin));
    Section { id: "place", title: "How they were combined".into(), contents: facts.render() }
}
