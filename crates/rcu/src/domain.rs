//! Grace periods.

use crate::host::{FenceReach, PauseKind};
use crate::registry::{ParticipantRegistry, RegistryHeader};
use crate::slot::{FenceMode, Slot, State};
use crate::{Host, Linux};
use core::fmt;
use core::time::Duration;
use unspin_sync::atomic::{AtomicU64, Ordering, fence};
use unspin_sync::hint;
use unspin_sys::process::Liveness;

/// The state of one RCU domain, without its slots. All zeroes: a new domain.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Domain {
    /// The number with which the next sections begin. Starts at 1, because 0 in a slot means quiescent. Every reader
    /// reads it, so it has its own cache line.
    pub(crate) sequence: AtomicU64,
    apart: [u64; 15],
    /// Every cookie up to this one is over.
    completed: AtomicU64,
    roster: RegistryHeader,
    grace_periods: AtomicU64,
    ticks_waited: AtomicU64,
    reserved: [u64; 10],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Domain>() == 256);

/// Identifies a grace period. It is over once every section that may have begun before [`Rcu::start_poll`] has ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cookie(u64);

impl Cookie {
    /// The cookie as a number, for storage in shared memory; never 0. Later cookies have greater numbers.
    pub fn word(self) -> u64 {
        self.0
    }

    /// The inverse of [`word`](Cookie::word). A number that no cookie had makes a cookie that is never over, or already
    /// over.
    pub fn from_word(word: u64) -> Cookie {
        Cookie(word)
    }
}

/// Error: `membarrier(2)` is refused to this process, while a registered reader relies on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FenceRefused;

impl fmt::Display for FenceRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "membarrier(2) is refused to this process, but readers rely on it: allow it, or register them with FenceMode::Full",
        )
    }
}

impl core::error::Error for FenceRefused {}

/// Statistics of a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GracePeriodCounts {
    /// How often a scan advanced the completed sequence number.
    pub grace_periods: u64,
    /// [`Host::ticks`] that all threads together spent in [`Rcu::synchronize`].
    pub ticks_waited: u64,
}

/// The result of one scan.
enum ScanResult {
    /// No reader holds up the cookie.
    Clear,
    /// This slot's section began too early, with this number.
    HeldUp(usize, u64),
    /// The readers could not be fenced.
    Refused,
}

/// A handle on a domain and its slots in shared memory.
#[derive(Debug, Clone, Copy)]
pub struct Rcu<'a, H = Linux> {
    domain: &'a Domain,
    registry: ParticipantRegistry<'a, H>,
}

impl<'a> Rcu<'a> {
    /// The domain in `domain` and `slots`, which all users must pair in the same way. Initialises a new domain.
    pub fn new(domain: &'a Domain, slots: &'a [Slot]) -> Self {
        Self::with_host(domain, slots, Linux)
    }
}

impl<'a, H: Host> Rcu<'a, H> {
    /// [`new`](Rcu::new) with another [`Host`].
    pub fn with_host(domain: &'a Domain, slots: &'a [Slot], host: H) -> Self {
        // Relaxed: the number guards no data, and a thread that comes second finds it nonzero. A plain load first,
        // because even a failed exchange takes the cache line away from the readers.
        if domain.sequence.load(Ordering::Relaxed) == 0 {
            let _ = domain.sequence.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
        }
        Rcu { domain, registry: ParticipantRegistry::with_host(&domain.roster, slots, host) }
    }

