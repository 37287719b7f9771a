//! The setup of a run: engine and plan.

use crate::engine::Engine;
use crate::error::Error;
use crate::plan::{Compiled, Plan};
use crate::program::Program;

/// An engine for System V IPC, and a plan for mutexes and waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// The engine.
    pub engine: Engine,
    /// The replacements of mutexes and waits. Without a plan the hooks pass everything on to libc.
    pub plan: Option<Prepared>,
}

/// A plan in both forms.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// As the user wrote it.
    pub plan: Plan,
    /// As the preload library reads it.
    pub compiled: Compiled,
}

impl Setup {
    /// The kernel's System V IPC with this plan.
    pub fn of(plan: Prepared) -> Setup {
        Setup { engine: Engine::Kernel, plan: Some(plan) }
    }
}

impl Prepared {
    /// Finds the places of the plan's locks and call sites in the program's files.
    pub fn new(plan: Plan, program: &Program) -> Result<Prepared, Error> {
        let compiled = plan.compile(program)?;
        Ok(Prepared { plan, compiled })
    }
}
