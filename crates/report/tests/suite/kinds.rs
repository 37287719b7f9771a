//! The report of a program that uses everything: mutexes with conditions, locks for reading and writing, waits; folded and
//! not, filtered, at each level, and in all forms.

use unspin_report::{
    Filter, Fold, Layout, Lock, LockProperty, MeterReport, Name, ReportOptions, ThreadTimes, Wait,
};
use unspin_wire::{
    Counts, Event, FirstUse, Histogram, Image, Invocation, Key, Level, Record, RecordKind, Snapshot, Thread,
    TimeKind, Unrecorded, Window,
};

const MS: u64 = 1_000_000;

fn counts(nowait: u64, spun: u64, slept: u64, wait_ms: u64) -> Counts {
    let each = |n: u64| (wait_ms * MS * n).checked_div(spun + slept).unwrap_or(0);
    Counts {
        nowait,
        spun,
        slept,
        timed: nowait + spun + slept,
        hold: (nowait + spun + slept) * 2_000,
        hold_max: 40_000,
        spin: each(spun),
        spin_max: each(spun) / spun.max(1),
        sleep: each(slept),
        sleep_max: each(slept) / slept.max(1),
        wait_max: if spun + slept == 0 { 0 } else { 40 * MS },
        ..Counts::default()
    }
}

fn record(counts: Counts) -> Record {
    let of = |of: TimeKind, bucket: usize, n: u64| {
        let mut all = [0; 22];
        all[bucket] = n;
        Histogram::new(of, all)
    };
    Record {
        first_use: FirstUse { ticks: 5 * MS, generation: 1 },
        holds: of(TimeKind::Holds, 6, counts.timed),
        waits: of(TimeKind::Waits, 12, counts.waiters()),
        counts,
        ..Record::default()
    }
}

/// A server and its child. Addresses: 1 and 2 queues, 3 a cache, 4 a log, 5 a condition, 6 a barrier, 7 a semaphore.
fn snapshot() -> Snapshot {
    let key = |kind, address, caller| Key::new(kind, address, caller);
    let read =
        |counts: Counts| Counts { busy: counts.hold / 2, busy_max: 90_000, periods: counts.nowait, ..counts };
    let rows = [
        (key(RecordKind::Mutex, 1, 10), counts(9_000, 600, 400, 800)),
        (key(RecordKind::Mutex, 1, 11), counts(5_000, 0, 100, 90)),
        (key(RecordKind::Reacquired, 1, 12), counts(300, 0, 200, 150)),
        (key(RecordKind::Mutex, 2, 10), counts(1_000, 0, 0, 0)),
        (key(RecordKind::Read, 3, 20), read(counts(50_000, 0, 30, 60))),
        (key(RecordKind::Read, 3, 21), read(counts(8_000, 0, 0, 0))),
        (key(RecordKind::Write, 3, 22), counts(200, 0, 40, 110)),
        (key(RecordKind::Spin, 4, 30), Counts { rejected: 50, ..counts(700, 20, 0, 1) }),
        (
            key(RecordKind::Condition, 5, 12),
            Counts { hold: 0, timed: 0, hold_max: 0, ..counts(0, 0, 500, 1_200) },
        ),
        (
            key(RecordKind::Condition, 5, 13),
            Counts { hold: 0, timed: 0, rejected: 7, gave_up: 7, ..counts(0, 0, 0, 0) },
        ),
        (key(RecordKind::Barrier, 6, 14), Counts { hold: 0, timed: 0, ..counts(10, 0, 30, 400) }),
        (key(RecordKind::Semaphore, 7, 15), Counts { hold: 0, timed: 0, ..counts(900, 0, 100, 300) }),
        (key(RecordKind::Init, 1, 40), counts(1, 0, 0, 0)),
    ];
    let thread = |tid: u32, ms: u64, cpu_ms: u64| Thread {
        tid,
        lived: ms * MS,
        on_cpu: cpu_ms * MS,
        runnable: 10 * MS,
        holds: Vec::new(),
        tokens: Vec::new(),
        waits: None,
        wait_may_time_out: false,
    };
    let server = Image {
        pid: 100,
        parent: 1,
        command: vec!["server".into(), "--threads=2".into()],
        rows: rows.into_iter().map(|(key, counts)| (key, record(counts))).collect(),
        threads: vec![thread(0, 2_000, 300), thread(0, 1_900, 500)],
        ..Image::default()
    };
    let child = Image {
        pid: 101,
        parent: 100,
        since: 700 * MS,
        command: vec!["server".into()],
        rows: [(key(RecordKind::Mutex, 1, 10), record(counts(10, 0, 0, 0)))].into(),
        threads: vec![Thread {
            holds: vec![(key(RecordKind::Mutex, 1, 10), 900 * MS)],
            ..thread(101, 500, 0)
        }],
        events: [0, 0, 0, 0, 3, 2, 1, 0, 0],
        ..Image::default()
    };
    Snapshot {
        window: Window { seconds: 2.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: Some(1.5) },
        started: 1_700_000_000_000_000_000,
        level: Level::Full,
        wake_up: None,
        disturbance: None,
        invocation: Invocation::default(),
        images: vec![server, child],
        unrecorded: Unrecorded::default(),
    }
}

