//! The list of locks that a thread holds, kept in its table. It has two uses: at the end of a hold its start is
//! known, whichever thread releases the lock; and the table of a dead program says which locks it held.
//!
//! The lock taken last is nearly always released first, so the list is a stack. Other locks are searched for. If
//! another thread releases the lock, it removes the entry and leaves a hole. A hole is dropped when it is on top.

use crate::pages::WORDS;
use unspin_sync::atomic::{AtomicU64, Ordering::*, compiler_fence};

/// Maximum number of locks that are followed at a time, per thread.
pub(crate) const ENTRIES: usize = 32;

/// Word of the table's first page that holds the number of entries.
const DEPTH: usize = 63;
/// Words of an entry.
const ENTRY: usize = 8;
/// First entry.
const FIRST: usize = 64;
const _: () = assert!(FIRST + ENTRIES * ENTRY <= crate::table::INDEX);

// Indices of the words of an entry.
/// The lock's key; 0: a hole.
const LOCK: usize = 0;
/// First word of the table's row, and flags.
const ROW: usize = 1;
/// Time of the acquisition in ticks; 0 if the hold is not timed.
const SINCE: usize = 2;
/// Ticks spent spinning before the acquisition, and asleep.
const SPUN: usize = 3;
const SLEPT: usize = 4;

// Flags of [`ROW`]. None is set in nearly every entry, which is `pop_plain`'s.
/// The entry has a wait, or it is a sample, or both.
const NOT_PLAIN: u64 = 1 << 63;
/// [`HeldLock::is_sample`]; only with [`NOT_PLAIN`].
const SAMPLE: u64 = 1 << 62;
/// SPUN and SLEPT do not hold the wait before the acquisition; only with [`SAMPLE`].
const NO_WAIT: u64 = 1 << 61;
const FLAGS: u64 = NOT_PLAIN | SAMPLE | NO_WAIT;

/// A lock that a thread holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldLock {
    /// [`Key::lock`](crate::Key::lock).
    pub lock: u64,
    pub(crate) row: u64,
    /// Time of the acquisition in ticks; 0 if the hold is not timed.
    pub since: u64,
    /// Whether level `auto` has chosen this hold at random: it stands for
    /// [`AUTO_EVERY`](crate::Level::AUTO_EVERY) holds.
    pub is_sample: bool,
    /// The wait before the acquisition in ticks: spinning, and asleep. It is recorded when the lock is released, so
    /// that recording it does not prolong the hold. None if the lock was free, or if the wait is not known.
    pub wait: Option<(u64, u64)>,
}

/// The entries of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldLocks<'m> {
    page: &'m [AtomicU64; WORDS],
}

impl<'m> HeldLocks<'m> {
    pub fn new(page: &'m [AtomicU64; WORDS]) -> HeldLocks<'m> {
        HeldLocks { page }
    }

    #[inline(always)]
    fn entry(&self, index: usize) -> &'m [AtomicU64; ENTRY] {
        let words = &self.page[FIRST..FIRST + ENTRIES * ENTRY];
        &words.as_chunks().0[index % ENTRIES]
    }

    #[inline(always)]
    fn depth(&self) -> usize {
        // Relaxed: this thread writes it; other threads use it only as a bound.
        self.page[DEPTH].load(Relaxed) as usize
    }

    #[inline(always)]
    fn set_depth(&self, depth: usize) {
        // Relaxed: see `depth`.
        self.page[DEPTH].store(depth as u64, Relaxed);
    }

    /// Records that the thread took a lock. Returns false if there was no room.
    #[inline(always)]
    pub fn push(&self, held: HeldLock) -> bool {
        let depth = self.depth();
        if depth >= ENTRIES {
            // Words in registers: the frequent path above stores nothing on the stack for this one.
            let (spun, slept) = held.wait.unwrap_or_default();
            return self.push_to_full(held.lock, Self::row(&held), held.since, spun, slept);
        }
        self.push_at(depth, held);
        true
    }

