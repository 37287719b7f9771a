//! Tables of threads: their reuse, their levels, signal handlers that record.

use super::{SPUN, Scratch, attempts, counts, key, only, small};
use std::os::unix::thread::JoinHandleExt;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst};
use unspin_wire::{Key, Level, RecordKind, Recording, Table};

#[test]
fn released_tables_keep_their_counts_and_are_reused() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let recording = &recording;
            scope.spawn(move || {
                for _ in 0..100 {
                    let table = recording.claim().unwrap();
                    table.record(key(1 + thread), &SPUN);
                    table.record(key(100), &SPUN);
                    recording.release(table, Some((5, 3)));
                }
            });
        }
    });
    let end = recording.snapshot();
    // Two threads that are first at once each make an image; one of them stays empty.
    let threads: Vec<_> = end.images.iter().flat_map(|image| &image.threads).collect();
    assert!(threads.len() <= 4, "{} tables for 4 threads", threads.len());
    assert!(threads.iter().all(|thread| thread.tid == 0 && thread.holds.is_empty()));
    assert_eq!(threads.iter().map(|thread| thread.on_cpu).sum::<u64>(), 400 * 5);
    assert_eq!(threads.iter().map(|thread| thread.runnable).sum::<u64>(), 400 * 3);
    assert_eq!(counts(&end, key(100)).hold, 3 * 400);
    assert_eq!((1..=4).map(|lock| counts(&end, key(lock)).spun).collect::<Vec<_>>(), [100; 4]);
    assert!(end.unrecorded.is_nothing());
}

/// The preload library and an executor record in one process, each through a mapping of its own.
#[test]
fn second_table_of_a_thread_adds_rows_and_no_thread() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let other = Recording::open(&scratch.path()).unwrap();
    let (table, second) = (recording.claim().unwrap(), other.claim_second().unwrap());
    table.record(key(1), &SPUN);
    second.record(Key::new(RecordKind::RunQueue, 2, 1), &SPUN);
    other.release(second, None);
    recording.release(table, Some((1, 0)));
    let snapshot = recording.snapshot();
    assert_eq!(attempts(&snapshot), 2);
    assert_eq!(snapshot.images.iter().map(|image| image.threads.len()).sum::<usize>(), 1);
}

#[test]
fn each_level_records_what_it_states() {
    for level in [Level::Counts, Level::SAMPLED, Level::Full] {
        let scratch = Scratch::new();
        let recording = scratch.create(small(level));
        let table = recording.claim().unwrap();
        // More than the first block and the first index hold.
        for lock in 1..=700 {
            table.record(key(lock), &SPUN);
            table.record(key(lock), &SPUN);
        }
        let end = recording.snapshot();
        assert_eq!((end.level, recording.level()), (level, level));
        assert_eq!(only(&end).rows.len(), 700);
        for record in only(&end).rows.values() {
            assert_eq!((record.counts.spun, record.counts.hold), (2, 6));
            let times: u64 = record.waits.counts().iter().chain(record.holds.counts()).sum();
            assert_eq!(times, if level == Level::Counts { 0 } else { 4 });
        }
    }
}

/// The table of the thread that the handler interrupts.
static TABLE: AtomicPtr<Table<'static>> = AtomicPtr::new(std::ptr::null_mut());
static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn record_from_handler(_: i32) {
    // SAFETY: set before the first signal is sent and valid until after the last; signals go to the table's
    // own thread only, which is the one that runs this.
    let table = unsafe { &*TABLE.load(SeqCst) };
    table.record(key(2), &SPUN);
    HANDLED.fetch_add(1, SeqCst);
}

#[test]
fn samples_of_signal_handlers_are_recorded_or_counted() {
    let scratch = Scratch::new();
    let recording: &'static Recording = Box::leak(Box::new(scratch.create(small(Level::Full))));
    let handler: extern "C" fn(i32) = record_from_handler;
    // SAFETY: the handler only records, which is made for it, and bumps an atomic.
    unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    let (ready, started) = std::sync::mpsc::channel();
    let recorder = std::thread::spawn(move || {
        // Lives until the process ends, as a last signal may still be on its way.
        let table: *mut Table<'static> = Box::leak(Box::new(recording.claim().unwrap()));
        TABLE.store(table, SeqCst);
        ready.send(()).unwrap();
        // SAFETY: just made, and only ever used by this thread and the handlers that run on it.
        let table = unsafe { &*table };
        let mut recorded = 0;
        while HANDLED.load(SeqCst) < 2000 {
            table.record(key(1), &SPUN);
            recorded += 1;
        }
        recorded
    });
    started.recv().unwrap();
    while HANDLED.load(SeqCst) < 2000 {
        // SAFETY: the thread may have ended, but has not been joined.
        unsafe { libc::pthread_kill(recorder.as_pthread_t(), libc::SIGUSR1) };
        std::thread::yield_now();
    }
    let own = recorder.join().unwrap();
    let end = recording.snapshot();
    assert_eq!(attempts(&end) + end.unrecorded.overflowed, own + HANDLED.load(SeqCst));
    // Only an attempt that interrupted the very first use of a lock can be lost.
    assert!(end.unrecorded.overflowed <= 1, "{:?}", end.unrecorded);
    assert_eq!((counts(&end, key(1)).spun, counts(&end, key(1)).hold), (own, 3 * own));
}
