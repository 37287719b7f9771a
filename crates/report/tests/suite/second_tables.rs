//! Reports on recordings in which an executor has second tables (`Recording::claim_second`).

use unspin_report::MeterReport;
use unspin_wire::{AttemptOutcome, Config, Key, Level, RecordKind, Recording, Sample};

const SPUN: Sample = Sample { outcome: AttemptOutcome::Spun, hold: 100, spun: 10, slept: 0 };

fn config(level: Level) -> Config {
    Config { bytes: 512 << 10, cpus: 2, level }
}

/// The preload library and an executor record in one process, each through a mapping of its own.
#[test]
fn second_table_of_a_thread_adds_no_thread_to_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording");
    let recording = Recording::create(&path, config(Level::Full)).unwrap();
    let other = Recording::open(&path).unwrap();
    let (table, second) = (recording.claim().unwrap(), other.claim_second().unwrap());
    table.record(Key::new(RecordKind::Mutex, 1, 1), &SPUN);
    second.record(Key::new(RecordKind::RunQueue, 2, 1), &SPUN);
    other.release(second, None);
    recording.release(table, Some((1, 0)));
    let report = MeterReport::from_recording(&recording, &|_, _| None);
    assert_eq!((report.processes.len(), report.blocked.threads, report.blocked.unknown), (1, 1, 0));
}

/// As of a program whose only locks are those of its executor.
#[test]
fn process_with_second_tables_only_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let recording = Recording::create(&folder.path().join("recording"), config(Level::Counts)).unwrap();
    let second = recording.claim_second().unwrap();
    second.record(Key::new(RecordKind::Mutex, 1, 1), &SPUN);
    let report = MeterReport::from_recording(&recording, &|_, _| None);
    assert_eq!((report.processes.len(), report.processes[0].threads, report.locks.len()), (1, 0, 1));
}
