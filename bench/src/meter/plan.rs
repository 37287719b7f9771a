//! The rows: measurements and goals.

use super::check::{self, Column};
use crate::inner::own_sets::allowed_cpus;
use crate::inner::{Company, EffortOptions, LockKind, Paired, Share, Task};
use crate::measurement::{Measurement, World};
use crate::program::{Program, ProgramName};
use crate::quantity::{Bound, Note, Quantity, QuantityRow};
use crate::session::SessionSize;
use crate::tools::Tools;

/// All rows.
pub fn rows(tools: &Tools, extent: &SessionSize) -> Vec<QuantityRow> {
    let mut rows = costs(tools, extent);
    rows.extend([(ProgramName::Wicked, 600), (ProgramName::DbBench, 60)].into_iter().flat_map(
        |(which, thousands)| {
            let thousands = (thousands * extent.longer / extent.shorter).max(1);
            slow_down(Program { which, thousands })
        },
    ));
    rows.push(known_row(extent));
    rows.extend(holds(extent));
    rows.extend([Share::Own, Share::All].map(|share| crowd(share, extent)));
    rows
}

/// What a pair of calls costs more than without the meter.
fn costs(tools: &Tools, extent: &SessionSize) -> Vec<QuantityRow> {
    let effort = EffortOptions::milliseconds(extent.loop_ms);
    let figure = |world, task| Quantity::Figure(Measurement::Inner(world, task), 0);
    let lock = Paired::Mutex;
    let pair = |world| figure(world, Task::Pair { lock, company: Company::Sleeper, effort });
    let alone = |world| figure(world, Task::Pair { lock, company: Company::Nobody, effort });
    let added = |world| pair(world) - pair(World::NoPreload);
    let ticks = || figure(World::NoPreload, Task::Ticks { effort });
    let cost = |world: World, at_most: Option<f64>| QuantityRow {
        name: format!("meter {}: mutex lock+unlock, added", world.label()),
        unit: "ns",
        quantity: added(world),
        bound: at_most.map(Bound::AtMost),
        notes: vec![
            Note::new("in all", pair(world), ""),
            Note::new("bare", pair(World::NoPreload), ""),
            Note::new("control", pair(World::Through), ""),
            Note::new("rdtsc", ticks(), ""),
            Note::new("added in a process of one thread", alone(world) - alone(World::NoPreload), ""),
        ],
        missing: None,
    };
    // 20 ns and 8 ns are wanted where an rdtsc costs 10 ns.
    let in_ticks = |world: World, at_most: f64| QuantityRow {
        name: format!("meter {}: the same, in units of an rdtsc", world.label()),
        unit: "rdtsc",
        quantity: added(world) / ticks(),
        bound: Some(Bound::AtMost(at_most)),
        notes: vec![],
        missing: None,
    };
    let mutrace = QuantityRow {
        name: "meter full: how many times less is added than by mutrace".into(),
        unit: "times",
        quantity: added(World::Mutrace) / added(World::Full),
        bound: Some(Bound::AtLeast(10.0)),
        notes: vec![Note::new("mutrace adds", added(World::Mutrace), " ns")],
        missing: tools.mutrace.as_ref().err().cloned(),
    };
    vec![
        cost(World::Full, Some(20.0)),
        in_ticks(World::Full, 2.0),
        cost(World::Sampled, None),
        cost(World::Counts, Some(8.0)),
        in_ticks(World::Counts, 0.8),
        mutrace,
    ]
}

/// How much slower a real program is, and how much more CPU time it takes: the latter says something on a busy machine too.
fn slow_down(program: Program) -> [QuantityRow; 2] {
    let (name, missing) = match program.which {
        ProgramName::Wicked => ("kccachetest wicked -th 4", program.which.missing()),
        ProgramName::DbBench => ("db_bench --threads=4", program.which.missing()),
    };
    let row = |what, figure, bound| {
        let time = |world| Quantity::Figure(Measurement::Program(world, program), figure);
        let more = |world: World| time(world).percent_more_than(time(World::NoPreload));
        QuantityRow {
            name: format!("meter full: {name}, {what}"),
            unit: "%",
            quantity: more(World::Full),
            bound,
            notes: vec![
                Note::new("bare", time(World::NoPreload), " s"),
                Note::new("control more by", more(World::Through), " %"),
            ],
            missing: missing.clone(),
        }
    };
    [row("slower by", Program::WALL, Some(Bound::AtMost(3.0))), row("more CPU time by", Program::CPU, None)]
}

