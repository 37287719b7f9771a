//! Held locks, and sections that end when dropped.

use crate::engine::Inner;
use crate::engine::lock_names::{self, Call, LockName};
use crate::engine::{Object, ObjectSection};
use crate::sync::lock::{Lock, Taken, Waited};
use crate::thread::{Critical, ReadSection, Thread};
use crate::time;
use crate::waiting::wake;
use unspin_wire::{AttemptOutcome, Event, Sample, Table};

/// A lock that is held. When dropped it is released, and then recorded by the meter.
pub(crate) struct Held<'t> {
    thread: &'t Thread,
    /// None once the lock is released.
    lock: Option<&'t Lock>,
    name: LockName,
    call: Call,
    waited: Option<Waited>,
    since: u64,
    /// Whether the lock was taken over from a dead owner, and what it protects was repaired.
    repaired: bool,
    /// Keeps signal handlers from running until everything else here is dropped.
    critical: Critical<'t>,
}

impl<'t> Held<'t> {
    /// A lock that was just taken for the call `call`. `waited` is the time waited, `None` if the lock was free.
    #[inline(always)]
    pub fn new(
        thread: &'t Thread,
        lock: &'t Lock,
        (name, call): (LockName, Call),
        waited: Option<Waited>,
        critical: Critical<'t>,
    ) -> Self {
        let since = if thread.table().is_some() { time::ticks() } else { 0 };
        Held { thread, lock: Some(lock), name, call, waited, since, repaired: false, critical }
    }

    /// Releases the lock. Signal handlers are still deferred until this value is dropped.
    #[inline(always)]
    fn release(&mut self) {
        let Some(lock) = self.lock.take() else { return };
        let until = if self.since != 0 { time::ticks() } else { 0 };
        lock.release();
        self.thread.uncount_lock();
        if self.repaired {
            // The dead owner's wake-ups are due too. A receiver that is found dead is marked, and recovered by the next
            // thread that may: this one may be in a read-side section.
            wake::wake_news(self.thread.inner(), |_| true);
        }
        if let Some(table) = self.thread.table() {
            self.record(table, until);
        }
    }

    /// Notes that what the lock protects is being repaired, because its owner died. The release then makes the wake-ups
    /// that are due. Returns the thread that holds the lock.
    #[cold]
    pub fn note_repair(&mut self) -> &'t Thread {
        self.repaired = true;
        self.thread
    }

    #[cold]
    fn record(&self, table: &Table<'_>, until: u64) {
        let waited = self.waited.unwrap_or_default();
        let outcome = match self.waited {
            None => AttemptOutcome::NoWait,
            Some(Waited { slept: 0, .. }) => AttemptOutcome::Spun,
            Some(_) => AttemptOutcome::Slept,
        };
        let hold = until.wrapping_sub(self.since);
        let sample = Sample { outcome, hold, spun: waited.spun, slept: waited.slept };
        table.record(lock_names::key(self.name, self.call), &sample);
    }
}

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.release();
    }
}

impl Inner {
    /// Runs `f` in a section on an object that was found in the read-side section `read`. That section ends once the
    /// object's lock is held. `None` if the object is removed.
    ///
    /// Like [`Inner::guard_alive`], but in place. A guard that is moved, or passed to the function that drops it, is
    /// written to memory and read again in pieces of other sizes; that takes a third of the time of an uncontended
    /// call.
    #[inline(always)]
    pub fn within<'t, O: Object, R>(
        &'static self,
        thread: &'t Thread,
        call: Call,
        (at, object): (u64, &'static O),
        read: ReadSection<'t>,
        f: impl FnOnce(&mut O::Section) -> R,
    ) -> Option<R> {
        let (name, lock, critical) = (self.name_of(object), self.lock_of(object), thread.critical());
        let (taken, waited) = self.take(thread, name, lock);
        let held = Held::new(thread, lock, (name, call), waited, critical);
        let mut guard = Guard { inner: self, section: object.section(self, at, thread.index()), held };
        if taken == Taken::OwnerDied {
            self.recover(&mut guard.held, (at, object));
        }
        // Checked within the read-side section: see `lock_alive`.
        if object.perm().is_deleted() {
            return None;
        }
        drop(read);
        guard.section.open(self);
        let result = f(&mut guard.section);
        guard.finish();
        guard.held.critical.leave();
        core::mem::forget(guard);
        Some(result)
    }
}

/// A section on an object, under its lock. Dropping it ends the section, releases the lock, and makes the wake-ups.
pub(crate) struct Guard<'t, S: ObjectSection> {
    inner: &'static Inner,
    section: S,
    held: Held<'t>,
}

impl<'t, S: ObjectSection> Guard<'t, S> {
    /// Begins a section on the object at an offset, and opens it. `held` is the object's lock.
    #[inline(always)]
    pub fn new<O: Object<Section = S>>(
        inner: &'static Inner,
        held: Held<'t>,
        (at, object): (u64, &'static O),
    ) -> Self {
        let mut guard = Guard::begin(inner, held, (at, object));
        guard.open();
        guard
    }

    /// Like [`Guard::new`], but the caller must open the section. A guard of which a reference was taken is copied when
    /// it is returned, and it is large.
    #[inline(always)]
    pub fn begin<O: Object<Section = S>>(
        inner: &'static Inner,
        held: Held<'t>,
        (at, object): (u64, &'static O),
    ) -> Self {
        Guard { inner, section: object.section(inner, at, held.thread.index()), held }
    }

    /// Opens the section. Must come before anything else is done in it.
    #[inline(always)]
    pub fn open(&mut self) -> &mut S {
        self.section.open(self.inner);
        &mut self.section
    }

    /// The section.
    pub fn section(&mut self) -> &mut S {
        &mut self.section
    }

    /// Performs what has become possible for waiters.
    pub fn serve(&mut self) {
        self.section.serve();
    }

    /// Runs `f` in the section, then serves the waiters and ends it.
    pub fn serve_after<R>(mut self, f: impl FnOnce(&mut dyn ObjectSection) -> R) -> R {
        let result = f(&mut self.section);
        self.serve();
        result
    }
}

impl<'t, S: ObjectSection> Guard<'t, S> {
    #[inline(always)]
    fn finish(&mut self) {
        self.section.close();
        // Both the release and the wake-ups are inside the critical section: a handler that jumped away between them
        // would leave a waiter asleep.
        self.held.release();
        let wakes = self.section.wakes();
        if !wakes.is_empty() {
            self.held.thread.count(Event::HandOff, wakes.len());
            wake::wake_all(self.inner, self.held.thread, wakes, self.section.offset());
        }
    }
}

impl<S: ObjectSection> Drop for Guard<'_, S> {
    fn drop(&mut self) {
        self.finish();
    }
}
