//! What a program's locks are served by in a run.

use crate::engine::Engine;
use crate::error::Error;
use crate::mutex::{Compiled, Plan};
use crate::program::Program;

/// An engine for its System V semaphores, and a plan for its mutexes.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Serves its System V semaphores.
    pub engine: Engine,
    /// Says what replaces which mutex. Without one nothing stands between the program and libc but the hooks.
    pub mutexes: Option<Mutexes>,
}

/// A plan for mutexes, in both its forms.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutexes {
    /// As the user has it.
    pub plan: Plan,
    /// As the preload library reads it.
    pub compiled: Compiled,
}

impl Setup {
    /// The kernel's System V semaphores, and this plan.
    pub fn of(mutexes: Mutexes) -> Setup {
        Setup { engine: Engine::Kernel, mutexes: Some(mutexes) }
    }
}

impl Mutexes {
    /// Finds out where in the program's files the plan's locks are.
    pub fn new(plan: Plan, program: &Program) -> Result<Mutexes, Error> {
        let compiled = plan.compile(program)?;
        Ok(Mutexes { plan, compiled })
    }
}
