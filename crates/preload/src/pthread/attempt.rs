//! What the hooks of all locks record: an attempt, possibly a wait, a hold.

use super::holder::Holder;
use crate::watch::{Hook, Object, Thread};
use core::ffi::c_int;
use libc::EOWNERDEAD;
use unspin_locks::Waited;
use unspin_sys::clock;
use unspin_wire::{AttemptOutcome, RecordKind, RowRef};

/// An attempt to acquire an object, by a thread that is recorded. It is counted first as one without a wait.
#[derive(Clone, Copy)]
pub struct Attempt {
    /// The calling thread.
    pub thread: &'static Thread,
    /// The row in which it is counted.
    pub row: RowRef,
    /// The key of the lock in the list of locks that the thread holds; 0 for an object that is not held.
    held: u64,
}

impl Attempt {
    /// An attempt at a lock that the thread will release later. `None` if the thread is not recorded.
    #[inline(always)]
    pub fn at_lock(object: Object, hook: Hook) -> Option<Attempt> {
        Attempt::new(Thread::current()?, object, object.held(), hook)
    }

    /// An attempt at an object that is not held afterwards. `None` if the thread is not recorded.
    #[inline(always)]
    pub fn at(object: Object, hook: Hook) -> Option<Attempt> {
        Attempt::new(Thread::current()?, object, 0, hook)
    }

    /// An attempt by this thread. `held` is the key of the lock that it will release later; 0 if there is none.
    #[inline(always)]
    pub fn new(thread: &'static Thread, object: Object, held: u64, hook: Hook) -> Option<Attempt> {
        let row = thread.attempt(object, held, hook)?;
        Some(Attempt { thread, row, held })
    }

    /// [`at_lock`](Self::at_lock) by this thread, if that takes a few instructions only; else `None`, and nothing is counted.
    #[inline(always)]
    pub fn direct(thread: &'static Thread, object: Object, hook: Hook) -> Option<Attempt> {
        let row = thread.attempt_direct(object, hook)?;
        Some(Attempt { thread, row, held: object.held() })
    }

    /// The attempt that [`direct`](Self::direct) has just counted.
    pub fn find_counted(thread: &'static Thread, object: Object, hook: Hook) -> Option<Attempt> {
        let row = thread.row(object, hook)?;
        Some(Attempt { thread, row, held: object.held() })
    }

    /// Whether the thread has the lock already, as the meter has seen.
    pub fn is_repeated(self) -> bool {
        self.thread.table().holds(self.held)
    }

    /// The thread has acquired the lock without a wait.
    #[inline(always)]
    pub fn record_acquired(self) {
        self.thread.record_acquired(self.held, self.row);
    }

    /// [`record_acquired`](Self::record_acquired), in a thread of which times are recorded.
    #[inline(always)]
    pub fn begin_hold(self) {
        self.thread.begin_hold(self.held, self.row);
    }

    /// The thread has acquired a lock that it holds already.
    pub fn record_acquired_again(self) {
        self.thread.record_acquired_again(self.held, self.row);
    }

    /// The thread did not get the object, and did not wait for it.
    #[cold]
    pub fn record_rejected(self) {
        self.thread.table().reclassify_attempt(self.row, AttemptOutcome::NoWait, AttemptOutcome::Rejected);
    }

    /// Ends an attempt that did not block with its return value.
    #[inline(always)]
    pub fn end(self, code: c_int) -> c_int {
        if is_success(code) {
            self.record_acquired()
        } else {
            self.record_rejected()
        }
        code
    }

    /// The thread begins to wait for the lock. `owner` is the id of the thread that holds it, 0 if it is not known.
    pub fn begin_wait(self, object: Object, owner: u32, limit: WaitLimit) -> LockWait {
        self.thread.table().reclassify_attempt(self.row, AttemptOutcome::NoWait, AttemptOutcome::Slept);
        let begin = self.thread.now();
        note_wait_start(self.thread, self.row, begin, limit);
        LockWait { attempt: self, begin, holder: Holder::find(self.thread, object, owner) }
    }
}

/// What ends a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WaitLimit {
    /// Only the acquisition.
    None,
    /// The acquisition or a deadline.
    Deadline,
}

/// Records that a wait begins now, at a time in ticks; at time 0, if no times are recorded, nothing.
pub fn note_wait_start(thread: &Thread, row: RowRef, begin: u64, limit: WaitLimit) {
    match limit {
        WaitLimit::Deadline if begin != 0 => thread.table().set_timed_wait_start(row, begin),
        WaitLimit::Deadline | WaitLimit::None => thread.table().set_wait_start(row, begin),
    }
}

