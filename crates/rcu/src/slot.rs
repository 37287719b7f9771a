//! One registered thread: its read-side word and its identity.

use crate::{Domain, PackedIdentity, ParticipantId};
use unspin_sync::atomic::{AtomicU64, Ordering, compiler_fence, fence};
use unspin_sys::process::Identity;

/// Which thread issues the fence between a reader's announcement and its first read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FenceMode {
    /// The writer, by `membarrier(2)`: the reader executes no fence instruction. Only for processes that have
    /// successfully called [`unspin_sys::membarrier::register_global_expedited`] in this image: a registration is
    /// inherited by `fork` and lost by `exec`.
    Expedited,
    /// The reader itself.
    Full,
}

/// The value of a thread's slot before it entered a section: zero at the outermost level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "leave the section with it"]
pub struct SectionToken(u64);

impl SectionToken {
    /// The section with which the outermost level is left.
    #[cfg(not(loom))]
    pub(crate) const OUTERMOST: SectionToken = SectionToken(0);
}

/// A slot of the registry. All zeroes: free.
///
/// The read-side word has its own cache line. The other fields share a second line, which only registration and
/// recovery write. The alignment keeps the read-side words of neighbours two lines apart, because x86 prefetches pairs
/// of lines.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub struct Slot {
    /// 0: quiescent. Otherwise the sequence number that the owner read when it entered its outermost section. Written
    /// by the owner; by a claimer or sweeper while the slot has no owner.
    active: AtomicU64,
    apart: [u64; 7],
    /// A [`State`].
    pub(crate) state: AtomicU64,
    /// How often the slot was claimed. Written by a claimer.
    generation: AtomicU64,
    /// The owner's [`Identity`]; valid while the state is live, marked dead or sweeping. Written by a claimer.
    pid_and_tid: AtomicU64,
    start_time: AtomicU64,
    image: AtomicU64,
    namespace: AtomicU64,
    /// [`Host::ticks`](crate::Host::ticks) of the last check whether the owner is alive. A hint.
    pub(crate) examined: AtomicU64,
    reserved: u64,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Slot>() == 128);

impl Slot {
    /// Enters a read-side critical section: objects found from now on stay valid until [`leave`](Slot::leave).
    /// Wait-free, without a read-modify-write. Sections nest, also in a signal handler that interrupts a section, this
    /// function, or `leave`.
    ///
    /// # Safety
    /// 1. The calling thread has registered this slot in the registry of `domain` under its own identity, has not
    ///    unregistered it, and is not in a child made by `fork` since.
    /// 2. `fences` is the value that it registered with.
    #[inline(always)]
    pub unsafe fn enter(&self, domain: &Domain, fences: FenceMode) -> SectionToken {
        // Relaxed: only this thread writes the word while it owns the slot.
        let before = self.active.load(Ordering::Relaxed);
        if before == 0 {
            self.begin(domain, fences);
        }
        SectionToken(before)
    }

    /// [`enter`](Slot::enter) with [`FenceMode::Expedited`], for a thread that is in no section. Returns `false` if it
    /// is in one.
    ///
    /// # Safety
    /// As for `enter`. The section is left with [`leave_outermost`](Slot::leave_outermost).
    #[inline(always)]
    pub unsafe fn try_enter_outermost(&self, domain: &Domain) -> bool {
        // Relaxed: as in `enter`.
        if self.active.load(Ordering::Relaxed) != 0 {
            return false;
        }
        self.begin(domain, FenceMode::Expedited);
        true
    }

    #[inline(always)]
    fn begin(&self, domain: &Domain, fences: FenceMode) {
        // Acquire: partner is the increment in `Rcu::start_poll`. A reader that reads a cookie's number here sees
        // everything that was unlinked before that cookie was drawn.
        let now = domain.sequence.load(Ordering::Acquire);
        // Release: partner is the load in `Rcu::advance`. A scan that sees this section sees that the section before it
        // is over, with all its reads.
        self.active.store(now, Ordering::Release);
        // Between the store and the section's reads: see `Rcu::advance` for both interleavings.
        match fences {
            FenceMode::Expedited => compiler_fence(Ordering::SeqCst),
            FenceMode::Full => fence(Ordering::SeqCst),
        }
    }

