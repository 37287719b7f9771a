//! A waiter's place in the list.

use super::list::Links;
use crate::{host, park};
use unspin_sync::atomic::{AtomicU32, Ordering};

/// One thread's place among those who wait. It lies on the waiter's stack, and must stay there, unmoved, from
/// [`enqueue`](super::Condition::enqueue) until the waiter has left: see there.
#[derive(Debug)]
pub struct Node {
    state: AtomicU32,
    /// Immutable. 0: not real-time; otherwise more is more urgent.
    priority: u32,
    /// Immutable. That of the process in which its thread began to wait.
    generation: u32,
    /// Immutable. See [`for_mutex`](Self::for_mutex).
    mutex: usize,
    pub(super) links: Links,
}

/// What becomes of a node. The words are those of a futex, on which the waiter sleeps while it waits or is queued.
///
/// | state | in the condition's list | who moves it on |
/// |---|---|---|
/// | `WAITING` | yes | a signal to `SIGNALLED`, a broadcast to `QUEUED`, its thread to `LEAVING` or `SLEEPING`: the first of them |
/// | `SLEEPING` | yes | the same; a signal must wake the thread |
/// | `LEAVING` | yes, until its thread takes it out | nobody: its thread was not signalled |
/// | `QUEUED` | no, in the chain of a broadcast | the one before it in the chain, or the broadcast, to `WOKEN` |
/// | `WOKEN` | no | nobody: its thread passes the chain on |
/// | `SIGNALLED` | no | nobody: its thread says so to the condition, which may not go before that |
pub(super) mod state {
    pub(in crate::condition) const WAITING: u32 = 1;
    pub(in crate::condition) const LEAVING: u32 = 2;
    pub(in crate::condition) const QUEUED: u32 = 3;
    pub(in crate::condition) const WOKEN: u32 = 4;
    pub(in crate::condition) const SIGNALLED: u32 = 5;
    pub(in crate::condition) const SLEEPING: u32 = 6;
}

impl Node {
    /// A place for the calling thread, which waits with this real-time priority, 0 if it has none.
    pub fn new(priority: u32) -> Node {
        Node {
            state: AtomicU32::new(state::WAITING),
            priority,
            generation: host::generation(),
            mutex: 0,
            links: Links::default(),
        }
    }

    /// The same for a thread that will have this mutex back, whose address tells it from others. Threads that wait for one
    /// condition ought to have one mutex; those that do not are woken one beside the other, as neither has what the other
    /// wants.
    pub fn for_mutex<T>(self, mutex: *const T) -> Node {
        Node { mutex: mutex.addr(), ..self }
    }

    /// The futex on which to sleep, private to the process: it is woken when [`must_sleep_on`](Self::must_sleep_on)
    /// changes.
    pub fn word(&self) -> &AtomicU32 {
        &self.state
    }

    /// Whether the thread was not woken yet: for a thread that looks again instead of sleeping.
    pub fn is_waiting(&self) -> bool {
        // Acquire: as in `must_sleep_on`.
        matches!(self.state.load(Ordering::Acquire), state::WAITING | state::SLEEPING | state::QUEUED)
    }

    /// The value of [`word`](Self::word) on which the thread is to sleep (or to go on sleeping), `None` once it was woken.
    /// From then on a signal makes the system call that wakes a sleeper.
    pub fn must_sleep_on(&self) -> Option<u32> {
        // Acquire: partner of the Release in `resolve` and `wake`: the waker is done with the node. Relaxed on success: a
        // waker that finds `SLEEPING` makes a system call, and reads nothing of ours.
        let seen = self.state.compare_exchange(
            state::WAITING,
            state::SLEEPING,
            Ordering::Relaxed,
            Ordering::Acquire,
        );
        let state = seen.map_or_else(|state| state, |_| state::SLEEPING);
        matches!(state, state::SLEEPING | state::QUEUED).then_some(state)
    }

    /// Whether the thread is in another process than when it began to wait: a handler of a signal interrupted its sleep and
    /// forked. Nobody there will wake it; it is to return as if it had been woken.
    pub fn is_stranded(&self) -> bool {
        self.generation != host::generation()
    }

    /// Whether there is a next one to wake for [`pass_on`](Self::pass_on).
    pub fn is_followed(&self) -> bool {
        // Relaxed: as in `pass_on`.
        let in_chain = self.state.load(Ordering::Relaxed) == state::WOKEN;
        // SAFETY: as in `pass_on`, which was not called yet.
        in_chain && unsafe { self.links.next_in_chain() }.is_some()
    }

    /// Wakes the next of those whom a broadcast has released, if this one was released by one. To be called when the
    /// mutex was acquired again: so they come one by one, instead of all at once to a mutex that one of them can have.
    /// Whatever becomes of the thread, this may not be left out.
    ///
    /// # Safety
    /// The node has left, and this is called once.
    pub unsafe fn pass_on(&self) {
        // Relaxed: our own thread has read it before, with Acquire.
        if self.state.load(Ordering::Relaxed) == state::WOKEN {
            // SAFETY: out of the list, and woken by a broadcast: the next in its chain stays until it is woken, which only
            // we do.
            if let Some(next) = unsafe { self.links.next_in_chain() } {
                next.wake();
            }
        }
    }

    /// Moves a node that waits to another state, unless another thread has moved it. Answers the state that it had.
    pub(super) fn resolve(&self, to: u32) -> Result<u32, u32> {
        let mut from = state::WAITING;
        loop {
            // Release: partner of the Acquire in `must_sleep_on`. Acquire: its partner likewise, for a waiter that leaves and
            // finds itself signalled.
            match self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire) {
                // Only the waiter itself moves on from WAITING to SLEEPING, once.
                Err(state @ state::SLEEPING) => from = state,
                result => return result,
            }
        }
    }

    /// Wakes the thread of a queued node. The node may be gone when this returns.
    pub(super) fn wake(&self) {
        let word = &raw const self.state;
        // Release: partner of the Acquire in `must_sleep_on`.
        self.state.store(state::WOKEN, Ordering::Release);
        park::wake(word, 1);
    }

    pub(super) fn mutex(&self) -> usize {
        self.mutex
    }

    pub(super) fn priority(&self) -> u32 {
        self.priority
    }
}
