//! Recordings with one cause each, made up: the first finding names the cause, and says what to do next. The programs of the
//! nightly tier (`crates/cli/tests/suite/causes.rs`) show that real programs make such recordings.

use unspin_report::{Cause, Finding, MeterReport, Name};
use unspin_wire::{
    Counts, Histogram, Image, Invocation, Key, Level, Record, RecordKind, Snapshot, Thread, TimeKind,
    Unrecorded, Window,
};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Uses of one lock at one call site: `acquired` times, held `hold` ticks each; of these `slept` slept `wait` ticks each.
fn used(acquired: u64, hold: u64, slept: u64, wait: u64) -> Record {
    let counts = Counts {
        nowait: acquired - slept,
        slept,
        timed: acquired,
        hold: acquired * hold,
        hold_max: hold,
        sleep: slept * wait,
        sleep_max: wait,
        wait_max: wait,
        ..Counts::default()
    };
    recorded(counts, hold, wait)
}

/// A record with these counts whose holds and waits all take the same time.
fn recorded(counts: Counts, hold: u64, wait: u64) -> Record {
    let all = |of: TimeKind, ticks: u64, n: u64| {
        let mut histogram = Histogram::new(of, [0; 22]);
        let bucket = (0..22).find(|&bucket| histogram.ticks(bucket).contains(&ticks)).unwrap();
        let mut counts = [0; 22];
        counts[bucket] = n;
        histogram = Histogram::new(of, counts);
        histogram
    };
    Record {
        holds: all(TimeKind::Holds, hold, counts.timed),
        waits: all(TimeKind::Waits, wait, counts.waiters()),
        counts,
        ..Record::default()
    }
}

/// The first finding about the program of [`findings`].
fn first_finding(rows: impl IntoIterator<Item = (Key, Record)>) -> Finding {
    findings(rows).into_iter().next().expect("time was lost")
}

/// The findings about a program of three threads that ran for two seconds, and computed for one.
fn findings(rows: impl IntoIterator<Item = (Key, Record)>) -> Vec<Finding> {
    findings_under(&[], rows)
}

/// Like [`findings`], with these replacements of locks.
fn findings_under(locks: &[&str], rows: impl IntoIterator<Item = (Key, Record)>) -> Vec<Finding> {
    let thread = Thread {
        tid: 0,
        lived: 2_000 * MS,
        on_cpu: 300 * MS,
        runnable: 0,
        holds: Vec::new(),
        tokens: Vec::new(),
        waits: None,
        wait_may_time_out: false,
    };
    let image = Image {
        pid: 100,
        parent: 1,
        command: vec!["server".into()],
        rows: rows.into_iter().collect(),
        threads: vec![thread.clone(), thread.clone(), thread],
        ..Image::default()
    };
    let snapshot = Snapshot {
        window: Window { seconds: 2.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: Some(1.0) },
        started: 1_700_000_000_000_000_000,
        level: Level::Full,
        wake_up: None,
        disturbance: None,
        invocation: Invocation {
            locks: locks.iter().map(|&text| text.into()).collect(),
            ..Invocation::default()
        },
        images: vec![image],
        unrecorded: Unrecorded::default(),
    };
    let name = |_: &Image, key: &Key| {
        let lock = if key.address() == 1 { "table" } else { "filled" };
        Some(Name { lock: lock.into(), caller: format!("place_{}", key.caller), ..Name::default() })
    };
    MeterReport::new(&snapshot, &name).findings()
}

fn mutex(caller: usize) -> Key {
    Key::new(RecordKind::Mutex, 1, caller)
}

fn assert_finding(finding: &Finding, cause: Cause, sentence: &str, next: &str) {
    assert_eq!(finding.cause, cause, "{finding:?}");
    assert!(finding.text.starts_with(sentence), "{finding:?}");
    assert!(finding.next.text.starts_with(next), "{finding:?}");
}

#[test]
fn one_place_that_holds_a_lock_long_is_named() {
    let finding = first_finding([(mutex(10), used(400, 2 * MS, 390, 4 * MS))]);
    assert_finding(
        &finding,
        Cause::LongHold,
        "table is held long: place_10 holds it for ",
        "hold it shorter there:",
    );
    assert_eq!(finding.next.command, None, "no kind of lock helps");
}

