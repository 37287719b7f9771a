//! One thread's table: a first page, blocks of rows that are filled in order, and an index that finds a key's row.
//!
//! Blocks and index grow by doubling. A table of two locks takes a few pages, and a table of ten thousand is
//! possible. Readers do not use the index: they iterate over the rows.

use crate::event::{AttemptOutcome, Event, Key, Sample};
use crate::held::{HeldLock, HeldLocks};
use crate::image;
use crate::level::Level;
use crate::pages::{self, Pages, WORDS};
use crate::slot::{self, FirstUse, RawRow, Slot, Tail, Whole, add, increment};
use crate::tokens::{self, Token, Tokens};
use core::cell::Cell;
use core::marker::PhantomData;
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::clock;

// Indices of the words of the first page. Word 0 links the tables of an image (see `list`). Words 63 to 319 are the
// list of held locks (see `held`). The other words are reserved and zero.
/// `pid << 32 | tid` of the owner; 0 after the table was released.
pub(crate) const OWNER: usize = 1;
/// Link of the list of released tables.
pub(crate) const LINK: usize = 2;
/// Page of the image that the table belongs to. It never changes.
pub(crate) const IMAGE: usize = 3;
/// Rows in use.
const COUNT: usize = 4;
/// Samples that were lost because there was no room.
pub(crate) const OVERFLOWED: usize = 5;
/// First word and number of words of the index; 0: the index in this page.
const INDEX_AT: usize = 6;
const INDEX_WORDS: usize = 7;
/// Time of the current owner's claim and of the last owner's release, in ticks; UNTIL is 0 while there is an owner.
pub(crate) const SINCE: usize = 8;
pub(crate) const UNTIL: usize = 9;
/// Nanoseconds that the past owners were on a CPU, and waited for one. An owner adds its times when it releases the
/// table.
pub(crate) const ON_CPU: usize = 10;
pub(crate) const RUNNABLE: usize = 11;
/// Ticks between claim and release, summed over the past owners.
pub(crate) const LIVED: usize = 12;
/// The wait that is in progress: its row, and its start in ticks; 0 if there is none.
pub(crate) const WAITING_ROW: usize = 13;
pub(crate) const WAITING_SINCE: usize = 14;
/// The lowest bit of [`WAITING_SINCE`]: the wait has a deadline. The time loses one tick.
pub(crate) const HAS_DEADLINE: u64 = 1;
/// 1 if the table is a second one of its thread: see [`Recording::claim_second`](crate::Recording::claim_second).
pub(crate) const IS_SECOND: usize = 15;
/// First of [`EVENTS`] event counters.
pub(crate) const FIRST_EVENT: usize = 16;
/// Room for event counters.
pub(crate) const EVENTS: usize = 16;
/// First of [`BLOCKS`] words, each the first page of a block.
const FIRST_BLOCK: usize = 32;
const BLOCKS: usize = 12;
/// Position and size of the first index, in words of this page.
pub(crate) const INDEX: usize = 320;
const INDEX_HERE: usize = 128;
/// The maximum size of an index, in words.
const INDEX_MOST: usize = INDEX_HERE << (2 * ((2 * ROWS / INDEX_HERE).ilog2() / 2 + 1));
const _: () = assert!(FIRST_EVENT + EVENTS <= FIRST_BLOCK && INDEX + INDEX_HERE <= tokens::FIRST);

/// Rows of the first block. Each further block has twice as many as the one before.
const FIRST_ROWS: usize = 32;
/// Maximum number of keys of a table. Further keys are summed up by caller, in the rows of the last block.
pub(crate) const KEYS: usize = FIRST_ROWS * ((1 << (BLOCKS - 1)) - 1);
const ROWS: usize = FIRST_ROWS * ((1 << BLOCKS) - 1);

/// Size of the cache of recently found rows, indexed by the hash of the key.
const CACHE: usize = 64;