fn names(_: &Image, key: &Key) -> Option<Name> {
    let (lock, origin) = match key.address() {
        1 | 2 => ("queue::mutex", Some("initialised at queue.cc:57")),
        3 => ("cache_lock", Some("static, cache.c:31")),
        4 => ("log_lock", None),
        5 => ("queue::filled", Some("initialised at queue.cc:58")),
        6 => ("start barrier", None),
        7 => ("slots", None),
        _ => return None,
    };
    let (caller, place) = match key.caller {
        10 => ("queue::push+0x1c", Some("queue.cc:101")),
        11 => ("a_namespace_with_a_long_name::queue::drain+0x2f4", Some("queue.cc:240")),
        12 => ("queue::pop+0x88", Some("queue.cc:130")),
        13 => ("queue::poll+0x40", None),
        20 => ("lookup+0x31", Some("cache.c:77")),
        21 => ("contains+0x12", Some("cache.c:90")),
        22 => ("insert+0x55", Some("cache.c:120")),
        30 => ("log_line+0x9", None),
        other => {
            return Some(Name { lock: lock.into(), caller: format!("caller_{other}"), ..Name::default() });
        }
    };
    Some(Name {
        lock: lock.into(),
        origin: origin.map(Into::into),
        caller: caller.into(),
        place: place.map(Into::into),
    })
}

const ALIVE: [ThreadTimes; 1] = [ThreadTimes { pid: 101, tid: 101, on_cpu: 20 * MS, runnable: 0 }];

fn report() -> MeterReport {
    MeterReport::with(&snapshot(), &names, ReportOptions { threads: &ALIVE, ..ReportOptions::default() })
}

/// `UNSPIN_BLESS=1` writes the output to the expected files; review it before committing.
fn agreed(printed: &str, file: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
    if std::env::var_os("UNSPIN_BLESS").is_some() {
        std::fs::write(&path, printed).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    assert!(printed == expected, "printed:\n{printed}\nexpected:\n{expected}");
}

#[test]
fn text_matches_the_stored_example() {
    agreed(&report().to_string(), "kinds.txt");
}

#[test]
fn the_layout_of_2001_has_three_sections() {
    agreed(&report().lockmeter(), "kinds.lockmeter.txt");
}

#[test]
fn text_at_other_levels() {
    let mut text = String::new();
    for level in [Level::Counts, Level::SAMPLED] {
        let mut snapshot = snapshot();
        snapshot.level = level;
        for record in snapshot.images.iter_mut().flat_map(|image| image.rows.values_mut()) {
            let Counts { nowait, spun, slept, rejected, timed, hold, .. } = record.counts;
            record.counts = match level {
                Level::Counts => Counts { nowait, spun, slept, rejected, ..Counts::default() },
                _ => Counts { timed: timed / 16, hold: hold / 16, ..record.counts },
            };
        }
        let report = MeterReport::new(&snapshot, &names);
        text += &format!("{report}\n");
    }
    agreed(&text, "kinds.levels.txt");
}

#[test]
fn head_says_how_many_threads_level_auto_sampled() {
    let mut snapshot = snapshot();
    snapshot.level = Level::Auto;
    let text = |snapshot: &Snapshot| MeterReport::new(snapshot, &names).to_string();
    assert!(!text(&snapshot).contains("holds timed"), "all holds were timed");
    for (image, expected) in [
        (0, "1 of 16 holds of frequent locks timed in 1 thread:"),
        (1, "timed in 2 threads: their HOLD, UTIL"),
    ] {
        snapshot.images[image].events[Event::Sampled as usize] = 1;
        let text = text(&snapshot);
        let head = text.lines().next().unwrap();
        assert!(head.contains(expected), "{head}");
    }
    assert_eq!(MeterReport::new(&snapshot, &names).sampled_threads(), 2);
}

#[test]
fn lock_is_the_sum_of_its_uses() {
    let report = report();
    let cache = report.lock("cache_lock").unwrap();
    let kinds: Vec<RecordKind> = cache.uses.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [RecordKind::Read, RecordKind::Write]);
    assert_eq!(cache.row.attempts, cache.uses.iter().map(|one| one.row.attempts).sum::<u64>());
    let (reads, writes) = (cache.use_as(RecordKind::Read).unwrap(), cache.use_as(RecordKind::Write).unwrap());
    // Busy for half of the readers' holds; a lock is used by readers or by a writer.
    assert!((reads.row.util - reads.row.hold / 2.0 / 2.0).abs() < 1e-12);
    assert!((cache.row.util - reads.row.util - writes.row.util).abs() < 1e-12);
    assert!((cache.row.lost - 0.170).abs() < 1e-9 && reads.busy_max == 90e-6);
    assert_eq!(cache.holds.count(), cache.row.timed);

    let queue = report.lock("queue::mutex").unwrap();
    assert_eq!((queue.locks, queue.address), (3, None), "two of the server, one of its child");
    assert_eq!(queue.use_as(RecordKind::Reacquired).unwrap().row.attempts, 500);
    assert!(report.locks.is_sorted_by(|a, b| a.row.lost >= b.row.lost));
    assert!(report.locks.iter().all(|lock| lock.row.name != "caller_40"), "to initialise is not to use");
}

