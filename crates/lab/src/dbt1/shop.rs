//! What `unspin prove dbt1` asks for: a populated database, and how the program that is measured is started on it.
//!
//! With SQLite the benchmark is the program, because the database is part of it. With PostgreSQL the program is the server, and the
//! benchmark is its load. The answer, on standard output, is a list of words that end with NUL, because a path may have any other
//! byte. The first word is [`ANSWER`]. Of the others each is `KEY=VALUE`, and a key that stands several times has several values:
//!
//! ```text
//! run=WORD       the command line of a run of the benchmark; there is none if the command line of dbt1 is wrong
//! server=WORD    the command line of the server; none with SQLite
//! ready=WORD     a command that succeeds once the server answers
//! uid=, gid=     user and group that the server must run as; none for ours
//! withheld=NAME  variables of the environment that neither the server nor these commands may have
//! ```

use super::{INTERRUPTED, benchmark_error, translate};
use crate::options::{Command, CommandLine, Dbt1Mix, Dbt1Options, LabCommand, PrepareShopOptions};
use clap::Parser;
use signal_hook::consts::SIGTERM;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use unspin_dbt1::{Cluster, Options, Prepared, withheld};
use unspin_launch::error::Error;
use unspin_launch::output::stdout;

/// The first word of an answer, with the version of its format.
const ANSWER: &str = "unspin-lab.shop/1";

/// Populates the database of a command line of `dbt1`, and prints the answer. SIGTERM ends it soon.
pub fn prepare(request: &PrepareShopOptions) -> Result<ExitCode, Error> {
    let mut answer = Answer::default();
    let Some(options) = requested(&request.command) else { return answer.print() };
    let translated = translate(&options)?;
    let stop = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGTERM, Arc::clone(&stop))
        .map_err(|e| Error::failed("SIGTERM cannot be caught", &e))?;
    match unspin_dbt1::prepare(&translated, &request.folder, &stop) {
        Ok(Prepared::Sqlite(file)) => answer.add("run", run(&options, ["--database".into(), file.into()])),
        Ok(Prepared::Postgres(cluster)) => answer.add_server(&options, &translated, &cluster),
        Err(unspin_dbt1::Error::Interrupted) => return Ok(ExitCode::from(INTERRUPTED)),
        Err(error) => return Err(benchmark_error(error)),
    }
    answer.print()
}

/// The options of a command line of `dbt1`; none if it is wrong, or names a server that runs already.
fn requested(command: &[OsString]) -> Option<Dbt1Options> {
    let words = [OsString::from("unspin")].into_iter().chain(command.iter().cloned());
    match CommandLine::try_parse_from(words) {
        Ok(CommandLine { command: Command::Lab(LabCommand::Dbt1(options)) })
            if !options.db.contains("://") =>
        {
            Some(options)
        }
        _ => None,
    }
}

/// What is printed.
#[derive(Default)]
struct Answer(Vec<u8>);

impl Answer {
    fn add(&mut self, key: &str, words: impl IntoIterator<Item = OsString>) {
        for word in words {
            self.0.extend([key.as_bytes(), b"=", word.as_bytes(), b"\0"].concat());
        }
    }

    fn add_server(&mut self, options: &Dbt1Options, translated: &Options, cluster: &Cluster) {
        self.add("run", run(options, ["--db".into(), cluster.url().into()]));
        self.add("server", cluster.command_line(translated));
        self.add("ready", cluster.ready());
        if let Some((uid, gid)) = cluster.account() {
            self.add("uid", [uid.to_string().into()]);
            self.add("gid", [gid.to_string().into()]);
        }
        self.add("withheld", withheld());
    }

    fn print(&self) -> Result<ExitCode, Error> {
        stdout::write(&[ANSWER.as_bytes(), b"\0", &self.0].concat())?;
        Ok(ExitCode::SUCCESS)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn requested_by(line: &str) -> Option<Dbt1Options> {
        requested(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn only_databases_that_can_be_prepared_are_prepared() {
        assert!(requested_by("dbt1 --db postgres").is_some() && requested_by("dbt1").is_some());
        for other in ["volano", "dbt1 --db postgres://a@b/c", "dbt1 --no-such"] {
            assert!(requested_by(other).is_none(), "{other}");
        }
    }

    #[test]
    fn options_are_passed_on_to_each_run() {
        let line = "dbt1 --mix ordering --browsers 3 --connections 2 --think-time 0 --duration 1s --durable";
        let options = requested_by(line).unwrap();
        let words = run(&options, ["--database".into(), "shop".into()]);
        let again = requested(&words).expect("it can be parsed");
        assert_eq!((again.mix, again.browsers, again.connections), (Dbt1Mix::Ordering, 3, Some(2)));
        assert_eq!((again.runs, again.durable, again.duration), (1, true, Duration::from_secs(1)));
        assert_eq!((again.think_time, again.warm_up), (Duration::ZERO, options.warm_up));
    }
}
