//! A table of numbers.

use crate::name::visible;
use crate::number::data;
use maud::{Markup, html};

/// A table: its caption, the heads of its columns, and rows whose first cell is their head.
pub struct Table {
    /// What the table shows, for screen readers and in print.
    pub caption: String,
    /// The heads of all columns, that of the first included.
    pub head: Vec<Markup>,
    /// The rows.
    pub rows: Vec<TableRow>,
}

/// A row.
pub struct TableRow {
    /// The first cell, which names the row.
    pub head: Markup,
    /// The other cells.
    pub cells: Vec<Cell>,
}

/// A cell.
#[derive(Clone)]
pub enum Cell {
    /// A number: its value in the document, and how it is shown.
    Number(f64, String),
    /// Text.
    Text(Markup),
    /// Nothing was measured.
    Unknown,
}

impl Cell {
    /// A number, if there is one.
    pub fn number(value: Option<f64>, shown: impl FnOnce(f64) -> String) -> Cell {
        value.map_or(Cell::Unknown, |value| Cell::Number(value, shown(value)))
    }

    /// Words, with visible control characters.
    pub fn text(text: impl AsRef<str>) -> Cell {
        Cell::Text(html! { (visible(text.as_ref())) })
    }
}

impl Table {
    /// Whether the column, the first of which is 0, has no text.
    fn is_of_numbers(&self, column: usize) -> bool {
        let cell = |row: &TableRow| {
            column.checked_sub(1).and_then(|cell| Some(matches!(row.cells.get(cell)?, Cell::Text(_))))
        };
        column > 0 && !self.rows.iter().any(|row| cell(row) == Some(true))
    }

    /// The table. One that is too wide scrolls by itself; the keyboard reaches it.
    pub fn render(&self) -> Markup {
        let caption = visible(&self.caption);
        html! {
            div.scroll tabindex="0" role="group" aria-label=(caption) {
                table {
                    caption { (caption) }
                    thead { tr { @for (column, head) in self.head.iter().enumerate() { th.n[self.is_of_numbers(column)] scope="col" { (head) } } } }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                th scope="row" { (row.head) }
                                @for cell in &row.cells {
                                    @match cell {
                                        Cell::Number(value, shown) => td.n { (data(*value, shown)) },
                                        Cell::Text(text) => td { (text) },
                                        Cell::Unknown => td.n { span.unknown title="not measured" { "–" } },
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
