//! The lock tables of all configurations.

use super::super::format::{count, paragraph};
use super::super::locks::Metered;
use super::super::report::Report;
use super::{Detail, head};
use std::collections::BTreeSet;
use std::fmt::{self, Formatter};
use unspin_report::figures::{Percent, number, time};
use unspin_report::{Lock, LockId, MeterReport as LockReport, ReportComparison};

/// Number of locks that are shown: those with the most lost time under any configuration.
const SHOWN: usize = 6;

/// Prints the tables, and the reasons for missing ones.
pub fn write(f: &mut Formatter<'_>, report: &Report, detail: Detail) -> fmt::Result {
    let metered = &report.locks.metered;
    // If only waits are judged, the figures of locks decide nothing. Run queues have tables of their own.
    let is_shown = detail == Detail::Full || !(report.is_about_waits() || report.is_about_run_queues());
    if is_shown && metered.iter().any(|metered| !metered.report.locks.is_empty()) {
        writeln!(f, "The locks, in one metered run each")?;
        let reports: Vec<LockReport> = metered.iter().map(|m| m.report.clone()).collect();
        let (reports, left_out) = worst(reports);
        let labels = metered.iter().map(|metered| metered.candidate.as_str());
        let table = labels
            .zip(&reports)
            .fold(ReportComparison::new(), |table, (label, report)| table.with(label, report));
        match detail {
            Detail::Brief => {
                let columns: Vec<Column<'_>> = metered.iter().zip(&reports).map(Column::of).collect();
                f.write_str(&brief(&columns, &table.ids()))?;
            }
            Detail::Full => write!(f, "{table}")?,
        }
        if left_out > 0 {
            writeln!(f, "\nand {left_out} locks with less lost time: `unspin meter` shows all.")?;
        }
        for metered in metered {
            let events = metered.report.events.iter();
            let counts: Vec<String> =
                events.map(|e| format!("{} {}", count(e.count as f64), e.event.name())).collect();
            if !counts.is_empty() {
                let text = format!("Counted beside, {}: {}.", metered.candidate, counts.join(", "));
                write!(f, "{}", paragraph(&text, 0))?;
            }
        }
        writeln!(f)?;
    }
    // A control that fails when it is metered also fails in the session, which is reported below.
    let missing = report.locks.missing.iter().filter(|_| report.control_failure().is_none());
    for missing in missing {
        write!(f, "{}", paragraph(missing, 0))?;
    }
    Ok(())
}

/// The metered run of a candidate.
struct Column<'a> {
    candidate: &'a str,
    /// The mutexes that stay libc's.
    libcs: &'a BTreeSet<LockId>,
    report: &'a LockReport,
}

impl<'a> Column<'a> {
    fn of((metered, report): (&'a Metered, &'a LockReport)) -> Column<'a> {
        Column { candidate: &metered.candidate, libcs: &metered.libcs, report }
    }
}