#[test]
fn several_places_that_fill_the_time_look_like_one_lock_over_several_data() {
    let places = (10..14).map(|caller| (mutex(caller), used(90_000, 5 * US, 40_000, 10 * US)));
    let finding = first_finding(places);
    assert_finding(
        &finding,
        Cause::SplitNeeded,
        "table looks like one lock over several data: 4 places hold it for a short time each (place_1",
        "split it:",
    );
}

#[test]
fn one_place_that_fills_the_time_saturates_the_lock() {
    let finding = first_finding([(mutex(10), used(360_000, 5 * US, 100_000, 10 * US))]);
    assert_finding(
        &finding,
        Cause::Saturated,
        "table is saturated: place_10 holds it for ",
        "hold it shorter there:",
    );
}

#[test]
fn sleeps_much_longer_than_holds_are_a_convoy() {
    let finding = first_finding([(mutex(10), used(20_000, 200, 12_000, 60 * US))]);
    assert_finding(
        &finding,
        Cause::Convoy,
        "A convoy forms at table: 60.0 % of the attempts sleep",
        "lock it less often",
    );
    assert_eq!(finding.next.command.as_deref(), Some("unspin prove --mutex adaptive@table -- server"));
}

#[test]
fn overlapping_readers_starve_a_writer() {
    let readers = Counts {
        nowait: 4_000,
        timed: 4_000,
        hold: 4_000 * MS,
        hold_max: MS,
        busy: 1_800 * MS,
        busy_max: 900 * MS,
        periods: 4,
        ..Counts::default()
    };
    let finding = first_finding([
        (Key::new(RecordKind::Read, 1, 20), recorded(readers, MS, MS)),
        (Key::new(RecordKind::Write, 1, 21), used(4, US, 4, 400 * MS)),
    ]);
    assert_finding(
        &finding,
        Cause::StarvedWriter,
        "Writers of table starve: readers hold it for 90.0 % of the time and overlap, so a writer waits 400ms on average",
        "let writers go first",
    );
    let command = "unspin prove --rwlock rw-writer@table -- server";
    assert_eq!(finding.next.command.as_deref(), Some(command));
}

/// Three threads hold a lock for 4 s, but run for 1 s: some readers wait with it.
#[test]
fn readers_that_hold_a_lock_across_a_wait_are_named() {
    let readers = Counts {
        nowait: 40,
        timed: 40,
        hold: 4_000 * MS,
        hold_max: 300 * MS,
        busy: 1_900 * MS,
        busy_max: 900 * MS,
        periods: 4,
        ..Counts::default()
    };
    let finding = first_finding([
        (Key::new(RecordKind::Read, 1, 20), recorded(readers, 100 * MS, MS)),
        (Key::new(RecordKind::Write, 1, 21), used(20, US, 20, 60 * MS)),
    ]);
    assert_finding(
        &finding,
        Cause::SleepingReaders,
        "Readers of table sleep while they hold it: they hold it for 4.00s altogether, and for 75.0 % of that or more they \
         neither ran nor waited for a CPU. Most of it is held by place_20, for 100ms on average and 300ms at most.",
        "release it there before the thread reads, sends, sleeps or waits",
    );
    assert_eq!(finding.next.command, None, "no kind of lock helps");
}

/// Readers that enter and leave `acquired` times in two seconds, `overlap` of them together, for 100 ns each.
fn busy_readers(acquired: u64, overlap: f64) -> (Key, Record) {
    let hold = acquired * 100;
    let counts = Counts {
        nowait: acquired,
        timed: acquired,
        hold,
        hold_max: 40 * US,
        busy: (hold as f64 / overlap) as u64,
        busy_max: 80 * US,
        periods: acquired / 3,
        ..Counts::default()
    };
    (Key::new(RecordKind::Read, 1, 20), recorded(counts, 100, 0))
}

