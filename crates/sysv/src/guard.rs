//! Locks that are held, and sections that end by themselves.

use crate::engine::{Inner, count};
use crate::lock::{Lock, Waited};
use crate::names::{self, Call, LockName};
use crate::sem::{Section, Set, space};
use crate::thread::{Critical, Thread};
use crate::{time, wake};
use unspin_meter::{Event, Outcome, Sample};

/// A lock that is held. Released, and then recorded, when dropped.
pub(crate) struct Held<'t> {
    thread: &'t Thread,
    lock: &'t Lock,
    name: LockName,
    call: Call,
    waited: Option<Waited>,
    since: u64,
    critical: Option<Critical<'t>>,
}

impl<'t> Held<'t> {
    /// A lock that was just taken, for `name.1`, after having waited as it says; none if it was free.
    pub fn new(
        thread: &'t Thread,
        lock: &'t Lock,
        (name, call): (LockName, Call),
        waited: Option<Waited>,
        critical: Critical<'t>,
    ) -> Self {
        let since = if thread.table().is_some() { time::ticks() } else { 0 };
        Held { thread, lock, name, call, waited, since, critical: Some(critical) }
    }

    /// Releases the lock, but keeps signal handlers out for as long as the result lives.
    fn release(mut self) -> Option<Critical<'t>> {
        self.critical.take()
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let until = if self.since != 0 { time::ticks() } else { 0 };
        self.lock.release();
        self.thread.person().leave_busy();
        if let Some(table) = self.thread.table() {
            let waited = self.waited.unwrap_or_default();
            let outcome = match self.waited {
                None => Outcome::NoWait,
                Some(Waited { slept: 0, .. }) => Outcome::Spun,
                Some(_) => Outcome::Slept,
            };
            let hold = until.wrapping_sub(self.since);
            let sample = Sample { outcome, hold, spun: waited.spun, slept: waited.slept };
            table.record(names::key(self.name, self.call), &sample);
        }
    }
}

/// A section on a set, under its lock. Dropping it ends the section, releases the lock, and wakes.
pub(crate) struct Guard<'t> {
    inner: &'static Inner,
    section: Section<'static>,
    held: Option<Held<'t>>,
    thread: &'t Thread,
}

impl<'t> Guard<'t> {
    /// Begins a section on the set at an offset; its lock is `held`.
    pub fn new(inner: &'static Inner, held: Held<'t>, (at, set): (u64, &'static Set)) -> Self {
        let thread = held.thread;
        Guard {
            inner,
            section: Section::new(space(inner, at, set), thread.index()),
            held: Some(held),
            thread,
        }
    }

    /// The section.
    pub fn section(&mut self) -> &mut Section<'static> {
        &mut self.section
    }

    /// Performs what has become possible for waiters.
    pub fn serve(&mut self) {
        self.section.serve();
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.section.thaw();
        // Whoever jumped out of a handler between the release and the wake-ups would leave somebody asleep: the
        // section that keeps handlers out lasts until both are done.
        let _critical = self.held.take().map(Held::release);
        if !self.section.wakes.is_empty() {
            count(self.thread, Event::HandOff, self.section.wakes.len());
            wake::wake_all(self.inner, self.thread, &self.section.wakes, self.section.space.offset);
        }
    }
}
