//! `unspin dbt1`: the workload, under its own options.

mod progress;
mod shop;

use crate::options;
use progress::Progress;
pub use shop::prepare;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use unspin_dbt1::{DatabaseChoice, Durability, Event, Mix, Options, benchmark, check_server};
use unspin_launch::command::ignored_signals::without_ignored;
use unspin_launch::error::Error;
use unspin_launch::output::scratch::{DBT1, Scratch};
use unspin_launch::output::{stderr, stdout};
use unspin_sys::creds::Creds;

/// Exit code after SIGINT, SIGTERM or SIGHUP, as that of `prove`.
const INTERRUPTED: u8 = 130;

/// Runs the benchmark. Prints the figures of each run when it has ended, then the tables.
pub fn run(options: &options::Dbt1Options) -> Result<ExitCode, Error> {
    let options = translate(options)?;
    options.check().map_err(|text| Error::Usage(format!("dbt1: {text}")))?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in without_ignored(&[SIGHUP, SIGINT, SIGTERM]) {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|e| Error::failed(&format!("signal {signal} cannot be caught"), &e))?;
    }
    let scratch = Scratch::on_disk(DBT1, Creds::current().uid)?;
    let progress = Progress::new(&options);
    let mut printed = Ok(());
    let figures = benchmark(&options, scratch.folder(), &stop, &mut |event| {
        let text = match event {
            Event::Ready(header) => header.to_owned(),
            Event::Ended(run) => run.to_string(),
            _ => return progress.show(event),
        };
        let result = progress.suspend(|| stdout::print(&text));
        if printed.is_ok() {
            printed = result;
        }
    });
    progress.finish();
    match figures {
        Ok(figures) => {
            printed?;
            stdout::print(&format!("\n{figures}"))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(unspin_dbt1::Error::Interrupted) => {
            stderr::say(format_args!("dbt1: interrupted"));
            Ok(ExitCode::from(INTERRUPTED))
        }
        Err(error) => Err(benchmark_error(error)),
    }
}

/// The options in the form of the benchmark.
fn translate(options: &options::Dbt1Options) -> Result<Options, Error> {
    Ok(Options {
        database: database(options)?,
        items: options.items,
        scale: options.scale,
        seed: u64::from(options.seed),
        mix: match options.mix {
            options::Dbt1Mix::Browsing => Mix::Browsing,
            options::Dbt1Mix::Shopping => Mix::Shopping,
            options::Dbt1Mix::Ordering => Mix::Ordering,
        },
        browsers: options.browsers,
        connections: options.connections,
        think_time: options.think_time,
        warm_up: options.warm_up,
        duration: options.duration,
        runs: options.runs,
        durability: if options.durable { Durability::Full } else { Durability::Relaxed },
    })
}

fn database(options: &options::Dbt1Options) -> Result<DatabaseChoice, Error> {
    match (parse_database(&options.db)?, &options.database) {
        (DatabaseChoice::Sqlite(_), file) => Ok(DatabaseChoice::Sqlite(file.clone())),
        (choice, None) => Ok(choice),
        (_, Some(_)) => Err(Error::Usage("dbt1: --database requires --db sqlite".into())),
    }
}

/// Fails if no PostgreSQL server is installed.
pub fn find_server() -> Result<(), Error> {
    check_server().map_err(benchmark_error)
}

/// The database that `--db` names, for SQLite in a temporary folder.
pub fn parse_database(db: &str) -> Result<DatabaseChoice, Error> {
    match db {
        "sqlite" => Ok(DatabaseChoice::Sqlite(None)),
        "postgres" => Ok(DatabaseChoice::PrivatePostgres),
        url if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
            Ok(DatabaseChoice::Postgres(url.to_owned()))
        }
        other => Err(Error::Usage(format!(
            "dbt1: --db {other}: give sqlite, postgres, or the URL of a running server, postgres://USER@HOST/DATABASE"
        ))),
    }
}

/// An error of the benchmark in one line.
fn benchmark_error(error: unspin_dbt1::Error) -> Error {
    match error {
        unspin_dbt1::Error::Option(text) => Error::Usage(format!("dbt1: {text}")),
        unspin_dbt1::Error::NoServer(text) => Error::NotFound(format!("dbt1: {text}")),
        error => Error::Benchmark(format!("dbt1: {error}")),
    }
}
