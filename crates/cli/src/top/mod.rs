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
mod lens_tabs;
mod observe_loop;
mod order;
mod program_output;
mod reading;
mod signals;
mod state;
mod terminal;
mod termination;
#[cfg(test)]
mod testing;

use crate::options;
use event_loop::{EventLoop, ExitReason};
use lens_tabs::{LensTab, LiveLenses};
use observe_loop::{Left, ObserveLoop};
use program_output::ProgramOutput;
use reading::TableReader;
use signals::Signals;
use state::{ProgramState, State};
use std::ffi::OsString;
use std::process::{ExitCode, Stdio};
use terminal::Terminal;
use unspin_launch::error::Error;
use unspin_launch::output::stderr::{print, say};
use unspin_launch::program::runtime::Runtime;
use unspin_launch::replace::engine::Engine;
use unspin_observe::meter::notes;
use unspin_observe::meter::outputs::{self, Results};
use unspin_observe::meter::recorded_program::RecordedProgram;
use unspin_observe::meter::running::exit_code;
use unspin_observe::observed::trace_error;
use unspin_observe::settings::{ObserveSettings, RecordSettings, ViewSettings};
use unspin_report::Fold;
use unspin_sys::child;
use unspin_sys::printable;
use unspin_sys::process::ThreadGroup;

/// Exit code after a signal.
const SIGNALLED: u8 = 130;

/// Runs the program, shows its locks until the user leaves, and prints them.
pub fn run(options: &options::TopOptions) -> Result<ExitCode, Error> {
    check(options)?;
    Terminal::check()?;
    if options.recorded.command.is_empty() {
        return observe(options);
    }
    // Do this before a file or a folder exists, because a signal would leave it behind.
    let signals = Signals::install()?;
    let output = ProgramOutput::new(options.output.as_deref())?;
    let recorded = RecordedProgram::new(&RecordSettings::from(&options.recorded))?;
    let fold = if options.unfold { Fold::Apart } else { Fold::ByName };
    let mut command = recorded.command();
    command.stdin(Stdio::null()).stdout(output.stdio()?).stderr(output.stdio()?);
    child::in_new_session(&mut command);
    if signals.has_come() {
        return Ok(ExitCode::from(SIGNALLED));
    }
    // Do this before the program starts: if it fails, no program has to be ended.
    let mut terminal = Terminal::enter()?;
    let running = recorded.start_without_relay(command)?;
    let mut state = State::new(format_command(&options.recorded.command), running.pid, options.interval);
    state.lenses = LensTab::all();
    // The lenses attach to the program when their tabs are opened.
    let observe = ObserveSettings::from(&options.observe);
    let subject = observe.subject(&options.recorded.command);
    let pid = (!options.observe.all_processes).then_some(running.pid);
    let lenses = LiveLenses::new(ObserveSettings { pid, ..observe }, subject);
    let mut event_loop = EventLoop::new(running, TableReader::new(fold), lenses, state, signals);
    let reason = event_loop.run(&mut terminal, &output);
    drop(terminal);
    if reason.is_err() {
        event_loop.end()?;
    }
    let reason = reason?;
    print_results(&event_loop, options, output, reason)?;
    print_lenses(&mut event_loop.lenses, options);
    // The entries of a program that goes on may still replace something.
    if reason != ExitReason::GoesOn {
        recorded.warnings().iter().for_each(|warning| say(format_args!("{warning}")));
    }
    if recorded.recording.is_lost() {
        let end = if let ExitReason::Over(end) = reason { Some(end) } else { None };
        return Err(Error::Environment(notes::explain_lost(&recorded.path(), end)));
    }
    Ok(match reason {
        ExitReason::Over(end) => ExitCode::from(exit_code(end)),
        ExitReason::GoesOn | ExitReason::Ended => ExitCode::SUCCESS,
        ExitReason::Signalled => ExitCode::from(SIGNALLED),
    })
}

