//! The waits of a recording that goes on, for profiles of which a client takes the difference.

use std::collections::BTreeMap;
use unspin_wire::{Counts, Image, Key, Record, Snapshot, Window};

/// The waits that have ended. As in Go a wait counts when it ends, and then in whole: a wait in progress has no final holder
/// row, so what was shown of it would be taken back later.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EndedWaits {
    /// When they were read, in seconds since the recording began.
    seconds: f64,
    /// By process id, start of the process, and key. Rows without waits, which are nearly all, are left out.
    rows: BTreeMap<(u32, u64, Key), Waits>,
}

/// A number of waits, and their ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Waits {
    number: u64,
    ticks: u64,
}

impl EndedWaits {
    /// Raises the sums to those of a later snapshot. They never decrease: a wait that is moved from the list of held locks to
    /// its row while these are read is in neither for a moment.
    pub fn raise(&mut self, snapshot: &Snapshot) {
        self.seconds = self.seconds.max(snapshot.window.seconds);
        for image in &snapshot.images {
            for (key, record) in &image.rows {
                let now = Waits::of(record);
                if now != Waits::default() {
                    let known = self.rows.entry((image.pid, image.since, *key)).or_default();
                    *known =
                        Waits { number: known.number.max(now.number), ticks: known.ticks.max(now.ticks) };
                }
            }
        }
    }

    /// The waits that ended after `earlier`, as rows of a snapshot that has nothing else. `latest` is the snapshot to which
    /// these were raised. None if no time has passed.
    pub fn since(&self, earlier: &EndedWaits, latest: &Snapshot) -> Option<Snapshot> {
        let seconds = self.seconds - earlier.seconds;
        let images = latest.images.iter().map(|image| {
            let process = (image.pid, image.since);
            let rows = image.rows.keys().filter_map(|key| {
                let row = (process.0, process.1, *key);
                let waits = self.rows.get(&row)?.minus(earlier.rows.get(&row).copied().unwrap_or_default());
                (waits != Waits::default()).then(|| (*key, waits.record()))
            });
            Image {
                rows: rows.collect(),
                pid: image.pid,
                parent: image.parent,
                since: image.since,
                command: image.command.clone(),
                ..Image::default()
            }
        });
        let window = Window { seconds, ..latest.window };
        (seconds > 0.0).then(|| Snapshot {
            window,
            images: images.collect(),
            invocation: latest.invocation.clone(),
            ..*latest
        })
    }
}

impl Waits {
    fn of(record: &Record) -> Waits {
        let Record { counts, waits_in_progress, .. } = record;
        Waits {
            number: counts.waiters().saturating_sub(waits_in_progress.counted),
            ticks: counts.wait().saturating_sub(waits_in_progress.ticks),
        }
    }

    fn minus(self, earlier: Waits) -> Waits {
        Waits {
            number: self.number.saturating_sub(earlier.number),
            ticks: self.ticks.saturating_sub(earlier.ticks),
        }
    }

    fn record(self) -> Record {
        let counts = Counts { slept: self.number, sleep: self.ticks, ..Counts::default() };
        Record { counts, ..Record::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;
    use crate::pprof::{Contention, blocked, holders};
    use unspin_wire::{RecordKind, WaitsInProgress};

    /// A snapshot at some second: the waits of a mutex, those in progress among them, and those of its holder. A tick is a
    /// nanosecond.
    fn at(
        seconds: f64,
        [number, ticks]: [u64; 2],
        going_on: [u64; 2],
        [met, met_ticks]: [u64; 2],
    ) -> Snapshot {
        let window = Window { seconds, cpus: 2, ticks_per_second: 1e9, cpu_seconds: None };
        let counts = |slept, sleep| Counts { slept, sleep, ..Counts::default() };
        let (mutex, holder) =
            (Key::new(RecordKind::Mutex, 64, 10), Key::new(RecordKind::MutexHolder, 64, 20));
        let mut snapshot = Snapshot::of_rows(window, [(mutex, counts(number, ticks))]);
        let rows = &mut snapshot.images[0].rows;
        let [counted, ticks] = going_on;
        rows.get_mut(&mutex).unwrap().waits_in_progress = WaitsInProgress { counted, ticks };
        if met > 0 {
            rows.insert(holder, Record { counts: counts(met, met_ticks), ..Record::default() });
        }
        snapshot
    }

    /// The stacks of both profiles: caller, number, seconds.
    fn profiles(snapshot: &Snapshot) -> [Vec<(String, u64, f64)>; 2] {
        let names = |_: &Image, key: &Key| -> Option<Name> {
            Some(("lock".to_owned(), format!("caller_{}", key.caller)).into())
        };
        let stack = |one: Contention| (one.callers[0].function.clone(), one.contentions, one.delay);
        let stacks = |all: Vec<Contention>| all.into_iter().map(stack).collect();
        let frames = |_: &Image, _: &Key| Vec::new();
        [stacks(blocked(snapshot, &names, &frames)), stacks(holders(snapshot, &names, &frames))]
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn wait_counts_in_whole_in_the_window_in_which_it_ends_in_both_profiles() {
        let mut waits = EndedWaits::default();
        let read = |waits: &mut EndedWaits, snapshot: &Snapshot| {
            let before = waits.clone();
            waits.raise(snapshot);
            profiles(&waits.since(&before, snapshot).unwrap())
        };
        // One wait of half a second has ended; from 1 s to 9 s another goes on.
        let ended = ("caller_10".to_owned(), 1, 0.5);
        let first = read(&mut waits, &at(2.0, [2, SECOND * 3 / 2], [1, SECOND], [1, SECOND / 2]));
        assert_eq!(first, [vec![ended], vec![("caller_20".to_owned(), 1, 0.5)]]);
        let during = read(&mut waits, &at(4.0, [2, SECOND * 7 / 2], [1, 3 * SECOND], [1, SECOND / 2]));
        assert_eq!(during, [vec![], vec![]]);
        let last = at(10.0, [2, SECOND * 17 / 2], [0, 0], [2, SECOND * 17 / 2]);
        let [block, mutex] = read(&mut waits, &last);
        assert_eq!(
            (&block, &mutex),
            (&vec![("caller_10".into(), 1, 8.0)], &vec![("caller_20".into(), 1, 8.0)])
        );
        let all = profiles(&waits.since(&EndedWaits::default(), &last).unwrap());
        assert_eq!(all, [vec![("caller_10".into(), 2, 8.5)], vec![("caller_20".into(), 2, 8.5)]]);
    }

    #[test]
    fn sums_never_decrease() {
        let mut waits = EndedWaits::default();
        waits.raise(&at(0.5, [1, 0], [1, 0], [0, 0]));
        assert!(waits.rows.is_empty(), "what has no waits takes no memory");
        waits.raise(&at(1.0, [2, 2 * SECOND], [0, 0], [0, 0]));
        // The second wait is on its way to the row.
        let later = at(2.0, [2, SECOND], [0, 0], [0, 0]);
        waits.raise(&later);
        let [block, _] = profiles(&waits.since(&EndedWaits::default(), &later).unwrap());
        assert_eq!(block, [("caller_10".to_owned(), 2, 2.0)]);
        assert_eq!(waits.since(&waits.clone(), &later), None, "no time has passed");
    }
}
