//! Waiting for a time.

use crate::reactor::{Reactor, TimerKey};
use core::fmt;
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use core::time::Duration;
use std::future::poll_fn;
use std::time::Instant;

/// A future that is ready at a time.
#[derive(Debug)]
#[must_use = "a timer does nothing unless it is awaited"]
pub struct Timer {
    /// None: never.
    at: Option<Instant>,
    /// Where it waits.
    key: Option<TimerKey>,
}

impl Timer {
    /// Ready at this time.
    pub fn at(at: Instant) -> Timer {
        Timer { at: Some(at), key: None }
    }

    /// Ready after this time; never, if that time cannot be expressed.
    pub fn after(time: Duration) -> Timer {
        Timer { at: Instant::now().checked_add(time), key: None }
    }

    /// Lets it be ready at another time.
    pub fn reset(&mut self, at: Instant) {
        self.leave();
        self.at = Some(at);
    }

    fn leave(&mut self) {
        if let (Some(key), Some(reactor)) = (self.key.take(), Reactor::get_existing()) {
            reactor.remove_timer(key);
        }
    }
}

/// Waits for this time.
pub fn sleep(time: Duration) -> Timer {
    Timer::after(time)
}

impl Future for Timer {
    type Output = ();

    /// # Panics
    /// If the process has no descriptors left for the reactor, at its first timer.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.at else { return Poll::Pending };
        if Instant::now() >= at {
            self.leave();
            return Poll::Ready(());
        }
        let reactor = Reactor::get().expect("the reactor needs descriptors");
        // A timer that was taken out as due just now waits again, for no time.
        match self.key {
            Some(key) if reactor.timers.replace(key, context.waker().clone()).is_some() => {}
            _ => self.key = Some(reactor.insert_timer(at, context.waker().clone())),
        }
        Poll::Pending
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The time was over before the future was ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time is over")
    }
}

impl std::error::Error for Elapsed {}

/// The result of [`timeout`].
pub type Timeout<T> = Result<T, Elapsed>;

/// Awaits a future, at most for this time.
pub async fn timeout<F: Future>(time: Duration, future: F) -> Timeout<F::Output> {
    let (mut future, mut timer) = (pin!(future), Timer::after(time));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Ok(output)),
        Poll::Pending => Pin::new(&mut timer).poll(context).map(|()| Err(Elapsed)),
    })
    .await
}
