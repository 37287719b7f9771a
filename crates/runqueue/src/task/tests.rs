//! One task by hand, in one thread.

use super::{JoinError, JoinHandle, Listed, Owner, Ran, Runnable, Runner, SuspendedTasks};
use crate::schedule::{Nice, Schedulable, Schedule, WorkerId};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// An executor without workers.
#[derive(Clone)]
struct ByHand(Arc<Parts>);

struct Parts {
    queue: Mutex<Vec<Runnable>>,
    suspended: SuspendedTasks,
    /// The next run that is pending yields.
    yields: AtomicBool,
}

impl Owner for ByHand {
    fn schedule(&self, task: Runnable) {
        self.0.queue.lock().unwrap().push(task);
    }

    fn list(&self, task: Listed) -> u64 {
        self.0.suspended.insert(0, task)
    }

    fn retire(&self, place: u64) -> Option<Listed> {
        (place != 0).then(|| self.0.suspended.remove(place)).flatten()
    }
}

impl Runner for ByHand {
    fn charge(&self, schedule: Schedule) -> Schedule {
        schedule.charge(1)
    }

    fn has_yielded(&self) -> bool {
        self.0.yields.swap(false, SeqCst)
    }
}

impl ByHand {
    fn new() -> ByHand {
        ByHand(Arc::new(Parts {
            queue: Mutex::default(),
            suspended: SuspendedTasks::new(1),
            yields: AtomicBool::new(false),
        }))
    }

    fn spawn<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        let (runnable, handle) = super::new(future, Schedule::normal(Nice::DEFAULT), self.clone());
        self.schedule(runnable);
        handle
    }

    /// Runs one task. Returns whether there was one.
    fn run(&self) -> bool {
        let Some(task) = self.0.queue.lock().unwrap().pop() else { return false };
        if let Ran::Again(task) = task.run(self) {
            self.schedule(task);
        }
        true
    }
}

fn poll<T>(handle: &mut JoinHandle<T>) -> Poll<Result<T, JoinError>> {
    Pin::new(handle).poll(&mut Context::from_waker(Waker::noop()))
}

/// Ready when it is polled for this time; wakes itself, or keeps the waker.
struct After {
    polls: usize,
    waker: Option<Arc<Mutex<Option<Waker>>>>,
    drops: Arc<AtomicUsize>,
}

impl Future for After {
    type Output = &'static str;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls == 0 {
            return Poll::Ready("done");
        }
        self.polls -= 1;
        match &self.waker {
            Some(slot) => *slot.lock().unwrap() = Some(context.waker().clone()),
            None => context.waker().wake_by_ref(),
        }
        Poll::Pending
    }
}

impl Drop for After {
    fn drop(&mut self) {
        self.drops.fetch_add(1, SeqCst);
    }
}

fn after(polls: usize, waker: Option<Arc<Mutex<Option<Waker>>>>) -> (After, Arc<AtomicUsize>) {
    let drops = Arc::new(AtomicUsize::new(0));
    (After { polls, waker, drops: drops.clone() }, drops)
}

#[test]
fn output_reaches_the_handle() {
    let hand = ByHand::new();
    let (future, drops) = after(3, None);
    let mut handle = hand.spawn(future);
    assert!(poll(&mut handle).is_pending() && !handle.is_finished());
    let runs = (0..).take_while(|_| hand.run()).count();
    assert_eq!((runs, drops.load(SeqCst)), (4, 1));
    assert!(matches!(poll(&mut handle), Poll::Ready(Ok("done"))));
}

#[test]
fn detached_task_goes_on_and_drops_its_output() {
    let hand = ByHand::new();
    let output = Arc::new(());
    let held = output.clone();
    drop(hand.spawn(async move { held }));
    assert!(hand.run() && !hand.run());
    assert_eq!(Arc::strong_count(&output), 1);
    let held = output.clone();
    let handle = hand.spawn(async move { held });
    assert!(hand.run() && handle.is_finished());
    assert_eq!(Arc::strong_count(&output), 2, "the output waits for the handle");
    drop(handle);
    assert_eq!(Arc::strong_count(&output), 1);
}