    /// The registry of the readers.
    pub fn registry(&self) -> ParticipantRegistry<'a, H> {
        self.registry
    }

    /// The domain.
    pub fn domain(&self) -> &'a Domain {
        self.domain
    }

    /// Starts a grace period for what the caller has just made unreachable. Once [`poll`](Rcu::poll) reports that it is
    /// over, no reader can hold it any more.
    pub fn start_poll(&self) -> Cookie {
        // Release: partner is the load in `Slot::enter`: a section that begins with this number or a later one (later
        // increments continue the release sequence) sees what the caller made unreachable. Acquire: a thread that is
        // ordered after this cookie is ordered after the earlier cookies too.
        Cookie(self.domain.sequence.fetch_add(1, Ordering::AcqRel).wrapping_add(1))
    }

    /// Whether the grace period is known to be over. One load; examines no reader.
    #[inline]
    pub fn is_over(&self, cookie: Cookie) -> bool {
        // Acquire: partner is the increase in `advance`: the readers' last accesses come before what the caller does
        // next.
        self.domain.completed.load(Ordering::Acquire) >= cookie.0
    }

    /// Whether the grace period is over. Scans all readers if that is not known yet. Never waits.
    ///
    /// A scan costs a `membarrier(2)` and a cache miss per slot in use. If a reader holds up the grace period, the scan
    /// checks now and then whether it is alive, and marks a dead one's slot as dead; [`ParticipantRegistry::sweep`]
    /// releases what it held. Returns false for as long as `membarrier` is refused and readers rely on it.
    pub fn poll(&self, cookie: Cookie) -> bool {
        self.is_over(cookie) || {
            self.advance(cookie);
            self.is_over(cookie)
        }
    }

    /// Waits until every section that began before the call has ended. The calling thread must not be in a section: it
    /// would wait for itself for ever.
    ///
    /// # Errors
    /// [`FenceRefused`] if the readers cannot be fenced.
    pub fn synchronize(&self) -> Result<(), FenceRefused> {
        let cookie = self.start_poll();
        let since = self.registry.host().ticks();
        let mut round = 0;
        while !self.is_over(cookie) {
            match self.advance(cookie) {
                ScanResult::Clear => {}
                ScanResult::HeldUp(index, active) => self.wait_for(index, active, round),
                ScanResult::Refused => return Err(FenceRefused),
            }
            round += 1;
        }
        let waited = self.registry.host().ticks().wrapping_sub(since);
        // Relaxed: only a statistic.
        self.domain.ticks_waited.fetch_add(waited, Ordering::Relaxed);
        Ok(())
    }

    /// The statistics of the domain.
    pub fn counts(&self) -> GracePeriodCounts {
        // Relaxed: only statistics.
        GracePeriodCounts {
            grace_periods: self.domain.grace_periods.load(Ordering::Relaxed),
            ticks_waited: self.domain.ticks_waited.load(Ordering::Relaxed),
        }
    }

    /// Scans all readers and advances `completed` as far as they allow.
    ///
    /// Correctness. Let reader R load `sequence`, store it in its slot, fence, and read. Let a writer make X
    /// unreachable and then draw cookie c. This scan reads at least c from `sequence`, so it comes after all that; then
    /// it fences and reads the slots. (With [`FenceMode::Expedited`] the writer's `membarrier` is both fences: it takes
    /// effect at some point between R's instructions, and the compiler fence keeps R's own order.) The two fences have
    /// an order:
    ///
    /// - *The writer's fence is first.* R's reads after its own fence see what came before the writer's fence,
    ///   including X's removal. R cannot find X; it does not matter whether the scan sees R's store.
    /// - *R's fence is first.* Then the scan sees R's store, or a later one to the same word. If it sees R's store, it
    ///   sees the number v that R loaded. If v < c, the scan holds c back. If v >= c, R's load acquired the increment
    ///   that drew c, so R sees X's removal and cannot find X. If the scan sees a later store, that store released R's
    ///   reads: they are over, and come before everything that is done after this scan.
    ///
    /// A slot may be unregistered, or be new. `ParticipantRegistry::claim` fences in the same way between making the
    /// slot live and the first section. So the scan sees the slot live, or all its sections see X's removal.
    ///
    /// The scan skips a slot that is not live, although a dead owner may have left its word nonzero. It reads the word
    /// before the state: if the state is not live then, the thread that wrote the word was dead or had unregistered.
    fn advance(&self, wanted: Cookie) -> ScanResult {
        // Acquire: partner is `start_poll`: all cookies up to this number, from whichever thread, come before the fence
        // below.
        let reach = self.domain.sequence.load(Ordering::Acquire);
        let fenced = self.registry.host().fence_readers();
        fence(Ordering::SeqCst);
        let mut oldest = reach;
        let mut scan = ScanResult::Clear;
        for (index, slot) in self.registry.used_slots().iter().enumerate() {
            let active = slot.active();
            if fenced == FenceReach::CallerOnly
                && matches!(slot.state(), State::Live(_, FenceMode::Expedited))
            {
                return ScanResult::Refused;
            }
            if active == 0 || active >= oldest || !self.holds_up(slot, active, wanted) {
                continue;
            }
            oldest = active;
            if active < wanted.0 {
                scan = ScanResult::HeldUp(index, active);
            }
        }
        // A section that began with v holds back the cookies above v. Release: partner is `is_over`. Acquire: includes
        // what an earlier scan has found out.
        if self.domain.completed.fetch_max(oldest, Ordering::AcqRel) < oldest {
            // Relaxed: only a statistic.
            self.domain.grace_periods.fetch_add(1, Ordering::Relaxed);
        }
        scan
    }

    /// Whether a living reader belongs to the word `active` of `slot`. Checks its life only if it holds up the cookie
    /// `wanted`.
    fn holds_up(&self, slot: &Slot, active: u64, wanted: Cookie) -> bool {
        let state = slot.state();
        match state {
            State::Live(..) if active >= wanted.0 => true,
            State::Live(..) => self.registry.examine(slot, state) == Liveness::Alive,
            _ => false,
        }
    }

    /// Waits a little, at most until the section that began with `active` has ended: spins, then yields, then sleeps
    /// for growing times. A reader is preempted far more often than it is slow, so yielding comes early.
    fn wait_for(&self, index: usize, active: u64, round: u32) {
        let slot = &self.registry.slots()[index];
        for _ in 0..WATCHES {
            if slot.active() != active {
                return;
            }
            hint::spin_loop();
        }
        if round < YIELDS {
            self.registry.host().pause(PauseKind::Yield);
        } else {
            let time = NAP_MIN.saturating_mul(1 << (round - YIELDS).min(16));
            self.registry.host().pause(PauseKind::Sleep(time.min(NAP_MAX)));
        }
    }
}

/// Checks of a reader before giving up the CPU: a few microseconds, the length of one or two system calls.
#[cfg(not(loom))]
const WATCHES: u32 = 64;
/// A model checker tries every length of waiting by itself.
#[cfg(loom)]
const WATCHES: u32 = 1;
/// Rounds that yield before the first round that sleeps.
const YIELDS: u32 = 16;
/// First sleep: about the kernel's default timer slack; a shorter request would not sleep shorter.
const NAP_MIN: Duration = Duration::from_micros(50);
/// Longest sleep: bounds how late the end or death of a reader is noticed.
const NAP_MAX: Duration = Duration::from_millis(2);
