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

use super::host;
use crate::Until;
use crate::backoff::Backoff;
use crate::park::{self, Wake};
use crate::waiting::{SpinPolicy, SpinStep};
use unspin_sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};

#[cfg(not(any(loom, shuttle)))]
mod size {
    pub const LINES: usize = 512;
    pub const SLOTS: usize = 7;
    pub const FIRST_BITS: u32 = 2;
}
#[cfg(any(loom, shuttle))]
mod size {
    pub const LINES: usize = 4;
    pub const SLOTS: usize = 2;
    pub const FIRST_BITS: u32 = 0;
}
use size::{FIRST_BITS, LINES, SLOTS};

/// From the first slot in which a thread looks for a lock to the second.
const TO_SECOND: usize = SLOTS - (1 << FIRST_BITS);

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
    /// How many writers wait for a slot of this line, or are about to, or have not run since.
    waited: AtomicU16,
    /// Counts what the thread of this line has published with a fence, to sample it.
    fenced: AtomicU8,
    /// How many times the thread of this line is about to empty a slot: more than once if a signal handler has interrupted it.
    releasing: AtomicU8,
}

impl Line {
    /// A free line. Loom's atomics cannot be built in a constant.
    #[cfg(not(any(loom, shuttle)))]
    const fn empty() -> Line {
        Line {
            slots: [const { AtomicU64::new(0) }; SLOTS],
            emptied: AtomicU32::new(0),
            waited: AtomicU16::new(0),
            fenced: AtomicU8::new(0),
            releasing: AtomicU8::new(0),
        }
    }

    #[cfg(any(loom, shuttle))]
    fn empty() -> Line {
        Line {
            slots: core::array::from_fn(|_| AtomicU64::new(0)),
            emptied: AtomicU32::new(0),
            waited: AtomicU16::new(0),
            fenced: AtomicU8::new(0),
            releasing: AtomicU8::new(0),
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
        let own = own_line();
        for line in self.used().iter().filter(|&line| own.is_none_or(|own| !core::ptr::eq(own, line))) {
            // Relaxed, here and below: there is one thread.
            line.waited.store(0, Ordering::Relaxed);
            line.releasing.store(0, Ordering::Relaxed);
            for slot in line.slots.iter().filter(|slot| slot.load(Ordering::Relaxed) & UNCONFIRMED != 0) {
                slot.store(0, Ordering::Relaxed);
            }
            if line.holds_nothing() {
                self.give_back(line);
            }
        }
        if let Some(own) = own {
            own.waited.store(0, Ordering::Relaxed);
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
            // Acquire: partner of the Release in `end_release`: what that call has done to its slots is done.
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

    fn claim(&self) -> Option<&Line> {
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
                    return Some(&self.lines[line]);
                }
            }
        }
        None
    }

    fn give_back(&self, line: &Line) {
        let line = ((&raw const *line).addr() - self.lines.as_ptr().addr()) / size_of::<Line>();
        // Release: partner of the Acquire in `claim`.
        self.claimed[line / 64].fetch_and(!(1 << (line % 64)), Ordering::Release);
    }
}

/// The first of the two slots in which a thread looks for a lock.
#[inline(always)]
fn position(lock: u64) -> usize {
    // The bits above a cache line's: a thread seldom holds locks that agree in them, and a third one is counted.
    (lock >> 6) as usize & ((1 << FIRST_BITS) - 1)
}

/// The line of the calling thread, if it has claimed one.
#[inline(always)]
fn own_line() -> Option<&'static Line> {
    // SAFETY: the address is 0 or that of a line of the table, which is static.
    unsafe { (host::line() as *const Line).as_ref() }
}

/// To be called before the program begins: a handler of the program in a child made by fork runs after ours then.
pub(crate) fn prepare() {
    host::call_in_child(forget_other_threads);
}

fn claim_line() -> Option<&'static Line> {
    prepare();
    let line = table().claim()?;
    // Relaxed (all): only this thread uses the line. A jump out of a signal handler may have left a number there.
    line.releasing.store(0, Ordering::Relaxed);
    if table().generation.load(Ordering::Relaxed) == 0 {
        table().generation.store(crate::host::generation(), Ordering::Relaxed);
    }
    host::set_line((&raw const *line).addr());
    host::call_at_thread_exit(leave_thread);
    Some(line)
}

/// Gives the line of the calling thread back, when the thread ends. If the thread still holds locks for reading, the line stays
/// as it is: other threads may release them.
extern "C-unwind" fn leave_thread() {
    let Some(line) = own_line() else { return };
    if line.holds_nothing() {
        host::set_line(0);
        table().give_back(line);
    }
}

