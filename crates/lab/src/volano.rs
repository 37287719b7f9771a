//! `unspin volano`: the workload, under its own options.

use crate::options;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::stdout;
use unspin_runqueue::environment_policy;
use unspin_runqueue::queue::Policy;
use unspin_volano::{Model, Options, Pace};

/// Runs the benchmark. Prints its parameters, the figures of each run when it has ended, and the result.
pub fn run(options: &options::VolanoOptions) -> Result<ExitCode, Error> {
    let options = translate(options)?;
    options.check().map_err(benchmark_error)?;
    stdout::print(&options.header())?;
    let mut printed = Ok(());
    let figures = unspin_volano::run(&options, |run| {
        printed = stdout::print(&run.to_string());
    });
    let figures = figures.map_err(benchmark_error)?;
    printed?;
    stdout::print(&figures.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn translate(options: &options::VolanoOptions) -> Result<Options, Error> {
    Ok(Options {
        rooms: options.rooms,
        users: options.users,
        messages: options.messages,
        size: options.size,
        runs: options.runs,
        pace: if options.free_running { Pace::FreeRunning } else { Pace::Turns },
        model: model(options)?,
        workers: options.workers,
        port: options.port,
        timeout: options.timeout,
    })
}

fn model(options: &options::VolanoOptions) -> Result<Model, Error> {
    let model = options.model.unwrap_or(match options.runqueue {
        Some(_) => options::VolanoModel::Tasks,
        None => options::VolanoModel::Threads,
    });
    match (model, options.runqueue.map(policy)) {
        (options::VolanoModel::Tasks, policy) => {
            // The executors would use it in any case; with this the header names it too.
            let named = environment_policy().map_err(|error| Error::Usage(format!("volano: {error}")))?;
            Ok(Model::Tasks(named.or(policy).unwrap_or_default()))
        }
        (_, Some(_)) => Err(Error::Usage("volano: --runqueue requires --model tasks".into())),
        (options::VolanoModel::Threads, None) => Ok(Model::Threads),
        (options::VolanoModel::Tokio, None) => Ok(Model::Tokio),
    }
}

fn policy(run_queue: options::VolanoRunQueue) -> Policy {
    match run_queue {
        options::VolanoRunQueue::Global => Policy::Global,
        options::VolanoRunQueue::Percpu => Policy::PerCpu,
    }
}

fn benchmark_error(error: unspin_volano::Error) -> Error {
    match error {
        unspin_volano::Error::Option(text) => Error::Usage(format!("volano: {text}")),
        error => Error::Benchmark(format!("volano: {error}")),
    }
}
