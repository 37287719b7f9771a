//! The ready list: the tasks that wait for a worker. Both policies share it, so what differs between them is the lock.
//!
//! The kernel kept one linked list and computed the goodness of every task in it at each call of `schedule`. This list
//! finds the same task in constant time, because a waiting task's goodness changes in two ways only:
//!
//! - *by the worker that asks*, which may have the affinity bonus. So tasks are kept apart in groups: a group has the
//!   bonus on the same workers. The best task of a worker is the better one of the best in its groups, with the bonus,
//!   and the best of all.
//! - *by a recalculation*, which the kernel made once all runnable tasks had spent their slices, in a loop over all
//!   tasks of the machine. Here tasks that have spent their slices wait in a second array, at the level that they will
//!   have after the recalculation. The recalculation exchanges the two arrays. A task that is not in the list catches
//!   up when it comes back, by the number of recalculations that it has missed (the *epoch*).
//!
//! What differs from the kernel is the order among tasks of equal goodness. The kernel took the one nearest to the head
//! of its list, where it had inserted the last one woken. Here equals of a group are served in order of arrival, and
//! groups take turns. One take in 64 ignores goodness, so that no task waits for ever: see `turns`.

mod array;
mod batch;
mod levels;
#[cfg(all(test, not(any(loom, shuttle))))]
mod model;
mod real_time;
mod turns;

use crate::schedule::{AFFINITY, Goodness, Priority, REAL_TIME, Schedulable, WorkerId};
use array::Array;
pub(crate) use batch::Batch;
use levels::Presence;
use real_time::RealTimeTasks;
use turns::Turns;

/// Which tasks have the affinity bonus on the same workers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grouping {
    /// A list for this many workers: a group for each, and one for tasks that have not run yet.
    ByLastWorker(usize),
    /// A list that belongs to a worker: the tasks with the bonus there, and all others.
    OwnedBy(WorkerId),
}

/// A ready list.
#[derive(Debug)]
pub struct ReadyList<T> {
    grouping: Grouping,
    real_time: RealTimeTasks<T>,
    /// Tasks that have some of their slices left, by goodness.
    active: Array<T>,
    /// Tasks that have spent their slices, by the goodness that they will have after the next recalculation.
    spent: Array<T>,
    len: usize,
    /// What [`find_best`](ReadyList::find_best) returns.
    best: Option<Goodness>,
    /// Number of recalculations.
    epoch: u32,
    /// Which of a worker's two groups is served first if their best tasks are equal.
    prefers_new: bool,
    turns: Turns,
}

/// The group of tasks that have not run yet. They have the bonus on every worker.
const NEW: usize = 0;
/// In a list with an owner: tasks that ran there last.
const OWN: usize = 1;
/// In a list with an owner: tasks that ran elsewhere last.
const FOREIGN: usize = 2;

impl Grouping {
    fn groups(self) -> usize {
        match self {
            Grouping::ByLastWorker(workers) => workers + 1,
            Grouping::OwnedBy(_) => 3,
        }
    }

    /// The group of a task that ran last on this worker.
    #[inline(always)]
    fn group(self, last: Option<WorkerId>) -> usize {
        match (self, last) {
            (_, None) => NEW,
            (Grouping::ByLastWorker(_), Some(last)) => last.index() + 1,
            (Grouping::OwnedBy(owner), Some(last)) if owner == last => OWN,
            (Grouping::OwnedBy(_), Some(_)) => FOREIGN,
        }
    }

    /// The group, besides [`NEW`], whose tasks have the bonus on this worker; none if the list belongs to another
    /// worker: what has a bonus there has none here.
    #[inline(always)]
    fn own_group(self, worker: WorkerId) -> Option<usize> {
        match self {
            Grouping::ByLastWorker(_) => Some(worker.index() + 1),
            Grouping::OwnedBy(owner) => (owner == worker).then_some(OWN),
        }
    }

    /// The group, in a list with another owner, of tasks of this group.
    fn group_elsewhere(group: usize) -> usize {
        if group == NEW { NEW } else { FOREIGN }
    }
}

impl<T: Schedulable> ReadyList<T> {
    /// An empty list.
    pub fn new(grouping: Grouping) -> ReadyList<T> {
        ReadyList {
            grouping,
            real_time: RealTimeTasks::new(),
            active: Array::new(grouping.groups()),
            spent: Array::new(grouping.groups()),
            len: 0,
            best: None,
            epoch: 0,
            prefers_new: false,
            turns: Turns::default(),
        }
    }

    /// Number of tasks.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no task.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of recalculations that the list has made.
    #[inline(always)]
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The goodness of the best task, without the affinity bonus.
    #[inline(always)]
    pub fn best(&self) -> Option<Goodness> {
        self.best
    }

    fn find_best(&self) -> Option<Goodness> {
        if !self.real_time.is_empty() {
            return self.real_time.best().map(|priority| Goodness::from_value(REAL_TIME + priority));
        }
        match self.active.best() {
            Some(level) => Some(Goodness::from_value(level as u16)),
            None if self.spent.is_empty() => None,
            None => Some(Goodness::SPENT),
        }
    }

