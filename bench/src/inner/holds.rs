//! Two threads that hold a lock, and think, for times that they measure themselves.
//!
//! The result is the actual times, not the planned ones: if a thread loses its CPU while it holds the lock, the lock is
//! held for longer, and both the thread and a meter see that.

use super::known_counts::KnownCounts;
use super::lock::{Lock, LockKind};
use super::own_sets::{allowed_cpus, bind_to};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};
use unspin_sys::clock;

/// The length of a hold. It is long compared with the cost of measuring it (some 0.3 us each time, as reading a CPU
/// clock is a system call).
const HOLD_US: u64 = 40;
/// A thread thinks between half and one and a half of this. Times that vary keep the two from falling into step.
const THINK_US: u64 = 60;
const THREADS: usize = 2;

/// What both did, together.
pub fn run(kind: LockKind, time_ms: u64) -> Result<Vec<KnownCounts>, String> {
    let cpus = allowed_cpus();
    if cpus.len() < THREADS {
        return Err(format!("{THREADS} threads want as many CPUs, and there are {}", cpus.len()));
    }
    let lock = Lock::boxed(kind);
    let (is_held, ready) = (AtomicBool::new(false), Barrier::new(THREADS));
    let shared = Shared { lock: &lock, is_held: &is_held, per_us: clock::ticks_per_second() as f64 / 1e6 };
    let time = Duration::from_millis(time_ms);
    let parts: Vec<Result<KnownCounts, String>> = std::thread::scope(|scope| {
        let work = |cpu| {
            let ready = &ready;
            scope.spawn(move || {
                bind_to(cpu)?;
                ready.wait();
                Ok(shared.work(cpu as u64, time))
            })
        };
        let threads: Vec<_> = cpus[..THREADS].iter().map(|&cpu| work(cpu)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned()))
        };
        threads.into_iter().map(join).collect()
    });
    let mut all = KnownCounts::new(lock.kind(), lock.address());
    for part in parts {
        let part = part?;
        all.acquired += part.acquired;
        all.contended += part.contended;
        all.held_s += part.held_s;
        all.spun_s += part.spun_s;
    }
    Ok(vec![all])
}

/// What the threads share.
#[derive(Clone, Copy)]
struct Shared<'a> {
    lock: &'a Lock,
    /// Set and cleared by the thread that holds the lock.
    is_held: &'a AtomicBool,
    /// Ticks in a microsecond.
    per_us: f64,
}

impl Shared<'_> {
    fn work(&self, seed: u64, time: Duration) -> KnownCounts {
        let started = Instant::now();
        let (mut truth, mut held) = (KnownCounts::default(), 0);
        let mut random = seed + 1;
        while started.elapsed() < time {
            // Knuth's MMIX generator; its upper bits are good enough for a pause.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.pass(THINK_US / 2 + (random >> 33) % THINK_US);
            // Relaxed: a question about this moment, answered as well as it can be.
            let contended = self.is_held.load(Relaxed);
            let cpu = clock::thread_cpu_ns();
            self.lock.lock();
            let begin = clock::ticks();
            // Relaxed: as above.
            self.is_held.store(true, Relaxed);
            let burnt = clock::thread_cpu_ns() - cpu;
            self.pass(HOLD_US);
            // Relaxed: as above.
            self.is_held.store(false, Relaxed);
            held += clock::ticks() - begin;
            self.lock.unlock();
            truth.acquired += 1;
            if contended {
                truth.contended += 1;
                truth.spun_s += burnt as f64 / 1e9;
            }
        }
        truth.held_s = held as f64 / (1e6 * self.per_us);
        truth
    }

    /// Lets time pass, on the CPU.
    fn pass(&self, us: u64) {
        let (begin, ticks) = (clock::ticks(), (us as f64 * self.per_us) as u64);
        while clock::ticks() - begin < ticks {
            std::hint::spin_loop();
        }
    }
}