/// The columns that distinguish candidates: a line for each candidate, under the name of the lock. Only figures of the same
/// locks stand below each other.
fn brief(columns: &[Column<'_>], ids: &[LockId]) -> String {
    let mut text = format!(
        "{:15} {:>9} {:>9} {:>6} {:>10} {:>10} {:>11} {:>8}\n",
        "", "lost", "CPUs used", "held", "mean hold", "mean wait", "operations", "waited"
    );
    let mut has_several = false;
    for id in ids {
        let locks: Vec<Option<&Lock>> = columns.iter().map(|column| column.report.same_lock(id)).collect();
        let mut counts: Vec<u64> = locks.iter().flatten().map(|lock| lock.locks).collect();
        has_several |= counts.iter().any(|&count| count > 1);
        counts.dedup();
        let (number, name) = match counts[..] {
            [count] if count > 1 => (format!("({count}) "), id.among(ids)),
            _ => (String::new(), id.among(ids)),
        };
        text += &paragraph(&format!("{number}{name}"), 0);
        for (column, lock) in columns.iter().zip(locks) {
            let under = if column.libcs.contains(id) { "libc's, under " } else { "" };
            let several = match lock {
                Some(lock) if counts.len() > 1 => format!(" ({})", format_lock_count(lock.locks)),
                _ => String::new(),
            };
            let label = head(&format!("  {under}{}{several}", column.candidate));
            text += &match lock {
                Some(lock) => format!("{label} {}\n", figures(lock, column.report.cpus)),
                None => format!("{label} {:>9}\n", "-"),
            };
        }
    }
    if has_several {
        text += &paragraph(
            "Several locks of one name: lost, CPUs used and operations are their sums, held is the mean of one of them.",
            0,
        );
    }
    text
}

fn figures(lock: &Lock, cpus: u32) -> String {
    let row = &lock.row;
    format!(
        "{:>9} {:>9} {:>6} {:>10} {:>10} {:>11} {:>8}",
        time(row.lost),
        format!("{} of {cpus}", number(row.cpus)),
        Percent::Column.of(lock.util_each()).trim(),
        time(row.hold_mean),
        time(row.wait_mean),
        count(row.attempts as f64),
        Percent::Column.of(row.con).trim()
    )
}

/// "1 lock", "49 locks".
fn format_lock_count(locks: u64) -> String {
    if locks == 1 { "1 lock".into() } else { format!("{locks} locks") }
}

/// The reports with only the locks with the most lost time under any configuration, and the number of locks that were
/// left out.
fn worst(mut reports: Vec<LockReport>) -> (Vec<LockReport>, usize) {
    let mut locks: Vec<(LockId, f64)> = Vec::new();
    for lock in reports.iter().flat_map(|report| &report.locks) {
        let id = lock.id();
        match locks.iter_mut().find(|(other, _)| *other == id) {
            Some((_, lost)) => *lost = lost.max(lock.row.lost),
            None => locks.push((id, lock.row.lost)),
        }
    }
    locks.sort_by(|a, b| b.1.total_cmp(&a.1));
    let left_out = locks.len().saturating_sub(SHOWN);
    locks.truncate(SHOWN);
    for report in &mut reports {
        report.locks.retain(|lock| locks.iter().any(|(id, _)| *id == lock.id()));
    }
    (reports, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_report::Name;
    use unspin_wire::{Counts, Image, Key, RecordKind, Snapshot, Window};

    /// A recording of one second with a pool: a mutex in 50 groups, and a condition that is used as a lock in some.
    fn report(conditions: usize) -> LockReport {
        let window = Window { seconds: 1.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: None };
        let mutexes = (1..=50).map(|group| {
            let counts = Counts { nowait: 100, timed: 100, hold: 400_000_000, ..Counts::default() };
            (Key::new(RecordKind::Mutex, group, 1), counts)
        });
        let used = (101..101 + conditions).flat_map(|group| {
            let counts = Counts { slept: 100, timed: 100, sleep: 900_000_000, ..Counts::default() };
            let woken = Counts { nowait: 100, ..Counts::default() };
            [
                (Key::new(RecordKind::Condition, group, 1), counts),
                (Key::new(RecordKind::WokenBySignal, group, 1), woken),
            ]
        });
        let names = |_: &Image, _: &Key| {
            let (lock, caller) = ("pool".into(), "take".into());
            Some(Name { lock, caller, origin: Some("initialised at pool.c:7".into()), ..Name::default() })
        };
        LockReport::new(&Snapshot::of_rows(window, mutexes.chain(used)), &names)
    }

    /// Issue 25: the lock of one run was compared with the condition of the other, and 50 locks were 2000 % held.
    #[test]
    fn only_the_same_locks_stand_below_each_other() {
        let (before, after) = (report(49), report(0));
        let libcs = BTreeSet::new();
        let columns = [("system", &before), ("poll", &after)];
        let columns = columns.map(|(candidate, report)| Column { candidate, libcs: &libcs, report });
        let table =
            columns.iter().fold(ReportComparison::new(), |table, c| table.with(c.candidate, c.report));
        let text = brief(&columns, &table.ids());
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines[0], "(49) pool (mutex and condition)");
        assert!(lines[1].starts_with("  system ") && lines[1].contains("44.1s"), "{text}");
        assert_eq!(lines[2].split_whitespace().collect::<Vec<_>>(), ["poll", "-"], "{text}");
        assert_eq!(lines[3], "(50) pool");
        for line in &lines[4..6] {
            assert!(line.contains(" 40 %") || line.contains(" 40.0"), "{text}");
            assert!(!line.contains("2000"), "{text}");
        }
        assert!(lines[6].starts_with("Several locks of one name"), "{text}");
        let full = table.to_string();
        assert!(
            full.contains("CPUs eaten by pool (mutex and condition): ") && full.contains(" → none"),
            "{full}"
        );
    }

    #[test]
    fn different_numbers_of_locks_are_pointed_out() {
        let mut after = report(0);
        after.locks[0].locks = 49;
        let (before, libcs) = (report(0), BTreeSet::new());
        let columns = [("system", &before), ("adaptive", &after)];
        let columns = columns.map(|(candidate, report)| Column { candidate, libcs: &libcs, report });
        let text = brief(&columns, &[before.locks[0].id()]);
        assert!(text.contains("\npool\n  system (50 locks)\n") && text.contains("(49 locks)\n"), "{text}");
    }
}
