//! Few workers and few tasks in every interleaving: every task that is submitted runs, once; no worker sleeps while there
//! is a task; stopped workers stop. Beside each property stands a planted bug.

mod planted;

use super::{FutexSleeper, Pool};
use crate::lock::Operation;
use crate::ordered::{Load, Store};
use crate::queue::summary::Summary;
use crate::queue::{Global, Origin, PerCpu, RunQueue};
use crate::ready::{Grouping, ReadyList};
use crate::schedule::WorkerId;
use core::ptr::NonNull;
use loom::thread::spawn;
use unspin_locks::{RawLock, Ttas};
use unspin_sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The name is its index in [`World::runs`].
type Token = crate::token::Token<usize>;

/// A pool, and how often each token has run.
struct World {
    pool: Pool<Token, FutexSleeper>,
    runs: Vec<AtomicUsize>,
    done: AtomicUsize,
}

const FIRST: WorkerId = WorkerId::new(0);
const SECOND: WorkerId = WorkerId::new(1);

impl World {
    fn new(queue: Box<dyn RunQueue<Token>>, tokens: usize) -> World {
        World {
            pool: Pool::new(queue, FutexSleeper),
            runs: (0..tokens).map(|_| AtomicUsize::new(0)).collect(),
            done: AtomicUsize::new(0),
        }
    }

    fn submit(&self, number: usize, origin: Origin) {
        self.pool.submit(Token::new(number), origin, Operation::Push);
    }

    /// Runs tokens until the pool stops; `run` is what a token does. The worker that runs the last one stops the pool.
    fn work(&self, id: WorkerId, run: fn(&World, WorkerId, usize)) {
        let mut worker = self.pool.worker(id);
        while let Some(token) = worker.next_task() {
            run(self, id, token.name);
            // Relaxed: counts of which each thread reads only the result of its own change.
            assert_eq!(self.runs[token.name].fetch_add(1, Ordering::Relaxed), 0, "a task ran twice");
            if self.done.fetch_add(1, Ordering::Relaxed) + 1 == self.runs.len() {
                self.pool.stop();
            }
        }
    }

    fn finish(&self) {
        for runs in &self.runs {
            // Relaxed: all threads have been joined.
            assert_eq!(runs.load(Ordering::Relaxed), 1, "a task has not run");
        }
        assert!(self.pool.queue().is_empty() && self.pool.queue().len() == 0);
    }
}

/// Runs a model with at most this many preemptions.
fn explore<W: Send + Sync + 'static>(
    preemptions: usize,
    new: fn() -> W,
    acts: &'static [fn(&W)],
    end: fn(&W),
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(move || {
        let world = NonNull::from(Box::leak(Box::new(new())));
        // SAFETY: freed below, after all threads have been joined. No reference count: a thread that unwinds from a
        // deadlock would panic again when it decrements the count.
        let shared: &'static W = unsafe { world.as_ref() };
        let others: Vec<_> = acts[1..].iter().map(|act| spawn(move || act(shared))).collect();
        acts[0](shared);
        others.into_iter().for_each(|other| other.join().unwrap());
        end(shared);
        // SAFETY: leaked above, and no thread uses it any more.
        drop(unsafe { Box::from_raw(world.as_ptr()) });
    });
}

fn nothing(_: &World, _: WorkerId, _: usize) {}

/// The first token submits the second one.
fn first_submits_second(world: &World, worker: WorkerId, number: usize) {
    if number == 0 {
        world.submit(1, Origin::Worker(worker));
    }
}

fn one_worker() -> World {
    World::new(Box::new(PerCpu::<Ttas, Token>::new(1, None)), 2)
}

fn two_workers() -> World {
    World::new(Box::new(PerCpu::<Ttas, Token>::new(2, None)), 2)
}

fn two_workers_one_queue() -> World {
    World::new(Box::new(Global::<Ttas, Token>::new(2, None)), 2)
}

/// A task is there before the workers, one of which may be idle when it submits another.
fn two_workers_and_a_task() -> World {
    let world = two_workers();
    world.submit(0, Origin::Outside);
    world
}

fn submit_both(world: &World) {
    world.submit(0, Origin::Outside);
    world.submit(1, Origin::Outside);
}

