//! The engine's record of the calling thread.
//!
//! It lies in a page that is wiped on fork. So a child, however it was forked, finds that it has not joined, and joins
//! the arena as a new participant. A child that shares its parent's memory (vfork) acts as its parent.

use crate::busy::Locks;
use crate::cancel::{self, Manner};
use crate::creds::Cached;
use crate::engine::{Crowded, Inner};
use crate::kind::Kind;
use crate::known::{Known, Sems};
use crate::lock::Owner;
use crate::msg::{Limit, MessageQueue};
use crate::participant::Participant;
use crate::process::Process;
use crate::sweep::{self, Sweep};
use crate::wait::{Buffer, Waits};
use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use unspin_meter::{Event, Table};
use unspin_rcu::registry::SweepScope;
use unspin_rcu::{Domain, FenceMode, SectionToken, Slot};
use unspin_sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed},
};
use unspin_sync::machine::{Ordering::SeqCst, compiler_fence};
use unspin_sys::process::{self, Identity};
use unspin_sys::signal::{Mask, set_mask};
use unspin_sys::tls::{self, ExitKey, Word};
use unspin_sys::{Errno, clock, page};
use unspin_waiting::SiteHistory;

/// The record of one thread in one engine. All-zero bytes are valid: not joined.
///
/// Only the thread itself uses it, and signal handlers that interrupt the thread; therefore the fields are cells.
#[derive(Debug)]
pub(crate) struct Thread {
    /// Number of the engine; 0: not joined, or wiped by fork.
    engine: Cell<u64>,
    /// Whether this thread may use the engine's fast path. That needs the `rcu` engine, readers without fences, and
    /// deferred cancellation.
    plain: Cell<bool>,
    inner: Cell<Option<&'static Inner>>,
    slot: Cell<Option<&'static Slot>>,
    person: Cell<Option<&'static Participant>>,
    domain: Cell<Option<&'static Domain>>,
    changes: Cell<Option<&'static AtomicU64>>,
    participant: Cell<Option<unspin_rcu::ParticipantId>>,
    identity: Cell<Identity>,
    pid: Cell<u32>,
    /// The thread's process, once it is in the table of processes.
    pub process: Cell<Option<Process>>,
    /// The robust word of its process.
    pub life: Cell<Option<&'static AtomicU32>>,
    /// Whether this thread has no robust list, so that the kernel cannot announce its end.
    pub unlisted: Cell<bool>,
    pub creds: Cached,
    /// Whether the thread is freeing large blocks.
    pub frees: Cell<bool>,
    /// Number of locks that the thread holds or tries to take.
    locks: Cell<Locks>,
    /// Nesting depth of sections in which no signal handler may run.
    critical: Cell<u32>,
    /// Work to do after an operation: [`DEFERRED`] and [`METERED`].
    duties: Cell<u32>,
    mask: Cell<u64>,
    pub waits: Waits,
    /// Cache of recently used sets, indexed by the low bits of their ids.
    memory: [Known<Sems>; KNOWN],
    /// Cache of recently used queues.
    queues: [Known<(u64, &'static MessageQueue)>; KNOWN],
    pub message_limit: Limit,
    /// What the thread has learnt about the length of its waits.
    pub site: SiteHistory,
    /// Whether the thread is recovering dead participants.
    pub sweep: Cell<Sweep>,
    /// Number of calls that left the fast path.
    pub calls: Cell<u64>,
    /// Initialised while `duties` has [`METERED`].
    table: UnsafeCell<MaybeUninit<Table<'static>>>,
    next: Cell<Option<&'static Thread>>,
}

/// A signal handler was deferred; [`Thread::mask`] has the signal mask to restore.
const DEFERRED: u32 = 1;
/// Operations are counted in [`Thread::table`].
const METERED: u32 = 2;

const _: () = assert!(size_of::<Thread>() <= page::BYTES);

/// Number of sets, and of queues, that a thread caches.
const KNOWN: usize = 8;

impl Thread {
    /// The cache entry for a set with this id.
    #[inline(always)]
    pub fn memory(&self, id: i32) -> &Known<Sems> {
        &self.memory[id as usize % KNOWN]
    }

    /// The set of `id` if the thread has it cached. The caller is in a read-side section. `None` means only that the
    /// caller must ask [`Inner::recall`].
    #[inline(always)]
    pub fn remembered(&self, id: i32) -> Option<&Known<Sems>> {
        // Acquire: partner of the Release in `Arena::note_change`. If this section reads the count from before a
        // removal, the removal's grace period waits for this section, as it waits for a section that reads the table
        // from before the removal.
        let changes = self.changes().load(Acquire);
        let known = self.memory(id);
        known.is(id, changes).then_some(known)
    }

    /// The cache entry for a queue with this id, and whether it holds that queue.
    #[inline(always)]
    pub fn remembered_queue(&self, id: i32) -> (&Known<(u64, &'static MessageQueue)>, bool) {
        // Acquire: as in `remembered`.
        let changes = self.changes().load(Acquire);
        let known = &self.queues[id as usize % KNOWN];
        (known, known.is(id, changes))
    }

    /// The calling thread's record in the engine of this number, if it is the first in the thread's list of records.
    #[inline(always)]
    pub fn current(engine: u64) -> Option<&'static Thread> {
        let thread = first()?;
        (thread.engine.get() == engine).then_some(thread)
    }

    /// The calling thread's record in the engine that it joined last, if it may use that engine's fast path.
    #[inline(always)]
    pub fn plain() -> Option<&'static Thread> {
        first().filter(|thread| thread.plain.get())
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

    #[cold]
    fn join(inner: &'static Inner) -> Result<&'static Thread, Errno> {
        let mask = set_mask(Mask::ALL_BUT_FAULTS);
        let result = match list().find(|t| t.engine.get() == inner.number) {
            Some(thread) => Ok(thread),
            None => Thread::enrol(inner),
        };
        set_mask(mask);
        result
    }

    fn enrol(inner: &'static Inner) -> Result<&'static Thread, Errno> {
        let thread = match list().find(|t| t.engine.get() == 0) {
            Some(wiped) => wiped,
            None => Thread::allocate()?,
        };
        thread.take_part(inner)?;
        Ok(thread)
    }

    /// Makes the calling thread a participant, with this record.
    fn take_part(&'static self, inner: &'static Inner) -> Result<(), Errno> {
        let thread = self;
        let who = Identity::current();
        let (participant, crowded) = inner.register(&who)?;
        let index = participant.index();
        thread.memory.iter().for_each(Known::forget);
        thread.queues.iter().for_each(Known::forget);
        thread.inner.set(Some(inner));
        thread.slot.set(inner.arena.slots().get(index));
        thread.person.set(inner.arena.people(index + 1).last());
        thread.domain.set(Some(&inner.arena.header().domain.0));
        thread.changes.set(Some(&inner.arena.header().changes.0));
        thread.participant.set(Some(participant));
        thread.identity.set(who);
        thread.pid.set(who.pid);
        thread.locks.set(thread.person().busy.renew());
        // Relaxed: only this thread reads it.
        thread.person().image.store(process::image(), Relaxed);
        thread.frees.set(false);
        thread.process.set(None);
        thread.life.set(None);
        thread.unlisted.set(false);
        thread.site.reset();
        // After a fork, stack frames may still hold numbers of calls and waits from before the fork. The new numbers
        // must differ from those.
        thread.calls.set(clock::ticks());
        thread.waits.number_from(clock::ticks());
        if let Some(table) = inner.recording.and_then(|recording| recording.claim()) {
            // SAFETY: there is no other reference to the table: a new or wiped record has no duties.
            unsafe { (*thread.table.get()).write(table) };
            thread.duties.set(METERED);
        }
        thread.engine.set(inner.number);
        thread.choose_way();
        // Relaxed: read when all participants have ended.
        inner.arena.header().joined.fetch_add(1, Relaxed);
        tls::at_thread_exit(&EXIT, thread as *const Thread as usize);
        match crowded {
            Crowded::No => sweep::glance(inner, thread),
            Crowded::Yes => drop(sweep::sweep(inner, thread, SweepScope::All)),
        }
        Ok(())
    }

    /// Whether a fork has wiped the record, and the child has not called the engine since.
    pub fn is_wiped(&self) -> bool {
        self.inner.get().is_none()
    }

    /// Joins the engine again, with this same record, in a child that was forked in a signal handler and returns to a
    /// call of the engine that the handler had interrupted.
    #[cold]
    pub fn return_to(&'static self, inner: &'static Inner) {
        let mask = set_mask(Mask::ALL_BUT_FAULTS);
        // The child's stack frames refer to this record, so it must be that of a participant.
        self.take_part(inner).expect("the arena has a place for a child that returns to its parent's call");
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

    /// Decides whether this thread uses the fast path.
    pub fn choose_way(&self) {
        let inner = self.inner();
        let has_one = inner.kind == Kind::Rcu && inner.fences == FenceMode::Expedited;
        self.plain.set(has_one && cancel::manner() == Manner::Deferred);
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
    pub fn person(&self) -> &'static Participant {
        // SAFETY: as in `inner`.
        unsafe { self.person.get().unwrap_unchecked() }
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

    /// Enters a read-side section.
    #[inline(always)]
    pub fn read(&self) -> ReadSection<'_> {
        // SAFETY: as in `inner`.
        let (slot, domain) =
            unsafe { (self.slot.get().unwrap_unchecked(), self.domain.get().unwrap_unchecked()) };
        // SAFETY: 1. the slot was registered by this thread, and a forked child finds the record wiped; 2. it was
        // registered with these fences.
        let section = unsafe { slot.enter(domain, self.inner().fences) };
        ReadSection { thread: self, slot, section }
    }

    /// Enters a read-side section. Only for a thread from [`Thread::plain`]. `None` if it is in one already.
    #[inline(always)]
    pub fn read_outermost(&'static self) -> Option<OutermostSection> {
        // SAFETY: as in `inner`.
        let (slot, domain) =
            unsafe { (self.slot.get().unwrap_unchecked(), self.domain.get().unwrap_unchecked()) };
        // SAFETY: this thread registered the slot with expedited fences, as `plain` tells, and a forked child finds the
        // record wiped.
        let entered = unsafe { slot.try_enter_outermost(domain) };
        // Not `then_some`: its argument would be constructed, and dropped, in any case.
        entered.then(|| OutermostSection { thread: self })
    }

    /// Whether there is work to do after a section from [`Thread::read_outermost`]; usually there is none.
    #[inline(always)]
    pub fn has_duties(&self) -> bool {
        // The fence puts the end of the section before the load: handlers are deferred only within the section.
        compiler_fence(SeqCst);
        self.duties.get() != 0
    }

    /// Does the work that [`Thread::has_duties`] announces: counts `event`, and delivers a deferred signal.
    #[cold]
    pub fn attend(&self, event: Option<Event>) {
        if let (Some(table), Some(event)) = (self.table(), event) {
            table.count_event(event, 1);
        }
        self.deliver_if_due();
    }

    /// To be called before the thread takes a lock. The thread keeps the count in its own memory, because the arena may
    /// be overwritten. It publishes the count in the arena for threads that recover it if it dies.
    #[inline(always)]
    pub fn enter_busy(&self) {
        self.locks.set(self.locks.get().more());
        self.person().busy.enter(self.locks.get());
    }

    /// To be called when the thread has released a lock, or stops trying to take it for now.
    #[inline(always)]
    pub fn leave_busy(&self) {
        self.locks.set(self.locks.get().less());
        self.person().busy.leave(self.locks.get());
    }

    /// Whether the thread holds a lock or tries to take one.
    pub fn is_busy(&self) -> bool {
        !self.locks.get().is_none()
    }

    /// Whether a signal handler of the program must be deferred.
    pub fn is_critical(&self) -> bool {
        let reading = || Some(self.slot.get()?.is_reading(self.domain.get()?));
        self.critical.get() != 0 || reading() == Some(true)
    }

    /// Notes that a signal was deferred, and the signal mask of the program at that time.
    pub fn defer(&self, mask: u64) {
        if !self.has(DEFERRED) {
            self.mask.set(mask);
            self.duties.set(self.duties.get() | DEFERRED);
        }
    }

    #[inline(always)]
    fn has(&self, duty: u32) -> bool {
        self.duties.get() & duty != 0
    }

    /// Enters a section in which no signal handler of the program may run.
    #[inline(always)]
    pub fn critical(&self) -> Critical<'_> {
        let mask = crate::signal::masks().then(|| set_mask(Mask::ALL_BUT_FAULTS));
        self.critical.set(self.critical.get() + 1);
        compiler_fence(SeqCst);
        Critical { thread: self, mask }
    }

    #[cold]
    fn deliver(&self) {
        if !self.is_critical() {
            self.duties.set(self.duties.get() & !DEFERRED);
            set_mask(Mask(self.mask.get()));
        }
    }

    #[inline(always)]
    fn deliver_if_due(&self) {
        compiler_fence(SeqCst);
        if self.has(DEFERRED) {
            self.deliver();
        }
    }

    fn leave(&'static self) {
        let (Some(inner), Some(participant)) = (self.inner.get(), self.participant.get()) else { return };
        // A thread that was cancelled within a section stays registered: other threads find it dead, and repair what it
        // held.
        if self.engine.get() == inner.number && !self.is_critical() {
            let metered = self.has(METERED);
            self.duties.set(0);
            if metered && let Some(recording) = inner.recording {
                // SAFETY: it was written, and METERED is clear from now on, so it is taken only once.
                recording.release(unsafe { (*self.table.get()).assume_init_read() }, None);
            }
            crate::wait::interrupt(self, Buffer::Gone);
            inner.let_go(self);
            // SAFETY: registered by this thread. The thread is in no section and holds no lock (either would make it
            // critical). It has no wait: one that a jump out of a handler may have left was withdrawn just now.
            unsafe { inner.rcu().registry().unregister(participant) };
        }
        self.plain.set(false);
        self.engine.set(0);
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
pub(crate) fn joined() -> impl Iterator<Item = &'static Thread> {
    list().filter(|thread| thread.engine.get() != 0)
}

/// Ends the calling thread's participation in an engine.
pub(crate) fn leave(inner: &Inner) {
    let mask = set_mask(Mask::ALL_BUT_FAULTS);
    list().filter(|thread| thread.is_of(inner)).for_each(Thread::leave);
    set_mask(mask);
}

static EXIT: ExitKey = ExitKey::new(leave_all);

extern "C-unwind" fn leave_all(_: usize) {
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

/// Leaves the read-side section when dropped.
pub(crate) struct ReadSection<'t> {
    thread: &'t Thread,
    slot: &'static Slot,
    section: SectionToken,
}

impl Drop for ReadSection<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: entered by this thread. References found within do not outlive the section, except under a lock that
        // keeps their object from being removed.
        unsafe { self.slot.leave(self.section) };
        self.thread.deliver_if_due();
    }
}

/// Leaves the outermost read-side section when dropped. The owner of this value calls [`Thread::attend`] for what is
/// due then.
pub(crate) struct OutermostSection {
    /// The thread and not the slot: the thread is needed anyway, and a register costs more than a load.
    thread: &'static Thread,
}

impl Drop for OutermostSection {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: 1. the slot is set, as in `Thread::inner`; 2. the section was entered by this thread; references
        // found within do not outlive it.
        unsafe { self.thread.slot.get().unwrap_unchecked().leave_outermost() };
    }
}

/// Leaves the critical section when dropped.
pub(crate) struct Critical<'t> {
    thread: &'t Thread,
    mask: Option<Mask>,
}

impl Critical<'_> {
    /// Leaves the critical section, as dropping does. To be called at most once.
    #[inline(always)]
    pub fn leave(&self) {
        compiler_fence(SeqCst);
        self.thread.critical.set(self.thread.critical.get() - 1);
        self.thread.deliver_if_due();
        if let Some(mask) = self.mask {
            set_mask(mask);
        }
    }
}

impl Drop for Critical<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.leave();
    }
}
