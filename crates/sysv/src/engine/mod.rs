//! The engines behind one interface.

mod classes;
mod find;
pub(crate) mod guard;
mod hold;
mod inner;
pub(crate) mod lock_names;
mod object;
mod reclaim;
mod registry;

pub(crate) use inner::Inner;
pub(crate) use object::{Object, ObjectSection};

use crate::arena_file::{ArenaError, Options, default_path};
use crate::kind::Kind;
use crate::recovery::{damage, sweep};
use crate::rules::Rules;
use crate::store::Arena;
use crate::thread::{self, Thread};
use std::path::{Path, PathBuf};
use unspin_rcu::FenceMode;
use unspin_rcu::registry::SweepScope;
use unspin_sync::atomic::AtomicPtr;
use unspin_sync::machine::{AtomicU64, Ordering};
use unspin_sys::robust::RobustFutex;
use unspin_sys::{Errno, membarrier, namespace};
use unspin_waiting::PollParameters;
use unspin_wire::Recording;

static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// An engine: a handle that may be copied. The crate documentation has an example.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    pub(crate) inner: Option<&'static Inner>,
}

impl Engine {
    /// Opens an engine. It joins the arena at `arena`, or makes it; `kernel` ignores it. The arena stays mapped until the
    /// process ends.
    ///
    /// With a `recording` the engine's locks are metered into it.
    pub fn open(
        kind: Kind,
        arena: &Path,
        options: &Options,
        recording: Option<&'static Recording>,
    ) -> Result<Engine, ArenaError> {
        match kind.rules() {
            None => Ok(Engine { inner: None }),
            Some(rules) => {
                let arena = Arena::open(arena, kind, options)?;
                Ok(Engine::over(arena, (kind, rules), options.wake_up_ns, recording))
            }
        }
    }

    /// Like [`Engine::open`], but only for an arena that exists already: `None` if it does not.
    pub fn join(kind: Kind, arena: &Path) -> Result<Option<Engine>, ArenaError> {
        match kind.rules() {
            None => Ok(Some(Engine { inner: None })),
            Some(rules) => {
                let wake_up_ns = Options::default().wake_up_ns;
                let found = Arena::find(arena, kind)?;
                Ok(found.map(|arena| Engine::over(arena, (kind, rules), wake_up_ns, None)))
            }
        }
    }

    fn over(
        arena: Arena,
        (kind, rules): (Kind, Rules),
        wake_up_ns: u64,
        recording: Option<&'static Recording>,
    ) -> Engine {
        let fences = match membarrier::register_global_expedited() {
            true => FenceMode::Expedited,
            false => FenceMode::Full,
        };
        // Relaxed: the number only has to be unique.
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let inner = Inner {
            number,
            kind,
            rules,
            arena,
            recording,
            fences,
            polling: match wake_up_ns {
                0 => PollParameters::default(),
                ns => PollParameters::new(ns),
            },
            robust_futex: RobustFutex::new(),
            older: AtomicPtr::default(),
        };
        let inner = Box::leak(Box::new(inner));
        damage::register(inner);
        inner.retake_robust_word();
        Engine { inner: Some(inner) }
    }

    /// The arena that processes with the same user, IPC namespace and engine share by default: in `/dev/shm`, or in the first of
    /// [`ARENA_FOLDERS`](crate::ARENA_FOLDERS) that has room for one.
    pub fn default_arena(kind: Kind) -> PathBuf {
        default_path::of_caller(&format!("{}-{kind}", namespace::Ipc::current().inode))
    }

    /// Whether the arena was found truncated or overwritten. From then on calls fail with `ENOSYS`.
    pub fn is_damaged(&self) -> bool {
        self.inner.is_some_and(|inner| inner.check().is_err())
    }

    /// Removes the calling thread from the arena's participants. Its next call joins the arena as a new participant.
    /// For a thread that has moved to another IPC namespace, whose objects are in another engine.
    pub fn leave(&self) {
        if let Some(inner) = self.inner {
            thread::join::leave(inner);
        }
    }

    /// Looks for dead participants and releases what they held; returns how many slots in the arena became free.
    /// Calling it is never necessary, because a thread that a dead participant holds up finds it. It costs 5 us for
    /// each participant.
    pub fn recover_dead(&self) -> Result<usize, Errno> {
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
        Ok((0..registry.high_water_mark()).filter(|&index| registry.participant(index).is_some()).count())
    }

    /// Which of the engines this is.
    pub fn kind(&self) -> Kind {
        self.inner.map_or(Kind::Kernel, |inner| inner.kind)
    }
}
