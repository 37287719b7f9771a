//! Applying the adjustments of dead processes (`exit_sem` of ipc/sem.c).
//!
//! No code of ours runs when a process ends. So every section on a set begins with this step. It asks for each process
//! with adjustments whether it is alive, and applies the adjustments of the dead ones before anything else is read. A
//! semaphore with an adjustment stays slow, so no thread gets at its value without a section. A redo record ensures
//! that the adjustments of one semaphore are applied entirely or not at all, even if the thread that applies them dies.

use super::change::Change;
use super::queue;
use super::section::SetSection;
use super::undo_records::UndoRecord;
use crate::participant::{MAX_OPS, status};
use crate::time;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sys::ipc::SEMVMX;

impl<'a> SetSection<'a> {
    /// Applies the adjustments of dead processes, and serves the waiters that can then proceed. `gone` says whether a
    /// process (encoded as in [`UndoRecord::owner`]) is dead; `dead` says whether a participant is.
    #[inline(always)]
    pub fn apply_dead_undo(&mut self, gone: impl Fn(u64) -> bool, dead: impl Fn(u32) -> bool) {
        // Relaxed: under the lock.
        if self.contended().active.load(Relaxed) != 0 && !self.space.is_deleted() {
            self.apply_active_dead_undo(&gone, &dead);
        }
    }

    /// Repeats until there is nothing to be undone: a token that comes back may go to a waiter that is dead, too. In
    /// the kernel dead processes do not wait.
    fn apply_active_dead_undo(&mut self, gone: &dyn Fn(u64) -> bool, dead: &dyn Fn(u32) -> bool) {
        // Each round takes a waiter out of the queue for good, or is the last.
        for _ in 0..=self.space.participants.len() {
            let (mut undone, mut astray) = (false, false);
            for record in self.space.active() {
                if gone(record.owner()) {
                    // An active record without an adjustment exists only if memory was overwritten.
                    let owed = record.nonzero_adjustments().next().is_some();
                    self.undo(&record);
                    (undone, astray) = (undone || owed, astray || !owed);
                }
            }
            if astray {
                self.space.recount();
            }
            if !undone && !self.recover_dead_grantees(dead) {
                break;
            }
            self.serve();
        }
    }

    /// Takes back what this section granted to dead waiters. Returns whether there was any.
    fn recover_dead_grantees(&self, dead: &dyn Fn(u32) -> bool) -> bool {
        let granted = self.wakes.iter().filter(|wake| {
            let waiter = &self.space.participant(wake.index).waiter;
            // Relaxed: a waiter that is alive may change it at any time; `dead` checks below whether it is alive.
            status::is_granted(wake.end) && waiter.status.load(Relaxed) == wake.end
        });
        let dead_grantees = granted.filter(|wake| dead(wake.index));
        dead_grantees.map(|wake| self.recover_dead(wake.index)).count() > 0
    }

    /// Applies all adjustments of a record, clamped; it never blocks. The caller must then serve the waiters.
    pub fn undo(&self, record: &UndoRecord<'a>) {
        self.end_waits_of(record);
        // In parts if there are many. If this thread dies between two parts, the next section applies the rest.
        for _ in 0..self.space.sems.len().div_ceil(MAX_OPS) {
            let changes = record.nonzero_adjustments().take(MAX_OPS).map(|(sem, adjustment)| {
                self.mark_slow(sem);
                let value = (self.space.word(sem).value() + adjustment).clamp(0, SEMVMX);
                (sem, Change { value, adjustment: Some(0) })
            });
            self.redo(record.pid(), record.at, changes);
        }
        self.space.set.set_otime(time::seconds());
    }

    /// Handles the end of processes whose adjustments are all zero: in the kernel it updates `sem_otime` as well.
    pub fn note_dead_processes(&mut self, gone: impl Fn(u64) -> bool) {
        for record in self.space.records() {
            if record.owner() != 0 && !record.is_active() && gone(record.owner()) {
                self.undo(&record);
                record.assign(0, 0);
            }
        }
        self.serve();
    }

    /// Makes sure that nothing changes a dead process's record any more: the waits of its threads end, and what was
    /// granted to them after their death is taken back.
    pub fn end_waits_of(&self, record: &UndoRecord<'a>) {
        let space = self.space;
        for (participant, index) in space.participants.iter().zip(0u32..) {
            // Acquire: partner of the Release in `enqueue`. Relaxed: ordered by it.
            let status = participant.waiter.status.load(Acquire);
            let waits = status::is_waiting(status) || status::is_granted(status);
            if waits
                && participant.waiter.undo.load(Relaxed) == record.at
                && participant.waiter.object.load(Relaxed) == space.offset
            {
                debug_assert!(status::is_granted(status) || queue::waits_here(&space, participant));
                self.recover_dead(index);
            }
        }
    }
}
