//! Readers that hold locks already, while writers wait.

use super::pair::Pair;
use super::{Property, check};
use core::time::Duration;
use std::sync::Barrier;
use std::thread;
use unspin_locks::{RawRwLock, Recursion, Refused, Until};

/// Returns when a thread waits for the lock, held for reading, for writing.
fn wait_for_a_writer<L: RawRwLock>(pair: &Pair<L>) {
    while pair.lock.try_read(Recursion::Excluded) == Ok(()) {
        pair.leave_read();
        thread::sleep(Duration::from_millis(1));
    }
}

struct ReadsAgain;

impl Property for ReadsAgain {
    fn check<L: RawRwLock>() {
        let pair = Pair::<L>::new();
        pair.read();
        thread::scope(|s| {
            s.spawn(|| {
                pair.write();
                pair.add();
                pair.leave_write();
            });
            wait_for_a_writer(pair);
            for _ in 0..1_000 {
                pair.read();
            }
            assert_eq!(pair.get(), 0);
            (0..1_000).for_each(|_| pair.leave_read());
            // Where recursion is excluded, the writer comes first.
            let soon = || Some(Until::after(Duration::from_millis(2)));
            assert_eq!(pair.lock.read(Recursion::Excluded, soon()), Err(Refused::Busy));
            // One that holds none may wait for the writer for a while, but gets in.
            s.spawn(|| {
                pair.read();
                pair.leave_read();
            });
            pair.leave_read();
        });
        assert_eq!(pair.sum(), 1);
    }
}

#[test]
fn reader_reads_again_while_a_writer_waits() {
    let _others = crate::beside_others();
    check::<ReadsAgain>();
}

struct ReadsCrosswise;

impl Property for ReadsCrosswise {
    /// Each of two readers holds one lock and reads the other one, while writers wait for both.
    fn check<L: RawRwLock>() {
        for _ in 0..20 {
            let pairs = [Pair::<L>::new(), Pair::<L>::new()];
            // The first reads may only set a bias.
            for pair in pairs {
                pair.read();
                pair.leave_read();
            }
            let both = Barrier::new(2);
            thread::scope(|s| {
                for mine in 0..2 {
                    let (both, [first, second]) = (&both, [pairs[mine], pairs[1 - mine]]);
                    s.spawn(move || {
                        first.read();
                        both.wait();
                        s.spawn(|| {
                            first.write();
                            first.add();
                            first.leave_write();
                        });
                        wait_for_a_writer(first);
                        both.wait();
                        second.read();
                        assert_eq!((first.get(), second.get()), (0, 0));
                        both.wait();
                        second.leave_read();
                        first.leave_read();
                    });
                }
            });
            assert_eq!(pairs.map(Pair::sum), [1, 1]);
        }
    }
}

#[test]
fn readers_of_two_locks_do_not_wait_for_each_other() {
    let _others = crate::beside_others();
    check::<ReadsCrosswise>();
}

struct HoldsMany;

impl Property for HoldsMany {
    /// More locks than a thread has slots, released in another order.
    fn check<L: RawRwLock>() {
        const LOCKS: usize = 50;
        let pairs: Vec<_> = (0..LOCKS).map(|_| Pair::<L>::new()).collect();
        for step in [1, 7, 33, 49] {
            pairs.iter().for_each(|pair| pair.read_times(1));
            pairs.iter().step_by(3).for_each(|pair| pair.read_times(1));
            for at in 0..LOCKS {
                let pair = pairs[at * step % LOCKS];
                assert!(!pair.lock.try_write());
                pair.leave_read();
            }
            pairs.iter().step_by(3).for_each(|pair| pair.leave_read());
        }
        assert!(pairs.iter().all(|pair| pair.sum() == 0));
    }
}

#[test]
fn thread_holds_many_locks() {
    let _others = crate::beside_others();
    check::<HoldsMany>();
}

struct NewLockAtTheSamePlace;

impl Property for NewLockAtTheSamePlace {
    /// The memory of a lock is used anew although a thread holds it for reading: libc's new lock is free.
    fn check<L: RawRwLock>() {
        for recursion in [Recursion::Allowed, Recursion::Excluded] {
            let place: &'static mut core::mem::MaybeUninit<L> =
                Box::leak(Box::new(core::mem::MaybeUninit::zeroed()));
            // SAFETY: all zeroes are a free lock.
            let lock: &'static L = unsafe { &*place.as_ptr() };
            // The third one of a biased lock is published.
            for _ in 0..2 {
                lock.read(recursion, None).unwrap();
                // SAFETY: acquired in the line before.
                unsafe { lock.unlock_read() };
            }
            lock.read(recursion, None).unwrap();
            // SAFETY: the lock consists of atomics, and no other thread uses it.
            unsafe { core::ptr::write_bytes(place.as_mut_ptr(), 0, 1) };
            assert!(lock.try_write());
            assert_eq!(lock.try_read(recursion), Err(Refused::Busy));
            // SAFETY: acquired above.
            unsafe { lock.unlock_write() };
            lock.read(recursion, None).unwrap();
            // SAFETY: acquired in the line before.
            unsafe { lock.unlock_read() };
            assert!(lock.readers() == 0 && lock.try_write());
        }
    }
}

#[test]
fn new_lock_has_no_readers_of_the_old_one() {
    let _others = crate::beside_others();
    check::<NewLockAtTheSamePlace>();
}

struct Overtakes;

impl Property for Overtakes {
    /// A reader that holds another lock waits for the writer that has the lock, and not for the next one.
    fn check<L: RawRwLock>() {
        for _ in 0..10 {
            let (wanted, held) = (Pair::<L>::new(), Pair::<L>::new());
            wanted.write();
            thread::scope(|s| {
                let (told, tells) = (Barrier::new(2), std::sync::mpsc::channel());
                let told = &*Box::leak(Box::new(told));
                let reader = s.spawn(move || {
                    held.read();
                    told.wait();
                    wanted.read();
                    tells.0.send(()).unwrap();
                    wanted.leave_read();
                    held.leave_read();
                });
                told.wait();
                let writer = s.spawn(|| {
                    wanted.write();
                    wanted.leave_write();
                });
                thread::sleep(Duration::from_millis(1));
                wanted.leave_write();
                if wanted.try_read() {
                    tells.1.recv().unwrap();
                    wanted.leave_read();
                }
                reader.join().unwrap();
                writer.join().unwrap();
            });
            assert_eq!((wanted.sum(), held.sum()), (0, 0));
        }
    }
}

#[test]
fn reader_that_holds_a_lock_does_not_wait_for_the_next_writer() {
    let _others = crate::beside_others();
    check::<Overtakes>();
}
