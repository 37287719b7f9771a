//! Waits of all kinds in the report: folded by call site, compared with what a wake-up costs, printed.

use proptest::prelude::*;
use unspin_report::{Blocked, Filter, Fold, Layout, MeterReport, Name, ReportOptions, Wait};
use unspin_wire::{
    ANY_DESCRIPTOR, AttemptOutcome, Class, Config, Counts, Histogram, Image, Invocation, Key, Level, Record,
    RecordKind, Recording, Sample, Snapshot, Thread, TimeKind, WakeUpCost, Window,
};

const SECOND: u64 = 1_000_000_000;
const US: u64 = 1_000;
const COST: WakeUpCost = WakeUpCost { futex_ns: 45_000, epoll_ns: 48_000 };

/// Two seconds on two CPUs. A tick is a nanosecond.
const WINDOW: Window = Window { seconds: 2.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: None };

/// Waits that ended asleep, so many of each length in ticks.
fn slept(lengths: &[(u64, u64)]) -> Record {
    let mut record = Record::default();
    let mut waits = [0; 22];
    for &(n, ticks) in lengths {
        let range = |bucket: &usize| Histogram::new(TimeKind::Waits, [0; 22]).ticks(*bucket).contains(&ticks);
        waits[(0..22).find(range).unwrap()] += n;
        record.counts.slept += n;
        record.counts.sleep += n * ticks;
        record.counts.wait_max = record.counts.wait_max.max(ticks);
    }
    record.waits = Histogram::new(TimeKind::Waits, waits);
    record
}

fn call_site(kind: RecordKind, caller: usize) -> Key {
    Key::new(kind, ANY_DESCRIPTOR, caller)
}

fn image(pid: u32, rows: &[(Key, Record)]) -> Image {
    let command = vec!["node".into(), "bench.js".into()];
    Image { pid, command, rows: rows.iter().copied().collect(), ..Image::default() }
}

fn snapshot(images: Vec<Image>) -> Snapshot {
    Snapshot { images, wake_up: Some(COST), ..Snapshot::of_rows(WINDOW, []) }
}

/// Functions by their callers' addresses; a name of its own for each address of a condition and a futex below 100.
fn names(_: &Image, key: &Key) -> Option<Name> {
    let (function, line) = match key.caller {
        10 => ("uv__io_poll", "linux.c:1405"),
        11 => ("uv__io_poll", "linux.c:1488"),
        // Another call on that line.
        12 => ("uv__io_poll", "linux.c:1405"),
        20 => ("uv__async_io", "async.c:150"),
        30 => ("ThreadPool::stop", "pool.cc:88"),
        40 => ("worker_main", "main.rs:12"),
        50 => ("semop_loop", "sem.c:7"),
        _ => return None,
    };
    let caller = format!("{function}+{:#x}", key.caller);
    let (lock, origin) = match (key.kind()?, key.address()) {
        (RecordKind::Condition, address) => (format!("cond_{address}"), "static, cond.c:1"),
        (RecordKind::Futex, address @ ..100) => (format!("STATE_{address}"), "static, main.rs:3"),
        _ => (caller.clone(), line),
    };
    Some(Name { lock, origin: Some(origin.into()), caller, place: Some(line.into()) })
}

fn report(images: Vec<Image>) -> MeterReport {
    MeterReport::new(&snapshot(images), &names)
}

