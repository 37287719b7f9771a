//! The three engines behind one interface.

mod find;
mod hold;
mod registry;

use crate::arena::{Arena, ArenaError, Options};
use crate::kind::Kind;
use crate::participant::Participant;
use crate::thread::{self, Thread};
use crate::{damage, sweep};
use std::path::{Path, PathBuf};
use unspin_meter::{Event, Recording};
use unspin_rcu::registry::SweepScope;
use unspin_rcu::{FenceMode, Rcu};
use unspin_sync::atomic::AtomicPtr;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sync::machine::{AtomicU64, Ordering};
use unspin_sys::process::{self, Identity, Liveness};
use unspin_sys::robust::RobustFutex;
use unspin_sys::{Errno, membarrier, namespace, sched};

/// The folder of the default arenas, and the prefix of their names.
pub(crate) const FOLDER: &str = "/dev/shm";
pub(crate) const PREFIX: &str = "unspin-sysv-";

/// The prefix of the paths of a user's default arenas.
fn beginning(uid: u32) -> String {
    format!("{FOLDER}/{PREFIX}{uid}-")
}

/// Whether the path is that of a default arena of the calling user, for any engine and namespace. Every user may write
/// to the folder, so another user may have put a file there.
pub(crate) fn is_usual(path: &Path) -> bool {
    let uid = unspin_sys::creds::Creds::current().uid;
    path.as_os_str().as_encoded_bytes().starts_with(beginning(uid).as_bytes())
}

static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The parts of an engine. Made once and never dropped: threads refer to it until they end.
#[derive(Debug)]
pub(crate) struct Inner {
    pub number: u64,
    pub kind: Kind,
    pub arena: Arena,
    pub recording: Option<&'static Recording>,
    pub fences: FenceMode,
    /// Through it one thread of this process holds the process's robust word: see [`crate::process`].
    pub robust_futex: RobustFutex,
    /// The engine that was opened before this one, a linked list: see [`crate::damage`].
    pub older: AtomicPtr<Inner>,
}

/// An engine: a handle that may be copied. The crate documentation has an example.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    pub(crate) inner: Option<&'static Inner>,
}

impl Engine {
    /// Opens an engine. `global` and `rcu` join the arena at `arena`, or make it; `kernel` ignores it. The arena stays
    /// mapped until the process ends.
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

    /// Like [`Engine::open`], but only for an arena that exists already: `None` if it does not.
    pub fn join(kind: Kind, arena: &Path) -> Result<Option<Engine>, ArenaError> {
        match kind {
            Kind::Kernel => Ok(Some(Engine { inner: None })),
            _ => Ok(Arena::find(arena, kind)?.map(|arena| Engine::over(arena, kind, None))),
        }
    }

    fn over(arena: Arena, kind: Kind, recording: Option<&'static Recording>) -> Engine {
        let fences = match membarrier::register_global_expedited() {
            true => FenceMode::Expedited,
            false => FenceMode::Full,
        };
        // Relaxed: the number only has to be unique.
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let inner = Inner {
            number,
            kind,
            arena,
            recording,
            fences,
            robust_futex: RobustFutex::new(),
            older: AtomicPtr::default(),
        };
        let inner = Box::leak(Box::new(inner));
        damage::watch(inner);
        inner.adopt();
        Engine { inner: Some(inner) }
    }

    /// The arena that processes with the same user, IPC namespace and engine share by default.
    pub fn default_arena(kind: Kind) -> PathBuf {
        let uid = unspin_sys::creds::Creds::current().uid;
        PathBuf::from(format!("{}{}-{kind}", beginning(uid), namespace::Ipc::current().inode))
    }

    /// Whether the arena was found truncated or overwritten. From then on calls fail with `ENOSYS`.
    pub fn is_damaged(&self) -> bool {
        self.inner.is_some_and(|inner| inner.check().is_err())
    }

    /// Removes the calling thread from the arena's participants. Its next call joins the arena as a new participant.
    /// For a thread that has moved to another IPC namespace, whose objects are in another engine.
    pub fn leave(&self) {
        if let Some(inner) = self.inner {
            thread::leave(inner);
        }
    }

    /// Looks for dead participants and releases what they held; returns how many slots in the arena became free.
    /// Calling it is never necessary, because a thread that a dead participant holds up finds it. It costs 5 us for
    /// each participant.
    pub fn bury_dead(&self) -> Result<usize, Errno> {
        match self.inner {
            Some(inner) => Ok(sweep::sweep(inner, Thread::of(inner)?, SweepScope::All)),
            None => Ok(0),
        }
    }

    /// Number of threads that participate in the arena, including the calling thread.
    pub fn participants(&self) -> Result<usize, Errno> {
        let Some(inner) = self.inner else { return Ok(0) };
        Thread::of(inner)?;
        let registry = inner.rcu().registry();
        Ok((0..registry.slots_ever_used()).filter(|&index| registry.participant(index).is_some()).count())
    }

    /// Which of the three engines this is.
    pub fn kind(&self) -> Kind {
        self.inner.map_or(Kind::Kernel, |inner| inner.kind)
    }
}

