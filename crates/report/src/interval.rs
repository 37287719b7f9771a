//! The counts between two snapshots of one recording.

use std::collections::{BTreeMap, HashMap};
use unspin_wire::{BUCKETS, Class, Counts, Histogram, Image, Level, Record, Snapshot, TimeKind, Window};

/// The counts between two snapshots, as a snapshot. Rows without change are left out. Maxima are those since the start,
/// because they are unknown for a part of the time. None if no time has passed.
pub fn between(earlier: &Snapshot, later: &Snapshot) -> Option<Snapshot> {
    let seconds = later.window.seconds - earlier.window.seconds;
    if seconds <= 0.0 {
        return None;
    }
    let cpu_seconds = match (earlier.window.cpu_seconds, later.window.cpu_seconds) {
        (Some(earlier), Some(later)) => Some(later - earlier),
        _ => None,
    };
    let known: HashMap<(u32, u64), &Image> =
        earlier.images.iter().map(|image| ((image.pid, image.since), image)).collect();
    let images = later.images.iter().map(|image| {
        let before = known.get(&(image.pid, image.since)).copied();
        Image { rows: rows(before, image, later.level), ..about(image) }
    });
    Some(Snapshot {
        window: Window { seconds, cpu_seconds, ..later.window },
        images: images.collect(),
        ..about_all(later)
    })
}

/// An image without its records: enough to identify it.
fn about(image: &Image) -> Image {
    let command = image.command.clone();
    Image { pid: image.pid, parent: image.parent, since: image.since, command, ..Image::default() }
}

fn about_all(snapshot: &Snapshot) -> Snapshot {
    Snapshot { images: Vec::new(), invocation: snapshot.invocation.clone(), ..*snapshot }
}

fn rows(before: Option<&Image>, image: &Image, level: Level) -> BTreeMap<unspin_wire::Key, Record> {
    let threads = image.threads.len() as u64;
    let changed = image.rows.iter().filter_map(|(key, now)| {
        // Only those holds of a semaphore are timed that begin and end in one thread.
        let is_lock = key.kind().is_none_or(|kind| kind.class() == Class::Lock);
        let all_timed = is_lock
            && match level {
                Level::Full => true,
                Level::Auto => has_all_timed(&now.counts, threads),
                Level::Counts | Level::Sampled { .. } => false,
            };
        let record = match before.and_then(|before| before.rows.get(key)) {
            Some(before) if before.counts == now.counts => return None,
            Some(before) => since(before, now, all_timed),
            None => *now,
        };
        Some((*key, record))
    });
    changed.collect()
}

/// Whether all holds of a row have been timed so far, at level `auto`. Each of the threads may be at an attempt, which is
/// counted before its hold begins.
fn has_all_timed(counts: &Counts, threads: u64) -> bool {
    counts.implied == 0 && counts.timed.saturating_add(threads) >= counts.acquisitions()
}

fn since(before: &Record, now: &Record, all_timed: bool) -> Record {
    Record {
        counts: counts(&before.counts, &now.counts, all_timed),
        holds: histogram(&before.holds, &now.holds, TimeKind::Holds),
        waits: histogram(&before.waits, &now.waits, TimeKind::Waits),
        ..*now
    }
}

/// Saturating, because the counts of threads are not read at the same instant: a hold can be counted in the earlier
/// snapshot and be missing in the later one.
fn counts(before: &Counts, now: &Counts, all_timed: bool) -> Counts {
    let mut counts = Counts {
        nowait: now.nowait.saturating_sub(before.nowait),
        spun: now.spun.saturating_sub(before.spun),
        slept: now.slept.saturating_sub(before.slept),
        rejected: now.rejected.saturating_sub(before.rejected),
        gave_up: now.gave_up.saturating_sub(before.gave_up),
        timed: now.timed.saturating_sub(before.timed),
        // If a hold that stands for several goes on since before the interval, nothing but this says that it does.
        implied: now.implied.saturating_sub(before.implied).max(now.implied.min(1)),
        hold: now.hold.saturating_sub(before.hold),
        spin: now.spin.saturating_sub(before.spin),
        sleep: now.sleep.saturating_sub(before.sleep),
        busy: now.busy.saturating_sub(before.busy),
        ..*now
    };
    // A hold that spans the earlier snapshot was counted there as timed, and is counted here as an acquisition. If all
    // holds are timed, nothing is estimated.
    if all_timed {
        counts.timed = counts.timed.max(counts.acquisitions());
    }
    counts
}

