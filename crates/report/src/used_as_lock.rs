//! Semaphores and conditions that a program uses as locks.
//!
//! POSIX has no rule for this, so it is recognised by how threads use the object:
//!
//! - A *semaphore* is a lock if at least [`GIVEN_BACK`] of its tokens were posted by the threads that had taken them.
//!   CPython's `threading.Lock` is such a semaphore. A semaphore with a greater value than 1, a pool of resources, looks
//!   the same, and is one: a lock with several holders.
//! - A *condition* is the queue of a lock if at least [`GIVEN_BACK`] of the threads that signals have woken from it
//!   signalled it themselves later, from another critical section of its mutex. CPython's global interpreter lock is
//!   such a condition. Only acquisitions that had to wait are seen; an acquisition that found the lock free touches the
//!   mutex only.
//!
//! Threads that take turns through one object cannot be distinguished from threads that use a lock.

use std::collections::{BTreeMap, BTreeSet};
use unspin_wire::{Class, Image, Key, RecordKind};

/// The minimum share of the acquisitions that their threads have given back. Some tokens are held at the end, and some
/// were overwritten in the list of tokens (`tokens.rs` of unspin-wire).
const GIVEN_BACK: f64 = 0.9;
/// The minimum number of acquisitions. Fewer say nothing about the use of the object.
const ACQUISITIONS_MIN: u64 = 8;

/// The objects that are used as locks: number of the image, and [`Key::lock`].
#[derive(Default)]
pub(crate) struct UsedAsLocks {
    objects: BTreeSet<(usize, u64)>,
}

#[derive(Clone, Copy, Default)]
struct Use {
    acquired: u64,
    given_back: u64,
    /// Tokens that threads have at the moment.
    in_use: u64,
    /// Whether a thread has waited.
    is_contended: bool,
    /// Wake-ups by broadcasts: threads that wait for a state, not for a lock.
    broadcast: u64,
}

impl UsedAsLocks {
    /// Those of these processes.
    pub fn of(images: &[Image]) -> UsedAsLocks {
        let objects = images.iter().enumerate().flat_map(|(number, image)| {
            let is_lock = move |(lock, used): (u64, Use)| used.is_lock().then_some((number, lock));
            uses(image).into_iter().filter_map(is_lock)
        });
        UsedAsLocks { objects: objects.collect() }
    }

    /// Whether the object of this key is used as a lock.
    pub fn has(&self, number: usize, key: &Key) -> bool {
        self.objects.contains(&(number, key.lock))
    }

    /// Whether this is a fact about the wake-ups of a condition that is used as a lock.
    pub fn has_condition_of(&self, number: usize, key: &Key) -> bool {
        let is_of_condition =
            key.kind().is_some_and(|kind| kind.class() == Class::Detail && kind.is_of_condition());
        is_of_condition && self.objects.contains(&(number, condition(key)))
    }
}

/// Whether a token of this semaphore that a thread has taken counts as held: nearly all earlier ones were given back,
/// and enough of them to tell.
pub(crate) fn held_tokens(image: &Image) -> impl Fn(&Key) -> bool {
    let uses = uses(image);
    let is_held = |used: &Use| used.given_back >= ACQUISITIONS_MIN && used.comes_back();
    move |key| uses.get(&key.lock).is_some_and(is_held)
}

impl Use {
    fn comes_back(self) -> bool {
        self.given_back.saturating_add(self.in_use) as f64 >= GIVEN_BACK * self.acquired as f64
    }

    fn is_lock(self) -> bool {
        self.is_contended
            && self.acquired >= ACQUISITIONS_MIN
            && self.comes_back()
            && (self.broadcast as f64) < (1.0 - GIVEN_BACK) * self.acquired as f64
    }
}

/// [`Key::lock`] of the condition at the address of a key.
fn condition(key: &Key) -> u64 {
    Key::new(RecordKind::Condition, key.address() as usize, 0).lock
}

/// The uses of each semaphore and each condition, by [`Key::lock`].
fn uses(image: &Image) -> BTreeMap<u64, Use> {
    let mut uses = BTreeMap::<u64, Use>::new();
    for (key, record) in &image.rows {
        let counts = &record.counts;
        match key.kind() {
            Some(RecordKind::Semaphore) => {
                let used = uses.entry(key.lock).or_default();
                used.acquired = used.acquired.saturating_add(counts.acquisitions());
                used.given_back = used.given_back.saturating_add(counts.timed);
                used.is_contended |= counts.waiters() > 0;
            }
            Some(RecordKind::Condition) => {
                let used = uses.entry(key.lock).or_default();
                used.given_back = used.given_back.saturating_add(counts.timed);
                used.is_contended = true;
            }
            // A thread that found nothing to do has not acquired the lock.
            Some(RecordKind::WokenBySignal) => {
                let used = uses.entry(condition(key)).or_default();
                used.acquired = used.acquired.saturating_add(counts.nowait);
            }
            Some(RecordKind::WokenByBroadcast) => {
                let used = uses.entry(condition(key)).or_default();
                used.broadcast = used.broadcast.saturating_add(counts.attempts());
            }
            _ => (),
        }
    }
    // A wait in progress is counted as an acquisition already, and a token in use is not given back yet.
    for thread in &image.threads {
        if let Some((key, _)) = thread.waits
            && key.kind() == Some(RecordKind::Semaphore)
            && let Some(used) = uses.get_mut(&key.lock)
        {
            used.acquired = used.acquired.saturating_sub(1);
        }
        for (key, _) in &thread.tokens {
            if let Some(used) = uses.get_mut(&key.lock) {
                used.in_use = used.in_use.saturating_add(1);
            }
        }
    }
    uses
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_wire::{Counts, Record};

    fn image(rows: &[(RecordKind, Counts)]) -> Image {
        let row = |&(kind, counts): &(RecordKind, Counts)| {
            (Key::new(kind, 0x7000, 5), Record { counts, ..Record::default() })
        };
        Image { rows: rows.iter().map(row).collect(), ..Image::default() }
    }

    fn is_lock(kind: RecordKind, rows: &[(RecordKind, Counts)]) -> bool {
        UsedAsLocks::of(&[image(rows)]).has(0, &Key::new(kind, 0x7000, 9))
    }

    #[test]
    fn semaphore_posted_by_its_takers_is_a_lock() {
        let used = |timed| {
            let counts = Counts { nowait: 70, slept: 30, timed, ..Counts::default() };
            is_lock(RecordKind::Semaphore, &[(RecordKind::Semaphore, counts)])
        };
        assert!(used(100) && used(95));
        // Some consumers answer by posting the semaphore that they have taken.
        assert!(!used(80) && !used(0));
        let free = Counts { nowait: 100, timed: 100, ..Counts::default() };
        assert!(!is_lock(RecordKind::Semaphore, &[(RecordKind::Semaphore, free)]), "no thread waited");
    }

    #[test]
    fn condition_signalled_by_the_woken_threads_is_a_lock() {
        let used = |given_back, by_broadcast| {
            let rows = [
                (RecordKind::Condition, Counts { slept: 120, timed: given_back, ..Counts::default() }),
                (RecordKind::WokenBySignal, Counts { nowait: 100, rejected: 20, ..Counts::default() }),
                (RecordKind::WokenByBroadcast, Counts { nowait: by_broadcast, ..Counts::default() }),
            ];
            is_lock(RecordKind::Condition, &rows)
        };
        assert!(used(99, 0));
        assert!(!used(40, 0) && !used(99, 50));
    }
}
