//! The participants: threads claim slots and return them; the slots of dead threads are taken back.
//!
//! The registry is also of use without read-copy-update: a [`ParticipantId`] identifies the owner of a lock or a place
//! in a queue, and [`ParticipantRegistry::sweep`] passes every dead participant to a function that can release what it
//! held.
//!
//! No step needs another thread to finish one. Each step is a single compare-and-swap of the slot's state word, and the
//! word identifies the thread whose death has to be checked (see the table at `State` in `slot.rs`).

use crate::slot::{FenceMode, Slot, State};
use crate::{Host, Linux, PackedIdentity, ParticipantId};
use core::fmt;
use unspin_sync::atomic::{AtomicU64, Ordering, fence};
use unspin_sys::process::{Identity, Liveness};

/// The time between two checks of the life of a thread that holds up another, in nanoseconds. One check costs 5 µs.
pub const EXAMINE_EVERY_NS: u64 = 400_000;

/// Error: no slot is free, and no owner of one is dead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegistryFull;

impl fmt::Display for RegistryFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("every slot belongs to a living thread: make the registry larger")
    }
}

impl core::error::Error for RegistryFull {}

/// Result of releasing what a dead participant held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// All released: the slot may go to another thread.
    Done,
    /// Not yet: the slot stays with the dead participant, and a later sweep tries again.
    Incomplete,
}

/// Which slots a sweep examines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SweepScope {
    /// Those already known or suspected to belong to dead threads: cheap, and not needed while
    /// [`ParticipantRegistry::may_have_dead`] is false.
    MarkedDead,
    /// All: checks the life of every registered thread, some 5 µs each.
    All,
}

/// The registry's words apart from the slots. All zeroes: an empty registry.
#[derive(Debug, Default)]
#[repr(C)]
pub struct RegistryHeader {
    /// Highest index ever used, plus one.
    high: AtomicU64,
    /// How many slots were marked dead so far.
    marked_dead: AtomicU64,
    /// The value of `marked_dead` when the last sweep began that finished all its slots.
    swept: AtomicU64,
}

/// A handle on the registry in shared memory.
#[derive(Debug, Clone, Copy)]
pub struct ParticipantRegistry<'a, H = Linux> {
    roster: &'a RegistryHeader,
    slots: &'a [Slot],
    host: H,
}

impl<'a> ParticipantRegistry<'a> {
    /// The registry of `roster` and `slots`, of which at most [`ParticipantId::SLOTS`] are used.
    pub fn new(roster: &'a RegistryHeader, slots: &'a [Slot]) -> Self {
        Self::with_host(roster, slots, Linux)
    }
}

impl<'a, H: Host> ParticipantRegistry<'a, H> {
    /// [`new`](ParticipantRegistry::new) with another [`Host`].
    pub fn with_host(roster: &'a RegistryHeader, slots: &'a [Slot], host: H) -> Self {
        ParticipantRegistry { roster, slots: &slots[..slots.len().min(ParticipantId::SLOTS)], host }
    }

    /// Claims a slot for the calling thread, which has this identity. Costs one pass over the slots.
    ///
    /// If none is free, dead participants are swept as by [`sweep`](ParticipantRegistry::sweep), which calls `on_dead`.
    /// If `identity` is the new image of a thread that registered before it called `exec`, the slot of the old image is
    /// marked dead.
    ///
    /// A thread that is killed in this function leaves at most one slot behind, which the next sweep of all slots
    /// frees.
    pub fn register(
        &self,
        identity: &Identity,
        fences: FenceMode,
        on_dead: &mut dyn FnMut(ParticipantId, &Identity) -> Recovery,
    ) -> Result<ParticipantId, RegistryFull> {
        self.mark_former_image_dead(identity);
        if let Some(participant) = self.claim(identity, fences) {
            return Ok(participant);
        }
        self.sweep(identity, SweepScope::All, on_dead);
        self.claim(identity, fences).ok_or(RegistryFull)
    }

    /// Returns a slot.
    ///
    /// # Safety
    /// `participant` was registered by the calling thread and not unregistered. It is in no read-side section, and
    /// nothing is recorded as held by it.
    pub unsafe fn unregister(&self, participant: ParticipantId) {
        let slot = &self.slots[participant.index()];
        let state = slot.state();
        if matches!(state, State::Live(generation, _) if generation == participant.generation()) {
            slot.change_state(state, State::Free);
        }
    }

