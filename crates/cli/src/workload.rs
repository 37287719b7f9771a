//! The workloads that are commands of unspin.

use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::stdout;
use unspin_workloads::{Failure, Workload};

/// Runs a workload in this process.
pub fn run(workload: &Workload) -> Result<ExitCode, Error> {
    workload.run(stdout::print).map_err(|failure| match failure {
        Failure::Option(text) => Error::Usage(text),
        Failure::Benchmark(text) => Error::Benchmark(text),
        Failure::Print(error) => error,
    })?;
    Ok(ExitCode::SUCCESS)
}
