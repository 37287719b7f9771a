//! What a program's locks and waits are served by in a run.

use crate::engine::Engine;
use crate::error::Error;
use crate::plan::{Compiled, Plan};
use crate::program::Program;

/// An engine for its System V IPC, and a plan for its mutexes and waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Serves its System V IPC.
    pub engine: Engine,
    /// Says what replaces which mutex and which wait. Without one nothing stands between the program and libc but the hooks.
    pub plan: Option<Prepared>,
}

/// A plan in both its forms.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// As the user has it.
    pub plan: Plan,
    /// As the preload library reads it.
    pub compiled: Compiled,
}

impl Setup {
    /// The kernel's System V IPC, and this plan.
    pub fn of(plan: Prepared) -> Setup {
        Setup { engine: Engine::Kernel, plan: Some(plan) }
    }
}

impl Prepared {
    /// Finds out where in the program's files the plan's locks and call sites are.
    pub fn new(plan: Plan, program: &Program) -> Result<Prepared, Error> {
        let compiled = plan.compile(program)?;
        Ok(Prepared { plan, compiled })
    }
}
