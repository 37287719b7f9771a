//! A printed table: its columns, what is known of its rows, and its width.

use crate::column::Column;
use crate::columns::LOCKS;
use crate::layout::Layout;
use crate::medium::{GAP, Medium};
use crate::row::Row;
use crate::table::Table;
use crate::units::Units;

/// A printed table for rows of type `R`.
pub struct PrintedTable<R: 'static> {
    table: Table<R>,
    units: Units,
    width: usize,
    /// Whether its titles take two lines, also if the upper one has become empty.
    has_two_titles: bool,
}

impl PrintedTable<Row> {
    /// The table of locks, with the columns that fit.
    pub(crate) fn locks(units: Units, layout: &Layout) -> PrintedTable<Row> {
        let table = Table::that_fits(&LOCKS, Medium::Print, layout.width);
        PrintedTable { table, ..PrintedTable::whole(&LOCKS, units, layout) }
    }
}

impl<R> PrintedTable<R> {
    /// A table with all columns, however narrow the layout is.
    pub fn whole(columns: &'static [Column<R>], units: Units, layout: &Layout) -> PrintedTable<R> {
        let has_two_titles = columns.iter().any(|column| !column.printed[0].is_empty());
        PrintedTable { table: Table::all(columns, Medium::Print), units, width: layout.width, has_two_titles }
    }

    /// Width of the columns before the name.
    pub fn name_at(&self) -> usize {
        self.table.width() + GAP
    }

    /// Characters for a name that is indented by as many.
    pub fn room(&self, indent: usize) -> usize {
        self.width.saturating_sub(self.name_at() + indent)
    }

    /// The lines of titles, the names under this one.
    pub fn titles(&self, name: &str) -> String {
        let [above, titles] = self.table.printed_titles();
        let above = if self.has_two_titles { above + "\n" } else { above };
        format!("{above}{titles}  {name}\n")
    }

    /// The figures of a row, and the gap before the name.
    pub fn figures(&self, row: &R) -> String {
        format!("{}{:GAP$}", self.table.figures(row, &self.units), "")
    }

    /// The figures of a row that adds up other rows, and the gap before the name.
    pub(crate) fn figures_of_sum(&self, row: &R) -> String {
        format!("{}{:GAP$}", self.table.figures_of_sum(row, &self.units), "")
    }

    /// The line that stands for rows that are not shown, under the indented names.
    pub fn more(&self, indent: usize, rows: usize) -> String {
        format!("{:1$}and {rows} more\n", "", self.name_at() + indent)
    }
}