fn histogram(before: &Histogram, now: &Histogram, of: TimeKind) -> Histogram {
    let mut counts = [0; BUCKETS];
    for (difference, (now, before)) in counts.iter_mut().zip(now.counts().iter().zip(before.counts())) {
        *difference = now.saturating_sub(*before);
    }
    Histogram::new(of, counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::LOCKS;
    use crate::{Medium, MeterReport, Table, Units};
    use unspin_wire::{ANY_DESCRIPTOR, Event, Key, RecordKind, Thread, WakeUpCost};

    /// A time in ticks since the recording began.
    fn at(seconds: f64) -> u64 {
        (seconds * 1e9) as u64
    }

    /// One process with these counts, some seconds after its start, on two CPUs.
    fn snapshot(seconds: f64, rows: &[(Key, Counts)]) -> Snapshot {
        let window = Window { seconds, cpus: 2, ticks_per_second: 1e9, cpu_seconds: None };
        let mut snapshot = Snapshot::of_rows(window, rows.iter().copied());
        snapshot.wake_up = Some(WakeUpCost { futex_ns: 45_000, epoll_ns: 48_000 });
        let image = &mut snapshot.images[0];
        image.pid = 7;
        image.threads = vec![Thread {
            tid: 8,
            lived: at(seconds),
            on_cpu: 0,
            runnable: 0,
            holds: Vec::new(),
            tokens: Vec::new(),
            waits: None,
            wait_may_time_out: false,
        }];
        snapshot
    }

    #[test]
    fn interval_contains_only_changes() {
        let (busy, idle, new) = (
            Key::new(RecordKind::Mutex, 1, 1),
            Key::new(RecordKind::Mutex, 2, 1),
            Key::new(RecordKind::Spin, 3, 1),
        );
        let before = Counts {
            nowait: 10,
            slept: 1,
            timed: 11,
            hold: 100,
            hold_max: 50,
            sleep: 40,
            wait_max: 40,
            ..Counts::default()
        };
        let after = Counts {
            nowait: 30,
            slept: 2,
            timed: 32,
            hold: 400,
            hold_max: 60,
            sleep: 50,
            wait_max: 40,
            ..Counts::default()
        };
        let earlier = snapshot(1.0, &[(busy, before), (idle, before)]);
        let later = snapshot(3.0, &[(busy, after), (idle, before), (new, before)]);

        let between = between(&earlier, &later).unwrap();
        assert_eq!(between.window.seconds, 2.0);
        let rows = &between.images[0].rows;
        assert_eq!(rows.keys().copied().collect::<Vec<_>>(), [busy, new], "nothing happened to the idle one");
        let expected = Counts {
            nowait: 20,
            slept: 1,
            timed: 21,
            hold: 300,
            hold_max: 60,
            sleep: 10,
            wait_max: 40,
            ..Counts::default()
        };
        assert_eq!(rows[&busy].counts, expected);
        assert_eq!(rows[&new].counts, before);
    }

    /// Half a second of the hold is before the earlier snapshot. The other half belongs to the interval. It must not
    /// be doubled, although one of two holds seems to be untimed.
    #[test]
    fn hold_across_the_interval_is_not_estimated() {
        let key = Key::new(RecordKind::Mutex, 1, 1);
        let going_on = Counts { timed: 1, hold: 500, ..Counts::default() };
        let ended = Counts { nowait: 2, timed: 2, hold: 1100, ..Counts::default() };
        for level in [Level::Full, Level::Auto] {
            let at = |seconds, counts| Snapshot { level, ..snapshot(seconds, &[(key, counts)]) };
            let mut later = at(2.0, ended);
            // Other rows of the thread are sampled.
            later.images[0].events[Event::Sampled as usize] = 1;
            let between = between(&at(1.0, going_on), &later).unwrap();
            assert_eq!(between.images[0].rows[&key].counts.hold_in_all(), 600.0, "{level}");
        }
    }

    /// The hold of which 1.6 ms are counted has lasted 0.1 ms. Nothing is known of the interval's other holds.
    #[test]
    fn holds_of_sampled_row_are_unknown_in_interval_with_few_samples() {
        let key = Key::new(RecordKind::Mutex, 1, 1);
        let counts =
            |nowait, timed, implied, hold| Counts { nowait, timed, implied, hold, ..Counts::default() };
        let first = counts(9_000, 3_000, 6_000, at(0.4));
        let report = |later: Counts| {
            let snapshot =
                |seconds, counts| Snapshot { level: Level::Auto, ..snapshot(seconds, &[(key, counts)]) };
            let between = between(&snapshot(1.0, first), &snapshot(2.0, later)).unwrap();
            MeterReport::new(&between, &|_, _| None)
        };
        for (later, is_known) in [
            (counts(9_000, 3_000, 6_000, at(0.4016)), false),
            (counts(9_100, 3_006, 6_090, at(0.41)), false),
            (counts(12_000, 3_200, 9_000, at(0.5)), true),
        ] {
            let report = report(later);
            let table = Table::all(&LOCKS, Medium::Screen);
            let figures = table.figures(&report.locks[0].row, &Units::of(&report));
            let dashes = figures.split_whitespace().filter(|word| *word == "-").count();
            assert_eq!(dashes, if is_known { 0 } else { 4 }, "{later:?}: {figures}");
        }
    }

    /// Waits before the interval count neither in its median nor in its short waits.
    #[test]
    fn short_waits_before_the_interval_are_not_counted() {
        let key = Key::new(RecordKind::Epoll, ANY_DESCRIPTOR, 1);
        let with = |seconds, short: u64, long: u64| {
            let counts =
                Counts { slept: short + long, sleep: at(0.1), wait_max: at(0.2), ..Counts::default() };
            let mut snapshot = snapshot(seconds, &[(key, counts)]);
            let mut waits = [0; BUCKETS];
            // From 32.8 to 65.5 us, and from 67 to 134 ms.
            (waits[7], waits[18]) = (short, long);
            snapshot.images[0].rows.get_mut(&key).unwrap().waits = Histogram::new(TimeKind::Waits, waits);
            snapshot
        };
        let (earlier, later) = (with(1.0, 500, 1), with(2.0, 600, 301));
        let report = |snapshot: &Snapshot| MeterReport::new(snapshot, &|_, _| None).waits.remove(0).row;
        let (all, lately) = (report(&later), report(&between(&earlier, &later).unwrap()));
        assert_eq!((all.short, lately.short, lately.waits), (600, 100, 400));
        assert!(all.median < 1e-3 && lately.median > 1e-3, "{all:?} {lately:?}");
    }

    #[test]
    fn interval_without_time_is_none() {
        let now = snapshot(1.0, &[]);
        assert_eq!(between(&now, &now), None);
    }

    #[test]
    fn reused_pid_begins_at_zero() {
        let key = Key::new(RecordKind::Mutex, 1, 1);
        let counts = Counts { nowait: 5, ..Counts::default() };
        let earlier = snapshot(1.0, &[(key, counts)]);
        let mut later = snapshot(2.0, &[(key, counts)]);
        // The same pid with a later start: an exec.
        later.images[0].since = at(1.5);
        assert_eq!(between(&earlier, &later).unwrap().images[0].rows[&key].counts, counts);
    }
}