    /// Leaves an outermost section.
    ///
    /// # Safety
    /// As for [`leave`](Slot::leave), after [`try_enter_outermost`](Slot::try_enter_outermost) returned `true`.
    #[inline(always)]
    pub unsafe fn leave_outermost(&self) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.leave(SectionToken(0)) };
    }

    /// Leaves the section for which [`enter`](Slot::enter) returned `section`. Sections are left in reverse order of
    /// entering.
    ///
    /// # Safety
    /// As for `enter`; and nothing found within the section is used afterwards.
    #[inline(always)]
    pub unsafe fn leave(&self, section: SectionToken) {
        // Release: partner is the load in `Rcu::advance`: a scan that sees the slot quiescent sees that all reads of
        // the section are done.
        self.active.store(section.0, Ordering::Release);
    }

    /// The read-side word, for a scan.
    #[inline]
    pub(crate) fn active(&self) -> u64 {
        // Acquire: partners are the stores in `enter` and `leave`.
        self.active.load(Ordering::Acquire)
    }

    /// Whether the owner is inside a section.
    pub fn is_active(&self) -> bool {
        self.active() != 0
    }

    /// As [`is_active`](Slot::is_active), but robust against overwritten memory: a number with which no section of the
    /// domain can have begun does not count.
    pub fn is_reading(&self, domain: &Domain) -> bool {
        // Relaxed: the number only grows, and the owner has read the one that it began with.
        (1..=domain.sequence.load(Ordering::Relaxed)).contains(&self.active())
    }

    pub(crate) fn state(&self) -> State {
        // Acquire: partner is the Release of the thread that set the state, so that the identity read later belongs to
        // it.
        State::decode(self.state.load(Ordering::Acquire))
    }

    /// Changes the state if it still is `from`. Returns whether it did.
    pub(crate) fn change_state(&self, from: State, to: State) -> bool {
        // Release: a thread that acts on `to` sees what was done under `from` (identity written, sections over, locks
        // released). Acquire: this thread sees what was done before `from` was set. Relaxed on failure: nothing is
        // used.
        self.state.compare_exchange(from.encode(), to.encode(), Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Writes a new owner's identity and draws its generation; the caller holds the slot in `Claiming`.
    pub(crate) fn write_identity(&self, index: usize, identity: &Identity) -> ParticipantId {
        // Release, as a fence: a thread that reads one of the stores below and then fences too (`identity`) sees that
        // the state has changed since.
        fence(Ordering::Release);
        // Relaxed: the claim makes us the only writer of all these words; the Release in `shift` publishes them.
        let generation = self.generation.load(Ordering::Relaxed) + 1;
        self.generation.store(generation, Ordering::Relaxed);
        self.pid_and_tid.store(u64::from(identity.pid) << 32 | u64::from(identity.tid), Ordering::Relaxed);
        self.start_time.store(identity.start_time, Ordering::Relaxed);
        self.image.store(identity.image, Ordering::Relaxed);
        self.namespace.store(identity.namespace, Ordering::Relaxed);
        self.examined.store(0, Ordering::Relaxed);
        self.active.store(0, Ordering::Relaxed);
        ParticipantId::new(index, generation)
    }

    /// The identity that belongs to `state`; `None` if the state has changed meanwhile.
    pub(crate) fn identity(&self, state: State) -> Option<Identity> {
        let identity = self.stored_identity();
        // Acquire: partner is the fence in `write_identity` of a later owner: if one of the loads above had read a value of
        // that owner, the load below would find the state changed.
        fence(Ordering::Acquire);
        // Relaxed: ordered by the fence.
        (self.state.load(Ordering::Relaxed) == state.encode()).then_some(identity)
    }

    /// The words of the identity, which may be of several owners.
    pub(crate) fn stored_identity(&self) -> Identity {
        // Relaxed: the Acquire in `state()` ordered these loads after the owner's `write_identity`; whether they belong
        // together is for the caller to find out.
        let pid_and_tid = self.pid_and_tid.load(Ordering::Relaxed);
        Identity {
            pid: (pid_and_tid >> 32) as u32,
            tid: pid_and_tid as u32,
            start_time: self.start_time.load(Ordering::Relaxed),
            image: self.image.load(Ordering::Relaxed),
            namespace: self.namespace.load(Ordering::Relaxed),
        }
    }

    /// The participant that has the slot, or had it last; stable while the caller holds the slot in `Sweeping`.
    pub(crate) fn occupant(&self, index: usize) -> ParticipantId {
        // Relaxed: the Acquire with which the caller took the slot ordered this load after the owner's `write_identity`.
        ParticipantId::new(index, self.generation.load(Ordering::Relaxed))
    }

    /// Makes the slot quiescent on behalf of a dead owner; the caller holds it in `Sweeping`.
    pub(crate) fn clear_section(&self) {
        // Relaxed: the Release that ends the sweep publishes it; until then the state makes scans skip the slot.
        self.active.store(0, Ordering::Relaxed);
    }
}

/// The state word: tag in bits 0..3, payload in bits 3..64. `MarkedDead` means marked dead, not yet swept.
///
/// | tag | payload | set by | left by | if the setter dies here |
/// |---|---|---|---|---|
/// | 0 Free | 0 | owner (unregister), sweeper, finder of a dead claimer | claimer | no effect: the slot has no owner |
/// | 1 Claiming | [`PackedIdentity`] | claimer | claimer, to Live | a sweep finds the claimer dead: Free |
/// | 2, 3 Live | generation | claimer | owner, to Free; a thread that proved it dead, to MarkedDead | that proof |
/// | 4 MarkedDead | generation | finder of a dead owner; sweeper that must return | sweeper | the next sweep takes it |
/// | 5 Sweeping | [`PackedIdentity`] | sweeper | sweeper, to Free or MarkedDead | another sweeper takes over |
///
/// A thread reads under its slot only while the slot is Live. So a scan for readers need not wait for a slot in any
/// other state, whatever its read-side word says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Free,
    Claiming(PackedIdentity),
    Live(u64, FenceMode),
    MarkedDead(u64),
    Sweeping(PackedIdentity),
}

