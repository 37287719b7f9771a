//! The options that replace mutexes.

use crate::error::Error;
use crate::mutex::{Choice, Compiled, Plan, PlanFile, Waits};
use crate::program::Program;
use clap::Args;
use std::path::PathBuf;

/// What is to stand in for which mutexes.
#[derive(Args, Debug, Default)]
pub struct Mutexes {
    /// A lock to stand in for every mutex, or for the one behind an @, named as `unspin meter` names it: `adaptive`,
    /// `adaptive@cache_lock`, `steal@queue.c:57`. Kinds: system (libc's own, the control), pi (libc's with priority
    /// inheritance), fair, steal, adaptive, rt-fair, rt-steal, rt-adaptive; for study: ttas, ticket, mcs. May be given more
    /// than once
    #[arg(long, value_name = "KIND[@LOCK]")]
    pub mutex: Vec<Choice>,

    /// A file that says the same, as `unspin prove` prints it. What --mutex says comes before it
    #[arg(long, value_name = "FILE")]
    pub mutex_plan: Option<PathBuf>,

    /// Who waits for a condition or a POSIX semaphore stays awake at first, for as long as that has paid lately
    #[arg(long)]
    pub spin_waits: bool,
}

impl Mutexes {
    /// The plan for a program, ready for the preload library, after a word of warning on standard error where one is due;
    /// none if nothing is to be replaced.
    pub fn compile(&self, program: &Program) -> Result<Option<Compiled>, Error> {
        let waits = if self.spin_waits { Waits::SpinningFirst } else { Waits::Asleep };
        let mut plan = Plan::chosen(&self.mutex, waits)?;
        if let Some(file) = &self.mutex_plan {
            plan = plan.before(PlanFile::read(file)?.plan_for(program)?);
        }
        if plan.is_empty() {
            return Ok(None);
        }
        for warning in plan.warnings() {
            eprintln!("unspin: {warning}");
        }
        plan.compile(program).map(Some)
    }
}
