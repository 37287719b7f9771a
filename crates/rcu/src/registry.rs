//! Who takes part: slots claimed by threads, given back by them, or taken from the dead.
//!
//! The registry is of use beyond read-copy-update: a [`Participant`] names the owner of a lock or a place in
//! a queue, and [`Registry::sweep`] hands every dead participant to whoever can release what it held.
//!
//! No step needs another thread to finish one: each is a single compare-and-swap of the slot's state word,
//! and the word says whom to ask for in case he died there (the table stands at `State` in `slot.rs`).

use crate::slot::{Fences, Slot, State};
use crate::{Claim, Host, Linux, Participant};
use core::fmt;
use unspin_sync::atomic::{AtomicU64, Ordering, fence};
use unspin_sys::process::{Identity, Life};

/// How many [`Host::ticks`] pass before the life of a thread that holds somebody up is asked for again: about
/// a third of a millisecond on today's time-stamp counters, against 5 us that asking costs.
pub const EXAMINE_EVERY: u64 = 1 << 20;

/// No slot is free, and no owner of one is dead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("every slot belongs to a living thread: make the registry larger")
    }
}

impl core::error::Error for Full {}

/// What became of a dead participant's belongings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swept {
    /// All released: the slot may go to another thread.
    Done,
    /// Not yet: the slot stays with the dead, and a later sweep asks again.
    Keep,
}

/// Which slots a sweep looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Those already known or suspected to be left behind: cheap, and free of cost while
    /// [`Registry::pending`] says no.
    Condemned,
    /// All: asks for the life of every registered thread, some 5 us each.
    All,
}

