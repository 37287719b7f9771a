//! One thread's table: a header page and open-addressed slots.

use crate::event::{Event, Key, Sample};
use crate::slot::{self, Slot, Tenant, bump};
use core::cell::Cell;
use core::marker::PhantomData;
use unspin_sync::atomic::{AtomicBool, AtomicU64, Ordering::*, compiler_fence};

/// Slots in a table; a power of two.
pub(crate) const SLOTS: usize = 256;
/// Words of a table's header, one page.
pub(crate) const HEAD_WORDS: usize = 512;

// Words of the header; the rest is reserved and zero. Word 0 says what the table is (see `pool`).
/// `pid << 32 | tid` of the owner, or of the last one.
pub(crate) const OWNER: usize = 1;
/// Link of the list of released tables.
pub(crate) const LINK: usize = 2;
/// Samples that found no slot.
pub(crate) const OVERFLOWED: usize = 3;
/// Samples and counts of a signal handler that had interrupted the recording of another.
pub(crate) const REENTERED: usize = 4;
/// First of [`EVENTS`] event counters.
pub(crate) const FIRST_EVENT: usize = 16;
/// Room for event counters.
pub(crate) const EVENTS: usize = 16;

/// How far from its home a key is looked for. A table is full for a key when this many neighbours belong to
/// others: looking further would make every sample of an overflowing program slow.
const REACH: usize = 32;

/// The table of one thread: recording writes here and nowhere else.
///
/// It belongs to the thread that claimed it (it is not `Sync`). A child made by fork inherits the value but
/// must not use it: it claims its own. Should it use it all the same, samples of both can be lost, nothing
/// worse.
#[derive(Debug)]
pub struct Table<'r> {
    head: &'r [AtomicU64],
    slots: &'r [Slot],
    index: u32,
    /// Set while a sample is being written: a signal handler that records then must keep out.
    busy: AtomicBool,
    one_thread: PhantomData<Cell<()>>,
}

impl<'r> Table<'r> {
    /// `head` has [`HEAD_WORDS`] words (fewer in models, never fewer than the named ones); the number of
    /// slots is a power of two.
    pub(crate) fn new(head: &'r [AtomicU64], slots: &'r [Slot], index: u32) -> Table<'r> {
        debug_assert!(slots.len().is_power_of_two());
        Table { head, slots, index, busy: AtomicBool::new(false), one_thread: PhantomData }
    }

    /// Records one attempt at a lock. Some 5 ns for a key seen before; no system call, no allocation, no
    /// store outside this table. A signal handler may call it at any time: what arrives while the interrupted
    /// code is itself recording is counted as not recorded. (A handler that leaves by `longjmp` at such a
    /// moment ends the thread's recording: the rest is counted as not recorded.)
    #[inline]
    pub fn record(&self, key: Key, sample: &Sample) {
        self.exclusively(|| match self.find(key) {
            Some((slot, Tenant::Mine)) => slot::add(slot, sample),
            Some((slot, _)) => slot::publish(slot, key, sample),
            None => bump(&self.head[OVERFLOWED], 1),
        });
    }

    /// Counts `n` occurrences, under the same terms as [`record`](Table::record).
    #[inline]
    pub fn count(&self, event: Event, n: u64) {
        self.exclusively(|| bump(&self.head[FIRST_EVENT + event as usize], n));
    }

    #[inline(always)]
    fn exclusively(&self, write: impl FnOnce()) {
        // Relaxed: only this thread and its signal handlers use the flag; the compiler fences below keep the
        // writes between the two stores as a handler sees them.
        if self.busy.load(Relaxed) {
            return self.reentered();
        }
        // Relaxed: as above. A handler between the load and this store records completely and leaves.
        self.busy.store(true, Relaxed);
        compiler_fence(SeqCst);
        write();
        compiler_fence(SeqCst);
        // Relaxed: as above.
        self.busy.store(false, Relaxed);
    }

    #[cold]
    fn reentered(&self) {
        // Relaxed: a count; read-modify-write because handlers interrupt each other.
        self.head[REENTERED].fetch_add(1, Relaxed);
    }

    /// The key's slot, or the free one it would get; none if the key is not one or the table has no room.
    #[inline(always)]
    fn find(&self, key: Key) -> Option<(&'r Slot, Tenant)> {
        if key.lock == 0 {
            return None;
        }
        let mask = self.slots.len() - 1;
        let home = hash(key);
        for step in 0..REACH.min(self.slots.len()) {
            let slot = &self.slots[(home + step) & mask];
            match slot::tenant(slot, key) {
                Tenant::Another => {}
                found => return Some((slot, found)),
            }
        }
        None
    }

    /// Which table of the recording it is.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// The header.
    pub(crate) fn head(&self) -> &'r [AtomicU64] {
        self.head
    }
}

