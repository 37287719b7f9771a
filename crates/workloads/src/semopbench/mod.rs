//! semopbench: tokens that circulate in rings of processes, each of which sleeps on its own System V semaphore.
//!
//! Bill Hartner wrote the original in October 2002 to test the patch that replaced one global lock by one lock per
//! semaphore set. As his message explains, there are `-g` groups of `-s` semaphores, and for each semaphore a process
//! is forked that sleeps on it. The master posts the first semaphore of each group. A process that wakes up (a) resets
//! its own semaphore, (b) posts the next semaphore of its group, and (c) waits on its own, until the token has gone
//! round `-n` times.
//!
//! So the program does little but call `semop`: three calls per hand-off, two of which need not wait. Groups share
//! nothing, so all contention between them is inside the implementation.
//!
//! The benchmark never leaves a semaphore set or a process behind: see `keeper`.

mod command;
mod keeper;
mod options;
mod profile;
mod report;
mod ring;

pub use command::SemopbenchOptions;
pub use options::{Debug, Options, ProfileReset, Verbosity};
pub use report::Report;

use keeper::Keeper;
use ring::Ring;

/// Why a benchmark run gives no figures.
#[derive(Debug)]
pub enum Error {
    /// An option is out of range; the text names the option and the limit.
    Option(String),
    /// The operating system refused an operation; the text says which, and what the user can do.
    System(String, std::io::Error),
    /// A process of the benchmark ended before its repetitions were complete.
    Process(String),
    /// Tokens were lost or duplicated: the semaphores did not behave as semop(2) specifies.
    Tokens(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::System(what, e) => write!(f, "{what}: {e}"),
            Error::Option(text) | Error::Process(text) | Error::Tokens(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

/// Runs the benchmark. The calling process must have only one thread.
pub fn run(options: &Options) -> Result<Report, Error> {
    options.check()?;
    if options.profile_reset == ProfileReset::Yes {
        profile::reset();
    }
    let mut keeper = Keeper::create_sets(options)?;
    let mut ring = Ring::fork_processes(options, &mut keeper)?;
    ring.await_sleepers()?;
    let started_ns = ring.start()?;
    let records = ring.finish()?;
    ring.check_tokens(&records)?;
    Ok(Report::new(options, started_ns, records))
}