#[test]
fn waits_are_sorted_by_time_and_not_in_lost() {
    let report = report();
    let waits: Vec<(&str, u64)> =
        report.waits.iter().map(|wait| (wait.row.name.as_str(), wait.row.calls)).collect();
    assert_eq!(waits, [("queue::filled", 507), ("start barrier", 40), ("slots", 1000)]);
    let [filled, _, slots] = &report.waits[..] else { panic!() };
    assert_eq!((filled.row.satisfied, filled.row.gave_up, slots.row.nowait), (500, 7, 900));
    assert!((slots.row.mean - 0.003).abs() < 1e-9 && (report.blocked.by_design - 1.9).abs() < 1e-9);
    assert!((report.total.lost - 1.211).abs() < 1e-9, "{}", report.total.lost);
}

#[test]
fn held_and_unrecorded_locks_are_stated() {
    let report = report();
    let [held] = &report.held[..] else { panic!("{:?}", report.held) };
    assert_eq!((held.pid, held.tid, held.lock.as_str(), held.since), (101, 101, "queue::mutex", Some(0.9)));
    let blocked = report.blocked;
    assert_eq!((blocked.threads, blocked.unknown), (3, 0));
    // Lived 4.4 s, on a CPU for 0.82, runnable for 0.03.
    assert!((blocked.blocked - 3.55).abs() < 1e-9, "{blocked:?}");
    let explained = report.total.sleep + 1.9;
    assert!((blocked.unexplained().unwrap() - (3.58 - explained)).abs() < 1e-9);

    let ignorant = MeterReport::new(&snapshot(), &names);
    assert_eq!((ignorant.blocked.unknown, ignorant.blocked.unexplained()), (1, None));
    assert!(ignorant.to_string().contains("of 1 of 3 threads"), "{ignorant}");
}

#[test]
fn locks_of_one_name_can_be_kept_apart() {
    let options = ReportOptions { fold: Fold::Apart, ..ReportOptions::default() };
    let report = MeterReport::with(&snapshot(), &names, options);
    let queues: Vec<_> = report.locks.iter().filter(|lock| lock.row.name == "queue::mutex").collect();
    assert_eq!(queues.len(), 3);
    let addresses: Vec<_> = queues.iter().map(|lock| lock.address.map(|a| (a.pid, a.address))).collect();
    assert_eq!(addresses, [Some((100, 1)), Some((100, 2)), Some((101, 1))]);
    assert_eq!(report.total, MeterReport::new(&snapshot(), &names).total);
    let text = report.text(&Layout::all(200));
    assert!(text.contains("queue::mutex 0x2 of 100, initialised at queue.cc:57"), "{text}");
}

