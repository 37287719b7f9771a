//! libc's barrier, with a wait that the caller supplies.
//!
//! It works on the words of glibc's `pthread_barrier_t` (since 2.25) and follows glibc's protocol
//! (`nptl/pthread_barrier_wait.c`). So a thread here can meet threads in libc's own function, or in another process, at
//! the same barrier.
//!
//! Threads are numbered as they arrive. A *round* is complete when `count` threads have arrived since the last round
//! ended. The thread that completes a round advances `current_round`, which releases the threads of the round. The
//! numbers are reset before they overflow: the last thread to leave the last round before [`RESET_AT`] sets all words
//! back to zero, and threads that arrive meanwhile wait for that.

use crate::park;
use unspin_sync::atomic::{AtomicU32, Ordering, fence};

/// libc's barrier, with a wait that the caller supplies. The fields are those of glibc's `struct pthread_barrier`.
#[repr(C)]
#[derive(Debug)]
pub struct Barrier {
    /// Threads that have arrived since the last reset.
    arrived: AtomicU32,
    /// The number of the last thread that is released: a multiple of `count`.
    current_round: AtomicU32,
    /// Threads in a round. Immutable.
    count: u32,
    /// 0 if all waiters are threads of this process. Immutable.
    shared: u32,
    /// Threads that have left since the last reset.
    left: AtomicU32,
}

/// Which thread of a round the caller is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarrierRole {
    /// The last of its round: PTHREAD_BARRIER_SERIAL_THREAD.
    Serial,
    /// Another one.
    Other,
}

/// A futex word of a barrier, on which the caller sleeps.
#[derive(Debug)]
pub struct Word<'barrier> {
    word: &'barrier AtomicU32,
    expected: u32,
    is_shared: bool,
}

/// Arrivals before a reset: half of what a word can count (`BARRIER_IN_THRESHOLD`).
pub const RESET_AT: u32 = u32::MAX / 2;

impl Barrier {
    /// A barrier for `count` threads of this process.
    pub fn new(count: u32) -> Barrier {
        let zero = || AtomicU32::new(0);
        Barrier { arrived: zero(), current_round: zero(), count, shared: 0, left: zero() }
    }

