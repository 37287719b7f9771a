//! Recordings used as they are meant to be: by several processes and threads, through signals and SIGKILL. Here is what the
//! tests share: a recording in a folder of its own, sums over a snapshot, forked children.

mod file;
mod holds;
mod names;
mod processes;
mod tables;

use std::path::PathBuf;
use unspin_wire::{
    AttemptOutcome, Config, Counts, Image, Key, Level, RecordKind, Recording, Sample, Snapshot,
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
