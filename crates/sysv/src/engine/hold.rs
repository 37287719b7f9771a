//! Taking the locks of objects, and repairing what the dead left behind them.

use super::Inner;
use crate::futex::{self, Wake};
use crate::guard::{Guard, Held};
use crate::ipc::{self, Class, Object, Section};
use crate::kind::Kind;
use crate::lock::{Discipline, Lock, Owner, Taken, Waited, Waiting};
use crate::msg::MessageQueue;
use crate::names::{Call, LockName};
use crate::participant::{Participant, status};
use crate::sem::Set;
use crate::thread::Thread;
use crate::wake;
use core::time::Duration;
use unspin_sync::atomic::AtomicU32;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sys::Errno;
use unspin_sys::process::Life;

impl Inner {
    /// The lock that protects an object: its own, or everybody's.
    #[inline(always)]
    pub fn lock_of<'a, O: Object>(&'a self, object: &'a O) -> &'a Lock {
        match self.kind {
            Kind::Global => &self.arena.header().global.0,
            _ => object.lock(),
        }
    }

    /// The name of [`Inner::lock_of`].
    #[inline(always)]
    pub fn name_of<O: Object>(&self, object: &O) -> LockName {
        match self.kind {
            Kind::Global => LockName::Global,
            // Relaxed: immutable once published.
            _ => LockName::Id(O::CLASS, object.perm().id.load(Relaxed)),
        }
    }

    /// Whether a lock's owner can no longer be executing. A later participant of his index is not he.
    pub fn is_dead_owner(&self, owner: Owner) -> bool {
        let registry = self.rcu().registry();
        registry.participant(owner.index() as usize).is_none_or(|who| {
            Owner::new(owner.index(), who.generation()) != owner || registry.life(who) == Life::Dead
        })
    }

    /// Gives the arena up if a lock that the thread waits for names an owner who demonstrably does not hold it, or if
    /// somebody else has.
    fn doubt_owner(&self, thread: &Thread, lock: &Lock, owner: Owner) {
        let disproved = |person: &Participant| person.busy.disproves(lock, owner);
        // Nobody waits for a lock that he has.
        let is_noise =
            owner == thread.owner() || self.people().get(owner.index() as usize).is_some_and(disproved);
        if is_noise {
            self.condemn();
        } else if self.check().is_err() {
            self.arena.abandon();
        }
    }

    /// Takes a lock, in a critical section that lasts as long as it is held.
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

    /// Takes a lock, in a critical section, and says how long that took if it was not free.
    #[inline(always)]
    pub fn take(&'static self, thread: &Thread, name: LockName, lock: &Lock) -> (Taken, Option<Waited>) {
        thread.enter_busy();
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
        lock.acquire_slow(thread.owner(), discipline, &Suitor { inner: self, thread, lock })
    }

