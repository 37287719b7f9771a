//! What each operation of a lock returns.

use crate::guarded::Guarded;
use crate::{Property, check};
use core::time::Duration;
use std::sync::mpsc::channel;
use std::thread;
use unspin_locks::{Clock, LockKind, RawLock, Until, Waited};

struct FitsIntoAMutex;

impl Property for FitsIntoAMutex {
    fn check<L: RawLock>(_: LockKind) {
        assert!(size_of::<L>() <= 16 && align_of::<L>() <= 8);
        let lock = L::NEW;
        // SAFETY: a live value. Its padding, if any, does not matter: bytes that were never written would fail the
        // comparison.
        let bytes = unsafe { core::slice::from_raw_parts((&raw const lock).cast::<u8>(), size_of::<L>()) };
        assert!(bytes.iter().all(|&byte| byte == 0), "{bytes:?}");
    }
}

#[test]
fn sixteen_bytes_and_zeroes_are_free() {
    let _others = crate::beside_others();
    check::<FitsIntoAMutex>();
}

struct ReportsTheState;

impl Property for ReportsTheState {
    fn check<L: RawLock>(_: LockKind) {
        let guarded = Guarded::<L>::new();
        for _ in 0..3 {
            assert!(!guarded.lock.is_locked());
            assert_eq!(guarded.lock(), Waited::No);
            assert!(guarded.lock.is_locked() && !guarded.lock.try_lock());
            guarded.unlock();
            assert!(guarded.lock.try_lock());
            thread::scope(|s| assert!(!s.spawn(|| guarded.lock.try_lock()).join().unwrap()));
            guarded.unlock();
        }
    }
}

#[test]
fn try_lock_and_is_locked_report_the_state() {
    let _others = crate::beside_others();
    check::<ReportsTheState>();
}

struct Times;

impl Property for Times {
    fn check<L: RawLock>(_: LockKind) {
        let guarded = Guarded::<L>::new();
        for clock in [Clock::Realtime, Clock::Monotonic] {
            let past = Until { clock, at: Duration::from_secs(1) };
            assert_eq!(guarded.lock_until(past), Some(Waited::No), "a free lock, however late it is");
            assert_eq!(guarded.lock_until(past), None);
            let soon = Until { clock, at: clock.now() + Duration::from_millis(20) };
            assert_eq!(guarded.lock_until(soon), None);
            assert!(soon.is_over(), "it came back too early");
            guarded.unlock();
            assert!(!guarded.lock.is_locked());
        }
    }
}

#[test]
fn times_on_both_clocks() {
    let _others = crate::beside_others();
    check::<Times>();
}

struct TimesOfWaiters;

impl Property for TimesOfWaiters {
    /// Waiters that time out leave the queue: the waiters before and behind them get the lock.
    fn check<L: RawLock>(_: LockKind) {
        let guarded = Guarded::<L>::new();
        guarded.lock();
        thread::scope(|s| {
            let waiters: Vec<_> = (0..6)
                .map(|i| {
                    thread::sleep(Duration::from_millis(2));
                    s.spawn(|| {
                        guarded.lock();
                        guarded.add();
                        guarded.unlock();
                        true
                    });
                    let late = Until::after(Duration::from_millis(10 + 7 * (i % 3)));
                    s.spawn(move || guarded.lock_until(late).is_some())
                })
                .collect();
            assert!(waiters.into_iter().all(|waiter| !waiter.join().unwrap()), "it is held");
            guarded.unlock();
        });
        assert_eq!(guarded.sum(), 6);
        assert!(!guarded.lock.is_locked());
    }
}

#[test]
fn waiter_that_times_out_does_not_block_others() {
    let _others = crate::beside_others();
    check::<TimesOfWaiters>();
}

struct Misuse;

impl Property for Misuse {
    fn check<L: RawLock>(_: LockKind) {
        let guarded = Guarded::<L>::new();
        guarded.unlock();
        guarded.unlock();
        assert!(!guarded.lock.is_locked());
        assert_eq!(guarded.lock(), Waited::No);
        // Another thread than the owner releases.
        thread::scope(|s| s.spawn(|| guarded.unlock()).join().unwrap());
        assert!(!guarded.lock.is_locked());
        assert_eq!(guarded.lock(), Waited::No);
        // Another thread than the owner releases while a thread waits; the waiter then gets the lock.
        thread::scope(|s| {
            let waiter = s.spawn(|| {
                guarded.lock();
                guarded.add();
            });
            thread::sleep(Duration::from_millis(10));
            s.spawn(|| guarded.unlock()).join().unwrap();
            waiter.join().unwrap();
        });
        assert!(guarded.lock.is_locked());
        guarded.unlock();
        guarded.unlock();
        assert!(guarded.lock.try_lock());
    }
}

#[test]
fn lock_works_after_misuse() {
    let _others = crate::beside_others();
    check::<Misuse>();
}

struct ReportsTheWait;

/// How a thread has waited for a lock that another one held for this time since they began.
fn waited_while_held<L: RawLock>(held: Duration) -> Waited {
    let guarded = Guarded::<L>::new();
    guarded.lock();
    let (started, is_started) = channel();
    thread::scope(|s| {
        let waiter = s.spawn(|| {
            started.send(()).unwrap();
            let waited = guarded.lock();
            guarded.unlock();
            waited
        });
        is_started.recv().unwrap();
        thread::sleep(held);
        guarded.unlock();
        waiter.join().unwrap()
    })
}

impl Property for ReportsTheWait {
    fn check<L: RawLock>(kind: LockKind) {
        let expected = if kind.is_experimental() { Waited::Spun } else { Waited::Slept };
        // On a busy machine the waiter may come after the release, or have no time to fall asleep before it. Each try lasts
        // twice as long as the one before; no machine keeps a thread from its CPU for the last.
        let mut held = Duration::from_millis(20);
        loop {
            let waited = waited_while_held::<L>(held);
            if waited == expected {
                break;
            }
            assert!(waited != Waited::Slept, "{kind} does not sleep");
            assert!(
                held < Duration::from_secs(60),
                "{kind}: {waited:?} while the lock was held for {held:?}"
            );
            held *= 2;
        }
    }
}

#[test]
fn lock_reports_how_the_thread_waited() {
    let _others = crate::beside_others();
    check::<ReportsTheWait>();
}