/// The table of one thread. A thread records only here.
///
/// A table belongs to the thread that claimed it (the type is not `Sync`). A child made by fork inherits the value
/// but must not use it: it claims its own table. If the child uses it all the same, samples of both processes can be
/// lost; nothing worse happens.
///
/// A signal handler may use its thread's table at any time, whatever it interrupts. It may even fork, and then the child
/// returns into a method of its parent's table. So the value must not lie in memory that a fork wipes.
#[derive(Debug)]
pub struct Table<'r> {
    pages: Pages<'r>,
    /// Number of the next free page.
    free: &'r AtomicU64,
    page: u64,
    head: &'r [AtomicU64; WORDS],
    /// Words from one row to the next.
    stride: Stride,
    cache: [Cell<RowRef>; CACHE],
    /// The cache for keys of [`remember_direct`](Table::remember_direct); the header, which has no key, for none.
    direct: [Cell<&'r Slot>; CACHE],
    /// All of `pages`, as rows' first 16 words.
    slots: &'r [Slot],
    /// All of `pages`, as rows with histograms: a block begins at a page boundary, so each row is one of them. Empty if
    /// rows have no histograms.
    wholes: &'r [Whole],
    /// A row is being added. A signal handler that needs a new row at this time gets none.
    publishing: Cell<bool>,
    one_thread: PhantomData<Cell<()>>,
}

/// Whether rows have histograms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stride {
    Counts = slot::WORDS as isize,
    Whole = slot::WHOLE as isize,
}

/// A row of a table: the number of its first word in the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowRef(u64);

impl RowRef {
    /// No row of any table: the recording's header is there.
    pub const NONE: RowRef = RowRef(0);

    #[inline(always)]
    fn word(self) -> usize {
        self.0 as usize
    }
}

impl HeldLock {
    /// The row of the thread that acquired the lock.
    #[inline(always)]
    pub fn row_ref(&self) -> RowRef {
        RowRef(self.row)
    }

    /// For how many holds this one stands.
    pub fn holds(&self) -> u64 {
        if self.is_sample { Level::AUTO_EVERY.into() } else { 1 }
    }
}

