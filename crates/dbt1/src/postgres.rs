//! PostgreSQL: a session is a connection to a server.

use crate::database::{Access, Database, Failure, Session};
use crate::options::Durability;
use crate::schema::Table;
use crate::value::{Row, Value};
use postgres::error::SqlState;
use postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use postgres::{Client, Config, NoTls, Statement};
use std::collections::HashMap;
use std::error::Error as StdError;
use std::io::Write;

/// A database of a server that runs.
#[derive(Debug)]
pub struct Postgres {
    config: Config,
    version: String,
    durability: Durability,
}

impl Postgres {
    /// Connects once, to see whether that is possible.
    pub fn reach(config: Config, durability: Durability) -> Result<Postgres, Failure> {
        let mut client = config.connect(NoTls).map_err(failure)?;
        let rows = client.query("SHOW server_version", &[]).map_err(failure)?;
        Ok(Postgres { config, version: rows[0].get(0), durability })
    }
}

impl Database for Postgres {
    fn name(&self) -> String {
        let version = self.version.split_whitespace().next().unwrap_or_default();
        format!("PostgreSQL {version}")
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>, Failure> {
        let mut client = self.config.connect(NoTls).map_err(failure)?;
        let setting = match self.durability {
            Durability::Relaxed => "SET synchronous_commit = off",
            Durability::Full => "SET synchronous_commit = on",
        };
        client.batch_execute(setting).map_err(failure)?;
        Ok(Box::new(PostgresSession { client, statements: HashMap::new() }))
    }
}

struct PostgresSession {
    client: Client,
    /// Prepared statements by their text.
    statements: HashMap<&'static str, Statement>,
}

impl PostgresSession {
    fn rows(&mut self, text: &'static str, parameters: &[Value]) -> Result<Vec<Row>, postgres::Error> {
        let statement = match self.statements.get(text) {
            Some(statement) => statement.clone(),
            None => {
                let statement = self.client.prepare(text)?;
                self.statements.insert(text, statement.clone());
                statement
            }
        };
        let parameters: Vec<&(dyn ToSql + Sync)> = parameters.iter().map(|value| value as _).collect();
        let rows = self.client.query(&statement, &parameters)?;
        rows.iter().map(owned).collect()
    }

    fn copy(&mut self, table: &Table, rows: &mut dyn Iterator<Item = Vec<Value>>) -> Result<(), Failure> {
        let copied = self.client.copy_in(&format!("COPY {} FROM STDIN", table.name));
        let mut writer = copied.map_err(failure)?;
        let mut line = String::new();
        for row in rows {
            line.clear();
            write_line(&mut line, &row);
            writer.write_all(line.as_bytes()).map_err(|error| Failure::Lost(error.to_string()))?;
        }
        writer.finish().map(drop).map_err(failure)
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

impl Session for PostgresSession {
    fn begin(&mut self, access: Access) -> Result<(), Failure> {
        let statement = match access {
            Access::Read => "BEGIN READ ONLY",
            Access::Write => "BEGIN",
        };
        self.client.batch_execute(statement).map_err(failure)
    }

    fn query(&mut self, statement: &'static str, parameters: &[Value]) -> Result<Vec<Row>, Failure> {
        self.rows(statement, parameters).map_err(failure)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.client.batch_execute("COMMIT").map_err(failure)
    }

    fn roll_back(&mut self) {
        // If that fails, the connection is lost, and the next statement says so.
        let _ = self.client.batch_execute("ROLLBACK");
    }

    fn run_script(&mut self, script: &str) -> Result<(), Failure> {
        self.client.batch_execute(script).map_err(failure)
    }

    fn load(&mut self, table: &Table, rows: &mut dyn Iterator<Item = Vec<Value>>) -> Result<(), Failure> {
        self.copy(table, rows)
    }
}

fn owned(row: &postgres::Row) -> Result<Row, postgres::Error> {
    let value = |(index, column): (usize, &postgres::Column)| match *column.type_() {
        Type::INT8 => row.try_get(index).map(Value::Int),
        _ => row.try_get(index).map(Value::Text),
    };
    row.columns().iter().enumerate().map(value).collect::<Result<_, _>>().map(Row)
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Value::Int(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        <i64 as ToSql>::accepts(kind) || <String as ToSql>::accepts(kind)
    }

    to_sql_checked!();
}

#[expect(clippy::needless_pass_by_value, reason = "it is used in map_err")]
fn failure(error: postgres::Error) -> Failure {
    let Some(refused) = error.as_db_error() else {
        // The server has said nothing: it could not be reached, or is gone.
        let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        return match error.is_closed() || error.source().is_some_and(|cause| cause.is::<std::io::Error>()) {
            true => Failure::Lost(cause),
            false => Failure::Refused(error.to_string()),
        };
    };
    let text = refused.message().to_owned();
    let conflicts = [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED];
    let ends = [&SqlState::ADMIN_SHUTDOWN, &SqlState::CRASH_SHUTDOWN, &SqlState::CANNOT_CONNECT_NOW];
    match refused.code() {
        code if conflicts.contains(&code) => Failure::Conflict(text),
        code if ends.contains(&code) => Failure::Lost(text),
        &SqlState::DISK_FULL => Failure::Full(text),
        _ => Failure::Refused(text),
    }
}