/// Whether every attempt is counted.
fn known_row(extent: &SessionSize) -> QuantityRow {
    let wrong = |world| {
        let task = Task::Known { threads: 8, rounds: 20 * extent.loop_ms };
        Quantity::Figure(Measurement::Checked(world, task), check::WRONG)
    };
    QuantityRow {
        name: "meter full: attempts of 8 threads, counted wrongly".into(),
        unit: "",
        quantity: wrong(World::Full),
        bound: Some(Bound::AtMost(0.0)),
        notes: vec![
            Note::new("at sampled", wrong(World::Sampled), ""),
            Note::new("at counts", wrong(World::Counts), ""),
        ],
        missing: None,
    }
}

/// How far the report's columns are off the truth.
fn holds(extent: &SessionSize) -> Vec<QuantityRow> {
    let missing = (allowed_cpus().len() < 2).then(|| "there is only one CPU".to_owned());
    let row = |(lock, column, name): (LockKind, Column, &str)| {
        let figure = |world, offset| {
            let task = Task::Holds { lock, time_ms: 3 * extent.loop_ms };
            Quantity::Figure(Measurement::Checked(world, task), column.first() + offset)
        };
        let mut notes = vec![
            Note::new("truth", figure(World::Full, 1), " %"),
            Note::new("reported", figure(World::Full, 2), " %"),
            Note::new("at sampled off by", figure(World::Sampled, 0), " %"),
        ];
        if column == Column::Con {
            notes.push(Note::new("at counts off by", figure(World::Counts, 0), " %"));
        }
        QuantityRow {
            name: format!("meter full: {name}, off the truth by"),
            unit: "%",
            quantity: figure(World::Full, 0),
            bound: Some(Bound::AtMost(5.0)),
            notes,
            missing: missing.clone(),
        }
    };
    let rows = [
        (LockKind::Mutex, Column::Util, "UTIL of a mutex"),
        (LockKind::Mutex, Column::Con, "CON of a mutex"),
        (LockKind::Spin, Column::Util, "UTIL of a spin lock"),
        (LockKind::Spin, Column::Con, "CON of a spin lock"),
        (LockKind::Spin, Column::SpinCpu, "%CPU of a spin lock"),
    ];
    rows.map(row).into()
}

/// Many threads and many locks: lost records, and the memory that the recording takes.
fn crowd(share: Share, extent: &SessionSize) -> QuantityRow {
    let (threads, locks) = (256, 10_000 / extent.shorter as usize);
    let figure = |world, which| {
        Quantity::Figure(Measurement::Checked(world, Task::Crowd { threads, locks, share }), which)
    };
    QuantityRow {
        name: match share {
            Share::Own => format!("meter full: {locks} locks, a share for each of {threads} threads: lost"),
            Share::All => format!("meter full: {locks} locks, all used by each of {threads} threads: lost"),
        },
        unit: "",
        quantity: figure(World::Full, check::WRONG),
        bound: Some(Bound::AtMost(0.0)),
        notes: vec![
            Note::new("recording", figure(World::Full, check::USED_MIB), " MiB"),
            Note::new("memory", figure(World::Full, check::MEMORY_MIB), " MiB"),
            Note::new("at counts: lost", figure(World::Counts, check::WRONG), ""),
            Note::new("its recording", figure(World::Counts, check::USED_MIB), " MiB"),
            Note::new("its memory", figure(World::Counts, check::MEMORY_MIB), " MiB"),
        ],
        missing: None,
    }
}
