//! PostgreSQL: a session is a connection to a server, by the library tokio-postgres.
//!
//! Each message to a server costs both sides a system call and a wake-up. So the begin of a transaction and statements without a
//! result are sent together with the next statement that has one, or with the commit.
//!
//! A session has a tokio runtime of its own, which works only while the session's thread waits for an answer. No other thread takes
//! part, so an answer wakes the thread that waits for it.

use crate::database::{Access, Database, Failure, Session};
use crate::options::Durability;
use crate::schema::Table;
use crate::value::{Row, Value};
use bytes::{Bytes, BytesMut};
use futures_util::future::{join, join_all};
use futures_util::{SinkExt, TryStreamExt};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::collections::HashMap;
use std::error::Error as StdError;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, Error, NoTls, Statement};

/// A database of a server that runs.
#[derive(Debug)]
pub struct Postgres<'s> {
    config: Config,
    version: String,
    durability: Durability,
    /// Set when the benchmark shall end: then no session waits for an answer any more.
    stop: &'s AtomicBool,
}

impl<'s> Postgres<'s> {
    /// Connects once, to see whether that is possible.
    pub fn reach(
        config: Config,
        durability: Durability,
        stop: &'s AtomicBool,
    ) -> Result<Postgres<'s>, Failure> {
        let mut session = PostgresSession::open(&config, stop)?;
        let rows = session.query("SHOW server_version", &[])?;
        let version = rows.first().map_or(String::new(), |row| row.text(0).to_owned());
        allow_descriptors();
        Ok(Postgres { config, version, durability, stop })
    }
}

/// Raises the limit of open files as far as is permitted: a connection needs four.
fn allow_descriptors() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // If this fails, the connection that gets no descriptor reports it.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

impl Database for Postgres<'_> {
    fn name(&self) -> String {
        let version = self.version.split_whitespace().next().unwrap_or_default();
        format!("PostgreSQL {version}")
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>, Failure> {
        let mut session = PostgresSession::open(&self.config, self.stop)?;
        session.run_script(match self.durability {
            Durability::Relaxed => "SET synchronous_commit = off",
            Durability::Full => "SET synchronous_commit = on",
        })?;
        Ok(Box::new(session))
    }
}

struct PostgresSession<'s> {
    link: Link<'s>,
    client: Client,
    /// Prepared statements by the address of their text, which lives as long as the program.
    statements: HashMap<usize, Statement>,
    /// A transaction that the caller has begun. The server does not know it yet.
    begins: Option<Access>,
    /// Statements that have not been sent, with their parameters.
    collected: Vec<(Statement, Vec<Value>)>,
}

/// What waits for the answers of the server.
struct Link<'s> {
    runtime: Runtime,
    stop: &'s AtomicBool,
}

/// Maximum time from the stop of the benchmark to the end of a wait for an answer.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of rows that are sent at once.
const COPIED: usize = 64 << 10;

impl Link<'_> {
    /// Waits for an answer, or until the benchmark shall end.
    fn wait<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
        self.runtime.block_on(async {
            let mut answer = pin!(answer);
            loop {
                // Relaxed: the flag guards no other data.
                if self.stop.load(Ordering::Relaxed) {
                    return Err(Failure::Interrupted);
                }
                if let Ok(outcome) = timeout(LOOK, answer.as_mut()).await {
                    return outcome.map_err(|error| failure(&error));
                }
            }
        })
    }
}

impl<'s> PostgresSession<'s> {
    fn open(config: &Config, stop: &'s AtomicBool) -> Result<PostgresSession<'s>, Failure> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| {
            Failure::Refused(format!("{error} (more of ulimit -n, or fewer connections)"))
        })?;
        let link = Link { runtime, stop };
        let (client, connection) = link.wait(config.connect(NoTls))?;
        // The statement that waits for an answer returns the error of the connection. The task ends with the runtime.
        drop(link.runtime.spawn(connection));
        Ok(PostgresSession { link, client, statements: HashMap::new(), begins: None, collected: Vec::new() })
    }

    /// The statement, prepared at its first use.
    fn prepare(&mut self, text: &'static str) -> Result<Statement, Failure> {
        let address = text.as_ptr() as usize;
        if let Some(statement) = self.statements.get(&address) {
            return Ok(statement.clone());
        }
        let statement = self.link.wait(self.client.prepare(text))?;
        self.statements.insert(address, statement.clone());
        Ok(statement)
    }

    /// Prepares a statement, and before it collects the begin of the transaction.
    fn next(&mut self, text: &'static str) -> Result<Statement, Failure> {
        let begin = match self.begins {
            Some(Access::Read) => Some("BEGIN READ ONLY"),
            Some(Access::Write) => Some("BEGIN"),
            None => None,
        };
        if let Some(begin) = begin {
            let begin = self.prepare(begin)?;
            self.collected.push((begin, Vec::new()));
            self.begins = None;
        }
        self.prepare(text)
    }

    /// Sends what has been collected, and then a statement. The server gets them together.
    fn send(&mut self, statement: &Statement, parameters: &[Value]) -> Result<Vec<Row>, Failure> {
        let collected = std::mem::take(&mut self.collected);
        let client = &self.client;
        self.link.wait(async {
            // Both are sent when they are polled first, in this order.
            let before = join_all(collected.iter().map(|(sent, values)| client.execute_raw(sent, values)));
            let rows = async { client.query_raw(statement, parameters).await?.try_collect::<Vec<_>>().await };
            let (before, rows) = join(before, rows).await;
            // The first failure is the cause of those that follow.
            before.into_iter().collect::<Result<Vec<u64>, Error>>()?;
            rows?.iter().map(to_row).collect()
        })
    }
}

