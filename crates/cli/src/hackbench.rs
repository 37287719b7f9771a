//! `unspin hackbench`: the workload, with the original's options.

use crate::options;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::stdout;
use unspin_workloads::hackbench::{self, CAPACITY, Master, Options, Transport, Workers};

/// Prints the parameters, runs the benchmark, and prints its time.
pub fn run(options: &options::HackbenchOptions) -> Result<ExitCode, Error> {
    let options = translated(options)?;
    options.check().map_err(reported)?;
    stdout::print(&options.header())?;
    let time = hackbench::run(&options).map_err(reported)?;
    stdout::print(&format!("Time: {:.3}\n", time.as_secs_f64()))?;
    Ok(ExitCode::SUCCESS)
}

fn translated(options: &options::HackbenchOptions) -> Result<Options, Error> {
    let defaults = Options::default();
    let transport = transport(options)?;
    let queues = matches!(transport, Transport::Queue { .. });
    let threads = options.threads || queues && !options.process;
    Ok(Options {
        groups: options.groups.or(options.group_count).unwrap_or(defaults.groups),
        fds: options.fds,
        loops: options.loops,
        datasize: options.datasize,
        transport,
        workers: if threads { Workers::Threads } else { Workers::Processes },
        master: if options.fifo { Master::Fifo } else { Master::Unchanged },
    })
}

fn transport(options: &options::HackbenchOptions) -> Result<Transport, Error> {
    let transport = match options.transport {
        _ if options.pipe => Transport::Pipe,
        _ if options.inet => Transport::Inet,
        options::Transport::Socket => Transport::Socket,
        options::Transport::Pipe => Transport::Pipe,
        options::Transport::Inet => Transport::Inet,
        options::Transport::Queue => {
            return Ok(Transport::Queue { capacity: options.capacity.unwrap_or(CAPACITY) });
        }
    };
    match options.capacity {
        None => Ok(transport),
        Some(_) => Err(Error::Usage("hackbench: --capacity requires --transport queue".into())),
    }
}

fn reported(error: hackbench::Error) -> Error {
    match error {
        hackbench::Error::Option(text) => Error::Usage(format!("hackbench: {text}")),
        error => Error::Benchmark(format!("hackbench: {error}")),
    }
}
