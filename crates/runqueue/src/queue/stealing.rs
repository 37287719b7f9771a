//! How a worker takes tasks from the queues of others.

use crate::lock::Operation;
use crate::queue::{PerCpu, WorkerClaim};
use crate::ready::{Batch, ReadyList};
use crate::schedule::{Schedulable, WorkerId};
use unspin_locks::RawLock;
use unspin_sync::hint;
#[cfg(not(any(loom, shuttle)))]
use unspin_sys::clock::{ticks, ticks_in};

/// How often a worker looks at the queues while it misses locks. Then it goes idle. The protocol for that notices tasks
/// (see `Pool`), so more looks would only spin.
const LOOKS: u32 = 4;
/// Pauses before a worker looks again: about as long as a lock is held.
const PAUSES: u32 = 16;

/// Tasks that take less time than this each are tiny: to steal one costs more than to run it.
const TINY_NS: u64 = 400;
/// The time from one steal of tiny tasks to the next. In this time more tiny tasks gather, which one steal takes. A
/// wake-up takes longer.
const INTERVAL_NS: u64 = 12_000;

#[cfg(any(loom, shuttle))]
fn ticks() -> u64 {
    0
}

#[cfg(any(loom, shuttle))]
fn ticks_in(ns: u64) -> u64 {
    ns
}

/// The result of a look at all queues.
enum Look<R> {
    Found(R),
    /// No queue has a task that is good enough.
    Nothing,
    /// A queue has such a task, but another thread holds the queue's lock.
    Missed,
}

/// Queues that a worker has already tried.
struct Tried([u64; WorkerId::MAX / 64]);

impl Tried {
    fn has(&self, queue: usize) -> bool {
        self.0[queue / 64] >> (queue % 64) & 1 == 1
    }

    fn insert(&mut self, queue: usize) {
        self.0[queue / 64] |= 1 << (queue % 64);
    }
}

impl<L: RawLock, T: Schedulable> PerCpu<L, T> {
    /// Takes one task from another queue, if there is a queue with a summary above this word.
    pub(super) fn steal_one(&self, worker: &mut WorkerClaim, above: u32) -> Option<T> {
        let me = worker.id();
        match self.look(worker, above, |_| (), |list, ()| list.take(me)) {
            Look::Found(task) => {
                self.count_steal(worker, 1);
                Some(self.start_on(task, worker))
            }
            Look::Nothing | Look::Missed => None,
        }
    }

    /// Takes the best task of one other queue, if its lock is free.
    pub(super) fn steal_from(&self, worker: &mut WorkerClaim, victim: usize) -> Option<T> {
        match self.try_with(victim, Operation::Steal, (), |list, ()| list.take(worker.id())) {
            Ok(task) => {
                let task = task?;
                self.count_steal(worker, 1);
                Some(self.start_on(task, worker))
            }
            Err(()) => {
                self.count_missed_trylocks(worker, 1);
                None
            }
        }
    }

    /// Takes the best task of all other queues, and moves some more from there to the worker's own queue, which is
    /// empty.
    #[cold]
    pub(super) fn steal_batch(&self, worker: &mut WorkerClaim) -> Option<T> {
        self.space_out_steals(worker);
        let me = worker.id();
        // Before the victim's lock is taken: an allocation can take longer than the steal.
        let room = |victim: usize| Batch::with_room_for(self.queues()[victim].summary.len() / 2);
        for _ in 0..LOOKS {
            match self.look(worker, 0, room, |list, room| Some((list.take(me)?, list.take_batch(room)))) {
                Look::Found((best, batch)) => {
                    let tasks = 1 + batch.len() as u64;
                    self.count_steal(worker, tasks);
                    if batch.len() > 0 {
                        self.with(worker.id().index(), Operation::Steal, |own| own.push_batch(batch));
                    }
                    let counters = &self.own(worker).counters;
                    counters.stole_at.set(ticks());
                    counters.stolen_last.set(tasks);
                    return Some(self.start_on(best, worker));
                }
                Look::Nothing => return None,
                Look::Missed => {
                    self.own(worker).counters.premature_idles.add(1);
                    (0..PAUSES).for_each(|_| hint::spin_loop());
                }
            }
        }
        None
    }

    /// Waits until [`INTERVAL_NS`] have passed since the worker's last steal, if the tasks of that steal were tiny, or
    /// until the worker's own queue gets a task. Each steal moves cache lines of the victim's queue to another CPU,
    /// which slows down a worker that starts tiny tasks.
    fn space_out_steals(&self, worker: &mut WorkerClaim) {
        let own = self.own(worker);
        let (last, tasks) = (own.counters.stole_at.get(), own.counters.stolen_last.get());
        // 0: it has not stolen yet, or the clock is a model's, which stands still.
        if last == 0 || ticks().wrapping_sub(last) >= ticks_in(tasks * TINY_NS) {
            return;
        }
        let interval = ticks_in(INTERVAL_NS);
        while ticks().wrapping_sub(last) < interval && own.summary.best_word() == 0 {
            hint::spin_loop();
        }
    }

    /// Looks at the summaries of all other queues, in descending order, and lets `take` take from the first whose lock
    /// is free and which still has a task above the word. `prepare` makes what `take` needs, without the lock.
    fn look<A, R>(
        &self,
        worker: &mut WorkerClaim,
        above: u32,
        prepare: impl Fn(usize) -> A,
        take: impl Fn(&mut ReadyList<T>, A) -> Option<R>,
    ) -> Look<R> {
        let mut tried = Tried([0; WorkerId::MAX / 64]);
        let mut missed = 0;
        while let Some(victim) = self.best_of_others(worker.id(), above, &tried) {
            tried.insert(victim);
            let is_above = |list: &ReadyList<T>| crate::queue::summary::encode(list.best()) > above;
            let taken = self.try_with(victim, Operation::Steal, prepare(victim), |list, prepared| {
                // The summary was read without the lock.
                if is_above(list) { take(list, prepared) } else { None }
            });
            match taken {
                Ok(Some(found)) => {
                    self.count_missed_trylocks(worker, missed);
                    return Look::Found(found);
                }
                Ok(None) => {}
                Err(_) => missed += 1,
            }
        }
        self.count_missed_trylocks(worker, missed);
        if missed > 0 { Look::Missed } else { Look::Nothing }
    }

    /// The queue of another worker with the best summary above the word, of those that were not tried. The search begins
    /// behind the worker, so different workers choose different queues if several are equally good.
    fn best_of_others(&self, worker: WorkerId, above: u32, tried: &Tried) -> Option<usize> {
        let count = self.queues().len();
        let (mut best, mut found) = (above, None);
        for queue in (worker.index() + 1..count).chain(0..worker.index()) {
            let word = self.queues()[queue].summary.best_word();
            if word > best && !tried.has(queue) {
                (best, found) = (word, Some(queue));
            }
        }
        found
    }

    /// The task as it begins to run on this worker.
    fn start_on(&self, mut task: T, worker: &WorkerClaim) -> T {
        let epoch = self.own(worker).summary.epoch();
        task.set_schedule(task.schedule().start_on(worker.id(), epoch));
        task
    }

    fn count_steal(&self, worker: &mut WorkerClaim, tasks: u64) {
        let counters = &self.own(worker).counters;
        counters.steals.add(1);
        counters.stolen.add(tasks);
    }

    fn count_missed_trylocks(&self, worker: &mut WorkerClaim, missed: u64) {
        if missed > 0 {
            self.own(worker).counters.missed.add(missed);
        }
    }
}