/// Refuses options of which one would be without effect.
fn check(options: &options::TopOptions) -> Result<(), Error> {
    let refuse = |text: &str| Err(Error::Usage(text.into()));
    let observe = &options.observe;
    let has_program = !options.recorded.command.is_empty();
    if observe.pid.is_some() && has_program {
        return refuse("-p observes a running process: leave out the program, or -p");
    }
    if observe.seconds.is_some() {
        return refuse("top observes until you leave it: leave out --seconds, or use unspin meter");
    }
    if !has_program && options.output.is_some() {
        return refuse(
            "--output is for the output of a program that top starts: leave it out, or name a program",
        );
    }
    let replace = &options.recorded.replace;
    let unused = [
        ("--sysv", options.recorded.sysv != Engine::Kernel),
        ("--mutex", !replace.mutex.is_empty()),
        ("--rwlock", !replace.rwlock.is_empty()),
        ("--spin", !replace.spin.is_empty()),
        ("--waits", !replace.waits.is_empty()),
        ("--use-plan", replace.use_plan.is_some()),
        ("--runqueue", replace.runqueue.is_some()),
    ];
    match unused.into_iter().find(|(_, given)| *given && !has_program) {
        Some((option, _)) => Err(Error::Usage(format!("{option} requires a program that top starts"))),
        None => Ok(()),
    }
}

/// Shows the lenses of a running process, or of all, until the user leaves.
fn observe(options: &options::TopOptions) -> Result<ExitCode, Error> {
    let observe = ObserveSettings::from(&options.observe);
    let process = match observe.pid {
        Some(pid) => Some(
            unspin_trace::process_of(pid)
                .and_then(ThreadGroup::of)
                .ok_or_else(|| trace_error(unspin_trace::Error::NoProcess(pid)))?,
        ),
        None => None,
    };
    let name = match observe.pid {
        Some(pid) => format!("-p {pid}"),
        None => "-a".to_owned(),
    };
    let mut state = State::new(name, observe.pid.unwrap_or(0), options.interval);
    state.program = ProgramState::Observed;
    state.lenses = LensTab::all();
    state.open_tab(0);
    let mut lenses = LiveLenses::new(observe.clone(), observe.subject(&[]));
    lenses.open(0, &mut state.lenses[0]);
    let signals = Signals::install()?;
    let mut terminal = Terminal::enter()?;
    let mut observing = ObserveLoop::new(lenses, state, signals, process);
    let left = observing.run(&mut terminal);
    drop(terminal);
    let left = left?;
    print_lenses(&mut observing.lenses, options);
    Ok(match left {
        Left::ByUser => ExitCode::SUCCESS,
        Left::BySignal => ExitCode::from(SIGNALLED),
    })
}

/// Prints the tables of the lenses whose tabs were opened, since then.
fn print_lenses(lenses: &mut LiveLenses, options: &options::TopOptions) {
    let reports = lenses.stop();
    if options.quiet {
        return;
    }
    let view = ViewSettings::default();
    let layout = outputs::layout(&view, outputs::width(std::io::stderr()));
    for report in reports {
        for section in report.sections(&view, &layout) {
            print(&format!("\n{section}"));
        }
    }
}

fn format_command(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| printable::bytes(word.as_encoded_bytes())).collect();
    printable::line(&words.join(" ")).into_owned()
}

/// Prints what stays in the terminal's scrollback: the end of the program's output, and the table.
fn print_results(
    event_loop: &EventLoop<'_>,
    options: &options::TopOptions,
    output: ProgramOutput,
    reason: ExitReason,
) -> Result<(), Error> {
    if let Some(tail) = output.tail() {
        let printed = unspin_launch::output::stdout::print(&tail);
        // If the terminal has hung up, an error cannot be shown.
        if !event_loop.hung_up {
            printed?;
        }
    }
    if !options.quiet && !event_loop.running.has_lost_recording() {
        let view = ViewSettings { unfold: options.unfold, ..ViewSettings::default() };
        let snapshot = event_loop.snapshot();
        let report = Results::new(&snapshot, event_loop.reader.lookup(), &view).report;
        let width = outputs::width(std::io::stderr());
        match event_loop.running.observer().explain(&snapshot) {
            Some(why) => print(&outputs::paragraph(&why, width)),
            None => {
                let mut text = outputs::text(&report, &view, width);
                let unreached = event_loop.running.observer().unreached_programs();
                let replaced = event_loop.reader.lookup().note_on_replaced_files();
                for note in [unreached, Runtime::advice_on(&snapshot), replaced].into_iter().flatten() {
                    unspin_report::add_note(&note, width, &mut text);
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
