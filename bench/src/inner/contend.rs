//! Threads that take one lock again and again: how often, and how evenly.

use super::calls::expect;
use super::lock::{Lock, LockKind};
use clap::ValueEnum;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};
use unspin_sys::clock;

/// Whose lock.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contended {
    /// A pthread_mutex_t as PTHREAD_MUTEX_INITIALIZER makes it
    Plain,
    /// A pthread_mutex_t with PTHREAD_PRIO_INHERIT
    Inherit,
    /// A pthread_spinlock_t
    Spin,
    /// parking_lot's Mutex
    ParkingLot,
    /// std's Mutex
    Std,
    /// unspin-locks' adaptive, through lock_api
    Adaptive,
}

/// What each thread does in between.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Time in which the lock is held, on the CPU.
    pub hold_ns: u64,
    /// Time in which it is not.
    pub think_ns: u64,
}

/// Millions of acquisitions per second, and the acquisitions of the thread with the fewest, as a share of an even
/// distribution.
pub fn run(lock: Contended, threads: usize, pace: Pace, time: Duration) -> (f64, f64) {
    match lock {
        Contended::Plain => {
            let mutex = Mutex::new(libc::PTHREAD_PRIO_NONE);
            crowd(threads, pace, time, |hold| mutex.with(hold))
        }
        Contended::Inherit => {
            let mutex = Mutex::new(libc::PTHREAD_PRIO_INHERIT);
            crowd(threads, pace, time, |hold| mutex.with(hold))
        }
        Contended::Spin => {
            let spin = Lock::boxed(LockKind::Spin);
            crowd(threads, pace, time, |hold| {
                spin.lock();
                hold();
                spin.unlock();
            })
        }
        Contended::ParkingLot => {
            let mutex = parking_lot::Mutex::new(());
            crowd(threads, pace, time, |hold| {
                let _guard = mutex.lock();
                hold();
            })
        }
        Contended::Std => {
            let mutex = std::sync::Mutex::new(());
            crowd(threads, pace, time, |hold| {
                let _guard = mutex.lock();
                hold();
            })
        }
        Contended::Adaptive => {
            let mutex = unspin_locks::api::Mutex::<unspin_locks::Adaptive, ()>::new(());
            crowd(threads, pace, time, |hold| {
                let _guard = mutex.lock();
                hold();
            })
        }
    }
}

/// A mutex of the C library.
pub struct Mutex(Box<UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: the object is made to be shared by threads; it is used through the C library only.
unsafe impl Sync for Mutex {}

impl Mutex {
    /// One with this protocol.
    pub fn new(protocol: i32) -> Mutex {
        let mutex = Mutex(Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER)));
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: memory for attributes, which are initialised first; and for a mutex, at the place where it stays.
        unsafe {
            expect(libc::pthread_mutexattr_init(attributes.as_mut_ptr()), 0);
            expect(libc::pthread_mutexattr_setprotocol(attributes.as_mut_ptr(), protocol), 0);
            expect(libc::pthread_mutex_init(mutex.0.get(), attributes.as_ptr()), 0);
        }
        mutex
    }

    /// Holds it during `hold`.
    #[inline(always)]
    pub fn with(&self, hold: impl FnOnce()) {
        // SAFETY: a live mutex.
        expect(unsafe { libc::pthread_mutex_lock(self.0.get()) }, 0);
        hold();
        // SAFETY: as above; this thread holds it.
        expect(unsafe { libc::pthread_mutex_unlock(self.0.get()) }, 0);
    }
}

#[inline(always)]
fn crowd(threads: usize, pace: Pace, time: Duration, with: impl Fn(&dyn Fn()) + Sync) -> (f64, f64) {
    let Ticks { hold, think } = pace.ticks();
    let with = &with;
    rates(threads, time, |_| {
        move || {
            with(&|| pass(hold));
            pass(think);
        }
    })
}

/// How often all threads together do a step, in millions a second, and the steps of the thread with the fewest, as a
/// share of an even distribution. `begin` makes the step of each thread, of its number.
#[inline(always)]
pub fn rates<S: FnMut()>(threads: usize, time: Duration, begin: impl Fn(usize) -> S + Sync) -> (f64, f64) {
    let (ready, stop, begin) = (&Barrier::new(threads + 1), &AtomicBool::new(false), &begin);
    // The last thread at the barrier is the first that goes on. This one may get a CPU only when the others have worked for some
    // time slices.
    let started = &OnceLock::new();
    let wait = || {
        if ready.wait().is_leader() {
            started.get_or_init(Instant::now);
        }
    };
    std::thread::scope(|scope| {
        let one = |number| {
            let mut step = begin(number);
            wait();
            let mut count = 0u64;
            // Relaxed: a sign that it is over, whenever it is seen.
            while !stop.load(Relaxed) {
                step();
                count += 1;
            }
            count
        };
        let workers: Vec<_> = (0..threads).map(|number| scope.spawn(move || one(number))).collect();
        wait();
        std::thread::sleep(time);
        // Relaxed: as above.
        stop.store(true, Relaxed);
        let stopped = Instant::now();
        let counts: Vec<u64> = workers.into_iter().map(|w| w.join().expect("it only counts")).collect();
        let elapsed = stopped.duration_since(*started.get().expect("a thread was the last one"));
        let (sum, least) = (counts.iter().sum::<u64>(), counts.iter().min().copied().unwrap_or_default());
        (sum as f64 / elapsed.as_micros() as f64, least as f64 * threads as f64 / sum as f64)
    })
}

/// A pace in ticks of the time-stamp counter.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    /// In which the lock is held.
    pub hold: u64,
    /// In which it is not.
    pub think: u64,
}

impl Pace {
    /// In ticks.
    pub fn ticks(self) -> Ticks {
        let per_ns = clock::ticks_per_second() as f64 / 1e9;
        let ticks = |ns: u64| (ns as f64 * per_ns) as u64;
        Ticks { hold: ticks(self.hold_ns), think: ticks(self.think_ns) }
    }
}

/// Lets time pass, on the CPU. For no time it does not even read a clock.
#[inline(always)]
pub fn pass(ticks: u64) {
    if ticks > 0 {
        let begin = clock::ticks();
        while clock::ticks() - begin < ticks {
            std::hint::spin_loop();
        }
    }
}
