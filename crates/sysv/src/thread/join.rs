//! Joining an arena as a participant, and leaving it.

use super::{METERED, ParticipantWord, Thread, first, list};
use crate::engine::Inner;
use crate::recovery::sweep;
use crate::thread::cache::CachedObject;
use crate::waiting::{self, CallerBuffers};
use core::ptr::NonNull;
use unspin_rcu::Rcu;
use unspin_rcu::registry::SweepScope;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sys::process::{self, Identity};
use unspin_sys::signal::{Mask, set_mask};
use unspin_sys::thread_exit::{ExitHook, call_at_exit};
use unspin_sys::tls::{self, Word};
use unspin_sys::{Errno, clock, page, sched};

impl Thread {
    #[cold]
    pub(super) fn join(inner: &'static Inner) -> Result<&'static Thread, Errno> {
        let mask = set_mask(Mask::ALL_BUT_FAULTS);
        let result = match list().find(|t| t.engine.get() == inner.number) {
            Some(thread) => Ok(thread),
            None => Thread::join_as_new(inner),
        };
        set_mask(mask);
        result
    }

    fn join_as_new(inner: &'static Inner) -> Result<&'static Thread, Errno> {
        let thread = match list().find(|t| t.engine.get() == 0) {
            Some(wiped) => wiped,
            None => Thread::allocate()?,
        };
        thread.become_participant(inner)?;
        Ok(thread)
    }

    /// Makes the calling thread a participant, with this record.
    fn become_participant(&'static self, inner: &'static Inner) -> Result<(), Errno> {
        let thread = self;
        let who = Identity::current();
        let (participant, used_last_slot) = inner.register(&who)?;
        let index = participant.index();
        thread.sets.iter().for_each(CachedObject::clear);
        thread.queues.iter().for_each(CachedObject::clear);
        thread.inner.set(Some(inner));
        thread.slot.set(inner.arena.slots().get(index));
        thread.record.set(inner.arena.participants(index + 1).last());
        thread.domain.set(Some(&inner.arena.header().domain.0));
        thread.changes.set(Some(&inner.arena.header().changes.0));
        thread.participant.set(Some(participant));
        thread.identity.set(who);
        thread.pid.set(who.pid);
        thread.locks.set(thread.record().lock_count.renew());
        // Relaxed: only this thread reads it.
        thread.record().image.store(process::image(), Relaxed);
        thread.frees.set(false);
        thread.process.set(None);
        thread.robust_word.set(None);
        thread.has_no_robust_list.set(false);
        thread.participant_word.set(ParticipantWord::Wanted);
        thread.site.reset();
        // After a fork, stack frames may still hold numbers of waits from before the fork. The new numbers
        // must differ from those.
        thread.waits.number_from(clock::ticks());
        if let Some(table) = inner.recording.and_then(|recording| recording.claim()) {
            // SAFETY: there is no other reference to the table: a new or wiped record has no deferred work.
            unsafe { (*thread.table.get()).write(table) };
            thread.deferred_work.set(METERED);
        }
        thread.engine.set(inner.number);
        thread.choose_path();
        // Relaxed: read when all participants have ended.
        inner.arena.header().joined.fetch_add(1, Relaxed);
        call_at_exit(ExitHook::Sysv, leave_all);
        match used_last_slot {
            UsedLastSlot::No => sweep::spot_check(inner, thread),
            UsedLastSlot::Yes => drop(sweep::sweep(inner, thread, SweepScope::All)),
        }
        Ok(())
    }

    /// Joins the engine again, with this same record, in a child that was forked in a signal handler and returns to a
    /// call of the engine that the handler had interrupted.
    #[cold]
    pub fn return_to(&'static self, inner: &'static Inner) {
        let mask = set_mask(Mask::ALL_BUT_FAULTS);
        // The child's stack frames refer to this record, so it must be that of a participant.
        self.become_participant(inner)
            .expect("the arena has a place for a child that returns to its parent's call");
        set_mask(mask);
    }

    fn allocate() -> Result<&'static Thread, Errno> {
        let page = page::take()?;
        // SAFETY: 1. a zeroed page is a valid `Thread`: all of its fields are cells of integers, of options of
        // references, or uninitialised; 2. only `leave_all` gives it back, when the thread ends.
        let thread: &'static Thread = unsafe { page.cast::<Thread>().as_ref() };
        thread.next.set(first());
        tls::word(Word::Sysv).set(thread as *const Thread as usize);
        Ok(thread)
    }

    fn leave(&'static self) {
        let (Some(inner), Some(participant)) = (self.inner.get(), self.participant.get()) else { return };
        // A thread that was cancelled within a section stays registered: other threads find it dead, and repair what it
        // held.
        if self.engine.get() == inner.number && !self.is_critical() {
            let metered = self.has(METERED);
            self.deferred_work.set(0);
            if metered && let Some(recording) = inner.recording {
                // SAFETY: it was written, and METERED is clear from now on, so it is taken only once.
                recording.release(unsafe { (*self.table.get()).assume_init_read() }, None);
            }
            waiting::interrupt(self, CallerBuffers::Gone);
            inner.give_back_robust_word(self);
            inner.give_back_participant_word(self);
            // SAFETY: registered by this thread. The thread is in no section and holds no lock (either would make it
            // critical). It has no wait: one that a jump out of a handler may have left was withdrawn just now.
            unsafe { inner.rcu().registry().unregister(participant) };
        }
        self.has_fast_path.set(false);
        self.engine.set(0);
    }
}

/// Ends the calling thread's participation in an engine.
pub(crate) fn leave(inner: &Inner) {
    let mask = set_mask(Mask::ALL_BUT_FAULTS);
    list().filter(|thread| thread.is_of(inner)).for_each(Thread::leave);
    set_mask(mask);
}

extern "C-unwind" fn leave_all() {
    let mask = set_mask(Mask::ALL_BUT_FAULTS);
    let mut next = first();
    tls::word(Word::Sysv).set(0);
    while let Some(thread) = next {
        next = thread.next.get();
        thread.leave();
        // SAFETY: the page is the thread's own, reachable only from the word that was zeroed.
        unsafe { page::give_back(NonNull::from(thread).cast()) };
    }
    set_mask(mask);
}

/// Whether a thread got the arena's last free slot, and so has to free others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UsedLastSlot {
    No,
    Yes,
}