#[test]
fn filters_keep_the_total_and_state_what_they_remove() {
    let whole = report();
    let mut report = whole.clone();
    report.filter(&Filter { min_lost: 0.1, ..Filter::default() });
    assert_eq!((report.locks.len(), report.left_out.locks, report.left_out.waits), (2, 1, 0));
    assert_eq!(report.total, whole.total);
    assert!(
        report.to_string().contains("Left out by the filters: 1 lock, which lost 0.08 %. TOTAL"),
        "{report}"
    );

    let mut report = whole.clone();
    report.filter(&Filter { caller: Some(&|name| name.contains("push")), ..Filter::default() });
    let [queue] = &report.locks[..] else { panic!() };
    assert_eq!(queue.callers().count(), 1);
    assert_eq!(queue.row, whole.lock("queue::mutex").unwrap().row);
    assert_eq!((report.left_out.locks, report.left_out.waits, report.left_out.callers), (2, 3, 2));

    let mut report = whole.clone();
    report.filter(&Filter { lock: Some(&|name| name == "cache_lock"), ..Filter::default() });
    assert_eq!((report.locks.len(), report.waits.len()), (1, 0));
    let mut report = whole.clone();
    report.filter(&Filter { min_con: 0.05, ..Filter::default() });
    assert_eq!(
        report.locks.iter().map(|l| l.row.name.as_str()).collect::<Vec<_>>(),
        ["queue::mutex", "log_lock"]
    );
    let mut report = whole.clone();
    report.filter(&Filter { min_util: 0.02, ..Filter::default() });
    assert_eq!(report.locks.iter().map(|l| l.row.name.as_str()).collect::<Vec<_>>(), ["cache_lock"]);
    report.filter(&Filter { lock: Some(&|_| false), ..Filter::default() });
    assert!(report.to_string().contains("No lock is left."), "{report}");
}

#[test]
fn three_hundred_locks_keep_the_table_short() {
    let window = Window { seconds: 1.0, cpus: 4, ticks_per_second: 1e9, cpu_seconds: None };
    let rows = (1..=300).flat_map(|lock| {
        (0..20).map(move |caller| {
            (Key::new(RecordKind::Mutex, lock, caller), counts(100, 0, 1, 300 / lock as u64))
        })
    });
    let report = MeterReport::new(&Snapshot::of_rows(window, rows), &|_, _| None);
    let text = report.to_string();
    assert!(text.lines().count() < 250 && text.contains("and 280 more, which lost"), "{text}");
    assert!(text.contains("and 12 more\n"), "callers: {text}");
    let all = report.text(&Layout::all(120));
    assert!(all.lines().count() > 6000 && !all.contains(" more"));
}

#[test]
fn each_line_fits_and_wide_layouts_state_the_origin() {
    let report = report();
    for width in [110, 120, 170, 250] {
        let text = report.text(&Layout { width, ..Layout::default() });
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        let where_it_is = text.contains("%    queue::push+0x1c  queue.cc:101");
        assert_eq!(where_it_is, width >= 170, "{text}");
        assert_eq!(text.contains("%    (writes) insert+0x55  cache.c:120\n"), width >= 170, "{text}");
        // Names that do not fit beside the numbers are printed above them.
        assert!(text.contains("a_namespace_with_a_long_name::queue::drain+0x2f4  queue.cc:240"), "{text}");
    }
}

#[test]
fn json_holds_everything() {
    let report = report();
    let text = serde_json::to_string_pretty(&report).unwrap();
    assert_eq!(serde_json::from_str::<MeterReport>(&text).unwrap(), report);
    for level in [Level::Counts, Level::SAMPLED, Level::Full, Level::Auto] {
        let report = MeterReport { level, ..report.clone() };
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<MeterReport>(&text).unwrap(), report);
    }
    assert!(report.events.iter().any(|count| count.event == Event::Unmatched && count.count == 2));
}

/// The command of the finding about the queues, after a change of their row.
fn advised(change: impl Fn(&mut Lock)) -> (Option<String>, String) {
    let mut report = report();
    report.locks.iter_mut().filter(|lock| lock.row.name == "queue::mutex").for_each(change);
    let finding = report.findings().into_iter().find(|finding| finding.name == "queue::mutex").unwrap();
    (finding.next.command, finding.next.text)
}

#[test]
fn suggested_command_names_the_file_of_a_lock_in_another_program() {
    let (command, _) = advised(|_| ());
    assert_eq!(command.as_deref(), Some("unspin prove --mutex adaptive@queue::mutex -- CMD"));
    let (command, _) = advised(|lock| lock.module = Some("/opt/queue".into()));
    let expected = "unspin prove --mutex 'adaptive@queue::mutex in /opt/queue' -- CMD";
    assert_eq!(command.as_deref(), Some(expected));
}

#[test]
fn mutex_that_stays_libcs_is_not_proposed_for_replacement() {
    let kept = |property| advised(|lock| lock.property = Some(property));
    let (command, next) = kept(LockProperty::Shared);
    assert_eq!(command, None);
    assert!(next.ends_with(" unspin replaces no process-shared mutexes."), "{next}");
    assert_eq!(kept(LockProperty::Robust).0, None);
    let (command, _) = kept(LockProperty::Inheriting);
    assert_eq!(command.as_deref(), Some("unspin prove --mutex rt-adaptive@queue::mutex -- CMD"));
}

