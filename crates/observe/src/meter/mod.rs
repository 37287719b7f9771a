//! `unspin meter`: runs a program and prints the locks on which it lost time. `unspin report`: prints the report of a
//! recording.

pub mod disturbance;
pub mod known_names;
mod leftovers;
mod lock_files;
pub mod names;
pub mod notes;
pub mod observer;
pub mod outputs;
pub mod provenance;
pub mod recorded_program;
pub mod relay;
mod report_guard;
mod report_progress;
pub mod running;
pub mod threads;
pub mod wakeup;

use crate::lens;
use crate::lens::beside::{LensesBeside, SeenBeside};
use crate::lens::reports::Reports;
use crate::serve::{BoundServer, Server};
use crate::settings::{self, ViewSettings};
use names::Lookup;
use outputs::Results;
use provenance::Provenance;
use recorded_program::RecordedProgram;
use report_guard::ReportGuard;
use report_progress::ReportProgress;
use std::path::Path;
use std::process::ExitCode;
use unspin_launch::error::Error;
use unspin_launch::output::{outfile, stderr};
use unspin_launch::program::inheriting;
use unspin_launch::program::runtime::Runtime;
use unspin_report::add_note;
use unspin_sys::child::End;
use unspin_wire::{Config, Recording, Snapshot};

/// How messages name the recording that is read, beside the options that name files.
const RECORDING: &str = "the recording";

