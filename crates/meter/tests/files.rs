//! Files that are no recordings, or were: errors that say what to do, never a panic, never a hang.

use proptest::prelude::*;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use unspin_meter::{Comparison, Config, Event, Key, Outcome, Reason, Recording, Report, Sample};

/// Bytes of a recording with one table: a page for the file, a page and 1024 slots of 128 bytes for the table.
const BYTES: u64 = 4096 + 4096 + 1024 * 128;

fn scratch() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording");
    (folder, path)
}

/// A small recording with something in it, closed.
fn written(path: &Path) {
    let recording = Recording::create(path, Config { tables: 1, cpus: 2 }).unwrap();
    let table = recording.claim().unwrap();
    for lock in 1..=50 {
        table
            .record(Key { lock, caller: 3 }, &Sample { outcome: Outcome::Slept, hold: 9, spun: 8, slept: 7 });
    }
    table.count(Event::GracePeriod, 2);
    recording.release(table);
    recording.finish(None);
}

fn reason(path: &Path) -> Reason {
    let error = Recording::open(path).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(path.to_str().unwrap()) && !text.contains('\n'), "{text}");
    error.reason
}

/// Uses a file that may hold anything in every way there is.
fn exercise(path: &Path) {
    let Ok(recording) = Recording::open(path) else { return };
    let report = Report::from_recording(&recording, &|_| None);
    let _ = (report.to_string(), report.lockmeter(), Comparison::new().with("a", &report).to_string());
    serde_json::to_string(&report).unwrap();
    for _ in 0..3 {
        if let Some(table) = recording.claim() {
            table.record(
                Key { lock: 1, caller: 1 },
                &Sample { outcome: Outcome::NoWait, hold: 1, spun: 0, slept: 0 },
            );
            recording.release(table);
        }
    }
    recording.snapshot();
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
    assert!(matches!(reason(&path), Reason::CutShort { expected: BYTES, found } if found == BYTES - 1));
    file.set_len(100).unwrap();
    assert!(matches!(reason(&path), Reason::CutShort { found: 100, .. }));
    file.set_len(BYTES).unwrap();
    file.write_all_at(&2u64.to_ne_bytes(), 8).unwrap();
    assert!(matches!(reason(&path), Reason::Version { found: 2 }));
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
            "recording {} has format version 9, this unspin reads 1; read it with the unspin that made it or \
             record again",
            path.display()
        )
    );
    let tables = Config { tables: 0, cpus: 1 };
    let error = Recording::create(Path::new("/nowhere/x"), tables).unwrap_err().to_string();
    assert_eq!(
        error,
        "recording /nowhere/x: 0 thread tables asked for, at least 1 and at most 262144 are possible"
    );
}

#[test]
fn a_failed_creation_leaves_nothing_behind() {
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
    fn any_cut_is_noticed(length in 0..BYTES) {
        let (_folder, path) = scratch();
        written(&path);
        File::options().write(true).open(&path).unwrap().set_len(length).unwrap();
        match reason(&path) {
            Reason::NotARecording => prop_assert!(length < 8),
            Reason::CutShort { found, .. } => prop_assert_eq!(found, length),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    /// Words overwritten anywhere, those of the header's first lines more often.
    #[test]
    fn damage_never_panics(
        damage in prop::collection::vec(
            (
                prop_oneof![0..56u64, 512..540u64, 0..BYTES / 8],
                prop_oneof![any::<u64>(), 0..4u64, Just(u64::MAX), Just(1 << 63)],
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

    /// A sound header over a table of noise.
    #[test]
    fn noise_in_the_table_never_panics(noise in prop::collection::vec(any::<u64>(), 2048)) {
        let (_folder, path) = scratch();
        written(&path);
        let file = File::options().write(true).open(&path).unwrap();
        let bytes: Vec<u8> = noise.iter().flat_map(|word| word.to_ne_bytes()).collect();
        file.write_all_at(&bytes, 4096).unwrap();
        prop_assert!(Recording::open(&path).is_ok());
        exercise(&path);
    }
}
