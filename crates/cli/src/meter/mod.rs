//! `unspin meter`: runs a program and prints the locks on which it lost time. `unspin report`: prints the report of a
//! recording.

pub mod names;
pub mod notes;
pub mod observer;
pub mod outputs;
pub mod recorded_program;
mod relay;
pub mod running;
pub mod threads;
pub mod wakeup;

use crate::error::Error;
use crate::options;
use crate::runtime::Runtime;
use crate::{outfile, stdout};
use names::Lookup;
use outputs::Results;
use recorded_program::RecordedProgram;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use unspin_meter::{Recording, add_note};

/// How messages name the recording that is read, beside the options that name files.
const RECORDING: &str = "the recording";

/// Runs the program, reports on its locks, and returns its exit code.
pub fn run(options: &options::MeterOptions) -> Result<ExitCode, Error> {
    let [json, pprof] = outputs::files(&options.view);
    outfile::try_files(&[
        ("--output", options.output.as_deref()),
        ("--record", options.record.as_deref()),
        json,
        pprof,
    ])?;
    let recorded = RecordedProgram::new(&options.recorded)?;
    let mut running = recorded.start(recorded.command())?;
    let ended = running.wait_until_end()?;
    let snapshot = running.snapshot();
    let results = Results::new(&snapshot, &Lookup::new(), &options.view);
    let survivors = notes::survivors(&recorded);
    let mut unseen = None;
    let mut text = match running.observer().explain(&snapshot) {
        // They may still use locks.
        Some(_) if survivors.is_some() => String::from("No lock was recorded until the program ended.\n"),
        Some(why) => format!("{why}\n"),
        None => {
            unseen = Runtime::advice_on(&snapshot);
            outputs::text(&results.report, &options.view, width(options.output.as_deref()))
        }
    };
    let notes = [
        unseen,
        notes::ending(ended.end),
        survivors,
        notes::room(&recorded, &snapshot, options.recorded.size),
    ];
    for note in notes.into_iter().flatten().chain(recorded.warnings()) {
        add_note(&note, &mut text);
    }
    let mut failed = Vec::new();
    let unwritten = print(&text, options.output.as_deref()).err();
    failed.extend(results.write_files(&options.view));
    match (&options.record, unwritten) {
        (Some(file), unwritten) => {
            failed.extend(unwritten);
            failed.extend(store(recorded, file).err());
        }
        // Standard error may be a closed pipe.
        (None, Some(e)) => {
            let kept = recorded.keep();
            failed.push(Error::Environment(format!("{e}; the recording is kept in {}", kept.display())));
        }
        (None, None) => (),
    }
    match print_all_but_the_last(failed) {
        Some(last) => Err(last),
        None => Ok(ExitCode::from(running::exit_code(ended.end))),
    }
}

/// Prints the report of a recording.
pub fn replay(options: &options::ReportOptions) -> Result<ExitCode, Error> {
    let files = outputs::files(&options.view);
    outfile::try_files(&files)?;
    outfile::refuse_same_file(&[[(RECORDING, Some(&*options.file))].as_slice(), &files].concat())?;
    let recording = Recording::load(&options.file).map_err(|e| Error::Input(e.to_string()))?;
    let snapshot = recording.snapshot();
    let results = Results::new(&snapshot, &Lookup::as_of(&snapshot), &options.view);
    let mut text = outputs::text(&results.report, &options.view, outputs::width(std::io::stdout()));
    if let Some(unseen) = Runtime::advice_on(&snapshot) {
        add_note(&unseen, &mut text);
    }
    let mut failed = results.write_files(&options.view);
    failed.extend(stdout::print(&text).err());
    match print_all_but_the_last(failed) {
        Some(last) => Err(last),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Columns of a table in a file: names may be long.
fn width(output: Option<&Path>) -> usize {
    output.map_or_else(|| outputs::width(std::io::stderr()), |_| outputs::FILE_WIDTH)
}

/// Writes to the file. Without one, or if it cannot be written, writes to standard error. Closing that is the user's
/// choice.
fn print(text: &str, file: Option<&Path>) -> Result<(), Error> {
    let written = file.map(|file| outfile::write(file, text.as_bytes()));
    if !matches!(written, Some(Ok(()))) {
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
    written.unwrap_or(Ok(()))
}

/// Stores the recording. If that fails it stays in memory, where the user can copy it with cp(1).
fn store(recorded: RecordedProgram, file: &Path) -> Result<(), Error> {
    recorded.recording.save(file).map_err(|e| {
        let path = recorded.keep();
        let why = format!("the recording cannot be stored here, and is kept in {}", path.display());
        Error::at(file, &why, e)
    })
}

/// Prints all errors except the last, which main prints.
fn print_all_but_the_last(mut errors: Vec<Error>) -> Option<Error> {
    let last = errors.pop()?;
    for error in errors {
        eprintln!("unspin: {error}");
    }
    Some(last)
}
