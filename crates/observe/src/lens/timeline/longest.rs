//! The longest waits that a lens has seen.

use super::track::Track;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;

/// Waits that are kept of each lens: some 25 MB of a file, and 70 MB of memory while it is written (docs/lenses.md).
const WAITS_MAX: usize = 200_000;

/// A wait with its times, which are in nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub struct KeptWait<D> {
    /// What waited.
    pub track: Track,
    /// When it began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// For what it waited and where: an index into [`LongestWaits::uses`].
    pub what: u32,
    /// What else the lens knows of this wait.
    pub detail: D,
}

impl<D> KeptWait<D> {
    fn ns(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// Waits that a timeline lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeftOutWaits {
    /// How many.
    pub waits: u64,
    /// Their nanoseconds.
    pub ns: u64,
    /// The longest of them.
    pub max_ns: u64,
}

impl LeftOutWaits {
    /// Counts one.
    pub fn add(&mut self, ns: u64) {
        self.waits += 1;
        self.ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }
}

/// Keeps as many waits as there is room for, the longest ones. `K` is for what a thread waits and where.
#[derive(Debug)]
pub struct LongestWaits<K, D> {
    room: usize,
    /// The shortest one is on top.
    kept: BinaryHeap<Reverse<ByLength<D>>>,
    uses: HashMap<K, u32>,
    left_out: LeftOutWaits,
}

impl<K, D> Default for LongestWaits<K, D> {
    fn default() -> LongestWaits<K, D> {
        LongestWaits::with_room(WAITS_MAX)
    }
}

impl<K, D> LongestWaits<K, D> {
    /// Keeps so many, at least 1.
    pub fn with_room(room: usize) -> LongestWaits<K, D> {
        LongestWaits {
            room: room.max(1),
            kept: BinaryHeap::new(),
            uses: HashMap::new(),
            left_out: LeftOutWaits::default(),
        }
    }

    /// What has no room.
    pub fn left_out(&self) -> LeftOutWaits {
        self.left_out
    }

    /// The waits, in the order of their beginnings.
    pub fn sorted(&self) -> Vec<&KeptWait<D>> {
        let mut waits: Vec<_> = self.kept.iter().map(|Reverse(ByLength(wait))| wait).collect();
        waits.sort_by_key(|wait| (wait.start, wait.track));
        waits
    }
}

impl<K: Eq + Hash + Clone, D> LongestWaits<K, D> {
    /// Keeps a wait, if it is longer than the shortest one or there is room.
    pub fn note(&mut self, track: Track, times: [u64; 2], what: &K, detail: D) {
        let [start, end] = times;
        let ns = end.saturating_sub(start);
        let is_full = self.kept.len() == self.room;
        if let Some(Reverse(ByLength(shortest))) = self.kept.peek()
            && is_full
        {
            if ns <= shortest.ns() {
                return self.left_out.add(ns);
            }
            self.left_out.add(shortest.ns());
            self.kept.pop();
        }
        let next = self.uses.len() as u32;
        let what = match self.uses.get(what) {
            Some(&known) => known,
            None => *self.uses.entry(what.clone()).or_insert(next),
        };
        self.kept.push(Reverse(ByLength(KeptWait { track, start, end, what, detail })));
    }

    /// For what threads waited and where, by number.
    pub fn uses(&self) -> Vec<&K> {
        let mut uses: Vec<(&K, u32)> = self.uses.iter().map(|(one, &number)| (one, number)).collect();
        uses.sort_by_key(|&(_, number)| number);
        uses.into_iter().map(|(one, _)| one).collect()
    }
}

/// A wait in the order of lengths. Of two equal ones the later counts as the shorter.
#[derive(Debug)]
struct ByLength<D>(KeptWait<D>);

impl<D> ByLength<D> {
    fn rank(&self) -> (u64, Reverse<u64>) {
        (self.0.ns(), Reverse(self.0.start))
    }
}

impl<D> PartialEq for ByLength<D> {
    fn eq(&self, other: &ByLength<D>) -> bool {
        self.rank() == other.rank()
    }
}

impl<D> Eq for ByLength<D> {}

impl<D> PartialOrd for ByLength<D> {
    fn partial_cmp(&self, other: &ByLength<D>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<D> Ord for ByLength<D> {
    fn cmp(&self, other: &ByLength<D>) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_waits_are_left_out_and_counted_when_there_is_no_room() {
        let mut waits = LongestWaits::with_room(3);
        for (start, ns) in [(0, 50), (100, 10), (200, 30), (300, 40), (400, 5), (500, 30)] {
            waits.note(Track::Thread(1, 1), [start, start + ns], &(ns / 20), ());
        }
        let kept: Vec<(u64, u64)> = waits.sorted().iter().map(|wait| (wait.start, wait.ns())).collect();
        assert_eq!(kept, [(0, 50), (200, 30), (300, 40)], "of two equal ones the first");
        assert_eq!(waits.left_out(), LeftOutWaits { waits: 3, ns: 45, max_ns: 30 });
        let uses = waits.uses();
        assert!(waits.sorted().iter().all(|wait| *uses[wait.what as usize] == wait.ns() / 20));
    }

    #[test]
    fn wait_that_ends_before_it_begins_takes_no_time() {
        let mut waits = LongestWaits::<u8, ()>::default();
        waits.note(Track::Idle(0), [10, 5], &0, ());
        assert_eq!(waits.sorted()[0].ns(), 0);
    }
}
