//! The setup of a run: engine, plan, run queue, scheduler and kernel.

use super::booted::GuestKernel;
use super::scheduled::Scheduling;
use unspin_launch::error::Error;
use unspin_launch::plan::{Compiled, Plan};
use unspin_launch::program::Program;
use unspin_launch::replace::engine::Engine;
use unspin_launch::replace::run_queue::RunQueue;

/// An engine for System V IPC, a plan for locks and waits, a run queue, a scheduler of the kernel, and another kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The engine.
    pub engine: Engine,
    /// The replacements of locks and waits. Without a plan the hooks pass everything on to libc.
    pub plan: Option<Prepared>,
    /// The run queue of the program's executors, if it differs from the control's.
    pub run_queue: Option<RunQueue>,
    /// The kernel's scheduler, if schedulers are compared. Then the program runs without the preload library.
    pub scheduling: Option<Scheduling>,
    /// The kernel that is booted for each run, if kernels are compared. Then, too, the program runs without the preload library.
    pub kernel: Option<GuestKernel>,
}

/// A plan in both forms.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// As the user wrote it.
    pub plan: Plan,
    /// As the preload library reads it.
    pub compiled: Compiled,
}

impl Default for Setup {
    /// The kernel's System V IPC, libc's locks and waits, the run queue of the control.
    fn default() -> Setup {
        Setup { engine: Engine::Kernel, plan: None, run_queue: None, scheduling: None, kernel: None }
    }
}

impl Setup {
    /// The kernel's System V IPC with this plan.
    pub fn of(plan: Prepared) -> Setup {
        Setup { plan: Some(plan), ..Setup::default() }
    }
}

impl Prepared {
    /// Finds the places of the plan's locks and call sites in the program's files. Refuses a program with nothing to
    /// replace, because it would be compared with itself.
    pub fn new(plan: Plan, program: &Program) -> Result<Prepared, Error> {
        let compiled = plan.compile(program)?;
        compiled.check_reach(program)?;
        Ok(Prepared { plan, compiled })
    }
}