    /// Takes the lock of the object that `id` names, after `check` has passed, repairs it if need be, and begins a
    /// section. `EINVAL` if there is no such object, `EIDRM` if it was removed meanwhile.
    pub fn guard<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        id: i32,
        check: impl FnOnce(&O) -> Result<(), Errno>,
    ) -> Result<Guard<'t, O::Section>, Errno> {
        let (held, object) = self.hold_id(thread, call, id, check)?;
        Ok(Guard::new(self, held, object))
    }

    /// As [`Inner::guard`], but the section is still to be begun, by [`Guard::new`]: one that is handed on is copied, and is
    /// large.
    #[inline(always)]
    pub fn hold_id<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        id: i32,
        check: impl FnOnce(&O) -> Result<(), Errno>,
    ) -> Result<(Held<'t>, (u64, &'static O)), Errno> {
        if self.kind == Kind::Global {
            let held = self.global(thread, call);
            // The lock of all objects keeps one from being removed, but not the table from being replaced.
            let _read = thread.read();
            let object = self.find(id)?;
            check(object.1)?;
            return Ok((held, object));
        }
        let _read = thread.read();
        let object = self.find(id)?;
        check(object.1)?;
        Ok((self.hold_alive(thread, call, object)?, object))
    }

    /// Takes the lock of an object that was found in the read-side section that goes on. `EIDRM` if it is removed.
    #[inline(always)]
    pub fn hold_alive<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        object: (u64, &'static O),
    ) -> Result<Held<'t>, Errno> {
        let held = self.hold(thread, call, object);
        // Within the read-side section, which outlives the lock if the answer is yes: nothing else would keep a removed
        // object, and the lock in it, from being freed. Of one that is not removed its lock keeps everybody off.
        if object.1.perm().is_deleted() { Err(Errno::EIDRM) } else { Ok(held) }
    }

    /// As [`Inner::hold_alive`], and begins a section.
    #[inline(always)]
    pub fn guard_alive<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        object: (u64, &'static O),
    ) -> Result<Guard<'t, O::Section>, Errno> {
        let held = self.hold_alive(thread, call, object)?;
        Ok(Guard::new(self, held, object))
    }

    /// Runs `f` in a section on the object that a participant waits for, then serves the waiters. `None` if it waits no
    /// more.
    pub fn with_waiting<R>(
        &'static self,
        thread: &Thread,
        call: Call,
        person: &Participant,
        f: impl FnOnce(&mut dyn ipc::Section) -> R,
    ) -> Option<R> {
        match person.queue().class() {
            Class::Sem => self.guard_waiting::<Set>(thread, call, person).map(|guard| guard.serving(f)),
            Class::Msg => {
                self.guard_waiting::<MessageQueue>(thread, call, person).map(|guard| guard.serving(f))
            }
            Class::Shm => None,
        }
    }

    /// As [`Inner::guard`], for the object that a participant waits for. `None` if it waits no more.
    fn guard_waiting<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        person: &Participant,
    ) -> Option<Guard<'t, O::Section>> {
        // An object whose waiters have not all been ended is not retired: within the read-side section it stays.
        let _read = thread.read();
        // Acquire: partner of the Release in `Section::enqueue`.
        if !status::concerns_others(person.waiter.status.load(Acquire)) {
            return None;
        }
        // Relaxed: ordered by the Acquire above.
        let at = person.waiter.object.load(Relaxed);
        // A grant outlives its object: only the table says whether what lies there is still one.
        if !ipc::is_object(&self.arena, O::CLASS, at) {
            return None;
        }
        self.guard_alive::<O>(thread, call, (at, self.arena.get(at)?)).ok()
    }

    /// Whether the owner of the lock of the object that a participant waits for is dead, or whether somebody is owed
    /// something by it who may be.
    pub fn may_wait_for_the_dead(&self, thread: &Thread, person: &Participant) -> bool {
        let _read = thread.read();
        // Relaxed: asked by the participant itself.
        let at = person.waiter.object.load(Relaxed);
        let arena = &self.arena;
        let owner = match person.queue().class() {
            Class::Sem => match arena.get::<Set>(at) {
                Some(set) if set.has_adjustments() => return true,
                set => set.and_then(|set| self.lock_of(set).owner()),
            },
            // A sleeper looks whether it has been forgotten.
            Class::Msg => return true,
            Class::Shm => None,
        };
        owner.is_some_and(|owner| self.is_dead_owner(owner))
    }

    /// Takes the lock of an object that cannot go away: found in a read-side section, or under the registry lock.
    pub fn guard_found<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        object: (u64, &'static O),
    ) -> Guard<'t, O::Section> {
        Guard::new(self, self.hold(thread, call, object), object)
    }

    /// The lock of an object, repaired if need be.
    #[inline(always)]
    pub fn hold<'t, O: Object>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        object: (u64, &'static O),
    ) -> Held<'t> {
        let (held, taken) = self.acquire(thread, self.name_of(object.1), call, self.lock_of(object.1));
        if taken == Taken::Inherited {
            self.mend(thread, object);
        }
        held
    }

    fn global<'t>(&'static self, thread: &'t Thread, call: Call) -> Held<'t> {
        let (held, taken) = self.acquire(thread, LockName::Global, call, &self.arena.header().global.0);
        if taken == Taken::Inherited {
            self.mend_all(thread);
        }
        held
    }

    /// Repairs what a lock protects that was inherited on the way to an object: that object, or all of them.
    #[cold]
    pub fn mend<O: Object>(&'static self, thread: &Thread, (at, object): (u64, &'static O)) {
        match self.kind {
            Kind::Global => self.mend_all(thread),
            _ => self.repair(thread, at, object),
        }
    }

    fn mend_all(&'static self, thread: &Thread) {
        let _read = thread.read();
        self.repair_all::<Set>(thread);
        self.repair_all::<MessageQueue>(thread);
    }

    fn repair_all<O: Object>(&'static self, thread: &Thread) {
        for at in ipc::objects(&self.arena, O::CLASS) {
            if let Some(object) = O::at(&self.arena, at) {
                self.repair(thread, at, object);
            }
        }
    }

    /// Takes over the lock of each object that `dead` holds.
    pub fn inherit_all<O: Object>(&'static self, thread: &Thread, dead: u32) {
        for at in ipc::objects(&self.arena, O::CLASS) {
            if let Some(object) = O::at(&self.arena, at)
                && self.lock_of(object).owner().is_some_and(|owner| owner.index() == dead)
            {
                drop(self.guard_found(thread, Call::Sweep, (at, object)));
            }
        }
    }

    /// Takes the global lock over if `dead` holds it.
    pub fn inherit_global(&'static self, thread: &Thread, dead: u32) {
        if self.arena.header().global.0.owner().is_some_and(|owner| owner.index() == dead) {
            drop(self.global(thread, Call::Sweep));
        }
    }

    fn repair<O: Object>(&'static self, thread: &Thread, at: u64, object: &'static O) {
        let mut section = object.section(self, at, thread.index());
        section.repair();
        section.close();
        // Under the lock: a rare path, and simple. The dead cannot be buried under it: that is left to a patrol.
        for wake in section.wakes().iter() {
            wake::wake(self, wake);
        }
    }
}

/// A thread that waits for a lock.
struct Suitor<'a> {
    inner: &'static Inner,
    thread: &'a Thread,
    lock: &'a Lock,
}

impl Waiting for Suitor<'_> {
    fn is_dead(&self, owner: Owner) -> bool {
        let dead = self.inner.is_dead_owner(owner);
        if !dead {
            self.inner.doubt_owner(self.thread, self.lock, owner);
        }
        dead
    }

    /// Not counted as one who tries: should another lock name it, by a stranger's hand, then whoever waits for that one sees
    /// that it is not the owner. Two who wait for locks that name each other would wait for ever.
    fn sleep(&self, word: &AtomicU32, seen: u32, timeout: Duration) -> Wake {
        self.thread.leave_busy();
        let woken = futex::wait(word, seen, Some(timeout));
        self.thread.enter_busy();
        woken
    }
}
