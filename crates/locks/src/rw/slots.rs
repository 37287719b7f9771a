//! The table in which readers of biased locks publish themselves: the visible readers table of BRAVO (Dice and Kogan, "BRAVO:
//! Biased Locking for Reader-Writer Locks", USENIX ATC 2019, 3).
//!
//! In the paper a reader's slot is chosen by a hash of lock and thread, and readers that hash to one cache line write to it
//! in turn. Here each thread has a *line* of its own, as long as there are lines. So a reader writes to no cache line that
//! another reader writes to. Threads without a line are counted in the lock.
//!
//! A slot contains the address of a lock, how many times more the thread holds it, and `UNCONFIRMED`. Only the thread of the line
//! fills a slot, and confirms it.
//!
//! **Publishing.** The reader stores its slot and then reads the lock's bias; the writer clears the bias and then reads all slots.
//! A fence on each side makes one of them see the other (`host::fence_of_reader`, `host::fence_of_writer`). So it is with the end
//! of a hold: the reader empties its slot and then reads [`Line::waited`]; a writer that is to sleep adds itself to that, and then
//! reads the slot.
//!
//! **Release by another thread.** A lock may be released by another thread than the reader. As long as no thread has done so, a
//! thread empties its own slot by a load and a store. The first one that releases for another says so in
//! [`Table::others_release`]; from then on slots are emptied by compare-and-swap. A thread that has not seen it may be between its load
//! and its store. It says so in [`Line::releasing`], before it reads `others_release`; the other one waits for that, after it
//! has stored `others_release`. The same two fences lie in between.

use super::{host, reader};
use crate::Until;
use crate::backoff::Backoff;
use crate::park::{self, Wake};
use crate::waiting::{SpinPolicy, SpinStep};
use unspin_sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};

#[cfg(not(any(loom, shuttle)))]
mod size {
    pub const LINES: usize = 512;
    pub const SLOTS: usize = 7;
}
#[cfg(any(loom, shuttle))]
mod size {
    pub const LINES: usize = 4;
    pub const SLOTS: usize = 2;
}
use size::{LINES, SLOTS};

/// The thread of the line does not know yet whether the lock was still biased when it filled the slot: not a hold.
const UNCONFIRMED: u64 = 1;
/// The address of the lock: user addresses have 47 bits, and locks are aligned to 8.
const ADDRESS: u64 = (1 << 47) - 8;
/// Another hold of the same lock by the same thread.
const AGAIN: u64 = 1 << 48;
const MAX_AGAIN: u64 = u64::MAX >> 48;

/// How often a thread looks whether another one is between the load and the store of a release.
#[cfg(not(any(loom, shuttle)))]
const AWAITED: u32 = 3_000;
#[cfg(any(loom, shuttle))]
const AWAITED: u32 = u32::MAX;

/// The slots of one thread: a cache line.
#[derive(Debug)]
#[repr(C, align(64))]
struct Line {
    slots: [AtomicU64; SLOTS],
    /// Changed when a slot is emptied while a writer waits for one: the futex on which it sleeps.
    emptied: AtomicU32,
    /// How many writers wait for a slot of this line, or are about to.
    waited: AtomicU16,
    /// How many times the thread of this line is about to empty a slot: more than once if a signal handler has interrupted it.
    releasing: AtomicU16,
}

impl Line {
    /// A free line. Loom's atomics cannot be built in a constant.
    #[cfg(not(any(loom, shuttle)))]
    const fn empty() -> Line {
        Line {
            slots: [const { AtomicU64::new(0) }; SLOTS],
            emptied: AtomicU32::new(0),
            waited: AtomicU16::new(0),
            releasing: AtomicU16::new(0),
        }
    }

    #[cfg(any(loom, shuttle))]
    fn empty() -> Line {
        Line {
            slots: core::array::from_fn(|_| AtomicU64::new(0)),
            emptied: AtomicU32::new(0),
            waited: AtomicU16::new(0),
            releasing: AtomicU16::new(0),
        }
    }

