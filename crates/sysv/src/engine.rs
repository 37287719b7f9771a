//! The engines: one interface, three ways.

use crate::arena::{Arena, ArenaError, Options};
use crate::creds;
use crate::guard::{Guard, Held};
use crate::ipc::{self, Access, Id, Perm, Registry};
use crate::kind::Kind;
use crate::known::Known;
use crate::lock::{Discipline, Lock, Owner, Taken};
use crate::names::{Call, LockName};
use crate::participant::{Participant, status};
use crate::sem::{Section, Set, find_set, space, units_of};
use crate::thread::Thread;
use crate::{retire, sweep, wake};
use std::path::{Path, PathBuf};
use unspin_meter::{Event, Recording};
use unspin_rcu::registry::Extent;
use unspin_rcu::{Fences, Rcu};
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sync::machine::{AtomicU64, Ordering};
use unspin_sys::process::{self, Identity, Life};
use unspin_sys::{Errno, membarrier, sched};

static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// What an engine consists of. Made once, never dropped: threads refer to it until they end.
#[derive(Debug)]
pub(crate) struct Inner {
    pub number: u64,
    pub kind: Kind,
    pub arena: Arena,
    pub recording: Option<&'static Recording>,
    pub fences: Fences,
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
        let arena = Arena::open(arena, kind, options)?;
        let fences = match membarrier::register_global_expedited() {
            true => Fences::Expedited,
            false => Fences::Full,
        };
        // Relaxed: uniqueness is all that is asked.
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let inner = Box::leak(Box::new(Inner { number, kind, arena, recording, fences }));
        Ok(Engine { inner: Some(inner) })
    }

    /// The arena that processes of this user, IPC namespace and engine share unless told otherwise.
    pub fn default_arena(kind: Kind) -> PathBuf {
        let uid = unspin_sys::creds::Creds::current().uid;
        PathBuf::from(format!("/dev/shm/unspin-sysv-{uid}-{}-{kind}", process::ipc_namespace()))
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
    pub fn rcu(&self) -> Rcu<'_> {
        Rcu::new(&self.arena.header().domain.0, self.arena.slots())
    }

    /// Gives the calling thread a place. The last one is for a thread that finds all others taken: those of the dead
    /// who held something can be had back only by a participant. `ENOMEM` if the living fill the arena.
    pub fn register(&self, who: &Identity) -> Result<(unspin_rcu::Participant, Crowded), Errno> {
        let (domain, slots) = (&self.arena.header().domain.0, self.arena.slots());
        let claim = |slots| {
            let registry = Rcu::new(domain, slots).registry();
            registry.register(who, self.fences, &mut |dead, _| sweep::bury_if_clean(self, dead)).ok()
        };
        let common = &slots[..slots.len() - 1];
        for _ in 0..JOIN_ATTEMPTS {
            if let Some(participant) = claim(common) {
                return Ok((participant, Crowded::No));
            }
            if let Some(participant) = claim(slots) {
                return Ok((participant, Crowded::Yes));
            }
            // Somebody has the last place, and is burying the dead.
            sched::yield_now();
        }
        Err(Errno::ENOMEM)
    }

    /// All participants that there ever were.
    pub fn people(&self) -> &[Participant] {
        self.arena.people(self.rcu().registry().high())
    }

    /// The lock that protects a set: its own, or everybody's.
    pub fn lock_of<'a>(&'a self, set: &'a Set) -> &'a Lock {
        match self.kind {
            Kind::Global => &self.arena.header().global.0,
            _ => set.lock(),
        }
    }

    fn discipline(&self) -> Discipline {
        match self.kind {
            Kind::Global => Discipline::Spin,
            _ => Discipline::Park,
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

    fn acquire<'t>(
        &'static self,
        thread: &'t Thread,
        name: LockName,
        call: Call,
        lock: &'t Lock,
        discipline: Discipline,
    ) -> (Held<'t>, Taken) {
        let critical = thread.critical();
        thread.person().enter_busy();
        let (taken, waited) = match lock.try_acquire(thread.owner()) {
            true => (Taken::Clean, None),
            false => {
                let (taken, waited) =
                    lock.acquire_slow(thread.owner(), discipline, &|owner| self.is_dead_owner(owner));
                (taken, Some(waited))
            }
        };
        (Held::new(thread, lock, (name, call), waited, critical), taken)
    }

    /// Takes the lock of the set that `id` names, after `check` has passed, repairs it if need be, and begins a
    /// section. `EINVAL` if there is no such set, `EIDRM` if it was removed meanwhile.
    pub fn guard<'t>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        id: i32,
        check: impl FnOnce(&Set) -> Result<(), Errno>,
    ) -> Result<Guard<'t>, Errno> {
        if self.kind == Kind::Global {
            let held = self.global(thread, call);
            // The lock of all sets keeps a set from being removed, but not the table from being replaced.
            let _read = thread.read();
            let set = self.find(id)?;
            check(set.1)?;
            return Ok(Guard::new(self, held, set));
        }
        let _read = thread.read();
        let set = self.find(id)?;
        check(set.1)?;
        let held = self.hold_set(thread, call, set);
        // Within the read-side section, which outlives the lock if the answer is yes: nothing else would keep a removed
        // set, and the lock in it, from being freed. Of one that is not removed its lock keeps everybody off.
        match set.1.perm.is_deleted() {
            true => Err(Errno::EIDRM),
            false => Ok(Guard::new(self, held, set)),
        }
    }

    /// As [`Inner::guard`], for the set that a participant waits for. `None` if it waits no more.
    pub fn guard_waiting<'t>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        person: &Participant,
    ) -> Option<Guard<'t>> {
        // A set whose waiters have not all been ended is not retired: within the read-side section it stays.
        let _read = thread.read();
        // Acquire: partner of the Release in `Section::enqueue`.
        if !matches!(person.waiter.status.load(Acquire), status::QUEUED | status::SLEEPING | status::GRANTED)
        {
            return None;
        }
        // Relaxed: ordered by the Acquire above.
        let at = person.waiter.set.load(Relaxed);
        // A grant outlives its set: only the table says whether what lies there is still a set.
        ipc::objects(&self.arena).find(|&object| object == at)?;
        let set = (at, find_set(&self.arena, at)?);
        let held = match self.kind {
            Kind::Global => self.global(thread, call),
            _ => self.hold_set(thread, call, set),
        };
        // Within the read-side section: see `guard`.
        (!set.1.perm.is_deleted()).then(|| Guard::new(self, held, set))
    }

    /// Takes the lock of a set that cannot go away: found in a read-side section, or under the registry lock.
    pub fn guard_found<'t>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        set: (u64, &'static Set),
    ) -> Guard<'t> {
        let held = match self.kind {
            Kind::Global => self.global(thread, call),
            _ => self.hold_set(thread, call, set),
        };
        Guard::new(self, held, set)
    }

    fn hold_set<'t>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        (at, set): (u64, &'static Set),
    ) -> Held<'t> {
        // Relaxed: immutable once published.
        let name = LockName::Set(set.perm.id.load(Relaxed));
        let (held, taken) = self.acquire(thread, name, call, set.lock(), Discipline::Park);
        if taken == Taken::Inherited {
            self.repair(thread, at, set);
        }
        held
    }

    fn global<'t>(&'static self, thread: &'t Thread, call: Call) -> Held<'t> {
        let lock = &self.arena.header().global.0;
        let (held, taken) = self.acquire(thread, LockName::Global, call, lock, self.discipline());
        if taken == Taken::Inherited {
            let _read = thread.read();
            for at in ipc::objects(&self.arena) {
                if let Some(set) = find_set(&self.arena, at) {
                    self.repair(thread, at, set);
                }
            }
        }
        held
    }

    /// Takes the global lock over if `dead` holds it.
    pub fn inherit_global(&'static self, thread: &Thread, dead: u32) {
        if self.arena.header().global.0.owner().is_some_and(|owner| owner.index() == dead) {
            drop(self.global(thread, Call::Sweep));
        }
    }

    fn repair(&'static self, thread: &Thread, at: u64, set: &'static Set) {
        let mut section = Section::new(space(self, at, set), thread.index());
        section.repair();
        section.thaw();
        // Under the lock: a rare path, and simple. The dead cannot be buried under it: that is left to a patrol.
        for wake in section.wakes.iter() {
            wake::wake(self, wake);
        }
    }

    /// The set of `id`, if the thread may do `want` with it, from what the thread remembers: the chain of dependent
    /// loads through the table would be half the time of an uncontended operation. In a read-side section. `None` says
    /// only that the long way must be gone.
    #[inline(always)]
    pub fn recall(&'static self, thread: &'static Thread, id: i32, want: Access) -> Option<&'static Known> {
        let known = thread.remembered(id).or_else(|| self.learn(thread, id))?;
        known.may(want).then_some(known)
    }

    #[cold]
    fn learn(&'static self, thread: &'static Thread, id: i32) -> Option<&'static Known> {
        // Acquire: as in `Thread::remembered`. Both numbers before what they are to vouch for.
        let when = (thread.changes().load(Acquire), creds::epoch());
        let (at, set) = self.find(id).ok()?;
        let creds = thread.creds.read();
        let may = [Access::Read, Access::Alter].into_iter().filter(|&want| set.perm.allows(&creds, want));
        let known = thread.memory(id);
        known.learn(id, when, may.map(Access::bit).sum(), set, space(self, at, set).sems);
        Some(known)
    }

    /// The set of `id`, in a read-side section or under the lock of all sets.
    pub fn find(&'static self, id: i32) -> Result<(u64, &'static Set), Errno> {
        if id < 0 {
            return Err(Errno::EINVAL);
        }
        let at = ipc::find_index(&self.arena, Id(id).index());
        let set = find_set(&self.arena, at).ok_or(Errno::EINVAL)?;
        // Relaxed: immutable once published.
        match set.perm.id.load(Relaxed) == id && !set.perm.is_deleted() {
            true => Ok((at, set)),
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

    /// Runs `f` under the registry lock.
    pub fn with_registry<R>(
        &'static self,
        thread: &Thread,
        call: Call,
        f: impl FnOnce(&Registry<'static>) -> R,
    ) -> R {
        let lock = &self.arena.header().semaphores.0.lock;
        let (held, taken) = self.acquire(thread, LockName::Registry, call, lock, Discipline::Park);
        let registry =
            Registry { arena: &self.arena, rcu: self.rcu(), me: thread.person(), units_of: units_of_object };
        if taken == Taken::Inherited {
            registry.repair(&mut |object| self.evict(thread, object));
        }
        let reaped = retire::reap(&registry, thread);
        let result = f(&registry);
        drop(held);
        if reaped > 0 {
            count(thread, Event::GracePeriod, 1);
        }
        retire::work(self, thread);
        result
    }

    /// Marks a set as removed and ends all waits on it; returns its bytes. Under the registry lock.
    pub fn evict(&'static self, thread: &Thread, object: u64) -> u64 {
        let Some(set) = find_set(&self.arena, object) else { return 0 };
        self.guard_found(thread, Call::Rmid, (object, set)).section().remove();
        crate::sem::bytes(set)
    }
}

fn units_of_object(arena: &Arena, object: u64) -> u32 {
    units_of(arena, object)
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
