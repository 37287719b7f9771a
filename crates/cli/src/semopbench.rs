//! `unspin semopbench`: the workload, under its own options.

use crate::options;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::stdout;
use unspin_workloads::semopbench::{self, Debug, ProfileReset, Verbosity};

/// Runs the benchmark and prints its report.
pub fn run(options: &options::SemopbenchOptions) -> Result<ExitCode, Error> {
    let options = semopbench::Options {
        groups: options.groups,
        semaphores: options.semaphores,
        repetitions: options.repetitions,
        profile_reset: if options.reset { ProfileReset::Yes } else { ProfileReset::No },
        debug: if options.debug { Debug::On } else { Debug::Off },
        verbosity: if options.verbose { Verbosity::Processes } else { Verbosity::Summary },
    };
    match semopbench::run(&options) {
        Ok(report) => {
            stdout::print(&report.to_string())?;
            Ok(ExitCode::SUCCESS)
        }
        Err(semopbench::Error::Option(text)) => Err(Error::Usage(format!("semopbench: {text}"))),
        Err(error) => Err(Error::Benchmark(format!("semopbench: {error}"))),
    }
}
