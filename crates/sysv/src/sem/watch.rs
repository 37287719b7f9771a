//! Who of the sleepers has to notice whose death.
//!
//! The kernel wakes one sleeper of a dead thread's word (see `unspin_sys::robust`); he undoes what the dead did to the set
//! and serves the others. So of those who wait for a semaphore it is enough that the first of each list watches every
//! process with an adjustment for it. Each of the others will be the first when those before it hold what it waits for, so it
//! watches the nearest of them, and, in case that the first is stopped or dead itself, those who hold something now; a few of
//! each. Where that is not enough the section that makes it the first says so. To watch everybody would cost each sleep as
//! much as the queue is long.

use super::queue;
use super::section::Section;
use super::undo::Record;
use crate::list::List;
use crate::participant::Participant;
use unspin_sync::atomic::Ordering::Relaxed;

/// Most waiters before it that a waiter watches, and most holders unless it is the first.
const AHEAD: usize = 8;

impl<'a> Section<'a> {
    /// Writes down what the caller has to watch, if he is in the queue.
    pub fn watch(&self) {
        let me = self.maker();
        if !queue::waits_here(&self.space, me) {
            return;
        }
        me.watch().clear();
        me.watch().stand_behind(List::before(self.space.people, &me.waiter).take(2).count());
        let own = self.owner_of(me);
        let active = || self.space.active().map(|record| record.owner());
        let before = || List::before(self.space.people, &me.waiter);
        let nearest =
            before().take(active().take(AHEAD).count() + 1).map(|(_, person)| self.owner_of(person));
        let owed = active().take(if before().next().is_none() { usize::MAX } else { AHEAD });
        for process in nearest.chain(owed).filter(|&it| it != 0 && it != own) {
            if !me.watch().add(process) {
                return;
            }
        }
    }

    /// Takes those out of the queue who stand right before the caller and are dead, so that he is the first if nobody else
    /// is. `gone` as in [`Section::reckon`].
    pub fn bury_before(&self, gone: impl Fn(u64) -> bool) {
        let me = self.maker();
        // Whoever is buried stands there no more, unless the list was overwritten.
        for _ in self.space.people {
            if !queue::waits_here(&self.space, me) {
                return;
            }
            match List::before(self.space.people, &me.waiter).next() {
                Some((index, before)) if self.record_of(before).is_some_and(|it| gone(it.owner())) => {
                    self.bury(index);
                }
                _ => return,
            }
        }
    }

    /// The process of a waiter with `SEM_UNDO`; 0 of another.
    fn owner_of(&self, person: &Participant) -> u64 {
        self.record_of(person).map_or(0, |record| record.owner())
    }

    /// Sees to it that the first of those who wait for the touched semaphores watch all processes with an adjustment for
    /// them. The last thing before [`Section::thaw`].
    pub fn brief(&self) {
        let contended = self.contended();
        // Relaxed: under the lock.
        if contended.waiters.load(Relaxed) == 0 || contended.active.load(Relaxed) == 0 {
            return;
        }
        for sem in self.touched() {
            let s = self.space.sem(sem);
            if s.adjusted.load(Relaxed) == 0 {
                continue;
            }
            for record in self.space.active().filter(|record| record.get(sem) != 0) {
                for list in [&s.alter, &s.zero, &contended.complex_alter, &contended.complex_zero] {
                    self.brief_first(list, &record);
                }
            }
        }
    }

    fn brief_first(&self, list: &List, record: &Record<'_>) {
        let Some((_, first)) = list.iter(self.space.people).next() else { return };
        let process = record.owner();
        if process == self.owner_of(first) || first.watch().iter().any(|watched| watched == process) {
            return;
        }
        if !first.watch().add(process) {
            // Full, of those who no longer matter.
            first.watch().clear();
            let active = self.space.active().map(|record| record.owner());
            active.take_while(|&process| first.watch().add(process)).for_each(drop);
        }
        first.waiter.rouse();
    }
}