/// How many holds the calling thread has published.
pub(super) fn published() -> u32 {
    own_line().map_or(0, |line| {
        // Relaxed: only this thread fills and confirms the slots.
        let slots = line.slots.iter().map(|slot| slot.load(Ordering::Relaxed));
        slots.filter(|slot| slot & ADDRESS != 0 && slot & UNCONFIRMED == 0).map(times).sum()
    })
}

/// How many times a slot that is not empty says that the thread holds the lock.
fn times(slot: u64) -> u32 {
    1 + (slot >> 48) as u32
}

/// A slot that the calling thread has filled.
#[must_use]
pub(super) struct Published {
    line: &'static Line,
    slot: &'static AtomicU64,
    lock: u64,
}

/// Publishes the calling thread as a reader of the lock, in the slot that it looks at first. `None` if that is not possible.
#[inline(always)]
pub(super) fn publish_in_first(lock: u64) -> Option<Published> {
    let line = own_line()?;
    line.publish_in(&line.slots[position(lock)], lock)
}

/// Publishes the calling thread as a reader of the lock. `None` if there is no slot for it.
pub(super) fn publish(lock: u64) -> Option<Published> {
    let line = own_line().or_else(claim_line)?;
    let at = position(lock);
    let [first, second] = [&line.slots[at], &line.slots[at + TO_SECOND]];
    // Relaxed: as in `publish_in`. A lock that is in the first slot is not to be in the second: `publish_again` is for that.
    let is_in_first = first.load(Ordering::Relaxed) & ADDRESS == lock;
    line.publish_in(first, lock).or_else(|| if is_in_first { None } else { line.publish_in(second, lock) })
}

impl Line {
    #[inline(always)]
    fn publish_in(&'static self, slot: &'static AtomicU64, lock: u64) -> Option<Published> {
        // Relaxed: only this thread fills the slot. If another thread empties it at this moment, it counts as full.
        if slot.load(Ordering::Relaxed) != 0 {
            return None;
        }
        // Relaxed: the caller's fence orders it.
        slot.store(lock + UNCONFIRMED, Ordering::Relaxed);
        Some(Published { line: self, slot, lock })
    }
}

impl Published {
    /// Whether this is one in 256 that the thread asks this for.
    #[inline(always)]
    pub(super) fn is_sampled(&self) -> bool {
        // Relaxed (both): only this thread uses the number.
        let number = self.line.fenced.load(Ordering::Relaxed).wrapping_add(1);
        self.line.fenced.store(number, Ordering::Relaxed);
        number == 0
    }

    /// The lock was still biased: the thread holds it.
    #[inline(always)]
    pub(super) fn confirm(self) {
        // Relaxed: other threads change confirmed slots only, and a writer waits for both.
        self.slot.store(self.lock, Ordering::Relaxed);
    }

    /// Takes it back: the lock is not biased any more.
    pub(super) fn retract(self) {
        // Release, as in `Line::retire_from`, although the thread has read nothing.
        self.slot.store(0, Ordering::Release);
        self.line.tell_writers();
    }
}

/// Takes back what [`publish_in_first`] has returned for this lock, likewise.
#[cold]
pub(super) fn retract_first(lock: u64) {
    if let Some(line) = own_line() {
        Published { line, slot: &line.slots[position(lock)], lock }.retract();
    }
}

/// Counts another hold, if the calling thread has published one of the same lock.
#[cold]
pub(super) fn publish_again(lock: u64) -> bool {
    own_line().is_some_and(|line| line.publish_again(lock))
}

/// What a thread has done to release a hold that it has published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retired {
    /// All.
    Wholly,
    /// It has released the lock. [`tell_writers`] is left to do.
    WithoutWakes,
    /// Nothing.
    Not,
}

/// Removes the hold of the lock by the calling thread, if it is the only one, in the slot in which the thread looks first, and
/// threads release only what is theirs. Calls no function, so that the caller needs no stack.
#[inline(always)]
pub(super) fn retire_alone(lock: u64) -> Retired {
    let Some(line) = own_line() else { return Retired::Not };
    let slot = &line.slots[position(lock)];
    let is_outermost = line.begin_release();
    // Relaxed: the fence orders it after `releasing`. Relaxed: only this thread writes the slots, if no other one releases.
    let is_alone = is_outermost
        && !table().others_release.load(Ordering::Relaxed)
        && slot.load(Ordering::Relaxed) == lock;
    if is_alone {
        // Release: partner of the Acquire in `wait_until_empty` and `count`: a writer sees this thread's reads done.
        slot.store(0, Ordering::Release);
    }
    line.end_release();
    match is_alone {
        false => Retired::Not,
        true if line.is_waited_for() => Retired::WithoutWakes,
        true => Retired::Wholly,
    }
}