    /// The row's word in an entry.
    #[inline(always)]
    fn row(held: &HeldLock) -> u64 {
        held.row
            | match (held.wait, held.is_sample) {
                (None, false) => 0,
                (Some(_), false) => NOT_PLAIN,
                (Some(_), true) => NOT_PLAIN | SAMPLE,
                (None, true) => NOT_PLAIN | SAMPLE | NO_WAIT,
            }
    }

    /// The entry whose words have these values.
    #[inline(always)]
    fn held(lock: u64, row: u64, since: u64, wait: impl FnOnce() -> (u64, u64)) -> HeldLock {
        let has_wait = row & NOT_PLAIN != 0 && row & NO_WAIT == 0;
        let is_sample = row & SAMPLE != 0;
        HeldLock { lock, row: row & !FLAGS, since, is_sample, wait: has_wait.then(wait) }
    }

    /// Notes a hold in a hole of the list, if there is no room above the last entry.
    #[cold]
    #[inline(never)]
    fn push_to_full(self, lock: u64, row: u64, since: u64, spun: u64, slept: u64) -> bool {
        let held = Self::held(lock, row, since, || (spun, slept));
        let depth = self.trim(ENTRIES);
        if depth == ENTRIES {
            return self.fill_hole(held);
        }
        self.push_at(depth, held);
        true
    }

    #[inline(always)]
    fn push_at(&self, depth: usize, held: HeldLock) {
        // The depth is stored before the entry, so that a signal handler in between uses the next entry.
        self.set_depth(depth + 1);
        compiler_fence(SeqCst);
        Self::write(self.entry(depth), held);
    }

    /// Reuses a hole further down, if there is one. Hand-over-hand locking, where the next lock is taken before the
    /// previous one is released, leaves such holes. A signal handler may choose the same hole; it has released its
    /// lock before it returns.
    fn fill_hole(&self, held: HeldLock) -> bool {
        // Relaxed: a hole that another thread makes at this moment may be missed; the next call finds it.
        let hole = (0..ENTRIES).map(|at| self.entry(at)).find(|entry| entry[LOCK].load(Relaxed) == 0);
        hole.map(|entry| Self::write(entry, held)).is_some()
    }

    #[inline(always)]
    fn write(entry: &[AtomicU64; ENTRY], held: HeldLock) {
        // Relaxed (both): published by the next store.
        entry[SINCE].store(held.since, Relaxed);
        if let Some((spun, slept)) = held.wait {
            // Relaxed (both): as above.
            entry[SPUN].store(spun, Relaxed);
            entry[SLEPT].store(slept, Relaxed);
        }
        // Relaxed: as above.
        entry[ROW].store(Self::row(&held), Relaxed);
        // Release: pairs with the Acquire in `take_from_another` and `iter`.
        entry[LOCK].store(held.lock, Release);
    }

    /// Removes the top entry if it belongs to the lock, records no wait and is no sample, and returns row and start. Nearly every
    /// hold ends this way. Otherwise it does nothing, and the caller calls [`pop`](HeldLocks::pop).
    #[inline(always)]
    pub fn pop_plain(&self, lock: u64) -> Option<(u64, u64)> {
        let depth = self.depth();
        let top = self.entry(depth.wrapping_sub(1));
        // Relaxed (all): this thread wrote the words. If another thread removes the entry at this moment, two threads
        // release one lock at once and a hold is counted twice. That is a bug of the program, and harmless here. An
        // entry above the depth is a hole.
        let row = top[ROW].load(Relaxed);
        if top[LOCK].load(Relaxed) != lock || row & NOT_PLAIN != 0 {
            return None;
        }
        let since = top[SINCE].load(Relaxed);
        // Relaxed: a reader that still sees the lock sees the hold that has just ended.
        top[LOCK].store(0, Relaxed);
        compiler_fence(SeqCst);
        self.set_depth(depth - 1);
        Some((row, since))
    }

