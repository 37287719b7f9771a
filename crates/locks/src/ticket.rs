//! Ticket lock: FIFO, all waiters spin on one word. Experimental: the next waiter must be on a CPU while all others
//! keep their CPUs busy.
//!
//! A wait with a timeout draws no ticket, because the thread could not return it. Such a thread takes the lock out of
//! turn when it sees it free.

use crate::host;
use crate::raw::{free, poll};
use crate::{RawLock, Until, Waited};
use unspin_sync::atomic::{AtomicU64, Ordering};
use unspin_sync::hint;

/// A ticket lock.
#[derive(Debug)]
pub struct Ticket {
    word: AtomicU64,
}

/// The lock word.
///
/// | bits | meaning | changed by |
/// |---|---|---|
/// | 0–21 | the ticket now served; if it equals the next ticket, the lock is free | `unlock` |
/// | 22–43 | the next ticket to draw | a thread that acquires or queues |
/// | 44–63 | low bits of the generation of the last drawn ticket | a thread that queues; `unlock` after a fork |
///
/// Tickets of another generation belong to threads that do not exist after a fork.
///
/// A field can count as many tickets as Linux can have threads (PID_MAX_LIMIT, 2²²).
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

    /// The word as it applies in the calling process: without waiters that do not exist here.
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

// SAFETY: 1. one ticket is served at a time, and only the thread that drew it enters; 2. a free lock is 0.
unsafe impl RawLock for Ticket {
    type Node = ();

    free!(Ticket { word: AtomicU64::new(0) });

    #[inline(always)]
    fn try_lock(&self) -> bool {
        // Relaxed: the compare-exchange provides the ordering.
        let word = Word(self.word.load(Ordering::Relaxed));
        word.is_free() && self.exchange(word, word.with_another_ticket())
    }

    #[inline(always)]
    fn lock(&self, _: &mut ()) -> Waited {
        if self.try_lock() {
            return Waited::No;
        }
        self.wait_in_queue()
    }

    fn lock_until(&self, _: &mut (), until: Until) -> Option<Waited> {
        if self.try_lock() { Some(Waited::No) } else { poll(self, Some(until)) }
    }

    #[inline(always)]
    unsafe fn unlock(&self) {
        loop {
            // Relaxed: the compare-exchange provides the ordering.
            let seen = Word(self.word.load(Ordering::Relaxed));
            let alone = seen.next() == seen.with_the_next_served().served();
            let word = if alone { seen } else { seen.here() };
            if word.is_free() || self.exchange(seen, word.with_the_next_served()) {
                return;
            }
        }
    }

    fn is_locked(&self) -> bool {
        // Relaxed: a snapshot, which orders nothing.
        !Word(self.word.load(Ordering::Relaxed)).is_free()
    }
}

impl Ticket {
    #[inline(always)]
    fn exchange(&self, seen: Word, new: Word) -> bool {
        // Acquire: partner of the Release with which the last owner advanced the served ticket. Release: partner of the
        // Acquire here and in `wait_in_queue`. Relaxed on failure: the caller reads the word again.
        self.word.compare_exchange(seen.0, new.0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn wait_in_queue(&self) -> Waited {
        let mine = loop {
            // Relaxed: the compare-exchange provides the ordering.
            let seen = Word(self.word.load(Ordering::Relaxed));
            let word = seen.here();
            if self.exchange(seen, word.with_another_ticket()) {
                break word.next();
            }
        };
        // Acquire: partner of the Release in `exchange`, by the owner that advanced the served ticket.
        while Word(self.word.load(Ordering::Acquire)).served() != mine {
            hint::spin_loop();
        }
        Waited::Spun
    }
}
