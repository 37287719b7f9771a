//! Planted bugs that the models must find.

use super::*;
use crate::queue::{Claims, Policy, QueueStatistics, Requeue, WorkerClaim};
use crate::schedule::Goodness;
use unspin_locks::{Until, Waited};

/// Planted bug: the flag is set, and no worker is woken.
#[test]
#[should_panic(expected = "deadlock")]
fn planted_stop_without_wake_up() {
    fn stop(world: &World) {
        world.pool.stops.store_seq_cst(true);
    }
    explore::<World>(3, one_worker, &[stop, |world| world.work(FIRST, nothing)], |_| {});
}

/// A queue with one mistake, in front of a correct one.
struct Wrong<const MISTAKE: u32>(PerCpu<Ttas, Token>);

/// Mistake: a worker that goes idle does not see the tasks that are there.
const BLIND: u32 = 0;
/// Mistake: a thief does not take what it has found from the queue.
const COPIES: u32 = 1;
/// Mistake: a push to a queue whose lock is taken is dropped.
const LOSES: u32 = 2;

impl<const MISTAKE: u32> RunQueue<Token> for Wrong<MISTAKE> {
    fn policy(&self) -> Policy {
        Policy::PerCpu
    }

    fn workers(&self) -> usize {
        self.0.workers()
    }

    fn push(&self, task: Token, to: WorkerId, origin: Origin, operation: Operation) -> WorkerId {
        if MISTAKE == LOSES {
            let _ = self.0.try_with(to.index(), operation, task, |list, task| list.push(task));
            return to;
        }
        self.0.push(task, to, origin, operation)
    }

    fn claims(&self) -> &Claims {
        self.0.claims()
    }

    fn pop(&self, worker: &mut WorkerClaim) -> Option<Token> {
        let token = self.0.pop(worker)?;
        if MISTAKE == COPIES && worker.id() == SECOND && token.name == 0 {
            self.0.push(Token::new(0), FIRST, Origin::Outside, Operation::Push);
        }
        Some(token)
    }

    fn requeue(&self, task: Token, worker: &mut WorkerClaim, how: Requeue) -> Token {
        self.0.requeue(task, worker, how)
    }

    fn take_any(&self) -> Option<Token> {
        self.0.take_any()
    }

    fn best(&self, worker: WorkerId) -> Option<Goodness> {
        self.0.best(worker)
    }

    fn epoch(&self, worker: WorkerId) -> u32 {
        self.0.epoch(worker)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        MISTAKE == BLIND || self.0.is_empty()
    }

    fn statistics(&self) -> Vec<QueueStatistics> {
        self.0.statistics()
    }
}

fn wrong<const MISTAKE: u32>() -> World {
    World::new(Box::new(Wrong::<MISTAKE>(PerCpu::new(2, None))), 2)
}

/// Planted lost wake-up: the worker does not look at the queues after it has set its idle bit.
#[test]
#[should_panic(expected = "deadlock")]
fn planted_worker_that_sleeps_without_a_look() {
    explore::<World>(3, wrong::<BLIND>, &[submit_both, |world| world.work(FIRST, nothing)], World::finish);
}

/// Planted lost task.
#[test]
#[should_panic(expected = "deadlock")]
fn planted_push_that_gives_up() {
    explore::<World>(3, wrong::<LOSES>, &[submit_both, |world| world.work(FIRST, nothing)], World::finish);
}

/// Planted task that runs twice.
#[test]
#[should_panic(expected = "ran twice")]
fn planted_thief_that_copies() {
    let acts: &'static [fn(&World)] =
        &[submit_both, |world| world.work(FIRST, nothing), |world| world.work(SECOND, nothing)];
    explore::<World>(2, wrong::<COPIES>, acts, World::finish);
}

/// A lock whose trylock does not look.
struct TakesAlways;

// SAFETY: it does not exclude; the model must detect that.
unsafe impl RawLock for TakesAlways {
    type Node = ();

    fn new() -> TakesAlways {
        TakesAlways
    }

    fn try_lock(&self) -> bool {
        true
    }

    fn lock(&self, _: &mut ()) -> Waited {
        Waited::No
    }

    fn lock_until(&self, _: &mut (), _: Until) -> Option<Waited> {
        Some(Waited::No)
    }

    unsafe fn unlock(&self) {}

    fn is_locked(&self) -> bool {
        false
    }
}

/// Planted bug: the thief does not exclude the owner.
#[test]
#[should_panic(expected = "Causality violation")]
fn planted_trylock_that_does_not_exclude() {
    contend::<TakesAlways>();
}

impl Published {
    /// Mistake: takes the two words for hints.
    fn go_idle_without_order(&self) {
        // Relaxed (all): the mistake.
        self.is_idle.store(true, Ordering::Relaxed);
        self.seen[1].store(self.summary.best_word() != 0, Ordering::Relaxed);
    }
}

/// Planted bug: the worker does not order its two accesses.
#[test]
#[should_panic(expected = "neither has seen the other")]
fn planted_summary_read_without_order() {
    let acts: &'static [fn(&Published)] = &[Published::publish, Published::go_idle_without_order];
    explore(3, Published::new, acts, Published::finish);
}