    /// Removes the latest entry of a lock.
    pub fn pop(&self, lock: u64) -> Option<HeldLock> {
        let depth = self.depth();
        // Relaxed (both): as in `pop_plain`.
        let found = (0..depth.min(ENTRIES)).rev().find(|&at| self.entry(at)[LOCK].load(Relaxed) == lock)?;
        let entry = self.entry(found);
        let held = Self::read_entry(entry, lock);
        entry[LOCK].store(0, Relaxed);
        compiler_fence(SeqCst);
        self.set_depth(self.trim(depth));
        Some(held)
    }

    /// Whether the hold of the lock is timed, if the lock was taken last. For any other lock the answer is true: it
    /// may be timed.
    #[inline(always)]
    pub fn is_timed(&self, lock: u64) -> bool {
        let top = self.entry(self.depth().wrapping_sub(1));
        // Relaxed (both): as in `pop`.
        top[LOCK].load(Relaxed) != lock || top[SINCE].load(Relaxed) != 0
    }

    /// The latest entry of a lock. It is not removed.
    pub fn latest(&self, lock: u64) -> Option<HeldLock> {
        // Relaxed: as in `pop`.
        let found =
            (0..self.depth().min(ENTRIES)).rev().find(|&at| self.entry(at)[LOCK].load(Relaxed) == lock)?;
        Some(Self::read_entry(self.entry(found), lock))
    }

    /// Whether this thread has an entry of the lock.
    pub fn has(&self, lock: u64) -> bool {
        // Relaxed: as in `pop`.
        (0..self.depth().min(ENTRIES)).any(|at| self.entry(at)[LOCK].load(Relaxed) == lock)
    }

    /// The depth without the holes on top.
    fn trim(&self, depth: usize) -> usize {
        // Relaxed: an entry that another thread removes at this moment may be missed; the next call finds it.
        (0..depth.min(ENTRIES))
            .rev()
            .find(|&at| self.entry(at)[LOCK].load(Relaxed) != 0)
            .map_or(0, |at| at + 1)
    }

    #[inline(always)]
    fn read_entry(entry: &[AtomicU64; ENTRY], lock: u64) -> HeldLock {
        // Relaxed (all): this thread wrote the words, or the caller has acquired them.
        let row = entry[ROW].load(Relaxed);
        let since = entry[SINCE].load(Relaxed);
        Self::held(lock, row, since, || (entry[SPUN].load(Relaxed), entry[SLEPT].load(Relaxed)))
    }

    /// Removes another thread's entry of a lock that the calling thread has released.
    pub fn take_from_another(&self, lock: u64) -> Option<HeldLock> {
        (0..self.depth().min(ENTRIES)).rev().find_map(|at| {
            let entry = self.entry(at);
            // Acquire: pairs with the Release in `push`.
            if entry[LOCK].load(Acquire) != lock {
                return None;
            }
            let held = Self::read_entry(entry, lock);
            // Relaxed (both): the load above acquired the entry, and the thread that removes it publishes nothing.
            entry[LOCK].compare_exchange(lock, 0, Relaxed, Relaxed).ok().map(|_| held)
        })
    }

