//! Many threads at once: what is pushed is popped once, what is spawned ends once. ThreadSanitizer runs these tests, too.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};
use unspin_locks::LockKind;
use unspin_runqueue::lock::Operation;
use unspin_runqueue::pool::{FutexSleeper, Pool};
use unspin_runqueue::queue::{Local, Origin, Policy, QueueOptions, Requeue, RunQueue};
use unspin_runqueue::schedule::{Nice, Priority, Schedulable, Schedule, WorkerId};
use unspin_runqueue::{Builder, Executor, JoinHandle, Shutdown, sleep, yield_now};

/// More than any machine of ours has CPUs.
const WORKERS: usize = 16;
/// What waits longer than this has been lost.
const PATIENCE: Duration = Duration::from_secs(600);

/// Waits for threads of a scope. The end of the scope would wait for them too, but the sanitizer would not see it: the
/// standard library is not instrumented, and pthread_join is.
fn join_all(threads: Vec<ScopedJoinHandle<'_, ()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

struct Token {
    number: u64,
    rounds: u32,
    schedule: Schedule,
}

impl Token {
    fn new(number: u64, rounds: u32) -> Token {
        let nice = Nice::new((number % 40) as i32 - 20);
        let priority =
            if number.is_multiple_of(50) { Priority::RealTime(number as u8) } else { Priority::Normal };
        Token { number, rounds, schedule: Schedule::new(priority, nice) }
    }
}

impl Schedulable for Token {
    fn schedule(&self) -> Schedule {
        self.schedule
    }

    fn set_schedule(&mut self, schedule: Schedule) {
        self.schedule = schedule;
    }
}

fn options() -> impl Iterator<Item = QueueOptions> {
    let kinds = [LockKind::Adaptive, LockKind::Steal, LockKind::Fair];
    Policy::ALL.into_iter().flat_map(move |policy| {
        kinds.into_iter().map(move |lock| QueueOptions { lock, ..QueueOptions::new(policy, WORKERS) })
    })
}

/// Workers pop, push back and yield; other threads push. Each token is popped as often as it was pushed.
#[test]
fn tokens_are_conserved_by_the_queues() {
    const PUSHERS: u64 = 4;
    const TOKENS: u64 = 500;
    for options in options() {
        let queue: Box<dyn RunQueue<Token>> = options.build().unwrap();
        let (ended, runs) = (AtomicU64::new(0), AtomicU64::new(0));
        let began = Instant::now();
        let run = |mut token: Token, worker: &mut Local<'_, Token>, seen: &mut HashSet<u64>| {
            runs.fetch_add(1, SeqCst);
            token.schedule = token.schedule.recalculate_to(queue.epoch(worker.id())).charge(1);
            if token.rounds == 0 {
                assert!(seen.insert(token.number), "a token ended twice");
                ended.fetch_add(1, SeqCst);
                return None;
            }
            token.rounds -= 1;
            if token.rounds.is_multiple_of(2) {
                return Some(worker.requeue(token, Requeue::Yielded));
            }
            let to = WorkerId::new((token.number as usize + worker.id().index()) % WORKERS);
            queue.push(token, to, Origin::Worker(worker.id()), Operation::Wake);
            None
        };
        let work = |number: usize| {
            let (mut worker, mut seen) = (queue.local(WorkerId::new(number)), HashSet::new());
            while ended.load(SeqCst) < PUSHERS * TOKENS {
                let mut next = worker.pop();
                if next.is_none() {
                    thread::yield_now();
                }
                while let Some(token) = next {
                    next = run(token, &mut worker, &mut seen);
                }
                assert!(
                    began.elapsed() < PATIENCE,
                    "{} tokens are lost",
                    PUSHERS * TOKENS - ended.load(SeqCst)
                );
            }
            seen
        };
        let push = |pusher: u64| {
            for number in pusher * TOKENS..(pusher + 1) * TOKENS {
                let to = WorkerId::new(number as usize % WORKERS);
                queue.push(Token::new(number, 5), to, Origin::Outside, Operation::Push);
            }
        };
        let mut all = HashSet::new();
        thread::scope(|scope| {
            let (work, push) = (&work, &push);
            let workers: Vec<_> = (0..WORKERS).map(|number| scope.spawn(move || work(number))).collect();
            join_all((0..PUSHERS).map(|pusher| scope.spawn(move || push(pusher))).collect());
            for worker in workers {
                for number in worker.join().unwrap() {
                    assert!(all.insert(number), "a token ended twice");
                }
            }
        });
        assert_eq!(all.len() as u64, PUSHERS * TOKENS);
        assert_eq!(runs.load(SeqCst), 6 * PUSHERS * TOKENS);
        assert!(queue.is_empty() && queue.take_any().is_none());
    }
}

/// Bursts with pauses, in which all workers fall asleep.
#[test]
fn no_wake_up_is_lost_between_bursts() {
    const BURSTS: u64 = 200;
    for options in options() {
        let pool: Pool<Token> = Pool::new(options.build().unwrap(), FutexSleeper);
        let ended = AtomicU64::new(0);
        let work = |number| {
            let mut worker = pool.worker(WorkerId::new(number));
            while let Some(mut token) = worker.next_task() {
                if token.rounds > 0 {
                    token.rounds -= 1;
                    pool.submit(token, Origin::Worker(worker.id()), Operation::Wake);
                } else {
                    ended.fetch_add(1, SeqCst);
                }
            }
        };
        thread::scope(|scope| {
            let work = &work;
            let workers = (0..WORKERS).map(|number| scope.spawn(move || work(number))).collect();
            let mut sent = 0;
            for burst in 0..BURSTS {
                for _ in 0..=burst % 3 {
                    pool.submit(Token::new(sent, 3), Origin::Outside, Operation::Push);
                    sent += 1;
                }
                let began = Instant::now();
                while ended.load(SeqCst) < sent {
                    if began.elapsed() > PATIENCE {
                        pool.stop();
                        panic!("a wake-up is lost: {options:?}, burst {burst}");
                    }
                    thread::yield_now();
                }
                if burst % 10 == 0 {
                    thread::sleep(Duration::from_micros(300));
                }
            }
            pool.stop();
            join_all(workers);
        });
        assert!(pool.queue().is_empty());
    }
}

