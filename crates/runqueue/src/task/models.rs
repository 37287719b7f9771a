//! One task and the threads that wake it, await it and cancel it, in every interleaving: no wake-up is lost, the future
//! is polled by one thread at a time and dropped once, and so is its output. Beside each property stands a planted bug.

use super::state::{Begin, ListedNow, Pending, State, Wake};
use super::{JoinHandle, Listed, Owner, Ran, Runnable, Runner};
use crate::schedule::{Nice, Schedule};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use loom::sync::{Arc, Mutex, Notify};
use loom::thread::spawn;
use unspin_sync::atomic::{AtomicUsize, Ordering};

/// An executor with one worker.
#[derive(Clone)]
struct OneWorker(Arc<Parts>);

struct Parts {
    queue: Mutex<Vec<Runnable>>,
    listed: Mutex<Option<Listed>>,
    pushed: Notify,
}

impl Owner for OneWorker {
    fn schedule(&self, task: Runnable) {
        let mut queue = self.0.queue.lock().unwrap();
        assert!(queue.is_empty(), "a task was scheduled twice");
        queue.push(task);
        drop(queue);
        self.0.pushed.notify();
    }

    fn list(&self, task: Listed) -> u64 {
        *self.0.listed.lock().unwrap() = Some(task);
        1
    }

    fn retire(&self, _: u64) -> Option<Listed> {
        self.0.listed.lock().unwrap().take()
    }
}

/// What a task does that is pending.
#[derive(Clone, Copy, PartialEq)]
enum Pend {
    Yield,
    Wait,
}

impl Runner for Pend {
    fn charge(&self, schedule: Schedule) -> Schedule {
        schedule
    }

    fn has_yielded(&self) -> bool {
        *self == Pend::Yield
    }
}

impl OneWorker {
    fn new() -> OneWorker {
        OneWorker(Arc::new(Parts {
            queue: Mutex::new(Vec::new()),
            listed: Mutex::new(None),
            pushed: Notify::new(),
        }))
    }

    /// Runs the task until it is completed or was cancelled.
    fn work(&self, is_over: impl Fn() -> bool) {
        while !is_over() {
            let task = self.0.queue.lock().unwrap().pop();
            match task.map(|task| task.run(&Pend::Wait)) {
                Some(Ran::Again(task)) => self.0.queue.lock().unwrap().push(task),
                Some(Ran::Done) => {}
                None => self.0.pushed.wait(),
            }
        }
    }
}

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        // Relaxed: read after all threads have been joined.
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Ready once the word is 1; keeps its waker where another thread finds it.
struct WordIsOne {
    word: Arc<AtomicUsize>,
    waker: Arc<Mutex<Option<Waker>>>,
    _counted: Counted,
}

impl Future for WordIsOne {
    type Output = usize;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<usize> {
        *self.waker.lock().unwrap() = Some(context.waker().clone());
        // Relaxed: the wake-up orders.
        if self.word.load(Ordering::Relaxed) == 1 { Poll::Ready(7) } else { Poll::Pending }
    }
}

fn explore(model: fn()) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.max_branches = 10_000;
    builder.check(model);
}

/// The waker sets the word without ordering, then wakes: the exchange of the state is what the poll relies on.
#[test]
fn wake_up_during_a_poll_is_not_lost() {
    explore(|| {
        let executor = OneWorker::new();
        let (word, waker) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None::<Waker>)));
        let drops = Arc::new(AtomicUsize::new(0));
        let future = WordIsOne { word: word.clone(), waker: waker.clone(), _counted: Counted(drops.clone()) };
        let (task, handle) = super::new(future, Schedule::normal(Nice::DEFAULT), executor.clone());
        // The first poll, so that there is a waker.
        assert!(matches!(task.run(&Pend::Wait), Ran::Done));
        let known = waker.lock().unwrap().take().unwrap();
        let again = known.clone();
        let thread = spawn(move || {
            // Relaxed: as in the future.
            word.store(1, Ordering::Relaxed);
            known.wake();
        });
        // Another wake-up, of which the task may already be running when the first one comes.
        again.wake();
        executor.work(|| handle.is_finished());
        thread.join().unwrap();
        drop(handle);
        drop(waker.lock().unwrap().take());
        // Relaxed: all threads have been joined.
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

/// Two runs yield, and the waker comes beside the second one or later. The future comes with the runnable each time,
/// although the state does not change.
#[test]
fn wake_up_of_a_task_that_yields_is_not_lost() {
    explore(|| {
        let executor = OneWorker::new();
        let (word, waker) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None::<Waker>)));
        let drops = Arc::new(AtomicUsize::new(0));
        let future = WordIsOne { word: word.clone(), waker: waker.clone(), _counted: Counted(drops.clone()) };
        let (task, handle) = super::new(future, Schedule::normal(Nice::DEFAULT), executor.clone());
        let Ran::Again(task) = task.run(&Pend::Yield) else { panic!("it has yielded") };
        let known = waker.lock().unwrap().take().unwrap();
        let waking = spawn(move || {
            // Relaxed: as in the future.
            word.store(1, Ordering::Relaxed);
            known.wake();
        });
        if let Ran::Again(task) = task.run(&Pend::Yield) {
            executor.schedule(task);
        }
        executor.work(|| handle.is_finished());
        waking.join().unwrap();
        drop((handle, waker.lock().unwrap().take()));
        // Relaxed: all threads have been joined.
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn handle_gets_the_output_or_drops_it() {
    explore(|| {
        let executor = OneWorker::new();
        let drops = Arc::new(AtomicUsize::new(0));
        let output = Counted(drops.clone());
        let (task, handle) = super::new(async move { output }, Schedule::normal(Nice::DEFAULT), executor);
        let thread = spawn(move || assert!(matches!(task.run(&Pend::Wait), Ran::Done)));
        drop(handle);
        thread.join().unwrap();
        // Relaxed: all threads have been joined.
        assert_eq!(drops.load(Ordering::Relaxed), 1);
    });
}

