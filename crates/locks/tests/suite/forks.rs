//! Children that inherit locks whose waiters do not exist in the child.

use crate::guarded::Guarded;
use crate::{Property, check};
use core::time::Duration;
use std::sync::Barrier;
use std::thread;
use unspin_locks::{LockKind, RawLock};

struct ParentsWaiters;

impl Property for ParentsWaiters {
    fn check<L: RawLock>(kind: LockKind) {
        // The experimental locks need a scheduler's time slice for each hand-off.
        for round in 0..if kind.is_experimental() { 3 } else { 20 } {
            fork_while_others_wait::<L>(kind, Duration::from_micros(round * 100));
        }
    }
}

/// The forking thread holds the lock, as a thread does that wants its child to use it (pthread_atfork). Other threads
/// wait for it: some of them just woken, some about to sleep, some starving.
fn fork_while_others_wait<L: RawLock>(kind: LockKind, pause: Duration) {
    let guarded = Guarded::<L>::new();
    let waiters = if kind.is_experimental() { 2 } else { 6 };
    let rounds = if kind.is_experimental() { 5 } else { 300 };
    let begun = Barrier::new(waiters as usize + 1);
    thread::scope(|s| {
        for _ in 0..waiters {
            s.spawn(|| {
                begun.wait();
                for _ in 0..rounds {
                    guarded.lock();
                    guarded.add();
                    guarded.unlock();
                }
            });
        }
        begun.wait();
        thread::sleep(pause);
        guarded.lock();
        thread::sleep(pause);
        // SAFETY: the child uses this lock, its own threads and their memory; glibc makes its allocator usable in a
        // child.
        let child = unsafe { libc::fork() };
        if child == 0 {
            use_it_alone_and_with_others(guarded, if kind.is_experimental() { 3 } else { 20 });
            // SAFETY: ends the child, which must not return into the tests.
            unsafe { libc::_exit(0) }
        }
        guarded.unlock();
        let mut status = 0;
        // SAFETY: our child, a live int.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "{kind}: the child found its lock unusable");
    });
    assert_eq!(guarded.sum(), waiters * rounds);
}

fn use_it_alone_and_with_others<L: RawLock>(guarded: &Guarded<L>, rounds: u32) {
    // A child that hangs is killed by the alarm, and its parent sees that. SAFETY: only sets an alarm.
    unsafe { libc::alarm(600) };
    // Waits for the lock as the parent's waiters did, while another thread holds it.
    let heir = || {
        for _ in 0..rounds {
            guarded.lock();
            guarded.add();
            guarded.unlock();
        }
    };
    thread::scope(|s| {
        s.spawn(heir);
        s.spawn(heir);
        thread::sleep(Duration::from_millis(1));
        guarded.unlock();
        heir();
    });
}

#[test]
fn forked_child_is_not_blocked_by_its_parents_waiters() {
    let _alone = crate::alone();
    check::<ParentsWaiters>();
}
