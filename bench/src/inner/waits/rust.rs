//! Rust's own channels and conditions, which sleep by futex(2).

use super::Figures;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use unspin_sys::child::Usage;

/// Hand-overs before the clock starts.
const WARM_UP: u32 = 200;

/// Hand-overs a second, there and back being two, of a side that `hand_over` makes wait for the other.
fn measure(ms: u64, mut hand_over: impl FnMut()) -> Figures {
    (0..WARM_UP).for_each(|_| hand_over());
    let (usage, started) = (Usage::of_self(), Instant::now());
    let mut count = 0u64;
    while started.elapsed() < Duration::from_millis(ms) {
        (0..16).for_each(|_| hand_over());
        count += 32;
    }
    let took = started.elapsed().as_secs_f64();
    let cpu_s = Usage::of_self().since(&usage).cpu_s();
    Figures::Rate { per_second: count as f64 / took, cpu_us: 1e6 * cpu_s / count as f64 }
}

/// A number to and fro through two channels.
pub fn by_channel(ms: u64) -> Figures {
    let (there, asked): (Sender<u64>, Receiver<u64>) = channel();
    let (answer, back) = channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            for value in asked {
                if answer.send(value + 1).is_err() {
                    break;
                }
            }
        });
        let figures = measure(ms, || {
            // The other side ends after this one.
            let _ = there.send(1);
            let _ = back.recv();
        });
        drop(there);
        figures
    })
}

/// Which thread has the turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Asking,
    Answering,
    Over,
}

/// The turn to and fro, guarded by a mutex.
pub fn by_condvar(ms: u64) -> Figures {
    let (turn, changed) = (Mutex::new(Turn::Asking), Condvar::new());
    // Waits until it is not `other`'s turn, and gives the turn to `next`.
    let pass = |other: Turn, next: Turn| {
        let guard = turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut guard =
            changed.wait_while(guard, |now| *now == other).unwrap_or_else(PoisonError::into_inner);
        if *guard == Turn::Over {
            return false;
        }
        *guard = next;
        changed.notify_one();
        true
    };
    thread::scope(|scope| {
        scope.spawn(|| while pass(Turn::Asking, Turn::Asking) {});
        let figures = measure(ms, || {
            pass(Turn::Answering, Turn::Answering);
        });
        pass(Turn::Answering, Turn::Over);
        figures
    })
}
