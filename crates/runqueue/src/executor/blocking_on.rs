//! Awaiting a future in a thread that is no worker.

use crate::executor::idling::{LOOK_FIRST, LOOK_LAST, turn_briefly};
use crate::executor::shared::Shared;
use crate::pool::{Parker, Reached};
use crate::reactor::{Reactor, Wait};
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

/// Wakes a thread in [`block_on`].
struct ThreadWaker(Parker);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.0.unpark() == Reached::SleepsInDriver
            && let Some(reactor) = Reactor::get_existing()
        {
            reactor.interrupt();
        }
    }
}

/// Runs a future in the calling thread until it is ready. The future need not be `Send`.
///
/// Sockets and timers work in it, also without an executor.
///
/// ```
/// use std::time::Duration;
///
/// let answer = unspin_runqueue::block_on(async {
///     unspin_runqueue::sleep(Duration::from_millis(1)).await;
///     42
/// });
/// assert_eq!(answer, 42);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct HandOver;
    impl Drop for HandOver {
        fn drop(&mut self) {
            hand_over();
        }
    }
    let _hand_over = HandOver;
    wait_for(future, sleep_alone)
}

/// Runs a future as [`block_on`] does, in a thread whose executor has workers that drive the reactor.
pub(crate) fn block_beside_workers<F: Future>(shared: &Shared, future: F) -> F::Output {
    wait_for(future, |thread| sleep_beside(shared, &thread.0))
}

/// Threads in [`block_on`] that sleep while another thread drives the reactor.
static WAITING: Mutex<Vec<Arc<ThreadWaker>>> = Mutex::new(Vec::new());

fn lock_waiting() -> MutexGuard<'static, Vec<Arc<ThreadWaker>>> {
    // Nothing panics under the lock.
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets a thread that waits in [`block_on`] drive the reactor. For a thread that may have been the driver, and is not any
/// more. (A thread that waits looks for the driver after it is in the list, so one of the two sees the other.)
pub(crate) fn hand_over() {
    let next = lock_waiting().pop();
    if let Some(thread) = next {
        thread.wake();
    }
}

/// Puts a thread into the list while it waits.
struct Listed<'a>(&'a Arc<ThreadWaker>);

impl<'a> Listed<'a> {
    fn new(thread: &'a Arc<ThreadWaker>) -> Listed<'a> {
        lock_waiting().push(Arc::clone(thread));
        Listed(thread)
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        lock_waiting().retain(|thread| !Arc::ptr_eq(thread, self.0));
    }
}

/// Sleeps, as the driver of the reactor if it has none.
fn sleep_alone(thread: &Arc<ThreadWaker>) {
    let parker = &thread.0;
    let Some(reactor) = Reactor::in_use() else { return parker.park() };
    if drive(reactor, parker) {
        return;
    }
    let _listed = Listed::new(thread);
    let mut time = LOOK_FIRST;
    // The driver may leave for a task that takes long.
    while !drive(reactor, parker) && !parker.park_for(time) {
        time = (time * 2).min(LOOK_LAST);
    }
}

/// Drives the reactor for one turn, unless the thread is woken before. False: another thread is the driver.
fn drive(reactor: &Reactor, parker: &Parker) -> bool {
    let Some(mut driver) = reactor.try_drive() else { return false };
    if parker.enter_driver() {
        driver.turn(Wait::ForEvents);
        drop(driver);
        // Woken or not: the future is polled again, which is harmless.
        parker.leave_driver();
    } else {
        parker.park();
    }
    true
}

/// Sleeps. If no thread drives the reactor it wakes an idle worker, which will: the worker sleeps since before the reactor
/// was used. If all workers run tasks, the thread takes the events itself, now and then.
fn sleep_beside(shared: &Shared, parker: &Parker) {
    let Some(reactor) = Reactor::in_use() else { return parker.park() };
    let mut time = LOOK_FIRST;
    loop {
        let is_driven = reactor.try_drive().is_none();
        let has_driver = is_driven || shared.pool.wake_idle(None);
        if parker.park_for(time) {
            return;
        }
        if !has_driver {
            turn_briefly(reactor);
        }
        time = (time * 2).min(LOOK_LAST);
    }
}

fn wait_for<F: Future>(future: F, sleep: impl Fn(&Arc<ThreadWaker>)) -> F::Output {
    let mut future = pin!(future);
    let thread = Arc::new(ThreadWaker(Parker::new()));
    let waker = Waker::from(Arc::clone(&thread));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        sleep(&thread);
    }
}
