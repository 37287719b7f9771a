//! The queues in one thread.

use super::{Origin, Policy, QueueOptions, Requeue, RunQueue, UnknownPolicy};
use crate::lock::Operation;
use crate::schedule::{Nice, Priority, Schedule, WorkerId};

type Token = crate::token::Token<u32>;

const FIRST: WorkerId = WorkerId::new(0);
const SECOND: WorkerId = WorkerId::new(1);
const THIRD: WorkerId = WorkerId::new(2);

fn queue(policy: Policy) -> Box<dyn RunQueue<Token>> {
    QueueOptions::new(policy, 3).build().unwrap()
}

fn push(queue: &dyn RunQueue<Token>, token: Token, to: WorkerId) {
    assert_eq!(queue.push(token, to, Origin::Outside, Operation::Push), to);
}

fn names(queue: &dyn RunQueue<Token>, worker: WorkerId) -> Vec<u32> {
    core::iter::from_fn(|| queue.local(worker).pop()).map(|token| token.name).collect()
}

#[test]
fn length_and_best_are_published() {
    for policy in Policy::ALL {
        let queue = queue(policy);
        assert!(queue.is_empty() && queue.best(FIRST).is_none() && queue.local(FIRST).pop().is_none());
        push(&*queue, Token::with(1, Priority::Normal, 10), FIRST);
        push(&*queue, Token::with(2, Priority::Normal, -10), FIRST);
        assert_eq!((queue.len(), queue.is_empty(), queue.workers()), (2, false, 3));
        assert_eq!(queue.best(FIRST), Some(Schedule::normal(Nice::new(-10)).plain_goodness()));
        assert_eq!(names(&*queue, FIRST), [2, 1]);
        assert_eq!((queue.len(), queue.best(FIRST), queue.policy()), (0, None, policy));
    }
}

#[test]
fn worker_without_tasks_takes_a_batch_from_the_best_queue() {
    let queue = queue(Policy::PerCpu);
    (0..10).for_each(|name| push(&*queue, Token::with(name, Priority::Normal, 5), FIRST));
    (10..30).for_each(|name| push(&*queue, Token::new(name), SECOND));
    assert_eq!(queue.local(THIRD).pop().unwrap().name, 10);
    let statistics = queue.statistics();
    assert_eq!((statistics[2].steals, statistics[2].stolen), (1, 1 + 9));
    assert_eq!([statistics[0].len, statistics[1].len, statistics[2].len], [10, 10, 9]);
    assert_eq!(names(&*queue, THIRD).len(), 29);
    assert!(queue.is_empty());
}

#[test]
fn real_time_task_of_another_queue_comes_before_the_own_tasks() {
    for policy in Policy::ALL {
        let queue = queue(policy);
        push(&*queue, Token::new(1), FIRST);
        push(&*queue, Token::with(2, Priority::RealTime(5), 0), SECOND);
        push(&*queue, Token::with(3, Priority::RealTime(7), 0), THIRD);
        assert_eq!(names(&*queue, FIRST), [3, 2, 1], "{policy}");
    }
}

#[test]
fn task_of_least_nice_value_elsewhere_comes_before_an_own_one_of_the_highest() {
    for policy in Policy::ALL {
        let queue = queue(policy);
        // It has run here before.
        let own = Token { schedule: Schedule::normal(Nice::HIGHEST).start_on(FIRST, 0), name: 1 };
        let other = Token { schedule: Schedule::normal(Nice::LOWEST).start_on(SECOND, 0), name: 2 };
        push(&*queue, own, FIRST);
        push(&*queue, other, SECOND);
        assert_eq!(names(&*queue, FIRST), [2, 1], "{policy}");
    }
}

#[test]
fn tasks_whose_worker_is_stuck_are_run_by_a_busy_one() {
    let queue = queue(Policy::PerCpu);
    push(&*queue, Token::new(1), FIRST);
    push(&*queue, Token::new(2), FIRST);
    push(&*queue, Token::new(9), SECOND);
    let mut running = queue.local(FIRST).pop().unwrap();
    let ran = (0..1_000).any(|_| {
        running = queue.local(FIRST).requeue(running, Requeue::Yielded);
        running.name == 9
    });
    assert!(ran, "the task of the second worker has waited for ever");
    // A queue whose worker pops is left alone.
    push(&*queue, Token::new(10), SECOND);
    for _ in 0..1_000 {
        running = queue.local(FIRST).requeue(running, Requeue::Yielded);
        assert_ne!(running.name, 10);
        let theirs = queue.local(SECOND).pop().unwrap();
        push(&*queue, theirs, SECOND);
    }
}

#[test]
fn woken_task_goes_on_if_it_is_the_best_and_a_yielding_one_does_not() {
    for policy in Policy::ALL {
        let queue = queue(policy);
        push(&*queue, Token::with(1, Priority::Normal, 19), FIRST);
        push(&*queue, Token::with(2, Priority::Normal, -20), FIRST);
        let best = queue.local(FIRST).pop().unwrap();
        assert_eq!(queue.local(FIRST).requeue(best, Requeue::Woken).name, 2, "{policy}");
        assert_eq!(queue.local(FIRST).requeue(best, Requeue::Yielded).name, 1, "{policy}");
        assert_eq!(queue.len(), 1);
        assert_eq!(queue.take_any().map(|token| token.name), Some(2));
        assert_eq!(queue.local(FIRST).requeue(best, Requeue::Yielded).name, 2, "{policy}: there is no other");
    }
}

#[test]
fn task_that_was_away_gets_the_slices_that_it_has_missed() {
    for policy in Policy::ALL {
        let queue = queue(policy);
        push(&*queue, Token::new(1), FIRST);
        push(&*queue, Token::new(2), FIRST);
        let mut away = queue.local(FIRST).pop().unwrap();
        away.schedule = away.schedule.charge(5);
        // The other one spends its slice, until there is a recalculation.
        let mut other = queue.local(FIRST).pop().unwrap();
        other.schedule = other.schedule.charge(6);
        queue.push(other, FIRST, Origin::Worker(FIRST), Operation::Wake);
        let other = queue.local(FIRST).pop().unwrap();
        assert_eq!((other.schedule.slice(), queue.epoch(FIRST)), (6, 1), "{policy}");
        queue.push(away, FIRST, Origin::Worker(FIRST), Operation::Wake);
        assert_eq!(queue.local(FIRST).pop().unwrap().schedule.slice(), 6, "{policy}: half of 1, and 6");
    }
}

#[test]
fn policies_are_known_by_name() {
    for policy in Policy::ALL {
        assert_eq!(policy.name().parse(), Ok(policy));
    }
    assert_eq!("mq".parse::<Policy>(), Err(UnknownPolicy));
}

#[test]
fn worker_has_one_side_at_a_time() {
    for policy in Policy::ALL {
        let queue = queue(policy);
        let first = queue.local(FIRST);
        let second = std::panic::AssertUnwindSafe(|| drop(queue.local(FIRST)));
        assert!(std::panic::catch_unwind(second).is_err(), "{policy}: there are two");
        drop((queue.local(SECOND), first));
        assert_eq!(queue.local(FIRST).id(), FIRST);
    }
}
