//! `unspin prove dbt1`: the database is populated once, and each run is one run of the benchmark on it.
//!
//! With SQLite the benchmark is the program, because the database is part of it. With PostgreSQL the program is the server, and the
//! benchmark is its load. `unspin-lab` populates the database, and says how the program is started.

use super::service::Service;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use unspin_launch::error::Error;
use unspin_launch::lab;
use unspin_launch::program::{Account, Program};
use unspin_launch::scratch::{DBT1, Scratch};
use unspin_meter::shell_line;
use unspin_sys::creds::Creds;

/// What is judged, on a populated database.
pub struct WebShop {
    /// The benchmark, or the server.
    pub program: Program,
    /// The benchmark as the load of the server; none with SQLite.
    pub service: Option<Service>,
    /// A command to which a plan can be applied when the database is gone: a server of the user. None for the benchmark itself, which
    /// makes a database.
    pub applied_to: Option<Vec<OsString>>,
    /// Has the database, until this is dropped.
    _scratch: Scratch,
}

/// Time for the start and the stop of the server. Its start may have to recover what a killed one has left.
const LIMIT: Duration = Duration::from_secs(60);

/// The command line of a `dbt1` whose database can be prepared. None if it is another program, or names a server that runs already:
/// then the benchmark itself is judged.
pub fn requested(command: &[OsString]) -> Option<&[OsString]> {
    let is_url = |word: &OsString| word.to_string_lossy().contains("://");
    (command.first()? == "dbt1" && !command.iter().any(is_url)).then_some(command)
}

/// What came of the preparation.
pub enum Preparation {
    /// The database is populated.
    Done(Box<WebShop>),
    /// The command line is wrong, which the benchmark says itself.
    Refused,
    /// `stop` was set meanwhile.
    Interrupted,
}

impl WebShop {
    /// Populates the database of a command line.
    pub fn prepare(command: &[OsString], stop: &AtomicBool) -> Result<Preparation, Error> {
        let scratch = Scratch::on_disk(DBT1, Creds::current().uid)?;
        let question = ["prepare-shop".into(), scratch.folder().into()];
        let question: Vec<OsString> = question.into_iter().chain(command.iter().cloned()).collect();
        let Some(answer) = lab::ask("dbt1", &question, stop)? else { return Ok(Preparation::Interrupted) };
        let answer = Answer::parse(&answer)?;
        let run = answer.all("run");
        if run.is_empty() {
            return Ok(Preparation::Refused);
        }
        let run = Program::find(&run)?;
        let server = answer.all("server");
        if server.is_empty() {
            let shop = WebShop { program: run, service: None, applied_to: None, _scratch: scratch };
            return Ok(Preparation::Done(Box::new(shop)));
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
        let shop = WebShop { program, service: Some(service), applied_to, _scratch: scratch };
        Ok(Preparation::Done(Box::new(shop)))
    }
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
    Error::Environment(
        "dbt1: unspin-lab is of another version than unspin: cargo install --path crates/lab".into(),
    )
}

fn line(words: &[OsString]) -> String {
    shell_line(&words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn only_databases_that_can_be_prepared_are_requested() {
        assert!(requested(&words("dbt1 --db postgres")).is_some() && requested(&words("dbt1")).is_some());
        for other in ["./dbt1", "semopbench", "dbt1 --db postgres://a@b/c"] {
            assert!(requested(&words(other)).is_none(), "{other}");
        }
    }

    #[test]
    fn wrong_command_line_is_refused() {
        let refused = WebShop::prepare(&words("dbt1 --no-such"), &AtomicBool::new(false));
        assert!(matches!(refused, Ok(Preparation::Refused)));
    }

    #[test]
    fn answer_of_another_version_is_an_error() {
        assert!(Answer::parse(b"").is_err() && Answer::parse(b"unspin-lab.shop/2\0run=dbt1\0").is_err());
        let answer = Answer::parse(b"unspin-lab.shop/1\0run=dbt1\0run=--db=\xff\0uid=7\0").unwrap();
        assert_eq!(answer.all("run"), ["dbt1".as_ref(), OsStr::from_bytes(b"--db=\xff")]);
        assert!(answer.account().is_err(), "a user without a group");
    }

    #[test]
    fn plan_is_applied_to_no_database_of_the_session() {
        for (db, program) in [("sqlite", None), ("postgres", Some("postgres"))] {
            let command = words(&format!("dbt1 --db {db} --items 1000 --scale 1"));
            let prepared = match WebShop::prepare(&command, &AtomicBool::new(false)) {
                Err(Error::NotFound(reason)) => {
                    let _ = writeln!(std::io::stderr(), "SKIPPED PostgreSQL: {reason}");
                    return;
                }
                other => other.unwrap(),
            };
            let Preparation::Done(shop) = prepared else { panic!("{db}: it is not prepared") };
            let applied_to = shop.applied_to.map(|words| line(&words));
            assert_eq!(applied_to.is_some(), program.is_some(), "{applied_to:?}");
            if let Some((line, program)) = applied_to.zip(program) {
                assert!(line.ends_with(&format!("/{program} -D DATA")), "{line}");
            }
        }
    }
}
