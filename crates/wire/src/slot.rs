//! One row of one thread's table: a key and its counts, 16 words on two cache lines. At all levels except `counts`
//! two histograms follow.

use crate::counts::Counts;
use crate::event::{AttemptOutcome, Key, Sample};
use crate::histogram::{BUCKETS, Histogram, TimeKind};
use unspin_sync::atomic::{AtomicU64, Ordering, Ordering::*};

/// Words of a slot's counts.
pub(crate) const WORDS: usize = 16;
/// Words of a slot with its histograms.
pub(crate) const WHOLE: usize = 64;

/// The counts as laid out in the recording.
pub(crate) type Slot = [AtomicU64; WORDS];
/// A slot with its histograms.
pub(crate) type Whole = [AtomicU64; WHOLE];
/// The words that follow the counts at all levels except `counts`.
pub(crate) type Tail = [AtomicU64; WHOLE - WORDS];

// Indices of the words; their order is part of the file format.
/// 0 while the slot is free; written once, last, with Release.
const LOCK: usize = 0;
const CALLER: usize = 1;
/// First of four, indexed by [`AttemptOutcome`].
const OUTCOMES: usize = 2;
const HOLD: usize = 6;
const HOLD_MAX: usize = 7;
/// Holds that were timed, in a row without a histogram of them.
const TIMED: usize = 8;
/// Holds for which timed ones stand beside themselves, in a row with a histogram. Its counts add up to these and to the
/// timed ones.
const IMPLIED: usize = TIMED;
const SPIN: usize = 9;
const SPIN_MAX: usize = 10;
const SLEEP: usize = 11;
const SLEEP_MAX: usize = 12;
const WAIT_MAX: usize = 13;
const GAVE_UP: usize = 14;
/// When the key was first seen: ticks, whose lowest 8 bits are replaced by the module generation at that time.
const FIRST_USE: usize = 15;

// Indices of the words of the tail.
const HOLDS: usize = 0;
const WAITS: usize = BUCKETS;
const BUSY: usize = 2 * BUCKETS;
const BUSY_MAX: usize = 2 * BUCKETS + 1;
const PERIODS: usize = 2 * BUCKETS + 3;
/// When an object was last initialised, in ticks.
const LATEST: usize = 2 * BUCKETS + 2;
const _: () = assert!(LATEST < WHOLE - WORDS && PERIODS < WHOLE - WORDS);

/// When a key was first seen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FirstUse {
    /// Ticks, with a resolution of 256.
    pub ticks: u64,
    /// The module generation that the caller lies in: the newest at the time, at most 255.
    pub generation: u8,
}

/// Whether the slot belongs to the key. Only the owner of the table calls this.
#[inline(always)]
pub(crate) fn has_key(slot: &Slot, key: Key) -> bool {
    // Relaxed (both): only this thread writes the two words.
    slot[LOCK].load(Relaxed) == key.lock && slot[CALLER].load(Relaxed) == key.caller
}

/// The key of a slot. Callers own the table, or have acquired the slot.
pub(crate) fn key(slot: &Slot) -> Key {
    // Relaxed (both): as in `is`.
    Key { lock: slot[LOCK].load(Relaxed), caller: slot[CALLER].load(Relaxed) }
}

/// Gives a free slot to `key`.
pub(crate) fn publish(slot: &Slot, key: Key, first_use: FirstUse) {
    // Release: pairs with the Acquire load in `read`. A reader that sees the lock word also sees the caller word.
    publish_with(slot, key, first_use, Release);
}

/// [`publish`] with the ordering of its last store as a parameter. A model uses it to show what a weaker ordering
/// breaks.
fn publish_with(slot: &Slot, key: Key, first_use: FirstUse, order: Ordering) {
    // Relaxed (both): published by the store of LOCK.
    slot[CALLER].store(key.caller, Relaxed);
    slot[FIRST_USE].store(first_use.ticks & !0xFF | u64::from(first_use.generation), Relaxed);
    slot[LOCK].store(key.lock, order);
}

/// Counts an attempt before its outcome is known, as one without waiting.
#[inline(always)]
pub(crate) fn count_attempt(slot: &Slot) {
    increment(&slot[OUTCOMES]);
}

