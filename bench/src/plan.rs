//! The rows of the table: the two sides of each comparison, and the goal.

use crate::hand_off::{HandOff, Way};
use crate::inner::own_sets::allowed_cpus;
use crate::inner::{Call, EffortOptions, Section, Task};
use crate::ipc;
use crate::measurement::{Measurement, World};
use crate::session::SessionSize;
use crate::tools::Tools;
use serde::Serialize;
use unspin_stats::Direction;

/// What the ratio is to be.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "as", content = "times")]
pub enum Wanted {
    /// Required.
    AtLeast(f64),
    /// Hoped for.
    Aim(f64),
    /// Not proven to be worse: the interval reaches 1.
    NotWorse,
}

/// One figure.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is measured.
    pub name: &'static str,
    /// The row's unit.
    pub unit: &'static str,
    /// Which is better.
    pub direction: Direction,
    /// unspin.
    pub ours: Measurement,
    /// What it is compared with, by name.
    pub against: (&'static str, Measurement),
    /// What else is shown.
    pub others: Vec<(&'static str, Measurement)>,
    /// What the ratio is to be.
    pub wanted: &'static [Wanted],
    /// Why it cannot be measured here.
    pub missing: Option<String>,
}

impl Row {
    /// Everything that the row shows.
    pub fn measurements(&self) -> impl Iterator<Item = &Measurement> {
        let others = self.others.iter().map(|(_, measurement)| measurement);
        [&self.ours, &self.against.1].into_iter().chain(others).filter(|_| self.missing.is_none())
    }
}

/// All rows: the table of what unspin must reach.
pub fn rows(tools: &Tools, extent: &SessionSize) -> Vec<Row> {
    use Wanted::{Aim, AtLeast};
    let call = |name, call, wanted| {
        let task = Task::Call { call, effort: EffortOptions::milliseconds(extent.loop_ms) };
        in_all_worlds(name, "ns a call", Direction::LowerIsBetter, task, wanted)
    };
    let ring = |name, groups, semaphores, repetitions: u32, wanted| {
        let task = Task::Semopbench { groups, semaphores, repetitions: repetitions / extent.shorter };
        in_all_worlds(name, "us a hand-off", Direction::LowerIsBetter, task, wanted)
    };
    let mut rows = vec![
        call("semop +1 and -1", Call::Semop, &[AtLeast(40.0)]),
        call("semop -1 IPC_NOWAIT: EAGAIN", Call::Eagain, &[AtLeast(20.0)]),
        call("semctl GETVAL", Call::Getval, &[AtLeast(20.0)]),
        call("semget of an existing key", Call::Semget, &[AtLeast(20.0)]),
    ];
    rows.extend(own_sets(extent));
    rows.push(ring("semopbench -g 1 -s 2", 1, 2, 20_000, &[AtLeast(3.0)]));
    rows.push(ring("semopbench -g 8 -s 16", 8, 16, 500, &[Wanted::NotWorse]));
    rows.push(ring("semopbench -g 64 -s 16", 64, 16, 100, &[AtLeast(1.0), Aim(1.3)]));
    rows.extend(sleepers(tools, extent));
    rows.extend(ipc::rows(tools, extent));
    rows.extend(sections(tools, extent));
    rows
}

/// A row for the rcu engine against the bare kernel, with the control and the global engine beside it.
pub fn in_all_worlds(
    name: &'static str,
    unit: &'static str,
    direction: Direction,
    task: Task,
    wanted: &'static [Wanted],
) -> Row {
    let inside = |world: World| (world.label(), Measurement::Inner(world, task.clone()));
    Row {
        name,
        unit,
        direction,
        ours: inside(World::RCU).1,
        against: inside(World::NoPreload),
        others: vec![inside(World::CONTROL), inside(World::GLOBAL)],
        wanted,
        missing: None,
    }
}

fn own_sets(extent: &SessionSize) -> [Row; 2] {
    let processes = |world: World, n| {
        Measurement::Inner(world, Task::OwnSets { processes: n, time_ms: 2 * extent.loop_ms })
    };
    let pair = |world: World| (world.label(), processes(world, 2));
    let missing = (allowed_cpus().len() < 2).then(|| "there is only one CPU".to_owned());
    let row = |name, against, others, wanted| Row {
        name,
        unit: "million semop/s",
        direction: Direction::HigherIsBetter,
        ours: processes(World::RCU, 2),
        against,
        others,
        wanted,
        missing: missing.clone(),
    };
    let alone = |world, name| (name, processes(world, 1));
    [
        row(
            "two processes, own sets",
            pair(World::GLOBAL),
            vec![pair(World::NoPreload), pair(World::CONTROL)],
            &[Wanted::AtLeast(10.0)],
        ),
        row(
            "two processes, own sets",
            alone(World::RCU, "one process"),
            vec![
                alone(World::NoPreload, "kernel"),
                alone(World::CONTROL, "control"),
                alone(World::GLOBAL, "global"),
            ],
            &[Wanted::AtLeast(1.9)],
        ),
    ]
}

/// Sizes of semopbench: its default, and that of the report of 2002. With repetitions that take some tenths of a second.
const RING_SIZES: [(&str, u32, u32, u32); 2] =
    [("semopbench -g 8 -s 16", 8, 16, 500), ("semopbench -g 64 -s 16", 64, 16, 100)];
const HAND_OFF: &str = "us a hand-off";

/// Rows of sleeping processes: semopbench against the floor, and what else processes sleep for against the kernel.
fn sleepers(tools: &Tools, extent: &SessionSize) -> Vec<Row> {
    let missing = tools.handoff.as_ref().err().cloned();
    let measured = |world, way, (groups, processes, rounds): (u32, u32, u32)| {
        let rounds = (rounds / extent.shorter).max(1);
        Measurement::HandOff(world, HandOff { way, groups, processes, rounds })
    };
    let floor = RING_SIZES.map(|(name, groups, processes, rounds)| Row {
        name,
        unit: HAND_OFF,
        direction: Direction::LowerIsBetter,
        ours: Measurement::Inner(
            World::RCU,
            Task::Semopbench {
                groups: groups as usize,
                semaphores: processes as usize,
                repetitions: rounds / extent.shorter,
            },
        ),
        against: ("floor", measured(World::NoPreload, Way::Futex, (groups, processes, rounds))),
        others: Vec::new(),
        wanted: &[Wanted::AtLeast(0.95)],
        missing: missing.clone(),
    });
    let sleeping = [
        ("sleeping for -1", Way::Posts),
        ("sleeping for zero", Way::Zero),
        ("sleeping for {0, +1 UNDO}", Way::Lock),
        ("sleeping for a message", Way::Message),
    ]
    .map(|(name, way)| {
        let in_world = |world| measured(world, way, (8, 16, 500));
        Row {
            name,
            unit: HAND_OFF,
            direction: Direction::LowerIsBetter,
            ours: in_world(World::RCU),
            against: (World::NoPreload.label(), in_world(World::NoPreload)),
            others: vec![(World::CONTROL.label(), in_world(World::CONTROL))],
            wanted: &[Wanted::NotWorse],
            missing: missing.clone(),
        }
    });
    floor.into_iter().chain(sleeping).collect()
}

fn sections(tools: &Tools, extent: &SessionSize) -> [Row; 2] {
    let time_ms = extent.loop_ms / 2;
    let section = |section| {
        let task = Task::Section { section, effort: EffortOptions::milliseconds(time_ms) };
        Measurement::Inner(World::NoPreload, task)
    };
    let row = |against, wanted, missing| Row {
        name: "RCU read section",
        unit: "ns",
        direction: Direction::LowerIsBetter,
        ours: section(Section::Slot),
        against,
        others: vec![("by Reader::read", section(Section::Reader))],
        wanted,
        missing,
    };
    let liburcu = tools.liburcu.as_ref().err().cloned();
    [
        row(("crossbeam", section(Section::Epoch)), &[Wanted::AtLeast(1.0)], None),
        // At most 1.5 times its cost.
        row(("liburcu", Measurement::Liburcu(time_ms)), &[Wanted::Aim(1.0 / 1.5)], liburcu),
    ]
}