impl Session for PostgresSession<'_> {
    fn begin(&mut self, access: Access) -> Result<(), Failure> {
        self.begins = Some(access);
        Ok(())
    }

    fn query(&mut self, statement: &'static str, parameters: &[Value]) -> Result<Vec<Row>, Failure> {
        let statement = self.next(statement)?;
        self.send(&statement, parameters)
    }

    fn execute(&mut self, statement: &'static str, parameters: &[Value]) -> Result<(), Failure> {
        let statement = self.next(statement)?;
        self.collected.push((statement, parameters.to_vec()));
        Ok(())
    }

    // After a failed statement the server answers COMMIT with a roll-back and no error. The statement has returned its
    // failure already.
    fn commit(&mut self) -> Result<(), Failure> {
        if self.begins.take().is_some() {
            return Ok(());
        }
        let commit = self.prepare("COMMIT")?;
        self.send(&commit, &[]).map(drop)
    }

    fn roll_back(&mut self) {
        self.collected.clear();
        if self.begins.take().is_none() {
            // If that fails, the connection is lost, and the next statement says so.
            let _ = self.run_script("ROLLBACK");
        }
    }

    fn run_script(&mut self, script: &str) -> Result<(), Failure> {
        self.link.wait(self.client.batch_execute(script))
    }

    fn load(&mut self, table: &Table, rows: &mut dyn Iterator<Item = Vec<Value>>) -> Result<(), Failure> {
        let statement = format!("COPY {} FROM STDIN", table.name);
        let mut copied = pin!(self.link.wait(self.client.copy_in::<_, Bytes>(&statement))?);
        let mut lines = String::new();
        for row in rows {
            write_line(&mut lines, &row);
            if lines.len() >= COPIED {
                self.link.wait(copied.send(std::mem::take(&mut lines).into()))?;
            }
        }
        self.link.wait(copied.send(lines.into()))?;
        self.link.wait(copied.as_mut().finish()).map(drop)
    }
}

/// A row in the text format of COPY. No text of ours has a backslash, tab or line feed.
fn write_line(line: &mut String, row: &[Value]) {
    for (index, value) in row.iter().enumerate() {
        if index > 0 {
            line.push('\t');
        }
        match value {
            Value::Int(number) => line.push_str(&number.to_string()),
            Value::Text(text) => {
                assert!(!text.contains(['\\', '\t', '\n']), "{text:?} needs escapes");
                line.push_str(text);
            }
        }
    }
    line.push('\n');
}

fn to_row(row: &tokio_postgres::Row) -> Result<Row, Error> {
    (0..row.len()).map(|column| row.try_get(column)).collect::<Result<_, _>>().map(Row)
}

/// Whether a column of this type is a number of ours, or a text.
fn is_ours(kind: &Type) -> bool {
    *kind == Type::INT8 || <&str as FromSql>::accepts(kind)
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, bytes: &'a [u8]) -> Result<Value, Box<dyn StdError + Sync + Send>> {
        match *kind {
            Type::INT8 => i64::from_sql(kind, bytes).map(Value::Int),
            _ => String::from_sql(kind, bytes).map(Value::Text),
        }
    }

    fn accepts(kind: &Type) -> bool {
        is_ours(kind)
    }
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Value::Int(number) => number.to_sql_checked(kind, out),
            Value::Text(text) => text.to_sql_checked(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        is_ours(kind)
    }

    to_sql_checked!();
}

/// By the codes of Appendix A of PostgreSQL's manual.
fn failure(error: &Error) -> Failure {
    let Some(refused) = error.as_db_error() else {
        // The server has said nothing: it could not be reached, or is gone.
        let cause = error.source();
        let text = cause.map_or_else(|| error.to_string(), ToString::to_string);
        return match error.is_closed() || cause.is_some_and(|cause| cause.is::<std::io::Error>()) {
            true => Failure::Lost(text),
            false => Failure::Refused(text),
        };
    };
    let text = refused.message().to_owned();
    match *refused.code() {
        SqlState::T_R_SERIALIZATION_FAILURE | SqlState::T_R_DEADLOCK_DETECTED => Failure::Conflict(text),
        SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
            Failure::Lost(text)
        }
        SqlState::DISK_FULL => Failure::Full(text),
        _ => Failure::Refused(text),
    }
}