/// Removes one hold of the lock by the calling thread. Returns whether there was one.
pub(super) fn retire(lock: u64) -> bool {
    let Some(line) = own_line() else { return false };
    let is_retired = line.pair(lock).into_iter().any(|slot| line.retire_from(slot, lock, 0));
    if is_retired {
        line.tell_writers();
    }
    is_retired
}

/// As [`retire`], if the thread has published another hold in the same slot.
pub(super) fn retire_again(lock: u64) -> bool {
    own_line().is_some_and(|line| line.pair(lock).into_iter().any(|slot| line.retire_from(slot, lock, AGAIN)))
}

/// Whether the calling thread runs a signal handler that has interrupted a release of a slot.
pub(super) fn interrupts_release() -> bool {
    // Relaxed: only this thread writes the word.
    own_line().is_some_and(|line| line.releasing.load(Ordering::Relaxed) != 0)
}

/// Wakes the writers that wait for a slot of the calling thread.
#[cold]
pub fn tell_writers() {
    if let Some(line) = own_line() {
        line.wake_writers();
    }
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
        let is_retired = line.slots.iter().any(|slot| line.retire_from(slot, lock, 0));
        if is_retired {
            line.tell_writers();
        }
        is_retired
    })
}

impl Line {
    /// The two slots for a lock.
    fn pair(&self, lock: u64) -> [&AtomicU64; 2] {
        let at = position(lock);
        [&self.slots[at], &self.slots[at + TO_SECOND]]
    }

    fn publish_again(&self, lock: u64) -> bool {
        self.pair(lock).into_iter().any(|slot| {
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

    /// To be called by the thread of the line before it reads whether others release. False: it has interrupted another release,
    /// which may have read its slot, and will empty that by a store.
    #[inline(always)]
    fn begin_release(&self) -> bool {
        // Relaxed (both): only this thread writes the word.
        let outer = self.releasing.load(Ordering::Relaxed);
        self.releasing.store(outer.wrapping_add(1), Ordering::Relaxed);
        host::fence_of_reader();
        outer == 0
    }

    /// To be called after the slot is emptied.
    #[inline(always)]
    fn end_release(&self) {
        // Release: partner of the Acquire in `await_release`. Relaxed: as in `begin_release`.
        self.releasing.store(self.releasing.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Release);
    }

    /// Removes a hold of the lock from a slot that contains at least this besides the address.
    fn retire_from(&self, slot: &AtomicU64, lock: u64, least: u64) -> bool {
        loop {
            // Relaxed: the compare-exchange provides the ordering.
            let seen = slot.load(Ordering::Relaxed);
            if seen & (ADDRESS | UNCONFIRMED) != lock || seen < least {
                return false;
            }
            // The last hold: nothing is left.
            let left = seen.saturating_sub(AGAIN);
            // Release: partner of the Acquire in `wait_until_empty` and `count`. Relaxed on failure: the loop reads again.
            if slot.compare_exchange(seen, left, Ordering::Release, Ordering::Relaxed).is_ok() {
                return true;
            }
        }
    }

    /// Whether writers wait for a slot of this line. To be called after a slot was emptied.
    #[inline(always)]
    fn is_waited_for(&self) -> bool {
        host::fence_of_reader();
        // Relaxed: the fence orders it after the slot.
        self.waited.load(Ordering::Relaxed) != 0
    }

    /// Wakes the writers that wait for a slot of this line. To be called after a slot was emptied.
    fn tell_writers(&self) {
        if self.is_waited_for() {
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
        // Acquire, here and below: partner of the Release where slots are emptied.
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
        // Relaxed: a reader that sees the old number makes a system call too many. In a child made by fork the number may be 0.
        let _ =
            self.waited.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |waited| waited.checked_sub(1));
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
    seen.map(times).sum()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn both_positions_exist_and_all_slots_are_used() {
        let positions: std::collections::BTreeSet<usize> =
            (0..10_000u64).map(|lock| position(0x7f00_0000_0000 + lock * 56)).collect();
        assert_eq!(positions.into_iter().collect::<Vec<_>>(), (0..1 << FIRST_BITS).collect::<Vec<_>>());
        assert_eq!((1 << FIRST_BITS) + TO_SECOND, SLOTS);
    }

    #[test]
    fn line_is_a_cache_line_and_addresses_fit() {
        assert_eq!(size_of::<Line>(), 64);
        assert_eq!(ADDRESS & (AGAIN | UNCONFIRMED), 0);
        assert_eq!((usize::MAX as u64 >> 17) & !7, ADDRESS);
    }
}