#[test]
fn idle_worker_is_woken_for_each_task() {
    explore::<World>(3, one_worker, &[submit_both, |world| world.work(FIRST, nothing)], World::finish);
}

#[test]
fn tasks_from_outside_reach_two_workers() {
    let acts: &'static [fn(&World)] =
        &[submit_both, |world| world.work(FIRST, nothing), |world| world.work(SECOND, nothing)];
    explore(1, two_workers, acts, World::finish);
    explore(1, two_workers_one_queue, acts, World::finish);
}

#[test]
fn task_of_a_busy_worker_reaches_an_idle_one() {
    let acts: &'static [fn(&World)] =
        &[|world| world.work(FIRST, first_submits_second), |world| world.work(SECOND, first_submits_second)];
    explore(3, two_workers_and_a_task, acts, World::finish);
}

#[test]
fn stopped_workers_stop() {
    fn stop(world: &World) {
        world.pool.stop();
    }
    let acts: &'static [fn(&World)] =
        &[stop, |world| world.work(FIRST, nothing), |world| world.work(SECOND, nothing)];
    explore::<World>(3, two_workers, acts, |world| assert!(world.pool.queue().is_empty()));
}

/// A queue by itself: its owner, a thief, and a thread that pushes.
struct Queue<L>(PerCpu<L, Token>, AtomicUsize);

impl<L: RawLock + 'static> Queue<L> {
    fn new() -> Queue<L> {
        let queue = Queue(PerCpu::new(2, None), AtomicUsize::new(0));
        for number in 0..2 {
            queue.0.push(Token::new(number), FIRST, Origin::Outside, Operation::Push);
        }
        queue
    }

    fn pop(&self, worker: WorkerId) -> Option<Token> {
        let queue: &dyn RunQueue<Token> = &self.0;
        queue.local(worker).pop()
    }

    fn count_pop(&self, worker: WorkerId) {
        if self.pop(worker).is_some() {
            // Relaxed: read after all threads have been joined.
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn finish(&self) {
        // Relaxed: all threads have been joined.
        let popped = self.1.load(Ordering::Relaxed);
        let left = core::iter::from_fn(|| self.pop(FIRST)).count();
        assert_eq!(popped + left, 3, "a task was lost, or ran twice");
        assert!(self.0.is_empty() && self.0.len() == 0);
    }
}

fn contend<L: RawLock + 'static>() {
    let push = |queue: &Queue<L>| {
        queue.0.push(Token::new(2), FIRST, Origin::Outside, Operation::Push);
    };
    let owner: fn(&Queue<L>) = |queue| queue.count_pop(FIRST);
    let thief: fn(&Queue<L>) = |queue| queue.count_pop(SECOND);
    explore::<Queue<L>>(
        2,
        Queue::new,
        Box::leak(Box::new([owner, thief, push as fn(&Queue<L>)])),
        Queue::finish,
    );
}

#[test]
fn stealing_by_trylock_takes_each_task_once() {
    contend::<Ttas>();
}

/// A summary that a thread publishes, and a word that the reader stores before it reads.
struct Published {
    summary: Summary,
    is_idle: AtomicBool,
    seen: [AtomicBool; 2],
}

impl Published {
    fn new() -> Published {
        Published {
            summary: Summary::new(),
            is_idle: AtomicBool::new(false),
            seen: [AtomicBool::new(false), AtomicBool::new(false)],
        }
    }

    fn publish(&self) {
        let mut list = ReadyList::new(Grouping::OwnedBy(FIRST));
        list.push(Token::new(0));
        let _ = self.summary.publish(&list);
        // Relaxed (the flag): read after the threads have been joined.
        self.seen[0].store(self.is_idle.load_seq_cst(), Ordering::Relaxed);
    }

    fn go_idle(&self) {
        self.is_idle.store_seq_cst(true);
        // Relaxed: as above.
        self.seen[1].store(!self.summary.is_empty(), Ordering::Relaxed);
    }

    fn finish(&self) {
        // Relaxed: all threads have been joined.
        assert!(self.seen.iter().any(|seen| seen.load(Ordering::Relaxed)), "neither has seen the other");
    }
}

#[test]
fn worker_that_goes_idle_sees_the_summary_or_is_seen() {
    let acts: &'static [fn(&Published)] = &[Published::publish, Published::go_idle];
    explore(3, Published::new, acts, Published::finish);
}
