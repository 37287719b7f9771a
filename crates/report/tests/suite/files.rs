//! Files that are not recordings, or are damaged ones: errors say what to do; nothing panics or hangs.

use proptest::prelude::*;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use unspin_report::{MeterReport, ReportComparison};
use unspin_wire::{
    AttemptOutcome, Config, Event, Key, Level, Reason, RecordKind, Recording, Registers, Sample, WakeUpCost,
};

/// Bytes of a recording.
const BYTES: u64 = 512 << 10;

fn scratch() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording");
    (folder, path)
}

/// A small recording with something of everything in it, closed; how many of its bytes are in use.
fn written(path: &Path) -> u64 {
    let recording = Recording::create(path, Config { bytes: BYTES, cpus: 2, level: Level::Full }).unwrap();
    let table = recording.claim().unwrap();
    for lock in 1..=50 {
        table.record(key(lock), &Sample { outcome: AttemptOutcome::Slept, hold: 9, spun: 8, slept: 7 });
    }
    let here = 0u64;
    recording.keep_stack(&table, key(1), Registers { ip: 3, sp: &raw const here as u64, bp: 0 });
    table.begin_hold(key(1).lock, table.find(key(1)).unwrap(), 1, None);
    table.count_event(Event::GracePeriod, 2);
    recording.release(recording.claim().unwrap(), None);
    recording.finish(None);
    recording.bytes()
}

fn key(lock: usize) -> Key {
    Key::new(RecordKind::Mutex, lock, 3)
}

fn reason(path: &Path) -> Reason {
    let error = Recording::open(path).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(path.to_str().unwrap()) && !text.contains('\n'), "{text}");
    error.reason
}

/// Uses a file that may hold anything in every way there is.
fn exercise(path: &Path) {
    if let Ok(recording) = Recording::load(path) {
        look_at(&recording);
        recording.save(&path.with_extension("saved")).unwrap();
    }
    let Ok(recording) = Recording::open(path) else { return };
    for lock in 1..=3 {
        if let Some(table) = recording.claim() {
            let key = key(lock);
            table.record(key, &Sample { outcome: AttemptOutcome::NoWait, hold: 1, spun: 0, slept: 0 });
            if let Some(place) = table.find(key) {
                table.begin_hold(key.lock, place, 1, None);
            }
            table.end_hold(key.lock);
            recording.take_over(&table, key.lock, 1000);
            recording.release(table, None);
        }
    }
    look_at(&recording);
}

fn look_at(recording: &Recording) {
    let report = MeterReport::from_recording(recording, &|_, _| None);
    let _ = (report.to_string(), report.lockmeter(), ReportComparison::new().with("a", &report).to_string());
    serde_json::to_string(&report).unwrap();
}

#[test]
fn each_fault_has_its_reason() {
    let (folder, path) = scratch();
    assert!(matches!(reason(&path), Reason::Open(_)));
    assert!(matches!(reason(folder.path()), Reason::NotARecording));
    assert!(matches!(reason(Path::new("/dev/null")), Reason::NotARecording));

    File::create(&path).unwrap();
    assert!(matches!(reason(&path), Reason::NotARecording));
    File::create(&path).unwrap().write_all(b"#!/bin/sh\necho not a recording\n").unwrap();
    assert!(matches!(reason(&path), Reason::NotARecording));
    std::fs::remove_file(&path).unwrap();

    written(&path);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), BYTES);
    let again = Recording::create(&path, Config::default()).unwrap_err();
    assert!(matches!(again.reason, Reason::Create(_)), "{again}");
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(BYTES - 1).unwrap();
    assert!(matches!(reason(&path), Reason::Truncated { expected: BYTES, found } if found == BYTES - 1));
    file.set_len(100).unwrap();
    assert!(matches!(reason(&path), Reason::Truncated { found: 100, .. }));
    file.set_len(BYTES).unwrap();
    for old in [1u64, 2] {
        file.write_all_at(&old.to_ne_bytes(), 8).unwrap();
        assert!(matches!(reason(&path), Reason::Version { found } if found == old));
    }
}

#[test]
fn messages_name_the_file_and_the_remedy() {
    let (_folder, path) = scratch();
    written(&path);
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(&9u64.to_ne_bytes(), 8).unwrap();
    assert_eq!(
        Recording::open(&path).unwrap_err().to_string(),
        format!(
            "recording {} has format version 9, this unspin reads 4 to 5; read it with the unspin that made it or \
             record again",
            path.display()
        )
    );
    let nothing = Config { bytes: 0, ..Config::default() };
    let error = Recording::create(Path::new("/nowhere/x"), nothing).unwrap_err().to_string();
    assert_eq!(
        error,
        "recording /nowhere/x: 0 bytes asked for, at least 32768 and at most 68719476736 are possible"
    );
}

