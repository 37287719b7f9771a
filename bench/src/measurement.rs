//! One thing to measure.

use crate::hand_off::HandOff;
use crate::inner::Task;
use crate::program::Program;
use unspin_locks::rw::RwLockKind;
use unspin_locks::{LockKind, SpinKind};
use unspin_sysv::Kind;
use unspin_wire::Level;

/// How a program is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum World {
    /// As it is.
    NoPreload,
    /// Under `unspin run --sysv ENGINE`.
    Engine(Kind),
    /// With the preload, and no recording: the control of the meter, which passes through the same hooks.
    Through,
    /// Metered at level `counts`.
    Counts,
    /// Metered at level `sampled`.
    Sampled,
    /// Metered at level `full`.
    Full,
    /// Under mutrace.
    Mutrace,
    /// Under `unspin run --mutex KIND`.
    Mutex(LockKind),
    /// Under `unspin run --rwlock KIND`.
    RwLock(RwLockKind),
    /// Under `unspin run --spin KIND`.
    Spin(SpinKind),
    /// Under `unspin run --waits system`: the control of the waits, which passes through the same hooks.
    WaitsSystem,
    /// Under `unspin run --waits poll`.
    WaitsPoll,
    /// With the preload, and a plan by which every wait polls for the full time, regardless of what the policy has
    /// learnt.
    WaitsForced,
    /// With the preload, and a plan by which waits poll where that pays, but every timed call counts as ready: for a counter
    /// of instructions, under which calls take long.
    WaitsReady,
    /// With a library that polls blindly in `read`: a planted policy.
    Blind,
}

impl World {
    /// The engine that passes calls through the same hooks to the kernel.
    pub const CONTROL: World = World::Engine(Kind::Kernel);
    /// The engine that the others are compared with.
    pub const GLOBAL: World = World::Engine(Kind::Global);
    /// The engine whose figures are wanted.
    pub const RCU: World = World::Engine(Kind::Rcu);
    /// Those of the System V engines, as they stand in the table.
    pub const ENGINES: [World; 1 + Kind::ALL.len()] = {
        let mut worlds = [World::NoPreload; 1 + Kind::ALL.len()];
        let mut n = 0;
        while n < Kind::ALL.len() {
            worlds[1 + n] = World::Engine(Kind::ALL[n]);
            n += 1;
        }
        worlds
    };
    /// Those of the meter.
    pub const METER: [World; 6] =
        [World::NoPreload, World::Through, World::Counts, World::Sampled, World::Full, World::Mutrace];

    /// The name in the table.
    pub fn label(self) -> &'static str {
        match self {
            World::NoPreload => "kernel",
            World::CONTROL => "control",
            World::Engine(kind) => kind.name(),
            World::Through => "control",
            World::Counts => "counts",
            World::Sampled => "sampled",
            World::Full => "full",
            World::Mutrace => "mutrace",
            World::Mutex(kind) => kind.name(),
            World::RwLock(kind) => kind.name(),
            World::Spin(kind) => kind.name(),
            World::WaitsSystem => "system",
            World::WaitsPoll => "poll",
            World::WaitsForced => "forced",
            World::WaitsReady => "poll",
            World::Blind => "blind",
        }
    }

    /// The engine that `unspin run` is asked for, if any.
    pub fn engine(self) -> Option<&'static str> {
        match self {
            World::Engine(kind) => Some(kind.name()),
            _ => None,
        }
    }

    /// What `unspin run` is to replace, as an option and its value, if it is to run at all.
    pub fn replacement(self) -> Option<[&'static str; 2]> {
        match self {
            World::Engine(kind) => Some(["--sysv", kind.name()]),
            World::Mutex(kind) => Some(["--mutex", kind.name()]),
            World::RwLock(kind) => Some(["--rwlock", kind.name()]),
            World::Spin(kind) => Some(["--spin", kind.name()]),
            World::WaitsSystem => Some(["--waits", "system"]),
            World::WaitsPoll => Some(["--waits", "poll"]),
            _ => None,
        }
    }

    /// How much is recorded, if anything.
    pub fn level(self) -> Option<Level> {
        match self {
            World::Counts => Some(Level::Counts),
            World::Sampled => Some(Level::SAMPLED),
            World::Full => Some(Level::Full),
            _ => None,
        }
    }
}

/// A task in its world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Measurement {
    /// This program, as `inner TASK`: the one figure that it prints.
    Inner(World, Task),
    /// The C program that uses liburcu, for so many milliseconds.
    Liburcu(u64),
    /// `handoff.c`: microseconds of a hand-off by the clock, and of CPU time.
    HandOff(World, HandOff),
    /// A third-party program: seconds of wall time, and of CPU time.
    Program(World, Program),
    /// This program, metered, as an `inner TASK` that counts its own operations: the differences between these counts
    /// and the recording. The figures are those of [`check`](crate::meter::check).
    Checked(World, Task),
}

impl Measurement {
    /// The world; a program that is no more than a peer has none but the bare one.
    pub fn world(&self) -> World {
        match *self {
            Measurement::Inner(world, _)
            | Measurement::HandOff(world, _)
            | Measurement::Program(world, _)
            | Measurement::Checked(world, _) => world,
            Measurement::Liburcu(_) => World::NoPreload,
        }
    }

    /// Whether it runs only once: its counts are the same each time, or it takes long.
    pub fn is_once(&self) -> bool {
        matches!(self, Measurement::Checked(_, Task::Crowd { .. }))
            || matches!(self, Measurement::Inner(_, Task::Contend { time_ms: 1_000.., .. }))
    }
}