    fn holds_nothing(&self) -> bool {
        // Acquire: another thread may have emptied a slot.
        self.slots.iter().all(|slot| slot.load(Ordering::Acquire) == 0)
    }
}

/// The table. The memory is static, so that a release may use it after the lock is gone.
#[derive(Debug)]
struct Table {
    lines: [Line; LINES],
    /// A bit for each line that a thread has.
    claimed: [AtomicU64; LINES.div_ceil(64)],
    /// All lines from this index on have never been used.
    used: AtomicUsize,
    /// Whether any thread has released what another one has published.
    others_release: AtomicBool,
    /// The generation of the process to which the lines belong; 0 if none was claimed.
    generation: AtomicU32,
}

#[cfg(not(any(loom, shuttle)))]
fn table() -> &'static Table {
    static TABLE: Table = Table::empty();
    &TABLE
}

#[cfg(any(loom, shuttle))]
fn table() -> &'static Table {
    unspin_sync::modelled::lazy_static! {
        static ref TABLE: Table = Table::empty();
    }
    &TABLE
}

extern "C" fn forget_other_threads() {
    #[cfg(not(any(loom, shuttle)))]
    table().forget_other_threads();
}

impl Table {
    #[cfg(not(any(loom, shuttle)))]
    const fn empty() -> Table {
        Table {
            lines: [const { Line::empty() }; LINES],
            claimed: [const { AtomicU64::new(0) }; LINES.div_ceil(64)],
            used: AtomicUsize::new(0),
            others_release: AtomicBool::new(false),
            generation: AtomicU32::new(0),
        }
    }

    #[cfg(any(loom, shuttle))]
    fn empty() -> Table {
        Table {
            lines: core::array::from_fn(|_| Line::empty()),
            claimed: core::array::from_fn(|_| AtomicU64::new(0)),
            used: AtomicUsize::new(0),
            others_release: AtomicBool::new(false),
            generation: AtomicU32::new(0),
        }
    }

    /// To be called in a child made by fork, by its only thread: the other threads of the parent do not exist here. What they hold
    /// stays held, as with libc's lock.
    #[cfg(not(any(loom, shuttle)))]
    fn forget_other_threads(&self) {
        let own = reader::line();
        for (index, line) in self.used().iter().enumerate().filter(|&(index, _)| Some(index) != own) {
            // Relaxed, here and below: there is one thread.
            line.waited.store(0, Ordering::Relaxed);
            line.releasing.store(0, Ordering::Relaxed);
            for slot in line.slots.iter().filter(|slot| slot.load(Ordering::Relaxed) & UNCONFIRMED != 0) {
                slot.store(0, Ordering::Relaxed);
            }
            if line.holds_nothing() {
                self.give_back(index);
            }
        }
        if let Some(own) = own {
            self.lines[own].waited.store(0, Ordering::Relaxed);
        }
        self.generation.store(crate::host::generation(), Ordering::Relaxed);
    }

    /// Returns when the thread of the line is not about to empty a slot by a store. After `others_release` was stored.
    fn await_release(&self, line: &Line) {
        // Relaxed: written before there are other threads that need it. In a child that was made without libc's fork no thread
        // may exist that resets the word.
        if self.generation.load(Ordering::Relaxed) != crate::host::generation() {
            return;
        }
        let mut backoff = Backoff::default();
        // A thread that a handler has made jump out of `retire` never resets it: this waits for some tenths of a second.
        for _ in 0..AWAITED {
            // Acquire: partner of the Release in `retire`: what that call has done to its slots is done.
            if line.releasing.load(Ordering::Acquire) == 0 {
                return;
            }
            backoff.pause();
        }
    }

    /// The lines that were ever used.
    fn used(&self) -> &[Line] {
        // Acquire: partner of the Release in `claim`. A writer calls this after its fence: it sees the line of each reader that
        // has published itself before the fence.
        &self.lines[..self.used.load(Ordering::Acquire)]
    }

