//! SQLite, linked into the program.
//!
//! Each session is a connection of its own, so readers run in parallel (write-ahead log). SQLite has one writer at a time. A
//! second writer would sleep and try again, in growing intervals; here it waits for a mutex of the process instead. So the queue
//! of the writers is a pthread mutex, which unspin meters and replaces, as it does SQLite's own.

use crate::database::{Access, Database, Failure, Session};
use crate::options::Durability;
use crate::schema::Table;
use crate::value::{Row, Value};
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;
use unspin_workloads::libc_pthread::{Monitor, MonitorGuard};

/// A database in one file.
#[derive(Debug)]
pub struct Sqlite {
    file: PathBuf,
    durability: Durability,
    /// Held by the session that writes.
    writer: Pin<Box<Monitor<()>>>,
}

/// How long a statement waits for other processes that use the file. Writers of this process wait for the mutex instead.
const BUSY: Duration = Duration::from_secs(10);
/// The shop has some 50 statements.
const STATEMENTS: usize = 64;
/// KiB of pages that each connection keeps. SQLite's own 2 MiB hold no index of the default population.
const CACHE_KIB: i64 = 16 * 1024;

impl Sqlite {
    /// The database in `file`, which is created if there is none.
    pub fn new(file: &Path, durability: Durability) -> Sqlite {
        Sqlite { file: file.into(), durability, writer: Monitor::new((), 0) }
    }

    fn open(&self) -> Result<Connection, rusqlite::Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.file, flags)?;
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        let synchronous = match self.durability {
            Durability::Relaxed => "normal",
            Durability::Full => "full",
        };
        connection.pragma_update(None, "synchronous", synchronous)?;
        Ok(connection)
    }
}

impl Database for Sqlite {
    fn name(&self) -> String {
        format!("SQLite {}", rusqlite::version())
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>, Failure> {
        let connection = self.open().map_err(|error| self.failure(error))?;
        Ok(Box::new(SqliteSession { connection, database: self, writing: None }))
    }
}

impl Sqlite {
    fn failure(&self, error: rusqlite::Error) -> Failure {
        let text = format!("{}: {error}", self.file.display());
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Failure::Conflict(text),
            Some(ErrorCode::DiskFull) => Failure::Full(text),
            Some(ErrorCode::SystemIoFailure) => Failure::Lost(text),
            _ => Failure::Refused(text),
        }
    }
}

struct SqliteSession<'a> {
    connection: Connection,
    database: &'a Sqlite,
    /// The mutex of the writers, during a transaction that writes.
    writing: Option<MonitorGuard<'a, ()>>,
}

impl SqliteSession<'_> {
    fn run(&self, statement: &str) -> Result<(), rusqlite::Error> {
        self.connection.prepare_cached(statement)?.execute([]).map(drop)
    }

    fn rows(&self, statement: &str, parameters: &[Value]) -> Result<Vec<Row>, rusqlite::Error> {
        let mut statement = self.connection.prepare_cached(statement)?;
        let columns = statement.column_count();
        let mut rows = statement.query(params_from_iter(parameters))?;
        let mut result = Vec::new();
        while let Some(row) = rows.next()? {
            let values = (0..columns).map(|column| row.get_ref(column).map(to_value));
            result.push(Row(values.collect::<Result<_, _>>()?));
        }
        Ok(result)
    }

    fn load_rows(
        &self,
        table: &Table,
        rows: &mut dyn Iterator<Item = Vec<Value>>,
    ) -> Result<(), rusqlite::Error> {
        // A crash of the machine leaves a population that is not complete, and such a file is refused.
        self.connection.pragma_update(None, "synchronous", "off")?;
        let places = vec!["?"; table.columns.len()].join(",");
        let mut insert = self.connection.prepare(&format!("INSERT INTO {} VALUES ({places})", table.name))?;
        self.run("BEGIN IMMEDIATE")?;
        for row in rows {
            insert.execute(params_from_iter(row))?;
        }
        self.run("COMMIT")?;
        self.connection.pragma_update(None, "synchronous", "normal")
    }
}

impl Session for SqliteSession<'_> {
    fn begin(&mut self, access: Access) -> Result<(), Failure> {
        let statement = match access {
            Access::Read => "BEGIN DEFERRED",
            Access::Write => {
                self.writing = Some(self.database.writer.enter());
                "BEGIN IMMEDIATE"
            }
        };
        self.run(statement).map_err(|error| self.database.failure(error))
    }

    fn query(&mut self, statement: &'static str, parameters: &[Value]) -> Result<Vec<Row>, Failure> {
        self.rows(statement, parameters).map_err(|error| self.database.failure(error))
    }

    fn commit(&mut self) -> Result<(), Failure> {
        let result = self.run("COMMIT").map_err(|error| self.database.failure(error));
        if result.is_ok() {
            self.writing = None;
        }
        result
    }

    fn roll_back(&mut self) {
        if !self.connection.is_autocommit() {
            // If that fails, the connection is of no use, and the next statement says so.
            let _ = self.run("ROLLBACK");
        }
        self.writing = None;
    }

    fn run_script(&mut self, script: &str) -> Result<(), Failure> {
        self.connection.execute_batch(script).map_err(|error| self.database.failure(error))
    }

    fn load(&mut self, table: &Table, rows: &mut dyn Iterator<Item = Vec<Value>>) -> Result<(), Failure> {
        self.load_rows(table, rows).map_err(|error| self.database.failure(error))
    }
}

fn to_value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        other => panic!("a column has the type {}: all are numbers or texts", other.data_type()),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Int(number) => ToSqlOutput::from(*number),
            Value::Text(text) => ToSqlOutput::from(text.as_str()),
        })
    }
}