/// Wakes by a notification of loom.
struct Notifies(Notify);

impl std::task::Wake for Notifies {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.notify();
    }
}

fn await_here<T>(mut handle: JoinHandle<T>) -> Result<T, super::JoinError> {
    let notifies = std::sync::Arc::new(Notifies(Notify::new()));
    let waker = Waker::from(notifies.clone());
    loop {
        match Pin::new(&mut handle).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => notifies.0.wait(),
        }
    }
}

#[test]
fn thread_that_awaits_is_woken() {
    explore(|| {
        let (task, handle) = super::new(async { 7 }, Schedule::normal(Nice::DEFAULT), OneWorker::new());
        let thread = spawn(move || assert!(matches!(task.run(&Pend::Wait), Ran::Done)));
        assert!(matches!(await_here(handle), Ok(7)));
        thread.join().unwrap();
    });
}

#[test]
fn cancelled_future_is_dropped_once() {
    explore(|| cancel_beside_a_run(Pend::Wait));
}

#[test]
fn cancelled_future_of_a_task_that_yields_is_dropped_once() {
    explore(|| cancel_beside_a_run(Pend::Yield));
}

fn cancel_beside_a_run(pend: Pend) {
    let executor = OneWorker::new();
    let drops = Arc::new(AtomicUsize::new(0));
    let (word, waker) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None::<Waker>)));
    let future = WordIsOne { word, waker: waker.clone(), _counted: Counted(drops.clone()) };
    let (task, handle) = super::new(future, Schedule::normal(Nice::DEFAULT), executor.clone());
    let other = executor.clone();
    let thread = spawn(move || {
        if let Ran::Again(task) = task.run(&pend) {
            other.schedule(task);
        }
    });
    handle.cancel();
    thread.join().unwrap();
    if pend == Pend::Yield {
        executor.work(|| handle.is_finished());
    }
    assert!(handle.is_finished());
    drop((handle, waker.lock().unwrap().take()));
    // Relaxed: all threads have been joined.
    assert_eq!(drops.load(Ordering::Relaxed), 1);
}

/// The protocol of a wake-up by itself: the waker stores a word, and wakes; the worker runs, and reads the word. `wake`
/// returns whether the task has to be scheduled. `yield_before` is what the worker does before it reads the word.
fn word_is_seen(wake: fn(&State) -> bool, yield_before: fn(&State)) {
    let shared = Arc::new((State::new(), AtomicUsize::new(0)));
    let other = shared.clone();
    let thread = spawn(move || {
        // Relaxed: the exchange of the state orders.
        other.1.store(1, Ordering::Relaxed);
        wake(&other.0)
    });
    assert_eq!(shared.0.begin_run(), Begin::Poll);
    yield_before(&shared.0);
    // Relaxed: as above.
    let mut seen = shared.1.load(Ordering::Relaxed) == 1;
    // A reference more, as of a list: the task is not freed here.
    let ended = shared.0.end_run(ListedNow::Yes);
    let scheduled = thread.join().unwrap();
    if ended == Pending::Woken || scheduled {
        shared.0.begin_run();
        // Relaxed: as above.
        seen = shared.1.load(Ordering::Relaxed) == 1;
    }
    assert!(seen, "the wake-up was lost");
}

#[test]
fn poll_after_a_wake_up_sees_what_the_waker_did() {
    explore(|| word_is_seen(wake, |_| {}));
}

/// The worker begins another run without having ended the first one.
#[test]
fn poll_after_a_yield_and_a_wake_up_sees_what_the_waker_did() {
    explore(|| word_is_seen(wake, |state| assert_eq!(state.begin_run(), Begin::Poll)));
}

/// Planted bug: the worker that begins the run after a yield clears the wake-up by a store.
#[test]
#[should_panic(expected = "the wake-up was lost")]
fn planted_begin_after_a_yield_without_exchange() {
    explore(|| word_is_seen(wake, State::begin_run_by_store));
}

fn wake(state: &State) -> bool {
    state.wake() == Wake::Schedule
}

/// Planted bug: a thread that sees a scheduled task leaves it at that, without an exchange.
#[test]
#[should_panic(expected = "the wake-up was lost")]
fn planted_wake_up_of_a_scheduled_task_without_exchange() {
    explore(|| word_is_seen(|state| !state.is_woken() && wake(state), |_| {}));
}

/// Planted bug: the task is completed before its output is there.
#[test]
#[should_panic]
fn planted_output_after_completion() {
    explore(|| {
        let (task, handle) = super::new(async { 7 }, Schedule::normal(Nice::DEFAULT), OneWorker::new());
        let thread = spawn(move || task.complete_before_the_output());
        assert!(matches!(await_here(handle), Ok(7)));
        thread.join().unwrap();
    });
}
