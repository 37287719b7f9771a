//! The engine's state of the calling thread.
//!
//! It lies in a page that is wiped on fork, so that a child, whichever way it was made, finds itself unknown and
//! joins the arena under its own name. A child that shares its parent's memory (vfork) acts as its parent.

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
use unspin_rcu::registry::Extent;
use unspin_rcu::{Domain, Fences, Section, Slot};
use unspin_sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed},
};
use unspin_sync::machine::{Ordering::SeqCst, compiler_fence};
use unspin_sys::process::{self, Identity};
use unspin_sys::signal::{Mask, set_mask};
use unspin_sys::tls::{self, ExitKey, Word};
use unspin_sys::{Errno, clock, page};
use unspin_waiting::Site;

/// One thread in one engine. Valid when zeroed: of no engine.
///
/// Only the thread itself touches it, and signal handlers that interrupt the thread: hence cells.
#[derive(Debug)]
pub(crate) struct Thread {
    /// Number of the engine; 0: not joined, or wiped by fork.
    engine: Cell<u64>,
    /// Whether this thread may use the engine's fast path: an engine that has one, and readers without fences.
    plain: Cell<bool>,
    inner: Cell<Option<&'static Inner>>,
    slot: Cell<Option<&'static Slot>>,
    person: Cell<Option<&'static Participant>>,
    domain: Cell<Option<&'static Domain>>,
    changes: Cell<Option<&'static AtomicU64>>,
    participant: Cell<Option<unspin_rcu::Participant>>,
    identity: Cell<Identity>,
    pid: Cell<u32>,
    /// Its process, once that has been entered into the table of processes.
    pub process: Cell<Option<Process>>,
    /// The word that tells of the end of its process.
    pub life: Cell<Option<&'static AtomicU32>>,
    /// Whether this thread has no list of words by which its end could be told.
    pub unlisted: Cell<bool>,
    pub creds: Cached,
    /// Whether the thread is freeing large blocks.
    pub frees: Cell<bool>,
    /// Locks that the thread holds or tries to take.
    locks: Cell<Locks>,
    /// Depth of sections that no signal handler may run in.
    critical: Cell<u32>,
    /// What is to be done after an operation: [`DEFERRED`] and [`METERED`].
    duties: Cell<u32>,
    mask: Cell<u64>,
    pub waits: Waits,
    /// Sets used lately, by the low bits of their ids.
    memory: [Known<Sems>; KNOWN],
    /// Queues used lately.
    queues: [Known<(u64, &'static MessageQueue)>; KNOWN],
    pub message_limit: Limit,
    /// What the thread has learnt about its waits.
    pub site: Site,
    /// Burials of this thread.
    pub sweep: Cell<Sweep>,
    /// Calls so far that left the fast path.
    pub calls: Cell<u64>,
    /// Initialised while `duties` has [`METERED`].
    table: UnsafeCell<MaybeUninit<Table<'static>>>,
    next: Cell<Option<&'static Thread>>,
}

/// A signal handler was put off; the mask to restore is in [`Thread::mask`].
const DEFERRED: u32 = 1;
/// Operations are counted in [`Thread::table`].
const METERED: u32 = 2;

const _: () = assert!(size_of::<Thread>() <= page::BYTES);

/// Sets that a thread remembers, and queues.
const KNOWN: usize = 8;

impl Thread {
    /// The place where a set of this id is remembered.
    #[inline(always)]
    pub fn memory(&self, id: i32) -> &Known<Sems> {
        &self.memory[id as usize % KNOWN]
    }

    /// The set of `id` if the thread remembers it. In a read-side section. `None` says only that [`Inner::recall`] must
    /// be asked.
    #[inline(always)]
    pub fn remembered(&self, id: i32) -> Option<&Known<Sems>> {
        // Acquire: partner of the Release in `Arena::note_change`. A section that reads a number from before a removal
        // is one that the removal's grace period waits for, just as one that reads the table from before it.
        let changes = self.changes().load(Acquire);
        let known = self.memory(id);
        known.is(id, changes).then_some(known)
    }

    /// The place where a queue of this id is remembered, and whether it is.
    #[inline(always)]
    pub fn remembered_queue(&self, id: i32) -> (&Known<(u64, &'static MessageQueue)>, bool) {
        // Acquire: as in `remembered`.
        let changes = self.changes().load(Acquire);
        let known = &self.queues[id as usize % KNOWN];
        (known, known.is(id, changes))
    }

    /// The calling thread, if it has joined the engine of this number and is first in its list.
    #[inline(always)]
    pub fn current(engine: u64) -> Option<&'static Thread> {
        let thread = first()?;
        (thread.engine.get() == engine).then_some(thread)
    }

    /// The calling thread in the engine that it joined last, if it may use that engine's fast path.
    #[inline(always)]
    pub fn plain() -> Option<&'static Thread> {
        first().filter(|thread| thread.plain.get())
    }

    /// Whether this is the thread's state in that engine.
    #[inline(always)]
    pub fn is_of(&self, inner: &Inner) -> bool {
        self.engine.get() == inner.number
    }

    /// The calling thread; joins the engine if it has not. `ENOMEM` if the arena has no place left, `ENOSYS` if it is
    /// damaged.
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

    /// Makes the thread a participant, of which this is the record.
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
        // Relaxed: read by this thread alone.
        thread.person().image.store(process::image(), Relaxed);
        thread.frees.set(false);
        thread.process.set(None);
        thread.life.set(None);
        thread.unlisted.set(false);
        thread.site.forget();
        // Calls and waits that a fork has brought here along, in frames of the stack, know theirs by numbers from before.
        thread.calls.set(clock::ticks());
        thread.waits.number_from(clock::ticks());
        if let Some(table) = inner.recording.and_then(|recording| recording.claim()) {
            // SAFETY: nobody else has a reference: no duty is set in a new or wiped record.
            unsafe { (*thread.table.get()).write(table) };
            thread.duties.set(METERED);
        }
        thread.engine.set(inner.number);
        thread.choose_way();
        // Relaxed: read when all who took part have ended.
        inner.arena.header().joined.fetch_add(1, Relaxed);
        tls::at_thread_exit(&EXIT, thread as *const Thread as usize);
        match crowded {
            Crowded::No => sweep::glance(inner, thread),
            Crowded::Yes => drop(sweep::sweep(inner, thread, Extent::All)),
        }
        Ok(())
    }

