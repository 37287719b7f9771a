//! The metered runs that a section shows: one, or two that are compared.

use crate::palette::Series;
use maud::{Markup, html};
use unspin_report::{Lock, LockId, MeterReport, Wait};

/// One or two metered runs.
pub struct Sides<'r> {
    runs: Vec<Run<'r>>,
}

/// A metered run.
#[derive(Clone, Copy)]
pub struct Run<'r> {
    /// `before`, `after`; empty if there is no other run.
    pub label: &'static str,
    /// How pictures tell it apart.
    pub series: Series,
    /// What was metered.
    pub report: &'r MeterReport,
}

impl Run<'_> {
    /// The heading above what is shown of this run alone; nothing if there is no other run.
    pub fn heading(&self) -> Markup {
        match self.label {
            "" => html! {},
            label => html! { h4 { (unspin_figures::capital(label)) } },
        }
    }
}

/// The same row of all runs; none in a run that does not have it.
pub type Same<'r, T> = Vec<Option<&'r T>>;

impl<'r> Sides<'r> {
    /// A run, and the one with which it is compared.
    pub fn new(before: &'r MeterReport, after: Option<&'r MeterReport>) -> Sides<'r> {
        let labels = if after.is_some() { ["before", "after"] } else { ["", ""] };
        let run = |(index, report)| Run { label: labels[index], series: Series(index), report };
        Sides { runs: [Some(before), after].into_iter().flatten().enumerate().map(run).collect() }
    }

    /// The runs, in their order.
    pub fn runs(&self) -> &[Run<'r>] {
        &self.runs
    }

    /// Whether two runs are compared.
    pub fn is_comparison(&self) -> bool {
        self.runs.len() > 1
    }

    /// The first run.
    pub fn first(&self) -> &'r MeterReport {
        self.runs[0].report
    }

    /// The locks of all runs, most time lost in any run first, each with its name among all locks.
    pub fn locks(&self) -> Vec<(String, Same<'r, Lock>)> {
        let id = |lock: &Lock| (lock.id(), lock.address.filter(|_| !self.is_comparison()));
        let lists: Vec<&'r [Lock]> = self.runs.iter().map(|run| &run.report.locks[..]).collect();
        let mut same = pair(&lists, id);
        same.sort_by(|a, b| most(b, |lock| lock.row.lost).total_cmp(&most(a, |lock| lock.row.lost)));
        let ids: Vec<LockId> = same.iter().map(|row| any(row).id()).collect();
        let mut counts = std::collections::HashMap::<String, usize>::new();
        for id in &ids {
            *counts.entry(id.short()).or_default() += 1;
        }
        let name = |id: &LockId| if counts[&id.short()] > 1 { id.to_string() } else { id.short() };
        ids.iter().map(name).zip(same).collect()
    }

    /// The waits of all runs, most time waited in any run first.
    pub fn waits(&self) -> Vec<Same<'r, Wait>> {
        let lists: Vec<&'r [Wait]> = self.runs.iter().map(|run| &run.report.waits[..]).collect();
        let id = |wait: &Wait| {
            let address = wait.address.filter(|_| !self.is_comparison());
            (wait.row.name.clone(), wait.kind, wait.origin.clone(), wait.used_as_lock, address)
        };
        let mut same = pair(&lists, id);
        same.sort_by(|a, b| most(b, |wait| wait.row.waited).total_cmp(&most(a, |wait| wait.row.waited)));
        same
    }
}

/// The row of the first run that has it.
pub fn any<'r, T>(same: &Same<'r, T>) -> &'r T {
    same.iter().flatten().next().expect("a row is of at least one run")
}

/// The largest value of all runs.
pub fn most<T>(same: &Same<'_, T>, value: impl Fn(&T) -> f64) -> f64 {
    same.iter().flatten().map(|row| value(row)).fold(0.0, f64::max)
}

/// The rows of all lists, those with one identity together, in the order in which they come first. A list with several rows
/// of one identity keeps them apart.
fn pair<'r, T, I: Ord>(lists: &[&'r [T]], id: impl Fn(&T) -> I) -> Vec<Same<'r, T>> {
    let mut same: Vec<Same<'r, T>> = Vec::new();
    let mut places = std::collections::BTreeMap::<(I, usize), usize>::new();
    for (list, rows) in lists.iter().enumerate() {
        let mut seen = std::collections::BTreeMap::<I, usize>::new();
        for row in *rows {
            let nth = seen.entry(id(row)).or_default();
            let place = *places.entry((id(row), *nth)).or_insert_with(|| {
                same.push(vec![None; lists.len()]);
                same.len() - 1
            });
            *nth += 1;
            same[place][list] = Some(row);
        }
    }
    same
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_identity_are_together() {
        let (before, after) = ([1, 2, 2], [2, 3]);
        let rows: Vec<Vec<Option<i32>>> = pair(&[&before, &after], |n| *n)
            .into_iter()
            .map(|same| same.into_iter().map(Option::<&i32>::copied).collect())
            .collect();
        assert_eq!(rows, [[Some(1), None], [Some(2), Some(2)], [Some(2), None], [None, Some(3)]]);
    }
}
