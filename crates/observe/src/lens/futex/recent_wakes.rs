//! Which call woke a thread.
//!
//! The kernel does not say which of the calls that wake threads ended a wait. A wait that ends with a wake-up was woken by a call at
//! the same futex that began during the wait. If there are several, it is the first that has woken a thread for which no wait is
//! known; a call that has not returned yet comes last, because it may have woken none.

use super::futex_use::Futex;
use crate::lens::timeline::track::Track;
use std::collections::{HashMap, VecDeque};

/// Calls that are kept of each futex.
const CALLS_MAX: usize = 8;

/// The latest calls at each futex that wake threads.
#[derive(Debug, Default)]
pub struct RecentWakes {
    calls: HashMap<Futex, VecDeque<WakeCall>>,
}

#[derive(Clone, Copy, Debug)]
struct WakeCall {
    waker: Track,
    began: u64,
    /// How many threads it has woken; none while it has not returned.
    woken: Option<u64>,
    /// Threads of which the waits are known.
    known: u64,
}

impl WakeCall {
    fn has_others(&self) -> bool {
        self.woken.is_some_and(|woken| woken > self.known)
    }
}

impl RecentWakes {
    /// A thread begins a call.
    pub fn begin(&mut self, futex: &Futex, waker: Track, now: u64) {
        let call = WakeCall { waker, began: now, woken: None, known: 0 };
        match self.calls.get_mut(futex) {
            Some(calls) => {
                if calls.len() == CALLS_MAX {
                    calls.pop_front();
                }
                calls.push_back(call);
            }
            None => drop(self.calls.insert(futex.clone(), VecDeque::from([call]))),
        }
    }

    /// The call of this thread returns, and has woken so many threads.
    pub fn end(&mut self, futex: &Futex, waker: Track, woken: u64) {
        let Some(calls) = self.calls.get_mut(futex) else { return };
        if let Some(call) = calls.iter_mut().rfind(|call| call.waker == waker && call.woken.is_none()) {
            call.woken = Some(woken);
        }
        calls.retain(|call| call.woken.is_none() || call.has_others());
    }

    /// The thread that ended a wait with these times by waking.
    pub fn waker(&mut self, futex: &Futex, [start, end]: [u64; 2]) -> Option<Track> {
        let calls = self.calls.get_mut(futex)?;
        let fits = |call: &&mut WakeCall| (start..=end).contains(&call.began);
        let mut fitting: Vec<&mut WakeCall> = calls.iter_mut().filter(fits).collect();
        let known = fitting.iter().position(|call| call.has_others());
        let found = known.or_else(|| fitting.iter().position(|call| call.woken.is_none()))?;
        fitting[found].known += 1;
        let waker = fitting[found].waker;
        calls.retain(|call| call.woken.is_none() || call.has_others());
        Some(waker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lens::spaces::SpaceId;

    const FUTEX: Futex = Futex::Private(SpaceId(0), 0x10);

    fn thread(tid: u32) -> Track {
        Track::Thread(1, tid)
    }

    #[test]
    fn waker_is_the_first_whose_call_woke_a_thread_during_the_wait() {
        let mut wakes = RecentWakes::default();
        for (waker, began, woken) in [(2, 5, 1), (3, 20, 0), (4, 30, 2), (5, 40, 1)] {
            wakes.begin(&FUTEX, thread(waker), began);
            wakes.end(&FUTEX, thread(waker), woken);
        }
        let waits = [[10, 35], [11, 36], [12, 45], [13, 46]];
        let wakers = waits.map(|times| wakes.waker(&FUTEX, times));
        assert_eq!(wakers, [Some(thread(4)), Some(thread(4)), Some(thread(5)), None]);
        assert_eq!(wakes.waker(&Futex::Private(SpaceId(1), 0x10), [0, 50]), None);
    }

    /// The woken thread may return from its call first.
    #[test]
    fn call_that_has_not_returned_may_be_the_one() {
        let mut wakes = RecentWakes::default();
        wakes.begin(&FUTEX, thread(2), 20);
        assert_eq!(wakes.waker(&FUTEX, [10, 25]), Some(thread(2)));
        wakes.end(&FUTEX, thread(2), 1);
        assert_eq!(wakes.waker(&FUTEX, [10, 26]), None, "it has woken one thread");
    }

    #[test]
    fn calls_of_a_futex_are_bounded() {
        let mut wakes = RecentWakes::default();
        for n in 0..100 {
            wakes.begin(&FUTEX, thread(n), n.into());
        }
        assert_eq!(wakes.calls[&FUTEX].len(), CALLS_MAX);
    }
}
