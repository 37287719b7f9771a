//! Threads that wait for each other in a ring.
//!
//! An edge leads from a thread that waits for a lock to each thread that holds it, by the addresses in the thread's
//! tables. The tables are not read at one instant, so every wait of a ring must have lasted for [`LASTING_S`]. A wait
//! with a deadline ends by itself, and belongs to no ring. A semaphore counts as held by the thread that took its token,
//! unless its tokens do not come back to it: a thread that consumes tokens holds nothing. If several threads have
//! tokens, each of them can end the wait, so none of them holds the semaphore. Nor does a thread wait for itself: it
//! waits for an event that another thread announces by posting, as in CPython's `Condition.wait`.

use crate::name::Name;
use crate::used_as_lock;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unspin_wire::{Class, Image, Key, RecordKind, Snapshot, Thread};

/// The minimum age of each wait, in seconds. Reading all tables takes some milliseconds.
const LASTING_S: f64 = 0.1;

/// Threads of one process that wait for each other in a ring.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Deadlock {
    /// Process.
    pub pid: u32,
    /// The threads. Each waits for a lock that the next one holds, the last one for a lock of the first.
    pub threads: Vec<DeadlockedThread>,
}

/// A thread of a ring.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DeadlockedThread {
    /// Thread.
    pub tid: u32,
    /// The lock that it holds and that the thread before it waits for.
    pub holds: String,
    /// Where it took that lock: `push+0x1c (queue.c:101)`.
    pub taken_at: String,
    /// The lock that it waits for.
    pub wants: String,
    /// Where it waits for it.
    pub waits_at: String,
    /// For how long, in seconds.
    pub waited: f64,
}

/// The deadlocks of all processes. `name` returns the names of a key.
pub(crate) fn find(snapshot: &Snapshot, name: &dyn Fn(&Image, &Key) -> Name) -> Vec<Deadlock> {
    let mut deadlocks: Vec<Deadlock> = Vec::new();
    for image in &snapshot.images {
        let graph = Graph::of(snapshot, image);
        for first in 0..graph.threads.len() {
            let is_known = |ring: &[usize]| {
                let least = ring.iter().map(|&at| graph.threads[at].tid).min();
                deadlocks.iter().any(|known| {
                    known.pid == image.pid && known.threads.iter().map(|thread| thread.tid).min() == least
                })
            };
            if let Some(ring) = graph.ring(first).filter(|ring| !is_known(ring)) {
                deadlocks.push(graph.describe(&ring, image, name));
            }
        }
    }
    deadlocks
}

/// The threads of a process that wait for locks.
struct Graph<'s> {
    snapshot: &'s Snapshot,
    threads: Vec<&'s Thread>,
    /// For each thread: the threads that hold what it waits for, and the keys by which they hold it.
    edges: Vec<Vec<(usize, Key)>>,
}

impl<'s> Graph<'s> {
    fn of(snapshot: &'s Snapshot, image: &'s Image) -> Graph<'s> {
        let threads: Vec<&Thread> =
            image.threads.iter().filter(|thread| lasting_wait(snapshot, thread).is_some()).collect();
        let held = used_as_lock::held_tokens(image);
        let holders = holders(image);
        let edges = threads.iter().enumerate().map(|(waits, thread)| {
            let Some((wanted, _)) = lasting_wait(snapshot, thread) else { return Vec::new() };
            let holds = |at: usize| {
                let owned = threads[at].holds.iter().map(|(key, _)| key);
                let tokens = threads[at].tokens.iter().map(|(key, _)| key);
                let tokens = tokens.filter(|key| at != waits && held(key) && holders[&key.lock] == 1);
                owned.chain(tokens).find(|key| is_same_object(key, &wanted)).map(|key| (at, *key))
            };
            (0..threads.len()).filter_map(holds).collect()
        });
        let edges = edges.collect();
        Graph { snapshot, threads, edges }
    }

    /// The shortest ring through a thread: indices, beginning with the thread.
    fn ring(&self, first: usize) -> Option<Vec<usize>> {
        let mut previous = vec![None; self.threads.len()];
        let mut reached = vec![first];
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            next += 1;
            for &(holder, _) in &self.edges[at] {
                if holder == first {
                    let mut ring: Vec<usize> = core::iter::successors(Some(at), |&at| previous[at]).collect();
                    ring.reverse();
                    return Some(ring);
                }
                if previous[holder].is_none() {
                    previous[holder] = Some(at);
                    reached.push(holder);
                }
            }
        }
        None
    }

    fn describe(&self, ring: &[usize], image: &Image, name: &dyn Fn(&Image, &Key) -> Name) -> Deadlock {
        let threads = (0..ring.len()).filter_map(|index| {
            let (before, at) = (ring[(index + ring.len() - 1) % ring.len()], ring[index]);
            let (_, held) = self.edges[before].iter().find(|(holder, _)| *holder == at)?;
            let (wanted, waited) = lasting_wait(self.snapshot, self.threads[at])?;
            let (held, wanted) = (name(image, held), name(image, &wanted));
            Some(DeadlockedThread {
                tid: self.threads[at].tid,
                taken_at: call(&held),
                holds: held.lock,
                waits_at: call(&wanted),
                wants: wanted.lock,
                waited,
            })
        });
        Deadlock { pid: image.pid, threads: threads.collect() }
    }
}

