//! The report as a model: sums, shares, order, widths, JSON.

use proptest::prelude::*;
use std::collections::BTreeMap;
use unspin_meter::{Comparison, Counts, Image, Key, Name, Report, Row, Snapshot, Unrecorded, Window};

/// Numbers of every magnitude up to 2^36: as ticks, up to half a minute.
fn any_size() -> impl Strategy<Value = u64> {
    (0u32..=36, any::<u64>()).prop_map(|(bits, n)| n & ((1 << bits) - 1))
}

prop_compose! {
    fn counts()(n in prop::array::uniform12(any_size())) -> Counts {
        Counts {
            nowait: n[0], spun: n[1], slept: n[2], rejected: n[3] + 1, gave_up: n[4].min(n[3]),
            hold: n[5], hold_max: n[6], spin: n[7], spin_max: n[8], sleep: n[9], sleep_max: n[10],
            wait_max: n[11], timed: n[0] + n[1] + n[2], ..Counts::default()
        }
    }
}

prop_compose! {
    fn snapshot()(
        rows in prop::collection::btree_map((0u64..5, 0u64..4), counts(), 0..12),
        seconds in 0.001f64..1000.0,
        cpus in 1u32..256,
        cpu_seconds in prop::option::of(0.001f64..100_000.0),
        events in prop::array::uniform7(any_size()),
        lost in prop::array::uniform2(0u64..3),
    ) -> Snapshot {
        let window = Window { seconds, cpus, ticks_per_second: 2e9, cpu_seconds };
        let rows = rows.into_iter().map(|((lock, caller), c)| (Key { lock: lock + 1, caller }, c));
        let mut snapshot = Snapshot::of_rows(window, rows);
        snapshot.images[0].events = events;
        snapshot.unrecorded = Unrecorded { overflowed: lost[0], threads: lost[1] };
        snapshot
    }
}

/// Odd locks are folded into one; one key has no name.
fn names(_: &Image, key: &Key) -> Option<Name> {
    let (lock, caller) = match key.lock {
        5 => return None,
        lock if lock % 2 == 1 => ("odd lock".into(), format!("caller_{}", key.caller)),
        lock => {
            (format!("lock number {lock} with a long name"), format!("caller_{}+0x1234567890", key.caller))
        }
    };
    Some((lock, caller).into())
}

/// Whether two sums of the same numbers are equal, added in different orders.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

fn check_row(row: &Row, report: &Report) -> Result<(), TestCaseError> {
    prop_assert_eq!(row.attempts, row.nowait + row.spun + row.slept + row.rejected);
    if row.attempts > 0 {
        let shares = [row.nowait, row.spun, row.slept, row.rejected].map(|part| row.share(part));
        prop_assert!(same(shares.iter().sum(), 1.0));
        prop_assert!((row.con + row.share(row.nowait) - 1.0).abs() < 1e-9);
    }
    prop_assert!(same(row.cpus, row.util + row.spin_cpu * f64::from(report.cpus)));
    prop_assert!(row.ceiling >= 1.0 && row.ceiling <= 1.0 + row.lost / report.seconds);
    Ok(())
}

proptest! {
    #[test]
    fn callers_add_up_to_the_lock_and_locks_to_the_total(snapshot in snapshot()) {
        let report = Report::new(&snapshot, &names);
        check_row(&report.total, &report)?;
        for lock in &report.locks {
            check_row(&lock.row, &report)?;
            let callers: Vec<&Row> = lock.callers().map(|(_, caller)| &caller.row).collect();
            let sum = |field: fn(&Row) -> f64| callers.iter().map(|row| field(row)).sum::<f64>();
            prop_assert!(same(sum(|r| r.util), lock.row.util));
            prop_assert!(same(sum(|r| r.spin_cpu), lock.row.spin_cpu));
            prop_assert!(same(sum(|r| r.lost), lock.row.lost));
            prop_assert!(same(sum(|r| r.cpus), lock.row.cpus));
            prop_assert_eq!(callers.iter().map(|r| r.attempts).sum::<u64>(), lock.row.attempts);
            let longest = callers.iter().map(|r| r.wait_max).fold(0.0, f64::max);
            prop_assert_eq!(longest, lock.row.wait_max);
            for one in &lock.uses {
                prop_assert!(one.callers.is_sorted_by(|a, b| a.row.lost >= b.row.lost));
            }
        }
        prop_assert!(report.locks.is_sorted_by(|a, b| a.row.lost >= b.row.lost));
        prop_assert_eq!(report.locks.iter().map(|l| l.row.attempts).sum::<u64>(), report.total.attempts);
        let keys: BTreeMap<u64, ()> = snapshot.images[0].rows.keys().map(|key| (key.lock, ())).collect();
        prop_assert_eq!(report.locks.iter().map(|l| l.locks).sum::<u64>(), keys.len() as u64);
    }

    #[test]
    fn every_line_fits_into_120_columns(snapshot in snapshot(), other in snapshot()) {
        let (report, other) = (Report::new(&snapshot, &names), Report::new(&other, &names));
        let comparison = Comparison::new().with("global", &report).with("rcu", &other).to_string();
        for line in report.to_string().lines().chain(comparison.lines()) {
            prop_assert!(line.chars().count() <= 120, "{}: {line}", line.chars().count());
        }
    }

    #[test]
    fn json_holds_everything(snapshot in snapshot()) {
        let report = Report::new(&snapshot, &names);
        let text = serde_json::to_string(&report).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Report>(&text).unwrap(), &report);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!((&value["schema"], &value["version"]), (&"unspin-locks".into(), &2.into()));
    }
}