fn one(kind: RecordKind, record: Record) -> Wait {
    let mut waits = report(vec![image(7, &[(call_site(kind, 10), record)])]).waits;
    assert_eq!(waits.len(), 1);
    waits.remove(0)
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

/// A program of two threads that answer each other through an event loop, one of which also waits for a pool of idle workers.
fn event_loop() -> Vec<Image> {
    vec![image(
        7,
        &[
            (call_site(RecordKind::Epoll, 10), slept(&[(20_000, 48 * US), (3, 300_000 * US)])),
            (call_site(RecordKind::Receive, 20), {
                let mut record = slept(&[(10_000, 30 * US)]);
                (record.counts.nowait, record.counts.rejected) = (500, 12);
                record
            }),
            (call_site(RecordKind::Join, 30), slept(&[(4, SECOND / 2)])),
            (Key::new(RecordKind::Futex, 0x7F00_1000, 40), slept(&[(9_000, 20 * US)])),
            (Key::new(RecordKind::Futex, 0x7F00_2000, 40), slept(&[(1_000, 20 * US)])),
            (Key::new(RecordKind::Futex, 8, 40), slept(&[(10, 20 * US)])),
            (Key::new(RecordKind::Condition, 5, 40), slept(&[(3, SECOND)])),
        ],
    )]
}

#[test]
fn rows_of_one_call_site_form_one_wait() {
    let record = slept(&[(100, 50 * US)]);
    let first =
        image(7, &[(call_site(RecordKind::Epoll, 10), record), (call_site(RecordKind::Epoll, 11), record)]);
    let same_line = (call_site(RecordKind::Epoll, 12), record);
    let other_kind = (call_site(RecordKind::Poll, 10), record);
    let second = image(8, &[(call_site(RecordKind::Epoll, 10), record), same_line, other_kind]);
    let report = report(vec![first, second]);
    let seen: Vec<_> = report
        .waits
        .iter()
        .map(|wait| (wait.kind, wait.row.name.as_str(), wait.row.calls, wait.objects, wait.callers.len()))
        .collect();
    assert_eq!(
        seen,
        [
            // Two processes.
            (RecordKind::Epoll, "uv__io_poll+0xa", 200, 1, 1),
            (RecordKind::Poll, "uv__io_poll+0xa", 100, 1, 1),
            (RecordKind::Epoll, "uv__io_poll+0xb", 100, 1, 1),
            // Another call on the line of the first.
            (RecordKind::Epoll, "uv__io_poll+0xc", 100, 1, 1),
        ]
    );
    assert!(report.waits.iter().all(|wait| wait.address.is_none()));
    assert_eq!(
        report.waits[0].row.short,
        report.waits[0].callers.iter().map(|caller| caller.row.short).sum::<u64>()
    );
}

#[test]
fn call_sites_kept_apart_are_those_of_each_process() {
    let record = slept(&[(100, 50 * US)]);
    let rows = [(call_site(RecordKind::Epoll, 10), record), (call_site(RecordKind::Epoll, 12), record)];
    let snapshot = snapshot(vec![image(7, &rows), image(8, &rows)]);
    let report =
        MeterReport::with(&snapshot, &names, ReportOptions { fold: Fold::Apart, ..ReportOptions::default() });
    assert_eq!(report.waits.len(), 4);
}

#[test]
fn futexes_are_known_by_their_variable_or_their_call_site() {
    let report = report(event_loop());
    let futexes: Vec<_> = report
        .waits
        .iter()
        .filter(|wait| wait.kind == RecordKind::Futex)
        .map(|wait| (wait.label(), wait.row.calls, wait.address.map(|address| address.address)))
        .collect();
    let expected =
        [("(2) worker_main+0x28 [futex]".into(), 10_000, None), ("STATE_8 [futex]".into(), 10, Some(8))];
    assert_eq!(futexes, expected);
}

#[test]
fn unknown_call_sites_are_kept_apart() {
    let rows = [0x1000, 0x2000].map(|caller| (call_site(RecordKind::Epoll, caller), slept(&[(1, US)])));
    let overflow = (Key::new(RecordKind::Epoll, 0, 0), slept(&[(1, US)]));
    let report =
        MeterReport::new(&snapshot(vec![image(7, &[&rows[..], &[overflow]].concat())]), &|_, _| None);
    let mut names: Vec<&str> = report.waits.iter().map(|wait| wait.row.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["epoll at 0x1000", "epoll at 0x2000", "epoll: more than there was room for"]);
}

#[test]
fn short_waits_end_within_three_wake_ups() {
    // Three wake-ups of 48 us are 144 us: in the range of 131 to 262 us a tenth is shorter.
    let row = one(RecordKind::Epoll, slept(&[(1_000, 50 * US), (1_000, 200 * US), (10, 90_000 * US)])).row;
    assert_eq!((row.waits, row.short), (2_010, 1_099));
    // 50 us lie in the range of 32.8 to 65.5 us.
    let expected = 1_000.0 * 49.152e-6 + 99.0 * (131.072e-6 + 144e-6) / 2.0;
    assert!((row.saving - expected).abs() < 1e-9, "{row:?}");
    assert!((row.waited - 1.15).abs() < 1e-9 && (row.share - 0.575).abs() < 1e-9);
    // A futex wakes sooner: three of 45 us.
    let join = one(RecordKind::Join, slept(&[(1_000, 200 * US), (1, SECOND)])).row;
    assert_eq!(join.short, 30);
}

#[test]
fn saving_equals_the_wait_if_all_waits_are_short() {
    let row = one(RecordKind::Epoll, slept(&[(20_000, 48 * US)])).row;
    assert_eq!((row.short, row.saving), (20_000, row.waited));
    assert!((row.median - 48e-6).abs() < 1e-9, "{row:?}: the sum and the longest leave no other median");
}

#[test]
fn the_saving_is_at_most_the_metered_time() {
    // Ten threads at a time.
    let row = one(RecordKind::Epoll, slept(&[(400_000, 50 * US)])).row;
    assert!((row.waited - 20.0).abs() < 1e-9 && (row.share - 10.0).abs() < 1e-9);
    assert_eq!((row.short, row.saving), (400_000, 2.0));
}

#[test]
fn polled_waits_have_no_saving() {
    let mut record = slept(&[(1_000, 50 * US)]);
    record.counts.spun = record.counts.slept;
    record.counts.spin = record.counts.sleep;
    (record.counts.slept, record.counts.sleep) = (0, 0);
    let row = one(RecordKind::Epoll, record).row;
    assert_eq!((row.short, row.saving), (1_000, 0.0));
}

#[test]
fn no_saving_without_wake_up_cost_or_waits() {
    let rows = [(call_site(RecordKind::Epoll, 10), slept(&[(20_000, 48 * US)]))];
    let unknown = Snapshot { wake_up: None, ..snapshot(vec![image(7, &rows)]) };
    let report = MeterReport::new(&unknown, &names);
    assert_eq!((report.waits[0].row.short, report.waits[0].row.saving), (0, 0.0));
    let text = report.to_string();
    assert!(text.contains("SHORT is not known") && !text.contains("polling first"), "{text}");

    let nowait = Record { counts: Counts { nowait: 9, ..Counts::default() }, ..Record::default() };
    let row = one(RecordKind::Poll, nowait).row;
    assert_eq!((row.calls, row.waits, row.short, row.short_share()), (9, 0, 0, 0.0));
    assert_eq!((row.median, row.saving, row.share, row.mean), (0.0, 0.0, 0.0, 0.0));
}

#[test]
fn text_matches_the_stored_example() {
    agreed(&report(event_loop()).text(&Layout { width: 110, ..Layout::default() }), "waits.txt");
}

#[test]
fn counts_alone_have_no_times() {
    let mut snapshot = snapshot(event_loop());
    snapshot.level = Level::Counts;
    for record in snapshot.images.iter_mut().flat_map(|image| image.rows.values_mut()) {
        let Counts { nowait, slept, rejected, .. } = record.counts;
        *record =
            Record { counts: Counts { nowait, slept, rejected, ..Counts::default() }, ..Record::default() };
    }
    agreed(&MeterReport::new(&snapshot, &names).to_string(), "waits.counts.txt");
}

#[test]
fn long_waits_are_idle_and_have_no_sentence() {
    let idle = [(call_site(RecordKind::Epoll, 10), slept(&[(20, 100_000 * US), (100, 50 * US)]))];
    let text = report(vec![image(7, &idle)]).to_string();
    assert!(text.contains("uv__io_poll+0xa [epoll]") && !text.contains("polling first"), "{text}");
}

#[test]
fn calls_that_never_waited_share_a_line() {
    let ready = Record { counts: Counts { nowait: 9, ..Counts::default() }, ..Record::default() };
    let rows = [
        (call_site(RecordKind::Epoll, 10), slept(&[(1, 50 * US)])),
        (call_site(RecordKind::Receive, 20), ready),
        (call_site(RecordKind::Receive, 30), ready),
    ];
    let all = report(vec![image(7, &rows)]);
    let text = all.to_string();
    assert!(text.contains("\nand 2 where no thread waited: --all shows them\n"), "{text}");
    assert!(!text.contains("uv__async_io"), "{text}");
    assert!(
        report(vec![image(7, &rows[..2])])
            .to_string()
            .contains("\nand 1 where no thread waited: --all shows it")
    );
    assert!(all.text(&Layout::all(120)).contains("uv__async_io+0x14 [receive]"));
    let mut chosen = all.clone();
    chosen.filter(&Filter { lock: Some(&|name| name == "uv__async_io+0x14"), ..Filter::default() });
    assert!(chosen.to_string().contains("uv__async_io+0x14 [receive]"));
    // A thread that still waits has not ended any.
    let going_on = Counts { nowait: 1, sleep: SECOND, wait_max: SECOND, ..Counts::default() };
    let rows_now =
        [rows[1], (call_site(RecordKind::Join, 30), Record { counts: going_on, ..Record::default() })];
    assert!(report(vec![image(7, &rows_now)]).to_string().contains("ThreadPool::stop+0x1e [join]"));
    let none = report(vec![image(7, &rows[1..])]).to_string();
    assert!(none.contains("and 2 where no thread waited"), "{none}");
}

#[test]
fn advised_command_is_the_program_or_a_placeholder() {
    let rows = [(call_site(RecordKind::Epoll, 10), slept(&[(20_000, 100 * US)]))];
    let with = |command: &[&str]| {
        let command = command.iter().map(|word| word.to_string()).collect();
        report(vec![Image { command, ..image(7, &rows) }]).to_string()
    };
    let text = with(&["sh", "-c", "redis-cli get x"]);
    assert!(text.contains("\nTry:      unspin run --waits poll sh -c 'redis-cli get x'\n"), "{text}");
    assert!(text.contains("\nProve it: unspin prove --waits poll sh -c 'redis-cli get x'\n"), "{text}");
    assert!(
        text.contains("\nOne site: unspin prove --waits poll@uv__io_poll+0xa sh -c 'redis-cli get x'\n"),
        "{text}"
    );
    let java = "x".repeat(80);
    let long = with(&["java", &java]);
    assert!(long.contains(&format!("\nTry:      unspin run --waits poll java {java}\n")), "{long}");
    let cut = with(&["java", &"x".repeat(1019)]);
    assert!(
        cut.contains("\nTry:      unspin run --waits poll CMD\n"),
        "the recording may have no more of it"
    );
    let two = report(vec![image(7, &rows), image(8, &rows)]).to_string();
    assert!(
        two.contains("--waits poll CMD\n"),
        "which of the processes the user started is not known: {two}"
    );
}

/// A report of the event loop, started by a command that the user gave and under these policies.
fn invoked(command: &[&str], waits: &[&str], images: Vec<Image>) -> String {
    let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
    let invocation = Invocation { command: words(command), waits: words(waits), ..Invocation::default() };
    MeterReport::new(&Snapshot { invocation, ..snapshot(images) }, &names).to_string()
}

#[test]
fn advised_command_is_the_metered_one() {
    let shell = ["sh", "-c", "node bench.js", ""];
    let text = invoked(&shell, &[], event_loop());
    let command = "--waits poll sh -c 'node bench.js' ''\n";
    assert!(
        text.contains(&format!("\nTry:      unspin run {command}Prove it: unspin prove {command}")),
        "{text}"
    );
    assert!(!text.contains("poll@"), "the call site is not the shell's: {text}");
    let own = invoked(&["node", "bench.js"], &[], event_loop());
    assert!(own.contains("\nOne site: unspin prove --waits poll@uv__io_poll+0xa node bench.js\n"), "{own}");
}

/// A run of two seconds that its command asks for takes two seconds with every lock.
#[test]
fn proof_of_a_program_that_runs_for_a_fixed_time_needs_a_figure() {
    let text = invoked(&["bench", "--time=2"], &[], event_loop());
    let next = "add --metric 'WORDS' --higher-is-better behind \"unspin prove\".";
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("The run took 2.00s, and its command has the words --time=2."), "{text}");
    assert!(flat.contains(next), "{text}");
    let other = invoked(&["bench", "--time=3"], &[], event_loop());
    assert!(!other.contains("--metric"), "{other}");
    let nothing_to_prove = invoked(&["bench", "--time=2"], &[], Vec::new());
    assert!(!nothing_to_prove.contains("--metric"), "{nothing_to_prove}");
}

