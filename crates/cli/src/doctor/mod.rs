//! `unspin doctor`: what works on this machine.
//!
//! What a command needs is tried by the module that the command uses, so the reason and the remedy are those that the command would
//! print. Only what limits a measurement, and no command refuses, is judged here.

mod check;
mod costs;
mod cpus;
mod diagnosis;
mod kernel_events;
mod memory;
mod preload;
mod quota;
mod sandbox;

use crate::options::DoctorOptions;
use check::Check;
use diagnosis::Diagnosis;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::stdout;

/// Exit code if a command cannot work.
const CANNOT: u8 = 1;

/// Looks, and prints what was found.
pub fn run(options: &DoctorOptions) -> Result<ExitCode, Error> {
    let looks: [fn() -> Vec<Check>; 7] = [
        preload::checks,
        kernel_events::checks,
        memory::checks,
        sandbox::checks,
        cpus::checks,
        quota::checks,
        costs::checks,
    ];
    let diagnosis = Diagnosis::new(looks.into_iter().flat_map(|look| look()).collect(), &options.uses);
    match options.json {
        true => stdout::write(diagnosis.json().as_bytes())?,
        false => stdout::print(&diagnosis.text())?,
    }
    Ok(if diagnosis.cannot.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CANNOT) })
}
