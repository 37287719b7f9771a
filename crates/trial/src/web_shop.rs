//! `unspin prove dbt1`: the database is populated once, and each run is one run of the benchmark on it.
//!
//! With SQLite the benchmark is the program, because the database is part of it. With PostgreSQL the program is the server, and the
//! benchmark is its load. `unspin-lab` populates the database, and says how the program is started.

use crate::preparation::{Preparation, PreparedProgram};
use crate::service::Service;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use unspin_launch::command::lab;
use unspin_launch::error::Error;
use unspin_launch::output::scratch::{DBT1, Scratch};
use unspin_launch::program::{Account, Program};
use unspin_report::shell_line;
use unspin_sys::creds::Creds;

/// Time for the start and the stop of the server. Its start may have to recover what a killed one has left.
const LIMIT: Duration = Duration::from_secs(60);

/// What `prove` has to prepare for a command line of `dbt1`: a populated database. None if it is another program, or names a server
/// that runs already: then the benchmark itself is judged.
pub fn preparation(command: &[OsString]) -> Option<Preparation> {
    let is_url = |word: &OsString| word.to_string_lossy().contains("://");
    let can_be_prepared = command.first()? == "dbt1" && !command.iter().any(is_url);
    let command = command.to_vec();
    can_be_prepared.then(|| Preparation {
        phase: "populating the database, once for all runs",
        prepare: Box::new(move |stop| prepare(&command, stop)),
    })
}

/// Populates the database of a command line. None if `stop` was set meanwhile.
///
/// With SQLite the benchmark is the program. With PostgreSQL the server is the program, and the benchmark is its load. A plan is
/// applied to the benchmark, which makes a database, or to a server of the user.
fn prepare(command: &[OsString], stop: &AtomicBool) -> Result<Option<PreparedProgram>, Error> {
    let scratch = Scratch::on_disk(DBT1, Creds::current().uid)?;
    let question = ["prepare-shop".into(), scratch.folder().into()];
    let question: Vec<OsString> = question.into_iter().chain(command.iter().cloned()).collect();
    let Some(answer) = lab::ask("dbt1", &question, stop)? else { return Ok(None) };
    let answer = Answer::parse(&answer)?;
    let prepared = |program: Program| PreparedProgram {
        program,
        service: None,
        workload: "dbt1",
        applied_to: None,
        scratch,
    };
    let run = answer.all("run");
    // A wrong command line, which the benchmark says itself.
    if run.is_empty() {
        return Ok(Some(prepared(Program::find(command)?)));
    }
    let run = Program::find(&run)?;
    let server = answer.all("server");
    if server.is_empty() {
        return Ok(Some(prepared(run)));
    }
    let server = Program::find(&server)?;
    let load: Vec<OsString> = [run.path.into_os_string()].into_iter().chain(run.arguments).collect();
    let withheld = answer.all("withheld");
    let service = Service {
        ready: line(&answer.all("ready")),
        load: line(&load),
        stop: None,
        ready_limit: LIMIT,
        stop_limit: LIMIT,
        withheld: withheld.clone(),
    };
    let applied_to = Some(vec![server.name.clone(), "-D".into(), "DATA".into()]);
    let program = Program { account: answer.account()?, withheld, ..server };
    Ok(Some(PreparedProgram { service: Some(service), applied_to, ..prepared(program) }))
}

/// The first word of an answer of `unspin-lab`, with the version of its format: `crates/lab/src/dbt1/shop.rs` describes it.
const ANSWER: &str = "unspin-lab.shop/1";

/// The words `KEY=VALUE` of an answer.
struct Answer<'a>(Vec<&'a [u8]>);

impl Answer<'_> {
    fn parse(bytes: &[u8]) -> Result<Answer<'_>, Error> {
        let mut words = bytes.split(|&byte| byte == 0);
        match words.next() == Some(ANSWER.as_bytes()) {
            true => Ok(Answer(words.collect())),
            false => Err(another_version()),
        }
    }

    /// The values of a key.
    fn all(&self, key: &str) -> Vec<OsString> {
        let values = self.0.iter().filter_map(|word| word.strip_prefix(key.as_bytes())?.strip_prefix(b"="));
        values.map(|value| OsStr::from_bytes(value).to_owned()).collect()
    }

    /// The user that the server must run as; none for ours.
    fn account(&self) -> Result<Option<Account>, Error> {
        let number = |key: &str| self.all(key).first().map(|value| value.to_string_lossy().parse());
        match (number("uid"), number("gid")) {
            (None, None) => Ok(None),
            (Some(Ok(uid)), Some(Ok(gid))) => Ok(Some(Account { uid, gid })),
            _ => Err(another_version()),
        }
    }
}

fn another_version() -> Error {
    Error::CannotRun(
        "dbt1: unspin-lab is of another version than unspin: cargo install --path crates/lab".into(),
    )
}

fn line(words: &[OsString]) -> String {
    shell_line(&words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn only_databases_that_can_be_prepared_are_prepared() {
        assert!(preparation(&words("dbt1 --db postgres")).is_some() && preparation(&words("dbt1")).is_some());
        for other in ["./dbt1", "semopbench", "dbt1 --db postgres://a@b/c"] {
            assert!(preparation(&words(other)).is_none(), "{other}");
        }
    }

    #[test]
    fn answer_of_another_version_is_an_error() {
        assert!(Answer::parse(b"").is_err() && Answer::parse(b"unspin-lab.shop/2\0run=dbt1\0").is_err());
        let answer = Answer::parse(b"unspin-lab.shop/1\0run=dbt1\0run=--db=\xff\0uid=7\0").unwrap();
        assert_eq!(answer.all("run"), ["dbt1".as_ref(), OsStr::from_bytes(b"--db=\xff")]);
        assert!(answer.account().is_err(), "a user without a group");
    }
}
