//! The environment variables by which processes of unspin find each other. Children of a program inherit them.
//!
//! An empty variable counts as unset.

/// The engine of System V IPC in a program under the preload library: `kernel`, `global`, `rcu`.
pub const SYSV: &str = "UNSPIN_SYSV";
/// Absolute path of the arena in which the engine keeps its objects.
pub const ARENA: &str = "UNSPIN_ARENA";
/// Absolute path of the [`Recording`](crate::Recording). The preload library and executors record into it.
pub const RECORD: &str = "UNSPIN_RECORD";
/// Absolute path of the [compiled plan](crate::plan).
pub const PLAN: &str = "UNSPIN_PLAN";
/// Absolute path of the [`Tally`](crate::Tally). The preload library and executors count in it.
pub const TALLY: &str = "UNSPIN_TALLY";

/// Absolute path of the `unspin` that has executed `unspin-lab`. No program that is run or measured gets it.
pub const EXECUTABLE: &str = "UNSPIN_EXECUTABLE";

/// The cost of a wake-up in nanoseconds that `unspin` states to the engine of a program. Without it the engine takes
/// [`WAKE_UP_NS`].
pub const ENGINE_WAKE_UP_NS: &str = "UNSPIN_ENGINE_WAKEUP_NS";
/// The [looks](crate::looks) that work under the seccomp filters that `unspin` found, and the number of these filters.
pub const LOOKS: &str = "UNSPIN_LOOKS";

/// The variables that `unspin` sets for another program, and removes first if an outer `unspin` has set them.
pub const ALL: [&str; 8] = [SYSV, ARENA, RECORD, PLAN, TALLY, EXECUTABLE, ENGINE_WAKE_UP_NS, LOOKS];

/// The run queue of every executor of the process: `global`, `percpu`. The user sets it, or `unspin` does.
pub const RUN_QUEUE: &str = "UNSPIN_RUNQUEUE";
/// Path of a file of `unspin profile`. What a program appends to the file sets the ticks to zero.
pub const PROFILE_RESET: &str = "UNSPIN_PROFILE_RESET";
/// The cost of a wake-up in nanoseconds, as the user states it. Then `unspin` measures nothing.
pub const WAKE_UP_NS: &str = "UNSPIN_WAKEUP_NS";
/// Whether the preload library writes a line about what the plan replaced to standard error when a program ends: any value but
/// `0`. The user sets it.
pub const SUMMARY: &str = "UNSPIN_SUMMARY";
/// Whether the preload library keeps a tally that `unspin plan status` can read while a program runs: any value but `0`. The user
/// sets it.
pub const STATUS: &str = "UNSPIN_STATUS";
