//! The rows: measurements and goals.

use crate::inner::{Company, Contended, EffortOptions, Paired, Protocol, Task, inversion};
use crate::measurement::{Measurement, World};
use crate::quantity::{Bound, Extreme, Note, Quantity, QuantityRow};
use crate::session::SessionSize;
use unspin_locks::{LockKind, SpinKind};

/// A hold, and a time to think, of a few cache misses: short against any wait.
pub(super) const SHORT_NS: u64 = 100;
/// A hold of some dozen cache misses: so long that spin locks are often held by a thread that does not run.
const SPIN_HOLD_NS: u64 = 200;
/// Lengths of hold and of think time at which a lock may do no harm.
const LENGTHS_NS: [u64; 4] = [0, 1_000, 10_000, 100_000];

const CONTROL: World = World::Mutex(LockKind::System);
const ADAPTIVE: World = World::Mutex(LockKind::Adaptive);
const RT_ADAPTIVE: World = World::Mutex(LockKind::RtAdaptive);

/// The rows of mutexes and spin locks.
pub fn rows(extent: &SessionSize) -> Vec<QuantityRow> {
    let mut rows = vec![uncontended_row(extent)];
    rows.extend([2, 4, 16, 64].map(|threads| short(threads, extent)));
    rows.push(nowhere_worse(extent));
    rows.extend([1, 2, 4, 16, 64].map(|threads| from_rust(threads, extent)));
    rows.extend([(4, 5.0), (16, 40.0)].map(|(threads, times)| inheriting(threads, times, extent)));
    rows.extend(staircase(extent));
    rows.push(inversion());
    rows.push(share(extent));
    rows.push(spin(extent));
    rows
}

/// What a pair of calls costs more than glibc's.
fn uncontended_row(extent: &SessionSize) -> QuantityRow {
    let effort = EffortOptions::milliseconds(extent.loop_ms);
    let pair = |world, company| figure(world, Task::Pair { lock: Paired::Mutex, company, effort });
    let many = |world| pair(world, Company::Sleeper);
    let alone = |world| pair(world, Company::Nobody);
    QuantityRow {
        name: "locks: adaptive, uncontended mutex lock+unlock, added".into(),
        unit: "ns",
        quantity: many(ADAPTIVE) - many(World::NoPreload),
        bound: Some(Bound::AtMost(2.0)),
        notes: vec![
            Note::new("in all", many(ADAPTIVE), ""),
            Note::new("glibc", many(World::NoPreload), ""),
            Note::new("control", many(CONTROL), ""),
            Note::new("rt-adaptive", many(RT_ADAPTIVE), ""),
            Note::new("added in a process of one thread", alone(ADAPTIVE) - alone(World::NoPreload), ""),
        ],
        missing: None,
    }
}

/// Throughput with many threads and short holds.
fn short(threads: usize, extent: &SessionSize) -> QuantityRow {
    let rate = |world| contend(world, Contended::Plain, threads, (SHORT_NS, SHORT_NS), extent);
    let kind = |kind: LockKind| Note::new(kind.name(), rate(World::Mutex(kind)), "");
    QuantityRow {
        name: format!("locks: adaptive, {threads} threads, short hold, throughput over glibc's"),
        unit: "times",
        quantity: rate(ADAPTIVE) / rate(World::NoPreload),
        bound: Some(Bound::AtLeast(1.5)),
        notes: vec![
            Note::new("millions a second: adaptive", rate(ADAPTIVE), ""),
            Note::new("glibc", rate(World::NoPreload), ""),
            Note::new("control", rate(CONTROL), ""),
            kind(LockKind::Steal),
            kind(LockKind::Fair),
        ],
        missing: None,
    }
}

/// The worst of many points.
fn nowhere_worse(extent: &SessionSize) -> QuantityRow {
    let mut points = Vec::new();
    for threads in [2, 4, 16] {
        for hold in LENGTHS_NS {
            for think in LENGTHS_NS {
                let rate = |world| contend(world, Contended::Plain, threads, (hold, think), extent);
                let name = format!("{threads}/{}/{}", hold / 1000, think / 1000);
                points.push((name, rate(ADAPTIVE) / rate(World::NoPreload)));
            }
        }
    }
    let all = points.iter().map(|(_, quantity)| quantity.clone()).collect();
    QuantityRow {
        name: "locks: adaptive, throughput over glibc's at the worst of threads/hold/think (us)".into(),
        unit: "times",
        quantity: Quantity::Extreme(Extreme::Lowest, all),
        bound: Some(Bound::AtLeast(0.95)),
        notes: points.into_iter().map(|(name, quantity)| Note::new(name, quantity, "")).collect(),
        missing: None,
    }
}

/// Throughput from Rust against the better one of its peers.
fn from_rust(threads: usize, extent: &SessionSize) -> QuantityRow {
    let rate = |lock| contend(World::NoPreload, lock, threads, (SHORT_NS, SHORT_NS), extent);
    let peers = vec![rate(Contended::ParkingLot), rate(Contended::Std)];
    QuantityRow {
        name: format!(
            "locks: adaptive in Rust, {threads} threads, throughput over parking_lot's or std's (the better)"
        ),
        unit: "times",
        quantity: rate(Contended::Adaptive) / Quantity::Extreme(Extreme::Highest, peers),
        bound: Some(Bound::AtLeast(1.0)),
        notes: vec![
            Note::new("millions a second: adaptive", rate(Contended::Adaptive), ""),
            Note::new("parking_lot", rate(Contended::ParkingLot), ""),
            Note::new("std", rate(Contended::Std), ""),
        ],
        missing: None,
    }
}