/// `push+0x1c (queue.c:101)`
fn call(name: &Name) -> String {
    match &name.place {
        Some(place) => format!("{} ({place})", name.caller),
        None => name.caller.clone(),
    }
}

/// The number of threads that have tokens of each semaphore, by [`Key::lock`].
fn holders(image: &Image) -> BTreeMap<u64, usize> {
    let mut holders = BTreeMap::new();
    for (key, _) in image.threads.iter().flat_map(|thread| &thread.tokens) {
        *holders.entry(key.lock).or_default() += 1;
    }
    holders
}

/// What a thread waits for without a deadline, if it is a lock, and for how many seconds, if that is long enough.
fn lasting_wait(snapshot: &Snapshot, thread: &Thread) -> Option<(Key, f64)> {
    let (key, since) = thread.waits?;
    let kind = key.kind()?;
    let waited = snapshot.window.seconds - snapshot.window.to_seconds(since);
    let is_lock = kind.class() == Class::Lock || kind == RecordKind::Semaphore;
    let lasts = thread.tid != 0 && !thread.wait_may_time_out && waited >= LASTING_S;
    (is_lock && lasts).then_some((key, waited))
}

/// Whether two keys mean one object. A semaphore and a lock never lie at one address at a time.
fn is_same_object(held: &Key, wanted: &Key) -> bool {
    let is_semaphore = |key: &Key| key.kind() == Some(RecordKind::Semaphore);
    let is_engine = |key: &Key| key.kind() == Some(RecordKind::Engine);
    held.address() == wanted.address()
        && is_semaphore(held) == is_semaphore(wanted)
        && is_engine(held) == is_engine(wanted)
}

