//! The scheduling state of a task, and its goodness by the rules of the Linux 2.4 kernel (`kernel/sched.c`, `goodness`
//! and `schedule`).
//!
//! | rule of 2.4 | here |
//! |---|---|
//! | a real-time task has 1000 + its priority | the same |
//! | another task has its remaining slice + 20 - nice; 0 once the slice is spent | the same |
//! | + 15 on the CPU on which it ran last (`PROC_CHANGE_PENALTY` on i386) | the same for workers. A task that has not run yet has the bonus on every worker: it has no cache to lose |
//! | + 1 if it has the address space of the task before it | left out: all tasks share one |
//! | a slice is (20 - nice) / 4 + 1 ticks (`NICE_TO_TICKS` at 100 Hz) | the same; see [`TICK`] for the length of a tick |
//! | once all runnable tasks have spent their slices, every task gets half of what it has left and a new slice | the same |
//! | a child gets half of its parent's slice | a new task gets a whole slice, because a task may start a million others before it returns |
//!
//! ```
//! use unspin_runqueue::schedule::{Nice, Schedule, WorkerId};
//!
//! let (here, elsewhere) = (WorkerId::new(0), WorkerId::new(1));
//! let task = Schedule::normal(Nice::DEFAULT).start_on(here, 0);
//! assert_eq!(task.slice(), 6);
//! assert_eq!(task.goodness(elsewhere).value(), 6 + 20);
//! assert_eq!(task.goodness(here).value(), 6 + 20 + 15);
//! ```

mod goodness;
mod nice;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod worker_id;

pub(crate) use goodness::REAL_TIME;
pub use goodness::{AFFINITY, Goodness};
pub use nice::{Nice, Priority};
pub use worker_id::WorkerId;

use core::time::Duration;

/// The length of a tick, the unit of slices. The kernel's was 10 ms. Here it is the usual resolution of the clock that
/// is cheapest to read (`CLOCK_MONOTONIC_COARSE`, which a kernel of 250 Hz advances every 4 ms).
pub const TICK: Duration = Duration::from_millis(4);

/// The most ticks that a task can have left: a task of nice -20 that sleeps through recalculations.
pub const SLICE_MAX: u8 = 21;

/// After so many recalculations a sleeper's slice does not grow further.
const RECALCULATIONS_MAX: u32 = 5;

/// The scheduling state of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// 0: a normal task.
    real_time: u8,
    nice: Nice,
    slice: u8,
    /// One more than the number of the worker that ran the task last; 0: none has.
    last: u16,
    /// Low bits of the number of recalculations that the last worker's queue had made when the task left it.
    epoch: u32,
}

/// Bits of [`Schedule::epoch`].
const EPOCH: u32 = (1 << 24) - 1;

impl Schedule {
    /// A new normal task.
    pub const fn normal(nice: Nice) -> Schedule {
        Schedule { real_time: 0, nice, slice: nice.ticks(), last: 0, epoch: 0 }
    }

    /// A new task. A real-time priority is clamped to 1 to 99. The nice value of a real-time task has no effect.
    pub const fn new(priority: Priority, nice: Nice) -> Schedule {
        let real_time = match priority {
            Priority::Normal => 0,
            Priority::RealTime(0) => 1,
            Priority::RealTime(100..) => 99,
            Priority::RealTime(priority) => priority,
        };
        Schedule { real_time, ..Schedule::normal(nice) }
    }

    /// The nice value.
    pub const fn nice(self) -> Nice {
        self.nice
    }

    /// The priority.
    pub const fn priority(self) -> Priority {
        match self.real_time {
            0 => Priority::Normal,
            priority => Priority::RealTime(priority),
        }
    }

    /// The ticks that the task has left of its slice.
    pub const fn slice(self) -> u8 {
        self.slice
    }

    /// The worker that ran the task last; none if it has not run yet.
    #[inline(always)]
    pub const fn last(self) -> Option<WorkerId> {
        match self.last {
            0 => None,
            last => Some(WorkerId(last - 1)),
        }
    }

    /// The goodness without the affinity bonus.
    #[inline(always)]
    pub const fn plain_goodness(self) -> Goodness {
        match (self.real_time, self.slice) {
            (1.., _) => Goodness(REAL_TIME + self.real_time as u16),
            (0, 0) => Goodness::SPENT,
            (0, slice) => Goodness(slice as u16 + (20 - self.nice.0) as u16),
        }
    }

    /// The goodness on a worker.
    #[inline(always)]
    pub fn goodness(self, worker: WorkerId) -> Goodness {
        if self.has_affinity(worker) { self.plain_goodness().with_affinity() } else { self.plain_goodness() }
    }

    /// Whether the task has the affinity bonus on this worker: it ran there last, or has not run yet.
    #[inline(always)]
    pub fn has_affinity(self, worker: WorkerId) -> bool {
        self.last == 0 || self.last == worker.0 + 1
    }

    /// The task as it begins to run on this worker, whose queue has made `epoch` recalculations.
    #[inline(always)]
    #[must_use]
    pub const fn start_on(self, worker: WorkerId, epoch: u32) -> Schedule {
        Schedule { last: worker.0 + 1, epoch: epoch & EPOCH, ..self }
    }

    /// The task after this number of ticks on a worker. A real-time task has no slice to spend.
    #[must_use]
    pub const fn charge(self, ticks: u64) -> Schedule {
        if self.real_time > 0 {
            return self;
        }
        let left = if ticks < self.slice as u64 { self.slice - ticks as u8 } else { 0 };
        Schedule { slice: left, ..self }
    }

    /// The task after the recalculations that its last worker's queue, which has made `epoch` in all, has made since
    /// the task left it.
    #[inline(always)]
    #[must_use]
    pub const fn recalculate_to(self, epoch: u32) -> Schedule {
        let made = epoch.wrapping_sub(self.epoch) & EPOCH;
        if made == 0 || self.last == 0 { self } else { self.recalculate(made).with_epoch(epoch) }
    }

    const fn with_epoch(self, epoch: u32) -> Schedule {
        Schedule { epoch: epoch & EPOCH, ..self }
    }

    /// The task after this number of recalculations.
    #[must_use]
    pub const fn recalculate(self, times: u32) -> Schedule {
        let mut slice = self.slice;
        let mut left = if times < RECALCULATIONS_MAX { times } else { RECALCULATIONS_MAX };
        while left > 0 {
            slice = slice / 2 + self.nice.ticks();
            left -= 1;
        }
        Schedule { slice, ..self }
    }

    /// All of it in one word.
    #[inline(always)]
    pub(crate) const fn to_word(self) -> u64 {
        self.real_time as u64
            | (self.nice.0 as u8 as u64) << 8
            | (self.slice as u64) << 16
            | (self.last as u64) << 24
            | (self.epoch as u64) << 40
    }

    /// The state of which [`to_word`](Schedule::to_word) made this word.
    #[inline(always)]
    pub(crate) const fn from_word(word: u64) -> Schedule {
        Schedule {
            real_time: word as u8,
            nice: Nice((word >> 8) as u8 as i8),
            slice: (word >> 16) as u8,
            last: (word >> 24) as u16,
            epoch: (word >> 40) as u32,
        }
    }
}

/// A task that a run queue can hold.
pub trait Schedulable: Send {
    /// The task's scheduling state.
    fn schedule(&self) -> Schedule;

    /// Replaces the task's scheduling state. A run queue calls this when the task changes places.
    fn set_schedule(&mut self, schedule: Schedule);
}
