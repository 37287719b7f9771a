//! docs/locks-json.md must agree with the JSON that is written.

use std::path::Path;
use unspin_report::{MeterReport, Name};
use unspin_wire::{
    Counts, Histogram, Image, Key, Record, RecordKind, Snapshot, Thread, TimeKind, WakeUpCost, Window,
};

/// The program of the example: one contended mutex and a condition.
fn example() -> MeterReport {
    let window = Window { seconds: 2.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: Some(2.5) };
    let mutex = Counts {
        nowait: 900,
        slept: 100,
        timed: 1000,
        hold: 500_000_000,
        hold_max: 2_000_000,
        sleep: 250_000_000,
        sleep_max: 6_000_000,
        wait_max: 6_000_000,
        ..Counts::default()
    };
    let condition = Counts { slept: 50, sleep: 800_000_000, wait_max: 30_000_000, ..Counts::default() };
    let record = |counts: Counts| {
        let histogram = |of: TimeKind, bucket: usize, n: u64| {
            let mut all = [0; 22];
            all[bucket] = n;
            Histogram::new(of, all)
        };
        let (holds, waits) =
            (histogram(TimeKind::Holds, 13, counts.timed), histogram(TimeKind::Waits, 12, counts.slept));
        Record { counts, holds, waits, ..Record::default() }
    };
    let rows =
        [(Key::new(RecordKind::Mutex, 1, 10), mutex), (Key::new(RecordKind::Condition, 2, 11), condition)];
    let mut snapshot = Snapshot::of_rows(window, []);
    snapshot.wake_up = Some(WakeUpCost { futex_ns: 45_000, epoll_ns: 48_000 });
    snapshot.started = 1_700_000_000_000_000_000;
    snapshot.images = vec![Image {
        pid: 4711,
        parent: 4700,
        command: vec!["./server".into(), "-t2".into()],
        rows: rows.into_iter().map(|(key, counts)| (key, record(counts))).collect(),
        threads: vec![Thread {
            tid: 0,
            lived: 1_900_000_000,
            on_cpu: 700_000_000,
            runnable: 100_000_000,
            holds: Vec::new(),
            tokens: Vec::new(),
            waits: None,
            wait_may_time_out: false,
        }],
        ..Image::default()
    }];
    MeterReport::new(&snapshot, &|_, key| {
        let (lock, line, caller) = match key.address() {
            1 => ("queue_lock", 31, "push+0x1c"),
            _ => ("queue_filled", 32, "pop+0x88"),
        };
        let place = (key.address() == 1).then(|| "queue.c:57".into());
        let origin = Some(format!("static, queue.c:{line}"));
        Some(Name { lock: lock.into(), origin, caller: caller.into(), place })
    })
}

/// `UNSPIN_BLESS=1` puts what is written today into the document.
#[test]
fn example_of_the_document_is_what_is_written() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/locks-json.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = document.split_once("```json\n").unwrap();
    let (json, after) = rest.split_once("\n```").unwrap();
    let written = serde_json::to_string_pretty(&example()).unwrap();
    if std::env::var_os("UNSPIN_BLESS").is_some() {
        std::fs::write(&path, format!("{before}```json\n{written}\n```{after}")).unwrap();
        return;
    }
    let read: MeterReport = serde_json::from_str(json).expect("the example is a report");
    assert_eq!(read, example());
    assert_eq!(json, written);
}

/// Every field that is written is named in the document.
#[test]
fn document_names_every_field() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/locks-json.md");
    let document = std::fs::read_to_string(path).unwrap();
    let prose = document.split("```json").next().unwrap();
    let mut missing = Vec::new();
    fields(&serde_json::to_value(example()).unwrap(), &mut |name| {
        if !prose.contains(&format!("`{name}`")) {
            missing.push(name.to_string());
        }
    });
    assert!(missing.is_empty(), "{missing:?}");
}

fn fields(value: &serde_json::Value, each: &mut impl FnMut(&str)) {
    match value {
        serde_json::Value::Object(map) => {
            for (name, value) in map {
                each(name);
                fields(value, each);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| fields(value, each)),
        _ => (),
    }
}
