//! Every run as a dot, in the order of execution.

use super::contestant::{Contestant, Contestants};
use crate::frame::Section;
use crate::name::{name, visible};
use crate::number::{of_metric, tick_of_metric, time};
use crate::palette::Series;
use crate::picture::{NumbersShown, Picture};
use crate::svg::{Axis, cross, line, mark, path, px, text, text_around, text_before};
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_results::{StoredProof, StoredRun};
use unspin_stats::{Direction, Quantity};

const WIDTH: f64 = 740.0;
const HEIGHT: f64 = 340.0;
/// Where the dots lie.
const PLOT_X: (f64, f64) = (76.0, 728.0);
const PLOT_Y: (f64, f64) = (296.0, 34.0);
/// Where failed runs are marked.
const FAILED_Y: f64 = 16.0;
/// With more runs all dots are round and small, and the table has as many.
const RUNS_MAX: usize = 600;

/// The section.
pub fn section(proof: &StoredProof, contestants: &Contestants<'_>) -> Option<Section> {
    if proof.runs.is_empty() {
        return None;
    }
    let contents = html! {
        (legend(contestants))
        (picture(proof, contestants).render())
    };
    Some(Section { id: "runs", title: "Every run, in the order of execution".into(), contents })
}

/// The mark of each configuration.
pub fn legend(contestants: &Contestants<'_>) -> Markup {
    html! {
        ul.legend aria-label="Marks" {
            @for contestant in &contestants.0 {
                li {
                    svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" { (mark(contestant.series, "", (8.0, 8.0), 5.0)) }
                    (name(contestant.name()))
                }
            }
        }
    }
}

fn picture(proof: &StoredProof, contestants: &Contestants<'_>) -> Picture {
    let metric = &proof.analysis.metric;
    let x = Axis::linear((0.0, (proof.runs.len() as f64 - 1.0).max(1.0)), PLOT_X);
    let values = proof.runs.iter().filter_map(|run| run.value);
    let failed = proof.runs.iter().filter(|run| run.value.is_none()).count();
    let y = Axis::of_values(values.clone(), PLOT_Y);
    let drawing = html! {
        (scale(proof, &x, &y))
        @for contestant in &contestants.0 { (dots(proof, contestant, &x, &y)) }
        @if failed > 0 { (text_before("small", (PLOT_X.0 - 8.0, FAILED_Y + 4.0), "failed")) }
    };
    let (least, most) =
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let range = match most > 0.0 {
        true => {
            format!("Values from {} to {}. ", of_metric(least, &metric.unit), of_metric(most, &metric.unit))
        }
        false => String::new(),
    };
    Picture {
        id: "runs-picture".into(),
        title: format!("{} of every run, in the order of execution", visible(&metric.name)),
        description: format!(
            "{} runs in {} rounds, {failed} of them failed. {range}",
            proof.runs.len(),
            proof.rounds
        ),
        how_to_read: html! {
            "How to read it: each mark is one run, from the first at the left to the last at the right; "
            @match metric.direction { Direction::LowerIsBetter => "lower is better", Direction::HigherIsBetter => "higher is better" }
            ". In each round every configuration runs once, in random order. Marks that rise or fall together show a drift of the "
            "machine, single ones that lie apart are outliers. Hollow marks are the warm-up, which is not counted; "
            "crosses at the top are runs that failed."
        },
        width: WIDTH,
        height: HEIGHT,
        drawing,
        numbers: table(proof),
        numbers_shown: NumbersShown::OnRequest,
    }
}

fn scale(proof: &StoredProof, x: &Axis, y: &Axis) -> Markup {
    let unit = &proof.analysis.metric.unit;
    let first_of_round = |round: u32| proof.runs.iter().position(|run| run.round == round);
    let rounds = proof.runs.iter().map(|run| run.round).max().unwrap_or(0);
    html! {
        @for value in y.ticks(6) {
            (line("grid", (PLOT_X.0, y.at(value)), (PLOT_X.1, y.at(value))))
            (text_before("small", (PLOT_X.0 - 8.0, y.at(value) + 4.0), &tick_of_metric(value, unit)))
        }
        @for round in labelled(rounds) {
            @if let Some(first) = first_of_round(round) {
                @let at = x.at(first as f64);
                (line("grid", (at, PLOT_Y.1), (at, PLOT_Y.0 + 5.0)))
                @if round > 0 { (text("small", (at + 2.0, PLOT_Y.0 + 16.0), &round.to_string())) }
            }
        }
        (line("axis", (PLOT_X.0, PLOT_Y.0), (PLOT_X.1, PLOT_Y.0)))
        (text_around("small", ((PLOT_X.0 + PLOT_X.1) / 2.0, PLOT_Y.0 + 36.0), "number of the round"))
    }
}