/// The registry's words apart from the slots. All zeroes: an empty registry.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Roster {
    /// Highest index ever used, plus one.
    high: AtomicU64,
    /// Condemnations so far.
    condemned: AtomicU64,
    /// What `condemned` was when the last sweep began that left nothing behind.
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
    /// [`new`](Registry::new) over another operating system.
    pub fn with_host(roster: &'a Roster, slots: &'a [Slot], host: H) -> Self {
        Registry { roster, slots: &slots[..slots.len().min(Participant::SLOTS)], host }
    }

    /// Gives the calling thread, which `who` must name, a slot. Costs one pass over the slots in use.
    ///
    /// When none is free the dead are swept as by [`sweep`](Registry::sweep), which calls `on_dead`. If `who`
    /// is a new image of a thread that registered before it called `exec`, that slot is condemned.
    ///
    /// Killed anywhere in here, the thread leaves at most a slot that the next sweep of all slots frees.
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

    /// Gives a slot back.
    ///
    /// # Safety
    /// `participant` was registered by the calling thread and not unregistered; it is in no read-side section
    /// and holds nothing that is known by its name.
    pub unsafe fn unregister(&self, participant: Participant) {
        let slot = &self.slots[participant.index()];
        let state = slot.state();
        if matches!(state, State::Live(generation, _) if generation == participant.generation()) {
            slot.shift(state, State::Free);
        }
    }

    /// Finds the slots of the dead, has what they held released by `on_dead`, and frees them. Returns how many
    /// were freed. `who` must name the calling thread.
    ///
    /// `on_dead` gets the dead participant and who it was; the slot is exclusively the caller's meanwhile.
    /// A sweeper may be killed within `on_dead`: then another one's is called for the same participant, so
    /// releasing must bear being repeated from any point on. It must not panic.
    pub fn sweep(
        &self,
        who: &Identity,
        extent: Extent,
        on_dead: &mut dyn FnMut(Participant, &Identity) -> Swept,
    ) -> usize {
        // Acquire: partner is the increment in `condemn`: the condemned state is seen by the pass below.
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
            // Relaxed: only a hint. It moves only after a whole pass, so a sweeper killed before leaves it behind.
            self.roster.swept.fetch_max(condemned, Ordering::Relaxed);
        }
        freed
    }

    /// Whether a sweep of [`Extent::Condemned`] is likely to find something. Two loads.
    #[inline]
    pub fn pending(&self) -> bool {
        // Relaxed: a hint; the sweep synchronises by itself.
        self.roster.condemned.load(Ordering::Relaxed) > self.roster.swept.load(Ordering::Relaxed)
    }

    /// Whether `participant` can still execute. If it is found dead its slot is condemned on the way.
    /// A participant that unregistered is dead by this measure, whatever became of its thread.
    ///
    /// Its word must have been read by an `Acquire` load, from where it was left by a `Release` store: only
    /// then is its registration seen too, and not a slot before its time, which would look like one after it.
    ///
    /// Costs some 5 us; see [`life_lately`](Registry::life_lately) for loops.
    pub fn life(&self, participant: Participant) -> Life {
        self.life_of(participant, |slot, state| self.condemn_if_dead(slot, state))
    }

    /// [`life`](Registry::life), asked of the operating system at most once per [`EXAMINE_EVERY`] ticks and
    /// participant: alive in between.
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

    /// Who `participant` is, as long as its slot is its own: it lives, or nobody has swept it yet.
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

    /// The slots, used or not.
    pub fn slots(&self) -> &'a [Slot] {
        self.slots
    }

    /// How many slots were ever used: all participants' indices are below it.
    pub fn high(&self) -> usize {
        self.used().len()
    }

    /// The slots that were ever used.
    pub(crate) fn used(&self) -> &'a [Slot] {
        // Acquire: partner is the increase in `claim`. Callers that must not miss a reader fence before.
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
                continue; // Taken from us by somebody who thought us dead: a namesake in another namespace.
            }
            // A scan that fences after this finds the slot live, and one that fenced before has published,
            // to all our sections to come, whatever it is about to free.
            fence(Ordering::SeqCst);
            return Some(participant);
        }
        None
    }

    /// Claims one slot, if it is free.
    pub(crate) fn take(&self, index: usize, slot: &Slot, mine: State) -> bool {
        if slot.state() != State::Free {
            return false;
        }
        // Before the claim, so that a sweep finds the slot of a claimer who dies next. Release: partner is the
        // load in `used`.
        self.roster.high.fetch_max(index as u64 + 1, Ordering::Release);
        slot.shift(State::Free, mine)
    }

    /// `exec` left a slot to the image before: same pid, same tid, and yet dead.
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

    /// Condemns the slots that an image before has left under the very name of the calling thread, which `who` is: where the
    /// stack is not placed at random, `exec` can leave all of a name as it was. `own` says which are this image's.
    pub fn condemn_namesakes(&self, who: &Identity, own: &dyn Fn(Participant) -> bool) {
        // Without these two it may be another thread's name as well.
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
        // Relaxed: a hint; two threads that both ask do no harm.
        if now.wrapping_sub(slot.examined.load(Ordering::Relaxed)) < EXAMINE_EVERY {
            return Life::Alive;
        }
        // Relaxed: as above.
        slot.examined.store(now, Ordering::Relaxed);
        self.condemn_if_dead(slot, state)
    }

    /// Asks for the owner of `slot`, seen in `state` (live). Dead as well if the state moved on meanwhile:
    /// whoever owned the slot in that state does so no more.
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
        // A generation is never live twice: if the word still is what it was, so is the owner.
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
                // Nobody was told of the claim yet: there is nothing to release.
                let dead = self.host.claim_life(other) == Life::Dead && slot.shift(state, State::Free);
                return dead.then_some(Swept::Done);
            }
        };
        taken.then(|| release(index, slot, mine, on_dead))
    }
}

/// Releases the belongings of the dead owner of a slot that is `mine` to sweep.
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
        None => return Swept::Keep, // Taken over: by a namesake in another namespace that thought us dead.
    };
    let next = match outcome {
        Swept::Done => State::Free,
        Swept::Keep => State::Condemned(participant.generation()),
    };
    slot.shift(mine, next);
    outcome
}
