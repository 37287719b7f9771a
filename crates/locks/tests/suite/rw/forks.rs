//! Children that inherit locks whose waiters and holders do not exist in the child.

use super::pair::Pair;
use super::{Property, check};
use core::time::Duration;
use std::sync::Barrier;
use std::thread;
use unspin_locks::RawRwLock;

struct ParentsWaiters;

impl Property for ParentsWaiters {
    fn check<L: RawRwLock>() {
        for round in 0..20 {
            fork_while_others_wait::<L>(Duration::from_micros(round * 100), round % 2 == 0);
        }
    }
}

/// The forking thread holds the lock, as a thread does that wants its child to use it (pthread_atfork). Others wait for it.
fn fork_while_others_wait<L: RawRwLock>(pause: Duration, writes: bool) {
    let pair = Pair::<L>::new();
    let begun = &Barrier::new(7);
    thread::scope(|s| {
        for number in 0..6u32 {
            s.spawn(move || {
                begun.wait();
                for round in 0..200 {
                    if (number + round) % 4 == 0 {
                        pair.write();
                        pair.add();
                        pair.leave_write();
                    } else {
                        pair.read();
                        pair.get();
                        pair.leave_read();
                    }
                }
            });
        }
        begun.wait();
        thread::sleep(pause);
        let leave = || if writes { pair.leave_write() } else { pair.leave_read() };
        // Alone: a reader that the fork does not copy would stay inside for ever.
        pair.write();
        if !writes {
            pair.leave_write();
            while !pair.lock.try_write() {}
            pair.leave_write();
            pair.read();
        }
        thread::sleep(pause);
        if writes {
            // SAFETY: the child uses this lock, its own threads and their memory; glibc makes its allocator usable in a child.
            let child = unsafe { libc::fork() };
            if child == 0 {
                use_it_alone_and_with_others(pair);
                // SAFETY: ends the child, which must not return into the tests.
                unsafe { libc::_exit(0) }
            }
            let mut status = 0;
            // SAFETY: our child, a live int.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0, "the child found its lock unusable");
        }
        leave();
    });
    assert_eq!(pair.sum(), 300);
}

fn use_it_alone_and_with_others<L: RawRwLock>(pair: &Pair<L>) {
    // A child that hangs is killed by the alarm, and its parent sees that. SAFETY: only sets an alarm.
    unsafe { libc::alarm(600) };
    let heir = || {
        for round in 0..20 {
            if round % 3 == 0 {
                pair.write();
                pair.add();
                pair.leave_write();
            } else {
                pair.read();
                pair.get();
                pair.leave_read();
            }
        }
    };
    thread::scope(|s| {
        s.spawn(heir);
        s.spawn(heir);
        thread::sleep(Duration::from_millis(1));
        pair.leave_write();
        heir();
    });
    pair.sum();
}

#[test]
fn forked_child_is_not_blocked_by_its_parents_waiters() {
    let _alone = crate::alone();
    check::<ParentsWaiters>();
}

struct ForksAsAReader;

impl Property for ForksAsAReader {
    /// The child keeps what the forking thread holds for reading, and can release it.
    fn check<L: RawRwLock>() {
        let pair = Pair::<L>::new();
        pair.read_times(3);
        // SAFETY: the child uses only the lock, and ends.
        let child = unsafe { libc::fork() };
        let release = || {
            let before = !pair.lock.try_write() && pair.lock.readers() == 3;
            (0..3).for_each(|_| pair.leave_read());
            before && pair.lock.try_write()
        };
        if child == 0 {
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(!release())) }
        }
        let mut status = 0;
        // SAFETY: our child, a live int.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
        assert!(release());
    }
}

#[test]
fn child_keeps_the_holds_of_the_forking_thread() {
    let _alone = crate::alone();
    check::<ForksAsAReader>();
}
