//! The engines: one interface, three ways.

use crate::arena::{Arena, ArenaError, Options};
use crate::creds;
use crate::futex::{self, Wake};
use crate::guard::{Guard, Held};
use crate::ipc::{self, Access, Class, Id, Object, Perm, Registry, Section};
use crate::kind::Kind;
use crate::known::{Known, Sems};
use crate::lock::{Discipline, Lock, Owner, Taken, Waited, Waiting};
use crate::msg::{self, MessageQueue};
use crate::names::{Call, LockName};
use crate::participant::{Participant, status};
use crate::sem::{self, Set, space};
use crate::thread::{self, Thread};
use crate::{damage, retire, shm, sweep, wake};
use core::time::Duration;
use std::path::{Path, PathBuf};
use unspin_meter::{Event, Recording};
use unspin_rcu::registry::Extent;
use unspin_rcu::{Fences, Rcu};
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sync::atomic::{AtomicPtr, AtomicU32};
use unspin_sync::machine::{AtomicU64, Ordering};
use unspin_sys::process::{Identity, Life};
use unspin_sys::robust::Bond;
use unspin_sys::{Errno, membarrier, namespace, sched};

/// Where arenas lie unless told otherwise, and how their names begin.
pub(crate) const FOLDER: &str = "/dev/shm";
pub(crate) const PREFIX: &str = "unspin-sysv-";

static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// What an engine consists of. Made once, never dropped: threads refer to it until they end.
#[derive(Debug)]
pub(crate) struct Inner {
    pub number: u64,
    pub kind: Kind,
    pub arena: Arena,
    pub recording: Option<&'static Recording>,
    pub fences: Fences,
    /// By which a thread of this process holds the word of its process: see [`crate::process`].
    pub bond: Bond,
    /// The engine that was opened before this one: see [`crate::damage`].
    pub older: AtomicPtr<Inner>,
}

/// An engine: a handle that may be copied. See the crate's text for an example.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    pub(crate) inner: Option<&'static Inner>,
}

impl Engine {
    /// Opens an engine. `global` and `rcu` join the arena at `arena`, or make it; `kernel` needs none. The arena
    /// stays mapped for as long as the process lives.
    ///
    /// With a `recording` the engine's locks are metered into it.
    pub fn open(
        kind: Kind,
        arena: &Path,
        options: &Options,
        recording: Option<&'static Recording>,
    ) -> Result<Engine, ArenaError> {
        if kind == Kind::Kernel {
            return Ok(Engine { inner: None });
        }
        Arena::open(arena, kind, options).map(|arena| Engine::over(arena, kind, recording))
    }

    /// As [`Engine::open`], for an arena that is there: `None` if it is not.
    pub fn join(kind: Kind, arena: &Path) -> Result<Option<Engine>, ArenaError> {
        match kind {
            Kind::Kernel => Ok(Some(Engine { inner: None })),
            _ => Ok(Arena::find(arena, kind)?.map(|arena| Engine::over(arena, kind, None))),
        }
    }

    fn over(arena: Arena, kind: Kind, recording: Option<&'static Recording>) -> Engine {
        let fences = match membarrier::register_global_expedited() {
            true => Fences::Expedited,
            false => Fences::Full,
        };
        // Relaxed: uniqueness is all that is asked.
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let inner =
            Inner { number, kind, arena, recording, fences, bond: Bond::new(), older: AtomicPtr::default() };
        let inner = Box::leak(Box::new(inner));
        damage::watch(inner);
        inner.adopt();
        Engine { inner: Some(inner) }
    }

    /// The arena that processes of this user, IPC namespace and engine share unless told otherwise.
    pub fn default_arena(kind: Kind) -> PathBuf {
        let uid = unspin_sys::creds::Creds::current().uid;
        PathBuf::from(format!("{FOLDER}/{PREFIX}{uid}-{}-{kind}", namespace::Ipc::current().inode))
    }

    /// Whether the arena was found cut short or overwritten: then calls answer `ENOSYS`.
    pub fn is_damaged(&self) -> bool {
        self.inner.is_some_and(|inner| inner.check().is_err())
    }

    /// The calling thread takes part no more. With its next call it does again, as one that never did: for a thread that
    /// has gone to another IPC namespace, whose objects another engine has.
    pub fn leave(&self) {
        if let Some(inner) = self.inner {
            thread::leave(inner);
        }
    }

    /// Looks for dead participants and releases what they held; returns how many places in the arena became free.
    /// Never needed: whoever is held up by the dead finds them. It costs 5 us a participant.
    pub fn bury_dead(&self) -> Result<usize, Errno> {
        match self.inner {
            Some(inner) => Ok(sweep::sweep(inner, Thread::of(inner)?, Extent::All)),
            None => Ok(0),
        }
    }

