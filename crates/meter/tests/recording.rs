//! Recordings used as they are meant to be: by several processes and threads, through signals and SIGKILL.

use std::fs::File;
use std::os::unix::thread::JoinHandleExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst};
use unspin_meter::{Config, Counts, Event, Key, Outcome, Recording, Sample, Snapshot, Table};

const SPUN: Sample = Sample { outcome: Outcome::Spun, hold: 3, spun: 2, slept: 0 };

fn small(tables: u32) -> Config {
    Config { tables, cpus: 2 }
}

struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Scratch {
        Scratch { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("recording")
    }

    fn create(&self, config: Config) -> Recording {
        Recording::create(&self.path(), config).unwrap()
    }
}

fn key(lock: u64) -> Key {
    Key { lock, caller: 1 }
}

fn attempts(snapshot: &Snapshot) -> u64 {
    snapshot.rows.values().map(Counts::attempts).sum()
}

/// Runs `body` in a forked child; returns its pid.
fn child(body: impl FnOnce()) -> i32 {
    // SAFETY: the child uses no lock that another thread of the test could have held (glibc re-initialises its
    // allocator's), and leaves without running anything of the test harness.
    unsafe {
        let pid = libc::fork();
        assert!(pid >= 0, "fork");
        if pid == 0 {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            libc::_exit(i32::from(result.is_err()));
        }
        pid
    }
}

/// The exit status, if the child has ended.
fn ended(pid: i32, flags: i32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: `status` is live.
    let found = unsafe { libc::waitpid(pid, &mut status, flags) };
    (found == pid).then_some(status)
}

#[test]
fn two_processes_write_while_a_third_reads() {
    const SAMPLES: u64 = 300_000;
    let scratch = Scratch::new();
    let recording = scratch.create(small(8));
    let mut writers: Vec<i32> = (0..2)
        .map(|_| {
            child(|| {
                let joined = Recording::open(&scratch.path()).unwrap();
                let table = joined.claim().unwrap();
                for n in 0..SAMPLES {
                    table.record(key(1 + n % 3), &SPUN);
                }
                table.count(Event::HandOff, SAMPLES);
            })
        })
        .collect();
    let mut before = recording.snapshot();
    while !writers.is_empty() {
        let now = recording.snapshot();
        for (key, counts) in &before.rows {
            let later = &now.rows[key];
            assert!(later.spun >= counts.spun && later.hold >= counts.hold && later.spin >= counts.spin);
        }
        before = now;
        writers.retain(|pid| match ended(*pid, libc::WNOHANG) {
            Some(status) => {
                assert_eq!(status, 0);
                false
            }
            None => true,
        });
    }
    let end = recording.snapshot();
    let each = 2 * SAMPLES / 3;
    let expected = Counts {
        spun: each,
        hold: 3 * each,
        hold_max: 3,
        spin: 2 * each,
        spin_max: 2,
        wait_max: 2,
        ..Counts::default()
    };
    assert_eq!(end.rows, (1..=3).map(|lock| (key(lock), expected)).collect());
    assert_eq!(end.events[Event::HandOff as usize], 2 * SAMPLES);
    assert_eq!(end.tables, 2);
    assert!(end.unrecorded.is_nothing());
}

#[test]
fn a_killed_writer_leaves_a_readable_table() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(4));
    let writer = child(|| {
        let joined = Recording::open(&scratch.path()).unwrap();
        let table = joined.claim().unwrap();
        loop {
            table.record(key(1), &SPUN);
        }
    });
    while attempts(&recording.snapshot()) < 1000 {
        std::thread::yield_now();
    }
    // SAFETY: our own child, not reaped yet.
    unsafe { libc::kill(writer, libc::SIGKILL) };
    assert_eq!(ended(writer, 0), Some(libc::SIGKILL));
    drop(recording);

    let reopened = Recording::open(&scratch.path()).unwrap();
    let (first, second) = (reopened.snapshot(), reopened.snapshot());
    assert_eq!(first.rows, second.rows);
    let counts = first.rows[&key(1)];
    // Killed at any instruction: at most one sample is in the count and not yet in a time.
    assert!(counts.spun >= 1000);
    assert!([3 * counts.spun, 3 * (counts.spun - 1)].contains(&counts.hold));
    assert!([2 * counts.spun, 2 * (counts.spun - 1)].contains(&counts.spin));
}

#[test]
fn tables_given_back_keep_their_counts_and_serve_again() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(8));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let recording = &recording;
            scope.spawn(move || {
                for _ in 0..100 {
                    let table = recording.claim().unwrap();
                    table.record(key(1 + thread), &SPUN);
                    table.record(key(100), &SPUN);
                    recording.release(table);
                }
            });
        }
    });
    let end = recording.snapshot();
    assert!(end.tables <= 4, "{} tables for 4 threads", end.tables);
    assert_eq!(end.rows[&key(100)].hold, 3 * 400);
    assert_eq!((1..=4).map(|lock| end.rows[&key(lock)].spun).collect::<Vec<_>>(), [100; 4]);
    assert!(end.unrecorded.is_nothing());
}

#[test]
fn a_thread_without_a_table_is_counted() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(2));
    let first = recording.claim().unwrap();
    let _second = recording.claim().unwrap();
    assert!(recording.claim().is_none());
    assert!(recording.claim().is_none());
    recording.release(first);
    assert!(recording.claim().is_some());
    assert_eq!(recording.snapshot().unrecorded.threads, 2);
}

#[test]
fn an_inherited_table_is_not_the_childs_to_give_back() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(2));
    let table = recording.claim().unwrap();
    let status = ended(child(|| recording.release(table)), 0);
    assert_eq!(status, Some(0));
    // Were it on the list, there would be two left.
    assert!(recording.claim().is_some());
    assert!(recording.claim().is_none());
}

#[test]
fn a_table_of_another_recording_is_not_taken_back() {
    let (one, other) = (Scratch::new(), Scratch::new());
    let (one, other) = (one.create(small(1)), other.create(small(1)));
    one.release(other.claim().unwrap());
    assert!(one.claim().is_some());
    assert!(one.claim().is_none());
}

/// Cutting the file short stands in for a full file system: the pages cannot be had. Nobody may touch them.
#[test]
fn no_room_is_counted_and_not_a_crash() {
    const PAGE: u64 = 4096;
    let scratch = Scratch::new();
    let recording = scratch.create(small(4));
    let file = File::options().write(true).open(scratch.path()).unwrap();

    file.set_len(2 * PAGE).unwrap(); // the header, and the first table's
    let table = recording.claim().unwrap();
    table.record(key(1), &SPUN);
    table.count(Event::FastPath, 1);
    assert!(recording.claim().is_none());

    let end = recording.snapshot();
    assert_eq!((end.unrecorded.overflowed, end.unrecorded.threads, end.tables), (1, 1, 1));
    assert_eq!(end.events[Event::FastPath as usize], 1);
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
fn handlers_record_or_are_counted() {
    let scratch = Scratch::new();
    let recording: &'static Recording = Box::leak(Box::new(scratch.create(small(2))));
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
    assert_eq!(attempts(&end) + end.unrecorded.reentered, own + HANDLED.load(SeqCst));
    assert_eq!(end.rows[&key(1)].spun, own);
    assert_eq!(end.rows[&key(1)].hold, 3 * own);
}
