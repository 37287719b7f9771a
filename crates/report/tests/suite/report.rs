//! The report as a model: sums, shares, order, widths, JSON.

use proptest::prelude::*;
use std::collections::BTreeMap;
use unspin_report::{Filter, Layout, MeterReport, Name, ReportComparison, Row};
use unspin_wire::{Counts, Disturbance, Image, Key, RecordKind, Snapshot, Thread, Unrecorded, Window};

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
        events in prop::array::uniform9(any_size()),
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

fn check_row(row: &Row, report: &MeterReport) -> Result<(), TestCaseError> {
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
        let report = MeterReport::new(&snapshot, &names);
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
    fn each_line_fits_into_120_columns(snapshot in snapshot(), other in snapshot()) {
        let (report, other) = (MeterReport::new(&snapshot, &names), MeterReport::new(&other, &names));
        let comparison = ReportComparison::new().with("global", &report).with("rcu", &other).to_string();
        for line in report.to_string().lines().chain(comparison.lines()) {
            prop_assert!(line.chars().count() <= 120, "{}: {line}", line.chars().count());
        }
    }

    #[test]
    fn json_holds_everything(snapshot in snapshot()) {
        let report = MeterReport::new(&snapshot, &names);
        let text = serde_json::to_string(&report).unwrap();
        prop_assert_eq!(&serde_json::from_str::<MeterReport>(&text).unwrap(), &report);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!((&value["schema"], &value["version"]), (&"unspin-locks".into(), &3.into()));
    }
}

fn example(spun: u64, spin: u64) -> MeterReport {
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
    snapshot.images[0].events = [1_234_567, 0, 89, 4, 0, 0, 0, 0, 0];
    snapshot.unrecorded = Unrecorded { overflowed: 7, threads: 1 };
    MeterReport::new(&snapshot, &|_, key: &Key| {
        let lock = if key.lock == 2 { "registry lock" } else { "id lock" };
        let caller = ["semop", "semctl"][key.caller as usize];
        Some((lock.to_string(), caller.to_string()).into())
    })
}

/// The printed forms, as they are.
#[test]
fn text_matches_the_stored_example() {
    let (before, after) = (example(15, 5_000_000), example(0, 0));
    let text = format!("{before}\n{}", ReportComparison::new().with("global", &before).with("rcu", &after));
    let expected = include_str!("../report.txt");
    assert!(text == expected, "printed:\n{text}\nexpected:\n{expected}");
}

/// The run queue that volano chooses itself gives way to those that are compared.
#[test]
fn contended_lock_of_a_run_queue_leads_to_a_comparison() {
    let counts = Counts {
        nowait: 50_000,
        spun: 50_000,
        timed: 100_000,
        hold: 200_000_000,
        spin: 900_000_000,
        ..Counts::default()
    };
    let window = Window { seconds: 1.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: None };
    let mut snapshot = Snapshot::of_rows(window, [(Key::new(RecordKind::RunQueue, 1, 1), counts)]);
    let next = |command: &str, snapshot: &mut Snapshot| {
        snapshot.invocation.command = command.split_whitespace().map(str::to_owned).collect();
        let report =
            MeterReport::new(snapshot, &|_, _| Some(("runqueue_lock".to_owned(), "pop".to_owned()).into()));
        report.findings().remove(0).next.command.unwrap()
    };
    let prove = "unspin prove --runqueue global,percpu -- ";
    for own in ["--runqueue global", "--runqueue=percpu"] {
        let command = format!("volano {own} --model tasks");
        assert_eq!(next(&command, &mut snapshot), format!("{prove}volano --model tasks"));
    }
    assert_eq!(next("./server --runqueue x", &mut snapshot), format!("{prove}./server --runqueue x"));
}

#[test]
fn destroyed_lock_is_marked() {
    let before = example(15, 5_000_000);
    let mut after = before.clone();
    after.locks.retain(|lock| lock.row.name != "registry lock");
    let text = ReportComparison::new().with("global", &before).with("rcu", &after).to_string();
    assert!(text.contains("of 2 → none\n"), "{text}");
}