    /// Threads that take part in the arena, the calling one among them.
    pub fn participants(&self) -> Result<usize, Errno> {
        let Some(inner) = self.inner else { return Ok(0) };
        Thread::of(inner)?;
        let registry = inner.rcu().registry();
        Ok((0..registry.high()).filter(|&index| registry.participant(index).is_some()).count())
    }

    /// Which one it is.
    pub fn kind(&self) -> Kind {
        self.inner.map_or(Kind::Kernel, |inner| inner.kind)
    }
}

/// Whether a thread found only the last place free, and has to make others free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Crowded {
    No,
    Yes,
}

/// Times that a thread looks for a place in a full arena, each of which takes as long as looking at every participant.
const JOIN_ATTEMPTS: usize = 4;

impl Inner {
    /// What a link between engines leads to.
    pub fn behind(link: &AtomicPtr<Inner>) -> Option<&'static Inner> {
        // Acquire: pairs with the Release stores in `damage::watch`.
        let inner = link.load(Acquire);
        // SAFETY: null, or an engine, which lives for ever.
        unsafe { inner.as_ref() }
    }

    /// `ENOSYS` once the arena is found damaged.
    #[inline]
    pub fn check(&self) -> Result<(), Errno> {
        if self.arena.is_whole() { Ok(()) } else { Err(Errno::ENOSYS) }
    }

    pub fn rcu(&self) -> Rcu<'_> {
        Rcu::new(&self.arena.header().domain.0, self.arena.slots())
    }

    /// Gives the calling thread a place, with memory for its record: before it has the place, as everybody looks at the
    /// records of all places that were ever used. The last place is for a thread that finds all others taken: those of the
    /// dead who held something can be had back only by a participant. `ENOMEM` if the living fill the arena.
    pub fn register(&self, who: &Identity) -> Result<(unspin_rcu::Participant, Crowded), Errno> {
        let (domain, slots) = (&self.arena.header().domain.0, self.arena.slots());
        let claim = |places: usize| {
            self.arena.reserve_participant(places - 1).map_err(|_| Errno::ENOMEM)?;
            let registry = Rcu::new(domain, &slots[..places]).registry();
            Ok(registry.register(who, self.fences, &mut |dead, _| sweep::bury_if_clean(self, dead)).ok())
        };
        let (common, all) = (slots.len() - 1, slots.len());
        let (mut places, mut attempts) = (0, 0);
        while attempts < JOIN_ATTEMPTS {
            // One more than were ever used, and one more than before: others may be faster, or dead on their way.
            let used = self.rcu().registry().high();
            places = (places.max(used) + 1).min(common);
            if let Some(participant) = claim(places)? {
                return Ok((participant, Crowded::No));
            }
            if places < common {
                continue;
            }
            if let Some(participant) = claim(all)? {
                return Ok((participant, Crowded::Yes));
            }
            // Somebody has the last place, and is burying the dead.
            attempts += 1;
            sched::give_way();
        }
        Err(Errno::ENOMEM)
    }

    /// All participants that there ever were.
    #[inline]
    pub fn people(&self) -> &[Participant] {
        self.arena.people(self.rcu().registry().high())
    }

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

    /// Whether nobody can be executing under this participant index.
    pub fn is_dead(&self, index: u32) -> bool {
        let registry = self.rcu().registry();
        registry.participant(index as usize).is_none_or(|who| registry.life(who) == Life::Dead)
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

    #[inline(always)]
    fn acquire<'t>(
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

    /// The set of `id`, if the thread may do `want` with it, from what the thread remembers: the chain of dependent
    /// loads through the table would be half the time of an uncontended operation. In a read-side section. `None` says
    /// only that the long way must be gone.
    #[inline(always)]
    pub fn recall(
        &'static self,
        thread: &'static Thread,
        id: i32,
        want: Access,
    ) -> Option<&'static Known<Sems>> {
        let known = thread.remembered(id).or_else(|| self.learn(thread, id))?;
        known.may(want).then_some(known)
    }

    #[cold]
    fn learn(&'static self, thread: &'static Thread, id: i32) -> Option<&'static Known<Sems>> {
        // Acquire: as in `Thread::remembered`. Both numbers before what they are to vouch for.
        let when = (thread.changes().load(Acquire), creds::epoch());
        self.check().ok()?;
        let (at, set) = self.find::<Set>(id).ok()?;
        let creds = thread.creds.read();
        let may = [Access::Read, Access::Alter].into_iter().filter(|&want| set.perm.allows(&creds, want));
        let known = thread.memory(id);
        known.learn(id, when, may.map(Access::bit).sum(), (set, space(self, at, set).sems, 0));
        Some(known)
    }

    /// The object of `id`, in a read-side section or under the lock of all objects. `EINVAL` if there is none.
    pub fn find<O: Object>(&'static self, id: i32) -> Result<(u64, &'static O), Errno> {
        if id < 0 {
            return Err(Errno::EINVAL);
        }
        let at = ipc::find_index(&self.arena, O::CLASS, Id(id).index());
        let object = O::at(&self.arena, at).ok_or(Errno::EINVAL)?;
        // Relaxed: immutable once published.
        match object.perm().id.load(Relaxed) == id && !object.perm().is_deleted() {
            true => Ok((at, object)),
            false => Err(Errno::EINVAL),
        }
    }

    /// `EACCES` unless the caller may do `want` with the object.
    #[inline]
    pub fn permit(&self, thread: &Thread, perm: &Perm, want: Access) -> Result<(), Errno> {
        if perm.allows_quickly(&thread.creds, want) || perm.allows(&thread.creds.read(), want) {
            Ok(())
        } else {
            Err(Errno::EACCES)
        }
    }

    /// Runs `f` under the registry lock, with the registry of a class.
    pub fn with_registry<R>(
        &'static self,
        thread: &Thread,
        class: Class,
        call: Call,
        f: impl FnOnce(&Registry<'static>) -> R,
    ) -> R {
        let lock = &self.arena.header().registry.0;
        let (held, taken) = self.acquire(thread, LockName::Registry, call, lock);
        let of =
            |class| Registry { arena: &self.arena, class, rcu: self.rcu(), me: thread.person(), units_of };
        if taken == Taken::Inherited {
            for class in Class::ALL {
                let registry = of(class);
                registry.repair(&mut |object| self.evict(thread, &registry, object));
            }
            shm::recover(&of(Class::Shm));
        }
        let registry = of(class);
        let reaped = retire::reap(&registry, thread);
        let result = f(&registry);
        drop(held);
        if reaped > 0 {
            count(thread, Event::GracePeriod, 1);
        }
        retire::work(self, thread);
        result
    }

    /// Whether the arena still refers to a payload of the heap, or will free it. Under the registry lock.
    pub fn is_in_use(&'static self, registry: &Registry<'_>, payload: u64) -> bool {
        registry.is_in_use(payload) || self.is_record(payload) || msg::owns(self, payload)
    }

    /// Marks an object as removed and ends all waits on it; returns its bytes. Under the registry lock.
    pub fn evict(&'static self, thread: &Thread, registry: &Registry<'_>, object: u64) -> u64 {
        match registry.class {
            Class::Sem => sem::evict(self, thread, object),
            Class::Msg => msg::evict(self, thread, registry, object),
            Class::Shm => shm::evict(&self.arena, object),
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

/// What an object consists of, as its class counts it: see [`ipc::Root`].
fn units_of(arena: &Arena, class: Class, object: u64) -> u64 {
    match class {
        Class::Sem => sem::units_of(arena, object),
        Class::Msg => 0,
        Class::Shm => shm::units_of(arena, object),
    }
}

#[cold]
pub(crate) fn count(thread: &Thread, event: Event, n: u64) {
    if let Some(table) = thread.table() {
        table.count(event, n);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use unspin_sys::ipc::flag::IPC_PRIVATE;

    /// Places of the dead who held nothing are had at once; of those who waited, only by somebody who takes part.
    #[test]
    fn an_arena_full_of_dead_waiters_takes_newcomers() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let inner = engine.inner.unwrap();
        let registry = inner.rcu().registry();
        for n in 1..inner.arena.slots().len() as u32 {
            // Above every pid that the kernel gives out (PID_MAX_LIMIT is 2^22).
            let nobody = Identity { pid: (1 << 22) + n, tid: (1 << 22) + n, ..Identity::default() };
            let dead = registry.register(&nobody, Fences::Full, &mut |_, _| panic!("there is room")).unwrap();
            inner.arena.reserve_participant(dead.index()).unwrap();
            // Relaxed: nobody else looks yet.
            inner.arena.people(dead.index() + 1)[dead.index()].waiter.status.store(status::QUEUED, Relaxed);
        }
        assert!(std::thread::spawn(move || engine.semget(IPC_PRIVATE, 1, 0o600)).join().unwrap().is_ok());
        assert!(engine.semget(IPC_PRIVATE, 1, 0o600).is_ok());
        assert!(registry.high() > 16_000 && engine.participants().unwrap() < 3);
    }
}
