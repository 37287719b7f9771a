//! More workers and tasks than the models have, in random schedules of shuttle: every task runs as often as it asks, and
//! no worker sleeps for ever. (Shuttle does not simulate weak memory; the models do.)

use super::{FutexSleeper, Pool, Worker};
use crate::lock::Operation;
use crate::queue::{Origin, Policy, QueueOptions, Requeue};
use crate::schedule::WorkerId;
use unspin_locks::LockKind;
use unspin_sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unspin_sync::sync::Arc;
use unspin_sync::thread;

const SCHEDULES: usize = 5_000;
const WORKERS: usize = 4;
/// Tasks that other threads submit. Each submits one more, which yields once.
const OUTSIDE: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Parent,
    Child { has_yielded: bool },
}

type Token = crate::token::Token<Kind>;

struct World {
    pool: Pool<Token, FutexSleeper>,
    ended: AtomicUsize,
}

impl World {
    fn work(&self, id: WorkerId) {
        let mut worker = self.pool.worker(id);
        while let Some(mut token) = worker.next_task() {
            while let Some(next) = self.run(token, &mut worker) {
                token = next;
            }
        }
    }

    /// Runs a token once. Returns the one that comes next if this one has yielded.
    fn run(&self, token: Token, worker: &mut Worker<'_, Token, FutexSleeper>) -> Option<Token> {
        match token.name {
            Kind::Parent => {
                let child = Token::new(Kind::Child { has_yielded: false });
                self.pool.submit(child, Origin::Worker(worker.id()), Operation::Push);
            }
            Kind::Child { has_yielded: false } => {
                let again = Token { name: Kind::Child { has_yielded: true }, ..token };
                return Some(worker.requeue(again, Requeue::Yielded));
            }
            Kind::Child { has_yielded: true } => {}
        }
        // Relaxed: a count of which one thread sees the last value.
        if self.ended.fetch_add(1, Relaxed) + 1 == 2 * OUTSIDE {
            self.pool.stop();
        }
        None
    }
}

fn crowd(policy: Policy, submits: fn(usize) -> bool) {
    let options = QueueOptions { lock: LockKind::Steal, ..QueueOptions::new(policy, WORKERS) };
    let pool = Pool::new(options.build().expect("a lock of ours"), FutexSleeper);
    let world = Arc::new(World { pool, ended: AtomicUsize::new(0) });
    let workers: Vec<_> = (0..WORKERS)
        .map(|number| {
            let world = world.clone();
            thread::spawn(move || world.work(WorkerId::new(number)))
        })
        .collect();
    for number in (0..OUTSIDE).filter(|&number| submits(number)) {
        world.pool.submit(Token::new(Kind::Parent), Origin::Outside, Operation::Push);
        if number % 2 == 0 {
            thread::yield_now();
        }
    }
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    assert!(world.pool.queue().is_empty());
}

fn explore(policy: Policy) {
    shuttle::check_random(move || crowd(policy, |_| true), SCHEDULES);
    shuttle::check_pct(move || crowd(policy, |_| true), SCHEDULES, 3);
}

#[test]
fn every_task_runs_in_one_queue() {
    explore(Policy::Global);
}

#[test]
fn every_task_runs_in_a_queue_for_each_worker() {
    explore(Policy::PerCpu);
}

/// Planted bug: a task is not submitted, as if a push had lost it.
#[test]
#[should_panic(expected = "deadlock")]
fn planted_lost_task() {
    shuttle::check_random(|| crowd(Policy::PerCpu, |number| number != 2), SCHEDULES);
}