    /// Finds the slots of dead participants, calls `on_dead` to release what each held, and frees the slots. Returns
    /// how many were freed. `identity` must be the identity of the calling thread.
    ///
    /// `on_dead` gets the dead participant and its identity; meanwhile the slot belongs exclusively to the caller. A
    /// sweeper may be killed within `on_dead`. Then another sweeper calls its own `on_dead` for the same participant,
    /// so a release must be repeatable from any point. `on_dead` must not panic.
    pub fn sweep(
        &self,
        identity: &Identity,
        extent: SweepScope,
        on_dead: &mut dyn FnMut(ParticipantId, &Identity) -> Recovery,
    ) -> usize {
        // Acquire: partner is the increment in `mark_dead`: the pass below sees that state.
        let marked_dead = self.roster.marked_dead.load(Ordering::Acquire);
        let me = PackedIdentity::of(identity);
        let (mut freed, mut left) = (0, 0);
        for (index, slot) in self.used_slots().iter().enumerate() {
            match self.sweep_slot(index, slot, me, extent, on_dead) {
                Some(Recovery::Done) => freed += 1,
                Some(Recovery::Incomplete) => left += 1,
                None => {}
            }
        }
        if left == 0 {
            // Relaxed: only a hint. It moves only after a complete pass, so a sweeper that is killed before leaves it
            // as it was.
            self.roster.swept.fetch_max(marked_dead, Ordering::Relaxed);
        }
        freed
    }

    /// Whether a sweep of [`SweepScope::MarkedDead`] is likely to find something. Two loads.
    #[inline]
    pub fn may_have_dead(&self) -> bool {
        // Relaxed: only a hint; the sweep synchronises by itself.
        self.roster.marked_dead.load(Ordering::Relaxed) > self.roster.swept.load(Ordering::Relaxed)
    }

    /// Whether `participant` can still execute. Marks its slot dead if it cannot. A participant that has unregistered
    /// counts as dead, even if its thread lives.
    ///
    /// The caller must have read the participant's word by an `Acquire` load, after it was written by a `Release`
    /// store. Only then is its registration visible; otherwise the slot may appear in a state from before the
    /// registration and look dead.
    ///
    /// Costs some 5 µs; see [`rate_limited_liveness`](ParticipantRegistry::rate_limited_liveness) for loops.
    pub fn liveness(&self, participant: ParticipantId) -> Liveness {
        self.liveness_of(participant, |slot, state| self.mark_if_dead(slot, state))
    }

    /// [`liveness`](ParticipantRegistry::liveness), but asks the system at most once per [`EXAMINE_EVERY_NS`] and
    /// participant; reports alive in between.
    pub fn rate_limited_liveness(&self, participant: ParticipantId) -> Liveness {
        self.liveness_of(participant, |slot, state| self.examine(slot, state))
    }

    fn liveness_of(&self, participant: ParticipantId, ask: impl Fn(&Slot, State) -> Liveness) -> Liveness {
        let Some(slot) = self.slots.get(participant.index()) else { return Liveness::Dead };
        match slot.state() {
            state @ State::Live(generation, _) if generation == participant.generation() => ask(slot, state),
            _ => Liveness::Dead,
        }
    }

    /// The live participant that has slot `index`.
    pub fn participant(&self, index: usize) -> Option<ParticipantId> {
        match self.slots.get(index)?.state() {
            State::Live(generation, _) => Some(ParticipantId::new(index, generation)),
            _ => None,
        }
    }

    /// The identity of `participant` while its slot belongs to it: it lives, or no sweep has taken the slot yet.
    pub fn identity(&self, participant: ParticipantId) -> Option<Identity> {
        let slot = self.slots.get(participant.index())?;
        let state = slot.state();
        match state {
            State::Live(generation, _) | State::MarkedDead(generation)
                if generation == participant.generation() =>
            {
                slot.identity(state)
            }
            _ => None,
        }
    }