#[test]
fn long_origin_leaves_the_name_of_a_wait_whole() {
    let long = |_: &Image, key: &Key| {
        let origin = Some(format!("event_loop.c:1405, first seen from {}::run", "server".repeat(20)));
        Some(Name { origin, ..names(&Image::default(), key)? })
    };
    let rows = [(call_site(RecordKind::Epoll, 10), slept(&[(3, 300_000 * US)]))];
    let text = MeterReport::new(&snapshot(vec![image(7, &rows)]), &long).text(&Layout::default());
    let above = text
        .lines()
        .find(|line| line.starts_with("uv__io_poll+0xa [epoll], event_loop.c:1405, first"))
        .unwrap();
    assert!(above.chars().count() == 120 && above.ends_with('…'), "{text}");
    assert!(text.contains("0%    0%  uv__io_poll+0xa [epoll]\n"), "{text}");
}

#[test]
fn process_list_quotes_words_as_a_shell_does() {
    let command = ["sh", "-c", "", "a b"].map(str::to_owned).to_vec();
    let text = report(vec![Image { command, ..image(7, &[]) }, image(8, &[])]).to_string();
    assert!(text.contains(": sh -c '' 'a b'\n") && text.contains(": node bench.js\n"), "{text}");
}

#[test]
fn first_line_names_the_policies_of_waits() {
    let head = |waits: &[&str]| invoked(&[], waits, event_loop()).lines().next().unwrap().to_owned();
    assert!(head(&["poll"]).starts_with("Waits over 2.00s on 2 CPUs; waits: poll; a wake-up costs"));
    let five = ["system", "poll@a", "poll@b", "poll@c", "poll@d"];
    assert!(head(&five).contains("; waits: system, poll@a, poll@b and 2 more; "));
    assert!(!head(&[]).contains("waits:"));
}

