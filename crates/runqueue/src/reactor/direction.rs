//! Whether a descriptor is ready for one of reading and writing, and the tasks that wait for that.

use core::task::{Context, Poll, Waker};
use smallvec::SmallVec;
use unspin_locks::Adaptive;
use unspin_locks::api::{Mutex, MutexGuard};
use unspin_sync::atomic::{AtomicUsize, Ordering};

/// The readiness of a descriptor for reading, or for writing.
#[derive(Debug)]
pub(super) struct Direction {
    /// The bits below, and above them the number of events so far.
    state: AtomicUsize,
    waiters: Mutex<Adaptive, Waiters>,
}

#[derive(Debug)]
struct Waiters {
    /// Most directions have one waiter. Its place is here, so that an event does not fetch another cache line.
    list: SmallVec<[(WaiterId, Waker); 1]>,
    /// Identifiers that were given to waiters so far.
    given: u64,
}

/// One that waits for a direction. It has one place in the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WaiterId(u64);

impl WaiterId {
    /// The callers of the traits' methods, which have no end at which they could give a place of their own back. Of several
    /// tasks the last one to call waits; the one before it is woken, to call again.
    pub const OF_TRAITS: WaiterId = WaiterId(0);
}

/// A future that waits for a direction. Dropped, it waits no more.
#[derive(Debug)]
pub(super) struct Waiter<'d> {
    pub direction: &'d Direction,
    /// Once it has waited.
    pub id: Option<WaiterId>,
}

impl<'d> Waiter<'d> {
    pub fn new(direction: &'d Direction) -> Waiter<'d> {
        Waiter { direction, id: None }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.direction.forget(id);
        }
    }
}

/// The next call may succeed. Set by the driver at each event, cleared by a thread whose call would have blocked, unless
/// there was another event since it began. If it is set needlessly, a call is made in vain.
const READY: usize = 1;
/// There may be wakers in the list. Set under the list's lock by a task that waits, cleared by the driver at the event for
/// which it takes the wakers. If it is set needlessly, the driver looks into an empty list.
const AWAITED: usize = 2;
/// A read that returns less than was asked for does not show that nothing is left. Set for all but TCP sockets, and by
/// the driver when the peer has closed or has sent urgent data; nothing clears it. If it is set needlessly, a call is made
/// in vain.
const SHORT_READS: usize = 4;
const EVENT: usize = 8;

/// What was known before a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen(usize);

/// What a read shows that returns less than was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShortRead {
    /// Nothing is left: whatever comes next causes an event.
    Drained,
    /// Nothing: data may be left for which there is no further event, or the end of the stream.
    Nothing,
}

impl ShortRead {
    fn bits(self) -> usize {
        match self {
            ShortRead::Drained => 0,
            ShortRead::Nothing => SHORT_READS,
        }
    }
}

impl Direction {
    /// A direction of which nothing is known: the first call finds out.
    pub fn new(short_read: ShortRead) -> Direction {
        Direction {
            state: AtomicUsize::new(READY | short_read.bits()),
            waiters: Mutex::new(Waiters { list: SmallVec::new(), given: 0 }),
        }
    }