#[test]
fn many_wake_ups_schedule_a_task_once() {
    let hand = ByHand::new();
    let slot = Arc::new(Mutex::new(None));
    let (future, _) = after(1, Some(slot.clone()));
    let mut handle = hand.spawn(future);
    assert!(hand.run() && !hand.run());
    let waker = slot.lock().unwrap().take().unwrap();
    for _ in 0..3 {
        waker.wake_by_ref();
    }
    assert_eq!(hand.0.queue.lock().unwrap().len(), 1);
    assert!(hand.run() && !hand.run());
    assert!(matches!(poll(&mut handle), Poll::Ready(Ok(_))));
    // After the end of the task.
    waker.wake();
    assert!(!hand.run());
}

#[test]
fn cancelled_tasks_drop_their_futures() {
    let hand = ByHand::new();
    // In the queue: its worker drops it.
    let (future, drops) = after(1, None);
    let mut queued = hand.spawn(future);
    queued.cancel();
    assert_eq!(drops.load(SeqCst), 0);
    assert!(hand.run() && !hand.run());
    assert_eq!(drops.load(SeqCst), 1);
    assert!(matches!(poll(&mut queued), Poll::Ready(Err(JoinError::Cancelled))));
    // Suspended: dropped at once.
    let slot = Arc::new(Mutex::new(None));
    let (future, drops) = after(1, Some(slot.clone()));
    let mut suspended = hand.spawn(future);
    assert!(hand.run());
    suspended.cancel();
    assert_eq!(drops.load(SeqCst), 1);
    slot.lock().unwrap().take().unwrap().wake();
    assert!(!hand.run());
    assert!(matches!(poll(&mut suspended), Poll::Ready(Err(JoinError::Cancelled))));
    // Completed: nothing to cancel.
    let mut completed = hand.spawn(async { 5 });
    assert!(hand.run());
    completed.cancel();
    assert!(matches!(poll(&mut completed), Poll::Ready(Ok(5))));
    assert_eq!(hand.0.suspended.len(), 0, "no task is left in the list");
}

#[test]
fn task_that_yields_runs_again_and_is_then_suspended() {
    let hand = ByHand::new();
    let slot = Arc::new(Mutex::new(None::<Waker>));
    let (future, drops) = after(4, Some(slot.clone()));
    let mut handle = hand.spawn(future);
    let yield_once = || hand.0.yields.store(true, SeqCst);
    yield_once();
    assert!(hand.run());
    assert_eq!((hand.0.queue.lock().unwrap().len(), hand.0.suspended.len()), (1, 0));
    // A wake-up while it is in the queue: the next run is for both.
    slot.lock().unwrap().take().unwrap().wake();
    assert_eq!(hand.0.queue.lock().unwrap().len(), 1, "it is in the queue already");
    assert!(hand.run() && !hand.run());
    assert_eq!(hand.0.suspended.len(), 1);
    // A wake-up before the run that yields: the yield asks for another run.
    slot.lock().unwrap().take().unwrap().wake();
    yield_once();
    assert!(hand.run() && hand.run() && !hand.run());
    slot.lock().unwrap().take().unwrap().wake();
    assert!(hand.run() && !hand.run());
    assert!(matches!(poll(&mut handle), Poll::Ready(Ok("done"))));
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn cancelled_task_that_has_yielded_drops_its_future_at_its_next_run() {
    let hand = ByHand::new();
    let (future, drops) = after(2, Some(Arc::default()));
    let mut handle = hand.spawn(future);
    hand.0.yields.store(true, SeqCst);
    assert!(hand.run());
    handle.cancel();
    assert_eq!(drops.load(SeqCst), 0, "the future is the queue's");
    assert!(hand.run() && !hand.run());
    assert_eq!((drops.load(SeqCst), hand.0.suspended.len()), (1, 0));
    assert!(matches!(poll(&mut handle), Poll::Ready(Err(JoinError::Cancelled))));
}

#[test]
fn task_that_cancels_itself_ends_at_its_next_suspension() {
    let hand = ByHand::new();
    let own = Arc::new(Mutex::new(None::<JoinHandle<()>>));
    let slot = own.clone();
    *own.lock().unwrap() = Some(hand.spawn(async move {
        slot.lock().unwrap().as_ref().unwrap().cancel();
        core::future::pending().await
    }));
    assert!(hand.run() && !hand.run());
    let mut handle = own.lock().unwrap().take().unwrap();
    assert!(matches!(poll(&mut handle), Poll::Ready(Err(JoinError::Cancelled))));
}

struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("in the destructor");
    }
}

