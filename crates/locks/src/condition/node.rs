//! A waiter's node in the list.

use super::list::ListLinks;
use crate::{host, park};
use unspin_sync::atomic::{AtomicU32, Ordering};

/// One waiting thread. It lies on the waiter's stack and must not move or be freed from
/// [`enqueue`](super::Condition::enqueue) until the waiter has left: see there.
#[derive(Debug)]
pub struct Node {
    state: AtomicU32,
    /// Immutable. 0: not real-time; otherwise a greater number is more urgent.
    priority: u32,
    /// Immutable. Generation of the process in which the thread began to wait.
    generation: u32,
    /// Immutable. See [`for_mutex`](Self::for_mutex).
    mutex: usize,
    /// Immutable. See [`for_object`](Self::for_object).
    object: usize,
    pub(super) links: ListLinks,
}

/// The states of a node. The state is the futex word on which the waiter sleeps while it waits or is queued.
///
/// | state | in the condition's list | next state, and who sets it |
/// |---|---|---|
/// | `WAITING` | yes | the first of: signal to `SIGNALLED`, broadcast to `QUEUED`, waiter to `LEAVING` or `SLEEPING` |
/// | `SLEEPING` | yes | the same, except `SLEEPING`; a signal must wake the thread |
/// | `LEAVING` | yes, until the waiter removes itself | final: the waiter was not signalled |
/// | `QUEUED` | no, in the chain of a broadcast | the waiter before it in the chain, or the broadcast, sets `WOKEN` |
/// | `WOKEN` | no | final: the waiter wakes the next of the chain |
/// | `SIGNALLED` | no | final: the waiter confirms to the condition, which must not be destroyed before that |
pub(super) mod state {
    pub(in crate::condition) const WAITING: u32 = 1;
    pub(in crate::condition) const LEAVING: u32 = 2;
    pub(in crate::condition) const QUEUED: u32 = 3;
    pub(in crate::condition) const WOKEN: u32 = 4;
    pub(in crate::condition) const SIGNALLED: u32 = 5;
    pub(in crate::condition) const SLEEPING: u32 = 6;
}

impl Node {
    /// A node for the calling thread, which waits with this real-time priority; 0 if it has none.
    pub fn new(priority: u32) -> Node {
        Node {
            state: AtomicU32::new(state::WAITING),
            priority,
            generation: host::generation(),
            mutex: 0,
            object: 0,
            links: ListLinks::default(),
        }
    }

    /// The node of a thread that will acquire the mutex at this address again. Waiters of one condition should use one
    /// mutex. Waiters with different mutexes are woken at once instead of one after another, because they do not
    /// compete for a mutex.
    pub fn for_mutex<T>(self, mutex: *const T) -> Node {
        Node { mutex: mutex.addr(), ..self }
    }

    /// The node of a thread that waits for one of the objects that a [`Condition`](super::Condition) serves.
    pub fn for_object(self, object: usize) -> Node {
        Node { object, ..self }
    }

    /// The futex on which to sleep; private to the process. Sleepers are woken when the result of
    /// [`must_sleep_on`](Self::must_sleep_on) changes.
    pub fn word(&self) -> &AtomicU32 {
        &self.state
    }

    /// Whether the thread has not been woken yet: for a thread that polls instead of sleeping.
    pub fn is_waiting(&self) -> bool {
        // Acquire: as in `must_sleep_on`.
        matches!(self.state.load(Ordering::Acquire), state::WAITING | state::SLEEPING | state::QUEUED)
    }

    /// The value of [`word`](Self::word) on which the thread must (continue to) sleep; `None` once it was woken. After
    /// this call a signal makes the system call that wakes a sleeper.
    pub fn must_sleep_on(&self) -> Option<u32> {
        // Acquire on failure: partner of the Release in `resolve` and `wake`: the waker is done with the node. Relaxed
        // on success: a waker that finds `SLEEPING` only makes a system call, and reads none of our data.
        let seen = self.state.compare_exchange(
            state::WAITING,
            state::SLEEPING,
            Ordering::Relaxed,
            Ordering::Acquire,
        );
        let state = seen.map_or_else(|state| state, |_| state::SLEEPING);
        matches!(state, state::SLEEPING | state::QUEUED).then_some(state)
    }

    /// Whether the thread is in another process than when it began to wait: a signal handler interrupted its sleep and
    /// forked. No thread of the child will wake it, so it must return as if it had been woken.
    pub fn is_stranded(&self) -> bool {
        self.generation != host::generation()
    }

    /// Whether [`pass_on`](Self::pass_on) has a next waiter to wake.
    pub fn is_followed(&self) -> bool {
        // Relaxed: as in `pass_on`.
        let in_chain = self.state.load(Ordering::Relaxed) == state::WOKEN;
        // SAFETY: as in `pass_on`, which has not been called yet.
        in_chain && unsafe { self.links.next_in_chain() }.is_some()
    }

    /// Wakes the next waiter of a broadcast's chain, if a broadcast released this one. To be called when the mutex has
    /// been acquired again: so the waiters come one by one, instead of all at once to a mutex that only one can have.
    /// The call must be made in every case, also if the thread is cancelled.
    ///
    /// # Safety
    /// The node has left, and this is called once.
    pub unsafe fn pass_on(&self) {
        // Relaxed: this thread has read the state before, with Acquire.
        if self.state.load(Ordering::Relaxed) == state::WOKEN {
            // SAFETY: the node is out of the list, and was woken by a broadcast. The next node of its chain lives until
            // it is woken, and only this thread wakes it.
            if let Some(next) = unsafe { self.links.next_in_chain() } {
                next.wake();
            }
        }
    }

    /// Changes the state of a waiting node to `to`, unless another thread has changed it. `Ok`: the state before;
    /// `Err`: the state that another thread has set.
    pub(super) fn resolve(&self, to: u32) -> Result<u32, u32> {
        let mut from = state::WAITING;
        loop {
            // Release: partner of the Acquire in `must_sleep_on`. Acquire: partner of that Release, for a waiter that
            // leaves and finds itself signalled.
            match self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire) {
                // Only the waiter itself changes WAITING to SLEEPING, and only once.
                Err(state @ state::SLEEPING) => from = state,
                result => return result,
            }
        }
    }

    /// Wakes the thread of a queued node. The node may be freed when this returns.
    pub(super) fn wake(&self) {
        let word = &raw const self.state;
        // Release: partner of the Acquire in `must_sleep_on`.
        self.state.store(state::WOKEN, Ordering::Release);
        park::wake(word, 1);
    }

    pub(super) fn object(&self) -> usize {
        self.object
    }

    pub(super) fn mutex(&self) -> usize {
        self.mutex
    }

    pub(super) fn priority(&self) -> u32 {
        self.priority
    }
}