#[test]
fn polling_that_is_on_is_not_advised() {
    let polled = || {
        let mut images = event_loop();
        let epoll = images[0].rows.get_mut(&call_site(RecordKind::Epoll, 10)).unwrap();
        (epoll.counts.slept, epoll.counts.spun) = (4_003, 16_000);
        images
    };
    let text = invoked(&["node"], &["poll"], polled());
    assert!(!text.contains("Try:") && !text.contains("polling first"), "{text}");
    let expected = "Polling was on for every wait; 24,020 of 40,020 waits still slept (60 %). 10 took longer than three \
                    wake-ups: too long to poll. 4,003 of the 20,003 waits in epoll_wait at uv__io_poll+0xa slept, \
                    median 49us.";
    assert!(text.replace('\n', " ").contains(expected), "{text}");
    let others = invoked(&["node", "bench.js"], &["poll@uv__io_poll+0xa"], polled());
    assert!(
        !others.contains("at uv__io_poll+0xa (") && others.contains("at uv__async_io+0x14 ("),
        "{others}"
    );
    assert!(!others.contains("Try:"), "polling saves little there: {others}");
}

#[test]
fn waits_come_first_where_they_cost_more_than_locks() {
    let mutex = |slept: u64| {
        let counts = Counts { nowait: 100, slept, sleep: slept * 1_000 * US, ..Counts::default() };
        (Key::new(RecordKind::Mutex, 1, 40), Record { counts, ..Record::default() })
    };
    let first =
        |rows: &[(Key, Record)]| report(vec![image(7, rows)]).to_string().lines().next().unwrap().to_owned();
    let short = (call_site(RecordKind::Epoll, 10), slept(&[(1_000, 50 * US)]));
    let idle = (call_site(RecordKind::Epoll, 10), slept(&[(2, SECOND / 2)]));
    let ready = Record { counts: Counts { nowait: 9, ..Counts::default() }, ..Record::default() };
    assert!(first(&[mutex(0), short]).starts_with("Waits over "), "no thread waited for the lock");
    assert!(first(&[mutex(0), idle]).starts_with("Locks over "), "waits of idle threads come last");
    assert!(first(&[idle]).starts_with("Waits over "), "no lock was recorded");
    assert!(first(&[mutex(10), short]).starts_with("Waits over "), "10 ms lost, 50 ms to be saved");
    assert!(first(&[mutex(100), short]).starts_with("Locks over "), "100 ms lost");
    assert!(first(&[mutex(10), idle]).starts_with("Locks over "), "an idle thread loses nothing");
    assert!(first(&[mutex(0), (call_site(RecordKind::Epoll, 10), ready)]).starts_with("Locks over "));
    let text = report(vec![image(7, &[mutex(0), idle])]).to_string();
    assert!(text.find("\nWaits\n").unwrap() < text.find("uv__io_poll+0xa").unwrap(), "{text}");
}