impl State {
    fn encode(self) -> u64 {
        let (tag, payload) = match self {
            State::Free => (0, 0),
            State::Claiming(claim) => (1, claim.word()),
            State::Live(generation, FenceMode::Full) => (2, generation),
            State::Live(generation, FenceMode::Expedited) => (3, generation),
            State::MarkedDead(generation) => (4, generation),
            State::Sweeping(claim) => (5, claim.word()),
        };
        payload << 3 | tag
    }

    fn decode(word: u64) -> State {
        let payload = word >> 3;
        match word & 7 {
            1 => State::Claiming(PackedIdentity::from_word(payload)),
            2 => State::Live(payload, FenceMode::Full),
            3 => State::Live(payload, FenceMode::Expedited),
            4 => State::MarkedDead(payload),
            5 => State::Sweeping(PackedIdentity::from_word(payload)),
            // 6 and 7 are never written. A slot in such a state stays unused, because the claiming CAS from 0 fails.
            _ => State::Free,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_survive_encoding_and_zero_is_free() {
        let claim =
            PackedIdentity::of(&Identity { pid: 1, tid: 2, start_time: 3, image: 4096, namespace: 5 });
        let all = [
            State::Free,
            State::Claiming(claim),
            State::Live(9, FenceMode::Full),
            State::Live(9, FenceMode::Expedited),
            State::MarkedDead((1 << 45) - 1),
            State::Sweeping(claim),
        ];
        for state in all {
            assert_eq!(State::decode(state.encode()), state);
        }
        assert_eq!(State::Free.encode(), 0);
    }
}
