//! The ratio of each candidate to the control, with its interval: a forest plot.

use super::contestant::{Contestant, Contestants, Part};
use crate::frame::Section;
use crate::name::{PICTURE_MAX, name, short, visible};
use crate::number::{factor, of_metric, p_value};
use crate::picture::{NumbersShown, Picture};
use crate::svg::{Axis, line, mark, rectangle, text, text_around, text_before};
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_results::StoredProof;
use unspin_stats::{Direction, Quantity, Ratio, Role, SpreadVerdict};

const WIDTH: f64 = 740.0;
/// Where the axis begins and ends.
const PLOT: (f64, f64) = (200.0, 566.0);
/// Where the first row begins, and the height of a row.
const TOP: f64 = 30.0;
const ROW: f64 = 32.0;
/// Ratios beyond these are drawn at the end of the axis.
const EXTREMES: (f64, f64) = (1e-4, 1e4);
/// Most rows of the picture; the table has all.
const ROWS_MAX: usize = 40;

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
    let rows: Vec<&Contestant<'_>> = contestants.0.iter().take(ROWS_MAX).collect();
    let bottom = TOP + ROW * rows.len() as f64;
    let axis = Axis::log(range(proof, &rows), PLOT);
    let drawing = html! {
        (band(proof, &axis, bottom))
        (scale(proof, &axis, bottom))
        @for (place, contestant) in rows.iter().enumerate() {
            (row(proof, contestant, &axis, TOP + ROW * (place as f64 + 0.5)))
        }
    };
    Picture {
        id: "ratios-picture".into(),
        title: "Ratio of each configuration to the control, with its interval".into(),
        description: describe(proof, contestants),
        how_to_read: how_to_read(proof),
        width: WIDTH,
        height: bottom + 44.0,
        drawing,
        numbers: table(proof, contestants),
        numbers_shown: NumbersShown::AtOnce,
    }
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

/// The ends of the axis: all intervals, the band, and 1.
fn range(proof: &StoredProof, rows: &[&Contestant<'_>]) -> (f64, f64) {
    let ends = rows.iter().filter_map(|row| {
        let value = row.comparison?.ratio?.value;
        Some(interval(proof, row).map_or([value, value], |ratio| [ratio.lower, ratio.upper]))
    });
    let floor = proof.analysis.noise_floor.map_or(1.0, |floor| floor.factor);
    let values = ends.flatten().chain([0.9, 1.1, floor, 1.0 / floor]);
    let known = values
        .filter(|value| value.is_finite() && *value > 0.0)
        .map(|value| value.clamp(EXTREMES.0, EXTREMES.1));
    let (low, high) = known.fold((1.0_f64, 1.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let margin = (high / low).powf(0.06);
    (low / margin, high * margin)
}

/// The noise band.
fn band(proof: &StoredProof, axis: &Axis, bottom: f64) -> Markup {
    let Some(floor) = proof.analysis.noise_floor else { return html! {} };
    let (from, to) = (axis.at(1.0 / floor.factor), axis.at(floor.factor));
    html! {
        (rectangle("band", (from, TOP - 4.0), (to, bottom)))
        (text_around("small", ((from + to) / 2.0, TOP - 12.0), "noise"))
    }
}

fn scale(proof: &StoredProof, axis: &Axis, bottom: f64) -> Markup {
    let one = axis.at(1.0);
    let [worse, better] = match (proof.analysis.metric.quantity, proof.analysis.metric.direction) {
        (Quantity::WallTime, _) => ["← slower", "faster →"],
        (_, Direction::LowerIsBetter | Direction::HigherIsBetter) => ["← worse", "better →"],
    };
    html! {
        @for value in axis.ticks(9) {
            @let x = axis.at(value);
            (line("grid", (x, TOP - 4.0), (x, bottom)))
            (text_around("small", (x, bottom + 16.0), &factor(value)))
        }
        (line("axis", (PLOT.0, bottom), (PLOT.1, bottom)))
        (line("one", (one, TOP - 4.0), (one, bottom)))
        (text("small", (PLOT.0, bottom + 35.0), worse))
        (text_before("small", (PLOT.1, bottom + 35.0), better))
    }
}

fn row(proof: &StoredProof, contestant: &Contestant<'_>, axis: &Axis, y: f64) -> Markup {
    let class = match contestant.part {
        Part::Control | Part::Candidate => "",
        Part::Again | Part::NoPreload => "aside",
    };
    let ratio = contestant.comparison.and_then(|comparison| comparison.ratio);
    html! {
        (text_before(class, (PLOT.0 - 14.0, y + 4.5), &short(contestant.name(), PICTURE_MAX)))
        @if contestant.part == Part::Control {
            (mark(contestant.series, "", (axis.at(1.0), y), 5.0))
            (text("small", (PLOT.1 + 14.0, y + 4.0), "1, the control"))
        } @else if let Some(ratio) = ratio {
            (measured(contestant, ratio, interval(proof, contestant), axis, y))
        } @else {
            (text("small", (PLOT.1 + 14.0, y + 4.0), &short(contestant.outcome(), PICTURE_MAX)))
        }
    }
}

fn measured(
    contestant: &Contestant<'_>,
    ratio: Ratio,
    interval: Option<Ratio>,
    axis: &Axis,
    y: f64,
) -> Markup {
    let class = format!("stroke {}", contestant.series.class());
    let (value, [lower, upper]) = ratio.shown();
    let label = match interval {
        Some(_) => format!("{value}  ({lower} – {upper})"),
        None => format!("{value}, too few runs"),
    };
    html! {
        @if let Some(Ratio { lower, upper, .. }) = interval {
            (line(&class, (axis.at(lower), y), (axis.at(upper), y)))
            @for end in [lower, upper] {
                @let x = axis.at(end);
                (line(&class, (x, y - 5.0), (x, y + 5.0)))
            }
        }
        (mark(contestant.series, if interval.is_some() { "" } else { "hollow" }, (axis.at(ratio.value), y), 5.0))
        (text("", (PLOT.1 + 14.0, y + 4.5), &label))
    }
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
