//! `unspin run --scheduler`: a scheduler of the kernel for as long as the program runs.
//!
//! unspin cannot become the program here, since it ends the scheduler afterwards. The program is its child in the same process
//! group, and gets the signals that unspin gets. It ends with unspin.

use crate::options::RunOptions;
use std::process::ExitCode;
use std::time::Duration;
use unspin_launch::error::Error;
use unspin_launch::output::captured::with_output;
use unspin_launch::output::stderr;
use unspin_launch::scheduler::sched_ext::refused;
use unspin_launch::scheduler::{Reach, SchedExt, Scheduler, SchedulerCommand};
use unspin_observe::meter::relay::Relay;
use unspin_observe::meter::running::exit_code;
use unspin_sys::child::{self, End};
use unspin_sys::signal::{self, Mask};
use unspin_sys::{process, sched};

/// The longest wait for the end of the program between two looks at signals.
const SLICE: Duration = Duration::from_millis(500);

/// Loads the scheduler, lets a child become the program by `become_program`, which returns only if that fails, and ends the scheduler.
/// Returns the program's exit code. If the scheduler did not last, this is an error, whatever the program returned.
pub fn run(
    command: &SchedulerCommand,
    options: &RunOptions,
    become_program: impl FnOnce() -> Error,
) -> Result<ExitCode, Error> {
    let mut scheduler = Scheduler::start(command, &SchedExt::of_kernel(), &|| false)
        .map_err(|failure| failure.into_error("interrupted"))?;
    if options.verbose {
        stderr::say(format_args!("scheduler: {}", scheduler.enabled()));
    }
    let reach = scheduler.enabled().reach;
    let mut relay = Relay::install()?;
    let unspin = process::pid();
    // A signal that the handlers of this process took in the child would be lost with the child's image.
    let mask = signal::block(Mask::ALL_BUT_FAULTS);
    let program = child::fork(|| {
        Relay::let_go();
        signal::set_mask(mask);
        let error = match follow(unspin, reach) {
            Ok(()) => become_program(),
            Err(error) => error,
        };
        stderr::say(format_args!("{error}"));
        error.code().into()
    });
    signal::set_mask(mask);
    let program = program.map_err(|e| Error::failed("fork", &std::io::Error::from_raw_os_error(e.0)))?;
    let end = wait(program, &scheduler, &mut relay)?;
    let loss = scheduler.loss();
    let stopped = scheduler.stop(&mut || relay.takes_request_to_end());
    match loss.or(stopped.failure) {
        None => Ok(ExitCode::from(exit_code(end))),
        Some(loss) => {
            let text = format!("{loss}; the program's exit code is {}", exit_code(end));
            Err(Error::Environment(with_output(text, &stopped.output)))
        }
    }
}

/// Makes the child end with unspin, and one that the scheduler schedules.
fn follow(unspin: u32, reach: Reach) -> Result<(), Error> {
    child::die_with_parent(unspin).map_err(|e| Error::Environment(format!("prctl: {e}")))?;
    match reach {
        Reach::Machine => Ok(()),
        Reach::Program => sched::become_extensible().map_err(|e| Error::Environment(refused(&e.to_string()))),
    }
}

/// Waits for the program's end, and passes on the signals that are meant for it.
fn wait(program: u32, scheduler: &Scheduler, relay: &mut Relay) -> Result<End, Error> {
    loop {
        let ended = child::wait_for(program, SLICE)
            .map_err(|e| Error::Environment(format!("cannot wait for process {program}: {e}")))?;
        relay.pass_on(program);
        scheduler.trim_output();
        if let Some(ended) = ended {
            return Ok(ended.end);
        }
    }
}