/// The ceiling by hand. A: one CPU of two spins all the time on this lock, the other works: at most twice as
/// fast. B: the same, where the program's CPU time tells that the other was busy for half of the time only. C:
/// nine threads sleep for the lock throughout: ten times as fast, unless the CPUs are too few for that.
#[test]
fn ceiling_by_hand() {
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
fn empty_recording_is_stated() {
    let window = Window { seconds: 1.0, cpus: 1, ticks_per_second: 1e9, cpu_seconds: None };
    let snapshot = Snapshot::of_rows(window, []);
    let report = MeterReport::new(&snapshot, &names);
    assert_eq!(report.to_string(), "Locks over 1.00s on 1 CPU\nNo lock was recorded.\n");
    assert!(report.lockmeter().contains("*TOTAL*"));
}

/// A report of so many locks that were used without a wait, and one lock for each element of `waits`, for which a
/// thread waited so long.
fn idle_locks(idle: u64, waits: &[u64]) -> MeterReport {
    let window = Window { seconds: 1.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: None };
    let idle = (1..=idle).map(|n| (Key { lock: n, caller: 0 }, Counts { nowait: n, ..Counts::default() }));
    let counts = |&sleep: &u64| Counts { slept: 1, sleep, ..Counts::default() };
    let waits = waits
        .iter()
        .map(counts)
        .enumerate()
        .map(|(n, counts)| (Key { lock: 1000 + n as u64, caller: 0 }, counts));
    MeterReport::new(&Snapshot::of_rows(window, idle.chain(waits)), &|_, key: &Key| {
        Some((format!("number {}", key.lock), "caller".to_string()).into())
    })
}

#[test]
fn locks_that_lost_nothing_share_a_line() {
    let text = idle_locks(23, &[500_000_000]).to_string();
    assert!(text.contains("number 1000\n") && !text.contains("number 23\n"), "{text}");
    assert!(text.contains("\nand 23 locks that lost nothing: --all shows them\n"), "{text}");
    let text = idle_locks(1, &[500_000_000]).to_string();
    assert!(text.contains("\nand 1 lock that lost nothing: --all shows it\n"), "{text}");
    // The three most used locks, if there is nothing else to show.
    let report = idle_locks(23, &[]);
    let text = report.to_string();
    let shown: Vec<bool> = (20..=23).map(|n| text.contains(&format!("number {n}\n"))).collect();
    assert_eq!(shown, [false, true, true, true], "{text}");
    assert!(text.contains("\nand 20 locks that lost nothing: --all shows them\n"), "{text}");
    let all = report.text(&Layout::all(120));
    assert!(all.contains("number 1\n") && !all.contains("lost nothing"), "{all}");
    assert!(!idle_locks(3, &[]).to_string().contains("lost nothing"));
    let mut chosen = report.clone();
    chosen.filter(&Filter { lock: Some(&|name| name.ends_with('1')), ..Filter::default() });
    assert!(chosen.to_string().contains("number 1\n"), "who asks for a lock sees it");
    let text = idle_locks(2, &[1_000_000; 25]).to_string();
    assert!(
        text.contains("\nand 5 more, which lost 20.0 %: --all\n\nand 2 locks that lost nothing"),
        "{text}"
    );
}

#[test]
fn bound_is_withheld_if_other_programs_used_the_cpus() {
    let mut report = idle_locks(0, &[500_000_000]);
    assert!(report.to_string().contains("1.50x"));
    report.disturbance = Some(Disturbance { others: 0.02, stolen: 0.0, throttled: None });
    let text = report.to_string().replace('\n', " ");
    assert!(text.contains(" Other programs used 2 % of the CPUs. ") && text.contains("1.50x"), "{text}");
    report.disturbance = Some(Disturbance { others: 0.4, stolen: 0.1, throttled: None });
    let text = report.to_string().replace('\n', " ");
    assert!(text.contains("Other programs used 40.0 % of the CPUs, the hypervisor took 10.0 %"), "{text}");
    assert!(text.contains("CEIL is not given; meter again on a quiet machine"), "{text}");
    report.disturbance = Some(Disturbance { others: 0.0, stolen: 0.0, throttled: Some(0.3) });
    let throttled = report.to_string().replace('\n', " ");
    assert!(
        throttled.contains("the CPU quota stopped the program in 30.0 % of its periods: waits contain"),
        "{throttled}"
    );
    assert!(throttled.contains("raise the quota") && !throttled.contains("1.50x"), "{throttled}");
    assert!(!text.contains("1.50x"), "{text}");
}

/// The bound of a short run was given without a word on other programs, which used 80 % of the CPUs.
#[test]
fn bound_of_a_short_run_is_doubted() {
    let unknown = "used of the CPUs is unknown, because the run was shorter than 200 ms.";
    let of = |seconds: f64, ceiling: f64| {
        let mut report = idle_locks(0, &[500_000_000]);
        report.seconds = seconds;
        report.locks[0].row.ceiling = ceiling;
        report.to_string().replace('\n', " ").contains(unknown)
    };
    assert!(of(0.158, 1.19));
    assert!(!of(0.158, 1.01), "nothing follows from it");
    assert!(!of(0.25, 1.19), "a recording of another program");
}

#[test]
fn sentences_are_as_wide_as_the_table() {
    let layout = Layout { width: 80, ..Layout::default() };
    let text = idle_locks(0, &[500_000_000]).text(&layout);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn headline_below_the_table() {
    let said = |report: &MeterReport, sentence: &str| {
        let text = report.to_string().replace('\n', " ");
        assert!(text.contains(sentence), "{text}");
    };
    said(
        &idle_locks(0, &[500_000_000]),
        "The number 1000 was utilized 0 %, and threads slept 500ms for it; without it the program could be at most 1.50x as \
         fast.",
    );
    said(
        &idle_locks(0, &[20_000_000, 30_000_000]),
        "No lock here is worth the time: without any one of them the program could be at most 1.03x as fast.",
    );
    let mut report = idle_locks(0, &[500_000_000]);
    report.locks[0].locks = 16;
    said(
        &report,
        "The (16) number 1000 were utilized 0 % each (0 % together), and threads slept 500ms for them; without them the program",
    );
}

/// No lock of CPython contributes to LOST.
#[test]
fn note_states_that_waits_may_implement_locks() {
    let report = |kind, wait: u64, lost: u64| {
        let window = Window { seconds: 1.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: None };
        let counts = |sleep| Counts { slept: 1, sleep, ..Counts::default() };
        let rows = [(Key::new(kind, 1, 0), counts(wait)), (Key::new(RecordKind::Mutex, 2, 0), counts(lost))];
        let mut snapshot = Snapshot::of_rows(window, rows);
        snapshot.images[0].threads = vec![Thread {
            tid: 0,
            lived: 0,
            on_cpu: 0,
            runnable: 0,
            holds: Vec::new(),
            tokens: Vec::new(),
            waits: None,
            wait_may_time_out: false,
        }];
        MeterReport::new(&snapshot, &|_, _| None).to_string().contains("may be among the")
    };
    assert!(report(RecordKind::Semaphore, 500_000_000, 1_000_000));
    assert!(report(RecordKind::Condition, 500_000_000, 0));
    assert!(!report(RecordKind::Barrier, 500_000_000, 0), "nothing is locked by a barrier");
    assert!(!report(RecordKind::Semaphore, 500_000_000, 60_000_000), "the losses are the greater matter");
    assert!(!report(RecordKind::Semaphore, 90_000_000, 0), "a tenth of the thread's second at least");
}

/// The engine's locks lie in memory that processes share: a lock that two of them took is one.
#[test]
fn engine_lock_of_several_processes_is_one_lock() {
    let window = Window { seconds: 1.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: None };
    let counts = Counts { nowait: 1, timed: 1, hold: 250_000_000, ..Counts::default() };
    let both = |kind| {
        let one = Snapshot::of_rows(window, [(Key::new(kind, 64, 1), counts)]);
        let images = [1, 2].map(|pid| Image { pid, ..one.images[0].clone() });
        MeterReport::new(&Snapshot { images: images.into(), ..one }, &|_, _| {
            Some(("a".to_owned(), "b".to_owned()).into())
        })
    };
    let (engine, mutex) = (both(RecordKind::Engine), both(RecordKind::Mutex));
    assert_eq!((engine.locks[0].locks, engine.locks[0].row.util), (1, 0.5));
    assert_eq!((mutex.locks[0].locks, mutex.locks[0].row.util), (2, 0.5));
}
