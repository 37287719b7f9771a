//! Holds and waits: those that go on while the recording is read, and those that another thread ends.

use super::{Scratch, counts, key, only, small};
use std::os::unix::fs::FileExt;
use unspin_wire::{
    AttemptOutcome, Event, Key, Level, Reason, RecordKind, Recording, RowRef, Snapshot, Table, VERSION,
};

#[test]
fn running_hold_is_counted_up_to_now() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let table = recording.claim().unwrap();
    let places = [1, 2].map(|lock| table.publish(key(lock)).unwrap());
    let since = unspin_sys::clock::ticks();
    for (lock, place) in [1, 2].into_iter().zip(places) {
        table.count_attempt(place);
        table.begin_hold(key(lock).lock, place, since, None);
    }
    let during = recording.snapshot();
    let holds = |snapshot: &Snapshot| only(snapshot).threads[0].holds.clone();
    assert_eq!(holds(&during).iter().map(|(key, _)| *key).collect::<Vec<_>>(), [key(1), key(2)]);
    let passed = counts(&during, key(1)).hold;
    assert!(passed > 0 && counts(&during, key(1)).timed == 1);

    let held = table.end_hold(key(1).lock).expect("it is held");
    assert_eq!((held.row_ref(), held.since), (places[0], since));
    let hold = unspin_sys::clock::ticks() - since;
    table.add_hold(held.row_ref(), hold);
    let after = recording.snapshot();
    assert_eq!(holds(&after).len(), 1);
    assert_eq!((counts(&after, key(1)).hold, counts(&after, key(1)).timed), (hold, 1));
    assert!(hold >= passed && table.holds(key(2).lock) && !table.holds(key(1).lock));
}

/// A lock that is held at the end, from one of two callers, after a wait.
#[test]
fn running_hold_counts_for_the_thread_that_took_the_lock() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let table = recording.claim().unwrap();
    let callers = [1, 2, 3].map(|caller| Key { caller, ..key(1) });
    let places = callers.map(|key| table.publish(key).unwrap());
    places.iter().for_each(|&place| table.count_attempt(place));
    // The first of two holds ended unseen.
    table.begin_hold(callers[0].lock, places[0], unspin_sys::clock::ticks(), Some((3, 300)));
    table.begin_hold(callers[1].lock, places[1], unspin_sys::clock::ticks(), Some((5, 700)));
    let snapshot = recording.snapshot();
    let timed = callers.map(|key| counts(&snapshot, key).timed);
    let waited = callers.map(|key| (counts(&snapshot, key).wait(), counts(&snapshot, key).wait_max));
    assert_eq!((timed, waited), ([0, 1, 0], [(0, 0), (705, 705), (0, 0)]));
    assert_eq!(only(&snapshot).threads[0].holds.iter().map(|hold| hold.0).collect::<Vec<_>>(), [callers[1]]);
}

#[test]
fn running_wait_counts_as_lost() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let table = recording.claim().unwrap();
    let place = table.publish(key(1)).unwrap();
    table.count_attempt(place);
    table.reclassify_attempt(place, AttemptOutcome::NoWait, AttemptOutcome::Slept);
    table.set_wait_start(place, unspin_sys::clock::ticks());
    std::thread::sleep(std::time::Duration::from_millis(2));
    let during = recording.snapshot();
    let counts = only(&during).rows[&key(1)].counts;
    assert!(during.window.to_seconds(counts.sleep) >= 0.002 && counts.wait_max == counts.sleep, "{counts:?}");
    assert_eq!(only(&during).threads[0].waits.map(|(key, _)| key), Some(key(1)));
    let in_progress = only(&during).rows[&key(1)].waits_in_progress;
    assert_eq!((in_progress.counted, in_progress.ticks), (counts.waiters(), counts.wait()));

    table.set_wait_start(place, 0);
    let after = recording.snapshot();
    assert_eq!(only(&after).rows[&key(1)].waits_in_progress.counted, 0);
    assert_eq!((only(&after).rows[&key(1)].counts.sleep, only(&after).threads[0].waits), (0, None));
}

/// Two readers at the end: there has been one since the first of them came.
#[test]
fn lock_held_for_reading_is_in_use() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let tables = [recording.claim().unwrap(), recording.claim().unwrap()];
    let read = Key::new(RecordKind::Read, 64, 7);
    let since = unspin_sys::clock::ticks();
    for (table, since) in tables.iter().zip([since + 1000, since]) {
        let place = table.publish(read).unwrap();
        table.count_attempt(place);
        table.begin_hold(read.lock, place, since, None);
    }
    std::thread::sleep(std::time::Duration::from_millis(1));
    let counts = counts(&recording.snapshot(), read);
    assert_eq!((counts.timed, counts.busy), (2, counts.hold_max));
    assert!(counts.hold > counts.busy && counts.busy > counts.hold / 2);
}

