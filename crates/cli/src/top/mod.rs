//! `unspin top`: runs a program and shows its locks while it runs.
//!
//! ```text
//! Running ── Snapshot ── Reader ── Reading ─┐
//!                                           ├─ State ── draw
//! Terminal ── keys ─────────────────────────┘
//! ```

mod columns;
mod draw;
mod event_loop;
mod interval;
mod order;
mod program_output;
mod reading;
mod signals;
mod state;
mod terminal;
mod termination;
#[cfg(test)]
mod testing;

use crate::error::Error;
use crate::meter::outputs::{self, Results};
use crate::meter::recorded_program::RecordedProgram;
use crate::meter::running::exit_code;
use crate::options::{self, ViewOptions};
use crate::runtime::Runtime;
use crate::stderr::{print, say};
use event_loop::{EventLoop, ExitReason};
use program_output::ProgramOutput;
use reading::Reader;
use signals::Signals;
use state::State;
use std::ffi::OsString;
use std::process::{ExitCode, Stdio};
use terminal::Terminal;
use unspin_meter::Fold;
use unspin_sys::child;

/// Runs the program, shows its locks until the user leaves, and prints them.
pub fn run(options: &options::TopOptions) -> Result<ExitCode, Error> {
    Terminal::check()?;
    let output = ProgramOutput::new(options.output.as_deref())?;
    let recorded = RecordedProgram::new(&options.recorded)?;
    let fold = if options.unfold { Fold::Apart } else { Fold::ByName };
    let mut command = recorded.command();
    command.stdin(Stdio::null()).stdout(output.stdio()?).stderr(output.stdio()?);
    child::in_new_session(&mut command);
    let signals = Signals::install()?;
    // Before the program starts: if this fails, no program has to be ended.
    let mut terminal = Terminal::enter()?;
    let running = recorded.start_without_relay(command)?;
    let state = State::new(shown(&options.recorded.command), running.pid, options.interval);
    let mut event_loop = EventLoop::new(running, Reader::new(fold), state, signals);
    let reason = event_loop.run(&mut terminal);
    drop(terminal);
    if reason.is_err() {
        event_loop.end()?;
    }
    let reason = reason?;
    print_results(&event_loop, options, output, reason)?;
    // The entries of a program that goes on may still replace something.
    if reason != ExitReason::GoesOn {
        recorded.warnings().iter().for_each(|warning| say(format_args!("{warning}")));
    }
    Ok(match reason {
        ExitReason::Over(end) => ExitCode::from(exit_code(end)),
        ExitReason::GoesOn | ExitReason::Ended => ExitCode::SUCCESS,
        ExitReason::Signalled => ExitCode::from(130),
    })
}

fn shown(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Prints what stays in the terminal's scrollback: the end of the program's output, and the table.
fn print_results(
    event_loop: &EventLoop<'_>,
    options: &options::TopOptions,
    output: ProgramOutput,
    reason: ExitReason,
) -> Result<(), Error> {
    if let Some(tail) = output.tail() {
        let printed = crate::stdout::print(&tail);
        // If the terminal has hung up, an error cannot be shown.
        if !event_loop.hung_up {
            printed?;
        }
    }
    if !options.quiet {
        let view = ViewOptions { unfold: options.unfold, ..ViewOptions::default() };
        let snapshot = event_loop.snapshot();
        let report = Results::new(&snapshot, event_loop.reader.lookup(), &view).report;
        let width = outputs::width(std::io::stderr());
        match event_loop.running.observer().explain(&snapshot) {
            Some(why) => print(&outputs::paragraph(&why, width)),
            None => {
                let mut text = outputs::text(&report, &view, width);
                if let Some(unseen) = Runtime::advice_on(&snapshot) {
                    unspin_meter::add_note(&unseen, width, &mut text);
                }
                print(&text);
            }
        }
    }
    if reason == ExitReason::GoesOn {
        let pid = event_loop.running.pid;
        match output.keep() {
            Some(path) => {
                say(format_args!("process {pid} goes on; its output goes to {}", path.display()));
            }
            None => say(format_args!("process {pid} goes on")),
        }
    }
    Ok(())
}
