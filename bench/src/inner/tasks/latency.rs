//! How long a task waits for a worker while the workers are busy for four fifths of the time.

use super::countdown::Countdown;
use super::runtime::Runtime;
use rand::RngExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use unspin_stats::random::{Purpose, stream};

/// How long each task computes.
const WORK: Duration = Duration::from_micros(100);
const LOAD: f64 = 0.8;
const SEED: u64 = 7;

/// The waits of all tasks, in nanoseconds, sorted.
pub struct TaskWaits(Vec<u64>);

impl TaskWaits {
    /// The wait that this share of tasks did not exceed.
    pub fn percentile_us(&self, share: f64) -> f64 {
        let at = ((self.0.len() as f64 * share) as usize).min(self.0.len() - 1);
        self.0[at] as f64 / 1e3
    }
}

/// Starts tasks at random times (a Poisson process), from a thread that is no worker.
pub fn waits<R: Runtime>(runtime: &R, workers: usize, tasks: u64) -> TaskWaits {
    let waits: Arc<[AtomicU64]> = (0..tasks).map(|_| AtomicU64::new(0)).collect();
    let countdown = Countdown::new(tasks);
    let mean_gap = WORK.as_secs_f64() / (LOAD * workers as f64);
    let mut random = stream(SEED, Purpose::Order);
    let began = Instant::now();
    let mut at = 0.0;
    for task in 0..tasks as usize {
        at += -mean_gap * (1.0 - random.random::<f64>()).ln();
        sleep_until(began + Duration::from_secs_f64(at));
        let waits = Arc::clone(&waits);
        let started = Instant::now();
        runtime.spawn(async move {
            let ran = Instant::now();
            // Relaxed: read after the countdown.
            waits[task].store((ran - started).as_nanos() as u64, Relaxed);
            while ran.elapsed() < WORK {
                std::hint::spin_loop();
            }
            countdown.end();
        });
    }
    countdown.wait();
    // Relaxed: as above.
    let mut all: Vec<u64> = waits.iter().map(|wait| wait.load(Relaxed)).collect();
    all.sort_unstable();
    TaskWaits(all)
}

/// Sleeps: a generator that spins would take a worker's CPU. It may be late; the wait is counted from the start.
fn sleep_until(time: Instant) {
    let left = time.saturating_duration_since(Instant::now());
    if !left.is_zero() {
        std::thread::sleep(left);
    }
}
