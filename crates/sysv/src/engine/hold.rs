//! Taking the locks of objects, and repairing what dead owners left behind.

use super::Inner;
use crate::engine::guard::{Guard, Held};
use crate::engine::lock_names::{Call, LockName};
use crate::engine::{Object, ObjectSection};
use crate::participant::{ParticipantRecord, status};
use crate::registry;
use crate::rules::ObjectLock;
use crate::sync::futex::{self, Wake};
use crate::sync::lock::{Discipline, Lock, Owner, Taken, WaitHooks, Waited};
use crate::thread::Thread;
use core::time::Duration;
use unspin_sync::atomic::AtomicU32;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sys::Errno;
use unspin_sys::process::Liveness;

impl Inner {
    /// The lock that protects an object: its own, or in the `global` engine the lock of all objects.
    #[inline(always)]
    pub fn lock_of<'a, O: Object>(&'a self, object: &'a O) -> &'a Lock {
        match self.rules.object_lock {
            ObjectLock::OneForAll => &self.arena.header().global.0,
            ObjectLock::Own => object.lock(),
        }
    }

    /// The name of [`Inner::lock_of`].
    #[inline(always)]
    pub fn name_of<O: Object>(&self, object: &O) -> LockName {
        match self.rules.object_lock {
            ObjectLock::OneForAll => LockName::Global,
            // Relaxed: immutable once published.
            ObjectLock::Own => LockName::Id(O::CLASS, object.perm().id.load(Relaxed)),
        }
    }

    /// Whether a lock's owner can no longer be executing. A later participant under the same index is a different
    /// owner.
    pub fn is_dead_owner(&self, owner: Owner) -> bool {
        let registry = self.rcu().registry();
        registry.participant(owner.index() as usize).is_none_or(|who| {
            Owner::new(owner.index(), who.generation()) != owner || registry.liveness(who) == Liveness::Dead
        })
    }

    /// Poisons the arena if the lock that the thread waits for names an owner that demonstrably does not hold it. If
    /// the arena is already poisoned, abandons it.
    fn check_owner(&self, thread: &Thread, lock: &Lock, owner: Owner) {
        let disproved = |participant: &ParticipantRecord| participant.lock_count.disproves_owner(lock, owner);
        // A thread never waits for a lock that it holds: if the word names this thread, it was overwritten.
        let is_noise =
            owner == thread.owner() || self.participants().get(owner.index() as usize).is_some_and(disproved);
        if is_noise {
            self.poison();
        } else if self.check().is_err() {
            self.arena.abandon();
        }
    }