    fn waiters(&self) -> MutexGuard<'_, Adaptive, Waiters> {
        // A waker that panics in `clone` leaves the list whole.
        self.waiters.lock()
    }

    /// Ready if the next call may succeed. If not, the waiter is in the list.
    pub fn poll_ready(&self, context: &mut Context<'_>, id: &mut Option<WaiterId>) -> Poll<Seen> {
        if let Some(seen) = self.seen() {
            return Poll::Ready(seen);
        }
        let mut waiters = self.waiters();
        // Under the lock: the driver sets `READY` before it takes the wakers. The one exchange after which a task waits
        // requires that there was no event, so the driver's next exchange sees `AWAITED`.
        // Acquire: as in `seen`. Relaxed on success: the lock orders the list.
        let wait = |state: usize| (state & READY == 0).then_some(state | AWAITED);
        if let Err(state) = self.state.fetch_update(Ordering::Relaxed, Ordering::Acquire, wait) {
            return Poll::Ready(Seen(state));
        }
        let waker = context.waker().clone();
        let replaced = waiters.put(id, waker);
        drop(waiters);
        // A waker is code of the program, so it is called without the lock.
        if let Some(other) = replaced.filter(|other| !other.will_wake(context.waker())) {
            other.wake();
        }
        Poll::Pending
    }

    fn forget(&self, id: WaiterId) {
        // Relaxed: a waiter that is in the list has set the bit itself, or has seen it under the lock, and only the driver
        // clears it, which takes the list then.
        if self.state.load(Ordering::Relaxed) & AWAITED != 0 {
            let mut waiters = self.waiters();
            let at = waiters.list.iter().position(|&(known, _)| known == id);
            let removed = at.map(|at| waiters.list.swap_remove(at));
            drop(waiters);
            drop(removed);
        }
    }

    fn seen(&self) -> Option<Seen> {
        // Acquire: partner of the Release in `set_ready`: the call sees what made the descriptor ready.
        let state = self.state.load(Ordering::Acquire);
        (state & READY != 0).then_some(Seen(state))
    }

    /// A call that began after `seen` would have blocked.
    pub fn clear(&self, seen: Seen) {
        // Relaxed: if there was an event meanwhile the exchange fails, and the next call finds out.
        let _ = self.state.compare_exchange(seen.0, seen.0 & !READY, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// A read that began after `seen` has returned less than was asked for. If that shows that nothing is left, the next
    /// call waits for an event.
    pub fn was_short(&self, seen: Seen) {
        if seen.0 & SHORT_READS == 0 {
            self.clear(seen);
        }
    }

    /// The next call is to wait for an event, unless there was one already.
    pub fn expect_event(&self) {
        if let Some(seen) = self.seen()
            && seen.0 < EVENT
        {
            self.clear(seen);
        }
    }

    /// There was an event: adds the wakers of those that wait to the list. `short_read`: what short reads show from now
    /// on.
    pub fn set_ready(&self, short_read: ShortRead, woken: &mut Vec<Waker>) {
        let set = |state: usize| Some((state.wrapping_add(EVENT) & !AWAITED) | READY | short_read.bits());
        // Release: partner of the Acquire in `seen`. Relaxed on failure: the exchange decides.
        let before = self.state.fetch_update(Ordering::Release, Ordering::Relaxed, set);
        let (Ok(state) | Err(state)) = before;
        if state & AWAITED != 0 {
            woken.extend(self.waiters().list.drain(..).map(|(_, waker)| waker));
        }
    }
}

impl Waiters {
    /// Puts a waiter into the list, and gives it an identifier if it has none. Returns the waker that it had.
    fn put(&mut self, id: &mut Option<WaiterId>, waker: Waker) -> Option<Waker> {
        let id = *id.get_or_insert_with(|| {
            self.given += 1;
            WaiterId(self.given)
        });
        if let Some((_, known)) = self.list.iter_mut().find(|&&mut (known, _)| known == id) {
            return Some(core::mem::replace(known, waker));
        }
        self.list.push((id, waker));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_waiters(direction: &Direction) -> usize {
        direction.waiters().list.len()
    }

    #[test]
    fn future_that_is_dropped_leaves_the_list() {
        let direction = Direction::new(ShortRead::Nothing);
        let mut context = Context::from_waker(Waker::noop());
        direction.expect_event();
        for _ in 0..3 {
            let mut waiter = Waiter::new(&direction);
            assert!(direction.poll_ready(&mut context, &mut waiter.id).is_pending());
            assert!(direction.poll_ready(&mut context, &mut waiter.id).is_pending());
            assert_eq!(count_waiters(&direction), 1);
        }
        assert_eq!(count_waiters(&direction), 0);
    }

    #[test]
    fn event_wakes_all_that_wait() {
        let direction = Direction::new(ShortRead::Nothing);
        let mut context = Context::from_waker(Waker::noop());
        direction.expect_event();
        let mut waiters = [Waiter::new(&direction), Waiter::new(&direction)];
        for waiter in &mut waiters {
            assert!(direction.poll_ready(&mut context, &mut waiter.id).is_pending());
        }
        assert!(direction.poll_ready(&mut context, &mut Some(WaiterId::OF_TRAITS)).is_pending());
        let mut woken = Vec::new();
        direction.set_ready(ShortRead::Nothing, &mut woken);
        assert_eq!((woken.len(), count_waiters(&direction)), (3, 0));
        drop(waiters);
    }
}
