//! One thread's table: a first page, blocks of rows that are filled from first to last, and an index to find them by.
//!
//! Blocks and index grow by doubling, so that a table of two locks is a few pages and one of ten thousand is possible.
//! Readers never look at the index: they go through the rows.

use crate::event::{Event, Key, Outcome, Sample};
use crate::held::{Grip, Held};
use crate::image;
use crate::pages::{self, Pages, WORDS};
use crate::slot::{self, Born, Row, Slot, Tail, bump};
use core::cell::Cell;
use core::marker::PhantomData;
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::clock;

// Words of the first page. Word 0 links the tables of an image (see `list`), words 63 to 319 are the locks held (see
// `held`), the rest is reserved and zero.
/// `pid << 32 | tid` of the owner; 0 once it is given back.
pub(crate) const OWNER: usize = 1;
/// Link of the list of released tables.
pub(crate) const LINK: usize = 2;
/// Page of the image that the table belongs to, for good.
pub(crate) const IMAGE: usize = 3;
/// Rows in use.
const COUNT: usize = 4;
/// Samples that found no room.
pub(crate) const OVERFLOWED: usize = 5;
/// First word and number of words of the index; 0: the one in this page.
const INDEX_AT: usize = 6;
const INDEX_WORDS: usize = 7;
/// When the first owner came, and the last one left; in ticks, 0 if it has not.
pub(crate) const SINCE: usize = 8;
pub(crate) const UNTIL: usize = 9;
/// Nanoseconds that the owners so far were on a CPU, and were waiting for one; written when they leave.
pub(crate) const ON_CPU: usize = 10;
pub(crate) const RUNNABLE: usize = 11;
/// Ticks between the owners' comings and leavings.
pub(crate) const LIVED: usize = 12;
/// The wait that goes on: its row, and since when in ticks; 0 if there is none.
pub(crate) const WAITING_ROW: usize = 13;
pub(crate) const WAITING_SINCE: usize = 14;
/// First of [`EVENTS`] event counters.
pub(crate) const FIRST_EVENT: usize = 16;
/// Room for event counters.
pub(crate) const EVENTS: usize = 16;
/// First of [`BLOCKS`] words, each the first page of a block.
const FIRST_BLOCK: usize = 32;
const BLOCKS: usize = 12;
/// The first index.
pub(crate) const INDEX: usize = 320;
const INDEX_HERE: usize = 128;
/// The largest index there is.
const INDEX_MOST: usize = INDEX_HERE << (2 * ((2 * ROWS / INDEX_HERE).ilog2() / 2 + 1));
const _: () = assert!(FIRST_EVENT + EVENTS <= FIRST_BLOCK && INDEX + INDEX_HERE <= WORDS);

/// Rows of the first block; each other one has twice as many as the one before.
const FIRST_ROWS: usize = 32;
/// Keys of a table. What comes after them is summed up by caller, in the rows of the last block.
pub(crate) const KEYS: usize = FIRST_ROWS * ((1 << (BLOCKS - 1)) - 1);
const ROWS: usize = FIRST_ROWS * ((1 << BLOCKS) - 1);

/// Rows found lately, by the hash of their key.
const CACHE: usize = 64;

/// The table of one thread: recording writes here and nowhere else.
///
/// It belongs to the thread that claimed it (it is not `Sync`). A child made by fork inherits the value but
/// must not use it: it claims its own. Should it use it all the same, samples of both can be lost, nothing
/// worse.
///
/// A signal handler may use its thread's table at any time, whatever it interrupts.
#[derive(Debug)]
pub struct Table<'r> {
    pages: Pages<'r>,
    /// Number of the next free page.
    free: &'r AtomicU64,
    page: u64,
    head: &'r [AtomicU64; WORDS],
    /// Words of a row.
    stride: Stride,
    cache: [Cell<u32>; CACHE],
    /// A row is being added: a signal handler that wants another must do without.
    publishing: Cell<bool>,
    one_thread: PhantomData<Cell<()>>,
}

/// Whether rows have histograms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stride {
    Counts = slot::WORDS as isize,
    Whole = slot::WHOLE as isize,
}

/// A row of a table: where it begins, in units of 16 words from the recording's first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place(u32);

impl Place {
    #[inline(always)]
    fn of(word: u64) -> Place {
        Place((word / slot::WORDS as u64) as u32)
    }

    #[inline(always)]
    fn word(self) -> usize {
        self.0 as usize * slot::WORDS
    }
}