    /// Takes a lock, in a critical section that lasts as long as the lock is held.
    #[inline(always)]
    pub fn acquire<'t>(
        &'static self,
        thread: &'t Thread,
        name: LockName,
        call: Call,
        lock: &'t Lock,
    ) -> (Held<'t>, Taken) {
        let critical = thread.critical();
        let (taken, waited) = self.take(thread, name, lock);
        (Held::new(thread, lock, (name, call), waited, critical), taken)
    }

    /// Takes a lock, in a critical section of the caller. If the lock was not free, also returns how long that took.
    #[inline(always)]
    pub fn take(&'static self, thread: &Thread, name: LockName, lock: &Lock) -> (Taken, Option<Waited>) {
        thread.count_lock();
        match lock.try_acquire(thread.owner()) {
            true => (Taken::Clean, None),
            false => {
                let (taken, waited) = self.acquire_slow(thread, name, lock);
                (taken, Some(waited))
            }
        }
    }

    #[cold]
    fn acquire_slow(&'static self, thread: &Thread, name: LockName, lock: &Lock) -> (Taken, Waited) {
        let discipline = match name {
            LockName::Global => Discipline::Spin,
            _ => Discipline::Park,
        };
        lock.acquire_slow(thread.owner(), discipline, &LockWaiter { inner: self, thread, lock })
    }

    /// Finds the object of `id`, calls `check`, takes the object's lock, repairs the object if its previous owner died,
    /// and begins a section. `EINVAL` if there is no such object, `EIDRM` if it was removed meanwhile.
    pub fn guard_by_id<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        id: i32,
        check: impl FnOnce(&O) -> Result<(), Errno>,
    ) -> Result<Guard<'t, O::Section>, Errno> {
        let (held, object) = self.lock_by_id(thread, call, id, check)?;
        Ok(Guard::new(self, held, object))
    }

    /// Like [`Inner::guard_by_id`], but the caller begins the section, by [`Guard::new`]. A section is large, and
    /// returning one would copy it.
    #[inline(always)]
    pub fn lock_by_id<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        id: i32,
        check: impl FnOnce(&O) -> Result<(), Errno>,
    ) -> Result<(Held<'t>, (u64, &'static O)), Errno> {
        if self.rules.object_lock == ObjectLock::OneForAll {
            let held = self.global(thread, call);
            // The global lock keeps the object from being removed, but not the table from being replaced.
            let _read = thread.read();
            let object = self.find(id)?;
            check(object.1)?;
            return Ok((held, object));
        }
        let _read = thread.read();
        let object = self.find(id)?;
        check(object.1)?;
        Ok((self.lock_alive(thread, call, object)?, object))
    }

    /// Takes the lock of an object. The caller found it in a read-side section that it is still in. `EIDRM` if it is
    /// removed.
    #[inline(always)]
    pub fn lock_alive<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        object: (u64, &'static O),
    ) -> Result<Held<'t>, Errno> {
        let held = self.lock_found(thread, call, object);
        // This runs within the caller's read-side section. If the object is deleted, the lock is released here, before
        // that section ends. Only the section keeps a removed object, and the lock in it, from being freed. An object
        // that is not removed is kept by its lock.
        if object.1.perm().is_deleted() { Err(Errno::EIDRM) } else { Ok(held) }
    }

    /// Like [`Inner::lock_alive`], and begins a section.
    #[inline(always)]
    pub fn guard_alive<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        object: (u64, &'static O),
    ) -> Result<Guard<'t, O::Section>, Errno> {
        let held = self.lock_alive(thread, call, object)?;
        Ok(Guard::new(self, held, object))
    }

    /// Like [`Inner::guard_by_id`], for the object that a participant waits for. `None` if it no longer waits.
    pub(super) fn guard_of_waiter<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        participant: &ParticipantRecord,
    ) -> Option<Guard<'t, O::Section>> {
        // An object is retired only after all waits on it have ended. So the object that `participant` waits for is not
        // freed during this read-side section.
        let _read = thread.read();
        // Acquire: partner of the Release in `SetSection::enqueue`.
        if !status::concerns_others(participant.waiter.status.load(Acquire)) {
            return None;
        }
        // Relaxed: ordered by the Acquire above.
        let at = participant.waiter.object.load(Relaxed);
        // A granted status outlives the object. Only the table says whether there is still an object at that offset.
        if !registry::is_object(&self.arena, O::CLASS, at) {
            return None;
        }
        self.guard_alive::<O>(thread, call, (at, self.arena.get(at)?)).ok()
    }

    /// Takes the lock of an object that cannot go away: it was found in a read-side section that goes on, or under the
    /// registry lock.
    pub fn guard_found<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        object: (u64, &'static O),
    ) -> Guard<'t, O::Section> {
        Guard::new(self, self.lock_found(thread, call, object), object)
    }

    /// Takes the lock of an object, and repairs the object if the previous owner died.
    #[inline(always)]
    pub fn lock_found<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        object: (u64, &'static O),
    ) -> Held<'t> {
        let (mut held, taken) = self.acquire(thread, self.name_of(object.1), call, self.lock_of(object.1));
        if taken == Taken::OwnerDied {
            self.recover(&mut held, object);
        }
        held
    }

    fn global<'t>(&'static self, thread: &'t Thread, call: Call) -> Held<'t> {
        let (mut held, taken) = self.acquire(thread, LockName::Global, call, &self.arena.header().global.0);
        if taken == Taken::OwnerDied {
            self.recover_all(held.note_repair());
        }
        held
    }

    /// Repairs what the lock of an object protects after it was taken over from a dead owner: that object, or in the
    /// `global` engine all objects.
    #[cold]
    pub fn recover<O: Object>(&'static self, held: &mut Held<'_>, (at, object): (u64, &'static O)) {
        let thread = held.note_repair();
        match self.rules.object_lock {
            ObjectLock::OneForAll => self.recover_all(thread),
            ObjectLock::Own => self.repair(thread, at, object),
        }
    }

    pub(super) fn repair_all<O: Object>(&'static self, thread: &Thread) {
        for at in registry::objects(&self.arena, O::CLASS) {
            if let Some(object) = O::at(&self.arena, at) {
                self.repair(thread, at, object);
            }
        }
    }

    /// Takes over the lock of each object that the dead participant `dead` holds.
    pub(super) fn take_over_locks_of<O: Object>(&'static self, thread: &Thread, dead: u32) {
        for at in registry::objects(&self.arena, O::CLASS) {
            if let Some(object) = O::at(&self.arena, at)
                && self.lock_of(object).owner().is_some_and(|owner| owner.index() == dead)
            {
                drop(self.guard_found(thread, Call::Recover, (at, object)));
            }
        }
    }

    /// Takes the global lock over if the dead participant `dead` holds it.
    pub fn take_over_global(&'static self, thread: &Thread, dead: u32) {
        if self.arena.header().global.0.owner().is_some_and(|owner| owner.index() == dead) {
            drop(self.global(thread, Call::Recover));
        }
    }

    fn repair<O: Object>(&'static self, thread: &Thread, at: u64, object: &'static O) {
        let mut section = object.section(self, at, thread.index());
        section.repair();
        section.close();
        // The wake-ups follow when the lock is released: see `Held::note_repair`.
    }
}

/// A thread that waits for a lock.
struct LockWaiter<'a> {
    inner: &'static Inner,
    thread: &'a Thread,
    lock: &'a Lock,
}

impl WaitHooks for LockWaiter<'_> {
    fn is_dead(&self, owner: Owner) -> bool {
        let dead = self.inner.is_dead_owner(owner);
        if !dead {
            self.inner.check_owner(self.thread, self.lock, owner);
        }
        dead
    }

    /// While the thread sleeps it does not count as a thread that tries to take a lock. If a foreign write puts this
    /// thread into another lock's word, waiters for that lock then see that it is not the owner. Otherwise two threads
    /// that wait for locks that name each other would wait for ever.
    fn sleep(&self, word: &AtomicU32, seen: u32, timeout: Duration) -> Wake {
        self.thread.uncount_lock();
        let woken = futex::wait(word, seen, Some(timeout));
        self.thread.count_lock();
        woken
    }
}
