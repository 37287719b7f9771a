//! The participants: threads claim slots and return them; the slots of dead threads are taken back.
//!
//! The registry is also of use without read-copy-update: a [`Participant`] identifies the owner of a lock or a place in
//! a queue, and [`Registry::sweep`] passes every dead participant to a function that can release what it held.
//!
//! No step needs another thread to finish one. Each step is a single compare-and-swap of the slot's state word, and the
//! word identifies the thread whose death has to be checked (see the table at `State` in `slot.rs`).

use crate::slot::{Fences, Slot, State};
use crate::{Claim, Host, Linux, Participant};
use core::fmt;
use unspin_sync::atomic::{AtomicU64, Ordering, fence};
use unspin_sys::process::{Identity, Life};

/// [`Host::ticks`] between two checks of the life of a thread that holds up another: about a third of a millisecond on
/// today's time-stamp counters. One check costs 5 µs.
pub const EXAMINE_EVERY: u64 = 1 << 20;

/// Error: no slot is free, and no owner of one is dead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("every slot belongs to a living thread: make the registry larger")
    }
}

impl core::error::Error for Full {}

/// Result of releasing what a dead participant held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swept {
    /// All released: the slot may go to another thread.
    Done,
    /// Not yet: the slot stays with the dead participant, and a later sweep tries again.
    Keep,
}

/// Which slots a sweep examines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Those already known or suspected to belong to dead threads: cheap, and not needed while [`Registry::pending`] is
    /// false.
    Condemned,
    /// All: checks the life of every registered thread, some 5 µs each.
    All,
}

/// The registry's words apart from the slots. All zeroes: an empty registry.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Roster {
    /// Highest index ever used, plus one.
    high: AtomicU64,
    /// How many slots were marked dead so far.
    condemned: AtomicU64,
    /// The value of `condemned` when the last sweep began that finished all its slots.
    swept: AtomicU64,
}

/// A handle on the registry in shared memory.
#[derive(Debug, Clone, Copy)]
pub struct Registry<'a, H = Linux> {
    roster: &'a Roster,
    slots: &'a [Slot],
    host: H,
}

impl<'a> Registry<'a> {
    /// The registry of `roster` and `slots`, of which at most [`Participant::SLOTS`] are used.
    pub fn new(roster: &'a Roster, slots: &'a [Slot]) -> Self {
        Self::with_host(roster, slots, Linux)
    }
}

impl<'a, H: Host> Registry<'a, H> {
    /// [`new`](Registry::new) with another [`Host`].
    pub fn with_host(roster: &'a Roster, slots: &'a [Slot], host: H) -> Self {
        Registry { roster, slots: &slots[..slots.len().min(Participant::SLOTS)], host }
    }

    /// Claims a slot for the calling thread, whose identity is `who`. Costs one pass over the slots.
    ///
    /// If none is free, dead participants are swept as by [`sweep`](Registry::sweep), which calls `on_dead`. If `who`
    /// is the new image of a thread that registered before it called `exec`, the slot of the old image is marked dead.
    ///
    /// A thread that is killed in this function leaves at most one slot behind, which the next sweep of all slots
    /// frees.
    pub fn register(
        &self,
        who: &Identity,
        fences: Fences,
        on_dead: &mut dyn FnMut(Participant, &Identity) -> Swept,
    ) -> Result<Participant, Full> {
        self.condemn_former_image(who);
        if let Some(participant) = self.claim(who, fences) {
            return Ok(participant);
        }
        self.sweep(who, Extent::All, on_dead);
        self.claim(who, fences).ok_or(Full)
    }

    /// Returns a slot.
    ///
    /// # Safety
    /// `participant` was registered by the calling thread and not unregistered. It is in no read-side section, and
    /// nothing is recorded as held by it.
    pub unsafe fn unregister(&self, participant: Participant) {
        let slot = &self.slots[participant.index()];
        let state = slot.state();
        if matches!(state, State::Live(generation, _) if generation == participant.generation()) {
            slot.shift(state, State::Free);
        }
    }

