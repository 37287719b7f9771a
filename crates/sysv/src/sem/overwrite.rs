//! SETVAL and SETALL: values are overwritten, and all processes' adjustments for them are dropped, atomically even if
//! the thread that does it dies.
//!
//! The new values are in the semaphores' tentative fields. One store to the set's mark decides, and says which
//! semaphores they are for.

use super::change::Change;
use super::section::SetSection;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Values of `Contended::overwriting`.
mod mark {
    /// No overwriting is under way. Zero, so that a new set has it.
    pub const NONE: u32 = 0;
    /// All values are overwritten.
    pub const ALL: u32 = 1;
    /// This value plus an index: the value of the semaphore with that index is overwritten.
    pub const ONE: u32 = 2;
}

impl SetSection<'_> {
    /// Sets one value, as SETVAL does.
    pub fn set_value(&self, sem: usize, value: i32, pid: u32) {
        self.mark_slow(sem);
        // Relaxed: under the lock.
        if self.space.sem(sem).adjusted.load(Relaxed) == 0 {
            // One store is atomic without a mark.
            return self.space.put(sem, value, pid);
        }
        self.prepare(sem, value);
        self.overwrite(mark::ONE + sem as u32, pid);
    }

    /// Sets all values, as SETALL does.
    pub fn set_all(&self, values: &[u16], pid: u32) {
        self.mark_all_slow();
        values.iter().enumerate().for_each(|(sem, &value)| self.prepare(sem, value.into()));
        self.overwrite(mark::ALL, pid);
    }

    fn prepare(&self, sem: usize, value: i32) {
        let Some(sem) = self.space.sems.get(sem) else { return };
        // Relaxed: scratch under the lock. Round 0 keeps an evaluation from taking the value for its own.
        sem.round.store(0, Relaxed);
        sem.tentative.store(Change::to(value).word(), Relaxed);
    }

    fn overwrite(&self, what: u32, pid: u32) {
        self.contended().overwriter.store(pid, Relaxed);
        // Release: decides; partner of the Acquire in `finish_overwriting`.
        self.contended().overwriting.store(what, Release);
        self.finish_overwriting();
    }

    /// Finishes an overwriting that was decided. Doing it twice is harmless.
    pub(super) fn finish_overwriting(&self) {
        // Acquire: partner of the Release in `overwrite`.
        let what = self.contended().overwriting.load(Acquire);
        let sems = match what {
            mark::NONE => return,
            mark::ALL => 0..self.space.sems.len(),
            one => (one - mark::ONE) as usize..(one - mark::ONE) as usize + 1,
        };
        for record in self.space.active() {
            let adjusted = record.nonzero_adjustments().filter(|(sem, _)| sems.contains(sem));
            adjusted.for_each(|(sem, _)| self.space.adjust(&record, sem, 0));
        }
        let pid = self.contended().overwriter.load(Relaxed);
        for (index, sem) in self.space.sems.iter().enumerate().take(sems.end).skip(sems.start) {
            let value = Change::from_word(sem.tentative.load(Relaxed)).value & 0x7FFF;
            self.space.put(index, value, pid);
        }
        // Release: all values are written before the mark is cleared.
        self.contended().overwriting.store(mark::NONE, Release);
    }
}