    fn claim(&self) -> Option<usize> {
        for (index, word) in self.claimed.iter().enumerate() {
            loop {
                // Relaxed: the compare-exchange decides.
                let bits = word.load(Ordering::Relaxed);
                let bit = bits.trailing_ones();
                let line = index * 64 + bit as usize;
                if bit == 64 || line >= LINES {
                    break;
                }
                // Acquire: partner of the Release in `give_back`: the slots are empty.
                if word.compare_exchange(bits, bits | 1 << bit, Ordering::Acquire, Ordering::Relaxed).is_ok()
                {
                    // Release: partner of the Acquire in `used`.
                    self.used.fetch_max(line + 1, Ordering::Release);
                    return Some(line);
                }
            }
        }
        None
    }

    fn give_back(&self, line: usize) {
        // Release: partner of the Acquire in `claim`.
        self.claimed[line / 64].fetch_and(!(1 << (line % 64)), Ordering::Release);
    }
}

/// The first of the two slots in which a thread looks for a lock.
#[inline(always)]
fn position(lock: u64) -> usize {
    // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4), reduced by a multiplication.
    let hash = (lock >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    ((hash * (SLOTS as u64 - 1)) >> 32) as usize
}

/// The line of the calling thread; claims one if it has none.
#[inline(always)]
fn own_line() -> Option<&'static Line> {
    let line = match reader::line() {
        Some(line) => line,
        None => claim_line()?,
    };
    Some(&table().lines[line])
}

/// To be called before the program begins: a handler of the program in a child made by fork runs after ours then.
pub(crate) fn prepare() {
    host::call_in_child(forget_other_threads);
}

#[cold]
fn claim_line() -> Option<usize> {
    prepare();
    let line = table().claim()?;
    // Relaxed (all): only this thread uses the line. A jump out of a signal handler may have left a number there.
    table().lines[line].releasing.store(0, Ordering::Relaxed);
    if table().generation.load(Ordering::Relaxed) == 0 {
        table().generation.store(crate::host::generation(), Ordering::Relaxed);
    }
    reader::set_line(Some(line));
    host::call_at_thread_exit(leave_thread);
    Some(line)
}

/// Gives the line of the calling thread back, when the thread ends. If the thread still holds locks for reading, the line stays
/// as it is: other threads may release them.
extern "C-unwind" fn leave_thread() {
    let Some(line) = reader::line() else { return };
    if table().lines[line].holds_nothing() {
        reader::set_line(None);
        table().give_back(line);
    }
}

/// A slot that the calling thread has filled.
pub(super) struct Published {
    line: &'static Line,
    slot: &'static AtomicU64,
    lock: u64,
}

/// Publishes the calling thread as a reader of the lock. `None` if there is no slot for it.
#[inline(always)]
pub(super) fn publish(lock: u64) -> Option<Published> {
    let line = own_line()?;
    let at = position(lock);
    let slot = &line.slots[at];
    // Relaxed: only this thread fills the slot. If another thread empties it at this moment, it counts as full.
    if slot.load(Ordering::Relaxed) == 0 {
        // Relaxed: the caller's fence orders it.
        slot.store(lock | UNCONFIRMED, Ordering::Relaxed);
        return Some(Published { line, slot, lock });
    }
    publish_in_second(line, at, lock)
}

#[cold]
fn publish_in_second(line: &'static Line, at: usize, lock: u64) -> Option<Published> {
    let slot = &line.slots[at + 1];
    // Relaxed (both): as in `publish`. A lock that is in the first slot is not to be in the second: `publish_again` is for that.
    if slot.load(Ordering::Relaxed) != 0 || line.slots[at].load(Ordering::Relaxed) & ADDRESS == lock {
        return None;
    }
    slot.store(lock | UNCONFIRMED, Ordering::Relaxed);
    Some(Published { line, slot, lock })
}

