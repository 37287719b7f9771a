//! The file of a recording: saved, full, truncated.

use super::{SPUN, Scratch, attempts, key, small};
use std::fs::File;
use unspin_sys::fault::survive_shrinking;
use unspin_wire::{Config, Event, Level, Recording, RowRef, Table};

#[test]
fn saved_recording_equals_the_live_one() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Sampled { every: 7 }));
    let table = recording.claim().unwrap();
    for lock in 1..=100 {
        table.record(key(lock), &SPUN);
    }
    let place = table.find(key(5)).unwrap();
    table.begin_hold(key(5).lock, place, unspin_sys::clock::ticks(), None);
    recording.finish(Some(std::time::Duration::from_millis(1500)));
    let kept = scratch.folder.path().join("kept");
    recording.save(&kept).unwrap();
    let before = recording.snapshot();
    assert_eq!(before.window.cpu_seconds, Some(1.5));
    let size = std::fs::metadata(&kept).unwrap().len();
    assert!(size == recording.bytes() && size < 4 << 20, "{size}");

    let loaded = Recording::load(&kept).unwrap();
    assert_eq!(loaded.snapshot(), before);
    // And once more from there.
    let again = scratch.folder.path().join("again");
    loaded.save(&again).unwrap();
    assert_eq!(Recording::load(&again).unwrap().snapshot(), before);
    assert!(loaded.claim().is_none(), "a recording that is read is not written to");
}

/// A file of the smallest size, and one that holds some rows: records that do not fit are counted as dropped.
#[test]
fn full_file_counts_dropped_samples() {
    let scratch = Scratch::new();
    let recording = scratch.create(Config { bytes: 8 * 4096, ..small(Level::Full) });
    let tables: Vec<Option<Table<'_>>> = (0..10).map(|_| recording.claim()).collect();
    let refused = tables.iter().filter(|table| table.is_none()).count() as u64;
    assert!(refused > 0);
    assert_eq!(recording.snapshot().unrecorded.threads, refused);

    let scratch = Scratch::new();
    let recording = scratch.create(Config { bytes: 64 * 4096, ..small(Level::Full) });
    let table = recording.claim().unwrap();
    for lock in 1..=10_000 {
        table.record(key(lock), &SPUN);
    }
    let end = recording.snapshot();
    assert!(end.unrecorded.overflowed > 0);
    assert_eq!(attempts(&end) + end.unrecorded.overflowed, 10_000);
    assert!(recording.bytes() <= 64 * 4096);
}

/// A truncated file stands in for a full file system: its pages cannot be allocated. No process may touch them.
#[test]
fn full_file_system_counts_dropped_samples() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let file = File::options().write(true).open(scratch.path()).unwrap();
    let table = recording.claim().unwrap();
    file.set_len(recording.bytes()).unwrap();
    table.record(key(1), &SPUN);
    table.count_event(Event::FastPath, 1);
    assert!(recording.claim().is_none());

    let end = recording.snapshot();
    assert_eq!((end.unrecorded.overflowed, end.unrecorded.threads, end.images.len()), (1, 1, 1));
    assert_eq!(end.event(Event::FastPath), 1);
}

/// Some are cut inside the thread's pages, so that the header stays until they are used.
#[test]
fn recording_that_is_cut_short_takes_no_more_and_has_nothing() {
    survive_shrinking().unwrap();
    for left in [0, 100, 4096, 5 * 4096] {
        let scratch = Scratch::new();
        let recording = scratch.create(small(Level::Full));
        let joined = Recording::open(&scratch.path()).unwrap();
        let table = joined.claim().unwrap();
        table.record(key(1), &SPUN);
        assert!(!recording.is_lost() && !recording.is_cut_short() && !joined.is_lost());
        let read = Recording::load(&scratch.path()).unwrap();

        File::options().write(true).open(scratch.path()).unwrap().set_len(left).unwrap();
        for lock in 1..1000 {
            table.record(key(lock), &SPUN);
            table.begin_hold(lock, RowRef::NONE, 1, None);
            table.end_hold(lock);
        }
        assert_eq!(joined.take_over(&table, 5, 100), None);
        assert!(joined.is_lost() && joined.claim().is_none());
        joined.release(table, None);
        joined.update_last_seen();
        for recording in [&recording, &read] {
            assert_eq!(recording.snapshot().images, [], "{left}");
            assert!(recording.is_lost() && recording.is_cut_short() && recording.owners().is_empty());
        }
        let copy = scratch.folder.path().join("copy");
        assert!(recording.save(&copy).is_err() && !copy.exists());
    }
}

#[test]
fn recording_that_is_cut_behind_its_records_keeps_them() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let table = recording.claim().unwrap();
    table.record(key(1), &SPUN);
    File::options().write(true).open(scratch.path()).unwrap().set_len(recording.bytes()).unwrap();
    for lock in 1..1000 {
        table.record(key(lock), &SPUN);
    }
    let snapshot = recording.snapshot();
    assert!(recording.is_cut_short() && !recording.is_lost() && attempts(&snapshot) >= 2);
    let copy = scratch.folder.path().join("copy");
    recording.save(&copy).unwrap();
    assert_eq!(attempts(&Recording::load(&copy).unwrap().snapshot()), attempts(&snapshot));
}