/// How a thread waited for a lock that was not free.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum HowWaited {
    /// It slept.
    Asleep,
    /// It spun for a while; whether it slept then is not known.
    SpinningFirst,
    /// It spun; the lock has reported so.
    Spinning,
    /// It did not wait: the lock had become free in the meantime.
    NotAtAll,
}

impl From<Waited> for HowWaited {
    fn from(waited: Waited) -> HowWaited {
        match waited {
            Waited::Slept => HowWaited::Asleep,
            Waited::Spun => HowWaited::Spinning,
            Waited::No => HowWaited::NotAtAll,
        }
    }
}

/// A wait for a lock.
pub struct LockWait {
    attempt: Attempt,
    /// In ticks; 0 if no times are recorded.
    begin: u64,
    /// None if no times are recorded.
    holder: Option<Holder>,
}

/// Upper limit of glibc's spinning before it sleeps: a hundred pauses (MAX_ADAPTIVE_COUNT).
const SPINNING_MAX_NS: u64 = 4_000;

impl LockWait {
    /// The beginning of the wait, in ticks; 0 if no times are recorded.
    pub fn begin(&self) -> u64 {
        self.begin
    }

    /// The call that blocked has returned this value.
    pub fn end(self, code: c_int, how: HowWaited) -> c_int {
        let Attempt { thread, row, held } = self.attempt;
        let table = thread.table();
        let end = thread.now();
        table.set_wait_start(row, 0);
        let wait = end.saturating_sub(self.begin);
        if is_success(code) && how == HowWaited::NotAtAll {
            table.reclassify_attempt(row, AttemptOutcome::Slept, AttemptOutcome::NoWait);
            thread.record_acquired(held, row);
            return code;
        }
        let is_spin = match how {
            HowWaited::Spinning => true,
            HowWaited::SpinningFirst => thread.has_clock() && wait <= clock::ticks_in(SPINNING_MAX_NS),
            HowWaited::Asleep | HowWaited::NotAtAll => false,
        };
        let (spun, slept) = if is_spin { (wait, 0) } else { (0, wait) };
        if is_success(code) {
            thread.record_acquired_after(held, row, end, spun, slept);
            if is_spin {
                table.reclassify_attempt(row, AttemptOutcome::Slept, AttemptOutcome::Spun);
            }
        } else {
            table.reclassify_attempt(row, AttemptOutcome::Slept, AttemptOutcome::Rejected);
            if thread.has_clock() {
                table.add_wait(row, AttemptOutcome::Rejected, spun, slept);
            }
        }
        if let Some(holder) = self.holder {
            holder.note(thread, spun, slept);
        }
        code
    }
}

/// The end of a hold, by a thread that is recorded.
#[derive(Clone, Copy)]
pub struct Release {
    thread: &'static Thread,
    held: u64,
    at: u64,
}

impl Release {
    /// To be called before the lock is released. `None` if the meter needs to know nothing more of it.
    #[inline(always)]
    pub fn begin(thread: &'static Thread, object: Object, hook: Hook) -> Option<Release> {
        thread.classify_wrapper(object.held(), hook);
        thread.has_clock().then(|| Release::of(thread, object))
    }

    /// [`begin`](Self::begin), in a thread of which times are recorded, and which has no candidates.
    #[inline(always)]
    pub fn of(thread: &'static Thread, object: Object) -> Release {
        let held = object.held();
        Release { thread, held, at: thread.before_unlock(held) }
    }

    /// The time of the release, in ticks; 0 if the hold is not timed.
    pub fn time(self) -> u64 {
        self.at
    }

    /// Sets the time of the release, in ticks.
    pub fn set_time(&mut self, at: u64) {
        self.at = at;
    }

    /// The call that released the lock has returned this value.
    #[inline(always)]
    pub fn end(self, code: c_int) -> c_int {
        if code == 0 {
            self.thread.after_unlock(self.held, self.at);
        }
        code
    }
}

/// Records where an object was initialised.
#[cold]
pub fn record_init<T>(object: *const T, hook: Hook) {
    if let Some(attempt) = Attempt::at(Object::new(RecordKind::Init, object), hook) {
        attempt.thread.table().record_init(attempt.row, attempt.thread.now());
    }
}

/// Whether the lock was acquired: EOWNERDEAD means that the owner of a robust mutex has died, and that the caller has
/// acquired it.
#[inline(always)]
pub fn is_success(code: c_int) -> bool {
    code == 0 || code == EOWNERDEAD
}