/// The last range of the histogram has no end, and others are a factor of two wide.
#[test]
fn median_lies_within_what_count_sum_and_maximum_permit() {
    let median = |waits: &[(u64, u64)]| {
        let rows = [(Key::new(RecordKind::Condition, 5, 40), slept(waits))];
        report(vec![image(7, &rows)]).waits.remove(0).row.median
    };
    assert_eq!(median(&[(1, 1_830_000 * US)]), 1.83);
    assert_eq!(median(&[(1, 777 * US)]), 777e-6);
    assert!((median(&[(1, SECOND), (1, 3 * SECOND)]) - 2.0).abs() < 1e-9, "the mean of two");
    let most = median(&[(1, 10 * US), (2, 1_900_000 * US)]);
    assert!((1.9 / 2.0..=1.9).contains(&most), "{most}");
}

#[test]
fn running_wait_has_a_median() {
    let going_on = |slept: u64, sleep: u64, longest: u64| {
        let counts = Counts { slept, sleep, wait_max: longest, ..Counts::default() };
        let rows = [(Key::new(RecordKind::Condition, 5, 40), Record { counts, ..Record::default() })];
        report(vec![image(7, &rows)]).waits.remove(0).row.median
    };
    assert_eq!(going_on(1, SECOND, SECOND), 1.0);
    assert_eq!(going_on(3, 3 * SECOND, 2 * SECOND), 1.0);
    assert_eq!(going_on(0, SECOND, SECOND), 1.0, "a descriptor's wait is counted when it ends");
    assert_eq!(going_on(1, 0, 0), 0.0);
}

