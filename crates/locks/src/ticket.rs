//! Tickets: FIFO, all spinning on one word. For study: whoever is next must be on a CPU, and all the others burn theirs.
//!
//! A thread that waits until some time draws no ticket, because it could not hand it back: it takes the lock when it sees it
//! free, out of turn.

use crate::host;
use crate::raw::{free, poll};
use crate::{RawLock, Until, Waited};
use unspin_sync::atomic::{AtomicU64, Ordering};
use unspin_sync::hint;

/// See the module.
#[derive(Debug)]
pub struct Ticket {
    word: AtomicU64,
}

/// The word.
///
/// | bits | meaning | changed by |
/// |---|---|---|
/// | 0–21 | the ticket that is served; equal to the next: the lock is free | whoever releases |
/// | 22–43 | the next ticket to draw | whoever acquires or queues |
/// | 44–63 | low bits of the generation in which the last waiter drew its ticket: tickets drawn in another one belong to threads that a fork left behind | whoever queues |
///
/// As many tickets as Linux can have threads (PID_MAX_LIMIT, 2²²).
#[derive(Clone, Copy, PartialEq, Eq)]
struct Word(u64);

const TICKET_BITS: u32 = 22;
const TICKET: u64 = (1 << TICKET_BITS) - 1;
const GENERATION: u64 = (1 << (64 - 2 * TICKET_BITS)) - 1;

impl Word {
    fn new(served: u64, next: u64, generation: u64) -> Word {
        Word(served & TICKET | (next & TICKET) << TICKET_BITS | generation << (2 * TICKET_BITS))
    }

    fn served(self) -> u64 {
        self.0 & TICKET
    }

    fn next(self) -> u64 {
        self.0 >> TICKET_BITS & TICKET
    }

    fn generation(self) -> u64 {
        self.0 >> (2 * TICKET_BITS)
    }

    fn is_free(self) -> bool {
        self.served() == self.next()
    }

    /// As it is in the calling process: without waiters that do not exist here.
    fn here(self) -> Word {
        let here = u64::from(host::generation()) & GENERATION;
        if self.generation() == here {
            return self;
        }
        let owners = u64::from(!self.is_free());
        Word::new(self.served(), self.served() + owners, here)
    }

    fn with_another_ticket(self) -> Word {
        Word::new(self.served(), self.next() + 1, self.generation())
    }

    fn with_the_next_served(self) -> Word {
        Word::new(self.served() + 1, self.next(), self.generation())
    }
}

// SAFETY: 1. a ticket is served to whoever drew it, one at a time; 2. a free one is 0.
unsafe impl RawLock for Ticket {
    type Node = ();

    free!(Ticket { word: AtomicU64::new(0) });

    #[inline(always)]
    fn try_lock(&self) -> bool {
        // Relaxed: the exchange orders.
        let word = Word(self.word.load(Ordering::Relaxed));
        word.is_free() && self.exchange(word, word.with_another_ticket())
    }

    #[inline(always)]
    fn lock(&self, _: &mut ()) -> Waited {
        if self.try_lock() {
            return Waited::No;
        }
        self.queue()
    }

    fn lock_until(&self, _: &mut (), until: Until) -> Option<Waited> {
        if self.try_lock() { Some(Waited::No) } else { poll(self, Some(until)) }
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        loop {
            // Relaxed: the exchange orders.
            let seen = Word(self.word.load(Ordering::Relaxed));
            let alone = seen.next() == seen.with_the_next_served().served();
            let word = if alone { seen } else { seen.here() };
            if word.is_free() || self.exchange(seen, word.with_the_next_served()) {
                return;
            }
        }
    }

    fn is_locked(&self) -> bool {
        // Relaxed: a glance.
        !Word(self.word.load(Ordering::Relaxed)).is_free()
    }
}

impl Ticket {
    #[inline(always)]
    fn exchange(&self, seen: Word, new: Word) -> bool {
        // Acquire: partner of the Release with which the last owner had the next ticket served.
        // Release: partner of the Acquire here, and in `queue`.
        self.word.compare_exchange(seen.0, new.0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn queue(&self) -> Waited {
        let mine = loop {
            // Relaxed: the exchange orders.
            let seen = Word(self.word.load(Ordering::Relaxed));
            let word = seen.here();
            if self.exchange(seen, word.with_another_ticket()) {
                break word.next();
            }
        };
        // Acquire: partner of the Release in `exchange`, by whoever held the ticket before.
        while Word(self.word.load(Ordering::Acquire)).served() != mine {
            hint::spin_loop();
        }
        Waited::Spun
    }
}
