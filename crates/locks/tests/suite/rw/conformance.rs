//! What each operation of a lock returns.

use super::pair::Pair;
use super::{Property, check};
use core::time::Duration;
use std::sync::mpsc::channel;
use std::thread;
use unspin_locks::{Clock, RawRwLock, Recursion, Refused, Until, Waited};

struct FitsIntoAReadWriteLock;

impl Property for FitsIntoAReadWriteLock {
    fn check<L: RawRwLock>() {
        assert!(size_of::<L>() == 32 && align_of::<L>() <= 8);
        // Of a static initialiser a compiler need not write the padding, so the bytes are those that `pthread_rwlock_init` leaves.
        let pair = Pair::<L>::new();
        assert!(pair.lock.try_write());
        pair.leave_write();
    }
}

#[test]
fn thirty_two_bytes() {
    let _others = crate::beside_others();
    check::<FitsIntoAReadWriteLock>();
}

struct LeavesTheEmbeddersBytes;

impl Property for LeavesTheEmbeddersBytes {
    fn check<L: RawRwLock>() {
        let mut bytes = [0u64; 4];
        let mine = |bytes: &[u64; 4]| [bytes[0] & 0xFFFF << 48, bytes[1]];
        bytes[0] |= 0xB5A1 << 48;
        bytes[1] = 0x0123_4567_89AB_CDEF;
        let before = mine(&bytes);
        // SAFETY: 32 aligned bytes; all but those of the embedder are zero, which is a free lock.
        let lock = unsafe { &*bytes.as_mut_ptr().cast::<L>() };
        for _ in 0..3 {
            assert!(lock.write(None).is_some());
            // SAFETY: held.
            unsafe { lock.unlock_write() };
            for _ in 0..2 {
                assert!(lock.read(Recursion::Allowed, None).is_ok());
            }
            assert!(!lock.try_write());
            assert!(lock.write(Some(Until::after(Duration::from_millis(1)))).is_none());
            // SAFETY: held twice.
            unsafe {
                lock.unlock_read();
                lock.unlock_read();
            }
        }
        assert_eq!(mine(&bytes), before);
    }
}

#[test]
fn bytes_of_the_embedder_are_never_touched() {
    let _others = crate::beside_others();
    check::<LeavesTheEmbeddersBytes>();
}

struct ReportsTheState;

impl Property for ReportsTheState {
    fn check<L: RawRwLock>() {
        let pair = Pair::<L>::new();
        for _ in 0..3 {
            assert_eq!((pair.lock.readers(), pair.lock.is_write_locked()), (0, false));
            // To revoke a bias is a short wait.
            assert_ne!(pair.write(), Waited::Slept);
            assert_eq!((pair.lock.readers(), pair.lock.is_write_locked()), (0, true));
            assert!(!pair.try_read() && !pair.lock.try_write());
            pair.leave_write();
            assert_eq!(pair.read(), Waited::No);
            assert!(pair.try_read());
            thread::scope(|s| {
                let other = || (pair.lock.try_write(), pair.try_read());
                assert_eq!(s.spawn(other).join().unwrap(), (false, true));
            });
            assert_eq!((pair.lock.readers(), pair.lock.is_write_locked()), (3, false));
            (0..3).for_each(|_| pair.leave_read());
        }
        assert_eq!(pair.sum(), 0);
    }
}

#[test]
fn tries_and_questions_report_the_state() {
    let _others = crate::beside_others();
    check::<ReportsTheState>();
}

struct Times;