/// Whether a thread got the arena's last free slot, and so has to free others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Crowded {
    No,
    Yes,
}

/// How often a thread looks for a slot in a full arena. Each attempt takes as long as a look at every participant.
const JOIN_ATTEMPTS: usize = 4;

impl Inner {
    /// The engine that a link of the list of engines refers to.
    pub fn behind(link: &AtomicPtr<Inner>) -> Option<&'static Inner> {
        // Acquire: pairs with the Release stores in `damage::watch`.
        let inner = link.load(Acquire);
        // SAFETY: the pointer is null or refers to an engine, which is never freed.
        unsafe { inner.as_ref() }
    }

    /// Fails with `ENOSYS` once the arena is found damaged.
    #[inline]
    pub fn check(&self) -> Result<(), Errno> {
        if self.arena.is_whole() { Ok(()) } else { Err(Errno::ENOSYS) }
    }

    pub fn rcu(&self) -> Rcu<'_> {
        Rcu::new(&self.arena.header().domain.0, self.arena.slots())
    }

    /// Gives the calling thread a slot, with memory for its record. The memory is reserved before the slot is claimed,
    /// because other threads look at the records of all slots that were ever used. The last slot is for a thread that
    /// finds all others taken: slots of dead participants that held something can be freed only by a participant.
    /// `ENOMEM` if living participants fill the arena.
    pub fn register(&self, who: &Identity) -> Result<(unspin_rcu::ParticipantId, Crowded), Errno> {
        let (domain, slots) = (&self.arena.header().domain.0, self.arena.slots());
        self.release_namesakes(who);
        let claim = |places: usize| {
            self.arena.reserve_participant(places - 1).map_err(|_| Errno::ENOMEM)?;
            let registry = Rcu::new(domain, &slots[..places]).registry();
            Ok(registry.register(who, self.fences, &mut |dead, _| sweep::bury_if_clean(self, dead)).ok())
        };
        let (common, all) = (slots.len() - 1, slots.len());
        let (mut places, mut attempts) = (0, 0);
        while attempts < JOIN_ATTEMPTS {
            // One slot more than were ever used, and one more than in the last attempt: other threads may have claimed
            // slots meanwhile, or died before they did.
            let used = self.rcu().registry().slots_ever_used();
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
            // Another thread has the last slot and is recovering dead participants.
            attempts += 1;
            sched::yield_or_sleep();
        }
        Err(Errno::ENOMEM)
    }

    /// Marks the stale slots of this thread as dead. Where the stack address is not randomized, `exec` can leave a
    /// thread with the same identity that it had in the previous image, so that its old slots seem to be alive. A slot
    /// with that identity that belongs to this image belongs to another copy of this library, and is kept.
    fn release_namesakes(&self, who: &Identity) {
        let image = process::image();
        let is_of_here = |namesake: unspin_rcu::ParticipantId| {
            let person = self.people().get(namesake.index());
            // Relaxed: written by this same thread.
            person.is_none_or(|person| person.image.load(Relaxed) == image)
        };
        if image != 0 {
            self.rcu().registry().mark_stale_slots_dead(who, &is_of_here);
        }
    }

    /// The records of all slots that were ever used.
    #[inline]
    pub fn people(&self) -> &[Participant] {
        self.arena.people(self.rcu().registry().slots_ever_used())
    }

    /// Whether no thread can be executing as the participant with this index.
    pub fn is_dead(&self, index: u32) -> bool {
        let registry = self.rcu().registry();
        registry.participant(index as usize).is_none_or(|who| registry.liveness(who) == Liveness::Dead)
    }
}

#[cold]
pub(crate) fn count(thread: &Thread, event: Event, n: u64) {
    if let Some(table) = thread.table() {
        table.count_event(event, n);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::participant::status;
    use unspin_sys::ipc::flag::IPC_PRIVATE;

    /// The state of a slot after an `exec` by another thread, where the stack address is not randomized.
    #[test]
    fn the_place_of_a_former_image_of_the_same_name_is_found() {
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
                inner.people()[place.index()].image.store(image, Relaxed);
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
    fn an_arena_full_of_dead_waiters_takes_newcomers() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let inner = engine.inner.unwrap();
        let registry = inner.rcu().registry();
        for n in 1..inner.arena.slots().len() as u32 {
            // Above every pid that the kernel assigns (PID_MAX_LIMIT is 2^22).
            let nobody = Identity { pid: (1 << 22) + n, tid: (1 << 22) + n, ..Identity::default() };
            let dead =
                registry.register(&nobody, FenceMode::Full, &mut |_, _| panic!("there is room")).unwrap();
            inner.arena.reserve_participant(dead.index()).unwrap();
            // Relaxed: no other thread reads it yet.
            inner.arena.people(dead.index() + 1)[dead.index()].waiter.status.store(status::QUEUED, Relaxed);
        }
        assert!(std::thread::spawn(move || engine.semget(IPC_PRIVATE, 1, 0o600)).join().unwrap().is_ok());
        assert!(engine.semget(IPC_PRIVATE, 1, 0o600).is_ok());
        assert!(registry.slots_ever_used() > 16_000 && engine.participants().unwrap() < 3);
    }
}
