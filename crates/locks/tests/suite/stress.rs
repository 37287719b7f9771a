//! Many threads, few CPUs.

use crate::guarded::Guarded;
use crate::{Property, check};
use core::time::Duration;
use std::thread;
use unspin_locks::{Clock, LockKind, RawLock, Until};

/// Threads, and rounds of each. The experimental locks get less work, because each hand-off may wait for the scheduler.
fn load(kind: LockKind) -> (u64, u64) {
    if kind.is_experimental() { (4, 300) } else { (32, 3_000) }
}

struct Excludes;

impl Property for Excludes {
    fn check<L: RawLock>(kind: LockKind) {
        let (threads, rounds) = load(kind);
        let guarded = Guarded::<L>::new();
        thread::scope(|s| {
            for _ in 0..threads {
                s.spawn(|| {
                    for _ in 0..rounds {
                        guarded.lock();
                        guarded.add();
                        guarded.unlock();
                    }
                });
            }
        });
        assert_eq!(guarded.sum(), threads * rounds);
        assert!(!guarded.lock.is_locked());
    }
}

#[test]
fn many_threads_exclude_each_other() {
    let _others = crate::beside_others();
    check::<Excludes>();
}

struct AllCalls;

impl Property for AllCalls {
    /// All ways to acquire at once, often with short timeouts. Each thread that got the lock adds one, and no thread is
    /// left waiting.
    fn check<L: RawLock>(kind: LockKind) {
        let (threads, rounds) = load(kind);
        let guarded = Guarded::<L>::new();
        let acquired: u64 = thread::scope(|s| {
            let counts: Vec<_> = (0..threads)
                .map(|number| {
                    s.spawn(move || (0..rounds).filter(|round| once(guarded, number + round)).count() as u64)
                })
                .collect();
            counts.into_iter().map(|count| count.join().unwrap()).sum()
        });
        assert!(acquired >= threads * rounds / 4);
        assert_eq!(guarded.sum(), acquired);
        assert!(!guarded.lock.is_locked());
    }
}

/// Acquires once in one of the available ways. Returns whether it succeeded.
fn once<L: RawLock>(guarded: &Guarded<L>, way: u64) -> bool {
    let soon = |clock: Clock| Until { clock, at: clock.now() + Duration::from_micros(way % 50) };
    let has_it = match way % 4 {
        0 => guarded.lock.try_lock(),
        1 => guarded.lock_until(soon(Clock::Monotonic)).is_some(),
        2 => guarded.lock_until(soon(Clock::Realtime)).is_some(),
        _ => {
            guarded.lock();
            true
        }
    };
    if has_it {
        guarded.add();
        if way % 64 == 3 {
            // Held for a while, so that other threads fall asleep.
            thread::yield_now();
        }
        guarded.unlock();
    }
    has_it
}

#[test]
fn all_acquisition_calls_exclude_each_other() {
    let _others = crate::beside_others();
    check::<AllCalls>();
}