fn example(spun: u64, spin: u64) -> Report {
    let counts = |n: u64| Counts {
        nowait: 3 * n,
        spun: n * spun,
        slept: n,
        rejected: n,
        timed: n * (4 + spun),
        hold: n * 300_000,
        hold_max: 170_000,
        spin: n * spin,
        spin_max: 2 * spin,
        sleep: n * 900_000,
        sleep_max: 1_000_000,
        wait_max: 1_000_000,
        ..Counts::default()
    };
    let window = Window { seconds: 2.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: Some(3.5) };
    let mut snapshot = Snapshot::of_rows(
        window,
        [
            (Key { lock: 2, caller: 0 }, counts(100)),
            (Key { lock: 2, caller: 1 }, counts(20)),
            (Key { lock: 1, caller: 0 }, counts(1)),
            (Key { lock: 3, caller: 0 }, counts(1)),
        ],
    );
    snapshot.images[0].events = [1_234_567, 0, 89, 4, 0, 0, 0];
    snapshot.unrecorded = Unrecorded { overflowed: 7, threads: 1 };
    Report::new(&snapshot, &|_, key: &Key| {
        let lock = if key.lock == 2 { "registry lock" } else { "id lock" };
        let caller = ["semop", "semctl"][key.caller as usize];
        Some((lock.to_string(), caller.to_string()).into())
    })
}

/// The printed forms, as they are.
#[test]
fn the_text_is_as_it_was_agreed() {
    let (before, after) = (example(15, 5_000_000), example(0, 0));
    let text = format!("{before}\n{}", Comparison::new().with("global", &before).with("rcu", &after));
    let expected = include_str!("report.txt");
    assert!(text == expected, "printed:\n{text}\nexpected:\n{expected}");
}

#[test]
fn a_lock_that_is_gone_is_said_to_be_gone() {
    let before = example(15, 5_000_000);
    let mut after = before.clone();
    after.locks.retain(|lock| lock.row.name != "registry lock");
    let text = Comparison::new().with("global", &before).with("rcu", &after).to_string();
    assert!(text.contains("of 2 → none\n"), "{text}");
}

/// The ceiling by hand. A: one CPU of two spins all the time on this lock, the other works: at most twice as
/// fast. B: the same, where the program's CPU time tells that the other was busy for half of the time only. C:
/// nine threads sleep for the lock throughout: ten times as fast, unless the CPUs are too few for that.
#[test]
fn the_ceiling_by_hand() {
    let second = 1_000_000_000;
    let row = |spin: u64, sleep: u64, cpu_seconds: Option<f64>| {
        let window = Window { seconds: 1.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds };
        let counts = Counts { spun: 1, spin, slept: 1, sleep, ..Counts::default() };
        Row::from_counts("lock", &counts, &window).ceiling
    };
    assert_eq!(row(second, 0, None), 2.0);
    assert_eq!(row(second, 0, Some(1.5)), 2.0);
    assert_eq!(row(0, 9 * second, None), 2.0);
    assert_eq!(row(0, 9 * second, Some(1.0)), 2.0);
    assert_eq!(row(0, 9 * second, Some(2.0)), 1.0);
    assert_eq!(row(0, 9 * second, Some(0.1)), 10.0);
    assert_eq!(row(0, 0, None), 1.0);
}

#[test]
fn nothing_recorded_is_said() {
    let window = Window { seconds: 1.0, cpus: 1, ticks_per_second: 1e9, cpu_seconds: None };
    let snapshot = Snapshot::of_rows(window, []);
    let report = Report::new(&snapshot, &names);
    assert_eq!(report.to_string(), "Locks over 1.00s on 1 CPU\nNo lock was recorded.\n");
    assert!(report.lockmeter().contains("*TOTAL*"));
}