    /// Whether a fork has wiped the record, and the child has not called the engine since.
    pub fn is_wiped(&self) -> bool {
        self.inner.get().is_none()
    }

    /// A child that was made in a signal handler returns to a call that the handler has interrupted.
    #[cold]
    pub fn return_to(&'static self, inner: &'static Inner) {
        let mask = set_mask(Mask::ALL_BUT_FAULTS);
        // Its frames know this record, and must find a participant in it.
        self.take_part(inner).expect("the arena has a place for a child that returns to its parent's call");
        set_mask(mask);
    }

    fn allocate() -> Result<&'static Thread, Errno> {
        let page = page::take()?;
        // SAFETY: 1. a zeroed page is a valid `Thread`: all of its fields are cells of integers, of options of
        // references, or uninitialised; 2. it is given back by `leave_all` alone, when the thread ends.
        let thread: &'static Thread = unsafe { page.cast::<Thread>().as_ref() };
        thread.next.set(first());
        tls::word(Word::Sysv).set(thread as *const Thread as usize);
        Ok(thread)
    }

    /// Decides whether this thread uses the fast path.
    pub fn choose_way(&self) {
        let inner = self.inner();
        let has_one = inner.kind == Kind::Rcu && inner.fences == Fences::Expedited;
        self.plain.set(has_one && cancel::manner() == Manner::Deferred);
    }

    /// The engine.
    pub fn inner(&self) -> &'static Inner {
        // SAFETY: set before the engine's number, without which no thread is handed out.
        unsafe { self.inner.get().unwrap_unchecked() }
    }

    /// Counts what makes the thread forget what it remembers of the table.
    #[inline(always)]
    pub fn changes(&self) -> &'static AtomicU64 {
        // SAFETY: as in `inner`.
        unsafe { self.changes.get().unwrap_unchecked() }
    }

    /// What other participants see of this thread.
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

    /// This thread in the registry.
    pub fn participant(&self) -> unspin_rcu::Participant {
        self.participant.get().expect("set when the thread joined")
    }

    /// This thread to others.
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
        // SAFETY: 1. the slot was registered by this thread, and a forked child finds the record wiped; 2. with
        // these fences.
        let section = unsafe { slot.enter(domain, self.inner().fences) };
        ReadSection { thread: self, slot, section }
    }

    /// Enters a read-side section of a thread from [`Thread::plain`]; `None` if it is in one already.
    #[inline(always)]
    pub fn read_outermost(&'static self) -> Option<OutermostSection> {
        // SAFETY: as in `inner`.
        let (slot, domain) =
            unsafe { (self.slot.get().unwrap_unchecked(), self.domain.get().unwrap_unchecked()) };
        // SAFETY: the slot was registered by this thread with expedited fences, which `plain` says, and a forked child
        // finds the record wiped.
        let entered = unsafe { slot.try_enter_outermost(domain) };
        // Not `then_some`: what that is given exists, and is dropped, in any case.
        entered.then(|| OutermostSection { thread: self })
    }

    /// What is to be done after a section from [`Thread::read_outermost`]; usually nothing.
    #[inline(always)]
    pub fn has_duties(&self) -> bool {
        // The section's end before the question: a handler is put off only within.
        compiler_fence(SeqCst);
        self.duties.get() != 0
    }

    /// Does it.
    #[cold]
    pub fn attend(&self, event: Option<Event>) {
        if let (Some(table), Some(event)) = (self.table(), event) {
            table.count(event, 1);
        }
        self.deliver_if_due();
    }

    /// The thread is about to take a lock. It counts by itself, as what lies in the arena may be overwritten, and others are
    /// told of the count, who bury it if it dies.
    #[inline(always)]
    pub fn enter_busy(&self) {
        self.locks.set(self.locks.get().more());
        self.person().busy.enter(self.locks.get());
    }

    /// The thread has released a lock, or does not try to take it for now.
    #[inline(always)]
    pub fn leave_busy(&self) {
        self.locks.set(self.locks.get().less());
        self.person().busy.leave(self.locks.get());
    }

    /// Whether the thread holds a lock or tries to take one.
    pub fn is_busy(&self) -> bool {
        !self.locks.get().is_none()
    }

    /// Whether a signal handler must wait.
    pub fn is_critical(&self) -> bool {
        let reading = || Some(self.slot.get()?.is_reading(self.domain.get()?));
        self.critical.get() != 0 || reading() == Some(true)
    }

    /// Notes that a signal was put off, and the mask that its program had.
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

    /// Enters a section that no signal handler of the program may run in.
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
        // A thread that was cancelled in the middle of a section leaves its name: it is found dead, and what it
        // held is repaired.
        if self.engine.get() == inner.number && !self.is_critical() {
            let metered = self.has(METERED);
            self.duties.set(0);
            if metered && let Some(recording) = inner.recording {
                // SAFETY: it was written, and METERED is clear from now on: it is taken once.
                recording.release(unsafe { (*self.table.get()).assume_init_read() }, None);
            }
            crate::wait::interrupt(self, Buffer::Gone);
            inner.let_go(self);
            // SAFETY: registered by this thread, in no section, without a lock (that would be critical), and without a
            // wait, which a jump out of a handler may have left and which was withdrawn just now.
            unsafe { inner.rcu().registry().unregister(participant) };
        }
        self.plain.set(false);
        self.engine.set(0);
    }
}