impl Deadlock {
    /// `Deadlock: 2 threads wait for each other, and none of them can go on.`
    pub fn headline(&self) -> String {
        match &self.threads[..] {
            [only] if only.holds == only.wants => format!(
                "Deadlock: thread {} waits for {}, which it holds itself, and can never go on.",
                only.tid, only.wants
            ),
            threads => format!(
                "Deadlock: {} threads wait for each other in a ring, and none of them can ever go on.",
                threads.len()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_wire::{Counts, Record, Window};

    const SECOND: u64 = 1_000_000_000;

    fn key(kind: RecordKind, address: usize) -> Key {
        Key::new(kind, address, 1)
    }

    /// A thread that holds these locks and waits for one since the first second of ten.
    fn thread(tid: u32, holds: &[Key], wants: Key) -> Thread {
        let (tokens, holds) = holds
            .iter()
            .map(|&key| (key, SECOND))
            .partition(|(key, _)| key.kind() == Some(RecordKind::Semaphore));
        Thread {
            tid,
            lived: 0,
            on_cpu: 0,
            runnable: 0,
            holds,
            tokens,
            waits: Some((wants, SECOND)),
            wait_may_time_out: false,
        }
    }

    fn rings(threads: Vec<Thread>, rows: &[(Key, Counts)]) -> Vec<Vec<u32>> {
        let window = Window { seconds: 10.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: None };
        let mut snapshot = Snapshot::of_rows(window, []);
        let rows = rows.iter().map(|&(key, counts)| (key, Record { counts, ..Record::default() }));
        snapshot.images[0] = Image { pid: 7, threads, rows: rows.collect(), ..Image::default() };
        let name = |_: &Image, key: &Key| Name::from((key.address().to_string(), "f".to_owned()));
        let tids = |ring: Deadlock| ring.threads.iter().map(|thread| thread.tid).collect();
        find(&snapshot, &name).into_iter().map(tids).collect()
    }

    #[test]
    fn ring_of_threads_is_found_once() {
        let [a, b, c] = [1, 2, 3].map(|address| key(RecordKind::Mutex, address));
        let three = vec![thread(1, &[a], b), thread(2, &[b], c), thread(3, &[c], a), thread(4, &[], a)];
        assert_eq!(rings(three, &[]), [[1, 2, 3]]);
        assert!(
            rings(vec![thread(1, &[a], b), thread(2, &[b], c)], &[]).is_empty(),
            "the last one waits for no ring"
        );
        assert_eq!(rings(vec![thread(1, &[a], a)], &[]), [[1]]);
    }

    #[test]
    fn new_wait_is_no_deadlock() {
        let [a, b] = [1, 2].map(|address| key(RecordKind::Mutex, address));
        let mut threads = vec![thread(1, &[a], b), thread(2, &[b], a)];
        threads[0].waits = Some((b, 9_990_000_000));
        assert!(rings(threads, &[]).is_empty());
    }

    #[test]
    fn wait_with_a_deadline_is_no_deadlock() {
        let [a, b] = [1, 2].map(|address| key(RecordKind::Mutex, address));
        let mut threads = vec![thread(1, &[a], b), thread(2, &[b], a)];
        threads[1].wait_may_time_out = true;
        assert!(rings(threads, &[]).is_empty());
    }

    /// The third thread goes on, and can post the semaphore.
    #[test]
    fn semaphore_with_several_holders_is_no_deadlock() {
        let (lock, pool) = (key(RecordKind::Mutex, 1), key(RecordKind::Semaphore, 2));
        let mut threads = vec![thread(1, &[lock], pool), thread(2, &[pool], lock)];
        let used = [(pool, Counts { nowait: 100, slept: 1, timed: 98, ..Counts::default() })];
        assert_eq!(rings(threads.clone(), &used), [[1, 2]]);
        threads.push(Thread { waits: None, ..thread(3, &[pool], lock) });
        assert!(rings(threads, &used).is_empty());
    }

    #[test]
    fn semaphore_that_a_thread_takes_twice_is_no_deadlock() {
        let event = key(RecordKind::Semaphore, 1);
        let used = [(event, Counts { nowait: 100, slept: 1, timed: 99, ..Counts::default() })];
        assert!(rings(vec![thread(1, &[event], event)], &used).is_empty());
    }

    #[test]
    fn semaphores_of_few_uses_are_no_deadlock() {
        let [a, b] = [1, 2].map(|address| key(RecordKind::Semaphore, address));
        let used = [a, b].map(|key| (key, Counts { nowait: 1, slept: 1, ..Counts::default() }));
        assert!(rings(vec![thread(1, &[a], b), thread(2, &[b], a)], &used).is_empty());
    }

    #[test]
    fn semaphore_is_held_only_if_its_tokens_come_back() {
        let [a, b] = [1, 2].map(|address| key(RecordKind::Semaphore, address));
        let threads = || vec![thread(1, &[a], b), thread(2, &[b], a)];
        // One token is taken, and one wait is in progress.
        let used = |given_back| {
            [a, b].map(|key| (key, Counts { nowait: 100, slept: 1, timed: given_back, ..Counts::default() }))
        };
        assert_eq!(rings(threads(), &used(99)), [[1, 2]]);
        assert!(rings(threads(), &used(0)).is_empty(), "consumers");
        let consumer = || vec![thread(1, &[a], a)];
        assert!(rings(consumer(), &used(0)).is_empty());
    }
}
