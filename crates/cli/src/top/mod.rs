//! `unspin top`, which runs a program and shows its locks while it runs.
//!
//! ```text
//! Running ── Snapshot ── Reader ── Reading ─┐
//!                                           ├─ State ── draw
//! Terminal ── keys ─────────────────────────┘
//! ```

mod columns;
mod draw;
mod ending;
mod interval;
mod order;
mod output;
mod reading;
mod signals;
mod state;
mod terminal;
#[cfg(test)]
mod testing;
mod watch;

use crate::error::Error;
use crate::meter::outputs::{self, Results};
use crate::meter::running::exit_code;
use crate::meter::session::Session;
use crate::options::{self, View};
use output::Output;
use reading::Reader;
use signals::Signals;
use state::State;
use std::ffi::OsString;
use std::io::Write;
use std::process::{ExitCode, Stdio};
use terminal::Terminal;
use unspin_meter::Fold;
use unspin_sys::child;
use watch::{Left, Watch};

/// Runs the program, shows its locks until somebody leaves, and prints them.
pub fn run(options: &options::Top) -> Result<ExitCode, Error> {
    Terminal::check()?;
    let output = Output::new(options.output.as_deref())?;
    let session = Session::new(&options.recorded)?;
    let fold = if options.unfold { Fold::Apart } else { Fold::ByName };
    let mut command = session.command();
    command.stdin(Stdio::null()).stdout(output.stdio()?).stderr(output.stdio()?);
    child::in_new_session(&mut command);
    let signals = Signals::watch()?;
    // Before the program is started: should it fail, there is nothing to be ended.
    let mut terminal = Terminal::enter()?;
    let running = session.start_apart(command)?;
    let state = State::new(shown(&options.recorded.command), running.pid, options.interval);
    let mut watch = Watch::new(running, Reader::new(fold), state, signals);
    let left = watch.watch(&mut terminal);
    drop(terminal);
    if left.is_err() {
        watch.end()?;
    }
    let left = left?;
    say_farewell(&watch, options, output, left)?;
    Ok(match left {
        Left::Over(end) => ExitCode::from(exit_code(end)),
        Left::GoesOn | Left::Ended => ExitCode::SUCCESS,
        Left::Signalled => ExitCode::from(130),
    })
}

fn shown(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// What is left in the terminal's scrollback: the end of the program's output, and the table.
fn say_farewell(watch: &Watch<'_>, options: &options::Top, output: Output, left: Left) -> Result<(), Error> {
    if let Some(tail) = output.tail() {
        let printed = crate::stdout::print(&tail);
        // Where the terminal is gone there is nobody to be told that it is.
        if !watch.hung_up {
            printed?;
        }
    }
    if !options.quiet {
        let view = View { unfold: options.unfold, ..View::default() };
        let snapshot = watch.snapshot();
        let report = Results::new(&snapshot, watch.reader.lookup(), &view).report;
        match watch.running.witness().explain(&snapshot) {
            Some(why) => say(&format!("{why}\n")),
            None => say(&outputs::text(&report, &view, outputs::width(std::io::stderr()))),
        }
    }
    if left == Left::GoesOn {
        let pid = watch.running.pid;
        match output.keep() {
            Some(path) => {
                eprintln!("unspin: process {pid} goes on; what it prints goes to {}", path.display())
            }
            None => eprintln!("unspin: process {pid} goes on"),
        }
    }
    Ok(())
}

/// To standard error, which may be a terminal that is gone.
fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
