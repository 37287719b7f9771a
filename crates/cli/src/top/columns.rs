//! The columns of the table on the screen: those that fit into the window, and the order that each shows.

use super::order::Sort;
use super::reading::Period;
use unspin_report::{Column, Medium, MeterReport, Table, Units};

pub use unspin_report::columns::{LOCKS, WAITS};

/// How figures of a report of a period are converted to text: over an interval sums are rates.
pub fn units(report: &MeterReport, period: Period) -> Units {
    let units = Units::of(report);
    match period {
        Period::SinceStart => units,
        Period::Lately => units.per_second_of(report.seconds),
    }
}

/// The sort order that a column shows.
pub fn sort<R>(column: &Column<R>) -> Option<Sort> {
    match column.field {
        "lost" | "waited" => Some(Sort::Lost),
        "util" => Some(Sort::Util),
        "con" => Some(Sort::Con),
        "hold_mean" => Some(Sort::Hold),
        "wait_mean" | "median" => Some(Sort::Wait),
        "spin_cpu" => Some(Sort::Spin),
        "attempts" | "calls" => Some(Sort::Total),
        _ => None,
    }
}

/// The columns of a table that fit beside a name.
pub fn that_fit<R>(all: &'static [Column<R>], width: u16) -> Table<R> {
    Table::that_fits(all, Medium::Screen, width.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sort_order_has_a_column_of_locks() {
        let shown: Vec<Sort> = LOCKS.iter().filter_map(sort).collect();
        assert_eq!(
            shown,
            [Sort::Lost, Sort::Util, Sort::Con, Sort::Hold, Sort::Wait, Sort::Spin, Sort::Total]
        );
        let shown: Vec<Sort> = WAITS.iter().filter_map(sort).collect();
        assert_eq!(shown, [Sort::Lost, Sort::Wait, Sort::Total]);
    }
}
