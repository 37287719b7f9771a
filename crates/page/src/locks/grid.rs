//! A table with bars in its cells, a legend of its columns, and long tables folded.

use super::sides::Run;
use crate::number::data;
use crate::palette::Series;
use crate::svg::px;
use maud::{Markup, html};

/// Rows that are shown at once.
const AT_ONCE: usize = 15;
/// Rows that are in the page at all.
const AT_MOST: usize = 40;
/// Width of the longest bar.
const BAR: f64 = 64.0;

/// A table.
pub struct Grid {
    /// What it shows.
    pub caption: String,
    /// What its rows are, in the plural: `locks`.
    pub rows_are: &'static str,
    /// The head of the first column, then those of the figures.
    pub columns: Vec<ColumnHead>,
    /// The rows.
    pub rows: Vec<GridRow>,
}

/// The head of a column.
pub struct ColumnHead {
    /// A word or two.
    pub title: &'static str,
    /// What the figures are, for readers who see such a table for the first time; empty if the title says it.
    pub meaning: &'static str,
}

/// A row: of each run a line.
pub struct GridRow {
    /// What the row is about.
    pub head: Markup,
    /// The figures of each run; none where the run has no such row.
    pub lines: Vec<Option<Vec<GridCell>>>,
}

/// A figure.
pub enum GridCell {
    /// Its value, how it is shown, and the length of its bar as a share of the longest one.
    Bar(f64, String, f64),
    /// Its value, and how it is shown.
    Number(f64, String),
    /// Words.
    Text(Markup),
    /// It is not known.
    Unknown,
}

impl GridCell {
    /// The figure, if it is known.
    #[must_use]
    pub fn if_known(self, is_known: bool) -> GridCell {
        if is_known { self } else { GridCell::Unknown }
    }
}

impl Grid {
    /// The table, with the runs whose lines its rows have.
    pub fn render(&self, runs: &[Run<'_>]) -> Markup {
        self.render_lines(&runs.iter().map(|run| (run.label, run.series)).collect::<Vec<_>>())
    }

    /// The table, whose rows have one line.
    pub fn render_alone(&self) -> Markup {
        self.render_lines(&[("", Series(0))])
    }

    fn render_lines(&self, runs: &[(&str, Series)]) -> Markup {
        let (first, rest) = self.rows.split_at(self.rows.len().min(AT_ONCE));
        let (folded, left_out) = rest.split_at(rest.len().min(AT_MOST - AT_ONCE));
        html! {
            (self.table(&self.caption, first, runs))
            @if !folded.is_empty() {
                details {
                    summary { "The next " (folded.len()) " of " (self.rows.len()) " " (self.rows_are) }
                    (self.table(&format!("{} (continued)", self.caption), folded, runs))
                }
            }
            @if !left_out.is_empty() {
                p.soft { "Left out here: the other " (left_out.len()) " " (self.rows_are) ". The JSON of --json has all." }
            }
            (self.legend())
        }
    }

    fn table(&self, caption: &str, rows: &[GridRow], runs: &[(&str, Series)]) -> Markup {
        let several = runs.len() > 1;
        html! {
            div.scroll tabindex="0" role="group" aria-label=(caption) {
                table.grid-table {
                    caption { (caption) }
                    thead {
                        tr {
                            @for (number, column) in self.columns.iter().enumerate() {
                                th scope="col" {
                                    @if column.meaning.is_empty() { (column.title) }
                                    @else { abbr title=(column.meaning) { (column.title) } }
                                }
                                @if several && number == 0 { th scope="col" { "Run" } }
                            }
                        }
                    }
                    @for row in rows {
                        tbody {
                            @for (number, ((label, series), line)) in runs.iter().zip(&row.lines).enumerate() {
                                tr {
                                    @if number == 0 { th scope="rowgroup" rowspan=(runs.len()) { (row.head) } }
                                    @if several { td.run { (label) } }
                                    @for column in 0..self.columns.len() - 1 {
                                        (cell(line.as_ref().and_then(|line| line.get(column)), *series))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn legend(&self) -> Markup {
        html! {
            p.legend {
                @for column in self.columns.iter().filter(|column| !column.meaning.is_empty()) {
                    span { b { (column.title) } ": " (column.meaning) ". " }
                }
            }
        }
    }
}

fn cell(cell: Option<&GridCell>, series: Series) -> Markup {
    html! {
        @match cell {
            Some(GridCell::Bar(value, shown, share)) => td.n { (data(*value, shown)) (bar(*share, series)) },
            Some(GridCell::Number(value, shown)) => td.n { (data(*value, shown)) },
            Some(GridCell::Text(text)) => td { (text) },
            Some(GridCell::Unknown) | None => td.n { span title="not known" { "–" } },
        }
    }
}

fn bar(share: f64, series: Series) -> Markup {
    let length = if share.is_finite() { share.clamp(0.0, 1.0) * BAR } else { 0.0 };
    html! {
        svg.spark viewBox={ "0 0 " (px(BAR)) " 5" } width=(px(BAR)) height="5" aria-hidden="true" {
            rect class={ "bar " (series.class()) } x=(px(BAR - length)) width=(px(length)) height="5" {}
        }
    }
}
