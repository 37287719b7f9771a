//! `unspin meter`, which runs a program and prints which locks it lost time on; `unspin report`, which prints that of a
//! recording.

pub mod names;
mod relay;
pub mod running;
pub mod session;
mod threads;
mod witness;

use crate::error::Error;
use crate::options;
use session::Session;
use std::process::ExitCode;

pub fn run(options: &options::Meter) -> Result<ExitCode, Error> {
    let session = Session::new(&options.recorded)?;
    let mut running = session.start(session.command())?;
    let ended = running.wait_to_the_end()?;
    let snapshot = running.snapshot();
    let report = unspin_meter::Report::new(&snapshot, &|_, key| unspin_sysv::describe(key).map(unspin_meter::Name::from));
    eprint!("{report}");
    if let Some(text) = running.witness().explain(&snapshot) { eprintln!("{text}"); }
    Ok(ExitCode::from(running::exit_code(ended.end)))
}

pub fn replay(_options: &options::Report) -> Result<ExitCode, Error> {
    Ok(ExitCode::SUCCESS)
}
