//! The cells of both tables, which text and Markdown share.

use crate::wording::is_inverted;
use unspin_report::figures::{Scale, p_value};
use unspin_results::{Basis, ComparedFigures, ComparedGain, Judged, ResultComparison, SideFigures, SideGain};
use unspin_stats::{Quantity, three_digits};

/// A table: its title, the titles of its columns, and its rows.
pub struct CellTable {
    pub title: String,
    pub columns: [String; 7],
    pub rows: Vec<[String; 7]>,
}

/// The figures; none if they are not compared.
pub fn figures(result: &ResultComparison) -> Option<CellTable> {
    let first = result.figures.iter().find_map(|compared| compared.before.as_ref())?;
    let scale = Scale::new(first.summary.mean, &result.metric.unit);
    let unit = if scale.unit.is_empty() { String::new() } else { format!(" [{}]", scale.unit) };
    let side = |side: &Option<SideFigures>| {
        side.as_ref().map_or("-".into(), |SideFigures { summary, .. }| match summary.standard_deviation {
            Some(deviation) => scale.show_with_deviation(summary.mean, deviation),
            None => scale.show(summary.mean),
        })
    };
    let row = |compared: &ComparedFigures| {
        row(&compared.name, side(&compared.before), side(&compared.after), &compared.judged, Basis::Figures)
    };
    let of = if result.sessions() == [1, 1] { "runs" } else { "sessions" };
    Some(CellTable {
        title: format!("Figures: {}, mean ± sd of the {of}{unit}", result.metric.name),
        columns: columns(),
        rows: result.figures.iter().map(row).collect(),
    })
}

/// The gains; none without candidates.
pub fn gains(result: &ResultComparison, control: &str) -> Option<CellTable> {
    let side = |side: &Option<SideGain>| match side {
        None => "-".into(),
        Some(SideGain { sessions, value }) => match sessions.as_slice() {
            [one] => {
                let (value, [lower, upper]) = one.shown();
                format!("{value} ({lower}–{upper})")
            }
            _ => three_digits(*value, 2),
        },
    };
    let row = |compared: &ComparedGain| {
        row(&compared.name, side(&compared.before), side(&compared.after), &compared.judged, Basis::Gains)
    };
    (!result.gains.is_empty()).then(|| CellTable {
        title: format!("Gains: how many times as good as the control of the same session, {control}"),
        columns: columns(),
        rows: result.gains.iter().map(row).collect(),
    })
}

fn columns() -> [String; 7] {
    ["", "before", "after", "ratio", "95 % interval", "p", "verdict"].map(str::to_owned)
}

fn row(name: &str, before: String, after: String, judged: &Judged, basis: Basis) -> [String; 7] {
    let (ratio, interval) = judged.test.map_or(("-".into(), "-".into()), |test| {
        let (value, [lower, upper]) = test.ratio.shown();
        (value, format!("{lower} – {upper}"))
    });
    let p = judged.p_corrected.map_or("-".into(), p_value);
    [name.to_owned(), before, after, ratio, interval, p, judged.word(basis).to_owned()]
}

/// What the columns mean, and whether sentences have the inverse of a ratio.
pub fn explanation(result: &ResultComparison) -> String {
    let mut tests = result.figures.iter().filter_map(|compared| compared.judged.test);
    let sentences = match tests.any(|test| is_inverted(test.ratio, &result.metric)) {
        false => "",
        true if result.metric.quantity == Quantity::WallTime => {
            " Sentences say how many times as long it takes, the inverse, if it is slower."
        }
        true => " Sentences have the quotient of the figures, the inverse.",
    };
    format!("ratio: how many times as good as before; above 1 is better. p is corrected (Holm).{sentences}")
}
