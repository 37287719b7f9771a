//! One thread's table: a header page and open-addressed slots.

use crate::counts::Counts;
use crate::event::{Event, Key, Sample};
use crate::slot::{self, SLOT_WORDS, Slot, Tenant, bump};
use core::cell::Cell;
use core::marker::PhantomData;
use unspin_sync::atomic::{AtomicBool, AtomicU64, Ordering::*, compiler_fence};
use unspin_sys::{Errno, mem::Mapping};

const _: () = assert!(SLOTS.is_power_of_two() && SLOTS / SLOTS_PER_PAGE <= 64);

/// Slots in a table; a power of two.
pub(crate) const SLOTS: usize = 1024;
/// Slots that share a page of memory.
const SLOTS_PER_PAGE: usize = 4096 / (8 * SLOT_WORDS);
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
/// Bit n: the n-th page of slots has been brought into being. A page without it holds nothing, and is not
/// even looked at: that alone would make it.
pub(crate) const PAGES: usize = 5;
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
    /// Where the slots lie in memory that comes into being page by page; none for plain memory.
    backing: Option<Backing<'r>>,
    /// Set while a sample is being written: a signal handler that records then must keep out.
    busy: AtomicBool,
    one_thread: PhantomData<Cell<()>>,
}

/// The place of a table's slots in a mapping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backing<'r> {
    pub map: &'r Mapping,
    /// Byte offset of the first slot, a multiple of the page size.
    pub offset: usize,
}