/// The rounds that are named below the picture. A damaged document may name a very late one.
fn labelled(rounds: u32) -> impl Iterator<Item = u32> {
    let every = rounds.div_ceil(14).max(1);
    std::iter::once(0).chain((1..=rounds).step_by(every as usize))
}

fn dots(proof: &StoredProof, contestant: &Contestant<'_>, x: &Axis, y: &Axis) -> Markup {
    let of = || proof.runs.iter().enumerate().filter(|(_, run)| run.candidate == contestant.index);
    let at = |(order, value): (usize, f64)| (x.at(order as f64), y.at(value));
    let measured = of().filter_map(|(order, run)| Some((order, run.value?))).map(at);
    let trace: Vec<String> = measured.map(|(x, y)| format!("{},{}", px(x), px(y))).collect();
    let many = proof.runs.len() > RUNS_MAX;
    html! {
        @if trace.is_empty() {}
        @else if many {
            // Lines without length, with round ends.
            (path(&format!("dots {}", contestant.series.class()), &format!("M{}", trace.join("h0M") + "h0")))
        } @else {
            polyline.trace.(contestant.series.class()) points=(trace.join(" ")) {}
        }
        @for (order, run) in of() {
            @match run.value {
                Some(value) if !many => (dot(contestant.series, run, at((order, value)))),
                Some(_) => (html! {}),
                None => (cross(contestant.series, (x.at(order as f64), FAILED_Y), 5.0)),
            }
        }
    }
}

fn dot(series: Series, run: &StoredRun, at: (f64, f64)) -> Markup {
    mark(series, if run.round == 0 { "hollow" } else { "" }, at, 4.5)
}

fn table(proof: &StoredProof) -> Table {
    let unit = &proof.analysis.metric.unit;
    // The value of wall time is the wall time, and most sessions have no failure: columns that repeat or are empty are left out.
    let has_value = proof.analysis.metric.quantity != Quantity::WallTime;
    let has_failure = proof.runs.iter().any(|run| run.failure.is_some() || run.value.is_none());
    let is_shown = [true, true, true, has_value, true, true, has_failure];
    let columns = |cells: Vec<Cell>| {
        cells.into_iter().zip(is_shown).filter_map(|(cell, is_shown)| is_shown.then_some(cell)).collect()
    };
    let head = ["configuration", "round", "began at", "value", "wall time", "CPU time", "failure"];
    let head = head.into_iter().zip(is_shown).filter_map(|(head, is_shown)| is_shown.then_some(head));
    let rows = proof.runs.iter().take(RUNS_MAX).enumerate().map(|(order, run)| {
        let configuration =
            proof.candidates.get(run.candidate).map_or("", |configuration| &configuration.name);
        TableRow {
            head: html! { (order + 1) },
            cells: columns(vec![
                Cell::Text(name(configuration)),
                Cell::Number(
                    f64::from(run.round),
                    if run.round == 0 { "warm-up".into() } else { run.round.to_string() },
                ),
                Cell::Number(run.started_s, time(run.started_s)),
                Cell::number(run.value, |value| of_metric(value, unit)),
                Cell::Number(run.elapsed_s, time(run.elapsed_s)),
                Cell::Number(run.user_s + run.system_s, time(run.user_s + run.system_s)),
                Cell::text(visible(run.failure.as_deref().unwrap_or_default())),
            ]),
        }
    });
    let left_out = match proof.runs.len() > RUNS_MAX {
        true => format!(": the first {RUNS_MAX} of {}; the JSON in this page has all", proof.runs.len()),
        false => String::new(),
    };
    Table {
        caption: format!("Every run{left_out}"),
        head: std::iter::once("run").chain(head).map(|head| html! { (head) }).collect(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::labelled;

    /// Issue 30: a document with such a round took 8 s.
    #[test]
    fn few_rounds_are_named() {
        assert_eq!(labelled(3).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(labelled(29).take(4).collect::<Vec<_>>(), [0, 1, 4, 7]);
        assert_eq!(labelled(0).collect::<Vec<_>>(), [0]);
        assert_eq!(labelled(u32::MAX).count(), 15);
    }
}