#[test]
fn read_write_lock_that_stays_libcs_is_not_proposed_for_replacement() {
    let mut snapshot = snapshot();
    let cache = |report: &MeterReport| report.lock("cache_lock").unwrap().clone();
    assert_eq!(cache(&MeterReport::new(&snapshot, &names)).property, None);
    let rows = &mut snapshot.images[0].rows;
    rows.insert(Key::new(RecordKind::SharedRwLock, 3, 20), record(counts(1, 0, 0, 0)));
    let report = MeterReport::new(&snapshot, &names);
    assert_eq!(cache(&report).property, Some(LockProperty::Shared));
    assert_eq!(report.lock("queue::mutex").unwrap().property, None);
    let finding = report.findings().into_iter().find(|finding| finding.name == "cache_lock").unwrap();
    assert_eq!(finding.next.command, None);
    let why = " unspin replaces no process-shared read-write locks.";
    assert!(finding.next.text.ends_with(why), "{finding:?}");
}

#[test]
fn properties_of_a_mutex_belong_to_its_row() {
    let mut snapshot = snapshot();
    let rows = &mut snapshot.images[0].rows;
    for kind in [RecordKind::Inheriting, RecordKind::Shared] {
        rows.insert(Key::new(kind, 1, 10), record(counts(3, 0, 0, 0)));
    }
    let changed = MeterReport::new(&snapshot, &names);
    let (queue, cache) = (changed.lock("queue::mutex").unwrap(), changed.lock("cache_lock").unwrap());
    assert_eq!((queue.property, cache.property), (Some(LockProperty::Shared), None));
    let unchanged = report().lock("queue::mutex").unwrap().locks;
    assert_eq!((queue.locks, unchanged), (2, 3), "the child shares one with its parent");
    assert_eq!(queue.row.attempts, report().lock("queue::mutex").unwrap().row.attempts);
}

/// Of two objects with one name, the threads use the first as a lock, and wait for work at the second.
fn lock_and_queue(kind: RecordKind) -> MeterReport {
    let key = |kind, address, caller| Key::new(kind, address, caller);
    let queue = Counts { hold: 0, timed: 0, ..counts(0, 0, 100, 300) };
    let woken = |nowait| Counts { nowait, ..Counts::default() };
    let mut rows = vec![(key(kind, 50, 10), counts(0, 0, 40, 80)), (key(kind, 51, 10), queue)];
    if kind == RecordKind::Condition {
        rows.push((key(RecordKind::WokenBySignal, 50, 10), woken(40)));
        rows.push((key(RecordKind::WokenBySignal, 51, 10), woken(100)));
    }
    let rows = rows.into_iter().map(|(key, counts)| (key, record(counts))).collect();
    let images = vec![Image { pid: 100, rows, ..Image::default() }];
    let names = |_: &Image, _: &Key| Some(Name { lock: "made".into(), ..Name::default() });
    MeterReport::new(&Snapshot { images, ..snapshot() }, &names)
}

#[test]
fn rows_of_objects_of_one_name_add_up_where_some_are_used_as_locks() {
    for kind in [RecordKind::Semaphore, RecordKind::Condition] {
        let report = lock_and_queue(kind);
        let [lock] = &report.locks[..] else { panic!("{:?}", report.locks) };
        let shown: Vec<_> = report.waits.iter().filter(|wait| !wait.used_as_lock).collect();
        let [wait] = shown[..] else { panic!("{:?}", report.waits) };
        assert_eq!((lock.locks, lock.row.slept), (1, 40), "{kind:?}");
        assert_eq!((wait.objects, wait.row.waits), (1, 100), "{kind:?}");
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(lock.row.lost + wait.row.waited, 0.380), "{kind:?}: the sum of the recording");
        assert!(near(report.blocked.for_locks + report.blocked.by_design, 0.380), "{:?}", report.blocked);
        let woken = |wait: &Wait| wait.wakes.as_ref().map(|wakes| wakes.by_signal.woken);
        let of_lock = report.waits.iter().find(|wait| wait.used_as_lock).and_then(woken);
        let expected = (kind == RecordKind::Condition).then_some((100, 40));
        assert_eq!(woken(wait).zip(of_lock), expected, "each has its own wake-ups");
        assert!(report.to_string().contains("made ["), "{report}");
    }
}
