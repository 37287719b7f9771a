//! A table: its columns, which of them fit beside the name, and a line of it.

use crate::column::Column;
use crate::medium::Medium;
use crate::units::Units;

/// The columns of a table that are shown.
pub struct Table<R: 'static> {
    medium: Medium,
    columns: Vec<&'static Column<R>>,
}

impl<R> Table<R> {
    /// All columns.
    pub fn all(columns: &'static [Column<R>], medium: Medium) -> Table<R> {
        Table { medium, columns: columns.iter().filter(|column| column.is_on(medium)).collect() }
    }

    /// The columns that fit beside a name in a line of this width.
    pub fn that_fits(columns: &'static [Column<R>], medium: Medium, width: usize) -> Table<R> {
        let mut table = Table::all(columns, medium);
        let room = width.saturating_sub(medium.name_min());
        while table.width() > room {
            let Some(first) = table.columns.iter().map(|column| column.priority(medium)).max() else { break };
            table.columns.retain(|column| column.priority(medium) != first);
        }
        table
    }

    /// The columns, from left to right.
    pub fn columns(&self) -> &[&'static Column<R>] {
        &self.columns
    }

    /// Width of the columns.
    pub fn width(&self) -> usize {
        self.columns.iter().map(|column| column.taken(self.medium)).sum()
    }

    /// The figures of a row, in their columns.
    pub fn figures(&self, row: &R, units: &Units) -> String {
        self.columns.iter().map(|column| column.cell(self.medium, &(column.text)(row, units))).collect()
    }

    /// A row on the screen, with its name.
    pub fn line(&self, row: &R, name: &str, units: &Units) -> String {
        format!("{} {name}", self.figures(row, units))
    }

    /// The figures of a row that adds up other rows.
    pub(crate) fn figures_of_sum(&self, row: &R, units: &Units) -> String {
        let cell = |column: &&Column<R>| match column.is_of_use {
            true => column.cell(self.medium, ""),
            false => column.cell(self.medium, &(column.text)(row, units)),
        };
        self.columns.iter().map(cell).collect()
    }

    /// The two lines of titles in print. The upper one may be empty.
    pub(crate) fn printed_titles(&self) -> [String; 2] {
        let above = |column: &&Column<R>| format!("{:<1$}", column.printed[0], column.taken(Medium::Print));
        let above: String = self.columns.iter().map(above).collect();
        [above.trim_end().into(), self.columns.iter().map(|column| column.printed[1]).collect()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{LOCKS, WAITS};
    use crate::units::Figures;

    #[test]
    fn narrower_screen_shows_fewer_columns() {
        let titles = |width| -> Vec<String> {
            let table = Table::that_fits(&LOCKS, Medium::Screen, width);
            let title = |column: &&Column<_>| column.screen_title(Figures::Sums).trim_start().to_owned();
            table.columns().iter().map(title).collect()
        };
        assert_eq!(titles(200).len(), LOCKS.len());
        assert_eq!(titles(80), ["LOST", "CEIL", "UTIL", "CON", "HOLD", "WAIT", "%CPU", "TOTAL"]);
        assert_eq!(titles(45), ["LOST", "TOTAL"]);
        assert!(titles(20).is_empty() && titles(0).is_empty());
    }

    #[test]
    fn printed_titles_are_those_of_the_columns_that_fit() {
        let titles = |width| Table::that_fits(&LOCKS, Medium::Print, width).printed_titles();
        assert_eq!(titles(51), ["".to_owned(), "  LOST  UTIL   CON     TOTAL".into()]);
        assert_eq!(
            titles(63),
            ["                    HOLD  WAIT", "  LOST  UTIL   CON  MEAN  MEAN     TOTAL"].map(str::to_owned)
        );
        assert_eq!(
            Table::all(&WAITS, Medium::Print).printed_titles()[1],
            "WAITED MEDIAN(  MAX)      CALLS      WAITS SHORT RJECT"
        );
    }
}