/// Counts futures that exist.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Counted {
        count.fetch_add(1, SeqCst);
        Counted(count.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

fn executor(policy: Policy) -> Executor {
    Builder::new().policy(policy).workers(WORKERS).build().unwrap()
}

/// One task of a storm: what it does depends on its number.
async fn task(number: u64, counted: Counted) -> u64 {
    let _counted = counted;
    match number % 7 {
        0 => {}
        1 => yield_now().await,
        2 => sleep(Duration::from_micros(number % 500)).await,
        3 => panic!("on purpose"),
        4 => std::future::pending().await,
        5 => {
            let inner = unspin_runqueue::spawn(async move {
                yield_now().await;
                number
            });
            assert_eq!(inner.await.unwrap(), number);
        }
        _ => {
            for _ in 0..20 {
                yield_now().await;
            }
        }
    }
    number
}

/// Storms from several threads, with panics and cancellations: every future is dropped, every output arrives.
#[test]
fn storms_with_panics_and_cancellation_leave_nothing() {
    const THREADS: u64 = 4;
    const TASKS: u64 = 1_400;
    std::panic::set_hook(Box::new(|_| {}));
    for policy in Policy::ALL {
        let executor = executor(policy);
        let alive = Arc::new(AtomicUsize::new(0));
        thread::scope(|scope| {
            let start = |thread| {
                let (executor, alive) = (&executor, &alive);
                scope.spawn(move || {
                    let numbers = thread * TASKS..(thread + 1) * TASKS;
                    let handles: Vec<(u64, JoinHandle<u64>)> = numbers
                        .map(|number| (number, executor.spawn(task(number, Counted::new(alive)))))
                        .collect();
                    for (number, handle) in handles {
                        // Those that wait for ever, and some of the others, in whatever state they are.
                        let cancels = number % 7 == 4 || number % 5 == 0;
                        if cancels {
                            handle.cancel();
                        }
                        match executor.block_on(handle) {
                            Ok(output) => assert_eq!(output, number),
                            Err(error) if error.is_panic() => assert_eq!(number % 7, 3),
                            Err(_) => assert!(cancels, "{number} was not cancelled"),
                        }
                    }
                })
            };
            join_all((0..THREADS).map(start).collect());
        });
        assert!(executor.wait_until_idle(Some(PATIENCE)));
        assert_eq!(alive.load(SeqCst), 0);
        assert_eq!(executor.shutdown(Duration::ZERO), Shutdown::Complete);
    }
    let _ = std::panic::take_hook();
}

/// Executors that end in the middle of a storm, while other threads spawn and wake.
#[test]
fn executor_that_ends_in_a_storm_drops_every_future() {
    for policy in Policy::ALL {
        for _ in 0..5 {
            let executor = executor(policy);
            let alive = Arc::new(AtomicUsize::new(0));
            thread::scope(|scope| {
                let start = |thread: u64| {
                    let (spawner, alive) = (executor.spawner().clone(), &alive);
                    scope.spawn(move || {
                        for number in 0..500u64 {
                            let counted = Counted::new(alive);
                            drop(spawner.spawn(async move {
                                let _counted = counted;
                                match (number + thread) % 3 {
                                    0 => std::future::pending().await,
                                    1 => sleep(Duration::from_millis(number % 3)).await,
                                    _ => yield_now().await,
                                }
                            }));
                        }
                    })
                };
                let threads = (0..3).map(start).collect();
                thread::sleep(Duration::from_millis(2));
                drop(executor);
                join_all(threads);
            });
            // A timer's wake-up, or a spawn that came too late, may be on its way.
            let began = Instant::now();
            while alive.load(SeqCst) > 0 {
                assert!(began.elapsed() < PATIENCE, "{policy}: futures are left");
                thread::yield_now();
            }
        }
    }
}

/// Tasks of all nice values that compute and yield, and real-time tasks now and then: each gets its turns.
#[test]
fn no_runnable_task_waits_for_ever() {
    for policy in Policy::ALL {
        let executor = Builder::new().policy(policy).workers(2).build().unwrap();
        let handles: Vec<_> = (-20..20)
            .map(|nice| {
                executor.spawn_with(Priority::Normal, Nice::new(nice), async move {
                    for round in 0..50 {
                        let mut work = 0u64;
                        for n in 0..2_000u64 {
                            work = work.wrapping_mul(31).wrapping_add(n);
                        }
                        std::hint::black_box(work);
                        if round % 10 == 0 {
                            unspin_runqueue::spawn_with(Priority::RealTime(1), Nice::DEFAULT, async {})
                                .await
                                .unwrap();
                        }
                        yield_now().await;
                    }
                })
            })
            .collect();
        executor.block_on(async {
            for handle in handles {
                handle.await.unwrap();
            }
        });
    }
}
