//! Grace periods.

use crate::host::{Fenced, Rest};
use crate::registry::{Registry, Roster};
use crate::slot::{Fences, Slot, State};
use crate::{Host, Linux};
use core::fmt;
use core::time::Duration;
use unspin_sync::atomic::{AtomicU64, Ordering, fence};
use unspin_sync::hint;
use unspin_sys::process::Life;

/// The state of one RCU domain besides its slots. All zeroes: a new domain.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Domain {
    /// The number that sections begin with. Starts at 1, because 0 in a slot means quiescent. Read by every
    /// reader, so it has a cache line of its own.
    pub(crate) sequence: AtomicU64,
    apart: [u64; 15],
    /// Every cookie up to this one is over.
    completed: AtomicU64,
    roster: Roster,
    grace_periods: AtomicU64,
    ticks_waited: AtomicU64,
    reserved: [u64; 10],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Domain>() == 256);

/// A grace period to come: it is over once every section that may have begun before
/// [`Rcu::start_poll`] has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cookie(u64);

impl Cookie {
    /// The number behind it, to be kept in shared memory; never 0. Later cookies have greater numbers.
    pub fn word(self) -> u64 {
        self.0
    }

    /// The inverse of [`word`](Cookie::word). A number that no cookie had is one that is never over, or
    /// over already.
    pub fn from_word(word: u64) -> Cookie {
        Cookie(word)
    }
}

/// `membarrier(2)` is refused to this process, while a registered reader relies on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "membarrier(2) is refused to this process, but readers rely on it: allow it, or register them with Fences::Full",
        )
    }
}

impl core::error::Error for Refused {}

/// What a domain has been through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Times that a scan brought the completed sequence number forward.
    pub grace_periods: u64,
    /// [`Host::ticks`] spent in [`Rcu::synchronize`] by all threads.
    pub ticks_waited: u64,
}

/// What one scan came to.
enum Scan {
    /// Nobody stands in the way.
    Clear,
    /// This slot's section began too early, with this number.
    HeldUp(usize, u64),
    /// Readers could not be fenced.
    Refused,
}

/// A handle on a domain and its slots in shared memory.
#[derive(Debug, Clone, Copy)]
pub struct Rcu<'a, H = Linux> {
    domain: &'a Domain,
    registry: Registry<'a, H>,
}

impl<'a> Rcu<'a> {
    /// The domain in `domain` and `slots`, which all users must pair alike; made ready if it is new.
    pub fn new(domain: &'a Domain, slots: &'a [Slot]) -> Self {
        Self::with_host(domain, slots, Linux)
    }
}

impl<'a, H: Host> Rcu<'a, H> {
    /// [`new`](Rcu::new) over another operating system.
    pub fn with_host(domain: &'a Domain, slots: &'a [Slot], host: H) -> Self {
        // Relaxed: the number guards nothing, and whoever comes second finds it nonzero. Looked at first,
        // because even a failed exchange takes the line away from the readers.
        if domain.sequence.load(Ordering::Relaxed) == 0 {
            let _ = domain.sequence.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
        }
        Rcu { domain, registry: Registry::with_host(&domain.roster, slots, host) }
    }