/// How often a thread looks for a slot in a full arena. Each attempt takes as long as a look at every participant.
const JOIN_ATTEMPTS: usize = 4;

impl Inner {
    /// Gives the calling thread a slot, with memory for its record. The memory is reserved before the slot is claimed,
    /// because other threads look at the records of all slots that were ever used. The last slot is for a thread that
    /// finds all others taken: slots of dead participants that held something can be freed only by a participant.
    /// `ENOMEM` if living participants fill the arena.
    pub fn register(&self, who: &Identity) -> Result<(unspin_rcu::ParticipantId, UsedLastSlot), Errno> {
        let (domain, slots) = (&self.arena.header().domain.0, self.arena.slots());
        self.release_stale_slots(who);
        let claim = |places: usize| {
            self.arena.reserve_participant(places - 1).map_err(|_| Errno::ENOMEM)?;
            let registry = Rcu::new(domain, &slots[..places]).registry();
            Ok(registry.register(who, self.fences, &mut |dead, _| sweep::release_if_clean(self, dead)).ok())
        };
        let (common, all) = (slots.len() - 1, slots.len());
        let (mut places, mut attempts) = (0, 0);
        while attempts < JOIN_ATTEMPTS {
            // One slot more than were ever used, and one more than in the last attempt: other threads may have claimed
            // slots meanwhile, or died before they did.
            let used = self.rcu().registry().high_water_mark();
            places = (places.max(used) + 1).min(common);
            if let Some(participant) = claim(places)? {
                return Ok((participant, UsedLastSlot::No));
            }
            if places < common {
                continue;
            }
            if let Some(participant) = claim(all)? {
                return Ok((participant, UsedLastSlot::Yes));
            }
            // Another thread has the last slot and is recovering dead participants.
            attempts += 1;
            sched::yield_or_sleep();
        }
        Err(Errno::ENOMEM)
    }

    /// Marks the stale slots of this thread as dead. Where the stack address is not randomized, `exec` can leave a
    /// thread with the same identity that it had in the previous image, so that its old slots seem to be alive. A slot
    /// with that identity that belongs to this image belongs to another copy of this library, and is kept.
    fn release_stale_slots(&self, who: &Identity) {
        let image = process::image();
        let is_other_copy = |stale: unspin_rcu::ParticipantId| {
            let record = self.participants().get(stale.index());
            // Relaxed: written by this same thread.
            record.is_none_or(|record| record.image.load(Relaxed) == image)
        };
        if image != 0 {
            self.rcu().registry().mark_stale_slots_dead(who, &is_other_copy);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::participant::status;
    use crate::{Engine, Kind, Options};
    use unspin_rcu::FenceMode;
    use unspin_sys::ipc::flag::IPC_PRIVATE;
    use unspin_sys::process::Liveness;

    /// The state of a slot after an `exec` by another thread, where the stack address is not randomized.
    #[test]
    fn slot_of_former_image_with_same_identity_is_released() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let inner = engine.inner.unwrap();
        let registry = inner.rcu().registry();
        std::thread::spawn(move || {
            let me = Identity::current();
            let [former, copy] = [1, process::image()].map(|image| {
                let place =
                    registry.register(&me, FenceMode::Full, &mut |_, _| panic!("there is room")).unwrap();
                inner.arena.reserve_participant(place.index()).unwrap();
                // Relaxed: no other thread reads it.
                inner.participants()[place.index()].image.store(image, Relaxed);
                place
            });
            assert_eq!(registry.liveness(former), Liveness::Alive, "nothing tells it from this one");
            assert_eq!(engine.participants(), Ok(2));
            assert_eq!(
                (registry.liveness(former), registry.liveness(copy)),
                (Liveness::Dead, Liveness::Alive)
            );
        })
        .join()
        .unwrap();
    }

    /// Slots of dead participants that held nothing are reused at once. Slots of dead waiters are freed only by a
    /// participant.
    #[test]
    fn thread_joins_arena_full_of_dead_waiters() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let inner = engine.inner.unwrap();
        let registry = inner.rcu().registry();
        for n in 1..inner.arena.slots().len() as u32 {
            // Above every pid that the kernel assigns (PID_MAX_LIMIT is 2^22).
            let identity = Identity { pid: (1 << 22) + n, tid: (1 << 22) + n, ..Identity::default() };
            let dead =
                registry.register(&identity, FenceMode::Full, &mut |_, _| panic!("there is room")).unwrap();
            inner.arena.reserve_participant(dead.index()).unwrap();
            // Relaxed: no other thread reads it yet.
            inner.arena.participants(dead.index() + 1)[dead.index()]
                .waiter
                .status
                .store(status::QUEUED, Relaxed);
        }
        assert!(std::thread::spawn(move || engine.semget(IPC_PRIVATE, 1, 0o600)).join().unwrap().is_ok());
        assert!(engine.semget(IPC_PRIVATE, 1, 0o600).is_ok());
        assert!(registry.high_water_mark() > 16_000 && engine.participants().unwrap() < 3);
    }
}