impl Published {
    /// The lock was still biased: the thread holds it.
    #[inline(always)]
    pub(super) fn confirm(self) {
        // Relaxed: other threads change confirmed slots only, and a writer waits for both.
        self.slot.store(self.lock, Ordering::Relaxed);
    }

    /// Takes it back: the lock is not biased any more.
    #[cold]
    pub(super) fn retract(self) {
        // Release, as in `retire`, although the thread has read nothing.
        self.slot.store(0, Ordering::Release);
        self.line.tell_writers();
    }
}

/// Counts another hold, if the calling thread has published one of the same lock.
#[cold]
pub(super) fn publish_again(lock: u64) -> bool {
    let Some(line) = reader::line() else { return false };
    let line = &table().lines[line];
    let at = position(lock);
    line.slots[at..=at + 1].iter().any(|slot| {
        loop {
            // Relaxed: the thread holds the lock, and so has synchronised with the last writer.
            let seen = slot.load(Ordering::Relaxed);
            if seen & (ADDRESS | UNCONFIRMED) != lock || seen >> 48 == MAX_AGAIN {
                return false;
            }
            // Relaxed: as above.
            if slot.compare_exchange(seen, seen + AGAIN, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return true;
            }
        }
    })
}

/// Removes one hold of the lock by the calling thread. Returns whether there was one.
#[inline(always)]
pub(super) fn retire(lock: u64) -> bool {
    let Some(line) = reader::line() else { return false };
    let table = table();
    let line = &table.lines[line];
    let at = position(lock);
    // Relaxed (both): only this thread writes the word.
    let interrupted = line.releasing.load(Ordering::Relaxed);
    line.releasing.store(interrupted + 1, Ordering::Relaxed);
    host::fence_of_reader();
    // Relaxed: the fence orders it after `releasing`.
    let is_retired = if table.others_release.load(Ordering::Relaxed) {
        line.retire_from_either(at, lock)
    } else {
        line.retire_alone(at, lock)
    };
    // Release: partner of the Acquire in `retire_any`.
    line.releasing.store(interrupted, Ordering::Release);
    if is_retired {
        line.tell_writers();
    }
    is_retired
}

/// Removes all holds at the address of a lock that is new: of a lock that was there before, and was not released.
#[cold]
pub(super) fn forget(lock: u64) {
    while retire_any(lock) {}
}

/// Removes one hold of the lock by any thread. Returns whether there was one.
#[cold]
pub(super) fn retire_any(lock: u64) -> bool {
    let table = table();
    // Acquire: as in `count`; most lines have no such slot.
    let has_it = |slot: &AtomicU64| slot.load(Ordering::Acquire) & (ADDRESS | UNCONFIRMED) == lock;
    table.used().iter().filter(|line| line.slots.iter().any(has_it)).any(|line| {
        // Relaxed: the fence orders it.
        table.others_release.store(true, Ordering::Relaxed);
        host::fence_of_writer();
        table.await_release(line);
        let is_retired = line.slots.iter().any(|slot| line.retire_from(slot, lock));
        if is_retired {
            line.tell_writers();
        }
        is_retired
    })
}

impl Line {
    /// Removes a hold of the line's own thread, while no other thread empties slots.
    #[inline(always)]
    fn retire_alone(&self, at: usize, lock: u64) -> bool {
        // Relaxed: only this thread writes the slots now.
        let first = self.slots[at].load(Ordering::Relaxed);
        if first == lock {
            // Release: partner of the Acquire in `wait_until_empty` and `count`: a writer sees this thread's reads done.
            self.slots[at].store(0, Ordering::Release);
            return true;
        }
        self.retire_from_either(at, lock)
    }

    #[cold]
    fn retire_from_either(&self, at: usize, lock: u64) -> bool {
        self.slots[at..=at + 1].iter().any(|slot| self.retire_from(slot, lock))
    }

