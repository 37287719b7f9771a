//! Sockets and timers: a thread that has nothing else to do waits for their events and wakes the tasks that wait for
//! them.
//!
//! There is one reactor in a process, and no thread of its own. It is built on mio: a turn is one epoll_wait(2). One
//! thread at a time is its *driver*: an idle worker, a thread in [`block_on`](crate::block_on), or for a moment a worker
//! between two tasks. Descriptors are registered once, for edges: a task first tries its call, and waits only after a
//! call that would have blocked.

mod alarm;
mod asynchronous;
mod direction;
mod first_use;
mod net;
mod socket;
mod source;
mod timer;
mod timers;

pub use asynchronous::Async;
pub use direction::ShortRead;
pub(crate) use first_use::take_first_use;
pub use socket::Socket;
pub use timer::{Elapsed, Timeout, Timer, sleep, timeout};
pub(crate) use timers::TimerKey;

use crate::contain::contain;
use crate::ordered::{Load, Store, increment};
use alarm::Alarm;
use core::task::Waker;
use core::time::Duration;
use mio::{Events, Poll, Registry, Token};
use source::Sources;
use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, TryLockError};
use std::time::Instant;
use timers::{Position, Timers};
use unspin_sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The reactor of the process.
pub(crate) struct Reactor {
    registry: Registry,
    /// Ends the driver's wait.
    interrupter: mio::Waker,
    sources: Sources,
    timers: Timers,
    /// Number of sources and timers.
    users: AtomicUsize,
    /// The driver is in `epoll_wait`, or is about to be.
    waits: AtomicBool,
    /// Held by the driver.
    driver: Mutex<Buffers>,
}

/// What the driver uses.
struct Buffers {
    poll: Poll,
    events: Events,
    woken: Vec<Waker>,
    alarm: Alarm,
}

/// The right to drive the reactor.
pub(crate) struct Driver<'r> {
    reactor: &'r Reactor,
    buffers: MutexGuard<'r, Buffers>,
}

impl Reactor {
    /// The reactor, if a descriptor or a timer was ever registered.
    #[inline]
    pub fn get_existing() -> Option<&'static Reactor> {
        REACTOR.get().map(|reactor| &**reactor)
    }

    /// The reactor. It is made at the first call, which may fail for want of descriptors.
    pub fn get() -> io::Result<&'static Reactor> {
        if let Some(reactor) = Reactor::get_existing() {
            return Ok(reactor);
        }
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let interrupter = mio::Waker::new(&registry, INTERRUPT)?;
        let alarm = Alarm::new(&registry)?;
        Ok(REACTOR.get_or_init(|| {
            Box::new(Reactor {
                registry,
                interrupter,
                sources: Sources::default(),
                timers: Timers::default(),
                users: AtomicUsize::new(0),
                waits: AtomicBool::new(false),
                driver: Mutex::new(Buffers {
                    poll,
                    events: Events::with_capacity(EVENTS_MAX),
                    woken: Vec::new(),
                    alarm,
                }),
            })
        }))
    }

    /// The reactor, if there is something to wait for.
    #[inline]
    pub fn in_use() -> Option<&'static Reactor> {
        // Sequentially consistent: partner of the increments. A worker that goes to sleep and does not see the first use
        // was counted before as one that sleeps without the reactor. So the worker of that use sees it there after the
        // run of the task, and a thread in `block_on` finds the worker idle. Either wakes it.
        Reactor::get_existing().filter(|reactor| reactor.users.load_seq_cst() > 0)
    }

    /// Becomes the driver, unless another thread is.
    pub fn try_drive(&self) -> Option<Driver<'_>> {
        let buffers = match self.driver.try_lock() {
            Ok(buffers) => buffers,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Driver { reactor: self, buffers })
    }

    /// Ends the driver's wait, or its next one.
    pub fn interrupt(&self) {
        // It fails only if its descriptor is broken.
        self.interrupter.wake().expect("the reactor's eventfd works");
    }

    /// Counts one more source or timer.
    fn add_user(&self) {
        if increment(&self.users) == 0 {
            first_use::set_first_use();
        }
    }

    /// Adds a timer.
    fn insert_timer(&self, at: Instant, waker: Waker) -> TimerKey {
        self.add_user();
        let (key, position) = self.timers.insert(at, waker);
        // The driver says that it waits before it asks for the first timer.
        if position == Position::First && self.waits.load_seq_cst() {
            self.interrupt();
        }
        key
    }

    fn remove_timer(&self, key: TimerKey) {
        if self.timers.remove(key).is_some() {
            // Relaxed: a hint.
            self.users.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// The key of the interrupter's events. No source has it.
const INTERRUPT: Token = Token(usize::MAX);
/// Events that a turn takes at most. The next turn takes the others.
const EVENTS_MAX: usize = 1024;

/// How long a turn of the driver waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Until there is an event.
    ForEvents,
    /// Not at all.
    No,
}

impl Wait {
    fn limit(self) -> Option<Duration> {
        match self {
            Wait::ForEvents => None,
            Wait::No => Some(Duration::ZERO),
        }
    }
}

/// Boxed: workers read this word after each run of a task, and drivers write to the reactor's fields.
static REACTOR: OnceLock<Box<Reactor>> = OnceLock::new();

impl Driver<'_> {
    /// Takes the events that there are, and wakes the tasks that wait for them. Returns how many it woke.
    pub fn turn(&mut self, wait: Wait) -> usize {
        let Driver { reactor, buffers } = self;
        let Buffers { poll, events, woken, alarm } = &mut **buffers;
        reactor.waits.store_seq_cst(true);
        let first_timer = reactor.timers.first();
        if wait == Wait::ForEvents
            && let Some(at) = first_timer
        {
            alarm.set(at);
        }
        let waited = poll.poll(events, wait.limit());
        // Relaxed: an interruption that comes needlessly ends the next wait early.
        reactor.waits.store(false, Ordering::Relaxed);
        if waited.is_ok() && !events.is_empty() {
            reactor.sources.take_ready(events, woken);
        }
        let due = if first_timer.is_some() { reactor.timers.take_due(woken) } else { 0 };
        if due > 0 {
            // Relaxed: a hint.
            reactor.users.fetch_sub(due, Ordering::Relaxed);
        }
        let count = woken.len();
        for waker in woken.drain(..) {
            // A waker is code of the program.
            contain(|| waker.wake());
        }
        count
    }
}