#[test]
fn foreign_unlock_takes_over_the_hold() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let (taker, releaser) = (recording.claim().unwrap(), recording.claim().unwrap());
    let place = taker.publish(key(1)).unwrap();
    taker.begin_hold(key(1).lock, place, 1000, None);
    assert_eq!(releaser.end_hold(key(1).lock), None);
    assert_eq!(recording.take_over(&releaser, key(2).lock, 100), None);
    let held = recording.take_over(&releaser, key(1).lock, 100).expect("its taker has it");
    assert_eq!((held.row_ref(), held.since), (place, 1000));
    assert_eq!(recording.take_over(&releaser, key(1).lock, 100), None, "it is taken once");
    let end = recording.snapshot();
    assert!(only(&end).threads.iter().all(|thread| thread.holds.is_empty()));
    assert_eq!(end.event(Event::ForeignUnlock), 1);
}

/// A thread that is killed between a release and the note of it is not shown as a second holder.
#[test]
fn exclusive_lock_has_one_holder() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let (late, early) = (recording.claim().unwrap(), recording.claim().unwrap());
    let now = unspin_sys::clock::ticks();
    for (table, since) in [(&late, now), (&early, now - 1000)] {
        let place = table.publish(key(1)).unwrap();
        table.begin_hold(key(1).lock, place, since, None);
    }
    let end = recording.snapshot();
    let holders: Vec<usize> = only(&end).threads.iter().map(|thread| thread.holds.len()).collect();
    assert_eq!(holders, [1, 0]);
}

/// Begins the second hold of key 1, which stands for 16; the first one was timed.
fn begin_sample(table: &Table<'_>, since: u64) -> RowRef {
    let row = table.publish(key(1)).unwrap();
    table.count_attempt(row);
    table.add_hold(row, 5);
    table.count_attempt(row);
    assert_eq!(table.acquisitions(row), 2);
    table.begin_sample_hold(key(1).lock, row, since, None);
    row
}

#[test]
fn hold_that_stands_for_16_counts_as_one_before_its_end_and_as_16_after() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Auto));
    let table = recording.claim().unwrap();
    let row = begin_sample(&table, unspin_sys::clock::ticks());
    let during = counts(&recording.snapshot(), key(1));
    assert_eq!((during.timed, during.implied), (2, 0));
    assert_eq!(during.hold, 5 + during.hold_max);

    assert_eq!(table.end_last_hold(key(1).lock), None, "it is no plain hold");
    let held = table.end_hold(key(1).lock).unwrap();
    assert_eq!((held.row_ref(), held.holds(), held.wait), (row, 16, None));
    table.add_holds(row, 1000, held.holds());
    let after = counts(&recording.snapshot(), key(1));
    assert_eq!((after.timed, after.implied, after.hold, after.hold_max), (2, 15, 16_005, 1000));
    assert_eq!(after.hold_in_all(), 16_005.0 * 2.0 / 17.0);

    table.begin_sample_hold(key(1).lock, row, 1, Some((3, 300)));
    let held = table.end_hold(key(1).lock).unwrap();
    assert_eq!((held.row_ref(), held.holds(), held.wait), (row, 16, Some((3, 300))));
}

/// Version 4 had no weights, and the word that says now for how many holds others stand could be the number of timed ones.
#[test]
fn recording_of_version_4_is_read_and_not_written() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let table = recording.claim().unwrap();
    let row = table.publish(key(1)).unwrap();
    table.add_holds(row, 7, 16);
    let file = std::fs::File::options().write(true).open(scratch.path()).unwrap();
    file.write_all_at(&4u64.to_ne_bytes(), 8).unwrap();
    let read = counts(&Recording::load(&scratch.path()).unwrap().snapshot(), key(1));
    assert_eq!((read.timed, read.implied), (16, 0));
    let error = Recording::open(&scratch.path()).unwrap_err();
    assert!(matches!(error.reason, Reason::Version { found: 4 }), "{error}");

    file.write_all_at(&(VERSION + 1).to_ne_bytes(), 8).unwrap();
    let error = Recording::load(&scratch.path()).unwrap_err();
    assert!(error.to_string().contains("has format version 6, this unspin reads 4 to 5"), "{error}");
}
