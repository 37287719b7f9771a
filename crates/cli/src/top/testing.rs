//! Snapshots, reports and states for tests.

use super::reading::Reading;
use super::state::State;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::BTreeMap;
use std::time::Duration;
use unspin_report::{MeterReport, Name, interval};
use unspin_wire::{
    BUCKETS, Counts, Histogram, Image, Key, Record, RecordKind, Snapshot, Thread, TimeKind, WakeUpCost,
    Window,
};

/// Ticks in a second.
pub const TICKS_PER_SECOND: f64 = 1e9;

/// A time in ticks since the recording began.
pub fn at(seconds: f64) -> u64 {
    (seconds * TICKS_PER_SECOND) as u64
}

/// One process with these counts, some seconds after its start, on two CPUs.
pub fn snapshot(seconds: f64, rows: &[(Key, Counts)]) -> Snapshot {
    let window = Window { seconds, cpus: 2, ticks_per_second: TICKS_PER_SECOND, cpu_seconds: None };
    let mut snapshot = Snapshot::of_rows(window, []);
    snapshot.wake_up = Some(WakeUpCost { futex_ns: 45_000, epoll_ns: 48_000 });
    let rows: BTreeMap<Key, Record> = rows.iter().map(|(key, counts)| (*key, record(counts))).collect();
    let thread = Thread {
        tid: 8,
        lived: at(seconds),
        on_cpu: 0,
        runnable: 0,
        holds: Vec::new(),
        tokens: Vec::new(),
        waits: None,
        wait_may_time_out: false,
    };
    snapshot.images = vec![Image { pid: 7, rows, threads: vec![thread], ..Image::default() }];
    snapshot
}

/// Counts with histograms in which each time has about the mean length.
fn record(counts: &Counts) -> Record {
    let mut holds = [0; BUCKETS];
    holds[4] = counts.timed;
    holds[7] = counts.timed / 100;
    let mut waits = [0; BUCKETS];
    waits[10] = counts.waiters();
    let (holds, waits) = (Histogram::new(TimeKind::Holds, holds), Histogram::new(TimeKind::Waits, waits));
    Record { counts: *counts, holds, waits, ..Record::default() }
}

/// Locks with increasing lost time; all sums grow by the same amount each second.
pub fn locks(seconds: u64, names: u64) -> Vec<(Key, Counts)> {
    let row = |number: u64| {
        let n = seconds * (number + 1);
        let counts = Counts {
            nowait: 900 * n,
            slept: 100 * n,
            timed: 1000 * n,
            hold: 1_000_000 * n,
            hold_max: 40_000,
            sleep: 20_000_000 * n,
            wait_max: 900_000,
            ..Counts::default()
        };
        (Key::new(RecordKind::Mutex, 1 + number as usize, 99), counts)
    };
    let mut rows: Vec<_> = (0..names).map(row).collect();
    let waits =
        Counts { slept: 3 * seconds, sleep: at(0.5) * seconds, wait_max: at(0.3), ..Counts::default() };
    rows.push((Key::new(RecordKind::Condition, 1000, 98), waits));
    rows
}

/// `lock3` for the lock at address 3.
pub fn name(_: &Image, key: &Key) -> Option<Name> {
    let lock = match key.kind() {
        Some(RecordKind::Condition) => "idle_cond".to_owned(),
        _ => format!("lock{}", key.address()),
    };
    let origin = Some("static, pool.c:31".to_owned());
    let caller = format!("worker+{:#x}", key.caller);
    Some(Name { lock, origin, caller, place: Some("pool.c:88".to_owned()) })
}

/// The reading after some seconds: `earlier` and `later` are one second apart.
pub fn reading_of(earlier: &Snapshot, later: &Snapshot) -> Reading {
    let lately = interval::between(earlier, later).map(|between| MeterReport::new(&between, &name));
    Reading { since_start: MeterReport::new(later, &name), lately, threads: 1 }
}

/// The reading, after so many seconds, of a program with so many locks.
pub fn reading(seconds: u64, names: u64) -> Reading {
    let earlier = snapshot((seconds - 1) as f64, &locks(seconds - 1, names));
    let mut later = snapshot(seconds as f64, &locks(seconds, names));
    // The lock with the most lost time has been held for a quarter of a second.
    let held = Key::new(RecordKind::Mutex, names as usize, 99);
    later.images[0].threads[0].holds.push((held, at(seconds as f64 - 0.25)));
    reading_of(&earlier, &later)
}

/// A state that shows the reading after ten seconds.
pub fn state(names: u64) -> State {
    let mut state = State::new("/bin/server -t 4".into(), 7, Duration::from_secs(1));
    state.show(reading(10, names));
    state
}

/// A key.
pub fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

/// ^C.
pub fn control_c() -> KeyEvent {
    KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)
}
