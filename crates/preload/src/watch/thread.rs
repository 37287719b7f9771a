//! The calling thread's table, and the operations on it at every use of a lock.
//!
//! It lies in a page that is wiped on fork. So a child finds no table, and claims its own. A child that shares its
//! parent's memory (vfork) records as its parent.

use super::frames::{self, Frame};
use super::sample_rng::SampleRng;
use super::wrappers::{self, Caller, WrapperCandidates};
use super::{modules, recording};
use crate::swap::plan;
use crate::{departure, sandbox};
use core::cell::Cell;
use core::ptr::NonNull;
use unspin_sys::signal::{Mask, block, set_mask};
use unspin_sys::tls::{self, Word};
use unspin_sys::{clock, page, process};
use unspin_wire::{
    AttemptOutcome, Event, HeldLock, Key, Level, RecordKind, Recording, Registers, RowRef, Table, TallyCount,
};

/// A thread that records. Valid when zeroed: not known yet.
pub struct Thread {
    phase: Cell<u32>,
    /// Acquisitions until the next hold that is timed.
    countdown: Cell<u32>,
    /// One hold in this many is timed; 0 at level `counts`, which tracks no holds.
    every: Cell<u32>,
    random: SampleRng,
    /// The mutex that a wait for a condition has released and will lock again.
    waiting: Cell<u64>,
    /// The kind of wake-up and the condition of the thread's latest wait, until the thread wakes another one, or waits
    /// again; 0 if there is none. [`Object::held`] of a row that counts woken threads.
    woken: Cell<u64>,
    /// The latest wait that a signal ended; its condition is 0 if the thread has signalled that condition since.
    woken_from: Cell<WokenFrom>,
    candidates: WrapperCandidates,
    recording: Cell<Option<&'static Recording>>,
}

/// A wait for a condition that a signal has ended. Valid when zeroed: none.
#[derive(Clone, Copy)]
pub struct WokenFrom {
    /// The address of the condition.
    pub condition: usize,
    /// The key of the mutex in the list of held locks.
    pub mutex: u64,
    /// The row of the condition.
    pub row: RowRef,
    /// The row of the mutex that the wait has locked again.
    pub again: RowRef,
    /// The end of the wait, in ticks.
    pub at: u64,
}

impl WokenFrom {
    const NONE: WokenFrom =
        WokenFrom { condition: 0, mutex: 0, row: RowRef::NONE, again: RowRef::NONE, at: 0 };
}