    /// The registry that the readers are in.
    pub fn registry(&self) -> Registry<'a, H> {
        self.registry
    }

    /// The domain.
    pub fn domain(&self) -> &'a Domain {
        self.domain
    }

    /// Draws a number for what the caller has just made unreachable. When [`poll`](Rcu::poll) says it is
    /// over, no reader can hold it any more.
    pub fn start_poll(&self) -> Cookie {
        // Release: partner is the load in `Slot::enter`: a section that begins with this number or a later
        // one (later increments continue the release sequence) sees what the caller made unreachable.
        // Acquire: whoever orders himself after this cookie is ordered after the earlier ones too.
        Cookie(self.domain.sequence.fetch_add(1, Ordering::AcqRel).wrapping_add(1))
    }

    /// Whether the grace period is known to be over. One load; looks at no reader.
    #[inline]
    pub fn is_over(&self, cookie: Cookie) -> bool {
        // Acquire: partner is the increase in `advance`: readers' last accesses come before what the caller
        // does next.
        self.domain.completed.load(Ordering::Acquire) >= cookie.0
    }

    /// Whether the grace period is over, after looking at every reader if need be. Never waits.
    ///
    /// Costs a `membarrier(2)` and a cache miss per slot in use, unless it is known to be over. A reader
    /// that holds it up is asked for at times, and condemned when found dead; what it held is left to
    /// [`Registry::sweep`]. Says no for as long as `membarrier` is refused and readers rely on it.
    pub fn poll(&self, cookie: Cookie) -> bool {
        self.is_over(cookie) || {
            self.advance(cookie);
            self.is_over(cookie)
        }
    }

    /// Waits until every section that began before the call has ended. Within a section of the calling
    /// thread it would wait for itself, for ever.
    ///
    /// # Errors
    /// [`Refused`] if it cannot find out.
    pub fn synchronize(&self) -> Result<(), Refused> {
        let cookie = self.start_poll();
        let since = self.registry.host().ticks();
        let mut round = 0;
        while !self.is_over(cookie) {
            match self.advance(cookie) {
                Scan::Clear => {}
                Scan::HeldUp(index, active) => self.wait_for(index, active, round),
                Scan::Refused => return Err(Refused),
            }
            round += 1;
        }
        let waited = self.registry.host().ticks().wrapping_sub(since);
        // Relaxed: a count.
        self.domain.ticks_waited.fetch_add(waited, Ordering::Relaxed);
        Ok(())
    }

    /// What the domain has been through so far.
    pub fn counts(&self) -> Counts {
        // Relaxed: counts.
        Counts {
            grace_periods: self.domain.grace_periods.load(Ordering::Relaxed),
            ticks_waited: self.domain.ticks_waited.load(Ordering::Relaxed),
        }
    }

    /// Looks at every reader and moves `completed` as far as they allow.
    ///
    /// Why that is right, for a reader R that loads `sequence`, stores it in its slot, fences, and reads; and
    /// a writer that made X unreachable and drew cookie c, and the scan here, which has read at least c from
    /// `sequence` and so comes after all that, fences, and looks at the slots. (With [`Fences::Expedited`]
    /// the writer's `membarrier` is both fences: it falls somewhere into R's instructions, and R's own order
    /// is kept by the compiler fence.) The two fences have an order:
    ///
    /// - *Writer's first.* What came before it, X's removal among it, is seen by all that R reads after its
    ///   own. R cannot find X; whether the scan sees R's store does not matter.
    /// - *R's first.* Then the scan sees R's store, or a later one to the same word. If it is R's, it holds
    ///   the number v that R loaded. v < c: the scan holds c back. v >= c: R's load acquired the increment
    ///   that drew c, so R sees X's removal and cannot find it. If it is a later one, it released R's reads:
    ///   they are over, and before whatever is done after this scan.
    ///
    /// A slot may be unregistered, or be new: `Registry::claim` fences in the same way between making the slot
    /// live and the first section, so the scan sees it live, or its sections all see X's removal.
    ///
    /// A slot that is not live is passed over, though its word may be left nonzero by a dead owner. The word
    /// is read before the state: whoever wrote it was dead or gone when the state was read.
    fn advance(&self, wanted: Cookie) -> Scan {
        // Acquire: partner is `start_poll`: all cookies up to this number, whoever drew them, come before the
        // fence below.
        let reach = self.domain.sequence.load(Ordering::Acquire);
        let fenced = self.registry.host().fence_readers();
        fence(Ordering::SeqCst);
        let mut oldest = reach;
        let mut scan = Scan::Clear;
        for (index, slot) in self.registry.used().iter().enumerate() {
            let active = slot.active();
            if fenced == Fenced::HereOnly && matches!(slot.state(), State::Live(_, Fences::Expedited)) {
                return Scan::Refused;
            }
            if active == 0 || active >= oldest || !self.holds_up(slot, active, wanted) {
                continue;
            }
            oldest = active;
            if active < wanted.0 {
                scan = Scan::HeldUp(index, active);
            }
        }
        // A section that began with v holds back the cookies above v. Release: partner is `is_over`.
        // Acquire: an earlier scan's knowledge is part of ours.
        if self.domain.completed.fetch_max(oldest, Ordering::AcqRel) < oldest {
            // Relaxed: a count.
            self.domain.grace_periods.fetch_add(1, Ordering::Relaxed);
        }
        scan
    }

    /// Whether there is a living reader behind the word `active` of `slot`. Its life is asked for only if it
    /// holds up the cookie that is `wanted`.
    fn holds_up(&self, slot: &Slot, active: u64, wanted: Cookie) -> bool {
        let state = slot.state();
        match state {
            State::Live(..) if active >= wanted.0 => true,
            State::Live(..) => self.registry.examine(slot, state) == Life::Alive,
            _ => false,
        }
    }

    /// Waits a little, at most until the section that began with `active` has ended: watching it, then
    /// yielding, then sleeping ever longer. A reader is preempted far more often than it is slow, so yielding
    /// comes early.
    fn wait_for(&self, index: usize, active: u64, round: u32) {
        let slot = &self.registry.slots()[index];
        for _ in 0..WATCHES {
            if slot.active() != active {
                return;
            }
            hint::spin_loop();
        }
        if round < YIELDS {
            self.registry.host().rest(Rest::Yield);
        } else {
            let time = NAP_MIN.saturating_mul(1 << (round - YIELDS).min(16));
            self.registry.host().rest(Rest::Sleep(time.min(NAP_MAX)));
        }
    }
}

/// Looks at a reader before giving up the CPU: a few microseconds, the length of a system call or two.
#[cfg(not(loom))]
const WATCHES: u32 = 64;
/// A model checker tries every length of waiting by itself.
#[cfg(loom)]
const WATCHES: u32 = 1;
/// Rounds that yield before the first that sleeps.
const YIELDS: u32 = 16;
/// First sleep: the order of the kernel's default timer slack, below which asking is in vain.
const NAP_MIN: Duration = Duration::from_micros(50);
/// Longest sleep: bounds what a reader's end or death goes unnoticed.
const NAP_MAX: Duration = Duration::from_millis(2);
