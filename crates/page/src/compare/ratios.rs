//! How many times as good as before each configuration is, and each gain: forest plots.

use super::configuration::Configuration;
use crate::forest::{Drawn, Forest, ForestRow, ROWS_MAX, WIDTH, noted};
use crate::frame::Section;
use crate::name::{name, visible};
use crate::number::{of_metric, p_value};
use crate::phone::with_phone;
use crate::picture::{NumbersShown, Picture};
use crate::prose::prose;
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_report::figures::capital;
use unspin_results::{Basis, ComparedFigures, ComparedGain, Judged, ResultComparison, SideFigures, SideGain};
use unspin_stats::{Quantity, Ratio, three_digits};

/// A row: the configuration, its comparison, and the cells of both sides in the table.
struct Row<'a> {
    name: &'a str,
    judged: &'a Judged,
    sides: Vec<Cell>,
}

/// The section about figures; none if they are not compared.
pub fn figures(comparison: &ResultComparison) -> Option<Section> {
    let unit = &comparison.metric.unit;
    let side = |side: &Option<SideFigures>| {
        let summary = side.as_ref().map(|side| &side.summary);
        [
            Cell::number(summary.map(|summary| summary.mean), |mean| of_metric(mean, unit)),
            Cell::number(summary.and_then(|summary| summary.standard_deviation), |sd| of_metric(sd, unit)),
        ]
    };
    let row = |compared: &'_ ComparedFigures| {
        side(&compared.before).into_iter().chain(side(&compared.after)).collect()
    };
    let rows: Vec<Row<'_>> = comparison
        .figures
        .iter()
        .map(|compared| Row { name: &compared.name, judged: &compared.judged, sides: row(compared) })
        .collect();
    let metric = visible(&comparison.metric.name);
    let title = match comparison.metric.quantity {
        Quantity::WallTime => "Times as fast as before".to_owned(),
        Quantity::CpuTime | Quantity::Other => format!("Times as good as before, by {metric}"),
    };
    let of = if comparison.sessions() == [1, 1] { "the runs" } else { "the sessions' means" };
    section(
        comparison,
        Basis::Figures,
        "figures",
        title,
        &rows,
        Words {
            picture: "Figure of each configuration after, against before, with its interval".into(),
            columns: &["before", "sd", "after", "sd"],
            caption: format!("{}: mean and standard deviation of {of}", capital(&metric)),
        },
    )
}

/// The section about gains; none without candidates.
pub fn gains(comparison: &ResultComparison) -> Option<Section> {
    let times = |gain: f64| three_digits(gain, 2);
    let side = |side: &Option<SideGain>| {
        let only = side.as_ref().and_then(|side| side.sessions.first().filter(|_| side.sessions.len() == 1));
        let end = |end: fn(&Ratio) -> f64| Cell::number(only.map(end), times);
        [
            Cell::number(side.as_ref().map(|side| side.value), times),
            end(|ratio| ratio.lower),
            end(|ratio| ratio.upper),
        ]
    };
    let row =
        |compared: &ComparedGain| side(&compared.before).into_iter().chain(side(&compared.after)).collect();
    let rows: Vec<Row<'_>> = comparison
        .gains
        .iter()
        .map(|compared| Row { name: &compared.name, judged: &compared.judged, sides: row(compared) })
        .collect();
    let control = visible(&comparison.control);
    section(
        comparison,
        Basis::Gains,
        "gains",
        format!("Gains over {control}"),
        &rows,
        Words {
            picture: format!(
                "Gain of each candidate over {control} after, against before, with its interval"
            ),
            columns: &["before", "from", "to", "after", "from", "to"],
            caption: format!(
                "How many times as good as {control} (the program as it is) of the same session, with the interval of a single session"
            ),
        },
    )
}

/// The words of a section.
struct Words<'a> {
    picture: String,
    columns: &'a [&'a str],
    caption: String,
}

