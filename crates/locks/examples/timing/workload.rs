//! Threads that acquire a lock, hold it, release it and think.

use core::hint::black_box;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

/// On which CPUs the threads run.
#[derive(Clone, Copy)]
pub enum Place {
    /// Thread *i* on CPU *i* (modulo their number): the same in each round.
    Spread,
    /// The scheduler decides.
    Free,
}

/// One combination to measure.
#[derive(Clone, Copy)]
pub struct Point {
    pub threads: usize,
    pub hold_ns: u64,
    pub think_ns: u64,
    pub place: Place,
}

/// Work of a given length in nanoseconds.
pub struct Work {
    steps_per_us: u64,
}

impl Work {
    /// Calibrates with the fastest of some tries, because interference by other programs slows the others down.
    pub fn calibrate() -> Work {
        const STEPS: u64 = 100_000;
        let once = || {
            let begin = Instant::now();
            run(STEPS);
            begin.elapsed()
        };
        let fastest = (0..50).map(|_| once()).min().unwrap_or_default();
        Work { steps_per_us: STEPS * 1_000 / (fastest.as_nanos() as u64).max(1) }
    }

    fn steps(&self, ns: u64) -> u64 {
        ns * self.steps_per_us / 1_000
    }
}

#[inline(always)]
fn run(steps: u64) {
    for step in 0..steps {
        black_box(step);
    }
}

/// A mutex as this program uses it.
pub trait Mutex: Sync {
    fn new() -> Self;
    /// Runs `body` with the lock held.
    fn with(&self, body: impl FnOnce());
}

/// A value alone on its cache line.
#[repr(align(128))]
struct Line<T>(T);

/// Binds the calling thread to one of the CPUs that it may run on: number modulo their count.
fn stay_on(number: usize) {
    // SAFETY: two live CPU sets of the given size. A thread that cannot be bound stays where it is.
    unsafe {
        let mut allowed: libc::cpu_set_t = core::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&allowed), &mut allowed);
        let cpus: Vec<usize> =
            (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &allowed)).collect();
        let mut one: libc::cpu_set_t = core::mem::zeroed();
        if let Some(&cpu) = cpus.get(number % cpus.len().max(1)) {
            libc::CPU_SET(cpu, &mut one);
            libc::sched_setaffinity(0, size_of_val(&one), &one);
        }
    }
}

/// The result of a run.
pub struct Run {
    /// How often each thread got the lock.
    pub counts: Vec<u64>,
    /// Measured duration. It may exceed the requested time if threads outnumber CPUs.
    pub took: Duration,
}

/// Runs the threads for `time`.
pub fn run_threads<M: Mutex>(work: &Work, point: Point, time: Duration) -> Run {
    let lock = Line(M::new());
    let stop = Line(AtomicBool::new(false));
    let start = Barrier::new(point.threads + 1);
    let (hold, think) = (work.steps(point.hold_ns), work.steps(point.think_ns));
    thread::scope(|s| {
        let threads: Vec<_> = (0..point.threads)
            .map(|number| {
                let (lock, stop, start) = (&lock, &stop, &start);
                s.spawn(move || {
                    if let Place::Spread = point.place {
                        stay_on(number);
                    }
                    start.wait();
                    let begin = Instant::now();
                    let mut count = 0;
                    // Relaxed: only a stop flag; no data is read after it.
                    while !stop.0.load(Ordering::Relaxed) {
                        lock.0.with(|| run(hold));
                        run(think);
                        count += 1;
                    }
                    (begin, count)
                })
            })
            .collect();
        start.wait();
        thread::sleep(time);
        // Relaxed: as above.
        stop.0.store(true, Ordering::Relaxed);
        let end = Instant::now();
        let ended = threads.into_iter().map(|thread| thread.join().expect("it only counts"));
        let (began, counts): (Vec<_>, Vec<_>) = ended.unzip();
        // The first thread may begin long before this thread goes to sleep, so the duration counts from there.
        Run { counts, took: began.into_iter().min().map_or(time, |begin| end.duration_since(begin)) }
    })
}
