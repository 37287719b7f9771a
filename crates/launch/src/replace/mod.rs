//! What the command line replaces of a program.

pub mod arena;
pub mod engine;
pub mod run_queue;

use crate::error::Error;
use crate::plan::{Choice, Compiled, Plan, PlanFile, WaitChoice};
use crate::program::Program;
use crate::replace::run_queue::RunQueue;
use std::path::PathBuf;
use unspin_locks::{RwLockKind, SpinKind};

/// Replacements of locks, policies of waits, and the run queue.
#[derive(Clone, Debug, Default)]
pub struct Replace {
    /// The kinds of mutexes.
    pub mutex: Vec<Choice>,
    /// The kinds of read-write locks.
    pub rwlock: Vec<Choice<RwLockKind>>,
    /// The kinds of spin locks.
    pub spin: Vec<Choice<SpinKind>>,
    /// The policies of waits.
    pub waits: Vec<WaitChoice>,
    /// The run queue of the program's executors; none if the program chooses it.
    pub run_queue: Option<RunQueue>,
    /// A plan file. Its entries count after the others.
    pub use_plan: Option<PathBuf>,
}

impl Replace {
    /// The plan for a program, compiled for the preload library; none if nothing is to be replaced. Prints warnings on standard
    /// error.
    pub fn compile(&self, program: &Program) -> Result<Option<Compiled>, Error> {
        let mut plan = Plan::chosen(&self.mutex, &self.rwlock, &self.spin, &self.waits)?;
        if let Some(file) = &self.use_plan {
            plan = plan.before(PlanFile::read(file)?.plan_for(program)?);
        }
        if plan.is_empty() {
            return Ok(None);
        }
        for warning in plan.warnings() {
            crate::output::stderr::say(format_args!("{warning}"));
        }
        plan.compile(program).map(Some)
    }
}
