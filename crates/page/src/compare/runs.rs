//! Every run of all sessions as a dot, the earlier sessions at the left.

use super::configuration::Configuration;
use crate::frame::Section;
use crate::name::{name, short, visible};
use crate::number::of_metric;
use crate::palette::Series;
use crate::picture::{NumbersShown, Picture};
use crate::svg::{Axis, line, mark, text, text_around, text_before};
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_results::{ComparedFigures, ResultComparison, SideFigures};
use unspin_stats::Direction;

const WIDTH: f64 = 740.0;
const HEIGHT: f64 = 330.0;
/// Where the dots lie.
const PLOT_X: (f64, f64) = (76.0, 728.0);
const PLOT_Y: (f64, f64) = (286.0, 30.0);
/// The space between two sessions, in rounds.
const GAP: f64 = 2.0;
/// Most runs in the table.
const TABLE_MAX: usize = 600;

/// A session's place on the axis.
struct Place<'a> {
    file: &'a str,
    is_later: bool,
    /// Its number on its side.
    number: usize,
    /// Where its first round lies, and its number of rounds.
    first: f64,
    rounds: usize,
}

/// The section; none if figures are not compared.
pub fn section(comparison: &ResultComparison) -> Option<Section> {
    let places = places(comparison);
    if places.iter().all(|place| place.rounds == 0) {
        return None;
    }
    let contents = html! {
        ul.legend aria-label="Marks" {
            @for compared in &comparison.figures {
                li {
                    svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" { (mark(series(comparison, compared), "", (8.0, 8.0), 5.0)) }
                    (name(&compared.name))
                }
            }
        }
        (picture(comparison, &places).render())
    };
    Some(Section { id: "runs", title: "Every run, before and after".into(), contents })
}

fn series(comparison: &ResultComparison, compared: &ComparedFigures) -> Series {
    Configuration::of(comparison, &compared.name).series
}

/// The sessions from the left to the right.
fn places(comparison: &ResultComparison) -> Vec<Place<'_>> {
    let mut first = 0.0;
    let sides = [(false, &comparison.before), (true, &comparison.after)];
    let sessions = sides.into_iter().flat_map(|(is_later, sessions)| {
        sessions.iter().enumerate().map(move |(number, session)| (is_later, number, session))
    });
    sessions
        .map(|(is_later, number, session)| {
            let rounds = comparison.figures.iter().filter_map(|compared| values(compared, is_later, number));
            let rounds = rounds.map(<[f64]>::len).max().unwrap_or(0);
            let place = Place { file: &session.file, is_later, number, first, rounds };
            first += rounds as f64 + GAP;
            place
        })
        .collect()
}

/// The runs of a configuration in a session.
fn values(compared: &ComparedFigures, is_later: bool, number: usize) -> Option<&[f64]> {
    let side: &Option<SideFigures> = if is_later { &compared.after } else { &compared.before };
    side.as_ref()?.sessions.get(number).map(Vec::as_slice)
}