#[inline(always)]
fn first() -> Option<&'static Thread> {
    let address = tls::value::<{ Word::Sysv as usize }>() as *const Thread;
    // SAFETY: the word is zero or what `allocate` put there, which is unmapped only by `leave_all`, which zeroes it.
    unsafe { address.as_ref() }
}

fn list() -> impl Iterator<Item = &'static Thread> {
    core::iter::successors(first(), |thread| thread.next.get())
}

/// All engines' records of the calling thread that are in use.
pub(crate) fn joined() -> impl Iterator<Item = &'static Thread> {
    list().filter(|thread| thread.engine.get() != 0)
}

/// Makes the calling thread unknown to an engine.
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
        // SAFETY: the page is the thread's own, reachable from the word that was zeroed and from nowhere else.
        unsafe { page::give_back(NonNull::from(thread).cast()) };
    }
    set_mask(mask);
}

/// Leaves the read-side section when dropped.
pub(crate) struct ReadSection<'t> {
    thread: &'t Thread,
    slot: &'static Slot,
    section: Section,
}

impl Drop for ReadSection<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: entered by this thread; references found within do not outlive it, except under a lock that keeps
        // their object from being removed.
        unsafe { self.slot.leave(self.section) };
        self.thread.deliver_if_due();
    }
}

/// Leaves the outermost read-side section when dropped. What the thread then has to do is left to
/// [`Thread::attend`].
pub(crate) struct OutermostSection {
    /// Not the slot: the thread is needed anyway, and a register is scarcer than a load.
    thread: &'static Thread,
}

impl Drop for OutermostSection {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: 1. the slot is set, as in `Thread::inner`; 2. entered by this thread; references found within do not
        // outlive it.
        unsafe { self.thread.slot.get().unwrap_unchecked().leave_outermost() };
    }
}

/// Leaves the critical section when dropped.
pub(crate) struct Critical<'t> {
    thread: &'t Thread,
    mask: Option<Mask>,
}

impl Critical<'_> {
    /// Leaves it; what dropping does. Once.
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
