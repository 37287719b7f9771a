//! One thing to measure.

use crate::inner::Task;

/// How a program is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum World {
    /// As it is.
    Bare,
    /// Under `unspin run --sysv kernel`: the control, which passes through the same hooks.
    Kernel,
    /// Under `unspin run --sysv global`.
    Global,
    /// Under `unspin run --sysv rcu`.
    Rcu,
}

impl World {
    /// All, as they stand in the table.
    pub const ALL: [World; 4] = [World::Bare, World::Kernel, World::Global, World::Rcu];

    /// The name in the table.
    pub fn label(self) -> &'static str {
        match self {
            World::Bare => "kernel",
            World::Kernel => "control",
            World::Global => "global",
            World::Rcu => "rcu",
        }
    }

    /// The engine that `unspin run` is asked for, if it is to run at all.
    pub fn engine(self) -> Option<&'static str> {
        match self {
            World::Bare => None,
            World::Kernel => Some("kernel"),
            World::Global => Some("global"),
            World::Rcu => Some("rcu"),
        }
    }
}

/// A task in its world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Measurement {
    /// This program, as `inner TASK`.
    Inner(World, Task),
    /// The C program that uses liburcu, for so many milliseconds.
    Liburcu(u64),
}
