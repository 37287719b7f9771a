//! Holds: from the acquisition of a lock to its release.

use super::Thread;
use crate::watch::timing_cost::{STRETCH, clock_reading, exceeds_share, is_rare};
use unspin_sys::clock;
use unspin_wire::{AttemptOutcome, Event, HeldLock, Level, RowRef};

/// In how many threads' tables to look for a lock that is released by another thread than the one that acquired it.
const TABLES_SEARCHED: usize = 1024;

/// When a hold begins, in ticks.
enum HoldStart {
    /// The hold stands for itself; 0: it is not timed.
    One(u64),
    /// The hold stands for [`Level::AUTO_EVERY`] holds of a frequent row.
    Sample(u64),
}

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
        let Some(since) = self.start_by_countdown(clock::ticks) else {
            return self.begin_chosen_hold(lock, row);
        };
        // A handler has forked since the hook began, and this is the child.
        if since == 0 && !self.has_clock() {
            return;
        }
        self.table().begin_hold(lock, row, since, None);
    }

    /// [`begin_hold`](Self::begin_hold) in a thread that level `auto` samples.
    #[inline(never)]
    fn begin_chosen_hold(&self, lock: u64, row: RowRef) {
        self.add_held(lock, row, self.choose_by_row(row, clock::ticks), None);
    }

    /// Adds a lock to those that the thread holds.
    fn add_held(&self, lock: u64, row: RowRef, start: HoldStart, wait: Option<(u64, u64)>) {
        // A handler has forked since the hook began, and this is the child.
        if !self.has_clock() {
            return;
        }
        match start {
            HoldStart::One(since) => self.table().begin_hold(lock, row, since, wait),
            HoldStart::Sample(since) => self.table().begin_sample_hold(lock, row, since, wait),
        }
    }

    /// Records that the thread has acquired a lock at time `now`, after this many ticks of spinning and of sleep.
    /// Whether the hold is timed does not depend on the wait; otherwise the holds of contended locks would stand for
    /// all holds.
    pub fn record_acquired_after(&self, lock: u64, row: RowRef, now: u64, spun: u64, slept: u64) {
        if self.has_clock() {
            self.add_held(lock, row, self.start_of_hold(row, || now), Some((spun, slept)));
        }
    }

    /// Records that the thread has acquired a lock that it holds already: an attempt, but no new hold.
    pub fn record_acquired_again(&self, lock: u64, row: RowRef) {
        if self.has_clock() {
            match self.start_of_hold(row, clock::ticks) {
                HoldStart::One(0) => {}
                HoldStart::One(_) => self.table().add_hold(row, 0),
                HoldStart::Sample(_) => self.table().add_holds(row, 0, Level::AUTO_EVERY.into()),
            }
            self.table().begin_hold(lock, row, 0, None);
        }
    }

    /// The start of a hold that begins now, in ticks; 0 if this hold is not timed. `None` if its row decides:
    /// [`choose_by_row`](Self::choose_by_row).
    #[inline(always)]
    fn start_by_countdown(&self, now: impl FnOnce() -> u64) -> Option<u64> {
        let left = self.countdown.get().wrapping_sub(1);
        self.countdown.set(left);
        if left == 0 {
            if self.until_sample.get() != 0 {
                return None;
            }
            let since = now();
            self.turn();
            return Some(since);
        }
        Some(if self.every.get() == 1 { now() } else { 0 })
    }

    /// The start of a hold that begins now.
    fn start_of_hold(&self, row: RowRef, now: impl Fn() -> u64) -> HoldStart {
        match self.start_by_countdown(&now) {
            Some(since) => HoldStart::One(since),
            None => self.choose_by_row(row, now),
        }
    }

    /// The start of a hold in a thread that level `auto` samples. A handler that takes a lock before the countdown is at 1
    /// again has a hold that is not timed.
    fn choose_by_row(&self, row: RowRef, now: impl FnOnce() -> u64) -> HoldStart {
        self.countdown.set(1);
        if is_rare(self.table().acquisitions(row)) {
            return HoldStart::One(now());
        }
        let left = self.until_sample.get().wrapping_sub(1);
        if left == 0 {
            self.until_sample.set(self.random.draw(Level::AUTO_EVERY));
            return HoldStart::Sample(now());
        }
        self.until_sample.set(left);
        HoldStart::One(0)
    }

    /// Begins the next countdown: up to the next hold to be timed, which is chosen at random; or a stretch of holds that are all
    /// timed.
    #[inline(never)]
    fn turn(&self) {
        match self.every.get() {
            // A handler has forked since the hook began, and this is the child.
            0 => {}
            1 => self.end_stretch(),
            every => self.countdown.set(self.random.draw(every)),
        }
    }

    /// Ends a stretch of holds that were all timed. If timing them has cost too much, the thread is sampled from now on: its
    /// holds are timed by their rows.
    #[inline(never)]
    fn end_stretch(&self) {
        if !self.is_stretch_dear() {
            return self.countdown.set(STRETCH);
        }
        self.until_sample.set(self.random.draw(Level::AUTO_EVERY));
        self.every.set(Level::AUTO_EVERY);
        self.countdown.set(1);
        self.table().count_event(Event::Sampled, 1);
    }

    /// Whether timing the holds of the stretch that ends now has cost too much. The next stretch begins.
    fn is_stretch_dear(&self) -> bool {
        let began = self.stretch.get();
        if began == 0 {
            return false;
        }
        let now = clock::ticks();
        self.stretch.set(now);
        exceeds_share(STRETCH, now.saturating_sub(began), clock_reading())
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
            Some((row, since)) => self.table().add_hold(row, now.saturating_sub(since)),
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
            self.table().add_holds(row, now.saturating_sub(held.since), held.holds());
        }
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
            self.end_hold(&held, row, now);
        }
    }
}