impl Grip {
    /// The row of the thread that took the lock.
    #[inline(always)]
    pub fn place(&self) -> Place {
        Place::of(self.row)
    }
}

impl<'r> Table<'r> {
    /// The table whose first page this is.
    pub(crate) fn at(pages: Pages<'r>, free: &'r AtomicU64, page: u64, stride: Stride) -> Option<Table<'r>> {
        let head = pages.page(page)?;
        Some(Table {
            pages,
            free,
            page,
            head,
            stride,
            cache: [const { Cell::new(0) }; CACHE],
            publishing: Cell::new(false),
            one_thread: PhantomData,
        })
    }

    /// The row of a key; none if it has none yet.
    #[inline(always)]
    pub fn find(&self, key: Key) -> Option<Place> {
        let hash = hash(key);
        let place = Place(self.cache[hash % CACHE].get());
        match self.slot(place) {
            Some(slot) if slot::is(slot, key) => Some(place),
            _ => self.look_up(key, hash),
        }
    }

    #[inline(never)]
    fn look_up(&self, key: Key, hash: usize) -> Option<Place> {
        let (first, mask) = self.index();
        let mut at = hash;
        // The index is never more than half full; in a damaged one the search ends all the same.
        for _ in 0..=mask {
            // Relaxed: only this thread writes it.
            let place = match self.pages.word(first.wrapping_add(at & mask)).load(Relaxed) {
                0 => return None,
                word => Place::of(word),
            };
            if self.slot(place).is_some_and(|slot| slot::is(slot, key)) {
                self.cache[hash % CACHE].set(place.0);
                return Some(place);
            }
            at = at.wrapping_add(1);
        }
        None
    }

    /// The row of a key, added if need be: a few system calls where new pages are needed. A table that is full has a row
    /// for each caller, of address 0, that takes up the others. None if there is no memory, or if the caller is a signal
    /// handler that interrupted this very function: then the sample is to be counted as [`lost`](Table::lost).
    #[cold]
    pub fn publish(&self, key: Key) -> Option<Place> {
        if key.lock == 0 || self.publishing.replace(true) {
            return None;
        }
        // A handler may have added it between the search and the mark.
        let place = self.look_up(key, hash(key)).or_else(|| self.add(key, KEYS)).or_else(|| {
            let others = Key { lock: key.lock >> 56 << 56, ..key };
            self.look_up(others, hash(others)).or_else(|| self.add(others, ROWS))
        });
        self.publishing.set(false);
        place
    }

    fn add(&self, key: Key, most: usize) -> Option<Place> {
        // Relaxed: only this thread writes it.
        let number = self.head[COUNT].load(Relaxed) as usize;
        if number >= most {
            return None;
        }
        self.make_room_in_index(number)?;
        let place = self.place_of(number)?;
        slot::publish(self.slot(place)?, key, Born { ticks: clock::ticks(), generation: self.generation() });
        // Relaxed: a bound; a row is known by its lock.
        self.head[COUNT].store(number as u64 + 1, Relaxed);
        self.enter(place, hash(key));
        Some(place)
    }

    /// The number of the image that the table belongs to, which no other image of the recording has.
    pub fn image(&self) -> u64 {
        // Relaxed: written before the table was handed out.
        self.head[IMAGE].load(Relaxed)
    }

    fn generation(&self) -> u8 {
        let image = self.pages.page(self.image());
        // Relaxed: a number.
        image.map_or(0, |words| words[image::GENERATION].load(Relaxed).min(255) as u8)
    }

    /// Where the row of this number is, in pages that exist from now on.
    fn place_of(&self, number: usize) -> Option<Place> {
        let (block, within) = block_of(number);
        let word = self.head.get(FIRST_BLOCK + block)?;
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
        Some(Place::of(first * WORDS as u64 + at as u64))
    }

    #[inline(always)]
    fn index(&self) -> (usize, usize) {
        // Relaxed (both): only this thread writes them.
        match self.head[INDEX_WORDS].load(Relaxed) as usize {
            0 => (self.page as usize * WORDS + INDEX, INDEX_HERE - 1),
            // In a damaged file it may be any number; a search through more than there can be would not end.
            words => (self.head[INDEX_AT].load(Relaxed) as usize, words.min(INDEX_MOST) - 1),
        }
    }

    /// Sees to it that the index has room for another row than the `rows` there are.
    fn make_room_in_index(&self, rows: usize) -> Option<()> {
        let (_, mask) = self.index();
        if 2 * (rows + 1) <= mask + 1 {
            return Some(());
        }
        let words = 4 * (mask + 1);
        let needed = (words / WORDS).max(1) as u64;
        let first = pages::take(self.free, self.pages.len(), needed)?;
        self.pages.populate(first, needed).ok()?;
        // Relaxed (both): only this thread looks at them. A handler that searches in between finds less, and cannot add.
        self.head[INDEX_AT].store(first * WORDS as u64, Relaxed);
        self.head[INDEX_WORDS].store(words as u64, Relaxed);
        for number in 0..rows {
            if let Some((place, slot)) = self.row(number) {
                self.enter(place, hash(slot::key(slot)));
            }
        }
        Some(())
    }

    fn enter(&self, place: Place, hash: usize) {
        let (first, mask) = self.index();
        let free = (0..=mask).map(|step| self.pages.word(first.wrapping_add(hash.wrapping_add(step) & mask)));
        // Relaxed (both): only this thread looks at it.
        if let Some(word) = { free }.find(|word| word.load(Relaxed) == 0) {
            word.store(place.word() as u64, Relaxed);
        }
    }

    fn row(&self, number: usize) -> Option<(Place, &'r Slot)> {
        let place = place_in(self.head, number, self.stride)?;
        Some((place, self.slot(place)?))
    }

    #[inline(always)]
    fn slot(&self, place: Place) -> Option<&'r Slot> {
        self.pages.stretch(place.0 as usize)
    }

    /// A row and what belongs to it.
    #[inline(always)]
    fn whole(&self, place: Place) -> Option<(&'r Slot, Option<&'r Tail>)> {
        if self.stride == Stride::Counts {
            return Some((self.slot(place)?, None));
        }
        // A block begins with a page, so its rows are stretches of the whole file.
        let words = self.pages.stretch::<{ slot::WHOLE }>(place.word() / slot::WHOLE)?;
        let (slot, tail) = words.split_first_chunk()?;
        Some((slot, tail.first_chunk()))
    }

    #[inline(always)]
    fn tail(&self, place: Place) -> Option<&'r Tail> {
        if self.stride == Stride::Counts { None } else { self.pages.array(place.word() + slot::WORDS) }
    }

    /// Counts an attempt under a key that has a row, as [`attempt`](Table::attempt) does.
    #[inline(always)]
    pub fn attempt_known(&self, key: Key) -> Option<Place> {
        let hash = hash(key);
        let place = Place(self.cache[hash % CACHE].get());
        if let Some(slot) = self.slot(place)
            && slot::is(slot, key)
        {
            slot::attempt(slot);
            return Some(place);
        }
        let place = self.look_up(key, hash)?;
        self.attempt(place);
        Some(place)
    }

    /// Counts an attempt, before it is known how it goes: as one that need not wait.
    #[inline(always)]
    pub fn attempt(&self, place: Place) {
        if let Some(slot) = self.slot(place) {
            slot::attempt(slot);
        }
    }

    /// Counts an attempt otherwise after all.
    #[inline]
    pub fn reclassify(&self, place: Place, from: Outcome, to: Outcome) {
        if let Some(slot) = self.slot(place) {
            slot::reclassify(slot, from, to);
        }
    }

    /// Adds the wait of an attempt that ended with `outcome`; in ticks.
    #[inline]
    pub fn waited(&self, place: Place, outcome: Outcome, spun: u64, slept: u64) {
        if let Some(slot) = self.slot(place) {
            slot::waited(slot, self.tail(place), outcome, spun, slept);
        }
    }

    /// Notes that a wait has begun, at a time in ticks; 0: it has ended.
    #[inline]
    pub fn waiting(&self, place: Place, since: u64) {
        // Relaxed: published by the next store.
        self.head[WAITING_ROW].store(place.word() as u64, Relaxed);
        // Release: pairs with the Acquire in the snapshot.
        self.head[WAITING_SINCE].store(since, Release);
    }

    /// Adds a hold, in ticks.
    #[inline(always)]
    pub fn held(&self, place: Place, hold: u64) {
        if let Some((slot, tail)) = self.whole(place) {
            slot::held(slot, tail, hold);
        }
    }

    /// Adds a time in which one or more readers held the lock, in ticks.
    #[inline]
    pub fn busy(&self, place: Place, ticks: u64) {
        if let Some(tail) = self.tail(place) {
            slot::busy(tail, ticks);
        }
    }

    /// Notes when an object was initialised, in ticks; the attempt counts how often.
    pub fn initialised(&self, place: Place, ticks: u64) {
        slot::initialised(self.tail(place), ticks);
    }

    /// Notes that the thread holds a lock from now on, until [`let_go`](Table::let_go). `since` is in ticks; 0: this hold
    /// is not to be timed. `wait` is as in [`Grip::wait`].
    #[inline(always)]
    pub fn hold(&self, lock: u64, place: Place, since: u64, wait: Option<(u64, u64)>) {
        if !self.holding().push(Grip { lock, row: place.word() as u64, since, wait }) {
            self.count(Event::Crowded, 1);
        }
    }

    /// The row and the beginning of the lock's hold by this thread, which ends, if it was the last that it took and had not
    /// to be waited for; else nothing is done, and [`let_go`](Table::let_go) is to be called.
    #[inline(always)]
    pub fn let_go_last(&self, lock: u64) -> Option<(Place, u64)> {
        self.holding().pop_plain(lock).map(|(row, since)| (Place::of(row), since))
    }

    /// What is known of the lock's latest hold by this thread, which ends.
    pub fn let_go(&self, lock: u64) -> Option<Grip> {
        self.holding().pop(lock)
    }

    /// Whether the end of this lock's hold needs a clock: not if it was taken last and is not timed.
    #[inline(always)]
    pub fn is_timed(&self, lock: u64) -> bool {
        self.holding().is_timed(lock)
    }

    /// What is known of the lock's latest hold by this thread, which goes on.
    pub fn latest(&self, lock: u64) -> Option<Grip> {
        self.holding().latest(lock)
    }

    /// The key of a row, this table's or another's.
    pub fn key(&self, place: Place) -> Option<Key> {
        self.slot(place).map(slot::key)
    }

    /// Whether this thread holds the lock.
    pub fn holds(&self, lock: u64) -> bool {
        self.holding().has(lock)
    }

    #[inline(always)]
    pub(crate) fn holding(&self) -> Held<'r> {
        Held::new(self.head)
    }

    /// Records one attempt at a lock, all at once: for a key seen before a couple of dozen instructions, no system
    /// call, no allocation, no store outside this table. Never touches `errno`.
    #[inline]
    pub fn record(&self, key: Key, sample: &Sample) {
        match self.find(key).or_else(|| self.publish(key)) {
            Some(place) => {
                if let Some(slot) = self.slot(place) {
                    slot::add(slot, self.tail(place), sample);
                }
            }
            None => self.lost(),
        }
    }

    /// Counts a sample that could not be recorded.
    #[cold]
    pub fn lost(&self) {
        bump(&self.head[OVERFLOWED], 1);
    }

    /// Counts `n` occurrences.
    #[inline]
    pub fn count(&self, event: Event, n: u64) {
        bump(&self.head[FIRST_EVENT + event as usize], n);
    }

    /// The first page.
    pub(crate) fn head(&self) -> &'r [AtomicU64; WORDS] {
        self.head
    }

    /// Its number.
    pub(crate) fn page(&self) -> u64 {
        self.page
    }
}

/// The rows of the table with this first page; see [`slot::read`] for what that means beside its owner.
pub(crate) fn rows<'t>(
    pages: Pages<'t>,
    head: &'t [AtomicU64; WORDS],
    stride: Stride,
) -> impl Iterator<Item = Row> + 't {
    // Relaxed: a bound; a row is known by its lock.
    let count = (head[COUNT].load(Relaxed) as usize).min(ROWS);
    (0..count).filter_map(move |number| {
        let place = place_in(head, number, stride)?;
        let tail = (stride == Stride::Whole).then(|| pages.array(place.word() + slot::WORDS)).flatten();
        slot::read(pages.array(place.word())?, tail)
    })
}

fn place_in(head: &[AtomicU64; WORDS], number: usize, stride: Stride) -> Option<Place> {
    let (block, within) = block_of(number);
    // Relaxed: written before the first row in it was published.
    let first = head.get(FIRST_BLOCK + block)?.load(Relaxed);
    let word = first.checked_mul(WORDS as u64)?.checked_add((within * stride as usize) as u64)?;
    (first != 0 && word / (slot::WORDS as u64) < u64::from(u32::MAX)).then(|| Place::of(word))
}

/// The block that a row lies in, and its number there.
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