#[test]
fn readers_that_fight_for_the_cache_line_are_named_though_no_thread_waits() {
    let writes = (Key::new(RecordKind::Write, 1, 21), used(8, US, 0, 0));
    let finding = first_finding([busy_readers(8_000_000, 1.6), writes]);
    assert_finding(
        &finding,
        Cause::ContendedReaders,
        "Readers of table fight for the cache line of its counter: 8.00 million times a second one of the program's 3 threads \
         acquires or releases it",
        "try a kind whose readers write to no line that they share",
    );
    assert!(finding.text.contains("the holds overlap, and last 100ns on average"), "{finding:?}");
    let command = "unspin prove --rwlock rw-biased@table -- server";
    assert_eq!(finding.next.command.as_deref(), Some(command));
}

/// The rate is that of one lock.
#[test]
fn rate_of_several_locks_of_one_name_is_said_to_be_that_of_each() {
    let one = |address| {
        let (_, record) = busy_readers(8_000_000, 1.6);
        (Key::new(RecordKind::Read, address, 20), record)
    };
    let finding = first_finding([one(3), one(4)]);
    let said = "fight for the cache lines of their counters: 8.00 million times a second one of the program's 3 threads acquires \
                or releases each of the 2 locks, none of them for writing, and writes to its line;";
    assert!(finding.text.contains(said), "{finding:?}");
}

#[test]
fn kind_for_readers_of_a_shared_lock_is_not_proposed() {
    let shared = (Key::new(RecordKind::SharedRwLock, 1, 10), used(1, US, 0, 0));
    let finding = first_finding([busy_readers(8_000_000, 1.6), shared]);
    assert_eq!((finding.cause, finding.next.command), (Cause::ContendedReaders, None));
    assert!(finding.next.text.ends_with(" unspin replaces no process-shared read-write locks."));
}

#[test]
fn readers_of_a_biased_lock_do_not_fight() {
    for plan in ["rw-biased", "rw-biased@table", "rw-biased@table in /opt/libtable.so"] {
        assert_eq!(findings_under(&[plan], [busy_readers(8_000_000, 1.6)]), [], "{plan}");
    }
    for plan in ["rw-writer", "rw-biased@other", "spin adaptive"] {
        let findings = findings_under(&[plan], [busy_readers(8_000_000, 1.6)]);
        assert_eq!(findings[0].cause, Cause::ContendedReaders, "{plan}");
    }
    let findings = findings_under(&["rw-biased", "rw-fair@table"], [busy_readers(8_000_000, 1.6)]);
    assert_eq!(findings[0].cause, Cause::ContendedReaders, "the lock's own entry comes first");
}

#[test]
fn kind_that_a_lock_has_is_not_suggested() {
    let contended = used(40_000, 20 * US, 8_000, 60 * US);
    let cases = [
        (RecordKind::Mutex, "adaptive", "fair"),
        (RecordKind::Spin, "spin adaptive@table", "adaptive@table"),
        (RecordKind::Write, "rw-writer", "rw-fair"),
    ];
    for (kind, same, other) in cases {
        let finding = |plan| findings_under(&[plan], [(Key::new(kind, 1, 10), contended)]).swap_remove(0);
        let (same, other) = (finding(same), finding(other));
        assert_eq!(same.next.command, None, "{same:?}");
        assert!(same.next.text.contains("In this run its kind was `"), "{same:?}");
        assert!(other.next.command.is_some(), "{other:?}");
    }
}

/// Which of two kinds helps is not told by the figures, so the command tries both, or the one that the lock does not have.
#[test]
fn both_kinds_that_could_help_are_tried() {
    let reads = (Key::new(RecordKind::Read, 1, 20), used(40_000, 20 * US, 8_000, 60 * US));
    let writes = (Key::new(RecordKind::Write, 1, 21), used(400, 20 * US, 80, 60 * US));
    for (plan, kinds, said) in [
        ("spin adaptive", "rw-biased@table,rw-writer@table", ""),
        (
            "rw-writer",
            "rw-biased@table",
            " In this run its kind was `rw-writer`, which is one to try for this cause.",
        ),
    ] {
        let finding = findings_under(&[plan], [reads, writes]).swap_remove(0);
        let command = format!("unspin prove --rwlock {kinds} -- server");
        assert_eq!(finding.next.command, Some(command), "{finding:?}");
        assert!(finding.next.text.ends_with(said), "{finding:?}");
    }
}

