//! The control and the candidates.

use crate::error::Error;
use crate::options::{ProveOptions, ScaleOptions, ServerOptions};
use crate::program::Program;
use crate::prove::configuration::Configuration;
use crate::prove::requested::Requested;
use std::time::Duration;

/// What the command line names, or the default candidates of a workload, or the control alone.
pub fn requested(options: &ScaleOptions, program: &Program) -> Result<Requested, Error> {
    let as_of_prove = ProveOptions {
        mutex: options.mutex.clone(),
        waits: Vec::new(),
        use_plan: options.use_plan.clone(),
        sysv: options.sysv.clone(),
        runqueue: Vec::new(),
        plan: None,
        runs: None,
        metric: None,
        higher_is_better: false,
        lower_is_better: false,
        server: ServerOptions::default(),
        cpu_limit: None,
        time_budget: None,
        time_limit: Duration::MAX,
        json: None,
        verbose: false,
        quiet: false,
        command: options.command.clone(),
    };
    let requested = Requested::of(&as_of_prove, program)?
        .unwrap_or_else(|| Requested { control: Configuration::kernel(), judged: Vec::new() });
    for warning in requested.warnings() {
        crate::stderr::say(format_args!("{warning}"));
    }
    Ok(requested)
}
