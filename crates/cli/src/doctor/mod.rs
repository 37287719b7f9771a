//! `unspin doctor`: what works on this machine.
//!
//! What a command needs is tried by the module that the command uses, so the reason and the remedy are those that the command would
//! print. Only what limits a measurement, and no command refuses, is judged here.

mod check;
mod costs;
mod cpus;
mod diagnosis;
mod kernel_events;
mod kernels;
mod memory;
mod preload;
mod quota;
mod sandbox;
mod schedulers;

use crate::options::{DoctorOptions, Use};
use check::Check;
use diagnosis::Diagnosis;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::stdout;

/// Exit code if a command cannot work.
const CANNOT: u8 = 1;

/// Tries or reads one thing.
type Look = fn() -> Check;

/// The looks, each with the uses that it is needed by: one that is not needed by any limits all.
const LOOKS: [(&[Use], Look); 20] = [
    (&preload::USES, preload::preload_library),
    (&[Use::Lab], preload::unspin_lab),
    (&[Use::Lenses], kernel_events::tracepoints),
    (&[Use::Profile], kernel_events::samples),
    (&[], memory::shared_memory),
    (&[Use::Sysv], memory::engines),
    (&[], memory::process_limits),
    (&[], memory::huge_pages),
    (&[], sandbox::polling),
    (&[], sandbox::system_calls),
    (&[], schedulers::sched_ext),
    (&[], kernels::virtual_machines),
    (&[], cpus::cpus),
    (&[], cpus::steal),
    (&[], cpus::load),
    (&[], cpus::frequency),
    (&[], cpus::clock),
    (&[], quota::quota),
    (&[], costs::wake_ups),
    (&[], costs::operations),
];

/// Looks at what was asked about, and prints what was found.
pub fn run(options: &DoctorOptions) -> Result<ExitCode, Error> {
    let asked = &options.uses;
    let concerns =
        |uses: &[Use]| asked.is_empty() || uses.is_empty() || uses.iter().any(|of| asked.contains(of));
    let looks = LOOKS.iter().filter(|(uses, _)| concerns(uses));
    let diagnosis = Diagnosis::new(looks.map(|(uses, look)| look().needed_by(uses)).collect(), asked);
    match options.json {
        true => stdout::write(diagnosis.json().as_bytes())?,
        false => stdout::print(&diagnosis.text())?,
    }
    Ok(if diagnosis.cannot.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(CANNOT) })
}