#[test]
fn panics_stay_in_the_handle() {
    let hand = ByHand::new();
    let mut handle = hand.spawn(async { panic!("number {}", 7) });
    let _ = poll::<()>(&mut handle);
    assert!(hand.run());
    let Poll::Ready(Err(error)) = poll(&mut handle) else { panic!("the task has panicked") };
    assert_eq!(error.panic_message(), Some("number 7"));
    assert!(error.is_panic() && !error.is_cancelled());
    // Destructors of futures and of outputs that no handle wants.
    let waits = hand.spawn(async {
        let _guard = PanicsOnDrop;
        core::future::pending::<()>().await
    });
    assert!(hand.run());
    waits.cancel();
    drop(hand.spawn(async { PanicsOnDrop }));
    let output = hand.spawn(async { PanicsOnDrop });
    while hand.run() {}
    drop((output, waits));
}

/// Panics with another such value.
struct PanicsTwice(bool);

impl Drop for PanicsTwice {
    fn drop(&mut self) {
        if self.0 {
            std::panic::panic_any(PanicsTwice(false));
        }
        panic!("in the destructor of a payload");
    }
}

#[test]
fn payload_that_panics_when_dropped_ends_its_task_only() {
    let hand = ByHand::new();
    let mut suspended = hand.spawn(async {
        let _guard = PanicsTwice(true);
        core::future::pending::<()>().await
    });
    assert!(hand.run());
    suspended.cancel();
    assert!(matches!(poll(&mut suspended), Poll::Ready(Err(JoinError::Cancelled))));
    drop(hand.spawn(async { std::panic::panic_any(PanicsTwice(true)) }));
    drop(hand.spawn(async { PanicsTwice(true) }));
    while hand.run() {}
    assert_eq!(hand.0.suspended.len(), 0);
}

/// Points to itself from its first poll on, as the future of an `async` block may.
struct PointsToItself {
    own: *const PointsToItself,
    is_in_place: Arc<AtomicUsize>,
    polls: usize,
    _pinned: core::marker::PhantomPinned,
}

// SAFETY: the pointer is compared only.
unsafe impl Send for PointsToItself {}

impl Future for PointsToItself {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        // SAFETY: nothing is moved.
        let this = unsafe { self.get_unchecked_mut() };
        this.own = this;
        this.polls -= 1;
        if this.polls == 0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for PointsToItself {
    fn drop(&mut self) {
        self.is_in_place.fetch_add(usize::from(self.own == &raw const *self), SeqCst);
    }
}

#[test]
fn pinned_future_is_dropped_in_its_place() {
    let hand = ByHand::new();
    let count = Arc::new(AtomicUsize::new(0));
    let spawn = |polls| {
        let (own, is_in_place, _pinned) = (core::ptr::null(), count.clone(), core::marker::PhantomPinned);
        let handle = hand.spawn(PointsToItself { own, is_in_place, polls, _pinned });
        assert!(hand.run());
        handle
    };
    drop(spawn(1));
    assert_eq!(count.load(SeqCst), 1, "completed");
    spawn(2).cancel();
    assert_eq!(count.load(SeqCst), 2, "cancelled");
}

#[test]
fn suspended_task_whose_wakers_are_gone_is_dropped_by_the_list() {
    let hand = ByHand::new();
    let (future, drops) = after(1, Some(Arc::new(Mutex::new(None))));
    drop(hand.spawn(future));
    assert!(hand.run());
    assert_eq!(drops.load(SeqCst), 0);
    assert_eq!(hand.0.suspended.len(), 1);
    hand.0.suspended.cancel_all();
    assert_eq!((drops.load(SeqCst), hand.0.suspended.len()), (1, 0));
}

#[test]
fn time_is_charged_to_tasks_that_do_not_end() {
    let hand = ByHand::new();
    let (future, _) = after(2, None);
    let _handle = hand.spawn(future);
    assert!(hand.run());
    let mut task = hand.0.queue.lock().unwrap().pop().unwrap();
    assert_eq!(task.schedule().slice(), 5);
    task.set_schedule(task.schedule().start_on(WorkerId::new(3), 1));
    assert_eq!(task.schedule().last(), Some(WorkerId::new(3)));
    // Dropping a runnable cancels its task.
    drop(task);
    assert!(_handle.is_finished());
}
