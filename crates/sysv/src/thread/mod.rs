//! The engine's record of the calling thread.
//!
//! It lies in a page that is wiped on fork. So a child, however it was forked, finds that it has not joined, and joins
//! the arena as a new participant. A child that shares its parent's memory (vfork) acts as its parent.
//! When the thread ends, a destructor of thread-specific data gives its slot back (`join`).

pub(crate) mod cache;
pub mod cancel;
pub(crate) mod cancel_point;
pub(crate) mod join;
mod participant_word;
mod sections;
pub mod signal;
pub(crate) mod signal_policy;

pub(crate) use participant_word::ParticipantWord;
pub(crate) use sections::{Critical, OutermostSection, ReadSection};

use crate::engine::Inner;
use crate::msg::{MsgQueue, MsgmaxCache};
use crate::participant::ParticipantRecord;
use crate::recovery::process::Process;
use crate::registry::creds::Cached;
use crate::rules::SingleOp;
use crate::sync::lock::Owner;
use crate::sync::lock_count::OwnLockCount;
use crate::waiting::Waits;
use cache::{CachedObject, CachedSet};
use cancel_point::CancelType;
use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use unspin_rcu::{Domain, FenceMode, Slot};
use unspin_sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire};
use unspin_sys::process::Identity;
use unspin_sys::robust::RobustFutex;
use unspin_sys::tls::{self, Word};
use unspin_sys::{Errno, page};
use unspin_waiting::SiteHistory;
use unspin_wire::{Event, Table};

/// The record of one thread in one engine. All-zero bytes are valid: not joined.
///
/// Only the thread itself uses it, and signal handlers that interrupt the thread; therefore the fields are cells.
#[derive(Debug)]
pub(crate) struct Thread {
    /// Number of the engine; 0: not joined, or wiped by fork.
    engine: Cell<u64>,
    /// Whether this thread may use the engine's fast path. That needs the `rcu` engine, readers without fences, and
    /// deferred cancellation.
    has_fast_path: Cell<bool>,
    inner: Cell<Option<&'static Inner>>,
    slot: Cell<Option<&'static Slot>>,
    record: Cell<Option<&'static ParticipantRecord>>,
    domain: Cell<Option<&'static Domain>>,
    changes: Cell<Option<&'static AtomicU64>>,
    participant: Cell<Option<unspin_rcu::ParticipantId>>,
    identity: Cell<Identity>,
    pid: Cell<u32>,
    /// The thread's process, once it is in the table of processes.
    pub process: Cell<Option<Process>>,
    /// The robust word of its process.
    pub robust_word: Cell<Option<&'static AtomicU32>>,
    /// Whether this thread has no robust list, so that the kernel cannot announce its end.
    pub has_no_robust_list: Cell<bool>,
    /// Through it the thread holds the robust word of its participant: see [`crate::recovery`].
    pub robust_futex: RobustFutex,
    /// Whether the thread has that word.
    pub participant_word: Cell<ParticipantWord>,
    pub creds: Cached,
    /// Whether the thread is freeing large blocks.
    pub frees: Cell<bool>,
    /// Number of locks that the thread holds or tries to take.
    locks: Cell<OwnLockCount>,
    /// Nesting depth of sections in which no signal handler may run.
    critical: Cell<u32>,
    /// Work to do after an operation: [`DEFERRED`] and [`METERED`].
    deferred_work: Cell<u32>,
    mask: Cell<u64>,
    pub waits: Waits,
    /// Cache of recently used sets, indexed by the low bits of their ids.
    sets: [CachedObject<CachedSet>; CACHED],
    /// Cache of recently used queues.
    queues: [CachedObject<(u64, &'static MsgQueue)>; CACHED],
    pub message_limit: MsgmaxCache,
    /// What the thread has learnt about the length of its waits.
    pub site: SiteHistory,
    /// Whether the thread is recovering dead participants.
    pub sweep: Cell<SweepState>,
    /// Initialised while `deferred_work` has [`METERED`].
    table: UnsafeCell<MaybeUninit<Table<'static>>>,
    next: Cell<Option<&'static Thread>>,
}

/// A signal handler was deferred; [`Thread::mask`] has the signal mask to restore.
const DEFERRED: u32 = 1;
/// Operations are counted in [`Thread::table`].
const METERED: u32 = 2;

/// Whether a thread is recovering dead participants. Zero: it is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum SweepState {
    None = 0,
    Underway,
    /// It is, and has found another dead one.
    Again,
}

const _: () = assert!(size_of::<Thread>() <= page::BYTES);

/// Number of sets, and of queues, that a thread caches.
const CACHED: usize = 8;

impl Thread {
    /// The cache entry for a set with this id.
    #[inline(always)]
    pub fn set_entry(&self, id: i32) -> &CachedObject<CachedSet> {
        &self.sets[id as usize % CACHED]
    }

    /// The set of `id` if the thread has it cached. The caller is in a read-side section. `None` means only that the
    /// caller must ask [`Inner::cached_set_for`].
    #[inline(always)]
    pub fn cached_set(&self, id: i32) -> Option<&CachedObject<CachedSet>> {
        // Acquire: partner of the Release in `Arena::note_change`. If this section reads the count from before a
        // removal, the removal's grace period waits for this section, as it waits for a section that reads the table
        // from before the removal.
        let changes = self.changes().load(Acquire);
        let cached = self.set_entry(id);
        cached.is(id, changes).then_some(cached)
    }

