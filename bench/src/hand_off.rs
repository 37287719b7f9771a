//! Hand-offs between sleeping processes: the rows that are measured by `bench/c/handoff.c`.

use crate::inner::Task;
use crate::measurement::{Measurement, World};
use crate::plan::{Row, Wanted};
use crate::session::SessionSize;
use crate::tools::Tools;
use unspin_stats::Direction::LowerIsBetter;

/// What the processes of `handoff.c` do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HandOff {
    /// How they wait.
    pub way: Way,
    /// Rings, or locks.
    pub groups: u32,
    /// Processes of each.
    pub processes: u32,
    /// Rounds of each ring's token.
    pub rounds: u32,
}

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// A post.
    Posts,
    /// A semaphore that becomes zero.
    Zero,
    /// The lock of the textbook.
    Lock,
    /// A message.
    Message,
    /// A futex, with nothing around the two system calls.
    Futex,
}

impl HandOff {
    /// The arguments of the program.
    pub fn words(&self) -> [String; 4] {
        let way = match self.way {
            Way::Posts => "posts",
            Way::Zero => "zero",
            Way::Lock => "lock",
            Way::Message => "message",
            Way::Futex => "futex",
        };
        [way.to_owned(), self.groups.to_string(), self.processes.to_string(), self.rounds.to_string()]
    }
}

/// Sizes of semopbench: its default, and that of the report of 2002. With repetitions that take some tenths of a second.
const SIZES: [(&str, u32, u32, u32); 2] =
    [("semopbench -g 8 -s 16", 8, 16, 500), ("semopbench -g 64 -s 16", 64, 16, 100)];
const UNIT: &str = "us a hand-off";

/// All of them.
pub fn rows(tools: &Tools, extent: &SessionSize) -> Vec<Row> {
    let missing = tools.handoff.as_ref().err().cloned();
    let measured = |world, way, (groups, processes, rounds): (u32, u32, u32)| {
        let rounds = (rounds / extent.shorter).max(1);
        Measurement::HandOff(world, HandOff { way, groups, processes, rounds })
    };
    let floor = SIZES.map(|(name, groups, processes, rounds)| Row {
        name,
        unit: UNIT,
        direction: LowerIsBetter,
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
            unit: UNIT,
            direction: LowerIsBetter,
            ours: in_world(World::RCU),
            against: (World::NoPreload.label(), in_world(World::NoPreload)),
            others: vec![(World::CONTROL.label(), in_world(World::CONTROL))],
            wanted: &[Wanted::NotWorse],
            missing: missing.clone(),
        }
    });
    floor.into_iter().chain(sleeping).collect()
}