    /// Finds the slots of dead participants, calls `on_dead` to release what each held, and frees the slots. Returns
    /// how many were freed. `who` must be the identity of the calling thread.
    ///
    /// `on_dead` gets the dead participant and its identity; meanwhile the slot belongs exclusively to the caller. A
    /// sweeper may be killed within `on_dead`. Then another sweeper calls its own `on_dead` for the same participant,
    /// so a release must be repeatable from any point. `on_dead` must not panic.
    pub fn sweep(
        &self,
        who: &Identity,
        extent: Extent,
        on_dead: &mut dyn FnMut(Participant, &Identity) -> Swept,
    ) -> usize {
        // Acquire: partner is the increment in `condemn`: the pass below sees the condemned state.
        let condemned = self.roster.condemned.load(Ordering::Acquire);
        let me = Claim::of(who);
        let (mut freed, mut left) = (0, 0);
        for (index, slot) in self.used().iter().enumerate() {
            match self.sweep_slot(index, slot, me, extent, on_dead) {
                Some(Swept::Done) => freed += 1,
                Some(Swept::Keep) => left += 1,
                None => {}
            }
        }
        if left == 0 {
            // Relaxed: only a hint. It moves only after a complete pass, so a sweeper that is killed before leaves it
            // as it was.
            self.roster.swept.fetch_max(condemned, Ordering::Relaxed);
        }
        freed
    }

    /// Whether a sweep of [`Extent::Condemned`] is likely to find something. Two loads.
    #[inline]
    pub fn pending(&self) -> bool {
        // Relaxed: only a hint; the sweep synchronises by itself.
        self.roster.condemned.load(Ordering::Relaxed) > self.roster.swept.load(Ordering::Relaxed)
    }

    /// Whether `participant` can still execute. Marks its slot dead if it cannot. A participant that has unregistered
    /// counts as dead, even if its thread lives.
    ///
    /// The caller must have read the participant's word by an `Acquire` load, after it was written by a `Release`
    /// store. Only then is its registration visible; otherwise the slot may appear in a state from before the
    /// registration and look dead.
    ///
    /// Costs some 5 µs; see [`life_lately`](Registry::life_lately) for loops.
    pub fn life(&self, participant: Participant) -> Life {
        self.life_of(participant, |slot, state| self.condemn_if_dead(slot, state))
    }

    /// [`life`](Registry::life), but asks the operating system at most once per [`EXAMINE_EVERY`] ticks and
    /// participant; reports alive in between.
    pub fn life_lately(&self, participant: Participant) -> Life {
        self.life_of(participant, |slot, state| self.examine(slot, state))
    }

    fn life_of(&self, participant: Participant, ask: impl Fn(&Slot, State) -> Life) -> Life {
        let Some(slot) = self.slots.get(participant.index()) else { return Life::Dead };
        match slot.state() {
            state @ State::Live(generation, _) if generation == participant.generation() => ask(slot, state),
            _ => Life::Dead,
        }
    }

    /// The live participant that has slot `index`.
    pub fn participant(&self, index: usize) -> Option<Participant> {
        match self.slots.get(index)?.state() {
            State::Live(generation, _) => Some(Participant::new(index, generation)),
            _ => None,
        }
    }