/// The acquisitions, and the attempts of which the outcome is not known yet.
#[inline]
pub(crate) fn acquisitions(slot: &Slot) -> u64 {
    // Relaxed: only this thread and its signal handlers write the words. The sum wraps, as a count is below 0 for a moment
    // while an attempt is reclassified.
    let count = |outcome: AttemptOutcome| slot[OUTCOMES + outcome as usize].load(Relaxed);
    count(AttemptOutcome::NoWait)
        .wrapping_add(count(AttemptOutcome::Spun))
        .wrapping_add(count(AttemptOutcome::Slept))
}

/// Moves an attempt that has been counted from one outcome to another.
pub(crate) fn reclassify_attempt(slot: &Slot, from: AttemptOutcome, to: AttemptOutcome) {
    add(&slot[OUTCOMES + from as usize], u64::MAX);
    increment(&slot[OUTCOMES + to as usize]);
}

/// Adds a wait.
pub(crate) fn add_wait(slot: &Slot, tail: Option<&Tail>, outcome: AttemptOutcome, spun: u64, slept: u64) {
    add(&slot[SPIN], spun);
    raise_to(&slot[SPIN_MAX], spun);
    add(&slot[SLEEP], slept);
    raise_to(&slot[SLEEP_MAX], slept);
    let wait = spun.saturating_add(slept);
    raise_to(&slot[WAIT_MAX], wait);
    add(&slot[GAVE_UP], u64::from(outcome == AttemptOutcome::Rejected));
    if let Some(tail) = tail {
        increment(&tail[WAITS + TimeKind::Waits.bucket(wait)]);
    }
}

/// Adds a hold to a row with histograms.
#[inline(always)]
pub(crate) fn add_hold(whole: &Whole, hold: u64) {
    add(&whole[HOLD], hold);
    raise_to(&whole[HOLD_MAX], hold);
    increment(&whole[WORDS + HOLDS + TimeKind::Holds.bucket(hold)]);
}

/// Adds a hold that stands for `n`, at least 1.
pub(crate) fn add_holds(whole: &Whole, hold: u64, n: u64) {
    add(&whole[HOLD], hold.saturating_mul(n));
    raise_to(&whole[HOLD_MAX], hold);
    add(&whole[WORDS + HOLDS + TimeKind::Holds.bucket(hold)], n);
    add(&whole[IMPLIED], n - 1);
}

/// Adds a hold to a row without histograms.
pub(crate) fn add_hold_without_histogram(slot: &Slot, hold: u64) {
    add(&slot[HOLD], hold);
    raise_to(&slot[HOLD_MAX], hold);
    increment(&slot[TIMED]);
}

/// Adds a period in which readers held a lock.
pub(crate) fn add_busy_period(tail: &Tail, ticks: u64) {
    add(&tail[BUSY], ticks);
    increment(&tail[PERIODS]);
    raise_to(&tail[BUSY_MAX], ticks);
}

/// Records that the object was initialised again.
pub(crate) fn record_init(tail: Option<&Tail>, ticks: u64) {
    if let Some(tail) = tail {
        // Relaxed: a time that readers take as it is.
        tail[LATEST].store(ticks, Relaxed);
    }
}

/// Counts the attempt of a sample, and adds its wait.
pub(crate) fn add_attempt(slot: &Slot, tail: Option<&Tail>, sample: &Sample) {
    increment(&slot[OUTCOMES + sample.outcome as usize]);
    if sample.spun | sample.slept != 0 {
        add_wait(slot, tail, sample.outcome, sample.spun, sample.slept);
    }
}

