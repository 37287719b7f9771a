//! Holds: from the acquisition of a lock to its release.

use super::Thread;
use crate::watch::timing_cost::{STRETCH, clock_reading, exceeds_share};
use unspin_sys::clock;
use unspin_wire::{AttemptOutcome, Event, HeldLock, Level, RowRef};

/// In how many threads' tables to look for a lock that is released by another thread than the one that acquired it.
const TABLES_SEARCHED: usize = 1024;

impl Thread {
    /// Records that the thread has acquired a lock without a wait.
    #[inline(always)]
    pub fn record_acquired(&self, lock: u64, row: RowRef) {
        if self.has_clock() {
            self.begin_hold(lock, row);
        }
    }

    /// [`record_acquired`](Self::record_acquired), in a thread of which times are recorded.
    #[inline(always)]
    pub fn begin_hold(&self, lock: u64, row: RowRef) {
        let since = self.start_of_hold(clock::ticks);
        // A handler has forked since the hook began, and this is the child.
        if since == 0 && !self.has_clock() {
            return;
        }
        self.table().begin_hold(lock, row, since, None);
    }

    /// Records that the thread has acquired a lock at time `now`, after this many ticks of spinning and of sleep.
    /// Whether the hold is timed does not depend on the wait; otherwise the holds of contended locks would stand for
    /// all holds.
    pub fn record_acquired_after(&self, lock: u64, row: RowRef, now: u64, spun: u64, slept: u64) {
        if self.has_clock() {
            let since = self.start_of_hold(|| now);
            self.table().begin_hold(lock, row, since, Some((spun, slept)));
        }
    }

    /// Records that the thread has acquired a lock that it holds already: an attempt, but no new hold.
    pub fn record_acquired_again(&self, lock: u64, row: RowRef) {
        if self.has_clock() {
            let since = self.start_of_hold(clock::ticks);
            if since != 0 {
                self.add_hold(row, since, since);
            }
            self.table().begin_hold(lock, row, 0, None);
        }
    }

    /// The start of a hold that begins now; 0 if this hold is not timed.
    #[inline(always)]
    fn start_of_hold(&self, now: impl FnOnce() -> u64) -> u64 {
        let left = self.countdown.get().wrapping_sub(1);
        self.countdown.set(left);
        if left == 0 {
            let since = now();
            self.turn();
            return since;
        }
        if self.every.get() == 1 { now() } else { 0 }
    }

    /// Chooses the next hold to be timed, at random. If all are, decides whether that goes on.
    #[inline(never)]
    fn turn(&self) {
        if self.every.get() == 1 && !self.is_stretch_dear() {
            return self.countdown.set(STRETCH);
        }
        match self.every.get() {
            // A handler has forked since the hook began, and this is the child.
            0 => {}
            every => self.countdown.set(self.random.draw(every)),
        }
    }

    /// Ends a stretch of holds that were all timed. If timing them has cost too much, the thread is sampled from now on.
    fn is_stretch_dear(&self) -> bool {
        let (began, now) = (self.stretch.get(), clock::ticks());
        if began == 0 || !exceeds_share(STRETCH, now.saturating_sub(began), clock_reading()) {
            self.stretch.set(if began == 0 { 0 } else { now });
            return false;
        }
        self.weighted_from.set(now);
        self.every.set(Level::AUTO_EVERY);
        self.table().count_event(Event::Sampled, 1);
        true
    }

    /// Adds a timed hold of this thread. Those of a thread that level `auto` samples count as the holds for which they stand,
    /// beside the thread's earlier holds and those of other threads.
    fn add_hold(&self, row: RowRef, since: u64, now: u64) {
        let holds = if since > self.weighted_from.get() { self.every.get() } else { 1 };
        self.table().add_holds(row, now.saturating_sub(since), holds.into());
    }

    /// The time at which the hold ends, in a thread of which times are recorded, for
    /// [`after_unlock`](Thread::after_unlock). Only the thread that holds the lock can take it.
    #[inline(always)]
    pub fn before_unlock(&self, lock: u64) -> u64 {
        if self.every.get() == 1 || self.table().is_timed(lock) { clock::ticks() } else { 0 }
    }

    /// Records that the thread has released a lock, at the time that [`before_unlock`](Thread::before_unlock) returned.
    #[inline(always)]
    pub fn after_unlock(&self, lock: u64, now: u64) {
        if self.every.get() != 1 {
            return self.after_unlock_sampled(lock, now);
        }
        match self.table().end_last_hold(lock) {
            Some((_, 0)) => {}
            Some((row, since)) => self.table().add_hold(row, now.saturating_sub(since)),
            None => self.after_unlock_slow(lock, now),
        }
    }

    #[inline(never)]
    fn after_unlock_sampled(&self, lock: u64, now: u64) {
        // A handler has forked since the hook began, and this is the child.
        if !self.has_clock() {
            return;
        }
        match self.table().end_last_hold(lock) {
            Some((_, 0)) => {}
            Some((row, since)) => self.add_hold(row, since, now),
            None => self.after_unlock_slow(lock, now),
        }
    }

    #[cold]
    #[inline(never)]
    fn after_unlock_slow(&self, lock: u64, now: u64) {
        match self.table().end_hold(lock) {
            Some(held) => self.end_hold(&held, held.row_ref(), now),
            None => self.foreign_unlock(lock, now),
        }
    }

    /// Records the end of a hold in a row of this thread.
    pub fn end_hold(&self, held: &HeldLock, row: RowRef, now: u64) {
        if held.since != 0 {
            self.add_hold(row, held.since, now);
        }
        self.add_wait_before(held, row);
    }

    /// Records the wait before a hold.
    fn add_wait_before(&self, held: &HeldLock, row: RowRef) {
        if let Some((spun, slept)) = held.wait {
            self.table().add_wait(row, AttemptOutcome::Slept, spun, slept);
        }
    }

    /// Records the release of a lock that another thread acquired, or that no thread was seen to acquire.
    fn foreign_unlock(&self, lock: u64, now: u64) {
        if self.waiting.get() == lock {
            // A wait for a condition was cancelled. Its mutex was locked again, unseen by the meter.
            return self.waiting.set(0);
        }
        let taken = self
            .recording
            .get()
            .and_then(|recording| recording.take_over(self.table(), lock, TABLES_SEARCHED));
        let Some(held) = taken else { return self.table().count_event(Event::Unmatched, 1) };
        // The row belongs to the other thread, which alone writes to it. The hold is recorded in a row of this thread
        // with the same key.
        let own = self.table().key(held.row_ref()).and_then(|key| {
            let table = self.table();
            table.find(key).or_else(|| table.publish(key))
        });
        if let Some(row) = own {
            // It is not known for how many holds the other thread has timed this one.
            if held.since != 0 {
                self.table().add_hold(row, now.saturating_sub(held.since));
            }
            self.add_wait_before(&held, row);
        }
    }
}