#[test]
fn version_2_recording_is_refused_in_one_line() {
    let (_folder, path) = scratch();
    written(&path);
    File::options().write(true).open(&path).unwrap().write_all_at(&2u64.to_ne_bytes(), 8).unwrap();
    let error = Recording::load(&path).unwrap_err().to_string();
    assert!(
        error.contains("has format version 2, this unspin reads 4 to 5") && !error.contains('\n'),
        "{error}"
    );
}

#[test]
fn the_wake_up_cost_is_kept_in_the_file() {
    let (_folder, path) = scratch();
    let recording = Recording::create(&path, Config { bytes: BYTES, cpus: 2, level: Level::Full }).unwrap();
    assert_eq!(recording.snapshot().wake_up, None, "not measured yet");
    let cost = WakeUpCost { futex_ns: 41_000, epoll_ns: 47_000 };
    recording.set_wake_up(cost);
    let saved = path.with_extension("saved");
    recording.finish(None);
    recording.save(&saved).unwrap();
    let loaded = Recording::load(&saved).unwrap();
    assert_eq!(MeterReport::from_recording(&loaded, &|_, _| None).wake_up, Some(cost));
    loaded.set_wake_up(WakeUpCost { futex_ns: 1, epoll_ns: 1 });
    assert_eq!(loaded.snapshot().wake_up, Some(cost), "one that is read is not written");
}

#[test]
fn failed_creation_leaves_no_file() {
    let (_folder, path) = scratch();
    let missing = path.join("folder/recording");
    let error = Recording::create(&missing, Config::default()).unwrap_err();
    assert!(error.to_string().contains("choose another place"), "{error}");
    assert!(!path.exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..10_000)) {
        let (_folder, path) = scratch();
        std::fs::write(&path, bytes).unwrap();
        prop_assert!(matches!(reason(&path), Reason::NotARecording));
    }

    #[test]
    fn truncation_at_any_byte_is_detected(length in 0..BYTES) {
        let (_folder, path) = scratch();
        written(&path);
        File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
        match reason(&path) {
            Reason::NotARecording => prop_assert!(length < 8),
            Reason::Truncated { found, .. } => prop_assert_eq!(found, length),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    /// Words overwritten anywhere, those of the header and of the first words of a page more often.
    #[test]
    fn damage_never_panics(
        damage in prop::collection::vec(
            (
                prop_oneof![
                    0..64u64,
                    (0..24u64, 0..64u64).prop_map(|(page, word)| 512 * page + word),
                    0..BYTES / 8,
                ],
                prop_oneof![any::<u64>(), 0..64u64, Just(u64::MAX), Just(1 << 63)],
            ),
            1..40,
        )
    ) {
        let (_folder, path) = scratch();
        written(&path);
        let file = File::options().write(true).open(&path).unwrap();
        for (word, value) in damage {
            file.write_all_at(&value.to_ne_bytes(), 8 * word).unwrap();
        }
        exercise(&path);
    }

    /// A sound header, and behind it pages of noise; some of it looks like numbers of pages.
    #[test]
    fn noise_in_any_page_never_panics(
        first in 1u64..24,
        noise in prop::collection::vec(prop_oneof![any::<u64>(), 0..24u64], 512 * 8),
    ) {
        let (_folder, path) = scratch();
        written(&path);
        let file = File::options().write(true).open(&path).unwrap();
        let bytes: Vec<u8> = noise.iter().flat_map(|word| word.to_ne_bytes()).collect();
        file.write_all_at(&bytes, 4096 * first).unwrap();
        prop_assert!(Recording::open(&path).is_ok());
        exercise(&path);
    }

    /// A saved file may end wherever what is in use ends, and nowhere before.
    #[test]
    fn truncated_saved_file_is_detected(less in 1u64..5000) {
        let (_folder, path) = scratch();
        let used = written(&path);
        let saved = path.with_extension("saved");
        Recording::load(&path).unwrap().save(&saved).unwrap();
        prop_assert!(Recording::load(&saved).is_ok());
        prop_assert!(matches!(reason(&saved), Reason::Truncated { .. }), "it cannot be joined");
        File::options().write(true).open(&saved).unwrap().set_len(used - less).unwrap();
        let error = Recording::load(&saved).unwrap_err();
        let Reason::Truncated { expected, .. } = error.reason else { panic!("{error}") };
        prop_assert_eq!(expected, used);
    }
}