impl<'r> Table<'r> {
    /// `head` has [`HEAD_WORDS`] words; the number of slots is a power of two, [`SLOTS`] at most.
    pub(crate) fn new(head: &'r [AtomicU64], slots: &'r [Slot], backing: Option<Backing<'r>>) -> Table<'r> {
        debug_assert!(slots.len().is_power_of_two() && slots.len() <= SLOTS);
        Table { head, slots, backing, busy: AtomicBool::new(false), one_thread: PhantomData }
    }

    /// Records one attempt at a lock. For a key seen before it is a couple of dozen instructions: no system
    /// call, no allocation, no store outside this table. (1.8 ns in a loop over four keys, on a virtual
    /// machine at 2.6 GHz.) A new key may need a page of memory, and makes one system call for it. Never
    /// touches `errno`.
    ///
    /// A signal handler may call it at any time: what arrives while the interrupted code is itself recording is
    /// counted as not recorded. (A handler that leaves by `longjmp` at such a moment ends the thread's
    /// recording: the rest is counted as not recorded.)
    #[inline]
    pub fn record(&self, key: Key, sample: &Sample) {
        self.exclusively(|| match self.find(key) {
            Some((at, Tenant::Mine)) => slot::add(&self.slots[at], sample),
            Some((at, _)) => self.publish(at, key, sample),
            None => bump(&self.head[OVERFLOWED], 1),
        });
    }

    #[cold]
    fn publish(&self, at: usize, key: Key, sample: &Sample) {
        if self.make_present(at).is_ok() {
            slot::publish(&self.slots[at], key, sample);
        } else {
            bump(&self.head[OVERFLOWED], 1);
        }
    }

    /// Brings the page of slot `at` into being.
    fn make_present(&self, at: usize) -> Result<(), Errno> {
        let page = at / SLOTS_PER_PAGE;
        if self.is_present(at) {
            return Ok(());
        }
        if let Some(Backing { map, offset }) = self.backing {
            populate(map, offset + page * 4096, 4096)?;
        }
        // Relaxed (both): only this thread writes the word; a reader that misses the bit misses what was
        // recorded a moment ago.
        self.head[PAGES].store(self.head[PAGES].load(Relaxed) | 1 << page, Relaxed);
        Ok(())
    }

    #[inline(always)]
    fn is_present(&self, at: usize) -> bool {
        is_present(self.head, at)
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
    fn find(&self, key: Key) -> Option<(usize, Tenant)> {
        if key.lock == 0 {
            return None;
        }
        let mask = self.slots.len() - 1;
        let home = hash(key);
        for step in 0..REACH.min(self.slots.len()) {
            let at = (home + step) & mask;
            if !self.is_present(at) {
                return Some((at, Tenant::Free));
            }
            match slot::tenant(&self.slots[at], key) {
                Tenant::Another => {}
                found => return Some((at, found)),
            }
        }
        None
    }

    /// The header.
    pub(crate) fn head(&self) -> &'r [AtomicU64] {
        self.head
    }
}

/// The keys and counts that a table holds; see [`slot::read`] for what that means beside its owner.
pub(crate) fn rows<'t>(head: &'t [AtomicU64], slots: &'t [Slot]) -> impl Iterator<Item = (Key, Counts)> + 't {
    let present = slots.iter().enumerate().filter(|(at, _)| is_present(head, *at));
    present.filter_map(|(_, slot)| slot::read(slot))
}

#[inline(always)]
fn is_present(head: &[AtomicU64], at: usize) -> bool {
    // Relaxed: see `make_present`. The bits of a table that changed hands came with it.
    head[PAGES].load(Relaxed) >> (at / SLOTS_PER_PAGE) & 1 != 0
}

/// Kernels before 5.14 cannot populate; there a full tmpfs is SIGBUS at the first store.
pub(crate) fn populate(map: &Mapping, offset: usize, bytes: usize) -> Result<(), Errno> {
    match map.populate(offset, bytes) {
        Err(Errno::EINVAL) => Ok(()),
        other => other,
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
            let table = Table::new(&head, &slots, None);
            let mut model = BTreeMap::<Key, Counts>::new();
            for (lock, caller, sample) in &samples {
                let key = Key { lock: *lock, caller: *caller };
                table.record(key, sample);
                model.entry(key).or_default().add(sample);
            }
            let mut recorded = 0;
            for (key, counts) in rows(&head, &slots) {
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
        let table = Table::new(&head, &slots, None);
        let sample = Sample { outcome: Outcome::NoWait, hold: 3, spun: 0, slept: 0 };
        for lock in 1..=20 {
            table.record(Key { lock, caller: 0 }, &sample);
            table.record(Key { lock, caller: 0 }, &sample);
        }
        assert_eq!(rows(&head, &slots).count(), 8);
        // Relaxed: one thread.
        assert_eq!(head[OVERFLOWED].load(Relaxed), 2 * 12);
    }

    #[test]
    fn a_handler_that_interrupts_a_recording_is_counted() {
        let (head, slots) = (words(HEAD_WORDS), slots(8));
        let table = Table::new(&head, &slots, None);
        let sample = Sample { outcome: Outcome::Spun, hold: 3, spun: 2, slept: 0 };
        table.exclusively(|| {
            table.record(Key { lock: 1, caller: 0 }, &sample);
            table.count(Event::HandOff, 5);
        });
        table.count(Event::HandOff, 5);
        // Relaxed (both): one thread.
        assert_eq!(head[REENTERED].load(Relaxed), 2);
        assert_eq!(head[FIRST_EVENT + Event::HandOff as usize].load(Relaxed), 5);
        assert_eq!(rows(&head, &slots).count(), 0);
    }
}

#[cfg(test)]
mod models {
    use super::*;
    use crate::event::Outcome;
    use unspin_sync::{model, sync::Arc, thread};

    /// The whole table: its owner records two keys while another thread reads all there is.
    #[test]
    fn a_reader_beside_the_owner_sees_whole_rows() {
        model(|| {
            let head: Arc<[AtomicU64; FIRST_EVENT]> = Arc::new(core::array::from_fn(|_| AtomicU64::new(0)));
            let slots = Arc::new([Slot::default(), Slot::default()]);
            let owner = {
                let (head, slots) = (Arc::clone(&head), Arc::clone(&slots));
                thread::spawn(move || {
                    let table = Table::new(&head[..], &slots[..], None);
                    let sample = Sample { outcome: Outcome::NoWait, hold: 4, spun: 0, slept: 0 };
                    table.record(Key { lock: 1, caller: 11 }, &sample);
                    table.record(Key { lock: 2, caller: 12 }, &sample);
                })
            };
            let check = |(key, counts): (Key, Counts)| {
                assert_eq!((key.caller, counts.nowait, counts.hold), (key.lock + 10, 1, 4));
            };
            rows(&head[..], &slots[..]).for_each(check);
            owner.join().unwrap();
            assert_eq!(rows(&head[..], &slots[..]).inspect(|row| check(*row)).count(), 2);
        });
    }
}
