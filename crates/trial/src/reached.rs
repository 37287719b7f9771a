//! Whether the preload library reaches anything of a program into which it cannot be loaded itself.
//!
//! Such a program may start others: a static shell, an init of a container. What it starts is known only after it has run.

use super::configuration::Configuration;
use super::monitor::NoMonitor;
use super::runner::{Limit, Runner};
use std::time::Duration;
use unspin_launch::error::Error;
use unspin_launch::program::reach;
use unspin_sys::creds::Creds;

/// Runs such a program once, and refuses it if the preload library was loaded into no program that ran. Returns whether the
/// measurement may go on; not if ^C came.
pub fn check(runner: &Runner<'_>, time_limit: Duration) -> Result<bool, Error> {
    let program = runner.program;
    // Executors of run queues need no preload library.
    if program.workload().is_some() || program.run_queue.is_some() {
        return Ok(true);
    }
    let Err(why) = reach::check(&program.path, &Creds::current()) else { return Ok(true) };
    runner
        .progress
        .phase("one run, to see whether the program starts others that the preload library reaches");
    let setup = Configuration::kernel().setup;
    match runner.run(setup.as_ref(), Limit::Timeout(time_limit), None, &mut NoMonitor)? {
        None => Ok(false),
        // A run that fails is explained by the measurement.
        Some(trial) if trial.programs == 0 && trial.value.is_ok() => Err(why),
        Some(_) => Ok(true),
    }
}
