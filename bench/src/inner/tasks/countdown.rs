//! Counts tasks that have ended. The workers share no word for this, because writing it would cost more than some
//! executors.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Threads that count apart.
const PARTS: usize = 64;
/// A thread that waits longer than this for its tasks gives up: the run has failed.
const TIMEOUT: Duration = Duration::from_secs(50);
/// Time between two looks.
const INTERVAL: Duration = Duration::from_micros(50);

/// On cache lines of its own.
#[derive(Default)]
#[repr(align(128))]
struct Part(AtomicU64);

/// Counts the tasks of a round down, and wakes the main task at zero.
pub struct Countdown {
    tasks: u64,
    ended: [Part; PARTS],
}

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static PART: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn own_part() -> usize {
    PART.with(|part| {
        if part.get() == usize::MAX {
            // Relaxed: a number.
            part.set(THREADS.fetch_add(1, Ordering::Relaxed) % PARTS);
        }
        part.get()
    })
}

impl Countdown {
    /// It lives as long as the process, so that tasks need not count their references to it.
    pub fn new(tasks: u64) -> &'static Countdown {
        Box::leak(Box::new(Countdown { tasks, ended: std::array::from_fn(|_| Part::default()) }))
    }

    /// One task has ended.
    pub fn end(&self) {
        // Release: partner of the Acquire in `wait`.
        self.ended[own_part()].0.fetch_add(1, Ordering::Release);
    }

    /// Waits for the last task.
    pub fn wait(&self) {
        let began = Instant::now();
        // Acquire: partner of the Release in `end`.
        while self.ended.iter().map(|part| part.0.load(Ordering::Acquire)).sum::<u64>() < self.tasks {
            assert!(began.elapsed() < TIMEOUT, "tasks have not ended");
            thread::sleep(INTERVAL);
        }
    }
}