    /// The locks that are held, for a reader.
    pub fn iter(&self) -> impl Iterator<Item = HeldLock> + use<'m> {
        let held = *self;
        (0..self.depth().min(ENTRIES)).filter_map(move |at| {
            let entry = held.entry(at);
            // Acquire: pairs with the Release in `push`.
            let lock = entry[LOCK].load(Acquire);
            (lock != 0).then(|| Self::read_entry(entry, lock))
        })
    }

    /// Removes all entries, for a new owner of the table.
    pub fn clear(&self) {
        for at in 0..ENTRIES {
            // Relaxed: the table was acquired with its page.
            self.entry(at)[LOCK].store(0, Relaxed);
        }
        self.set_depth(0);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page() -> Box<[AtomicU64; WORDS]> {
        Box::new(core::array::from_fn(|_| AtomicU64::new(0)))
    }

    proptest! {
        /// Compared with a list: locks are taken and released in any order, by their thread or by another.
        #[test]
        fn each_hold_is_found_once(steps in prop::collection::vec((0..3, 1u64..80), 0..400)) {
            let page = page();
            let held = HeldLocks::new(&page);
            let mut model: Vec<u64> = Vec::new();
            for (step, lock) in steps {
                if step == 0 {
                    let wait = (lock % 2 == 0).then_some((lock, 2 * lock));
                    let is_sample = lock % 3 == 0;
                    let pushed = held.push(HeldLock { lock, row: lock, since: lock, is_sample, wait });
                    prop_assert_eq!(pushed, model.len() < ENTRIES);
                    if pushed {
                        model.push(lock);
                    }
                } else {
                    let found = if step == 1 { held.pop(lock) } else { held.take_from_another(lock) };
                    let at = model.iter().rposition(|&l| l == lock);
                    prop_assert!(found.is_none_or(|held| held.wait == (lock % 2 == 0).then_some((lock, 2 * lock))));
                    prop_assert!(found.is_none_or(|held| held.is_sample == (lock % 3 == 0) && held.since == lock));
                    prop_assert_eq!(found.map(|held| held.row), at.map(|at| model.remove(at)));
                }
                prop_assert_eq!(held.has(lock), model.contains(&lock));
                let mut all: Vec<u64> = held.iter().map(|held| held.lock).collect();
                let mut expected = model.clone();
                all.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(all, expected);
            }
        }
    }

    #[test]
    fn hand_over_hand_locking_needs_two_entries() {
        let page = page();
        let held = HeldLocks::new(&page);
        let push = |lock| held.push(HeldLock { lock, row: lock, since: lock, is_sample: false, wait: None });
        assert!(push(1));
        for lock in 2..1000 {
            assert!(push(lock), "{lock}");
            assert_eq!(held.pop(lock - 1).unwrap().row, lock - 1);
        }
    }

    #[test]
    fn push_fails_when_the_list_is_full() {
        let page = page();
        let held = HeldLocks::new(&page);
        for lock in 1..=ENTRIES as u64 {
            assert!(held.push(HeldLock { lock, row: 0, since: 0, is_sample: false, wait: None }));
        }
        assert!(!held.push(HeldLock { lock: 1000, row: 0, since: 0, is_sample: false, wait: None }));
        held.take_from_another(ENTRIES as u64).unwrap();
        assert!(held.push(HeldLock { lock: 1000, row: 0, since: 0, is_sample: false, wait: None }));
    }
}

#[cfg(test)]
mod models {
    use super::*;
    use unspin_sync::atomic::Ordering;
    use unspin_sync::{model, sync::Arc, thread};

    /// A thread takes a lock and another thread releases it. The entry is seen whole, and exactly one of two
    /// searching threads gets it.
    fn entry_is_read_whole(order: Ordering) {
        model(move || {
            let entry: Arc<[AtomicU64; 3]> = Arc::new(core::array::from_fn(|_| AtomicU64::new(0)));
            let take = |entry: &[AtomicU64; 3]| {
                // Acquire, then Relaxed (both): as in `take_from_another`.
                if entry[LOCK].load(Acquire) != 5 {
                    return 0;
                }
                assert_eq!(entry[SINCE].load(Relaxed), 9);
                u32::from(entry[LOCK].compare_exchange(5, 0, Relaxed, Relaxed).is_ok())
            };
            let other = {
                let entry = Arc::clone(&entry);
                thread::spawn(move || take(&entry))
            };
            // Relaxed: as in `push`.
            entry[SINCE].store(9, Relaxed);
            entry[LOCK].store(5, order);
            assert!(take(&entry) + other.join().unwrap() == 1);
        });
    }

    #[test]
    fn foreign_unlock_takes_an_entry_once_and_whole() {
        entry_is_read_whole(Release);
    }

    /// The planted bug: an entry published without Release is taken before it is written.
    #[test]
    #[cfg(loom)]
    #[should_panic(expected = "left == right")]
    fn planted_relaxed_push_shows_a_torn_entry() {
        entry_is_read_whole(Relaxed);
    }
}
