//! Recordings of several processes: written at once, killed, forked.

use super::{SPUN, Scratch, attempts, child, counts, ended, key, only, small};
use unspin_wire::{Counts, Event, Level, Record, Recording};

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
fn process_without_threads_is_not_shown() {
    let scratch = Scratch::new();
    let recording = scratch.create(small(Level::Full));
    assert_eq!(recording.snapshot().images, []);
    assert!(recording.claim().is_some());
    assert_eq!(recording.snapshot().images.len(), 1);
}
