//! The ratio of each candidate on each host, the mean, and what a further host would show: forest plots.

use super::header::in_order;
use crate::forest::{Drawn, Forest, ForestRow, RADIUS, ROWS_MAX, WIDTH, noted};
use crate::frame::Section;
use crate::name::{name, visible};
use crate::number::p_value;
use crate::palette::Series;
use crate::phone::with_phone;
use crate::picture::{NumbersShown, Picture};
use crate::prose::prose;
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_report::figures::list;
use unspin_results::{CombinedCandidate, CombinedResults, Grouping};
use unspin_stats::fleet::{HostComparison, HostSide};
use unspin_stats::{Quantity, Ratio};

/// The rows of the mean and of the prediction, which are always shown.
const SUMMARY_ROWS: usize = 2;

/// The section; none if no host ranked a candidate.
pub fn section(results: &CombinedResults) -> Option<Section> {
    let ranked: Vec<&CombinedCandidate> =
        in_order(results).into_iter().filter(|candidate| !candidate.comparison.hosts.is_empty()).collect();
    if ranked.is_empty() {
        return None;
    }
    let contents = html! {
        @for (number, candidate) in ranked.iter().enumerate() {
            @if ranked.len() > 1 { h3 { (name(&candidate.comparison.name)) } }
            (picture(results, candidate, number))
            @if let Some(sentence) = &candidate.between_hosts { p { (prose(sentence)) } }
            (obstacles(results, candidate))
            @for grouping in &candidate.groupings { (groups(results, grouping)) }
        }
    };
    let control = visible(&results.control);
    let title = match results.metric.quantity {
        Quantity::WallTime => format!("Times as fast as {control}, on each host"),
        Quantity::CpuTime | Quantity::Other => {
            format!("Times as good as {control} on each host, by {}", visible(&results.metric.name))
        }
    };
    Some(Section { id: "candidates", title, contents })
}

fn picture(results: &CombinedResults, candidate: &CombinedCandidate, number: usize) -> Markup {
    let comparison = &candidate.comparison;
    let shown = &comparison.hosts[..comparison.hosts.len().min(ROWS_MAX - SUMMARY_ROWS)];
    let mut rows: Vec<ForestRow> = shown.iter().map(|host| host_row(results, host)).collect();
    let summary =
        |name: &str, drawn, note| ForestRow { name: name.into(), class: "", series: Series(0), drawn, note };
    if let Some(combined) = &comparison.combined {
        rows.push(summary("average host", Drawn::Mean(combined.ratio), noted(combined.ratio)));
        if let Some(prediction) = combined.prediction {
            let (_, [lower, upper]) = prediction.shown();
            rows.push(summary("a further host", Drawn::Range(prediction), format!("{lower} – {upper}")));
        }
    }
    let forest = Forest {
        rows,
        floor: floor(results, candidate),
        sides: match results.metric.quantity {
            Quantity::WallTime => ["slower", "faster"],
            Quantity::CpuTime | Quantity::Other => ["worse", "better"],
        },
    };
    let picture = Picture {
        id: format!("candidate-{number}-picture"),
        title: format!(
            "Ratio of {} to {} on each host",
            visible(&comparison.name),
            visible(&results.control)
        ),
        description: describe(results, candidate, shown),
        how_to_read: how_to_read(results, candidate, comparison.hosts.len() - shown.len()),
        width: WIDTH,
        height: forest.height(),
        drawing: forest.draw(),
        numbers: table(results, candidate),
        numbers_shown: NumbersShown::AtOnce,
    };
    with_phone(&picture, &forest.phone())
}

/// A host: the area of its mark is its share of the mean.
fn host_row(results: &CombinedResults, host: &HostComparison) -> ForestRow {
    let radius = host.weight.map_or(RADIUS, |weight| (2.0 + 9.0 * weight.max(0.0).sqrt()).min(9.0));
    ForestRow {
        name: host_name(results, host.host).to_owned(),
        class: "",
        series: Series(1),
        drawn: Drawn::Interval(host.ratio, radius),
        note: noted(host.ratio),
    }
}

/// A damaged document may name a host that it does not have.
fn host_name(results: &CombinedResults, host: usize) -> &str {
    results.hosts.get(host).map_or("?", |host| &host.name)
}

/// The floor of the mean: the noise of the fleet, or what the rounding of the figures can cause.
fn floor(results: &CombinedResults, candidate: &CombinedCandidate) -> Option<f64> {
    let noise = results.noise_floor.map(|floor| floor.factor);
    noise.into_iter().chain(candidate.comparison.rounding).reduce(f64::max)
}

fn how_to_read(results: &CombinedResults, candidate: &CombinedCandidate, left_out: usize) -> Markup {
    let confidence = 100.0 * results.settings.confidence;
    html! {
        "How to read it: each square is a host's ratio, the line its interval of " (format!("{confidence:.0}")) " % confidence, and the "
        "larger the square, the more the host counts. The diamond is the mean over hosts, as wide as its interval; the line below it is what "
        "one more host of this kind would show. A mean can be proven only if the whole diamond lies on one side of the dashed line, 1 (no difference)"
        @if candidate.comparison.rounding.is_some() { ", and its middle outside the grey band: what noise, or the digits of the figures, can make" }
        @else if results.noise_floor.is_some() { ", and its middle outside the grey band, within which the control differs from itself" }
        ". Right is better; distances are factors."
        @if left_out > 0 { " The picture leaves out " (left_out) " hosts, which the table has." }
    }
}