    /// Waits until the round is complete. `sleep` returns when the word may have changed; it may poll before it sleeps.
    pub fn wait(&self, sleep: impl FnMut(Word<'_>)) -> BarrierRole {
        self.wait_resetting(RESET_AT, sleep)
    }

    fn wait_resetting(&self, reset_at: u32, mut sleep: impl FnMut(Word<'_>)) -> BarrierRole {
        let count = self.count.max(1);
        let last_before_reset = reset_at - reset_at % count;
        let number = self.arrive(last_before_reset, &mut sleep);
        if !self.complete(number, count) {
            loop {
                // Relaxed: the fence below orders.
                let round = self.current_round.load(Ordering::Relaxed);
                if number <= round {
                    break;
                }
                sleep(self.word(&self.current_round, round));
            }
            // Acquire: partner of the Release in `complete`: we see what the round's threads did before they arrived.
            fence(Ordering::Acquire);
        }
        self.leave(last_before_reset);
        if number.is_multiple_of(count) { BarrierRole::Serial } else { BarrierRole::Other }
    }

    /// Returns the number of the calling thread, from 1.
    fn arrive(&self, last_before_reset: u32, sleep: &mut impl FnMut(Word<'_>)) -> u32 {
        loop {
            // Acquire: partner of the Release of threads that arrived before, and of the reset. Release: partner of the
            // Acquire of the thread that completes the round.
            let mut number = self.arrived.fetch_add(1, Ordering::AcqRel) + 1;
            if number <= last_before_reset {
                return number;
            }
            while number > last_before_reset {
                sleep(self.word(&self.arrived, number));
                // Relaxed: the next arrival orders.
                number = self.arrived.load(Ordering::Relaxed);
            }
        }
    }

    /// Completes all rounds that are full as far as the calling thread knows. Returns whether its own round is
    /// complete.
    fn complete(&self, number: u32, count: u32) -> bool {
        // Relaxed, both: a failed exchange or a stale value only leads to another iteration.
        let mut round = self.current_round.load(Ordering::Relaxed);
        while round + count <= number {
            let full = number - number % count;
            // Release: partner of the Acquire fence in `wait`: passes on what `arrive` has seen of the other threads.
            match self.current_round.compare_exchange(round, full, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => {
                    self.word(&self.current_round, full).wake_all();
                    return number <= full;
                }
                Err(now) => round = now,
            }
        }
        if number > round {
            return false;
        }
        // Acquire: as in `wait`: another thread has completed the round.
        fence(Ordering::Acquire);
        true
    }

    fn leave(&self, last_before_reset: u32) {
        // The barrier may be destroyed, and its memory be gone, once the last thread has left: read the field before
        // that.
        let is_shared = self.is_shared();
        // Release: partner of the Acquire fence below and of the one in pthread_barrier_destroy: this thread is done
        // with the round.
        let left = self.left.fetch_add(1, Ordering::Release) + 1;
        if left != last_before_reset {
            return;
        }
        // Acquire: partner of the Release above: all other threads are done with the rounds before the reset.
        fence(Ordering::Acquire);
        // Relaxed, both: published by the exchange below.
        self.current_round.store(0, Ordering::Relaxed);
        self.left.store(0, Ordering::Relaxed);
        // Release: partner of the Acquire in `arrive`: the next rounds begin with these words. libc uses a store here.
        // The exchange differs only for loom, which would order a store before an addition that it cannot precede.
        self.arrived.swap(0, Ordering::Release);
        Word { word: &self.arrived, expected: 0, is_shared }.wake_all();
    }

    fn word<'barrier>(&'barrier self, word: &'barrier AtomicU32, expected: u32) -> Word<'barrier> {
        Word { word, expected, is_shared: self.is_shared() }
    }

    fn is_shared(&self) -> bool {
        self.shared != 0
    }
}

impl Word<'_> {
    /// Whether the word has changed. Relaxed: the barrier reads it again.
    #[inline]
    pub fn has_changed(&self) -> bool {
        self.word.load(Ordering::Relaxed) != self.expected
    }

    /// Sleeps until the word changes; spurious wake-ups happen. Signal handlers do not end the wait: the barrier checks
    /// again.
    pub fn sleep(&self) {
        match self.is_shared {
            false => drop(park::wait(self.word, self.expected, None)),
            true => park::wait_shared(self.word, self.expected),
        }
    }

    fn wake_all(&self) {
        match self.is_shared {
            false => drop(park::wake(self.word, i32::MAX as u32)),
            true => park::wake_shared(self.word),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32 as Count, Ordering::SeqCst};

    /// Runs the barrier for this many rounds. No thread may enter a round before all have arrived in the one before,
    /// and each round has one serial thread.
    fn rounds(threads: u32, rounds: u32, reset_at: u32) {
        let barrier = Arc::new(Barrier::new(threads));
        let (inside, serial) = (Arc::new(Count::new(0)), Arc::new(Count::new(0)));
        let threads: Vec<_> = (0..threads)
            .map(|_| {
                let (barrier, inside, serial) =
                    (Arc::clone(&barrier), Arc::clone(&inside), Arc::clone(&serial));
                std::thread::spawn(move || {
                    for round in 0..rounds {
                        inside.fetch_add(1, SeqCst);
                        if barrier.wait_resetting(reset_at, |word| word.sleep()) == BarrierRole::Serial {
                            serial.fetch_add(1, SeqCst);
                        }
                        let seen = inside.load(SeqCst);
                        assert!(seen >= (round + 1) * barrier.count, "{seen} in round {round}");
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(serial.load(SeqCst), rounds);
    }

    #[test]
    fn each_round_waits_for_all_and_has_one_serial_thread() {
        rounds(1, 100, RESET_AT);
        rounds(2, 2_000, RESET_AT);
        rounds(3, 500, RESET_AT);
    }

    #[test]
    fn numbers_are_reset_before_they_overflow() {
        rounds(2, 2_000, 7);
        rounds(3, 500, 3);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::cell::UnsafeCell;
    use unspin_sync::sync::Arc;
    use unspin_sync::thread;

    /// Each thread sees after a round what the other wrote before it, whichever thread completes the round, and across
    /// resets.
    fn two_threads(rounds: u32, reset_at: u32) {
        struct World {
            barrier: Barrier,
            cells: [UnsafeCell<u32>; 2],
        }
        // SAFETY: one thread writes a cell before a round and the other reads it after; the model checks that the
        // barrier separates the two.
        unsafe impl Sync for World {}
        // SAFETY: as above.
        unsafe impl Send for World {}
        fn pass(world: &World, me: usize, rounds: u32, reset_at: u32) -> u32 {
            (0..rounds)
                .map(|round| {
                    // SAFETY: the model checks that the access is exclusive.
                    world.cells[me].with_mut(|cell| unsafe { *cell = round + 1 });
                    let turn = world.barrier.wait_resetting(reset_at, |word| word.sleep());
                    // SAFETY: the model checks that the access is exclusive.
                    assert_eq!(world.cells[1 - me].with(|cell| unsafe { *cell }), round + 1);
                    world.barrier.wait_resetting(reset_at, |word| word.sleep());
                    u32::from(turn == BarrierRole::Serial)
                })
                .sum()
        }
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(move || {
            let cells = [UnsafeCell::new(0), UnsafeCell::new(0)];
            let world = Arc::new(World { barrier: Barrier::new(2), cells });
            let other = {
                let world = Arc::clone(&world);
                thread::spawn(move || pass(&world, 1, rounds, reset_at))
            };
            let serial = pass(&world, 0, rounds, reset_at);
            assert_eq!(serial + other.join().unwrap(), rounds, "one serial thread a round");
        });
    }

    #[test]
    fn two_threads_meet() {
        two_threads(1, RESET_AT);
    }

    #[test]
    fn two_threads_meet_across_a_reset() {
        two_threads(2, 2);
    }

    /// Planted bug: a kernel that loses the wake-up leaves a thread asleep for ever.
    #[test]
    #[should_panic(expected = "deadlock")]
    fn planted_forgotten_wake_up_is_detected() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(|| {
            park::model::FORGETS.store(true, unspin_sync::machine::Ordering::Relaxed);
            let barrier = Arc::new(Barrier::new(2));
            let other = {
                let barrier = Arc::clone(&barrier);
                thread::spawn(move || barrier.wait(|word| word.sleep()))
            };
            barrier.wait(|word| word.sleep());
            other.join().unwrap();
        });
    }
}
