//! Undoing what the dead did (`exit_sem` of ipc/sem.c).
//!
//! There is nobody to do it when a process ends. So every section on a set reckons first: it asks of each process that is
//! owed something whether it still lives, and applies the adjustments of the dead before anything else is looked at. A
//! semaphore with an adjustment stays slow, so nobody gets at its value without a section.

use super::change::Change;
use super::queue;
use super::section::Section;
use super::undo::Record;
use crate::participant::{MAX_OPS, status};
use crate::time;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sys::ipc::SEMVMX;

impl<'a> Section<'a> {
    /// Applies the adjustments of the dead, and serves whoever can proceed then. `gone` says whether a process, as
    /// [`Record::owner`] names it, is dead; `dead` whether a participant is.
    #[inline(always)]
    pub fn reckon(&mut self, gone: impl Fn(u64) -> bool, dead: impl Fn(u32) -> bool) {
        // Relaxed: under the lock.
        if self.contended().active.load(Relaxed) != 0 && !self.space.is_deleted() {
            self.reckon_active(&gone, &dead);
        }
    }

    /// Again and again, until there is nothing to be undone: a token that comes back may go to a waiter who is dead, too. In
    /// the kernel the dead do not wait.
    fn reckon_active(&mut self, gone: &dyn Fn(u64) -> bool, dead: &dyn Fn(u32) -> bool) {
        // Each round takes somebody out of the queue for good, or is the last.
        for _ in 0..=self.space.people.len() {
            let (mut undone, mut astray) = (false, false);
            for record in self.space.active() {
                if gone(record.owner()) {
                    // Nothing to be undone is there only if the memory was spoilt.
                    let owed = record.adjusted().next().is_some();
                    self.undo(&record);
                    (undone, astray) = (undone || owed, astray || !owed);
                }
            }
            if astray {
                self.space.recount();
            }
            if !undone && !self.bury_granted(dead) {
                break;
            }
            self.serve();
        }
    }

    /// Takes back what this section granted to the dead. Whether there was any of them.
    fn bury_granted(&self, dead: &dyn Fn(u32) -> bool) -> bool {
        let granted = self.wakes.iter().filter(|wake| {
            let waiter = &self.space.someone(wake.index).waiter;
            // Relaxed: a waiter that lives may change it; it is asked whether it does.
            status::is_granted(wake.end) && waiter.status.load(Relaxed) == wake.end
        });
        let corpses = granted.filter(|wake| dead(wake.index));
        corpses.map(|wake| self.bury(wake.index)).count() > 0
    }

    /// Applies all adjustments of a record, clamped, without ever blocking; the waiters are still to be served.
    pub fn undo(&self, record: &Record<'a>) {
        self.forget_waiters_of(record);
        // A part at a time if there are many: who comes between two parts reckons again.
        for _ in 0..self.space.sems.len().div_ceil(MAX_OPS) {
            let changes = record.adjusted().take(MAX_OPS).map(|(sem, adjustment)| {
                self.touch(sem);
                let value = (self.space.word(sem).value() + adjustment).clamp(0, SEMVMX);
                (sem, Change { value, adjustment: Some(0) })
            });
            self.redo(record.pid(), record.at, changes);
        }
        self.space.set.operated_at(time::seconds());
    }

    /// Notes the ends of processes that had nothing to be undone any more: in the kernel they leave a time behind as well.
    pub fn note_ends(&mut self, gone: impl Fn(u64) -> bool) {
        for record in self.space.records() {
            if record.owner() != 0 && !record.is_active() && gone(record.owner()) {
                self.undo(&record);
                record.assign(0, 0);
            }
        }
        self.serve();
    }

    /// Sees to it that nothing changes a dead process's record any more: its threads wait for nothing, and what was granted
    /// to one after its death is taken back.
    pub fn forget_waiters_of(&self, record: &Record<'a>) {
        let space = self.space;
        for (person, index) in space.people.iter().zip(0u32..) {
            // Acquire: partner of the Release in `enqueue`. Relaxed: ordered by it.
            let status = person.waiter.status.load(Acquire);
            let waits = status::is_waiting(status) || status::is_granted(status);
            if waits
                && person.waiter.undo.load(Relaxed) == record.at
                && person.waiter.object.load(Relaxed) == space.offset
            {
                debug_assert!(status::is_granted(status) || queue::waits_here(&space, person));
                self.bury(index);
            }
        }
    }
}
