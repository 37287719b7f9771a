//! `unspin prove dbt1`: the database is populated once, and each run is one run of the benchmark on it.
//!
//! With SQLite the benchmark is the program, because the database is part of it. With PostgreSQL the program is the server, and the
//! benchmark is its load.

use super::{benchmark_error, translate};
use crate::options::{Command, CommandLine, Dbt1Mix, Dbt1Options};
use clap::Parser;
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use unspin_dbt1::{DatabaseChoice, Prepared, prepare, withheld};
use unspin_launch::error::Error;
use unspin_launch::program::{Account, Program};
use unspin_launch::scratch::{DBT1, Scratch};
use unspin_report::shell_line;
use unspin_sys::creds::Creds;
use unspin_trial::{Preparation, PreparedProgram, Service};

/// Time for the start and the stop of the server. The start may have to recover the files of a killed server.
const LIMIT: Duration = Duration::from_secs(60);

/// Parses the command line of `dbt1` behind `prove`. None for another program; for the URL of a running server, because
/// then the benchmark itself is judged; and for a wrong command line, which the benchmark reports.
fn parse_command(command: &[OsString]) -> Option<Dbt1Options> {
    if command.first()? != "dbt1" {
        return None;
    }
    let words = [OsString::from("unspin")].into_iter().chain(command.iter().cloned());
    match CommandLine::try_parse_from(words) {
        Ok(CommandLine { command: Command::Dbt1(options) }) if !options.db.contains("://") => Some(options),
        _ => None,
    }
}

/// The preparation of what a command line of `prove` judges; none for other programs.
pub fn preparation(command: &[OsString]) -> Option<Preparation> {
    let options = parse_command(command)?;
    Some(Preparation {
        phase: "populating the database, once for all runs",
        prepare: Box::new(move |stop| prepare_shop(&options, stop)),
    })
}

/// Populates the database. None if `stop` was set meanwhile.
///
/// With SQLite the benchmark is the program. With PostgreSQL the server is the program, and the benchmark is its load. A plan is
/// applied to the benchmark, which makes a database, or to a server of the user.
fn prepare_shop(options: &Dbt1Options, stop: &AtomicBool) -> Result<Option<PreparedProgram>, Error> {
    let translated = translate(options)?;
    let is_private = translated.database == DatabaseChoice::PrivatePostgres;
    let scratch = Scratch::on_disk(DBT1, Creds::current().uid)?;
    let prepared = match prepare(&translated, scratch.folder(), stop) {
        Ok(prepared) => prepared,
        Err(unspin_dbt1::Error::Interrupted) => return Ok(None),
        Err(error) => return Err(benchmark_error(error)),
    };
    debug_assert_eq!(is_private, matches!(prepared, Prepared::Postgres(_)));
    let (program, service, applied_to) = match prepared {
        Prepared::Sqlite(file) => {
            let database = [OsString::from("--database"), file.into()];
            (Program::find(&run(options, database))?, None, None)
        }
        Prepared::Postgres(cluster) => {
            let account = cluster.account().map(|(uid, gid)| Account { uid, gid });
            let server = Program::find(&cluster.command_line(&translated))?;
            let load = Program::find(&run(options, ["--db".into(), cluster.url().into()]))?;
            let load = [load.path.into_os_string()].into_iter().chain(load.arguments).collect::<Vec<_>>();
            let service = Service {
                ready: line(&cluster.ready()),
                load: line(&load),
                stop: None,
                ready_limit: LIMIT,
                stop_limit: LIMIT,
                withheld: withheld(),
            };
            let other = vec![server.name.clone(), "-D".into(), "DATA".into()];
            (Program { account, withheld: withheld(), ..server }, Some(service), Some(other))
        }
    };
    Ok(Some(PreparedProgram { program, service, workload: "dbt1", applied_to, scratch }))
}

/// The command line of one run on this database.
fn run(options: &Dbt1Options, database: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let Dbt1Options { seed, mix, browsers, connections, think_time, warm_up, duration, durable, .. } =
        options;
    let mix = match mix {
        Dbt1Mix::Browsing => "browsing",
        Dbt1Mix::Shopping => "shopping",
        Dbt1Mix::Ordering => "ordering",
    };
    let ms = |time: &Duration| format!("{}ms", time.as_millis());
    let mut words: Vec<OsString> = vec!["dbt1".into()];
    words.extend(database);
    for (option, value) in [
        ("--runs", "1".to_owned()),
        ("--mix", mix.to_owned()),
        ("--seed", seed.to_string()),
        ("--browsers", browsers.to_string()),
        ("--think-time", ms(think_time)),
        ("--warm-up", ms(warm_up)),
        ("--duration", ms(duration)),
    ] {
        words.extend([option.into(), value.into()]);
    }
    if let Some(connections) = connections {
        words.extend(["--connections".into(), connections.to_string().into()]);
    }
    if *durable {
        words.push("--durable".into());
    }
    words
}

fn line(words: &[OsString]) -> String {
    shell_line(&words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn requested_by(line: &str) -> Option<Dbt1Options> {
        parse_command(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn only_databases_that_can_be_prepared_are_prepared() {
        assert!(requested_by("dbt1 --db postgres").is_some() && requested_by("dbt1").is_some());
        for other in ["./dbt1", "semopbench", "dbt1 --db postgres://a@b/c", "dbt1 --no-such"] {
            assert!(requested_by(other).is_none(), "{other}");
        }
    }

    #[test]
    fn plan_is_applied_to_no_database_of_the_session() {
        for (db, program) in [("sqlite", None), ("postgres", Some("postgres"))] {
            let options = requested_by(&format!("dbt1 --db {db} --items 1000 --scale 1")).unwrap();
            let shop = match prepare_shop(&options, &AtomicBool::new(false)) {
                Err(Error::NotFound(reason)) => {
                    let _ = writeln!(std::io::stderr(), "SKIPPED PostgreSQL: {reason}");
                    return;
                }
                other => other.unwrap().unwrap(),
            };
            let applied_to = shop.applied_to.map(|words| line(&words));
            assert_eq!(applied_to.is_some(), program.is_some(), "{applied_to:?}");
            if let Some((line, program)) = applied_to.zip(program) {
                assert!(line.ends_with(&format!("/{program} -D DATA")), "{line}");
            }
        }
    }

    #[test]
    fn options_are_passed_on_to_each_run() {
        let line = "dbt1 --mix ordering --browsers 3 --connections 2 --think-time 0 --duration 1s --durable";
        let options = requested_by(line).unwrap();
        let words = run(&options, ["--database".into(), "shop".into()]);
        let again = parse_command(&words).expect("it can be parsed");
        assert_eq!((again.mix, again.browsers, again.connections), (Dbt1Mix::Ordering, 3, Some(2)));
        assert_eq!((again.runs, again.durable, again.duration), (1, true, Duration::from_secs(1)));
        assert_eq!((again.think_time, again.warm_up), (Duration::ZERO, options.warm_up));
    }
}