    fn retire_from(&self, slot: &AtomicU64, lock: u64) -> bool {
        loop {
            // Relaxed: the compare-exchange provides the ordering.
            let seen = slot.load(Ordering::Relaxed);
            if seen & (ADDRESS | UNCONFIRMED) != lock {
                return false;
            }
            // The last hold: nothing is left.
            let left = seen.saturating_sub(AGAIN);
            // Release: as in `retire_alone`. Relaxed on failure: the loop reads again.
            if slot.compare_exchange(seen, left, Ordering::Release, Ordering::Relaxed).is_ok() {
                return true;
            }
        }
    }

    /// Wakes the writers that wait for a slot of this line. To be called after a slot was emptied.
    #[inline(always)]
    fn tell_writers(&self) {
        host::fence_of_reader();
        // Relaxed: the fence orders it after the slot.
        if self.waited.load(Ordering::Relaxed) != 0 {
            self.wake_writers();
        }
    }

    #[cold]
    fn wake_writers(&self) {
        // Release: partner of the Acquire in `wait_until_empty`: the writer that sees the change sees the slot empty.
        self.emptied.fetch_add(1, Ordering::Release);
        park::wake(&raw const self.emptied, u32::MAX >> 1);
    }

    /// Waits until the slot does not contain the lock. False: `until` has passed.
    fn wait_until_empty<S: SpinPolicy>(&self, slot: &AtomicU64, lock: u64, until: Option<Until>) -> bool {
        let mut spin = S::begin(0);
        // Acquire, here and below: partner of the Release in `retire_alone`.
        while slot.load(Ordering::Acquire) & ADDRESS == lock {
            if spin.pause(0) == SpinStep::Sleep {
                return self.sleep_until_empty(slot, lock, until);
            }
        }
        true
    }

    #[cold]
    fn sleep_until_empty(&self, slot: &AtomicU64, lock: u64, until: Option<Until>) -> bool {
        // Relaxed: the fence orders it before the loads of the slot.
        self.waited.fetch_add(1, Ordering::Relaxed);
        host::fence_of_writer();
        let is_empty = loop {
            // Acquire: partner of the Release in `wake_writers`. Read before the slot: if the slot is emptied after it was read,
            // this word has another value by the time the thread sleeps.
            let emptied = self.emptied.load(Ordering::Acquire);
            if slot.load(Ordering::Acquire) & ADDRESS != lock {
                break true;
            }
            if park::wait(&self.emptied, emptied, until) == Wake::TimedOut {
                break false;
            }
        };
        // Relaxed: a reader that sees the old number makes a system call too many.
        self.waited.fetch_sub(1, Ordering::Relaxed);
        is_empty
    }
}

/// Waits until no reader of the lock is published. To be called after the bias was cleared and `host::fence_of_writer`.
/// False: `until` has passed.
pub(super) fn wait_for_readers<S: SpinPolicy>(lock: u64, until: Option<Until>) -> bool {
    let lines = table().used();
    lines.iter().all(|line| line.slots.iter().all(|slot| line.wait_until_empty::<S>(slot, lock, until)))
}

/// How many holds of the lock are published.
pub(super) fn count(lock: u64) -> u32 {
    let slots = table().used().iter().flat_map(|line| &line.slots);
    // Acquire: as in `wait_until_empty`, for a writer that only tries.
    let seen = slots.map(|slot| slot.load(Ordering::Acquire)).filter(|slot| slot & ADDRESS == lock);
    seen.map(|slot| 1 + (slot >> 48) as u32).sum()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn both_positions_exist_and_all_slots_are_used() {
        let positions: std::collections::BTreeSet<usize> =
            (0..10_000u64).map(|lock| position(0x7f00_0000_0000 + lock * 56)).collect();
        assert_eq!(positions.into_iter().collect::<Vec<_>>(), (0..SLOTS - 1).collect::<Vec<_>>());
    }

    #[test]
    fn line_is_a_cache_line_and_addresses_fit() {
        assert_eq!(size_of::<Line>(), 64);
        assert_eq!(ADDRESS & (AGAIN | UNCONFIRMED), 0);
        assert_eq!((usize::MAX as u64 >> 17) & !7, ADDRESS);
    }
}
