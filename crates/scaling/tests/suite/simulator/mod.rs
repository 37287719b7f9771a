//! A discrete-event simulation of threads, CPUs and one lock, written apart from the models: it follows each thread.

use rand::{RngExt, SeedableRng};
use std::collections::VecDeque;
use unspin_scaling::{LockChain, WaitingCost};
use unspin_stats::random::Random;

/// The distribution of think, hold and hand-over times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Times {
    /// As the chain assumes.
    Exponential,
    /// Each the same.
    Constant,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Doing {
    Thinking,
    HandedOver,
    Holding,
    Waiting,
}

/// What was counted.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// Acquisitions a second.
    pub throughput: f64,
    /// Share of the time in which the lock was held.
    pub utilisation: f64,
    /// Share of the attempts that found the lock taken.
    pub contention: f64,
}

/// Simulates until the lock has been released `releases` times.
pub fn simulate(lock: &LockChain, times: Times, releases: u32, seed: u64) -> Counted {
    let mut random = Random::seed_from_u64(seed);
    let mut draw = |mean: f64| match times {
        Times::Exponential => -mean * (1.0 - random.random::<f64>()).ln(),
        Times::Constant => mean,
    };
    let spins = matches!(lock.waiting, WaitingCost::Spin { .. });
    let count = if spins { lock.threads.min(lock.cpus) } else { lock.threads } as usize;
    // Work that is left, in seconds. Constant times begin apart, as threads do.
    let mut threads: Vec<(Doing, f64)> =
        (0..count).map(|n| (Doing::Thinking, draw(lock.think_s) * (n as f64 + 1.0) / count as f64)).collect();
    let mut queue = VecDeque::new();
    let (mut now, mut held, mut released, mut attempts, mut contended) = (0.0, 0.0, 0, 0, 0);
    while released < releases {
        let needs_cpu = |doing: Doing| matches!(doing, Doing::Thinking | Doing::Holding);
        let running = threads.iter().filter(|t| needs_cpu(t.0)).count();
        let share = if spins { 1.0 } else { (f64::from(lock.cpus) / running.max(1) as f64).min(1.0) };
        let speed = |doing: Doing| match doing {
            Doing::Waiting => 0.0,
            Doing::HandedOver => 1.0,
            Doing::Thinking | Doing::Holding => share,
        };
        let (next, step) = (0..count)
            .filter(|&t| speed(threads[t].0) > 0.0)
            .map(|t| (t, threads[t].1 / speed(threads[t].0)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("a thread can run");
        now += step;
        for thread in &mut threads {
            if thread.0 == Doing::Holding {
                held += step;
            }
            thread.1 -= step * speed(thread.0);
        }
        match threads[next].0 {
            Doing::Thinking => {
                attempts += 1;
                let is_taken = threads.iter().any(|t| matches!(t.0, Doing::Holding | Doing::HandedOver));
                if is_taken {
                    contended += 1;
                    queue.push_back(next);
                    threads[next] = (Doing::Waiting, 0.0);
                } else {
                    threads[next] = (Doing::Holding, draw(lock.hold_s));
                }
            }
            Doing::HandedOver => threads[next] = (Doing::Holding, draw(lock.hold_s)),
            Doing::Holding => {
                released += 1;
                threads[next] = (Doing::Thinking, draw(lock.think_s));
                if let Some(waiter) = queue.pop_front() {
                    let hand_over = match lock.waiting {
                        WaitingCost::Spin { hand_over_s, per_waiter_s } => {
                            hand_over_s + per_waiter_s * queue.len() as f64
                        }
                        WaitingCost::HandOff { hand_over_s } => hand_over_s,
                        WaitingCost::Barging { .. } => 0.0,
                    };
                    threads[waiter] = match hand_over > 0.0 {
                        true => (Doing::HandedOver, draw(hand_over)),
                        false => (Doing::Holding, draw(lock.hold_s)),
                    };
                }
            }
            Doing::Waiting => unreachable!("a waiter has nothing to finish"),
        }
    }
    Counted {
        throughput: f64::from(released) / now,
        utilisation: held / now,
        contention: f64::from(contended) / f64::from(attempts),
    }
}