impl<'r> Table<'r> {
    /// The table with this first page.
    pub(crate) fn at(pages: Pages<'r>, free: &'r AtomicU64, page: u64, stride: Stride) -> Option<Table<'r>> {
        let head = pages.page(page)?;
        let slots = pages.slots();
        let no_key = slots.first()?;
        Some(Table {
            pages,
            free,
            page,
            head,
            stride,
            cache: [const { Cell::new(RowRef::NONE) }; CACHE],
            direct: [no_key; CACHE].map(Cell::new),
            slots,
            wholes: if stride == Stride::Whole { pages.slots() } else { &[] },
            publishing: Cell::new(false),
            one_thread: PhantomData,
        })
    }

    /// The row of a key; none if the key has no row yet.
    #[inline(always)]
    pub fn find(&self, key: Key) -> Option<RowRef> {
        let hash = hash(key);
        let row = self.cache[hash % CACHE].get();
        match self.slot(row) {
            Some(slot) if slot::has_key(slot, key) => Some(row),
            _ => self.search_index(key, hash),
        }
    }

    #[inline(never)]
    fn search_index(&self, key: Key, hash: usize) -> Option<RowRef> {
        let (first, mask) = self.index();
        let mut at = hash;
        // The index is at most half full. The loop is bounded because in a damaged index the search would not end.
        for _ in 0..=mask {
            // Relaxed: only this thread writes it.
            let row = match self.pages.word(first.wrapping_add(at & mask))?.load(Relaxed) {
                0 => return None,
                word => RowRef(word),
            };
            if self.slot(row).is_some_and(|slot| slot::has_key(slot, key)) {
                self.cache[hash % CACHE].set(row);
                return Some(row);
            }
            at = at.wrapping_add(1);
        }
        None
    }

    /// The row of a key. The row is added if there is none, with a few system calls where new pages are needed. A
    /// full table has one row for each caller, with address 0, for all keys that did not fit. None if there is no
    /// memory, or if the caller is a signal handler that interrupted this function. In that case count the sample as
    /// [`count_dropped_sample`](Table::count_dropped_sample).
    #[cold]
    pub fn publish(&self, key: Key) -> Option<RowRef> {
        if key.lock == 0 || self.publishing.replace(true) {
            return None;
        }
        // A signal handler may have added the row after the search and before the mark was set.
        let row = self.search_index(key, hash(key)).or_else(|| self.add(key, KEYS)).or_else(|| {
            let others = Key { lock: key.lock >> 56 << 56, ..key };
            self.search_index(others, hash(others)).or_else(|| self.add(others, ROWS))
        });
        self.publishing.set(false);
        row
    }

    fn add(&self, key: Key, most: usize) -> Option<RowRef> {
        // Relaxed: only this thread writes it.
        let number = self.head()[COUNT].load(Relaxed) as usize;
        if number >= most {
            return None;
        }
        self.make_room_in_index(number)?;
        let row = self.locate_row(number)?;
        slot::publish(
            self.slot(row)?,
            key,
            FirstUse { ticks: clock::ticks(), generation: self.generation() },
        );
        // Relaxed: a bound only; a reader recognises a row by its lock word.
        self.head()[COUNT].store(number as u64 + 1, Relaxed);
        self.insert_in_index(row, hash(key));
        Some(row)
    }

    /// The number of the table's image, unique within the recording.
    pub fn image(&self) -> u64 {
        // Relaxed: written before the table was handed out.
        self.head()[IMAGE].load(Relaxed)
    }

    fn generation(&self) -> u8 {
        let image = self.pages.page(self.image());
        // Relaxed: a plain number; no other memory depends on it.
        image.map_or(0, |words| words[image::GENERATION].load(Relaxed).min(255) as u8)
    }

    /// The row with this number, in pages that are populated on return.
    fn locate_row(&self, number: usize) -> Option<RowRef> {
        let (block, within) = block_of(number);
        let word = self.head().get(FIRST_BLOCK + block)?;
        let stride = self.stride as usize;
        // Relaxed (both): only this thread writes it, before it publishes rows in it.
        let mut first = word.load(Relaxed);
        if first == 0 {
            first =
                pages::take(self.free, self.pages.len(), ((FIRST_ROWS << block) * stride / WORDS) as u64)?;
            word.store(first, Relaxed);
        }
        if first >= self.pages.len() {
            return None; // A damaged file.
        }
        let at = within * stride;
        if at.is_multiple_of(WORDS) {
            self.pages.populate(first + (at / WORDS) as u64, 1).ok()?;
        }
        Some(RowRef(first * WORDS as u64 + at as u64))
    }

    #[inline(always)]
    fn index(&self) -> (usize, usize) {
        // Relaxed (both): only this thread writes them.
        match self.head()[INDEX_WORDS].load(Relaxed) as usize {
            0 => (self.page as usize * WORDS + INDEX, INDEX_HERE - 1),
            // A damaged file may hold any number here. The bound makes the search end.
            words => (self.head()[INDEX_AT].load(Relaxed) as usize, words.min(INDEX_MOST) - 1),
        }
    }

    /// Makes room in the index for one more row than the present `rows`.
    fn make_room_in_index(&self, rows: usize) -> Option<()> {
        let (_, mask) = self.index();
        if 2 * (rows + 1) <= mask + 1 {
            return Some(());
        }
        let words = 4 * (mask + 1);
        let needed = (words / WORDS).max(1) as u64;
        let first = pages::take(self.free, self.pages.len(), needed)?;
        self.pages.populate(first, needed).ok()?;
        // Relaxed (both): only this thread reads them. A signal handler that searches between the stores finds fewer
        // rows, and cannot add any.
        self.head()[INDEX_AT].store(first * WORDS as u64, Relaxed);
        self.head()[INDEX_WORDS].store(words as u64, Relaxed);
        for number in 0..rows {
            if let Some((row, slot)) = self.row_at(number) {
                self.insert_in_index(row, hash(slot::key(slot)));
            }
        }
        Some(())
    }

    fn insert_in_index(&self, row: RowRef, hash: usize) {
        let (first, mask) = self.index();
        let words =
            (0..=mask).filter_map(|step| self.pages.word(first.wrapping_add(hash.wrapping_add(step) & mask)));
        // Relaxed (both): only this thread looks at it.
        if let Some(word) = { words }.find(|word| word.load(Relaxed) == 0) {
            word.store(row.0, Relaxed);
        }
    }

    fn row_at(&self, number: usize) -> Option<(RowRef, &'r Slot)> {
        let row = row_in(self.head(), number, self.stride)?;
        Some((row, self.slot(row)?))
    }

    #[inline(always)]
    fn slot(&self, row: RowRef) -> Option<&'r Slot> {
        self.slots.get(row.word() / slot::WORDS)
    }

    /// The row that begins with a slot of [`slots`](Table::slots).
    #[inline(always)]
    fn row_of(&self, slot: &'r Slot) -> RowRef {
        let bytes = core::ptr::from_ref(slot).addr() - self.slots.as_ptr().addr();
        RowRef((bytes / size_of::<AtomicU64>()) as u64)
    }

    #[inline(always)]
    fn tail(&self, row: RowRef) -> Option<&'r Tail> {
        if self.stride == Stride::Counts { None } else { self.pages.array(row.word() + slot::WORDS) }
    }

    /// Counts an attempt as [`count_attempt`](Table::count_attempt) does, for a key that was passed to
    /// [`remember_direct`](Table::remember_direct) lately; else `None`. The recording code uses it for callers that need
    /// no look-up of their own.
    #[inline(always)]
    pub fn count_direct_attempt(&self, key: Key) -> Option<RowRef> {
        let slot = self.direct[hash(key) % CACHE].get();
        if !slot::has_key(slot, key) {
            return None;
        }
        slot::count_attempt(slot);
        Some(self.row_of(slot))
    }

    /// Lets [`count_direct_attempt`](Table::count_direct_attempt) find the row of a key.
    pub fn remember_direct(&self, key: Key, row: RowRef) {
        if let Some(slot) = self.slot(row) {
            self.direct[hash(key) % CACHE].set(slot);
        }
    }

    /// Counts an attempt as [`count_attempt`](Table::count_attempt) does, for a key whose row is in the cache.
    #[inline(always)]
    pub fn count_known_attempt(&self, key: Key) -> Option<RowRef> {
        let hash = hash(key);
        let row = self.cache[hash % CACHE].get();
        if let Some(slot) = self.slot(row)
            && slot::has_key(slot, key)
        {
            slot::count_attempt(slot);
            return Some(row);
        }
        let row = self.search_index(key, hash)?;
        self.count_attempt(row);
        Some(row)
    }

    /// Counts an attempt before its outcome is known, as [`AttemptOutcome::NoWait`].
    #[inline(always)]
    pub fn count_attempt(&self, row: RowRef) {
        if let Some(slot) = self.slot(row) {
            slot::count_attempt(slot);
        }
    }

    /// The acquisitions of a row, and the attempts of which the outcome is not known yet; 0 of no row.
    #[inline]
    pub fn acquisitions(&self, row: RowRef) -> u64 {
        self.slot(row).map_or(0, slot::acquisitions)
    }

    /// Moves an attempt that has been counted from one outcome to another.
    #[inline]
    pub fn reclassify_attempt(&self, row: RowRef, from: AttemptOutcome, to: AttemptOutcome) {
        if let Some(slot) = self.slot(row) {
            slot::reclassify_attempt(slot, from, to);
        }
    }

    /// Adds the wait of an attempt that ended with `outcome`. Times are in ticks.
    #[inline]
    pub fn add_wait(&self, row: RowRef, outcome: AttemptOutcome, spun: u64, slept: u64) {
        if let Some(slot) = self.slot(row) {
            slot::add_wait(slot, self.tail(row), outcome, spun, slept);
        }
    }

    /// Records the start of a wait without a deadline, in ticks; 0: the wait has ended.
    #[inline]
    pub fn set_wait_start(&self, row: RowRef, since: u64) {
        self.set_wait(row, since & !HAS_DEADLINE);
    }

    /// Records the start of a wait that a deadline may end, in ticks. [`set_wait_start`](Table::set_wait_start) ends it.
    #[inline]
    pub fn set_timed_wait_start(&self, row: RowRef, since: u64) {
        self.set_wait(row, since | HAS_DEADLINE);
    }

    fn set_wait(&self, row: RowRef, word: u64) {
        // Relaxed: published by the next store.
        self.head()[WAITING_ROW].store(row.0, Relaxed);
        // Release: pairs with the Acquire in the snapshot.
        self.head()[WAITING_SINCE].store(word, Release);
    }

    /// Adds a hold time, in ticks.
    #[inline(always)]
    pub fn add_hold(&self, row: RowRef, hold: u64) {
        match self.wholes.get(row.word() / slot::WHOLE) {
            Some(whole) => slot::add_hold(whole, hold),
            None => self.add_hold_without_histogram(row, hold),
        }
    }

    #[cold]
    #[inline(never)]
    fn add_hold_without_histogram(&self, row: RowRef, hold: u64) {
        if let Some(slot) = self.slot(row) {
            slot::add_hold_without_histogram(slot, hold);
        }
    }

    /// Adds a hold time, in ticks, for `n` holds: the one that was timed, and n - 1 for which it stands. Rows without
    /// histograms have no times.
    pub fn add_holds(&self, row: RowRef, hold: u64, n: u64) {
        if let Some(whole) = self.wholes.get(row.word() / slot::WHOLE) {
            slot::add_holds(whole, hold, n);
        }
    }

    /// Adds a period in which at least one reader held the lock, in ticks.
    #[inline]
    pub fn add_busy_period(&self, row: RowRef, ticks: u64) {
        if let Some(tail) = self.tail(row) {
            slot::add_busy_period(tail, ticks);
        }
    }

    /// Records when an object was initialised, in ticks. The attempt counter says how often.
    pub fn record_init(&self, row: RowRef, ticks: u64) {
        slot::record_init(self.tail(row), ticks);
    }

    /// Records that the thread holds a lock from now on, until [`end_hold`](Table::end_hold). `since` is in ticks; 0:
    /// this hold is not timed. `wait` is as in [`HeldLock::wait`].
    #[inline(always)]
    pub fn begin_hold(&self, lock: u64, row: RowRef, since: u64, wait: Option<(u64, u64)>) {
        self.push_held(HeldLock { lock, row: row.0, since, is_sample: false, wait });
    }

    /// [`begin_hold`](Table::begin_hold) of a hold that is a [sample](HeldLock::is_sample).
    pub fn begin_sample_hold(&self, lock: u64, row: RowRef, since: u64, wait: Option<(u64, u64)>) {
        self.push_held(HeldLock { lock, row: row.0, since, is_sample: true, wait });
    }

    #[inline(always)]
    fn push_held(&self, held: HeldLock) {
        if !self.held_locks().push(held) {
            self.count_event(Event::HeldListFull, 1);
        }
    }

    /// Ends the lock's hold by this thread and returns its row and start, if the lock is the last that the thread
    /// took, the acquisition did not wait, and the hold is no [sample](HeldLock::is_sample). Otherwise it does nothing, and the caller calls
    /// [`end_hold`](Table::end_hold).
    #[inline(always)]
    pub fn end_last_hold(&self, lock: u64) -> Option<(RowRef, u64)> {
        self.held_locks().pop_plain(lock).map(|(row, since)| (RowRef(row), since))
    }

    /// Ends the lock's latest hold by this thread and returns what was recorded of it.
    pub fn end_hold(&self, lock: u64) -> Option<HeldLock> {
        self.held_locks().pop(lock)
    }

    /// Whether the clock must be read at the end of this lock's hold. False if the lock was taken last and the hold
    /// is not timed.
    #[inline(always)]
    pub fn is_timed(&self, lock: u64) -> bool {
        self.held_locks().is_timed(lock)
    }

    /// What was recorded of the lock's latest hold by this thread. The hold continues.
    pub fn latest_hold(&self, lock: u64) -> Option<HeldLock> {
        self.held_locks().latest(lock)
    }

    /// The key of a row of this table or of another.
    pub fn key(&self, row: RowRef) -> Option<Key> {
        self.slot(row).map(slot::key)
    }

    /// Whether this thread holds the lock.
    pub fn holds(&self, lock: u64) -> bool {
        self.held_locks().has(lock)
    }

    #[inline(always)]
    pub(crate) fn held_locks(&self) -> HeldLocks<'r> {
        HeldLocks::new(self.head())
    }

    pub(crate) fn tokens(&self) -> Tokens<'r> {
        Tokens::new(self.head())
    }

    /// Records that the thread has taken a token of a semaphore, at this time in ticks.
    #[inline]
    pub fn take_token(&self, semaphore: u64, row: RowRef, since: u64) {
        self.tokens().take(Token { lock: semaphore, row: row.0, since });
    }

    /// Records that the thread posts a semaphore. The row and the time of the token that the thread had taken from it,
    /// if it had.
    #[inline]
    pub fn give_back_token(&self, semaphore: u64) -> Option<(RowRef, u64)> {
        self.tokens().give_back(semaphore).map(|token| (RowRef(token.row), token.since))
    }

    /// Records one attempt at a lock in one call. For a known key it takes some two dozen instructions, without a
    /// system call, an allocation, or a store outside this table. It never changes `errno`.
    #[inline]
    pub fn record(&self, key: Key, sample: &Sample) {
        match self.find(key).or_else(|| self.publish(key)) {
            Some(row) => {
                if let Some(slot) = self.slot(row) {
                    slot::add_attempt(slot, self.tail(row), sample);
                }
                if sample.outcome != AttemptOutcome::Rejected {
                    self.add_hold(row, sample.hold);
                }
            }
            None => self.count_dropped_sample(),
        }
    }

    /// Counts a sample that could not be recorded.
    #[cold]
    pub fn count_dropped_sample(&self) {
        increment(&self.head()[OVERFLOWED]);
    }

    /// Counts `n` occurrences of an event.
    #[inline]
    pub fn count_event(&self, event: Event, n: u64) {
        add(&self.head()[FIRST_EVENT + event as usize], n);
    }

    /// The first page.
    #[inline(always)]
    pub(crate) fn head(&self) -> &'r [AtomicU64; WORDS] {
        self.head
    }

    /// The number of its first page, which identifies the table in its recording.
    pub fn page(&self) -> u64 {
        self.page
    }
}