fn picture(comparison: &ResultComparison, places: &[Place<'_>]) -> Picture {
    let metric = &comparison.metric;
    let end = places.last().map_or(1.0, |place| place.first + place.rounds as f64 - 1.0);
    let x = Axis::linear((-0.5, end.max(1.0) + 0.5), PLOT_X);
    let all = || {
        comparison.figures.iter().flat_map(move |compared| {
            places
                .iter()
                .filter_map(move |place| values(compared, place.is_later, place.number))
                .flatten()
                .copied()
        })
    };
    let y = Axis::of_values(all(), PLOT_Y);
    let (least, most) =
        all().fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let better = match metric.direction {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    Picture {
        id: "runs-picture".into(),
        title: format!("{} of every run of both sides", visible(&metric.name)),
        description: format!(
            "{} runs. Values from {} to {}.",
            all().count(),
            of_metric(least, &metric.unit),
            of_metric(most, &metric.unit)
        ),
        how_to_read: html! {
            "How to read it: each mark is one run, by round, the sessions before at the left and those after at the right; " (better) ". The "
            "short line is the mean of a session. Marks that rise or fall together show a drift of the machine, single ones that lie apart "
            "are outliers. Configurations with failed runs are left out."
        },
        width: WIDTH,
        height: HEIGHT,
        drawing: html! {
            @for value in y.ticks(6) {
                (line("grid", (PLOT_X.0, y.at(value)), (PLOT_X.1, y.at(value))))
                (text_before("small", (PLOT_X.0 - 8.0, y.at(value) + 4.0), &of_metric(value, &metric.unit)))
            }
            @for place in places { (session(comparison, place, &x, &y)) }
            (sides(places, &x))
            (line("axis", (PLOT_X.0, PLOT_Y.0), (PLOT_X.1, PLOT_Y.0)))
        },
        numbers: table(comparison, places),
        numbers_shown: NumbersShown::OnRequest,
    }
}

/// The dots of a session, with the mean of each configuration.
fn session(comparison: &ResultComparison, place: &Place<'_>, x: &Axis, y: &Axis) -> Markup {
    let [from, to] = [-0.4, place.rounds as f64 - 0.6].map(|at| x.at(place.first + at));
    let found = comparison.figures.iter().filter_map(|compared| {
        values(compared, place.is_later, place.number)
            .filter(|values| !values.is_empty())
            .map(|values| (series(comparison, compared), values))
    });
    // A name as long as its session is wide; some 6 pixels a letter.
    let letters = ((to - from) / 6.0) as usize;
    html! {
        @for (series, values) in found {
            @let mean = y.at(values.iter().sum::<f64>() / values.len() as f64);
            (line(&format!("stroke {}", series.class()), (from, mean), (to, mean)))
            @for (round, value) in values.iter().enumerate() {
                (mark(series, "", (x.at(place.first + round as f64), y.at(*value)), 4.0))
            }
        }
        @if letters >= 8 { (text_around("small", ((from + to) / 2.0, PLOT_Y.0 + 16.0), &short(place.file, letters))) }
    }
}

/// What is before and what is after.
fn sides(places: &[Place<'_>], x: &Axis) -> Markup {
    let border =
        places.iter().find(|place| place.is_later).map(|place| x.at(place.first - (GAP + 1.0) / 2.0));
    html! {
        @if let Some(border) = border {
            (line("one", (border, PLOT_Y.1 - 14.0), (border, PLOT_Y.0)))
            (text_before("", (border - 10.0, PLOT_Y.1 - 12.0), "before"))
            (text("", (border + 10.0, PLOT_Y.1 - 12.0), "after"))
        }
    }
}

fn table(comparison: &ResultComparison, places: &[Place<'_>]) -> Table {
    let unit = &comparison.metric.unit;
    let rows = places.iter().flat_map(|place| (0..place.rounds).map(move |round| (place, round)));
    let count: usize = places.iter().map(|place| place.rounds).sum();
    let row = |(place, round): (&Place<'_>, usize)| {
        let value = |compared: &ComparedFigures| {
            let value = values(compared, place.is_later, place.number).and_then(|values| values.get(round));
            Cell::number(value.copied(), |value| of_metric(value, unit))
        };
        let side = if place.is_later { "after" } else { "before" };
        TableRow {
            head: html! { (side) ", " (name(place.file)) ", round " (round + 1) },
            cells: comparison.figures.iter().map(value).collect(),
        }
    };
    let left_out = match count > TABLE_MAX {
        true => format!(": the first {TABLE_MAX} of {count} rounds; the JSON in this page has all"),
        false => String::new(),
    };
    let names = comparison.figures.iter().map(|compared| name(&compared.name));
    Table {
        caption: format!("Every run{left_out}"),
        head: std::iter::once(html! { "round" }).chain(names).collect(),
        rows: rows.take(TABLE_MAX).map(row).collect(),
    }
}
