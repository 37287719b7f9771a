//! Two tasks that wake each other in turn: one of them is runnable at a time.

use super::countdown::Countdown;
use super::runtime::Runtime;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Instant;

/// The task whose turn it is, and the waker of the one that waits.
#[derive(Default)]
struct Baton(Mutex<Turn>);

#[derive(Default)]
struct Turn {
    number: u64,
    waiter: Option<Waker>,
}

impl Baton {
    /// Waits for the turns of this parity, and ends each of them.
    async fn take_turns(&self, parity: u64, turns: u64) {
        poll_fn(|context| {
            let mut turn = self.0.lock().expect("no task panics");
            if turn.number >= turns {
                return Poll::Ready(());
            }
            let mut other = None;
            if turn.number % 2 == parity {
                turn.number += 1;
                other = turn.waiter.take();
            }
            // The last turn was the other task's, or is this one's.
            let is_over = turn.number >= turns;
            if !is_over {
                turn.waiter = Some(context.waker().clone());
            }
            drop(turn);
            if let Some(other) = other {
                other.wake();
            }
            if is_over { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// Nanoseconds of one turn.
pub fn turn_ns<R: Runtime>(runtime: &R, turns: u64) -> f64 {
    let timed = |turns: u64| {
        let (countdown, baton) = (Countdown::new(2), Arc::new(Baton::default()));
        let started = Instant::now();
        for parity in 0..2 {
            let baton = Arc::clone(&baton);
            runtime.spawn(async move {
                baton.take_turns(parity, turns).await;
                countdown.end();
            });
        }
        countdown.wait();
        started.elapsed()
    };
    timed(turns / 10);
    timed(turns).as_nanos() as f64 / turns as f64
}