const _: () = assert!(size_of::<Thread>() <= page::BYTES && size_of::<Table<'static>>() <= page::BYTES);

/// The table exists, no times are recorded, and libc serves all mutexes.
const COUNTED: u32 = 1;
/// The table exists, times are recorded, and libc serves all mutexes.
const TIMED: u32 = 2;
/// The table exists, and some mutexes may be replaced.
const PLANNED: u32 = 3;
/// The thread is not recorded: nothing is, or it is being set up, or there was no room.
const ABSENT: u32 = 4;
/// The thread is not recorded, as nothing is, and libc serves all mutexes.
const IDLE: u32 = 5;

/// Stands for every thread if nothing is recorded.
static NOT_RECORDED: NotRecorded = NotRecorded::new(ABSENT);
/// The same if there is no plan either.
static NOTHING_TO_DO: NotRecorded = NotRecorded::new(IDLE);

#[repr(transparent)]
struct NotRecorded(Thread);

// SAFETY: no thread writes to a `Thread` that is absent or idle.
unsafe impl Sync for NotRecorded {}

impl NotRecorded {
    const fn new(phase: u32) -> NotRecorded {
        NotRecorded(Thread {
            phase: Cell::new(phase),
            countdown: Cell::new(0),
            every: Cell::new(0),
            random: SampleRng::new(),
            waiting: Cell::new(0),
            woken: Cell::new(0),
            woken_from: Cell::new(WokenFrom::NONE),
            candidates: WrapperCandidates::none(),
            recording: Cell::new(None),
        })
    }

    fn is(thread: &Thread) -> bool {
        core::ptr::eq(thread, &raw const NOT_RECORDED.0) || core::ptr::eq(thread, &raw const NOTHING_TO_DO.0)
    }
}

/// How often a thread may set up a table again after its destructors have begun to run: PTHREAD_DESTRUCTOR_ITERATIONS
/// (limits.h). After that no destructor would release the table.
const MAX_DEPARTURES: usize = 4;

/// The registers of a hook that has not returned: its stack pointer at its entry, and the frame-base register at that
/// time.
#[derive(Clone, Copy)]
pub struct Hook {
    sp: usize,
    bp: usize,
}

impl Hook {
    /// # Safety
    /// `sp` and `bp` are what `entry` passes to a hook. The hook does not pass this value on, and has not returned.
    #[inline(always)]
    pub unsafe fn new(sp: usize, bp: usize) -> Hook {
        Hook { sp, bp }
    }

    /// The address to which the hook returns.
    #[inline(always)]
    pub fn return_address(self) -> usize {
        // SAFETY: at the entry of a function the stack pointer points to the return address (psABI), and the hook has
        // not returned.
        unsafe { *(self.sp as *const usize) }
    }

    /// The return addresses of the callers of the hook's caller, innermost first, as far as unwind tables tell.
    pub fn callers(self) -> impl Iterator<Item = usize> {
        let first = Frame { address: self.return_address(), at: self.sp, bp: Some(self.bp) };
        core::iter::successors(frames::caller(first), |&frame| frames::caller(frame))
            .map(|frame| frame.address)
    }

    /// The caller: the first function, from the hook on, that is not a known [wrapper](wrappers).
    #[inline(always)]
    fn caller(self) -> Caller {
        // SAFETY: `new`'s promise.
        unsafe { wrappers::caller(self.sp, self.bp) }
    }

    /// The same, as a position on the stack.
    fn call_position(self) -> wrappers::CallPosition {
        // SAFETY: `new`'s promise.
        unsafe { wrappers::outermost(self.sp, self.bp) }
    }

    /// The registers from which an unwinder starts.
    fn registers(self) -> Registers {
        Registers {
            ip: self.return_address() as u64,
            sp: (self.sp + size_of::<usize>()) as u64,
            bp: self.bp as u64,
        }
    }
}

/// The object that a hook was called for.
#[derive(Clone, Copy)]
pub struct Object {
    /// The kind of object, or how it is used.
    pub kind: RecordKind,
    /// The address of the object.
    pub address: usize,
}

impl Object {
    /// The object at a pointer.
    #[inline(always)]
    pub fn new<T>(kind: RecordKind, pointer: *const T) -> Object {
        Object { kind, address: pointer as usize }
    }

    /// The key of the object in the list of locks that a thread holds.
    #[inline(always)]
    pub fn held(self) -> u64 {
        Key::new(self.kind, self.address, 0).lock
    }

    #[inline(always)]
    fn used_by(self, caller: usize) -> Key {
        Key::new(self.kind, self.address, caller)
    }
}

/// How a thread is recorded.
pub enum Known {
    /// No times are recorded, and libc serves all mutexes.
    Counted(&'static Thread),
    /// Times are recorded, and libc serves all mutexes.
    Timed(&'static Thread),
    /// Some mutexes may be replaced.
    Planned(&'static Thread),
    /// Not at all.
    Absent,
    /// Not at all, and libc serves all mutexes.
    Idle,
    /// Not decided yet: [`Thread::current`] decides.
    Unknown,
}

/// To be called before the program begins.
pub fn prepare() {
    sandbox::set_notice(&ON_FILTER);
}

/// Counts seccomp filters in the tally and in the recording.
static ON_FILTER: sandbox::Notice = sandbox::Notice { before: before_filter, after: after_filter };

/// To read the plan and to claim a table takes system calls.
fn before_filter() {
    let _ = (plan::get(), Thread::current());
}

fn after_filter() {
    if let Some(plan) = plan::get() {
        plan.count(TallyCount::Filters);
    }
    if let Some(thread) = Thread::current() {
        thread.table().count_event(Event::SeccompFilter, 1);
    }
}

impl Thread {
    /// The calling thread, if it is recorded.
    #[inline(always)]
    pub fn current() -> Option<&'static Thread> {
        match Thread::known() {
            Known::Counted(thread) | Known::Timed(thread) | Known::Planned(thread) => Some(thread),
            Known::Absent | Known::Idle => None,
            Known::Unknown => Thread::unknown(),
        }
    }

    /// The calling thread, as far as that is known in a few instructions.
    #[inline(always)]
    pub fn known() -> Known {
        let address = tls::value::<{ Word::Meter as usize }>() as *const Thread;
        // SAFETY: the word is zero or the address of a `Thread`: a static one, or a page that only `leave` gives back,
        // after it has zeroed the word.
        let Some(thread) = (unsafe { address.as_ref() }) else { return Known::Unknown };
        match thread.phase.get() {
            COUNTED => Known::Counted(thread),
            TIMED => Known::Timed(thread),
            PLANNED => Known::Planned(thread),
            ABSENT => Known::Absent,
            IDLE => Known::Idle,
            _ => Known::Unknown,
        }
    }

    #[cold]
    #[inline(never)]
    fn unknown() -> Option<&'static Thread> {
        if recording::is_off() {
            let all = if plan::is_on() { &NOT_RECORDED } else { &NOTHING_TO_DO };
            tls::word(Word::Meter).set(&raw const *all as usize);
            return None;
        }
        Thread::arrive(recording::get()?)
    }

    fn arrive(recording: &'static Recording) -> Option<&'static Thread> {
        let word = tls::word(Word::Meter);
        // SAFETY: as in `current`.
        let known = unsafe { (word.get() as *const Thread).as_ref() };
        let is_absent = known.is_some_and(|thread| matches!(thread.phase.get(), ABSENT | IDLE));
        if is_absent || departures().get() >= MAX_DEPARTURES || sandbox::is_closed() {
            return None;
        }
        let mask = block(Mask::ALL_BUT_SIGBUS);
        let thread = known.or_else(|| {
            // SAFETY: a zeroed page is a valid `Thread`: cells of integers and of an option of a reference, and a table
            // that the phase marks as absent.
            page::take().ok().map(|page| unsafe { page.cast::<Thread>().as_ref() })
        });
        let ready = thread.filter(|thread| {
            word.set(*thread as *const Thread as usize);
            // Functions called from here on may use locks.
            thread.phase.set(ABSENT);
            thread.begin(recording)
        });
        set_mask(mask);
        ready
    }

    /// Claims a table. Returns whether there was one.
    fn begin(&'static self, recording: &'static Recording) -> bool {
        let Some(table) = recording.claim() else { return false };
        self.every.set(match recording.level() {
            Level::Counts => 0,
            Level::Sampled { every } => every,
            Level::Full => 1,
        });
        self.countdown.set(self.every.get());
        self.random.begin(clock::ticks());
        self.recording.set(Some(recording));
        // SAFETY: the thread lies in a page of its own, and its phase is ABSENT: no hook uses the table.
        unsafe { page::behind(self).cast::<Table<'static>>().write(table) };
        self.phase.set(match self.every.get() {
            _ if plan::is_on() => PLANNED,
            0 => COUNTED,
            _ => TIMED,
        });
        departure::expect();
        true
    }

    /// The thread's table. It lies behind the thread's page, where a fork does not wipe it: a signal handler that forks
    /// returns in the child to a hook that goes on with the parent's table. What that hook records may be lost, and
    /// the child's next hook finds that the thread has no table yet.
    #[inline(always)]
    pub fn table(&self) -> &Table<'static> {
        // SAFETY: 1. `known` has returned this thread, so it lies in a page of its own, and `begin` has written the
        // table behind that page; 2. a child inherits it.
        unsafe { &*page::behind(self).cast() }
    }

    /// Whether times are recorded at all.
    #[inline(always)]
    pub fn has_clock(&self) -> bool {
        self.every.get() != 0
    }

    /// The current time in ticks; 0 if no times are recorded.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        if self.has_clock() { clock::ticks() } else { 0 }
    }

    /// Counts an attempt as one without a wait, and returns its row. `held` is the key, in the list of held locks, of
    /// the lock that the caller will release later; 0 if there is none.
    #[inline(always)]
    pub fn attempt(&self, object: Object, held: u64, hook: Hook) -> Option<RowRef> {
        match self.attempt_direct(object, hook) {
            Some(row) => Some(row),
            None => self.attempt_indirect(object, held, hook),
        }
    }

    /// The same if the hook's caller is known to be no wrapper, and has a row. Nearly every attempt ends here.
    #[inline(always)]
    pub fn attempt_direct(&self, object: Object, hook: Hook) -> Option<RowRef> {
        self.table().count_direct_attempt(object.used_by(hook.return_address()))
    }

    #[cold]
    #[inline(never)]
    fn attempt_indirect(&self, object: Object, held: u64, hook: Hook) -> Option<RowRef> {
        let Caller { address, is_direct } = hook.caller();
        let key = object.used_by(address);
        let Some(row) = self.table().count_known_attempt(key) else {
            return self.first_attempt(key, held, hook);
        };
        if is_direct {
            self.table().remember_direct(key, row);
        }
        Some(row)
    }

    #[cold]
    #[inline(never)]
    fn first_attempt(&self, key: Key, held: u64, hook: Hook) -> Option<RowRef> {
        let row = self.publish(key, hook)?;
        if held != 0 {
            self.candidates.add(held, hook.call_position());
        }
        self.table().count_attempt(row);
        Some(row)
    }

    /// The row of this use of an object; no attempt is counted.
    pub fn row(&self, object: Object, hook: Hook) -> Option<RowRef> {
        let key = object.used_by(hook.caller().address);
        self.table().find(key).or_else(|| self.publish(key, hook))
    }

    fn publish(&self, key: Key, hook: Hook) -> Option<RowRef> {
        let recording = self.recording.get()?;
        if recording.is_lost() {
            // The file was cut short. From the next hook on the thread is not recorded; its table is not given back.
            self.phase.set(ABSENT);
            return None;
        }
        if sandbox::is_closed() {
            self.table().count_dropped();
            return None;
        }
        modules::cover(recording, self.table(), key.caller);
        let row = self.table().publish(key);
        if row.is_none() {
            self.table().count_dropped();
        }
        recording.keep_stack(self.table(), key, hook.registers());
        row
    }

    /// Records that the thread has acquired a lock without a wait.
    #[inline(always)]
    pub fn acquired(&self, lock: u64, row: RowRef) {
        if self.has_clock() {
            self.begin_hold(lock, row);
        }
    }

    /// The same in a thread of which times are recorded.
    #[inline(always)]
    pub fn begin_hold(&self, lock: u64, row: RowRef) {
        // Never 0 in a thread that is recorded: a handler has forked since the hook began, and this is the child.
        if self.countdown.get() == 0 {
            return;
        }
        let since = self.start_of_hold(clock::ticks);
        self.table().begin_hold(lock, row, since, None);
    }

    /// Records that the thread has acquired a lock at time `now`, after this many ticks of spinning and of sleep.
    /// Whether the hold is timed does not depend on the wait; otherwise the holds of contended locks would stand for
    /// all holds.
    pub fn acquired_after(&self, lock: u64, row: RowRef, now: u64, spun: u64, slept: u64) {
        if self.has_clock() {
            let since = self.start_of_hold(|| now);
            self.table().begin_hold(lock, row, since, Some((spun, slept)));
        }
    }

    /// Records that the thread has acquired a lock that it holds already: an attempt, but no new hold.
    pub fn acquired_again(&self, lock: u64, row: RowRef) {
        if self.has_clock() {
            if self.start_of_hold(clock::ticks) != 0 {
                self.table().add_hold(row, 0);
            }
            self.table().begin_hold(lock, row, 0, None);
        }
    }

    /// The start of a hold that begins now; 0 if this hold is not timed. At level `sampled` the next hold to be timed is
    /// chosen at random.
    #[inline(always)]
    fn start_of_hold(&self, now: impl FnOnce() -> u64) -> u64 {
        let left = self.countdown.get();
        if left > 1 {
            self.countdown.set(left - 1);
            return 0;
        }
        let now = now();
        let every = self.every.get();
        if every > 1 {
            self.countdown.set(self.random.draw(every));
        }
        now
    }

    /// The time at which the hold ends, in a thread of which times are recorded, for
    /// [`after_unlock`](Thread::after_unlock). Only the thread that holds the lock can take it.
    #[inline(always)]
    pub fn before_unlock(&self, lock: u64) -> u64 {
        if self.every.get() == 1 || self.table().is_timed(lock) { clock::ticks() } else { 0 }
    }

    /// Records that the thread has released a lock, at the time that [`before_unlock`](Thread::before_unlock) returned.
    #[inline(always)]
    pub fn after_unlock(&self, lock: u64, now: u64) {
        // A handler has forked since the hook began, and this is the child.
        if !self.has_clock() {
            return;
        }
        match self.table().end_last_hold(lock) {
            Some((_, 0)) => {}
            Some((row, since)) => self.table().add_hold(row, now.saturating_sub(since)),
            None => self.after_unlock_slow(lock, now),
        }
    }

    #[cold]
    #[inline(never)]
    fn after_unlock_slow(&self, lock: u64, now: u64) {
        match self.table().end_hold(lock) {
            Some(held) => self.end_hold(&held, held.row_ref(), now),
            None => self.foreign_unlock(lock, now),
        }
    }

    /// Records the end of a hold in a row of this thread.
    pub fn end_hold(&self, held: &HeldLock, row: RowRef, now: u64) {
        if held.since != 0 {
            self.table().add_hold(row, now.saturating_sub(held.since));
        }
        if let Some((spun, slept)) = held.wait {
            self.table().add_wait(row, AttemptOutcome::Slept, spun, slept);
        }
    }

    /// Records the release of a lock that another thread acquired, or that no thread was seen to acquire.
    fn foreign_unlock(&self, lock: u64, now: u64) {
        if self.waiting.get() == lock {
            // A wait for a condition was cancelled. Its mutex was locked again, unseen by the meter.
            return self.waiting.set(0);
        }
        let taken = self
            .recording
            .get()
            .and_then(|recording| recording.take_over(self.table(), lock, TABLES_SEARCHED));
        let Some(held) = taken else { return self.table().count_event(Event::Unmatched, 1) };
        // The row belongs to the other thread, which alone writes to it. The hold is recorded in a row of this thread
        // with the same key.
        let own = self.table().key(held.row_ref()).and_then(|key| {
            let table = self.table();
            table.find(key).or_else(|| table.publish(key))
        });
        if let Some(row) = own {
            self.end_hold(&held, row, now);
        }
    }

    /// Whether it is not yet known of some function that acquired a lock whether it is a wrapper.
    #[inline(always)]
    pub fn has_candidates(&self) -> bool {
        !self.candidates.is_empty()
    }

    /// To be called before a lock is released: decides whether the function that acquired it is a wrapper, if that is
    /// not yet known.
    #[inline(always)]
    pub fn classify_wrapper(&self, lock: u64, hook: Hook) {
        if !self.candidates.is_empty() && !sandbox::is_closed() {
            self.candidates.classify(lock, hook.sp);
        }
    }

    /// Notes the mutex that a wait for a condition releases for a while; 0: the thread holds it again.
    pub fn set_waiting(&self, lock: u64) {
        self.waiting.set(lock);
    }

    /// Notes what has ended the thread's latest wait for a condition: [`Object::held`] of the row that counts it.
    pub fn set_woken(&self, woken: u64) {
        self.woken.set(woken);
    }

    /// What [`set_woken`](Thread::set_woken) has noted, which is forgotten.
    pub fn take_woken(&self) -> u64 {
        self.woken.replace(0)
    }

    /// Notes the latest wait that a signal has ended.
    pub fn set_woken_from(&self, wait: Option<WokenFrom>) {
        self.woken_from.set(wait.unwrap_or(WokenFrom::NONE));
    }

    /// Records a hold of a lock that the program has built from a condition and a mutex, if this is its end: the thread
    /// was woken from the condition, has released the mutex since, has locked it again, and wakes the next thread.
    pub fn gave_back(&self, condition: usize, now: u64) {
        let from = self.woken_from.get();
        if from.condition != condition {
            return;
        }
        let Some(hold) = self.table().latest_hold(from.mutex) else { return };
        if hold.row_ref() != from.again {
            self.table().add_hold(from.row, now.saturating_sub(from.at));
            self.woken_from.set(WokenFrom::NONE);
        }
    }

    fn leave(&'static self) {
        if !matches!(self.phase.replace(ABSENT), COUNTED | TIMED | PLANNED) {
            return;
        }
        // SAFETY: the table was written, and the phase is ABSENT now, so it is taken once only.
        let table = unsafe { page::behind(self).cast::<Table<'static>>().read() };
        if let Some(recording) = self.recording.get() {
            recording.release(table, process::thread_times());
        }
    }
}

/// In how many threads' tables to look for a lock that is released by another thread than the one that acquired it.
const TABLES_SEARCHED: usize = 1024;

/// How often this thread has given up its table.
fn departures() -> &'static Cell<usize> {
    tls::word(Word::Preload)
}

/// Gives back the table and the page of the calling thread, at its end.
pub fn leave() {
    let word = tls::word(Word::Meter);
    // SAFETY: as in `Thread::current`.
    if let Some(thread) = unsafe { (word.get() as *const Thread).as_ref() } {
        if NotRecorded::is(thread) {
            return;
        }
        word.set(0);
        departures().set(departures().get() + 1);
        thread.leave();
        // SAFETY: the page belonged to this thread alone. Only the word pointed to it, and the word is zeroed.
        unsafe { page::give_back(NonNull::from(thread).cast()) };
    }
}
