//! Recordings used as they are meant to be: by several processes and threads, through signals and SIGKILL.

use std::fs::File;
use std::os::unix::thread::JoinHandleExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst};
use unspin_sys::fault::survive_shrinking;
use unspin_wire::{
    AttemptOutcome, Config, Counts, Event, FirstUse, Image, Key, Level, Record, RecordKind, Recording,
    Registers, RowRef, Sample, Snapshot, Table,
};

const SPUN: Sample = Sample { outcome: AttemptOutcome::Spun, hold: 3, spun: 2, slept: 0 };

fn small(level: Level) -> Config {
    Config { bytes: 4 << 20, cpus: 2, level }
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
    Key::new(RecordKind::Mutex, lock as usize, 1)
}

fn attempts(snapshot: &Snapshot) -> u64 {
    snapshot.total().attempts()
}

/// The counts of a key, over all processes.
fn counts(snapshot: &Snapshot, key: Key) -> Counts {
    let mut counts = Counts::default();
    for record in snapshot.images.iter().filter_map(|image| image.rows.get(&key)) {
        counts.merge(&record.counts);
    }
    counts
}

/// The only process that recorded.
fn only(snapshot: &Snapshot) -> &Image {
    assert_eq!(snapshot.images.len(), 1);
    &snapshot.images[0]
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
    let recording = scratch.create(small(Level::Full));
    let mut writers: Vec<i32> = (0..2)
        .map(|_| {
            child(|| {
                let joined = Recording::open(&scratch.path()).unwrap();
                let table = joined.claim().unwrap();
                for n in 0..SAMPLES {
                    table.record(key(1 + n % 3), &SPUN);
                }
                table.count_event(Event::HandOff, SAMPLES);
            })
        })
        .collect();
    let mut before = recording.snapshot();
    while !writers.is_empty() {
        let now = recording.snapshot();
        for (image, later) in before.images.iter().zip(&now.images) {
            for (key, Record { counts, .. }) in &image.rows {
                let later = &later.rows[key].counts;
                assert!(later.spun >= counts.spun && later.hold >= counts.hold && later.spin >= counts.spin);
            }
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
        timed: each,
        hold: 3 * each,
        hold_max: 3,
        spin: 2 * each,
        spin_max: 2,
        wait_max: 2,
        ..Counts::default()
    };
    assert_eq!((1..=3).map(|lock| counts(&end, key(lock))).collect::<Vec<_>>(), [expected; 3]);
    assert_eq!(end.event(Event::HandOff), 2 * SAMPLES);
    assert_eq!(
        end.images.iter().map(|image| (image.rows.len(), image.threads.len())).collect::<Vec<_>>(),
        [(3, 1); 2]
    );
    assert!(end.unrecorded.is_nothing());
}

#[test]
fn sigkill_of_a_writer_leaves_a_readable_table() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
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

    let reopened = Recording::load(&scratch.path()).unwrap();
    let (first, second) = (reopened.snapshot(), reopened.snapshot());
    assert_eq!(only(&first).rows, only(&second).rows);
    let counts = counts(&first, key(1));
    // Killed at any instruction: at most one sample is in the count and not yet in a time.
    assert!(counts.spun >= 1000);
    assert!([3 * counts.spun, 3 * (counts.spun - 1)].contains(&counts.hold));
    assert!([2 * counts.spun, 2 * (counts.spun - 1)].contains(&counts.spin));
}

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

#[test]
fn process_and_child_are_two_images() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let table = recording.claim().unwrap();
    table.record(key(1), &SPUN);
    let pid = child(|| {
        // Releasing the inherited table has no effect in the child: its own table is another.
        recording.release(table, None);
        let own = recording.claim().unwrap();
        own.record(key(1), &SPUN);
        own.record(key(2), &SPUN);
        own.count_event(Event::Unmatched, 4);
    });
    assert_eq!(ended(pid, 0), Some(0));
    let end = recording.snapshot();
    let [mother, daughter] = &end.images[..] else { panic!("{} images", end.images.len()) };
    assert_eq!((mother.pid, daughter.pid, daughter.parent), (std::process::id(), pid as u32, mother.pid));
    assert!(daughter.since >= mother.since);
    assert_eq!((mother.rows.len(), daughter.rows.len()), (1, 2));
    assert_eq!(mother.threads[0].tid, mother.pid.max(mother.threads[0].tid), "still alive");
    assert_eq!(mother.events[Event::Unmatched as usize], 0);
    assert_eq!(daughter.events[Event::Unmatched as usize], 4);
    let command: Vec<String> = std::env::args().collect();
    assert_eq!((&mother.command, &daughter.command), (&command, &command));
}

#[test]
fn modules_are_listed_by_generation() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let mut code = Vec::new();
    let table = recording.claim().unwrap();
    recording.note_modules(&table, &mut |range| code.push(range));
    let here = modules_are_listed_by_generation as fn() as usize as u64;
    assert!(code.iter().any(|range| range.contains(&here)), "{here:#x} {code:x?}");

    table.record(key(1), &SPUN);
    recording.note_modules(&table, &mut |_| ());
    table.record(key(2), &SPUN);

    let end = recording.snapshot();
    let image = only(&end);
    assert_eq!(image.modules.len(), 2);
    for text in &image.modules {
        let text = std::str::from_utf8(text).unwrap();
        let program = std::env::current_exe().unwrap();
        assert!(text.ends_with('\n') && text.contains(program.to_str().unwrap()), "{text}");
        let is_build = |line: &str| line.starts_with("id ") || line.starts_with("stamp ");
        assert!(text.lines().any(is_build), "{text}");
        assert!(
            text.lines().all(|line| line.contains('/') || line.contains('[') || is_build(line)),
            "{text}"
        );
    }
    let first_use = |lock| image.rows[&key(lock)].first_use;
    assert_eq!((first_use(1).generation, first_use(2).generation), (1, 2));
    assert!(
        first_use(1) <= FirstUse { generation: 0, ..first_use(2) },
        "{:?} {:?}",
        first_use(1),
        first_use(2)
    );
}

#[test]
fn stack_is_kept_once_per_lock_and_caller() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    let secret: [u8; 64] = core::array::from_fn(|n| n as u8 ^ 0x5A);
    let registers = Registers { ip: 1, sp: std::hint::black_box(&secret).as_ptr() as u64, bp: 77 };
    let table = recording.claim().unwrap();
    let (lock, other_caller) = (key(1), Key { caller: 9, ..key(1) });
    for key in [lock, lock, other_caller, other_caller] {
        recording.keep_stack(&table, key, registers);
    }
    let end = recording.snapshot();
    let stacks = &only(&end).stacks;
    assert_eq!(stacks.iter().map(|stack| stack.key).collect::<Vec<_>>(), [lock, other_caller]);
    for stack in stacks {
        assert_eq!((stack.sp, stack.bp, &stack.bytes[..64]), (registers.sp, 77, &secret[..]));
        assert!(stack.bytes.len() <= 4096);
    }
}

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

    table.set_wait_start(place, 0);
    let after = recording.snapshot();
    assert_eq!((only(&after).rows[&key(1)].counts.sleep, only(&after).threads[0].waits), (0, None));
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

#[test]
fn process_without_threads_is_not_shown() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    assert_eq!(recording.snapshot().images, []);
    assert!(recording.claim().is_some());
    assert_eq!(recording.snapshot().images.len(), 1);
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