impl Property for Times {
    fn check<L: RawRwLock>() {
        let pair = Pair::<L>::new();
        for clock in [Clock::Realtime, Clock::Monotonic] {
            let past = Until { clock, at: Duration::from_secs(1) };
            let soon = || Until { clock, at: clock.now() + Duration::from_millis(10) };
            assert!(pair.lock.write(Some(past)).is_some(), "a free lock, however late it is");
            for until in [past, soon()] {
                assert_eq!(pair.lock.write(Some(until)), None);
                assert_eq!(pair.read_until(until), Err(Refused::Busy));
                assert!(until.is_over(), "it came back too early");
            }
            pair.leave_write();
            assert_eq!(pair.read_until(past), Ok(Waited::No));
            for until in [past, soon()] {
                assert_eq!(pair.lock.write(Some(until)), None);
                assert!(until.is_over(), "it came back too early");
            }
            assert!(pair.try_read(), "a writer that has given up does not keep readers out");
            assert_eq!(pair.read_until(past), Ok(Waited::No));
            (0..3).for_each(|_| pair.leave_read());
        }
        assert_eq!(pair.sum(), 0);
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
    fn check<L: RawRwLock>() {
        let pair = Pair::<L>::new();
        pair.write();
        thread::scope(|s| {
            let late: Vec<_> = (0..4)
                .map(|i| {
                    thread::sleep(Duration::from_millis(2));
                    s.spawn(|| {
                        pair.write();
                        pair.add();
                        pair.leave_write();
                    });
                    s.spawn(|| {
                        pair.read();
                        pair.get();
                        pair.leave_read();
                    });
                    let until = Until::after(Duration::from_millis(5 + 7 * (i % 3)));
                    let writer = s.spawn(move || pair.lock.write(Some(until)).is_some());
                    let reader = s.spawn(move || pair.read_until(until).is_ok());
                    [writer, reader]
                })
                .collect();
            assert!(late.into_iter().flatten().all(|waiter| !waiter.join().unwrap()), "it is held");
            pair.leave_write();
        });
        assert_eq!(pair.sum(), 4);
    }
}

#[test]
fn waiter_that_times_out_does_not_block_others() {
    let _others = crate::beside_others();
    check::<TimesOfWaiters>();
}

struct Misuse;

impl Property for Misuse {
    fn check<L: RawRwLock>() {
        let pair = Pair::<L>::new();
        pair.leave_write();
        pair.leave_read();
        pair.leave_read();
        assert_eq!(pair.sum(), 0);
        // Another thread than the holder releases.
        pair.write();
        thread::scope(|s| s.spawn(|| pair.leave_write()).join().unwrap());
        assert_eq!(pair.sum(), 0);
        for holds in 1..4 {
            pair.read_times(holds);
            thread::scope(|s| s.spawn(|| (0..holds).for_each(|_| pair.leave_read())).join().unwrap());
            assert_eq!(pair.sum(), 0);
        }
        // A thread that has ended.
        thread::scope(|s| s.spawn(|| pair.read_times(1)).join().unwrap());
        assert!(!pair.lock.try_write());
        assert_eq!(pair.lock.readers(), 1);
        pair.leave_read();
        assert_eq!(pair.sum(), 0);
    }
}

#[test]
fn misuse_leaves_a_usable_lock() {
    let _others = crate::beside_others();
    check::<Misuse>();
}

struct Waits;

impl Property for Waits {
    /// A writer waits for each reader, and a reader for the writer.
    fn check<L: RawRwLock>() {
        let pair = Pair::<L>::new();
        pair.read();
        thread::scope(|s| {
            let (tells, told) = channel();
            s.spawn(move || {
                pair.write();
                pair.add();
                tells.send(()).unwrap();
                thread::sleep(Duration::from_millis(10));
                pair.add();
                pair.leave_write();
            });
            assert!(told.recv_timeout(Duration::from_millis(10)).is_err(), "it is held");
            pair.leave_read();
            told.recv().unwrap();
            pair.read();
            assert_eq!(pair.get(), 2);
            pair.leave_read();
        });
        assert_eq!(pair.sum(), 2);
    }
}

#[test]
fn writers_wait_for_readers_and_readers_for_writers() {
    let _others = crate::beside_others();
    check::<Waits>();
}
