//! One slot of a table in the recording: a key and its counts, 16 words on two cache lines.
//!
//! The first line holds all that an uncontended acquisition touches; the second is for those who waited.

use crate::counts::Counts;
use crate::event::{Key, Outcome, Sample};
use unspin_sync::atomic::{AtomicU64, Ordering, Ordering::*};

/// Words in a slot.
pub(crate) const SLOT_WORDS: usize = 16;

/// A slot as it lies in the recording.
pub(crate) type Slot = [AtomicU64; SLOT_WORDS];

// The order of the words is the format. Words 14 and 15 are reserved and zero.
/// 0 while the slot is free; written once, last, with Release.
const LOCK: usize = 0;
const CALLER: usize = 1;
/// First of four, indexed by [`Outcome`].
const OUTCOMES: usize = 2;
const HOLD: usize = 6;
const HOLD_MAX: usize = 7;
const SPIN: usize = 8;
const SPIN_MAX: usize = 9;
const SLEEP: usize = 10;
const SLEEP_MAX: usize = 11;
const WAIT_MAX: usize = 12;
const GAVE_UP: usize = 13;

/// What a slot is to a key that is looked up.
pub(crate) enum Tenant {
    Mine,
    Free,
    Another,
}

/// What the slot is to `key`. Only the owner of the table asks.
#[inline(always)]
pub(crate) fn tenant(slot: &Slot, key: Key) -> Tenant {
    // Relaxed (both): only this thread writes the two words.
    match slot[LOCK].load(Relaxed) {
        lock if lock == key.lock && slot[CALLER].load(Relaxed) == key.caller => Tenant::Mine,
        0 => Tenant::Free,
        _ => Tenant::Another,
    }
}

/// Gives a free slot to `key`, with its first sample.
pub(crate) fn publish(slot: &Slot, key: Key, sample: &Sample) {
    // Release: pairs with the Acquire load in `read`: who sees the lock sees its caller and first sample.
    publish_with(slot, key, sample, Release);
}

/// [`publish`] with the ordering of its last store as a parameter, so that a model can show what a weaker one
/// breaks.
fn publish_with(slot: &Slot, key: Key, sample: &Sample, order: Ordering) {
    // Relaxed: published by the store of LOCK.
    slot[CALLER].store(key.caller, Relaxed);
    add(slot, sample);
    slot[LOCK].store(key.lock, order);
}

/// Counts a sample. Plain additions: the owner of the table is the slot's only writer.
#[inline(always)]
pub(crate) fn add(slot: &Slot, sample: &Sample) {
    bump(&slot[OUTCOMES + sample.outcome as usize], 1);
    bump(&slot[HOLD], sample.hold);
    raise(&slot[HOLD_MAX], sample.hold);
    if sample.spun | sample.slept != 0 {
        add_wait(slot, sample);
    }
}

fn add_wait(slot: &Slot, sample: &Sample) {
    bump(&slot[SPIN], sample.spun);
    raise(&slot[SPIN_MAX], sample.spun);
    bump(&slot[SLEEP], sample.slept);
    raise(&slot[SLEEP_MAX], sample.slept);
    raise(&slot[WAIT_MAX], sample.spun.saturating_add(sample.slept));
    bump(&slot[GAVE_UP], u64::from(sample.outcome == Outcome::Rejected));
}

/// Adds to a word that only the calling thread writes.
#[inline(always)]
pub(crate) fn bump(word: &AtomicU64, n: u64) {
    // Relaxed (both): one writer; readers take each word as it stands and expect no order among them.
    word.store(word.load(Relaxed).wrapping_add(n), Relaxed);
}

#[inline(always)]
fn raise(word: &AtomicU64, n: u64) {
    // Relaxed (both): as in `bump`.
    if word.load(Relaxed) < n {
        word.store(n, Relaxed);
    }
}

/// The slot's key and counts, unless it is free. Any thread of any process may ask at any time.
///
/// A reader beside a running writer may see a sample in some of its words and not yet in others: a count
/// without its time, a maximum above the sum. Each word is whole and only grows, so what is read is off by at
/// most the sample in flight and those that arrive while reading; nothing is ever counted twice.
pub(crate) fn read(slot: &Slot) -> Option<(Key, Counts)> {
    // Acquire: pairs with the Release store in `publish`.
    let lock = slot[LOCK].load(Acquire);
    if lock == 0 {
        return None;
    }
    // Relaxed: ordered by the load above for the caller and first sample, unordered beyond, as stated.
    let word = |index: usize| slot[index].load(Relaxed);
    let outcome = |outcome: Outcome| word(OUTCOMES + outcome as usize);
    let counts = Counts {
        nowait: outcome(Outcome::NoWait),
        spun: outcome(Outcome::Spun),
        slept: outcome(Outcome::Slept),
        rejected: outcome(Outcome::Rejected),
        gave_up: word(GAVE_UP),
        hold: word(HOLD),
        hold_max: word(HOLD_MAX),
        spin: word(SPIN),
        spin_max: word(SPIN_MAX),
        sleep: word(SLEEP),
        sleep_max: word(SLEEP_MAX),
        wait_max: word(WAIT_MAX),
    };
    Some((Key { lock, caller: word(CALLER) }, counts))
}

#[cfg(test)]
mod models {
    use super::*;
    use unspin_sync::{model, sync::Arc, thread};

    const KEY: Key = Key { lock: 7, caller: 9 };
    const SAMPLE: Sample = Sample { outcome: Outcome::Spun, hold: 5, spun: 3, slept: 0 };

    /// One thread records two samples of a new key while another reads.
    fn record_beside_a_reader(order: Ordering) {
        model(move || {
            let slot = Arc::new(Slot::default());
            let writer = {
                let slot = Arc::clone(&slot);
                thread::spawn(move || {
                    publish_with(&slot, KEY, &SAMPLE, order);
                    add(&slot, &SAMPLE);
                })
            };
            if let Some((key, counts)) = read(&slot) {
                assert_eq!(key, KEY);
                assert!((1..=2).contains(&counts.spun) && [5, 10].contains(&counts.hold), "{counts:?}");
                assert!([3, 6].contains(&counts.spin) && counts.wait_max == 3, "{counts:?}");
            }
            writer.join().unwrap();
            let (_, counts) = read(&slot).expect("published");
            assert_eq!((counts.attempts(), counts.hold, counts.spin), (2, 10, 6));
        });
    }

    #[test]
    fn a_reader_sees_a_key_with_its_first_sample() {
        record_beside_a_reader(Release);
    }

    /// The planted bug: a key published without Release shows a slot that is not written yet.
    #[test]
    #[cfg(loom)]
    #[should_panic(expected = "left == right")]
    fn a_relaxed_key_shows_an_empty_slot() {
        record_beside_a_reader(Relaxed);
    }
}
