//! What depends on the class of an object. This is the only file of the engine that names the mechanisms.

use super::Inner;
use super::lock_names::Call;
use super::object::ObjectSection;
use crate::class::Class;
use crate::msg::{self, MsgQueue};
use crate::participant::ParticipantRecord;
use crate::registry::Registry;
use crate::sem::{self, Set};
use crate::shm;
use crate::store::{Arena, deferred_free};
use crate::thread::Thread;
use unspin_sync::atomic::Ordering::Relaxed;

impl Inner {
    /// Runs `f` in a section on the object that a participant waits for, then serves the object's waiters. `None` if
    /// the participant no longer waits.
    pub fn with_object_of_waiter<R>(
        &'static self,
        thread: &Thread,
        call: Call,
        participant: &ParticipantRecord,
        f: impl FnOnce(&mut dyn ObjectSection) -> R,
    ) -> Option<R> {
        match participant.queue().class() {
            Class::Sem => {
                self.guard_of_waiter::<Set>(thread, call, participant).map(|guard| guard.serve_after(f))
            }
            Class::Msg => {
                self.guard_of_waiter::<MsgQueue>(thread, call, participant).map(|guard| guard.serve_after(f))
            }
            Class::Shm => None,
        }
    }

    /// Whether a dead participant or process may hold up this participant: the owner of its object's lock is dead, the
    /// set has adjustments (their processes may be dead), or the object is a message queue.
    pub fn may_wait_for_the_dead(&self, thread: &Thread, participant: &ParticipantRecord) -> bool {
        let _read = thread.read();
        // Relaxed: asked by the participant itself.
        let at = participant.waiter.object.load(Relaxed);
        let arena = &self.arena;
        let owner = match participant.queue().class() {
            Class::Sem => match arena.get::<Set>(at) {
                Some(set) if set.has_adjustments() => return true,
                set => set.and_then(|set| self.lock_of(set).owner()),
            },
            // A sleeper always checks, in case a dead participant has left it forgotten.
            Class::Msg => return true,
            Class::Shm => None,
        };
        owner.is_some_and(|owner| self.is_dead_owner(owner))
    }

    /// Repairs all objects, after the lock of all objects was taken over from a dead owner.
    pub(super) fn recover_all(&'static self, thread: &Thread) {
        let _read = thread.read();
        self.repair_all::<Set>(thread);
        self.repair_all::<MsgQueue>(thread);
    }

    /// Takes over the lock of each object that the dead participant `dead` holds.
    pub fn take_over_locks(&'static self, thread: &Thread, dead: u32) {
        self.take_over_locks_of::<Set>(thread, dead);
        self.take_over_locks_of::<MsgQueue>(thread, dead);
    }

    /// Whether the arena still refers to a heap payload, or has it queued to be freed. The caller holds the registry
    /// lock.
    pub fn is_in_use(&'static self, registry: &Registry<'_>, payload: u64) -> bool {
        self.refers_to(registry, payload) || deferred_free::is_retired(&self.arena, payload)
    }

    /// Whether the arena still refers to a heap payload. The caller holds the registry lock.
    pub fn refers_to(&'static self, registry: &Registry<'_>, payload: u64) -> bool {
        registry.refers_to(payload) || self.is_record(payload) || msg::object::owns(self, payload)
    }

    /// Marks an object as removed and ends all waits on it. Returns its size in bytes. The caller holds the registry
    /// lock.
    pub fn evict(&'static self, thread: &Thread, registry: &Registry<'_>, object: u64) -> u64 {
        match registry.class {
            Class::Sem => sem::calls::object::evict(self, thread, object),
            Class::Msg => msg::object::evict(self, thread, registry, object),
            Class::Shm => shm::evict(&self.arena, object),
        }
    }
}

/// The size of an object in the units of its class (semaphores, for example): see [`crate::registry::Root`].
pub(super) fn units_of(arena: &Arena, class: Class, object: u64) -> u64 {
    match class {
        Class::Sem => sem::calls::object::units_of(arena, object),
        Class::Msg => 0,
        Class::Shm => shm::units_of(arena, object),
    }
}