fn section(
    comparison: &ResultComparison,
    basis: Basis,
    id: &'static str,
    title: String,
    rows: &[Row<'_>],
    words: Words<'_>,
) -> Option<Section> {
    if rows.is_empty() {
        return None;
    }
    let floor = match basis {
        Basis::Figures => comparison.floor,
        Basis::Gains => comparison.gains_floor,
    };
    let shown = &rows[..rows.len().min(ROWS_MAX)];
    let forest = Forest {
        rows: shown.iter().map(|row| forest_row(comparison, row, basis)).collect(),
        floor,
        sides: match (basis, comparison.metric.quantity) {
            (Basis::Gains, _) => ["smaller", "larger"],
            (Basis::Figures, Quantity::WallTime) => ["slower", "faster"],
            (Basis::Figures, Quantity::CpuTime | Quantity::Other) => ["worse", "better"],
        },
    };
    let picture = Picture {
        id: format!("{id}-picture"),
        title: words.picture.clone(),
        description: describe(shown),
        how_to_read: how_to_read(comparison, floor),
        width: WIDTH,
        height: forest.height(),
        drawing: forest.draw(),
        numbers: table(comparison, rows, basis, &words),
        numbers_shown: NumbersShown::AtOnce,
    };
    let contents = html! {
        (with_phone(&picture, &forest.phone()))
        h3 { "In words" }
        ul { @for row in rows { li { (prose(&row.judged.sentence)) } } }
    };
    Some(Section { id, title, contents })
}

fn forest_row(comparison: &ResultComparison, row: &Row<'_>, basis: Basis) -> ForestRow {
    let (drawn, note) = match row.judged.test {
        Some(test) => (Drawn::interval(test.ratio), noted(test.ratio)),
        None => (Drawn::Nothing, row.judged.word(basis).to_owned()),
    };
    let Configuration { part, series } = Configuration::of(comparison, row.name);
    ForestRow { name: row.name.to_owned(), class: part.class(), series, drawn, note }
}

fn describe(rows: &[Row<'_>]) -> String {
    let of = |row: &Row<'_>| {
        let (value, [lower, upper]) = row.judged.test?.ratio.shown();
        Some(format!("{}: {value}, from {lower} to {upper}", visible(row.name)))
    };
    let ratios: Vec<String> = rows.iter().filter_map(of).collect();
    match ratios.is_empty() {
        true => "Nothing could be compared.".into(),
        false => format!("Above 1 is better than before. {}.", ratios.join("; ")),
    }
}

fn how_to_read(comparison: &ResultComparison, floor: Option<f64>) -> Markup {
    let confidence = 100.0 * comparison.settings.confidence;
    html! {
        "How to read it: the mark is the ratio of after to before, the line its interval of " (format!("{confidence:.0}"))
        " % confidence. A difference can be proven only if the whole line lies on one side of the dashed line, 1 (as before)"
        @if floor.is_some() { ", and the mark outside the grey band: what noise, drift or disturbance of the sessions may cause" }
        "; the column verdict says which differences are. Right is better than before; distances are factors."
    }
}

fn table(comparison: &ResultComparison, rows: &[Row<'_>], basis: Basis, words: &Words<'_>) -> Table {
    // A narrow screen shows the first columns: what is proven comes before the figures on which that rests.
    let head = ["configuration", "verdict", "ratio", "from", "to", "p"].into_iter();
    let head = head.chain(words.columns.iter().copied());
    let row = |row: &Row<'_>| {
        let test = row.judged.test;
        let shown = test.map(|test| test.ratio.shown());
        let explanation = Configuration::of(comparison, row.name).explanation();
        let end = |index: usize| shown.clone().map_or(String::new(), |(_, ends)| ends[index].clone());
        let judged = [
            Cell::text(row.judged.word(basis)),
            Cell::number(test.map(|test| test.ratio.value), |_| shown.clone().unwrap_or_default().0),
            Cell::number(test.map(|test| test.ratio.lower), |_| end(0)),
            Cell::number(test.map(|test| test.ratio.upper), |_| end(1)),
            Cell::number(row.judged.p_corrected, p_value),
        ];
        TableRow {
            head: html! { (name(row.name)) @if !explanation.is_empty() { div.explained { (explanation) } } },
            cells: judged.into_iter().chain(row.sides.iter().cloned()).collect(),
        }
    };
    Table {
        caption: format!(
            "{}. Ratio: how many times as good as before, with its interval; above 1 is better. p is corrected for the number of \
             configurations (Holm)",
            words.caption
        ),
        head: head.map(|head| html! { (head) }).collect(),
        rows: rows.iter().map(row).collect(),
    }
}
