//! Selection and order of rows.

use super::reading::Section;
use unspin_report::{Lock, MeterReport, Row, Wait, WaitRow};
use unspin_wire::RecordKind;

/// The sort order, largest first; variants in the order of the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// Time waited.
    Lost,
    /// Share of the time held.
    Util,
    /// Share of the attempts that had to wait.
    Con,
    /// Mean time held.
    Hold,
    /// Mean wait for a lock; median of other waits.
    Wait,
    /// Share of the machine's CPU time spent spinning.
    Spin,
    /// Attempts.
    Total,
}

impl Sort {
    /// Each order with its key and the title of its column.
    pub const ALL: [(Sort, char, &'static str); 7] = [
        (Sort::Lost, 'l', "LOST"),
        (Sort::Util, 'u', "UTIL"),
        (Sort::Con, 'c', "CON"),
        (Sort::Hold, 'h', "HOLD"),
        (Sort::Wait, 'w', "WAIT"),
        (Sort::Spin, 's', "%CPU"),
        (Sort::Total, 'a', "TOTAL"),
    ];

    /// The order that a key selects.
    pub fn of_letter(letter: char) -> Option<Sort> {
        Sort::ALL.into_iter().find(|(_, key, _)| *key == letter).map(|(sort, ..)| sort)
    }

    /// The title of its column in a section.
    pub fn title(self, section: Section) -> &'static str {
        match (section, self.within(section)) {
            (Section::Waits, Sort::Lost) => "WAITED",
            (Section::Waits, Sort::Total) => "CALLS",
            (Section::Waits, Sort::Wait) => "MEDIAN",
            (_, sort) => Sort::ALL[sort as usize].2,
        }
    }

    /// The nearest order that a section has. Waits have fewer columns.
    pub fn within(self, section: Section) -> Sort {
        match (section, self) {
            (Section::Locks, _) | (_, Sort::Wait | Sort::Total) => self,
            (Section::Waits, _) => Sort::Lost,
        }
    }

    /// The order of the column to the left.
    pub fn left(self) -> Sort {
        Sort::ALL[(self as usize).saturating_sub(1)].0
    }

    /// The order of the column to the right.
    pub fn right(self) -> Sort {
        Sort::ALL[(self as usize + 1).min(Sort::ALL.len() - 1)].0
    }

    fn of_lock(self, row: &Row) -> f64 {
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

    fn of_wait(self, row: &WaitRow) -> f64 {
        match self.within(Section::Waits) {
            Sort::Wait => row.median,
            Sort::Total => row.calls as f64,
            _ => row.waited,
        }
    }
}

/// A row of either table.
#[derive(Clone, Copy, Debug)]
pub enum Item<'r> {
    /// A lock.
    Lock(&'r Lock),
    /// A wait that is not for a lock.
    Wait(&'r Wait),
}

/// Identifies a row across readings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Id {
    /// The object's name.
    pub name: String,
    /// The object's origin: distinguishes two objects of one name.
    pub origin: Option<String>,
    /// What is waited for, if it is a wait: distinguishes two calls in one function.
    pub wait: Option<RecordKind>,
}

impl<'r> Item<'r> {
    /// All rows of a section.
    pub fn all(report: &'r MeterReport, section: Section) -> Vec<Item<'r>> {
        match section {
            Section::Locks => report.locks.iter().map(Item::Lock).collect(),
            Section::Waits => report.waits.iter().map(Item::Wait).collect(),
        }
    }

    /// The row of a section with this index.
    pub fn at(report: &'r MeterReport, section: Section, index: usize) -> Item<'r> {
        match section {
            Section::Locks => Item::Lock(&report.locks[index]),
            Section::Waits => Item::Wait(&report.waits[index]),
        }
    }

    fn name(self) -> &'r str {
        match self {
            Item::Lock(lock) => &lock.row.name,
            Item::Wait(wait) => &wait.row.name,
        }
    }

    /// The origin of its name.
    pub fn origin(self) -> Option<&'r str> {
        match self {
            Item::Lock(lock) => lock.origin.as_deref(),
            Item::Wait(wait) => wait.origin.as_deref(),
        }
    }

    /// The name, with the number of objects if there are several, and for a wait what is waited for.
    pub fn label(self) -> String {
        match self {
            Item::Lock(lock) => lock.label(),
            Item::Wait(wait) => wait.label(),
        }
    }

    /// The row's identity.
    pub fn id(self) -> Id {
        Id { name: self.name().to_owned(), origin: self.origin().map(str::to_owned), wait: self.wait() }
    }

    /// Whether it has this identity.
    pub fn is(self, id: &Id) -> bool {
        self.name() == id.name && self.origin() == id.origin.as_deref() && self.wait() == id.wait
    }

    fn wait(self) -> Option<RecordKind> {
        match self {
            Item::Lock(_) => None,
            Item::Wait(wait) => Some(wait.kind),
        }
    }

    fn key(self, sort: Sort) -> f64 {
        match self {
            Item::Lock(lock) => sort.of_lock(&lock.row),
            Item::Wait(wait) => sort.of_wait(&wait.row),
        }
    }
}

/// The indices of the rows whose name contains the lower-case filter, largest first. Equal rows keep the order of the
/// report.
pub fn arrange(items: &[Item<'_>], sort: Sort, filter: &str) -> Vec<usize> {
    let mut rows: Vec<(usize, f64)> = (0..items.len())
        .filter(|&index| filter.is_empty() || items[index].name().to_lowercase().contains(filter))
        .map(|index| (index, items[index].key(sort)))
        .collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    rows.into_iter().map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_orders_are_in_order_of_columns() {
        for (index, (sort, letter, _)) in Sort::ALL.into_iter().enumerate() {
            assert_eq!((sort as usize, Sort::of_letter(letter)), (index, Some(sort)));
        }
        assert_eq!(
            (Sort::Lost.left(), Sort::Lost.right(), Sort::Total.right()),
            (Sort::Lost, Sort::Util, Sort::Total)
        );
    }
}
