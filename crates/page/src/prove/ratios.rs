//! The ratio of each candidate to the control, with its interval: a forest plot.

use super::contestant::{Contestant, Contestants};
use crate::forest::{Drawn, Forest, ForestRow, ROWS_MAX, WIDTH, noted};
use crate::frame::Section;
use crate::name::{PICTURE_MAX, name, short, visible};
use crate::number::{of_metric, p_value};
use crate::part::Part;
use crate::phone::with_phone;
use crate::picture::{NumbersShown, Picture};
use crate::prose::prose;
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_results::StoredProof;
use unspin_stats::{Comparison, Quantity, Ratio, Role, SpreadVerdict, Verdict};

/// The section.
pub fn section(proof: &StoredProof, contestants: &Contestants<'_>) -> Option<Section> {
    // Before a run there is nothing to show.
    if contestants.0.len() < 2 || proof.runs.is_empty() {
        return None;
    }
    let has_ratio = contestants.0.iter().any(|contestant| contestant.ratio().is_some());
    let contents = html! {
        @if has_ratio { (picture(proof, contestants)) } @else { (table(proof, contestants).render()) }
        (in_words(proof))
    };
    let title = match proof.analysis.metric.quantity {
        Quantity::WallTime => "Times as fast as the control".into(),
        Quantity::CpuTime | Quantity::Other => {
            format!("Times as good as the control, by {}", visible(&proof.analysis.metric.name))
        }
    };
    Some(Section { id: "ratios", title, contents })
}

/// The sentences of the printed report. The program without the library comes first, as there.
fn in_words(proof: &StoredProof) -> Markup {
    // Without a round the heading of the page says that nothing can be proven.
    let says_more = |comparison: &&Comparison| {
        proof.rounds > 0 || !matches!(comparison.verdict, Verdict::NothingProven { .. })
    };
    let judged = proof.analysis.comparisons.iter().filter(|comparison| comparison.role == Role::Candidate);
    let comparisons: Vec<&Comparison> = proof.no_preload.iter().chain(judged).filter(says_more).collect();
    let floor = proof.analysis.noise_floor_sentence.as_ref();
    html! {
        @if !comparisons.is_empty() || floor.is_some() {
            h3 { "In words" }
            ul {
                @for comparison in comparisons {
                    li {
                        (prose(&comparison.sentence))
                        @if let Some(spread) = proven_spread(comparison) { " " (prose(spread)) }
                    }
                }
                @if let Some(floor) = floor { li { (prose(floor)) } }
            }
        }
    }
}

fn proven_spread(comparison: &Comparison) -> Option<&str> {
    let is_proven =
        |verdict| matches!(verdict, SpreadVerdict::ProvenSteadier | SpreadVerdict::ProvenMoreErratic);
    comparison.spread.filter(|spread| is_proven(spread.verdict))?;
    comparison.spread_sentence.as_deref()
}

fn picture(proof: &StoredProof, contestants: &Contestants<'_>) -> Markup {
    let rows = contestants.0.iter().take(ROWS_MAX);
    let forest = Forest {
        rows: rows.map(|contestant| row(proof, contestant)).collect(),
        floor: proof.analysis.noise_floor.map(|floor| floor.factor),
        sides: match proof.analysis.metric.quantity {
            Quantity::WallTime => ["slower", "faster"],
            Quantity::CpuTime | Quantity::Other => ["worse", "better"],
        },
    };
    let picture = Picture {
        id: "ratios-picture".into(),
        title: "Ratio of each configuration to the control, with its interval".into(),
        description: describe(proof, contestants),
        how_to_read: how_to_read(proof),
        width: WIDTH,
        height: forest.height(),
        drawing: forest.draw(),
        numbers: table(proof, contestants),
        numbers_shown: NumbersShown::AtOnce,
    };
    with_phone(&picture, &forest.phone())
}

fn row(proof: &StoredProof, contestant: &Contestant<'_>) -> ForestRow {
    let (drawn, note) = match (contestant.part, interval(proof, contestant), contestant.ratio()) {
        (Part::Control, ..) => (Drawn::Reference, "1, the control".into()),
        (_, Some(ratio), _) => (Drawn::interval(ratio), noted(ratio)),
        (_, None, Some(ratio)) => (Drawn::Value(ratio.value), format!("{}, too few runs", ratio.shown().0)),
        (_, None, None) => (Drawn::Nothing, short(&contestant.outcome(), PICTURE_MAX)),
    };
    let class = contestant.part.class();
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
    contestant.ratio().filter(|_| comparison.has_interval(proof.analysis.settings.confidence))
}

fn table(proof: &StoredProof, contestants: &Contestants<'_>) -> Table {
    // A narrow screen shows the first columns: what is proven comes before the numbers on which that rests.
    let head = ["configuration", "verdict", "ratio", "from", "to", "mean", "sd", "p", "runs", "failed"];
    let analysis = &proof.analysis;
    Table {
        caption: format!(
            "Each configuration against {}: ratio with its interval (above 1 is better), mean and standard deviation of a run ({}), p \
             corrected for the number of candidates (Holm), number of runs without the warm-up, and of failed ones with it",
            visible(&analysis.control),
            visible(&analysis.metric.name)
        ),
        head: head.iter().map(|head| html! { (head) }).collect(),
        rows: contestants.0.iter().map(|contestant| table_row(proof, contestant)).collect(),
    }
}

fn table_row(proof: &StoredProof, contestant: &Contestant<'_>) -> TableRow {
    let StoredProof { analysis, runs, .. } = proof;
    let comparison = contestant.comparison;
    let (ratio, bounds) = (contestant.ratio(), interval(proof, contestant));
    let shown = ratio.map(|ratio| ratio.shown());
    let end = |index: usize| shown.clone().map_or(String::new(), |(_, ends)| ends[index].clone());
    let of = |value: f64| of_metric(value, &analysis.metric.unit);
    let runs = || runs.iter().filter(|run| run.candidate == contestant.index);
    let count = |number: usize| Cell::Number(number as f64, number.to_string());
    let cells = vec![
        Cell::text(contestant.outcome()),
        Cell::number(ratio.map(|ratio| ratio.value), |_| {
            shown.clone().map_or(String::new(), |(value, _)| value)
        }),
        Cell::number(bounds.map(|ratio| ratio.lower), |_| end(0)),
        Cell::number(bounds.map(|ratio| ratio.upper), |_| end(1)),
        Cell::number(contestant.summary.map(|summary| summary.mean), of),
        Cell::number(contestant.summary.and_then(|summary| summary.standard_deviation), of),
        Cell::number(comparison.and_then(|c| c.shown_p(&analysis.settings)), p_value),
        count(runs().filter(|run| run.round > 0).count()),
        count(runs().filter(|run| run.value.is_none()).count()),
    ];
    let head = html! {
        (name(contestant.name()))
        @if !contestant.explanation().is_empty() { div.explained { (prose(contestant.explanation())) } }
    };
    TableRow { head, cells }
}