    /// All slots, used or not.
    pub fn slots(&self) -> &'a [Slot] {
        self.slots
    }

    /// How many slots were ever used: the indices of all participants are below it.
    pub fn high_water_mark(&self) -> usize {
        self.used_slots().len()
    }

    /// The slots that were ever used.
    pub(crate) fn used_slots(&self) -> &'a [Slot] {
        // Acquire: partner is the increase in `claim`. Callers that must not miss a reader issue a fence before.
        let high = self.roster.high.load(Ordering::Acquire) as usize;
        &self.slots[..high.min(self.slots.len())]
    }

    pub(crate) fn host(&self) -> &H {
        &self.host
    }

    fn claim(&self, identity: &Identity, fences: FenceMode) -> Option<ParticipantId> {
        let mine = State::Claiming(PackedIdentity::of(identity));
        for (index, slot) in self.slots.iter().enumerate() {
            if !self.take(index, slot, mine) {
                continue;
            }
            let participant = slot.write_identity(index, identity);
            if !slot.change_state(mine, State::Live(participant.generation(), fences)) {
                continue; // Taken by a thread of another pid namespace that considers us dead.
            }
            // A scan that fences after this fence finds the slot live. A scan that fenced before has published to all
            // our later sections that what it is about to free is unreachable.
            fence(Ordering::SeqCst);
            return Some(participant);
        }
        None
    }

    /// Claims one slot if it is free. Returns whether it did.
    pub(crate) fn take(&self, index: usize, slot: &Slot, mine: State) -> bool {
        if slot.state() != State::Free {
            return false;
        }
        // Before the claim, so that a sweep finds the slot of a claimer that dies next. Release: partner is the load in
        // `used_slots`.
        self.roster.high.fetch_max(index as u64 + 1, Ordering::Release);
        slot.change_state(State::Free, mine)
    }

    /// Marks the slots dead that the image before an `exec` has left: same pid and tid, but dead.
    fn mark_former_image_dead(&self, identity: &Identity) {
        for slot in self.used_slots() {
            let state = slot.state();
            if !matches!(state, State::Live(..)) {
                continue;
            }
            if slot
                .identity(state)
                .is_some_and(|it| (it.pid, it.tid) == (identity.pid, identity.tid) && it != *identity)
            {
                self.mark_if_dead(slot, state);
            }
        }
    }

    /// Marks the slots dead that an earlier image has left under exactly the identity of the calling thread, which is
    /// `identity`. Where the stack position is not random, `exec` can leave all parts of an identity unchanged. `own`
    /// tells which participants belong to this image.
    pub fn mark_stale_slots_dead(&self, identity: &Identity, own: &dyn Fn(ParticipantId) -> bool) {
        // If one of these is unknown, the identity may also be another thread's.
        if identity.start_time == 0 || identity.namespace == 0 {
            return;
        }
        for (index, slot) in self.used_slots().iter().enumerate() {
            let state = slot.state();
            let State::Live(generation, _) = state else { continue };
            if slot.identity(state) == Some(*identity) && !own(ParticipantId::new(index, generation)) {
                self.mark_dead(slot, state, generation);
            }
        }
    }

    /// [`mark_if_dead`](ParticipantRegistry::mark_if_dead), at most once per [`EXAMINE_EVERY_NS`] and slot.
    pub(crate) fn examine(&self, slot: &Slot, state: State) -> Liveness {
        let (now, pause) = (self.host.ticks(), self.host.ticks_in(EXAMINE_EVERY_NS));
        // Relaxed: only a hint; two threads that both check do no harm.
        if now.wrapping_sub(slot.examined.load(Ordering::Relaxed)) < pause {
            return Liveness::Alive;
        }
        // Relaxed: as above.
        slot.examined.store(now, Ordering::Relaxed);
        self.mark_if_dead(slot, state)
    }

    /// Checks the owner of `slot`, which was seen in `state` (live), and marks the slot if the owner is dead. Also
    /// returns `Dead` if the state has changed meanwhile: the owner of that state has the slot no more.
    fn mark_if_dead(&self, slot: &Slot, state: State) -> Liveness {
        let State::Live(generation, _) = state else { return Liveness::Dead };
        let Some(identity) = slot.identity(state) else { return Liveness::Dead };
        if self.host.liveness(&identity) == Liveness::Alive {
            return Liveness::Alive;
        }
        self.mark_dead(slot, state, generation);
        Liveness::Dead
    }

    fn mark_dead(&self, slot: &Slot, state: State, generation: u64) {
        // A generation is never live twice: if the word is unchanged, so is the owner.
        if slot.change_state(state, State::MarkedDead(generation)) {
            // Release: partner is the load in `sweep`.
            self.roster.marked_dead.fetch_add(1, Ordering::Release);
        }
    }

    fn sweep_slot(
        &self,
        index: usize,
        slot: &Slot,
        me: PackedIdentity,
        extent: SweepScope,
        on_dead: &mut dyn FnMut(ParticipantId, &Identity) -> Recovery,
    ) -> Option<Recovery> {
        let mut state = slot.state();
        if let (State::Live(generation, _), SweepScope::All) = (state, extent)
            && self.mark_if_dead(slot, state) == Liveness::Dead
        {
            state = State::MarkedDead(generation);
        }
        let mine = State::Sweeping(me);
        let taken = match state {
            State::Free | State::Live(..) => false,
            State::MarkedDead(_) => slot.change_state(state, mine),
            State::Sweeping(other) => {
                self.host.claimer_liveness(other) == Liveness::Dead && slot.change_state(state, mine)
            }
            State::Claiming(other) => {
                // No other thread knew of the claim yet: there is nothing to release.
                let dead = self.host.claimer_liveness(other) == Liveness::Dead
                    && slot.change_state(state, State::Free);
                return dead.then_some(Recovery::Done);
            }
        };
        taken.then(|| release(index, slot, mine, on_dead))
    }
}

/// Releases what the dead owner of a slot held; the caller holds the slot in `mine`, a `Sweeping` state.
fn release(
    index: usize,
    slot: &Slot,
    mine: State,
    on_dead: &mut dyn FnMut(ParticipantId, &Identity) -> Recovery,
) -> Recovery {
    slot.clear_section();
    let participant = slot.occupant(index);
    let outcome = match slot.identity(mine) {
        Some(identity) => on_dead(participant, &identity),
        None => return Recovery::Incomplete, // Taken over by a thread of another pid namespace that considers us dead.
    };
    let next = match outcome {
        Recovery::Done => State::Free,
        Recovery::Incomplete => State::MarkedDead(participant.generation()),
    };
    slot.change_state(mine, next);
    outcome
}