    /// The cache entry for a queue with this id, and whether it holds that queue.
    #[inline(always)]
    pub fn cached_queue(&self, id: i32) -> (&CachedObject<(u64, &'static MsgQueue)>, bool) {
        // Acquire: as in `cached_set`.
        let changes = self.changes().load(Acquire);
        let cached = &self.queues[id as usize % CACHED];
        (cached, cached.is(id, changes))
    }

    /// The calling thread's record in the engine of this number, if it is the first in the thread's list of records.
    #[inline(always)]
    pub fn current(engine: u64) -> Option<&'static Thread> {
        let thread = first()?;
        (thread.engine.get() == engine).then_some(thread)
    }

    /// The calling thread's record in the engine that it joined last, if it may use that engine's fast path.
    #[inline(always)]
    pub fn fast_path_thread() -> Option<&'static Thread> {
        first().filter(|thread| thread.has_fast_path.get())
    }

    /// Whether this record belongs to that engine.
    #[inline(always)]
    pub fn is_of(&self, inner: &Inner) -> bool {
        self.engine.get() == inner.number
    }

    /// The calling thread's record; joins the engine if the thread has not. `ENOMEM` if the arena has no free slot,
    /// `ENOSYS` if it is damaged.
    #[inline]
    pub fn of(inner: &'static Inner) -> Result<&'static Thread, Errno> {
        inner.check()?;
        match Thread::current(inner.number) {
            Some(thread) => Ok(thread),
            None => Thread::join(inner),
        }
    }

    /// Whether a fork has wiped the record, and the child has not called the engine since.
    pub fn is_wiped(&self) -> bool {
        self.inner.get().is_none()
    }

    /// Decides whether this thread uses the fast path.
    pub fn choose_path(&self) {
        let inner = self.inner();
        let has_one =
            inner.rules.single_op == SingleOp::CompareAndSwap && inner.fences == FenceMode::Expedited;
        self.has_fast_path.set(has_one && cancel_point::cancel_type() == CancelType::Deferred);
    }

    /// The engine that the thread has joined.
    pub fn inner(&self) -> &'static Inner {
        // SAFETY: set before the engine's number, and only records with a number are handed out.
        unsafe { self.inner.get().unwrap_unchecked() }
    }

    /// The arena's count of changes, which invalidates the thread's caches.
    #[inline(always)]
    pub fn changes(&self) -> &'static AtomicU64 {
        // SAFETY: as in `inner`.
        unsafe { self.changes.get().unwrap_unchecked() }
    }

    /// The shared record of this thread, which other participants see.
    #[inline(always)]
    pub fn record(&self) -> &'static ParticipantRecord {
        // SAFETY: as in `inner`.
        unsafe { self.record.get().unwrap_unchecked() }
    }

    /// Participant index.
    #[inline(always)]
    pub fn index(&self) -> u32 {
        self.participant.get().map_or(0, |p| p.index() as u32)
    }

    /// This thread as the owner of a lock.
    #[inline(always)]
    pub fn owner(&self) -> Owner {
        // SAFETY: as in `inner`.
        let who = unsafe { self.participant.get().unwrap_unchecked() };
        Owner::new(who.index() as u32, who.generation())
    }

    /// This thread as a participant of the RCU registry.
    pub fn participant(&self) -> unspin_rcu::ParticipantId {
        self.participant.get().expect("set when the thread joined")
    }

    /// Pid, tid, start time, image and pid namespace, by which other processes identify this thread.
    pub fn identity(&self) -> Identity {
        self.identity.get()
    }

    /// Process id, for `sempid`.
    #[inline(always)]
    pub fn pid(&self) -> u32 {
        self.pid.get()
    }

    /// The meter's table, if this engine is metered.
    #[inline(always)]
    pub fn table(&self) -> Option<&Table<'static>> {
        // SAFETY: written before METERED was set, and dropped only by `leave`.
        self.has(METERED).then(|| unsafe { (*self.table.get()).assume_init_ref() })
    }

    /// Whether this engine is metered.
    #[inline(always)]
    pub fn is_metered(&self) -> bool {
        self.has(METERED)
    }

    #[inline(always)]
    fn has(&self, duty: u32) -> bool {
        self.deferred_work.get() & duty != 0
    }

    /// Counts an event, if this engine is metered.
    #[cold]
    pub fn count(&self, event: Event, n: u64) {
        if let Some(table) = self.table() {
            table.count_event(event, n);
        }
    }
}

#[inline(always)]
fn first() -> Option<&'static Thread> {
    let address = tls::value::<{ Word::Sysv as usize }>() as *const Thread;
    // SAFETY: the word is zero or the address that `allocate` stored. That page is unmapped only by `leave_all`, which
    // zeroes the word first.
    unsafe { address.as_ref() }
}

fn list() -> impl Iterator<Item = &'static Thread> {
    core::iter::successors(first(), |thread| thread.next.get())
}

/// The calling thread's records that are in use, of all engines.
pub(crate) fn records_in_use() -> impl Iterator<Item = &'static Thread> {
    list().filter(|thread| thread.engine.get() != 0)
}
