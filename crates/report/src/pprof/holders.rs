//! The waits for locks by the callers that made others wait: Go's profile `mutex`.

use super::{Contention, Frame, Frames, contention};
use crate::fold;
use crate::name::Names;
use std::collections::BTreeMap;
use unspin_wire::{Class, Image, Key, RecordKind, Snapshot};

/// The caller of waits whose lock's holder is not known.
pub const UNKNOWN_HOLDER: &str = "(holder not recorded)";

/// The waits for locks in a snapshot, each by the caller that held the lock when the wait began. Waits whose holder was not
/// recorded are there too, so that the sum for each lock is that of [`contentions`](super::contentions).
pub fn holders(snapshot: &Snapshot, names: &Names<'_>, frames: &Frames<'_>) -> Vec<Contention> {
    let seconds = |ticks: u64| snapshot.window.to_seconds(ticks);
    let mut all = Vec::new();
    for image in &snapshot.images {
        let mut unknown = waits_by_lock(image);
        for (key, record) in &image.rows {
            let (waits, wait) = (record.counts.waiters(), record.counts.wait());
            if !fold::kind(key).is_holder() || (waits, wait) == (0, 0) {
                continue;
            }
            if let Some(left) = unknown.get_mut(&(fold::kind(key), key.address())) {
                left.waits = left.waits.saturating_sub(waits);
                left.ticks = left.ticks.saturating_sub(wait);
            }
            all.push(contention(image, key, waits, seconds(wait), names, frames));
        }
        for Waits { key, waits, ticks } in
            unknown.into_values().filter(|left| (left.waits, left.ticks) != (0, 0))
        {
            let caller = || vec![Frame { function: UNKNOWN_HOLDER.into(), ..Frame::default() }];
            let mut one = contention(image, &key, waits, seconds(ticks), names, &|_, _| caller());
            (one.kind, one.address) = (one.kind.holder().unwrap_or(one.kind), 0);
            all.push(one);
        }
    }
    all
}

/// Waits for one lock.
struct Waits {
    /// One of its keys.
    key: Key,
    waits: u64,
    ticks: u64,
}

/// The waits for each lock of a process, by address and the kind of the rows that have its holders.
fn waits_by_lock(image: &Image) -> BTreeMap<(RecordKind, u64), Waits> {
    let mut all = BTreeMap::<(RecordKind, u64), Waits>::new();
    for (key, record) in image.rows.iter().filter(|(key, _)| fold::kind(key).class() == Class::Lock) {
        let kind = fold::kind(key);
        let lock = (kind.holder().unwrap_or(kind), key.address());
        let sum = all.entry(lock).or_insert(Waits { key: *key, waits: 0, ticks: 0 });
        sum.waits = sum.waits.saturating_add(record.counts.waiters());
        sum.ticks = sum.ticks.saturating_add(record.counts.wait());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;
    use crate::pprof::contentions;
    use unspin_wire::{Counts, Window};

    #[test]
    fn waits_are_counted_for_the_holders_and_the_rest_is_unknown() {
        let window = Window { seconds: 2.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: None };
        let waited = |n: u64, sleep: u64| Counts { slept: n, sleep, ..Counts::default() };
        let second = 1_000_000_000;
        let snapshot = Snapshot::of_rows(
            window,
            [
                (Key::new(RecordKind::Mutex, 64, 10), waited(30, 3 * second)),
                (Key::new(RecordKind::Reacquired, 64, 11), waited(2, second)),
                (Key::new(RecordKind::MutexHolder, 64, 20), waited(20, second)),
                (Key::new(RecordKind::MutexHolder, 64, 21), waited(10, 2 * second)),
                (Key::new(RecordKind::Write, 128, 10), waited(1, second)),
                (Key::new(RecordKind::RwLockHolder, 128, 21), waited(1, second)),
                (Key::new(RecordKind::Condition, 192, 10), waited(5, second)),
            ],
        );
        let names = |_: &Image, key: &Key| -> Option<Name> {
            Some((format!("lock_{}", key.address()), format!("caller_{}", key.caller)).into())
        };
        let found = holders(&snapshot, &names, &|_, _| Vec::new());
        let mut rows: Vec<_> = found
            .iter()
            .map(|one| (one.lock.as_str(), one.callers[0].function.as_str(), one.contentions, one.delay))
            .collect();
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(
            rows,
            [
                ("lock_128", "caller_21", 1, 1.0),
                ("lock_64", UNKNOWN_HOLDER, 2, 1.0),
                ("lock_64", "caller_20", 20, 1.0),
                ("lock_64", "caller_21", 10, 2.0),
            ]
        );
        let sum = |all: &[Contention]| all.iter().map(|one| one.contentions).sum::<u64>();
        assert_eq!(sum(&found), sum(&contentions(&snapshot, &names, &|_, _| Vec::new())));
    }
}