/// One thread at a time; few acquisitions; many writes, for each of which such a kind pays.
#[test]
fn readers_that_do_not_fight_are_not_named() {
    let writes = |acquired| (Key::new(RecordKind::Write, 1, 21), used(acquired, 100, 0, 0));
    for (reads, acquired) in [
        (busy_readers(8_000_000, 1.0), 8),
        (busy_readers(400_000, 1.6), 8),
        (busy_readers(8_000_000, 1.6), 400_000),
    ] {
        assert_eq!(findings([reads, writes(acquired)]), []);
    }
}

#[test]
fn read_write_lock_that_is_mostly_written_is_named() {
    let finding = first_finding([
        (Key::new(RecordKind::Read, 1, 20), used(1_000, US, 0, 0)),
        (Key::new(RecordKind::Write, 1, 21), used(90_000, US, 20_000, 10 * US)),
    ]);
    assert_finding(
        &finding,
        Cause::MostlyWritten,
        "table is a read-write lock that is mostly written: 98.9 %",
        "use a mutex:",
    );
    let command = "unspin prove --rwlock rw-writer@table -- server";
    assert_eq!(finding.next.command.as_deref(), Some(command));
}

#[test]
fn spin_lock_that_threads_wait_for_has_a_command() {
    let finding = first_finding([(Key::new(RecordKind::Spin, 1, 10), used(40_000, 20 * US, 8_000, 60 * US))]);
    assert_eq!(finding.cause, Cause::Contended, "{finding:?}");
    assert_eq!(finding.next.command.as_deref(), Some("unspin prove --spin adaptive@table -- server"));
}

#[test]
fn waits_behind_threads_of_lower_priority_are_an_inversion() {
    let inverted = Counts { slept: 90, sleep: 360 * MS, sleep_max: 9 * MS, ..Counts::default() };
    let finding = first_finding([
        (mutex(10), used(1_000, 20 * US, 100, 4 * MS)),
        (Key::new(RecordKind::Inverted, 1, 10), recorded(inverted, 0, 0)),
    ]);
    assert_finding(
        &finding,
        Cause::PriorityInversion,
        "Priority inversion: threads waited for table while a thread of lower priority held it, 360ms of the 400ms",
        "give the threads that share it one priority",
    );
    assert_eq!(finding.next.command.as_deref(), Some("unspin prove --mutex pi@table -- server"));
}

#[test]
fn broadcasts_that_wake_threads_in_vain_are_a_storm() {
    let condition = |kind, caller| Key::new(kind, 2, caller);
    let waits = Counts { slept: 8_000, sleep: 5_000 * MS, sleep_max: MS, wait_max: MS, ..Counts::default() };
    let broadcasts = Counts { slept: 1_000, ..Counts::default() };
    let woken = Counts { nowait: 1_000, rejected: 7_000, ..Counts::default() };
    let finding = first_finding([
        (condition(RecordKind::Condition, 12), recorded(waits, 0, MS / 2)),
        (condition(RecordKind::Broadcast, 30), recorded(broadcasts, 0, 0)),
        (condition(RecordKind::WokenByBroadcast, 12), recorded(woken, 0, 0)),
    ]);
    assert_finding(
        &finding,
        Cause::BroadcastStorm,
        "Broadcasts for the condition filled wake ",
        "wake one thread only (pthread_cond_signal, notify_one) instead of all.",
    );
}

/// Level `auto` has chosen some holds at random.
#[test]
fn estimated_holds_tell_no_cause() {
    for mut record in [used(360_000, 5 * US, 100_000, 10 * US), used(400, 2 * MS, 390, 4 * MS)] {
        record.counts.implied = 15;
        let finding = first_finding([(mutex(10), record)]);
        assert_finding(&finding, Cause::Contended, "Threads wait for table: ", "meter it at `--level full`");
    }
}

/// None of the causes: holds of medium length that some attempts meet.
#[test]
fn a_lock_without_a_cause_is_contended() {
    let finding = first_finding([(mutex(10), used(40_000, 20 * US, 8_000, 60 * US))]);
    assert_finding(
        &finding,
        Cause::Contended,
        "Threads wait for table: 20.0 % of the attempts",
        "hold it shorter (place_10",
    );
}
