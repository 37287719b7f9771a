//! Chooses which waiters monitor which processes for exit.
//!
//! The kernel wakes one sleeper of a dead thread's robust word (see `unspin_sys::robust`). That waiter applies the dead
//! process's undos to the set and serves the others. So it is enough that the first waiter of each list monitors every
//! process with an adjustment for its semaphore. Each other waiter becomes the first when those before it hold what it
//! waits for. So it monitors the nearest waiters before it. It also monitors present holders, in case the first waiter
//! is stopped or dead itself; a few of each. Where that is not enough, the section that makes it the first waiter
//! updates its list. If every waiter monitored all processes, the cost of each sleep would grow with the length of the
//! queue.
//!
//! A set that is used as a lock has one process with adjustments, its holder, which will be gone when a waiter far behind it is the
//! first. Such a waiter monitors the waiter before it alone: each further word costs a sleep some 0.1 us (docs/results.md).

use super::queue;
use super::section::SetSection;
use super::undo_records::UndoRecord;
use crate::participant::ParticipantRecord;
use crate::store::list::List;
use unspin_sync::atomic::Ordering::Relaxed;

/// Most waiters before it that a waiter monitors, and most holders unless it is the first.
const AHEAD: usize = 8;

impl<'a> SetSection<'a> {
    /// Fills the caller's list of monitored processes, if the caller is in the queue.
    pub fn fill_monitored_processes(&self) {
        let me = self.own_record();
        if !queue::waits_here(&self.space, me) {
            return;
        }
        me.monitored_processes().clear();
        me.monitored_processes()
            .set_position(List::before(self.space.participants, &me.waiter).take(2).count());
        let own = self.owner_of(me);
        let active = || self.space.active().map(|record| record.owner());
        let before = || {
            let before = List::before(self.space.participants, &me.waiter);
            before.map(|(_, participant)| self.owner_of(participant))
        };
        let holders = active().take(AHEAD).count();
        let (nearest, owed) = match before().next() {
            None => (0, usize::MAX),
            Some(next) if holders == 1 && next != 0 && self.are_two_others_before(me) => (1, 0),
            Some(_) => (holders + 1, AHEAD),
        };
        let nearest = before().take(nearest);
        let owed = active().take(owed);
        for process in nearest.chain(owed).filter(|&it| it != 0 && it != own) {
            if !me.monitored_processes().add(process) {
                return;
            }
        }
    }

    /// Makes the waiter behind the caller, which has left the queue, monitor what the caller monitored: that waiter may have relied
    /// on it.
    pub(super) fn pass_on_monitored(&mut self, (index, behind): (u32, &'a ParticipantRecord)) {
        let own = self.owner_of(behind);
        let count = || behind.monitored_processes().iter().count();
        let before = count();
        let passed_on = self.own_record().monitored_processes().iter().filter(|&it| it != own);
        // A full list is looked through every few milliseconds.
        passed_on.take_while(|&process| behind.monitored_processes().add(process)).for_each(drop);
        if count() != before {
            self.wakes.notify(&behind.waiter, index);
        }
    }

    /// Whether two waiters of other processes than the holder's are before the caller. They monitor the holder.
    fn are_two_others_before(&self, me: &ParticipantRecord) -> bool {
        let holder = self.space.active().next().map(|record| record.owner());
        let others = List::before(self.space.participants, &me.waiter)
            .filter(|(_, participant)| Some(self.owner_of(participant)) != holder);
        others.take(2).count() == 2
    }

    /// Takes waiters right before the caller out of the queue if their process is dead, so that the caller is the first
    /// if none before it is alive. `gone` as in [`SetSection::apply_dead_undo`].
    pub fn recover_dead_ahead(&self, gone: impl Fn(u64) -> bool) {
        let me = self.own_record();
        // A recovered waiter is no longer in the list, unless the list was overwritten.
        for _ in self.space.participants {
            if !queue::waits_here(&self.space, me) {
                return;
            }
            match List::before(self.space.participants, &me.waiter).next() {
                Some((index, before)) if self.record_of(before).is_some_and(|it| gone(it.owner())) => {
                    self.recover_dead(index);
                }
                _ => return,
            }
        }
    }

    /// The process of a waiter with `SEM_UNDO`; 0 for a waiter without.
    fn owner_of(&self, participant: &ParticipantRecord) -> u64 {
        self.record_of(participant).map_or(0, |record| record.owner())
    }

    /// Makes sure that the first waiters for the marked semaphores monitor all processes with an adjustment for them.
    /// To be called just before [`SetSection::restore_fast`].
    pub fn assign_monitors(&mut self) {
        let contended = self.contended();
        // Relaxed: under the lock.
        if contended.waiters.load(Relaxed) == 0 || contended.active.load(Relaxed) == 0 {
            return;
        }
        for sem in self.marked_slow() {
            let s = self.space.sem(sem);
            if s.adjusted.load(Relaxed) == 0 {
                continue;
            }
            for record in self.space.active().filter(|record| record.get(sem) != 0) {
                for list in [&s.alter, &s.zero, &contended.complex_alter, &contended.complex_zero] {
                    self.assign_to_first(list, &record);
                }
            }
        }
    }

    fn assign_to_first(&mut self, list: &List, record: &UndoRecord<'_>) {
        let Some((index, first)) = list.iter(self.space.participants).next() else { return };
        let process = record.owner();
        if process == self.owner_of(first)
            || first.monitored_processes().iter().any(|watched| watched == process)
        {
            return;
        }
        if !first.monitored_processes().add(process) {
            // The list is full of processes that no longer matter.
            first.monitored_processes().clear();
            let active = self.space.active().map(|record| record.owner());
            active.take_while(|&process| first.monitored_processes().add(process)).for_each(drop);
        }
        self.wakes.notify(&first.waiter, index);
    }
}
