//! The engines: one interface, three ways.

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
use unspin_rcu::registry::Extent;
use unspin_rcu::{Fences, Rcu};
use unspin_sync::atomic::AtomicPtr;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sync::machine::{AtomicU64, Ordering};
use unspin_sys::process::{self, Identity, Life};
use unspin_sys::robust::Bond;
use unspin_sys::{Errno, membarrier, namespace, sched};

/// Where arenas lie unless told otherwise, and how their names begin.
pub(crate) const FOLDER: &str = "/dev/shm";
pub(crate) const PREFIX: &str = "unspin-sysv-";

/// How the paths of a user's usual arenas begin.
fn beginning(uid: u32) -> String {
    format!("{FOLDER}/{PREFIX}{uid}-")
}

/// Whether the path is that of a usual arena of the calling user, for whatever engine and namespace. The folder is open to
/// everybody, so somebody else may have put a file there.
pub(crate) fn is_usual(path: &Path) -> bool {
    let uid = unspin_sys::creds::Creds::current().uid;
    path.as_os_str().as_encoded_bytes().starts_with(beginning(uid).as_bytes())
}

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
        PathBuf::from(format!("{}{}-{kind}", beginning(uid), namespace::Ipc::current().inode))
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
        self.release_namesakes(who);
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

    /// Where the stack is not placed at random, `exec` can leave a thread the very name that it had in the image before, whose
    /// places then seem to be alive. A place of this image under that name is another copy's of this library.
    fn release_namesakes(&self, who: &Identity) {
        let image = process::image();
        let is_of_here = |namesake: unspin_rcu::Participant| {
            let person = self.people().get(namesake.index());
            // Relaxed: written by this very thread.
            person.is_none_or(|person| person.image.load(Relaxed) == image)
        };
        if image != 0 {
            self.rcu().registry().condemn_namesakes(who, &is_of_here);
        }
    }

    /// All participants that there ever were.
    #[inline]
    pub fn people(&self) -> &[Participant] {
        self.arena.people(self.rcu().registry().high())
    }

    /// Whether nobody can be executing under this participant index.
    pub fn is_dead(&self, index: u32) -> bool {
        let registry = self.rcu().registry();
        registry.participant(index as usize).is_none_or(|who| registry.life(who) == Life::Dead)
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
    use crate::participant::status;
    use unspin_sys::ipc::flag::IPC_PRIVATE;

    /// As `exec` by another thread leaves the place of the first one where the stack is not placed at random.
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
                    registry.register(&me, Fences::Full, &mut |_, _| panic!("there is room")).unwrap();
                inner.arena.reserve_participant(place.index()).unwrap();
                // Relaxed: nobody else looks.
                inner.people()[place.index()].image.store(image, Relaxed);
                place
            });
            assert_eq!(registry.life(former), Life::Alive, "nothing tells it from this one");
            assert_eq!(engine.participants(), Ok(2));
            assert_eq!((registry.life(former), registry.life(copy)), (Life::Dead, Life::Alive));
        })
        .join()
        .unwrap();
    }

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