/// Fibonacci hashing; the upper half of the product is the well-mixed one.
#[inline(always)]
fn hash(key: Key) -> usize {
    ((key.lock ^ key.caller.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::counts::Counts;
    use crate::event::Outcome;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn words(n: usize) -> Vec<AtomicU64> {
        (0..n).map(|_| AtomicU64::new(0)).collect()
    }

    fn slots(n: usize) -> Vec<Slot> {
        (0..n).map(|_| Slot::default()).collect()
    }

    fn sample() -> impl Strategy<Value = Sample> {
        (0usize..4, 0u64..1 << 40, 0u64..1 << 40, 0u64..1 << 40).prop_map(|(outcome, hold, spun, slept)| {
            Sample { outcome: Outcome::ALL[outcome], hold, spun, slept }
        })
    }

    proptest! {
        /// Against a sequential model: what found room is summed exactly, what did not is counted exactly.
        #[test]
        fn nothing_is_lost_uncounted(samples in prop::collection::vec((0u64..600, 0u64..3, sample()), 0..2000)) {
            let (head, slots) = (words(HEAD_WORDS), slots(SLOTS));
            let table = Table::new(&head, &slots, 0);
            let mut model = BTreeMap::<Key, Counts>::new();
            for (lock, caller, sample) in &samples {
                let key = Key { lock: *lock, caller: *caller };
                table.record(key, sample);
                model.entry(key).or_default().add(sample);
            }
            let mut recorded = 0;
            for (key, counts) in slots.iter().filter_map(slot::read) {
                prop_assert_eq!(&counts, &model[&key]);
                recorded += counts.attempts();
            }
            // Relaxed: one thread.
            prop_assert_eq!(recorded + head[OVERFLOWED].load(Relaxed), samples.len() as u64);
        }
    }

    #[test]
    fn overflow_is_counted_exactly() {
        let (head, slots) = (words(HEAD_WORDS), slots(8));
        let table = Table::new(&head, &slots, 0);
        let sample = Sample { outcome: Outcome::NoWait, hold: 3, spun: 0, slept: 0 };
        for lock in 1..=20 {
            table.record(Key { lock, caller: 0 }, &sample);
            table.record(Key { lock, caller: 0 }, &sample);
        }
        assert_eq!(slots.iter().filter_map(slot::read).count(), 8);
        // Relaxed: one thread.
        assert_eq!(head[OVERFLOWED].load(Relaxed), 2 * 12);
    }

    #[test]
    fn a_handler_that_interrupts_a_recording_is_counted() {
        let (head, slots) = (words(HEAD_WORDS), slots(8));
        let table = Table::new(&head, &slots, 0);
        let sample = Sample { outcome: Outcome::Spun, hold: 3, spun: 2, slept: 0 };
        table.exclusively(|| {
            table.record(Key { lock: 1, caller: 0 }, &sample);
            table.count(Event::HandOff, 5);
        });
        table.count(Event::HandOff, 5);
        // Relaxed (both): one thread.
        assert_eq!(head[REENTERED].load(Relaxed), 2);
        assert_eq!(head[FIRST_EVENT + Event::HandOff as usize].load(Relaxed), 5);
        assert_eq!(slots.iter().filter_map(slot::read).count(), 0);
    }
}
