//! Many tasks at once.

use super::countdown::Countdown;
use super::runtime::Runtime;
use std::thread;
use std::time::Instant;

/// Threads that start tasks from outside.
const THREADS: u64 = 4;
/// Tasks that yield.
const YIELDERS: u64 = 200;
/// Starts so many tasks that each do something so many times.
type Begin<R> = fn(&R, u64, u64, &'static Countdown);

/// Millions a second of what tasks do, after a warm-up with this number of tasks and times.
fn rate<R: Runtime>(runtime: &R, (tasks, each): (u64, u64), warm_up: (u64, u64), begin: Begin<R>) -> f64 {
    let timed = |(tasks, each): (u64, u64)| {
        let countdown = Countdown::new(tasks);
        let started = Instant::now();
        begin(runtime, tasks, each, countdown);
        countdown.wait();
        started.elapsed()
    };
    timed(warm_up);
    let took = timed((tasks, each));
    (tasks * each) as f64 / took.as_secs_f64() / 1e6
}

/// A task starts all others.
pub fn spawn_inside<R: Runtime>(runtime: &R, tasks: u64) -> f64 {
    rate(runtime, (tasks, 1), (tasks / 10, 1), |runtime, tasks, _, countdown| {
        let own = runtime.clone();
        runtime.spawn(async move {
            for _ in 0..tasks {
                own.spawn_here(async move { countdown.end() });
            }
        });
    })
}

/// Threads that are no workers start them.
pub fn spawn_outside<R: Runtime>(runtime: &R, tasks: u64) -> f64 {
    let whole = |tasks: u64| (tasks / THREADS * THREADS, 1);
    rate(runtime, whole(tasks), whole(tasks / 10), |runtime, tasks, _, countdown| {
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(move || {
                    for _ in 0..tasks / THREADS {
                        runtime.spawn(async move { countdown.end() });
                    }
                });
            }
        });
    })
}

/// Tasks that yield so many times.
pub fn yields<R: Runtime>(runtime: &R, times: u64) -> f64 {
    rate(runtime, (YIELDERS, times), (YIELDERS, times / 10), |runtime, tasks, times, countdown| {
        let own = runtime.clone();
        runtime.spawn(async move {
            for _ in 0..tasks {
                own.spawn_here(async move {
                    for _ in 0..times {
                        R::yield_now().await;
                    }
                    countdown.end();
                });
            }
        });
    })
}