#[test]
fn polled_time_is_not_time_off_the_cpus() {
    let mut images = event_loop();
    let epoll = images[0].rows.get_mut(&call_site(RecordKind::Epoll, 10)).unwrap();
    (epoll.counts.spin, epoll.counts.sleep) = (SECOND, 860_000 * US);
    let thread = Thread {
        tid: 0,
        lived: 10 * SECOND,
        on_cpu: SECOND,
        runnable: 0,
        holds: Vec::new(),
        tokens: Vec::new(),
        waits: None,
        wait_may_time_out: false,
    };
    images[0].threads = vec![thread.clone()];
    let report = report(images.clone());
    let Blocked { by_design, other_waits, spun, .. } = report.blocked;
    assert!(
        (other_waits - 3.3602).abs() < 1e-6 && (by_design - 3.0).abs() < 1e-9 && (spun - 1.0).abs() < 1e-9
    );
    let text = report.to_string().replace('\n', " ");
    assert!(
        text.contains("Threads were off the CPUs for 9.00s in all") && text.contains("the other 2.64s is in")
    );
    assert!(text.contains("They spun and polled for 1.00s, on the CPUs."), "{text}");
    // A program that never waits.
    let busy = Thread { tid: 0, lived: 2 * SECOND, on_cpu: 2 * SECOND - 1, runnable: 0, ..thread.clone() };
    let computes = Image { threads: vec![busy], ..image(7, &[]) };
    let text = self::report(vec![computes]).to_string();
    assert!(text.contains("Threads were hardly ever off the CPUs.") && !text.contains("<1ns"), "{text}");
    // Some of the eight seconds on a CPU were before the first lock, at which the ten seconds begin.
    images[0].threads = vec![Thread { on_cpu: 8 * SECOND, ..thread }];
    let text = self::report(images).to_string().replace('\n', " ");
    assert!(
        text.contains("for 2.00s in all")
            && text.contains("other waits above. These waits add up to 4.36s more,"),
        "{text}"
    );
}