/// Runs the program, reports on its locks, and returns its exit code.
pub fn run(options: &settings::MeterSettings) -> Result<ExitCode, Error> {
    lens::run::check(options)?;
    if options.record.as_deref() == Some(Path::new("-")) {
        return Err(Error::Usage("--record -: a recording needs a file: name one".into()));
    }
    let [json, html, pprof, otlp] = outputs::files(&options.view);
    let files = [
        ("--output", options.output.as_deref()),
        ("--record", options.record.as_deref()),
        ("--firefox", options.firefox.as_deref()),
        json,
        html,
        pprof,
        otlp,
    ];
    outfile::try_files(&files)?;
    outfile::refuse_replacing("a file of the command", &options.recorded.command, &files)?;
    outfile::refuse_replacing("--use-plan", options.recorded.replace.use_plan.as_slice(), &files)?;
    if !lens::run::has_pthread(options) {
        return lens::run::run(options);
    }
    let bound = options.serve.as_ref().map(BoundServer::bind).transpose()?;
    let recorded = RecordedProgram::new(&record_settings(options))?;
    let server = bound.map(|bound| serve(bound, &recorded)).transpose()?;
    let lenses = LensesBeside::start(options)?;
    let mut running = recorded.start(inheriting(recorded.command()))?;
    let ended = running.wait_until_end()?;
    drop(server);
    let seen = lenses.stop(options);
    let was_asked_to_end = running.was_asked_to_end();
    let guard = running.guard_report();
    // Do this before the report, which may take longer and can be made again from the recording.
    let unsaved = options.record.as_deref().and_then(|file| save(&recorded, file, &guard).err());
    let progress = ReportProgress::start("; ^C ends this and keeps the recording");
    let snapshot = running.snapshot();
    if recorded.recording.is_lost() {
        drop(progress);
        guard.complete();
        return Err(without_recording(&recorded, &seen, options, ended.end));
    }
    let lookup = Lookup::new();
    let mut results = results(&snapshot, &lookup, &options.view, &progress);
    results.lenses = seen.reports.clone();
    results.lenses.explain(&results.report);
    results.provenance = Provenance::of_observation(options.words.as_deref());
    let survivors = notes::survivors(&recorded);
    let width = outputs::report_width(options.output.as_deref());
    let (mut unseen, mut unreached, mut silence, mut is_silent) = (None, None, None, false);
    let mut text = match running.observer().explain(&snapshot) {
        // They may still use locks.
        Some(_) if survivors.is_some() => String::from("No lock was recorded until the program ended.\n"),
        Some(why) => {
            is_silent = results.lenses == Reports::default();
            let text = outputs::paragraph(&why, width);
            silence = Some(why);
            text
        }
        None => {
            unseen = Runtime::advice_on(&snapshot);
            unreached = running.observer().unreached_programs();
            outputs::text(&results.report, &options.view, width)
        }
    };
    drop(progress);
    let notes = [
        unreached,
        unseen,
        lookup.note_on_replaced_files(),
        notes::ending(ended.end),
        survivors,
        notes::room(&recorded, &snapshot),
        notes::proof(was_asked_to_end, &text),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().chain(recorded.warnings()).collect();
    for note in &notes {
        add_note(note, width, &mut text);
    }
    results.provenance.notes = silence.into_iter().chain(notes).collect();
    if is_silent && !text.contains("--lens") {
        notes::add_lens(&options.recorded.command, width, &mut text);
        results.provenance.notes.push(notes::lens(&options.recorded.command));
    }
    for section in results.lenses.sections(&options.view, &outputs::layout(&options.view, width)) {
        text += "\n";
        text += &section;
    }
    let mut failed = Vec::new();
    let unwritten = outputs::print(&text, options.output.as_deref()).err();
    failed.extend(results.write_files(&options.view));
    failed.extend(seen.write_timeline(options).err());
    guard.complete();
    match (&options.record, unsaved, unwritten) {
        // It stays in memory, where the user can copy it with cp(1).
        (Some(file), Some(e), unwritten) => {
            failed.extend(unwritten);
            let path = recorded.keep();
            let why = format!("the recording cannot be stored here, and is kept in {}", path.display());
            failed.push(Error::at(file, &why, e));
        }
        (Some(_), None, unwritten) => failed.extend(unwritten),
        // Standard error may be a closed pipe.
        (None, _, Some(e)) => {
            let kept = recorded.keep();
            failed.push(Error::Environment(format!("{e}; the recording is kept in {}", kept.display())));
        }
        (None, _, None) => (),
    }
    match outputs::print_all_but_the_last(failed) {
        Some(last) => Err(last),
        None => Ok(ExitCode::from(running::exit_code(ended.end))),
    }
}

/// How the program is recorded. A served recording is read again and again, and its names stay in memory: without `--size` it
/// gets less room than one that is read at the end.
fn record_settings(options: &settings::MeterSettings) -> settings::RecordSettings {
    let served = || Config::default().bytes.min(SERVED_BYTES);
    let size = options.recorded.size.or_else(|| options.serve.map(|_| served()));
    settings::RecordSettings { size, ..options.recorded.clone() }
}

/// The size of a recording that is served: some thousand processes, or some ten thousand locks.
const SERVED_BYTES: u64 = 256 << 20;

/// Begins to serve the recording, and says where.
fn serve(bound: BoundServer, recorded: &RecordedProgram) -> Result<Server, Error> {
    let address = bound.address();
    let server = bound.start(&recorded.path(), recorded.recording.invocation().command)?;
    stderr::say(format_args!("serving http://{address}/debug/pprof/ and http://{address}/metrics"));
    Ok(server)
}

/// Prints what is known without the recording, and returns the error that the recording is lost.
fn without_recording(
    recorded: &RecordedProgram,
    seen: &SeenBeside,
    options: &settings::MeterSettings,
    end: End,
) -> Error {
    let layout = outputs::layout(&options.view, outputs::report_width(options.output.as_deref()));
    let text = seen.reports.sections(&options.view, &layout).join("\n");
    if !text.is_empty()
        && let Err(unwritten) = outputs::print(&text, options.output.as_deref())
    {
        stderr::say(format_args!("{unwritten}"));
    }
    if let Err(unwritten) = seen.write_timeline(options) {
        stderr::say(format_args!("{unwritten}"));
    }
    for warning in recorded.warnings() {
        stderr::say(format_args!("{warning}"));
    }
    Error::Environment(notes::explain_lost(&recorded.path(), Some(end)))
}

/// Names and report of a snapshot.
fn results(snapshot: &Snapshot, lookup: &Lookup, view: &ViewSettings, progress: &ReportProgress) -> Results {
    progress.read(snapshot.images.iter().map(|image| image.rows.len()).sum());
    Results::with_progress(snapshot, lookup, view, &|| progress.count_named())
}

fn save(recorded: &RecordedProgram, file: &Path, guard: &ReportGuard) -> std::io::Result<()> {
    guard.saving(file);
    recorded.recording.save(file)?;
    guard.note_saved(file);
    Ok(())
}

/// Prints the report of a recording, or lists or removes leftover recordings.
pub fn replay(options: &settings::ReportSettings) -> Result<ExitCode, Error> {
    let Some(file) = &options.file else {
        let action = if options.remove {
            leftovers::LeftoversAction::Remove
        } else {
            leftovers::LeftoversAction::List
        };
        return leftovers::run(action).map(|()| ExitCode::SUCCESS);
    };
    let within = Some(file.join(recorded_program::RECORDING)).filter(|within| within.exists());
    if within.is_none() && file.is_dir() {
        let text = format!("{}: there is no recording in this folder", file.display());
        return Err(Error::Input(text));
    }
    let file = &within.unwrap_or_else(|| file.clone());
    let files = outputs::files(&options.view);
    outfile::try_files(&files)?;
    outfile::refuse_same_file(&[[(RECORDING, Some(&**file))].as_slice(), &files].concat())?;
    let progress = ReportProgress::start("");
    let recording = Recording::load(file).map_err(|e| Error::Input(notes::explain_unreadable(file, &e)))?;
    let snapshot = recording.snapshot();
    if recording.is_lost() {
        return Err(Error::Input(notes::explain_lost_while_read(file)));
    }
    let lookup = Lookup::as_of(&snapshot);
    let mut results = results(&snapshot, &lookup, &options.view, &progress);
    let width = outputs::width(std::io::stdout());
    let mut text = outputs::text(&results.report, &options.view, width);
    drop(progress);
    let notes = [
        Runtime::advice_on(&snapshot),
        lookup.note_on_replaced_files(),
        notes::note_unfinished(&recording, file),
    ];
    results.provenance.notes = notes.into_iter().flatten().collect();
    for note in &results.provenance.notes {
        add_note(note, width, &mut text);
    }
    let mut failed = results.write_files(&options.view);
    failed.extend(outfile::print_report(&text, &files.map(|(_, file)| file)).err());
    match outputs::print_all_but_the_last(failed) {
        Some(last) => Err(last),
        None => Ok(ExitCode::SUCCESS),
    }
}