    /// The identity of `participant` while its slot belongs to it: it lives, or no sweep has taken the slot yet.
    pub fn identity(&self, participant: Participant) -> Option<Identity> {
        let slot = self.slots.get(participant.index())?;
        let state = slot.state();
        match state {
            State::Live(generation, _) | State::Condemned(generation)
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
    pub fn high(&self) -> usize {
        self.used().len()
    }

    /// The slots that were ever used.
    pub(crate) fn used(&self) -> &'a [Slot] {
        // Acquire: partner is the increase in `claim`. Callers that must not miss a reader issue a fence before.
        let high = self.roster.high.load(Ordering::Acquire) as usize;
        &self.slots[..high.min(self.slots.len())]
    }

    pub(crate) fn host(&self) -> &H {
        &self.host
    }

    fn claim(&self, who: &Identity, fences: Fences) -> Option<Participant> {
        let mine = State::Claiming(Claim::of(who));
        for (index, slot) in self.slots.iter().enumerate() {
            if !self.take(index, slot, mine) {
                continue;
            }
            let participant = slot.fill(index, who);
            if !slot.shift(mine, State::Live(participant.generation(), fences)) {
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
        // `used`.
        self.roster.high.fetch_max(index as u64 + 1, Ordering::Release);
        slot.shift(State::Free, mine)
    }

    /// Marks the slots dead that the image before an `exec` has left: same pid and tid, but dead.
    fn condemn_former_image(&self, who: &Identity) {
        for slot in self.used() {
            let state = slot.state();
            if !matches!(state, State::Live(..)) {
                continue;
            }
            if slot.identity(state).is_some_and(|it| (it.pid, it.tid) == (who.pid, who.tid) && it != *who) {
                self.condemn_if_dead(slot, state);
            }
        }
    }

    /// Marks the slots dead that an earlier image has left under exactly the identity of the calling thread, which is
    /// `who`. Where the stack position is not random, `exec` can leave all parts of an identity unchanged. `own` tells
    /// which participants belong to this image.
    pub fn condemn_namesakes(&self, who: &Identity, own: &dyn Fn(Participant) -> bool) {
        // If one of these is unknown, the identity may also be another thread's.
        if who.start_time == 0 || who.namespace == 0 {
            return;
        }
        for (index, slot) in self.used().iter().enumerate() {
            let state = slot.state();
            let State::Live(generation, _) = state else { continue };
            if slot.identity(state) == Some(*who) && !own(Participant::new(index, generation)) {
                self.condemn(slot, state, generation);
            }
        }
    }

    /// [`condemn_if_dead`](Registry::condemn_if_dead), at most once per [`EXAMINE_EVERY`] ticks and slot.
    pub(crate) fn examine(&self, slot: &Slot, state: State) -> Life {
        let now = self.host.ticks();
        // Relaxed: only a hint; two threads that both check do no harm.
        if now.wrapping_sub(slot.examined.load(Ordering::Relaxed)) < EXAMINE_EVERY {
            return Life::Alive;
        }
        // Relaxed: as above.
        slot.examined.store(now, Ordering::Relaxed);
        self.condemn_if_dead(slot, state)
    }

    /// Checks the owner of `slot`, which was seen in `state` (live), and marks the slot if the owner is dead. Also
    /// returns `Dead` if the state has changed meanwhile: the owner of that state has the slot no more.
    fn condemn_if_dead(&self, slot: &Slot, state: State) -> Life {
        let State::Live(generation, _) = state else { return Life::Dead };
        let Some(who) = slot.identity(state) else { return Life::Dead };
        if self.host.life(&who) == Life::Alive {
            return Life::Alive;
        }
        self.condemn(slot, state, generation);
        Life::Dead
    }

    fn condemn(&self, slot: &Slot, state: State, generation: u64) {
        // A generation is never live twice: if the word is unchanged, so is the owner.
        if slot.shift(state, State::Condemned(generation)) {
            // Release: partner is the load in `sweep`.
            self.roster.condemned.fetch_add(1, Ordering::Release);
        }
    }

    fn sweep_slot(
        &self,
        index: usize,
        slot: &Slot,
        me: Claim,
        extent: Extent,
        on_dead: &mut dyn FnMut(Participant, &Identity) -> Swept,
    ) -> Option<Swept> {
        let mut state = slot.state();
        if let (State::Live(generation, _), Extent::All) = (state, extent)
            && self.condemn_if_dead(slot, state) == Life::Dead
        {
            state = State::Condemned(generation);
        }
        let mine = State::Sweeping(me);
        let taken = match state {
            State::Free | State::Live(..) => false,
            State::Condemned(_) => slot.shift(state, mine),
            State::Sweeping(other) => self.host.claim_life(other) == Life::Dead && slot.shift(state, mine),
            State::Claiming(other) => {
                // No other thread knew of the claim yet: there is nothing to release.
                let dead = self.host.claim_life(other) == Life::Dead && slot.shift(state, State::Free);
                return dead.then_some(Swept::Done);
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
    on_dead: &mut dyn FnMut(Participant, &Identity) -> Swept,
) -> Swept {
    slot.silence();
    let participant = slot.occupant(index);
    let outcome = match slot.identity(mine) {
        Some(who) => on_dead(participant, &who),
        None => return Swept::Keep, // Taken over by a thread of another pid namespace that considers us dead.
    };
    let next = match outcome {
        Swept::Done => State::Free,
        Swept::Keep => State::Condemned(participant.generation()),
    };
    slot.shift(mine, next);
    outcome
}