/// Adds to a word that only the calling thread and its signal handlers write.
#[inline(always)]
pub(crate) fn add(word: &AtomicU64, n: u64) {
    #[cfg(not(loom))]
    unspin_sys::local::add(word, n);
    // Relaxed (both): one writer; readers take each word as it stands and expect no order among them.
    #[cfg(loom)]
    word.store(word.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Adds 1, as [`add`] does.
#[inline(always)]
pub(crate) fn increment(word: &AtomicU64) {
    #[cfg(not(loom))]
    unspin_sys::local::increment(word);
    #[cfg(loom)]
    add(word, 1);
}

/// Raises a maximum. If a signal handler raises it between the load and the store, the handler's value may be lost,
/// which is harmless.
#[inline(always)]
fn raise_to(word: &AtomicU64, n: u64) {
    // Relaxed (both): as in `add`.
    if word.load(Relaxed) < n {
        word.store(n, Relaxed);
    }
}

/// No count reaches this value in practice; larger ones are negative numbers.
const COUNT_MAX: u64 = 1 << 63;

/// A slot as it was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRow {
    pub key: Key,
    pub first_use: FirstUse,
    pub counts: Counts,
    pub holds: Histogram,
    pub waits: Histogram,
    pub latest: u64,
}

/// The slot's row; none if the slot is free. Any thread of any process may call this at any time.
///
/// While the owner writes, a reader may see a sample in some words and not yet in others: a count without its time,
/// or a maximum above the sum. Each word is whole. So the result is off by at most the sample that is being recorded
/// and those that arrive during the read. Nothing is counted twice.
pub(crate) fn read(slot: &Slot, tail: Option<&Tail>) -> Option<RawRow> {
    // Acquire: pairs with the Release store in `publish`.
    let lock = slot[LOCK].load(Acquire);
    if lock == 0 {
        return None;
    }
    // Relaxed: the load above orders the caller word; the other words are unordered, as stated in the doc comment.
    let word = |index: usize| slot[index].load(Relaxed);
    let rest = |index: usize| tail.map_or(0, |tail| tail[index].load(Relaxed));
    // A count is below 0 for a moment if a signal handler reads while an attempt is reclassified.
    let outcome = |outcome: AttemptOutcome| match word(OUTCOMES + outcome as usize) {
        count @ 0..=COUNT_MAX => count,
        _ => 0,
    };
    let histogram = |of, first| Histogram::new(of, core::array::from_fn(|bucket| rest(first + bucket)));
    let holds = histogram(TimeKind::Holds, HOLDS);
    let (timed, implied) = match tail {
        Some(_) => (holds.total().saturating_sub(word(IMPLIED)), word(IMPLIED)),
        None => (word(TIMED), 0),
    };
    let counts = Counts {
        nowait: outcome(AttemptOutcome::NoWait),
        spun: outcome(AttemptOutcome::Spun),
        slept: outcome(AttemptOutcome::Slept),
        rejected: outcome(AttemptOutcome::Rejected),
        gave_up: word(GAVE_UP),
        timed,
        implied,
        hold: word(HOLD),
        hold_max: word(HOLD_MAX),
        spin: word(SPIN),
        spin_max: word(SPIN_MAX),
        sleep: word(SLEEP),
        sleep_max: word(SLEEP_MAX),
        wait_max: word(WAIT_MAX),
        busy: rest(BUSY),
        busy_max: rest(BUSY_MAX),
        periods: rest(PERIODS),
    };
    Some(RawRow {
        key: Key { lock, caller: word(CALLER) },
        first_use: FirstUse { ticks: word(FIRST_USE) & !0xFF, generation: word(FIRST_USE) as u8 },
        counts,
        holds,
        waits: histogram(TimeKind::Waits, WAITS),
        latest: rest(LATEST),
    })
}

#[cfg(test)]
mod models {
    use super::*;
    use unspin_sync::{model, sync::Arc, thread};

    const KEY: Key = Key { lock: 7, caller: 9 };
    const SAMPLE: Sample = Sample { outcome: AttemptOutcome::Spun, hold: 5, spun: 3, slept: 0 };

    fn add_sample(slot: &Slot) {
        add_attempt(slot, None, &SAMPLE);
        add_hold_without_histogram(slot, SAMPLE.hold);
    }

    /// One thread records a sample of a new key while another thread reads, and a second sample when the reader has read.
    fn record_beside_a_reader(order: Ordering) {
        model(move || {
            let slot = Arc::new(Slot::default());
            let writer = {
                let slot = Arc::clone(&slot);
                thread::spawn(move || {
                    publish_with(&slot, KEY, FirstUse { ticks: 256, generation: 3 }, order);
                    add_sample(&slot);
                })
            };
            if let Some(row) = read(&slot, None) {
                assert_eq!((row.key, row.first_use.generation), (KEY, 3));
                let counts = row.counts;
                assert!(counts.spun <= 1 && [0, 5].contains(&counts.hold), "{counts:?}");
                assert!([0, 3].contains(&counts.spin) && counts.wait_max <= 3, "{counts:?}");
            }
            writer.join().unwrap();
            add_sample(&slot);
            let counts = read(&slot, None).expect("published").counts;
            assert_eq!((counts.attempts(), counts.hold, counts.spin), (2, 10, 6));
        });
    }

    #[test]
    fn reader_sees_a_whole_key() {
        record_beside_a_reader(Release);
    }

    /// The planted bug: without Release the key is visible before the slot's contents.
    #[test]
    #[cfg(loom)]
    #[should_panic(expected = "left == right")]
    fn planted_relaxed_key_shows_an_empty_slot() {
        record_beside_a_reader(Relaxed);
    }
}
