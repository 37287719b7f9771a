//! The requested forms of a report.

use super::lock_files::LockFiles;
use super::names::{Lookup, Names, Parts};
use super::provenance::Provenance;
use super::threads;
use crate::lens::reports::Reports;
use crate::settings::{Format, ViewSettings};
use regex::Regex;
use serde::Serialize;
use std::os::fd::AsFd;
use std::path::Path;
use unspin_launch::error::Error;
use unspin_launch::output::document::{write_json, write_page};
use unspin_launch::output::{outfile, stderr};
use unspin_report::{Filter, Fold, Layout, MeterReport, Pattern, ReportOptions, otlp, pprof};
use unspin_sys::printable;
use unspin_wire::{Image, Key, Snapshot};

/// The requested files, each with its option.
pub fn files(view: &ViewSettings) -> [(&'static str, Option<&Path>); 4] {
    [
        ("--json", view.json.as_deref()),
        ("--html", view.html.as_deref()),
        ("--pprof", view.pprof.as_deref()),
        ("--otlp", view.otlp.as_deref()),
    ]
}

/// Everything that is known of a snapshot, with names and without the filters.
pub struct Results {
    /// The report.
    pub report: MeterReport,
    /// The profile for `--pprof`, if it is requested.
    profile: Option<Vec<u8>>,
    /// The profiles for `--otlp`, if they are requested.
    otlp: Option<Vec<u8>>,
    /// What other lenses have seen.
    pub lenses: Reports,
    /// Where the results come from.
    pub provenance: Provenance,
}

impl Results {
    /// For a snapshot, with the names that the lookup finds.
    pub fn new(snapshot: &Snapshot, lookup: &Lookup, view: &ViewSettings) -> Results {
        Results::with_progress(snapshot, lookup, view, &|| ())
    }

    /// Makes the report like [`Results::new`], and calls `named` for each row that gets its name.
    pub fn with_progress(
        snapshot: &Snapshot,
        lookup: &Lookup,
        view: &ViewSettings,
        named: &dyn Fn(),
    ) -> Results {
        let names = names(snapshot, lookup, view);
        let contentions = (view.pprof.is_some() || view.otlp.is_some()).then(|| {
            let name = |image: &Image, key: &Key| names.name(image, key);
            pprof::contentions(snapshot, &name, &|image, key| names.frames(image, key))
        });
        let (started, seconds) = (snapshot.started, snapshot.window.seconds);
        let contentions = contentions.as_deref();
        let profile = contentions.filter(|_| view.pprof.is_some());
        let profile = profile.map(|all| pprof::encode(&command(snapshot).join(" "), all, started, seconds));
        let otlp = contentions.filter(|_| view.otlp.is_some());
        let otlp = otlp.map(|all| otlp::encode(command(snapshot), all, started, seconds));
        let report = report(snapshot, &names, view, named);
        let (lenses, provenance) = (Reports::default(), Provenance::of_recording());
        Results { report, profile, otlp, lenses, provenance }
    }

    /// Writes the requested files.
    pub fn write_files(&self, view: &ViewSettings) -> Vec<Error> {
        let results = write_results(&Document::of(self), view);
        let profile = view.pprof.as_deref().zip(self.profile.as_ref());
        let otlp = view.otlp.as_deref().zip(self.otlp.as_ref());
        let [profile, otlp] =
            [profile, otlp].map(|file| file.map(|(file, profile)| outfile::write(file, profile)));
        results.into_iter().chain([profile, otlp].into_iter().flatten().filter_map(Result::err)).collect()
    }
}

fn report(snapshot: &Snapshot, names: &Names<'_>, view: &ViewSettings, named: &dyn Fn()) -> MeterReport {
    let fold = if view.unfold { Fold::Apart } else { Fold::ByName };
    let options = ReportOptions { fold, threads: &threads::known_threads(snapshot) };
    let files = LockFiles::default();
    let name = |image: &Image, key: &Key| {
        named();
        let name = names.name(image, key)?;
        files.note(names, image, key, &name);
        Some(name)
    };
    let mut report = MeterReport::with(snapshot, &name, options);
    files.add_to(&mut report);
    report
}

fn names<'a>(snapshot: &'a Snapshot, lookup: &'a Lookup, view: &ViewSettings) -> Names<'a> {
    Names::new(snapshot, lookup, if view.unfold { Parts::Apart } else { Parts::Together })
}

/// The command line of the first process.
fn command(snapshot: &Snapshot) -> &[String] {
    snapshot.images.first().map_or(&[], |image| &image.command)
}

/// One paragraph in place of a report of this width.
pub fn paragraph(sentence: &str, width: usize) -> String {
    let mut text = String::new();
    unspin_report::add_note(sentence, width, &mut text);
    text
}

/// The printed form of what passes the filters, in as many columns.
pub fn text(report: &MeterReport, view: &ViewSettings, width: usize) -> String {
    let mut report = report.clone();
    let matches = |pattern: &Regex, text: &str| pattern.is_match(text);
    let lock = view.lock.as_ref().map(|pattern| move |text: &str| matches(pattern, text));
    let caller = view.caller.as_ref().map(|pattern| move |text: &str| matches(pattern, text));
    report.filter(&Filter {
        min_util: view.min_util.unwrap_or(0.0),
        min_con: view.min_con.unwrap_or(0.0),
        min_lost: view.min_lost.map_or(0.0, |time| time.as_secs_f64()),
        lock: lock.as_ref().map(|matches| matches as Pattern<'_>),
        caller: caller.as_ref().map(|matches| matches as Pattern<'_>),
    });
    let layout = layout(view, width);
    match view.format {
        Format::Table => report.text(&layout),
        Format::Lockmeter => report.lockmeter(),
    }
}

/// The size of the printed tables.
pub fn layout(view: &ViewSettings, width: usize) -> Layout {
    if view.all { Layout::all(width) } else { Layout { width, ..Layout::default() } }
}

/// Columns for the table: those of the terminal, if the output goes to one; else those that the variable `COLUMNS`
/// names.
pub fn width(of: impl AsFd) -> usize {
    match terminal_size::terminal_size_of(of) {
        Some((width, _)) => usize::from(width.0).max(WIDTH_MIN),
        None => file_width(),
    }
}

/// Columns for a table in a file or a pipe.
pub fn file_width() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse::<usize>().ok());
    columns.filter(|&columns| columns > 0).map_or(FILE_WIDTH, |columns| columns.max(WIDTH_MIN))
}

/// Columns of a table in a file: the numbers, and C++ names with their callers.
const FILE_WIDTH: usize = 200;
/// In fewer columns not even one number and a short name fit.
const WIDTH_MIN: usize = 40;

/// The JSON document: the report of the pthread lens, and beside its fields those of the other lenses.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    report: &'a MeterReport,
    #[serde(flatten)]
    lenses: &'a Reports,
    #[serde(flatten)]
    provenance: &'a Provenance,
}