/// Throughput of a priority-inheriting lock that no real-time thread wants.
fn inheriting(threads: usize, times: f64, extent: &SessionSize) -> QuantityRow {
    let at = |world, think| contend(world, Contended::Inherit, threads, (SHORT_NS, think), extent);
    let rate = |world| at(world, 0);
    let kind = |kind: LockKind| Note::new(kind.name(), rate(World::Mutex(kind)), "");
    QuantityRow {
        name: format!("locks: rt-adaptive, {threads} threads, throughput over glibc's PRIO_INHERIT"),
        unit: "times",
        quantity: rate(RT_ADAPTIVE) / rate(World::NoPreload),
        bound: Some(Bound::AtLeast(times)),
        notes: vec![
            Note::new("millions a second: rt-adaptive", rate(RT_ADAPTIVE), ""),
            Note::new("glibc", rate(World::NoPreload), ""),
            kind(LockKind::RtFair),
            kind(LockKind::RtSteal),
            Note::new(
                "the ratio with time to think",
                at(RT_ADAPTIVE, SHORT_NS) / at(World::NoPreload, SHORT_NS),
                "",
            ),
        ],
        missing: None,
    }
}

/// The staircase of Rostedt 2008.
fn staircase(extent: &SessionSize) -> [QuantityRow; 2] {
    let task = Task::Hackbench { groups: 50 / extent.shorter as usize };
    let time = |world| figure(world, task.clone());
    let kind = |kind: LockKind| Note::new(kind.name(), time(World::Mutex(kind)), " s");
    let row = |name: &str, quantity, bound, notes| QuantityRow {
        name: format!("locks: hackbench {} --transport queue, {name}", 50 / extent.shorter),
        unit: "times",
        quantity,
        bound: Some(bound),
        notes,
        missing: None,
    };
    [
        row(
            "rt-fair takes as long as rt-adaptive",
            time(World::Mutex(LockKind::RtFair)) / time(RT_ADAPTIVE),
            Bound::AtLeast(3.5),
            vec![
                kind(LockKind::RtFair),
                kind(LockKind::RtSteal),
                kind(LockKind::RtAdaptive),
                kind(LockKind::Pi),
            ],
        ),
        row(
            "rt-adaptive takes as long as vanilla",
            time(RT_ADAPTIVE) / time(World::NoPreload),
            Bound::AtMost(1.25),
            vec![
                Note::new("vanilla", time(World::NoPreload), " s"),
                kind(LockKind::System),
                kind(LockKind::Adaptive),
            ],
        ),
    ]
}

/// A real-time thread's longest wait.
fn inversion() -> QuantityRow {
    let wait = |world, protocol| figure(world, Task::Inversion { protocol });
    QuantityRow {
        name: "locks: rt-adaptive, longest wait of an RT thread, over glibc's PRIO_INHERIT".into(),
        unit: "times",
        quantity: wait(RT_ADAPTIVE, Protocol::Inherit) / wait(World::NoPreload, Protocol::Inherit),
        bound: Some(Bound::AtMost(1.0)),
        notes: vec![
            Note::new("rt-adaptive", wait(RT_ADAPTIVE, Protocol::Inherit), " ms"),
            Note::new("glibc", wait(World::NoPreload, Protocol::Inherit), " ms"),
            Note::new("without inheritance", wait(World::NoPreload, Protocol::Plain), " ms"),
            Note::new("rt-adaptive for a plain mutex", wait(RT_ADAPTIVE, Protocol::Plain), " ms"),
        ],
        missing: inversion::missing(),
    }
}

/// How even a long run is.
fn share(extent: &SessionSize) -> QuantityRow {
    let task = |threads| Task::Contend {
        lock: Contended::Plain,
        threads,
        hold_ns: SHORT_NS,
        think_ns: SHORT_NS,
        time_ms: 100 * extent.loop_ms,
    };
    let least = |world| Quantity::Figure(Measurement::Inner(world, task(16)), 1);
    QuantityRow {
        name: "locks: adaptive, 16 threads, the slowest one's share of a fair share".into(),
        unit: "",
        quantity: least(ADAPTIVE),
        bound: Some(Bound::AtLeast(0.5)),
        notes: vec![
            Note::new("glibc", least(World::NoPreload), ""),
            Note::new("control", least(CONTROL), ""),
        ],
        missing: None,
    }
}

/// Throughput of a spin lock that more threads want than there are CPUs.
fn spin(extent: &SessionSize) -> QuantityRow {
    let at = |world, think| contend(world, Contended::Spin, 16, (SPIN_HOLD_NS, think), extent);
    let rate = |world| at(world, 0);
    let adaptive = World::Spin(SpinKind::Adaptive);
    QuantityRow {
        name: format!(
            "locks: spin adaptive, 16 threads, holds of {SPIN_HOLD_NS} ns, throughput over glibc's"
        ),
        unit: "times",
        quantity: rate(adaptive) / rate(World::NoPreload),
        bound: Some(Bound::AtLeast(5.0)),
        notes: vec![
            Note::new("millions a second: adaptive", rate(adaptive), ""),
            Note::new("glibc", rate(World::NoPreload), ""),
            Note::new("control", rate(World::Spin(SpinKind::System)), ""),
            Note::new(
                "the ratio with time to think",
                at(adaptive, SPIN_HOLD_NS) / at(World::NoPreload, SPIN_HOLD_NS),
                "",
            ),
        ],
        missing: None,
    }
}

pub(super) fn figure(world: World, task: Task) -> Quantity {
    Quantity::Figure(Measurement::Inner(world, task), 0)
}

/// Millions of acquisitions a second.
fn contend(
    world: World,
    lock: Contended,
    threads: usize,
    (hold_ns, think_ns): (u64, u64),
    extent: &SessionSize,
) -> Quantity {
    figure(world, Task::Contend { lock, threads, hold_ns, think_ns, time_ms: extent.loop_ms })
}
