//! Many threads, and many locks.

use super::lock::{Lock, LockKind};
use clap::ValueEnum;
use std::sync::Barrier;

/// Which locks a thread uses.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    /// Those that no other thread uses
    Own,
    /// All
    All,
}

/// How often a thread takes each of its locks.
const ROUNDS: u64 = 2;

/// Every thread takes its locks, one after another, while all threads live.
pub fn run(threads: usize, locks: usize, share: Share) {
    let all: Vec<Box<Lock>> = (0..locks).map(|_| Lock::boxed(LockKind::Mutex)).collect();
    let (all, everybody) = (&all, &Barrier::new(threads));
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                everybody.wait();
                for lock in (0..ROUNDS).flat_map(|_| mine(thread, threads, all, share)) {
                    lock.lock();
                    lock.unlock();
                }
                everybody.wait();
            });
        }
    });
}

fn mine(thread: usize, threads: usize, all: &[Box<Lock>], share: Share) -> impl Iterator<Item = &Lock> {
    let (first, step) = match share {
        Share::Own => (thread, threads),
        Share::All => (0, 1),
    };
    all.iter().skip(first).step_by(step).map(|lock| &**lock)
}

/// How many acquisitions that is.
pub fn acquisitions(threads: usize, locks: usize, share: Share) -> u64 {
    let rounds = match share {
        Share::Own => ROUNDS,
        Share::All => ROUNDS * threads as u64,
    };
    locks as u64 * rounds
}