    #[inline(always)]
    fn update_best(&mut self, presence: Presence) {
        if presence == Presence::Changed {
            self.best = self.find_best();
        }
    }

    /// Adds a task behind its equals. The caller has applied the recalculations that the task has missed.
    #[inline(always)]
    pub fn push(&mut self, task: T) {
        let schedule = task.schedule();
        let group = self.grouping.group(schedule.last());
        self.len += 1;
        let presence = if let Priority::RealTime(priority) = schedule.priority() {
            self.real_time.push(priority, task);
            Presence::Changed
        } else if schedule.slice() > 0 {
            self.active.push(group, schedule.plain_goodness().value().into(), task)
        } else {
            self.spent.push(group, schedule.recalculate(1).plain_goodness().value().into(), task)
        };
        self.update_best(presence);
    }

    /// Takes the best task for a worker, which is about to run it. If all have spent their slices, recalculates first.
    #[inline(always)]
    pub fn pop(&mut self, worker: WorkerId) -> Option<T> {
        let mut task = self.take(worker)?;
        let schedule = task.schedule();
        task.set_schedule(schedule.start_on(worker, self.epoch));
        Some(task)
    }

    /// Takes the best task for a worker, and leaves in its state where it ran last. For a worker that takes it from
    /// another one's list.
    #[inline(always)]
    pub fn take(&mut self, worker: WorkerId) -> Option<T> {
        let (mut task, presence) = if !self.real_time.is_empty() {
            (self.real_time.pop()?, Presence::Changed)
        } else if self.turns.count() {
            return self.take_in_turn();
        } else {
            if self.active.is_empty() {
                if self.spent.is_empty() {
                    return None;
                }
                self.recalculate();
            }
            self.take_active(worker)?
        };
        self.len -= 1;
        self.update_best(presence);
        let schedule = task.schedule();
        if schedule.slice() == 0 {
            // It was spent when it came, and has seen one recalculation since.
            task.set_schedule(schedule.recalculate(1));
        }
        Some(task)
    }

    /// Takes a task whatever its goodness is. One that has spent its slice gets no new one before the recalculation.
    #[cold]
    fn take_in_turn(&mut self) -> Option<T> {
        let (array, mut task, presence) = self.turns.take([&mut self.active, &mut self.spent])?;
        self.len -= 1;
        self.update_best(presence);
        let schedule = task.schedule();
        if array == 0 && schedule.slice() == 0 {
            // As in `take`.
            task.set_schedule(schedule.recalculate(1));
        }
        Some(task)
    }

    #[inline(always)]
    fn take_active(&mut self, worker: WorkerId) -> Option<(T, Presence)> {
        let Some(own) = self.grouping.own_group(worker) else { return self.active.pop_best() };
        let (of_new, of_own) = (self.active.best_of(NEW), self.active.best_of(own));
        match (of_new.max(of_own), self.active.best()) {
            (Some(level), Some(best)) if best <= level + AFFINITY as usize => {
                let is_tie = of_new == of_own;
                let group = if of_new > of_own || is_tie && self.prefers_new { NEW } else { own };
                self.prefers_new ^= is_tie;
                self.active.pop(group, level)
            }
            _ => self.active.pop_best(),
        }
    }

    /// Gives each task half of what it has left and a new slice. Every task of the list has spent its slice.
    #[cold]
    fn recalculate(&mut self) {
        core::mem::swap(&mut self.active, &mut self.spent);
        self.epoch = self.epoch.wrapping_add(1);
        self.best = self.find_best();
    }

    /// Takes the best task for a worker whose present task yields, and adds that one behind its equals. A task that
    /// yields comes after all others, for this once; if there is no other, it goes on.
    #[inline(always)]
    pub fn exchange(&mut self, mut yielding: T, worker: WorkerId) -> T {
        let next = self.pop(worker);
        let schedule = yielding.schedule();
        let now = schedule.recalculate_to(self.epoch);
        if now != schedule {
            yielding.set_schedule(now);
        }
        match next {
            Some(next) => {
                self.push(yielding);
                next
            }
            None => yielding,
        }
    }

    /// Adds a task and takes the best one for a worker, which may be the same.
    #[inline(always)]
    pub fn replace(&mut self, mut task: T, worker: WorkerId) -> T {
        if self.is_empty() {
            task.set_schedule(task.schedule().start_on(worker, self.epoch));
            return task;
        }
        self.push(task);
        self.pop(worker).expect("a task was just pushed")
    }

    /// Takes half of the tasks that are equal to the best normal one, but not more than the empty batch has room for, for
    /// another worker's list. Real-time tasks stay.
    pub(crate) fn take_batch(&mut self, room: Batch<T>) -> Batch<T> {
        let batch = self.active.take_batch(room);
        self.len -= batch.len();
        batch
    }

    /// Adds tasks from another worker's list. It does not look at them: they are as good here as there, without the
    /// bonus.
    pub(crate) fn push_batch(&mut self, batch: Batch<T>) {
        let (group, level) = (Grouping::group_elsewhere(batch.group), batch.level);
        self.len += batch.len();
        batch.tasks.into_iter().for_each(|task| _ = self.active.push(group, level, task));
        self.best = self.find_best();
    }
}