impl<'a> Document<'a> {
    fn of(results: &'a Results) -> Document<'a> {
        Document { report: &results.report, lenses: &results.lenses, provenance: &results.provenance }
    }
}

/// Writes a document as JSON and as a page, to the files that are requested.
pub fn write_results(document: &impl Serialize, view: &ViewSettings) -> Vec<Error> {
    let json = view.json.as_deref().map(|file| write_json(document, file));
    let html = view.html.as_deref().map(|file| write_page(document, file, unspin_page::page));
    [json, html].into_iter().flatten().filter_map(Result::err).collect()
}

/// Columns of a table that is printed to this file, or to standard error.
pub fn report_width(output: Option<&Path>) -> usize {
    output.map_or_else(|| width(std::io::stderr()), |_| file_width())
}

/// Writes to the file. Without one, or if it cannot be written, writes to standard error. Closing that is the user's
/// choice.
pub fn print(text: &str, file: Option<&Path>) -> Result<(), Error> {
    let text = &*printable::text(text);
    let written = file.map(|file| outfile::write(file, text.as_bytes()));
    if !matches!(written, Some(Ok(()))) {
        stderr::print(text);
    }
    written.unwrap_or(Ok(()))
}

/// Prints all errors except the last, which main prints.
pub fn print_all_but_the_last(mut errors: Vec<Error>) -> Option<Error> {
    let last = errors.pop()?;
    for error in errors {
        stderr::say(format_args!("{error}"));
    }
    Some(last)
}
