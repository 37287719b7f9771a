//! The ratio of each candidate to the control, with its interval: a forest plot.

use super::contestant::{Contestant, Contestants, Part};
use crate::forest::{Drawn, Forest, ForestRow, ROWS_MAX, WIDTH, noted};
use crate::frame::Section;
use crate::name::{PICTURE_MAX, name, short, visible};
use crate::number::{of_metric, p_value};
use crate::picture::{NumbersShown, Picture};
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_results::StoredProof;
use unspin_stats::{Quantity, Ratio, Role, SpreadVerdict};

/// The section.
pub fn section(proof: &StoredProof, contestants: &Contestants<'_>) -> Option<Section> {
    if contestants.0.len() < 2 {
        return None;
    }
    let contents = html! {
        (picture(proof, contestants).render())
        h3 { "In words" }
        ul {
            @for comparison in proof.analysis.comparisons.iter().filter(|c| c.role == Role::Candidate) {
                li {
                    (visible(&comparison.sentence))
                    @if let Some(spread) = proven_spread(comparison) { " " (visible(spread)) }
                }
            }
            @if let Some(floor) = &proof.analysis.noise_floor_sentence { li { (visible(floor)) } }
        }
    };
    let title = match proof.analysis.metric.quantity {
        Quantity::WallTime => "Times as fast as the control".into(),
        Quantity::CpuTime | Quantity::Other => {
            format!("Times as good as the control, by {}", visible(&proof.analysis.metric.name))
        }
    };
    Some(Section { id: "ratios", title, contents })
}

fn proven_spread(comparison: &unspin_stats::Comparison) -> Option<&str> {
    let is_proven =
        |verdict| matches!(verdict, SpreadVerdict::ProvenSteadier | SpreadVerdict::ProvenMoreErratic);
    comparison.spread.filter(|spread| is_proven(spread.verdict))?;
    comparison.spread_sentence.as_deref()
}

fn picture(proof: &StoredProof, contestants: &Contestants<'_>) -> Picture {
    let rows = contestants.0.iter().take(ROWS_MAX);
    let forest = Forest {
        rows: rows.map(|contestant| row(proof, contestant)).collect(),
        floor: proof.analysis.noise_floor.map(|floor| floor.factor),
        sides: match proof.analysis.metric.quantity {
            Quantity::WallTime => ["slower", "faster"],
            Quantity::CpuTime | Quantity::Other => ["worse", "better"],
        },
    };
    Picture {
        id: "ratios-picture".into(),
        title: "Ratio of each configuration to the control, with its interval".into(),
        description: describe(proof, contestants),
        how_to_read: how_to_read(proof),
        width: WIDTH,
        height: forest.height(),
        drawing: forest.draw(),
        numbers: table(proof, contestants),
        numbers_shown: NumbersShown::AtOnce,
    }
}

fn row(proof: &StoredProof, contestant: &Contestant<'_>) -> ForestRow {
    let ratio = contestant.comparison.and_then(|comparison| comparison.ratio);
    let (drawn, note) = match (contestant.part, interval(proof, contestant), ratio) {
        (Part::Control, ..) => (Drawn::Reference, "1, the control".into()),
        (_, Some(ratio), _) => (Drawn::interval(ratio), noted(ratio)),
        (_, None, Some(ratio)) => (Drawn::Value(ratio.value), format!("{}, too few runs", ratio.shown().0)),
        (_, None, None) => (Drawn::Nothing, short(contestant.outcome(), PICTURE_MAX)),
    };
    let class = match contestant.part {
        Part::Control | Part::Candidate => "",
        Part::Again | Part::NoPreload => "aside",
    };
    ForestRow { name: contestant.name().to_owned(), class, series: contestant.series, drawn, note }
}

fn how_to_read(proof: &StoredProof) -> Markup {
    let confidence = 100.0 * proof.analysis.settings.confidence;
    html! {
        "How to read it: the mark is the measured ratio, the line its interval of " (format!("{confidence:.0}")) " % confidence. "
        "A difference can be proven only if the whole line lies on one side of the dashed line, 1 (no difference)"
        @if proof.analysis.noise_floor.is_some() {
            ", and the mark outside the grey band, which holds differences that runs of one and the same program could show"
        }
        "; the column verdict says which differences are. Right is better; distances are factors."
    }
}

/// The finding, for readers who do not see the picture.
fn describe(proof: &StoredProof, contestants: &Contestants<'_>) -> String {
    let of = |contestant: &Contestant<'_>| {
        let ratio = interval(proof, contestant)?;
        let (value, [lower, upper]) = ratio.shown();
        Some(format!("{}: {value}, from {lower} to {upper}", visible(contestant.name())))
    };
    let ratios: Vec<String> = contestants.0.iter().take(ROWS_MAX).filter_map(of).collect();
    match ratios.is_empty() {
        true => "There are too few runs for intervals.".into(),
        false => format!("Above 1 is better. {}.", ratios.join("; ")),
    }
}

/// The ratio, if there are enough rounds for its interval.
fn interval(proof: &StoredProof, contestant: &Contestant<'_>) -> Option<Ratio> {
    let comparison = contestant.comparison?;
    comparison.ratio.filter(|_| comparison.has_interval(proof.analysis.settings.confidence))
}

fn table(proof: &StoredProof, contestants: &Contestants<'_>) -> Table {
    let unit = &proof.analysis.metric.unit;
    let head = ["configuration", "mean", "sd", "ratio", "from", "to", "p", "runs", "failed", "verdict"];
    let rows = contestants.0.iter().map(|contestant| {
        let comparison = contestant.comparison;
        let (ratio, bounds) = (comparison.and_then(|c| c.ratio), interval(proof, contestant));
        let shown = ratio.map(|ratio| ratio.shown());
        let end = |index: usize| shown.clone().map_or(String::new(), |(_, ends)| ends[index].clone());
        let of = |value: f64| of_metric(value, unit);
        let runs = proof.runs.iter().filter(|run| run.candidate == contestant.index);
        let failed = runs.clone().filter(|run| run.value.is_none()).count() as f64;
        let cells = vec![
            Cell::number(contestant.summary.map(|summary| summary.mean), of),
            Cell::number(contestant.summary.and_then(|summary| summary.standard_deviation), of),
            Cell::number(ratio.map(|ratio| ratio.value), |_| {
                shown.clone().map_or(String::new(), |(value, _)| value)
            }),
            Cell::number(bounds.map(|ratio| ratio.lower), |_| end(0)),
            Cell::number(bounds.map(|ratio| ratio.upper), |_| end(1)),
            Cell::number(comparison.and_then(|c| c.shown_p(&proof.analysis.settings)), p_value),
            Cell::Number(
                runs.count() as f64,
                proof.runs.iter().filter(|run| run.candidate == contestant.index).count().to_string(),
            ),
            Cell::Number(failed, format!("{failed:.0}")),
            Cell::text(contestant.outcome()),
        ];
        let head = html! {
            (name(contestant.name()))
            @if !contestant.explanation().is_empty() { div.explained { (contestant.explanation()) } }
        };
        TableRow { head, cells }
    });
    Table {
        caption: format!(
            "Each configuration against {}: mean and standard deviation of a run ({}), ratio with its interval (above 1 is better), p \
             corrected for the number of candidates (Holm), number of runs with the warm-up",
            visible(&proof.analysis.control),
            visible(&proof.analysis.metric.name)
        ),
        head: head.iter().map(|head| html! { (head) }).collect(),
        rows: rows.collect(),
    }
}
