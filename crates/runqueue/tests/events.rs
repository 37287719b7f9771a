//! Which worker notices an event of the reactor, while others run tasks. The reactor is the process's, so the workers of
//! another test would notice it too: this file is a program of its own, and its tests run one after another.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::task::{Context, Wake};
use std::time::{Duration, Instant};
use unspin_runqueue::queue::Policy;
use unspin_runqueue::schedule::{Nice, Priority};
use unspin_runqueue::{Builder, sleep, yield_now};

static ALONE: Mutex<()> = Mutex::new(());

/// After this time an event counts as not noticed.
const PATIENCE: Duration = Duration::from_secs(300);

/// The other tasks never end, so their worker has tasks at all times. Their runs measure the time.
#[test]
fn timers_of_a_busy_worker_end_after_few_runs_of_long_tasks() {
    const TIMERS: usize = 5;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for policy in Policy::ALL {
        let executor = Builder::new().policy(policy).workers(1).build().unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        for _ in 0..4 {
            let runs = runs.clone();
            drop(executor.spawn(async move {
                loop {
                    let began = Instant::now();
                    while began.elapsed() < Duration::from_millis(2) {}
                    runs.fetch_add(1, SeqCst);
                    yield_now().await;
                }
            }));
        }
        let (report, reported) = mpsc::channel();
        drop(executor.spawn_with(Priority::RealTime(1), Nice::DEFAULT, async move {
            let mut waited = 0;
            for _ in 0..TIMERS {
                let before = runs.load(SeqCst);
                sleep(Duration::from_millis(1)).await;
                waited += runs.load(SeqCst) - before;
            }
            report.send(waited).unwrap();
        }));
        // This thread must not wait in `block_on`, where it would look for events itself.
        let waited = reported.recv().unwrap();
        // Each timer ends during the next run, and the look after that run finds it.
        assert!(waited <= 4 * TIMERS, "{policy}: {waited} runs");
    }
}

/// Tells a thread that a timer has ended.
struct Tell(mpsc::Sender<()>);

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap();
    }
}

/// The worker that adds the first timer never becomes idle, so it is the other one that has to notice the end.
#[test]
fn worker_that_sleeps_since_before_the_first_timer_drives_the_reactor() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for policy in Policy::ALL {
        let executor = Builder::new().policy(policy).workers(2).build().unwrap();
        // Both workers go to sleep while there is no timer.
        std::thread::sleep(Duration::from_millis(20));
        let (result, has_ended) = mpsc::channel();
        let task = executor.spawn(async move {
            let (tell, told) = mpsc::channel();
            let waker = Arc::new(Tell(tell)).into();
            // A timer that is over before it is polled waits for no worker: then a longer one is tried.
            let mut time = Duration::from_millis(5);
            let mut timer = pin!(sleep(time));
            while timer.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                time *= 2;
                timer.set(sleep(time));
            }
            yield_now().await;
            // A task that blocks its thread.
            result.send(told.recv_timeout(PATIENCE).is_ok()).unwrap();
        });
        assert!(has_ended.recv().unwrap(), "{policy}: the timer was not noticed");
        task.detach();
    }
}
