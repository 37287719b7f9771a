//! Schedulers of the kernel that are loaded for the time of a run: sched_ext, Documentation/scheduler/sched-ext.rst of Linux.
//!
//! A scheduler is a command that loads a BPF program, keeps running, and ends at a signal. The kernel goes back to its own scheduler
//! when that process has ended, by whatever cause, or when it has found a defect in the scheduler (an *eviction*).
//!
//! ```text
//! SchedulerCommand ─► Scheduler::start: the kernel says `enabled` ─► the program runs ─► loss: still the same? ─► stop: `disabled`
//! ```

pub mod command;
mod enabled;
pub mod process;
pub mod sched_ext;

pub use command::SchedulerCommand;
pub use enabled::{Enabled, Reach};
pub use process::{Scheduler, StartFailure, Stopped};
pub use sched_ext::SchedExt;