/// The rows of the table with this first page. [`slot::read`] says what a reader sees while the owner writes.
pub(crate) fn rows<'t>(
    pages: Pages<'t>,
    head: &'t [AtomicU64; WORDS],
    stride: Stride,
) -> impl Iterator<Item = RawRow> + 't {
    // Relaxed: a bound only; a reader recognises a row by its lock word.
    let count = (head[COUNT].load(Relaxed) as usize).min(ROWS);
    (0..count).filter_map(move |number| {
        let row = row_in(head, number, stride)?;
        let tail = (stride == Stride::Whole).then(|| pages.array(row.word() + slot::WORDS)).flatten();
        slot::read(pages.array(row.word())?, tail)
    })
}

fn row_in(head: &[AtomicU64; WORDS], number: usize, stride: Stride) -> Option<RowRef> {
    let (block, within) = block_of(number);
    // Relaxed: written before the first row in it was published.
    let first = head.get(FIRST_BLOCK + block)?.load(Relaxed);
    let word = first.checked_mul(WORDS as u64)?.checked_add((within * stride as usize) as u64)?;
    (first != 0 && word / (slot::WORDS as u64) < u64::from(u32::MAX)).then_some(RowRef(word))
}

/// The block that contains a row, and the row's number within it.
fn block_of(number: usize) -> (usize, usize) {
    let block = (number / FIRST_ROWS + 1).ilog2() as usize;
    (block, number - FIRST_ROWS * ((1 << block) - 1))
}

/// Fibonacci hashing; the upper half of the product is the well-mixed one.
#[inline(always)]
fn hash(key: Key) -> usize {
    ((key.lock ^ key.caller.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

#[cfg(all(test, not(loom)))]
#[path = "table/tests.rs"]
mod tests;