fn describe(results: &CombinedResults, candidate: &CombinedCandidate, hosts: &[HostComparison]) -> String {
    let shown = |ratio: Ratio| {
        let (value, [lower, upper]) = ratio.shown();
        format!("{value}, from {lower} to {upper}")
    };
    let mean = candidate.comparison.combined.as_ref();
    let mean = mean.map(|combined| format!("average host: {}", shown(combined.ratio)));
    let each =
        hosts.iter().map(|host| format!("{}: {}", visible(host_name(results, host.host)), shown(host.ratio)));
    format!("Above 1 is better. {}.", mean.into_iter().chain(each).collect::<Vec<_>>().join("; "))
}

fn table(results: &CombinedResults, candidate: &CombinedCandidate) -> Table {
    let comparison = &candidate.comparison;
    let head = ["host", "rounds", "ratio", "from", "to", "weight", "p", "alone"];
    let numbers = |ratio: Ratio, has_value: bool| {
        let (value, [lower, upper]) = ratio.shown();
        let value = if has_value { Cell::Number(ratio.value, value) } else { Cell::Unknown };
        [value, Cell::Number(ratio.lower, lower), Cell::Number(ratio.upper, upper)]
    };
    let row = |host: &HostComparison| {
        let weight = Cell::number(host.weight, |weight| format!("{:.0}\u{a0}%", 100.0 * weight));
        let side = match host.side {
            HostSide::Faster => "better",
            HostSide::Slower => "worse",
            HostSide::Undecided => "nothing proven",
        };
        let rounds = [Cell::Number(f64::from(host.rounds), host.rounds.to_string())];
        let rest = [weight, Cell::Number(host.p_corrected, p_value(host.p_corrected)), Cell::text(side)];
        TableRow {
            head: name(host_name(results, host.host)),
            cells: rounds.into_iter().chain(numbers(host.ratio, true)).chain(rest).collect(),
        }
    };
    let mut rows: Vec<TableRow> = comparison.hosts.iter().map(row).collect();
    let summary = |name: &str, cells: [Cell; 3], p: Cell| TableRow {
        head: html! { (name) },
        cells: [Cell::Unknown].into_iter().chain(cells).chain([Cell::Unknown, p, Cell::text("")]).collect(),
    };
    if let Some(combined) = &comparison.combined {
        let p = Cell::number(comparison.p_corrected, p_value);
        rows.push(summary("average host", numbers(combined.ratio, true), p));
        if let Some(prediction) = combined.prediction {
            rows.push(summary("a further host", numbers(prediction, false), Cell::Unknown));
        }
    }
    Table {
        caption: format!(
            "{} against {} on each host: the geometric mean of the rounds' ratios with its interval (above 1 is better), its share of \
             the mean, and whether its rounds alone show a difference (a t test, p corrected for the number of hosts; the verdict of its own session has stricter rules)",
            visible(&comparison.name),
            visible(&results.control)
        ),
        head: head.iter().map(|head| html! { (head) }).collect(),
        rows,
    }
}

/// Hosts on which it is not ranked, that did not measure it, or where it may cost too much.
fn obstacles(results: &CombinedResults, candidate: &CombinedCandidate) -> Markup {
    let names = |hosts: &[usize]| {
        let names: Vec<&str> = hosts.iter().map(|&host| host_name(results, host)).collect();
        visible(&list(&names, "and"))
    };
    html! {
        @if !(candidate.not_ranked.is_empty() && candidate.lacking.is_empty() && candidate.over_cpu_limit.is_empty()) {
            ul {
                @for host in &candidate.not_ranked {
                    li { "Not ranked on " (name(host_name(results, host.host))) ": " (prose(&host.sentence)) }
                }
                @if !candidate.lacking.is_empty() { li { "Not measured in enough rounds on " (names(&candidate.lacking)) "." } }
                @if !candidate.over_cpu_limit.is_empty() {
                    li { "It may use more CPU time than the limit permits on " (names(&candidate.over_cpu_limit)) "." }
                }
            }
        }
    }
}

/// The hosts grouped by a property.
fn groups(results: &CombinedResults, grouping: &Grouping) -> Markup {
    let row = |(value, group): (&String, &unspin_stats::fleet::ModeratorGroup)| {
        let (ratio, [lower, upper]) = group.ratio.shown();
        let names: Vec<&str> = group.hosts.iter().map(|&host| host_name(results, host)).collect();
        TableRow {
            head: name(value),
            cells: vec![
                Cell::Number(group.ratio.value, ratio),
                Cell::Number(group.ratio.lower, lower),
                Cell::Number(group.ratio.upper, upper),
                Cell::Text(html! { (visible(&names.join(", "))) }),
            ],
        }
    };
    let by = visible(&list(&grouping.properties, "and"));
    let table = Table {
        caption: format!("Hosts by {by}: mean ratio of each group with its interval"),
        head: [by.as_str(), "ratio", "from", "to", "hosts"].iter().map(|head| html! { (head) }).collect(),
        rows: grouping.values.iter().zip(&grouping.moderator.groups).map(row).collect(),
    };
    html! { p { (prose(&grouping.sentence)) } (table.render()) }
}
