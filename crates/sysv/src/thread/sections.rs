//! Sections of a thread: read-side sections, and critical sections, in which no signal handler of the program runs.

use super::{DEFERRED, Thread};
use unspin_rcu::{SectionToken, Slot};
use unspin_sync::machine::{Ordering::SeqCst, compiler_fence};
use unspin_sys::signal::{Mask, set_mask};
use unspin_wire::Event;

impl Thread {
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

    /// Enters a read-side section. Only for a thread from [`Thread::fast_path_thread`]. `None` if it is in one already.
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
    pub fn has_deferred_work(&self) -> bool {
        // The fence puts the end of the section before the load: handlers are deferred only within the section.
        compiler_fence(SeqCst);
        self.deferred_work.get() != 0
    }

    /// Does the work that [`Thread::has_deferred_work`] announces: counts `event`, and delivers a deferred signal.
    #[cold]
    pub fn run_deferred_work(&self, event: Option<Event>) {
        if let (Some(table), Some(event)) = (self.table(), event) {
            table.count_event(event, 1);
        }
        self.deliver_if_due();
    }

    /// To be called before the thread takes a lock. The thread keeps the count in its own memory, because the arena may
    /// be overwritten. It publishes the count in the arena for threads that recover it if it dies.
    #[inline(always)]
    pub fn count_lock(&self) {
        self.locks.set(self.locks.get().more());
        self.record().lock_count.enter(self.locks.get());
    }

    /// To be called when the thread has released a lock, or stops trying to take it for now.
    #[inline(always)]
    pub fn uncount_lock(&self) {
        self.locks.set(self.locks.get().less());
        self.record().lock_count.leave(self.locks.get());
    }

    /// Whether the thread holds a lock or tries to take one.
    pub fn holds_locks(&self) -> bool {
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
            self.deferred_work.set(self.deferred_work.get() | DEFERRED);
        }
    }

    /// Enters a section in which no signal handler of the program may run.
    #[inline(always)]
    pub fn critical(&self) -> Critical<'_> {
        let mask = crate::thread::signal_policy::masks().then(|| set_mask(Mask::ALL_BUT_FAULTS));
        self.critical.set(self.critical.get() + 1);
        compiler_fence(SeqCst);
        Critical { thread: self, mask }
    }

    #[cold]
    fn deliver(&self) {
        if !self.is_critical() {
            self.deferred_work.set(self.deferred_work.get() & !DEFERRED);
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

/// Leaves the outermost read-side section when dropped. The owner of this value calls [`Thread::run_deferred_work`] for what
/// is due then.
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
