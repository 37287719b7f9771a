//! The timers of the process, by time.

use core::task::Waker;
use std::collections::BTreeMap;
use std::time::Instant;
use unspin_locks::Adaptive;
use unspin_locks::api::{Mutex, MutexGuard};

/// Identifies a timer that waits: its time, and a number that no other timer has.
pub(crate) type TimerKey = (Instant, u64);

/// The timers of the process.
#[derive(Debug, Default)]
pub(super) struct Timers(Mutex<Adaptive, Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    wakers: BTreeMap<TimerKey, Waker>,
    number: u64,
}

/// Whether a timer is the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Position {
    First,
    Later,
}

impl Timers {
    fn lock(&self) -> MutexGuard<'_, Adaptive, Waiting> {
        // Nothing panics under the lock but a waker's `clone`, which is done before.
        self.0.lock()
    }

    /// Adds a timer.
    pub fn insert(&self, at: Instant, waker: Waker) -> (TimerKey, Position) {
        let mut waiting = self.lock();
        waiting.number += 1;
        let key = (at, waiting.number);
        let is_first = waiting.wakers.first_key_value().is_none_or(|(first, _)| key < *first);
        waiting.wakers.insert(key, waker);
        (key, if is_first { Position::First } else { Position::Later })
    }

    /// Replaces a timer's waker, if the timer still waits. The waker before is returned, to be dropped without the lock.
    pub fn replace(&self, key: TimerKey, waker: Waker) -> Option<Waker> {
        self.lock().wakers.get_mut(&key).map(|known| core::mem::replace(known, waker))
    }

    /// Takes a timer out.
    pub fn remove(&self, key: TimerKey) -> Option<Waker> {
        self.lock().wakers.remove(&key)
    }

    /// The time of the first timer; none if there is none.
    pub fn first(&self) -> Option<Instant> {
        self.lock().wakers.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes out the timers whose time has come, and adds their wakers to the list. Returns how many.
    pub fn take_due(&self, woken: &mut Vec<Waker>) -> usize {
        let now = Instant::now();
        let mut waiting = self.lock();
        let before = woken.len();
        while let Some(first) = waiting.wakers.first_entry()
            && first.key().0 <= now
        {
            woken.push(first.remove());
        }
        woken.len() - before
    }
}
