//! The rows of read-write locks.

use super::plan::{SHORT_NS, figure};
use crate::inner::{RwContended, Task};
use crate::measurement::{Measurement, World};
use crate::quantity::{Bound, Extreme, Note, Quantity, QuantityRow};
use crate::session::SessionSize;
use unspin_locks::rw::RwLockKind;

/// Busy readers among which a writer waits: more than a small machine has CPUs.
const READERS: usize = 16;

const CONTROL: World = World::RwLock(RwLockKind::System);
const BIASED: World = World::RwLock(RwLockKind::Biased);

/// All rows.
pub fn rows(extent: &SessionSize) -> Vec<QuantityRow> {
    let mut rows: Vec<_> = [1, 2, 16].map(|threads| readers_only(threads, extent)).into();
    for (percent, times) in [(1, 1.2), (50, 1.0)] {
        rows.extend([2, 16].map(|threads| with_writers(percent, threads, times, extent)));
    }
    rows.extend(writer_wait(extent));
    rows.push(from_rust(extent));
    rows
}

/// Throughput of readers that hold the lock for no time: the cost of the lock alone.
fn readers_only(threads: usize, extent: &SessionSize) -> QuantityRow {
    let rate = |world| contend(world, Crowd { threads, writers_per_mille: 0, pace_ns: 0 }, extent);
    QuantityRow {
        name: format!("locks: rw-biased, readers only, {threads} threads, throughput over glibc's"),
        unit: "times",
        quantity: rate(BIASED) / rate(World::NoPreload),
        bound: Some(Bound::AtLeast(1.4)),
        notes: rates(rate),
        missing: None,
    }
}

/// Throughput with some writers.
fn with_writers(percent: u64, threads: usize, times: f64, extent: &SessionSize) -> QuantityRow {
    let at =
        |world, pace_ns| contend(world, Crowd { threads, writers_per_mille: 10 * percent, pace_ns }, extent);
    let over = |pace_ns| {
        let kinds = kinds().map(|kind| at(World::RwLock(kind), pace_ns)).collect();
        Quantity::Extreme(Extreme::Highest, kinds) / at(World::NoPreload, pace_ns)
    };
    let mut notes = rates(|world| at(world, SHORT_NS));
    notes.push(Note::new("the ratio without hold and think time", over(0), ""));
    QuantityRow {
        name: format!(
            "locks: rw, {percent} % writers, {threads} threads, best kind's throughput over glibc's"
        ),
        unit: "times",
        quantity: over(SHORT_NS),
        bound: Some(Bound::AtLeast(times)),
        notes,
        missing: None,
    }
}

/// How long a writer waits that readers may starve.
fn writer_wait(extent: &SessionSize) -> [QuantityRow; 2] {
    let time_ms = 100 * extent.loop_ms;
    let task =
        |lock| Task::WriterWait { lock, readers: READERS, hold_ns: SHORT_NS, think_ns: SHORT_NS, time_ms };
    let longest = |world| figure(world, task(RwContended::Plain));
    let prefer = || figure(World::NoPreload, task(RwContended::PreferWriter));
    let writes = |world| Quantity::Figure(Measurement::Inner(world, task(RwContended::Plain)), 1);
    let best =
        || Quantity::Extreme(Extreme::Lowest, kinds().map(|kind| longest(World::RwLock(kind))).collect());
    let row = |glibcs: &str, quantity, most| {
        let mut notes = vec![
            Note::new("glibc", longest(World::NoPreload), " ms"),
            Note::new("with writer preference", prefer(), " ms"),
            Note::new("control", longest(CONTROL), " ms"),
        ];
        notes.extend(kinds().map(|kind| Note::new(kind.name(), longest(World::RwLock(kind)), " ms")));
        notes.push(Note::new("writes a second: glibc", writes(World::NoPreload), ""));
        notes.extend(kinds().map(|kind| Note::new(kind.name(), writes(World::RwLock(kind)), "")));
        QuantityRow {
            name: format!(
                "locks: rw, a writer's longest wait among {READERS} readers in {} s, best kind's over glibc's{glibcs}",
                time_ms / 1_000
            ),
            unit: "times",
            quantity,
            bound: Some(Bound::AtMost(most)),
            notes,
            missing: None,
        }
    };
    [row("", best() / longest(World::NoPreload), 0.1), row(" PREFER_WRITER", best() / prefer(), 1.0)]
}

/// Throughput from Rust against the better one of its peers.
fn from_rust(extent: &SessionSize) -> QuantityRow {
    let task = |lock| Task::Readers {
        lock,
        threads: 2,
        writers_per_mille: 0,
        hold_ns: 0,
        think_ns: 0,
        time_ms: extent.loop_ms,
    };
    let rate = |lock| figure(World::NoPreload, task(lock));
    let peers = vec![rate(RwContended::ParkingLot), rate(RwContended::Std)];
    QuantityRow {
        name: "locks: rw-biased in Rust, 2 readers, throughput over parking_lot's or std's (the better)"
            .into(),
        unit: "times",
        quantity: rate(RwContended::Biased) / Quantity::Extreme(Extreme::Highest, peers),
        bound: Some(Bound::AtLeast(1.0)),
        notes: vec![
            Note::new("millions a second: rw-biased", rate(RwContended::Biased), ""),
            Note::new("parking_lot", rate(RwContended::ParkingLot), ""),
            Note::new("std", rate(RwContended::Std), ""),
        ],
        missing: None,
    }
}

/// All kinds but the control.
fn kinds() -> impl Iterator<Item = RwLockKind> {
    RwLockKind::ALL.into_iter().filter(|&kind| kind != RwLockKind::System)
}

/// A note for each world.
fn rates(rate: impl Fn(World) -> Quantity) -> Vec<Note> {
    let mut notes = vec![
        Note::new("millions a second: glibc", rate(World::NoPreload), ""),
        Note::new("control", rate(CONTROL), ""),
    ];
    notes.extend(kinds().map(|kind| Note::new(kind.name(), rate(World::RwLock(kind)), "")));
    notes
}

/// Threads that take one lock.
#[derive(Clone, Copy)]
struct Crowd {
    threads: usize,
    writers_per_mille: u64,
    /// Time in which each holds the lock, and then does not.
    pace_ns: u64,
}

/// Millions of acquisitions a second.
fn contend(world: World, crowd: Crowd, extent: &SessionSize) -> Quantity {
    let Crowd { threads, writers_per_mille, pace_ns } = crowd;
    let task = Task::Readers {
        lock: RwContended::Plain,
        threads,
        writers_per_mille,
        hold_ns: pace_ns,
        think_ns: pace_ns,
        time_ms: extent.loop_ms,
    };
    figure(world, task)
}
