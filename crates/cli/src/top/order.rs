//! Which locks are shown, and in which order.

use std::cmp::Ordering;
use unspin_meter::{Lock, Row};

/// What the table is sorted by, largest first; in the order of the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// Time waited.
    Lost,
    /// Share of the time held.
    Util,
    /// Share of the attempts that did not succeed at once.
    Con,
    /// Mean time held.
    Hold,
    /// Mean wait.
    Wait,
    /// Share of the machine burnt spinning.
    Spin,
    /// Attempts.
    Total,
}

impl Sort {
    /// Each with its key, and the title of its column.
    pub const ALL: [(Sort, char, &'static str); 7] = [
        (Sort::Lost, 'l', "LOST"),
        (Sort::Util, 'u', "UTIL"),
        (Sort::Con, 'c', "CON"),
        (Sort::Hold, 'h', "HOLD"),
        (Sort::Wait, 'w', "WAIT"),
        (Sort::Spin, 's', "%CPU"),
        (Sort::Total, 'a', "TOTAL"),
    ];

    /// The one that a key stands for.
    pub fn of_letter(letter: char) -> Option<Sort> {
        Sort::ALL.into_iter().find(|(_, key, _)| *key == letter).map(|(sort, ..)| sort)
    }

    /// The title of its column.
    pub fn title(self) -> &'static str {
        Sort::ALL[self as usize].2
    }

    /// The one to the left.
    pub fn left(self) -> Sort {
        Sort::ALL[(self as usize).saturating_sub(1)].0
    }

    /// The one to the right.
    pub fn right(self) -> Sort {
        Sort::ALL[(self as usize + 1).min(Sort::ALL.len() - 1)].0
    }

    fn key(self, row: &Row) -> f64 {
        match self {
            Sort::Lost => row.lost,
            Sort::Util => row.util,
            Sort::Con => row.con,
            Sort::Hold => row.hold_mean,
            Sort::Wait => row.wait_mean,
            Sort::Spin => row.spin_cpu,
            Sort::Total => row.attempts as f64,
        }
    }
}

/// The indices of the locks whose name contains the filter, which is in small letters, largest first. Equal ones keep the
/// report's order.
pub fn arrange(locks: &[Lock], sort: Sort, filter: &str) -> Vec<usize> {
    let mut rows: Vec<(usize, f64)> = (0..locks.len())
        .filter(|&index| filter.is_empty() || locks[index].row.name.to_lowercase().contains(filter))
        .map(|index| (index, sort.key(&locks[index].row)))
        .collect();
    rows.sort_by(|a, b| largest_first(a.1, b.1));
    rows.into_iter().map(|(index, _)| index).collect()
}

fn largest_first(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_keys_is_in_order() {
        for (index, (sort, letter, _)) in Sort::ALL.into_iter().enumerate() {
            assert_eq!((sort as usize, Sort::of_letter(letter)), (index, Some(sort)));
        }
        assert_eq!((Sort::Lost.left(), Sort::Lost.right(), Sort::Total.right()), (Sort::Lost, Sort::Util, Sort::Total));
    }
}