#[test]
fn new_lines_have_at_most_100_columns() {
    let text = report(event_loop()).to_string();
    // The text behind it is older than this limit.
    for line in text.split("\nLocks that are built").next().unwrap().lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn other_waits_are_not_waits_by_design() {
    let report = report(event_loop());
    assert!((report.blocked.by_design - 3.0).abs() < 1e-9, "the condition alone: {:?}", report.blocked);
    let all: f64 = report.waits.iter().map(|wait| wait.row.waited).sum();
    assert!((report.blocked.other_waits - (all - 3.0)).abs() < 1e-9);
    assert_eq!((report.total.attempts, report.locks.len()), (0, 0), "waits are no locks");
}

#[test]
fn filters_choose_waits_by_name_and_caller() {
    let mut report = report(event_loop());
    report.filter(&Filter { lock: Some(&|name| name == "uv__io_poll+0xa"), ..Filter::default() });
    assert_eq!((report.waits.len(), report.left_out.waits), (1, 5));
}

#[test]
fn a_recording_holds_waits_of_every_kind() {
    let folder = tempfile::tempdir().unwrap();
    let recording = Recording::create(&folder.path().join("run"), Config::default()).unwrap();
    recording.set_wake_up(COST);
    let table = recording.claim().unwrap();
    let kinds: Vec<RecordKind> = RecordKind::ALL
        .into_iter()
        .filter(|kind| kind.class() == Class::Wait && !kind.is_by_design())
        .collect();
    for (index, &kind) in kinds.iter().enumerate() {
        let key = call_site(kind, 100 + index);
        let wait = |outcome, spun, slept| Sample { outcome, hold: 0, spun, slept };
        table.record(key, &wait(AttemptOutcome::NoWait, 0, 0));
        table.record(key, &wait(AttemptOutcome::Spun, 2_000, 0));
        table.record(key, &wait(AttemptOutcome::Slept, 0, 3_000));
        table.record(key, &wait(AttemptOutcome::Rejected, 0, 4_000));
    }
    recording.release(table, None);
    recording.finish(None);
    let report = MeterReport::from_recording(&recording, &|_, _| None);
    assert_eq!(report.waits.len(), kinds.len());
    for Wait { kind, row, .. } in &report.waits {
        assert!(kinds.contains(kind));
        assert_eq!((row.calls, row.nowait, row.satisfied, row.gave_up, row.waits), (4, 1, 2, 1, 3));
        // Some thousand ticks are a microsecond or two.
        assert_eq!(row.short, 3, "{row:?}");
        assert!(row.saving > 0.0 && row.saving < row.waited && row.median <= row.max, "{row:?}");
    }
}

prop_compose! {
    fn any_record()(counts: [u16; 22], spun: u16, sleep: u32, spin: u32, wait_max: u64, shift in 0u32..64) -> Record {
        let slept = counts.iter().map(|&n| u64::from(n)).sum();
        let counts_of = Counts {
            slept,
            spun: spun.into(),
            sleep: sleep.into(),
            spin: spin.into(),
            wait_max: wait_max >> shift,
            ..Counts::default()
        };
        let waits = Histogram::new(TimeKind::Waits, counts.map(u64::from));
        Record { counts: counts_of, waits, ..Record::default() }
    }
}

proptest! {
    /// Also of records that no thread writes, such as those of a damaged file.
    #[test]
    fn a_saving_is_at_most_what_was_waited_and_what_was_metered(
        records in prop::collection::vec(any_record(), 1..4),
        futex_ns in 1u64..1_000_000,
        epoll_ns in 1u64..1_000_000,
        seconds in 1e-3f64..10.0,
    ) {
        let rows: Vec<_> = records
            .iter()
            .enumerate()
            .flat_map(|(n, record)| {
                [(call_site(RecordKind::Epoll, 10 + n), *record), (Key::new(RecordKind::Futex, 8, 40 + n), *record)]
            })
            .collect();
        let mut snapshot = snapshot(vec![image(7, &rows)]);
        snapshot.wake_up = Some(WakeUpCost { futex_ns, epoll_ns });
        snapshot.window.seconds = seconds;
        let report = MeterReport::new(&snapshot, &names);
        for wait in &report.waits {
            for row in wait.callers.iter().map(|caller| &caller.row).chain([&wait.row]) {
                prop_assert!(row.saving >= 0.0 && row.saving <= row.waited && row.saving <= seconds, "{row:?}");
                prop_assert!(row.median >= 0.0 && row.median <= row.max, "{row:?}");
            }
            let callers: u64 = wait.callers.iter().map(|caller| caller.row.short).sum();
            prop_assert_eq!(wait.row.short, callers);
        }
        report.to_string();
    }
}
