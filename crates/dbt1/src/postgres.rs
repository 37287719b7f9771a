//! PostgreSQL: a session is a connection to a server.
//!
//! Each message to a server costs both sides a system call and a wake-up. So the begin of a transaction and statements without a
//! result are sent together with the next statement that has one, or with the commit.

use crate::database::{Access, Database, Failure, Session};
use crate::options::Durability;
use crate::schema::Table;
use crate::value::{Row, Value};
use crate::wire::{Answer, Wire};
use bytes::BufMut;
use fallible_iterator::FallibleIterator;
use postgres::Config;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend::{self, BindError, CopyData};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

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
        let mut session = PostgresSession::open(&config)?;
        let rows = session.query("SHOW server_version", &[])?;
        let version = rows.first().map_or(String::new(), |row| row.text(0).to_owned());
        Ok(Postgres { config, version, durability })
    }
}

impl Database for Postgres {
    fn name(&self) -> String {
        let version = self.version.split_whitespace().next().unwrap_or_default();
        format!("PostgreSQL {version}")
    }

    fn connect(&self) -> Result<Box<dyn Session + '_>, Failure> {
        let mut session = PostgresSession::open(&self.config)?;
        session.run_script(match self.durability {
            Durability::Relaxed => "SET synchronous_commit = off",
            Durability::Full => "SET synchronous_commit = on",
        })?;
        Ok(Box::new(session))
    }
}

struct PostgresSession {
    wire: Wire,
    /// Prepared statements by the address of their text, which lives as long as the program.
    statements: HashMap<usize, Arc<Statement>>,
    /// A transaction that has begun for the caller, and not for the server.
    begins: Option<Access>,
}

#[derive(Debug)]
struct Statement {
    name: String,
    columns: Vec<ColumnType>,
}

#[derive(Clone, Copy, Debug)]
enum ColumnType {
    Int,
    Text,
}

/// Types of PostgreSQL: `int8` of pg_type.dat.
const INT8: u32 = 20;
/// The binary format of values.
const BINARY: i16 = 1;
/// Bytes of rows that are sent at once.
const COPIED: usize = 64 << 10;

impl PostgresSession {
    fn open(config: &Config) -> Result<PostgresSession, Failure> {
        Ok(PostgresSession { wire: Wire::connect(config)?, statements: HashMap::new(), begins: None })
    }
}

impl PostgresSession {
    /// The statement, prepared at its first use. What has been collected is sent before.
    fn prepared(&mut self, text: &'static str) -> Result<Arc<Statement>, Failure> {
        let address = text.as_ptr() as usize;
        if let Some(statement) = self.statements.get(&address) {
            return Ok(Arc::clone(statement));
        }
        let name = format!("s{}", self.statements.len());
        let out = &mut self.wire.out;
        frontend::parse(&name, text, [], out)
            .and_then(|()| frontend::describe(b'S', &name, out))
            .map_err(unencodable)?;
        frontend::sync(out);
        self.wire.send()?;
        let mut columns = Vec::new();
        let mut outcome = Ok(());
        loop {
            match self.wire.answer()? {
                Answer::Other(Message::RowDescription(body)) => {
                    let mut fields = body.fields();
                    while let Some(field) = fields.next().map_err(unencodable)? {
                        columns.push(match field.type_oid() {
                            INT8 => ColumnType::Int,
                            _ => ColumnType::Text,
                        });
                    }
                }
                Answer::Error(failure) if outcome.is_ok() => outcome = Err(failure),
                Answer::Ready => break,
                _ => {}
            }
        }
        outcome?;
        let statement = Arc::new(Statement { name, columns });
        self.statements.insert(address, Arc::clone(&statement));
        Ok(statement)
    }

    /// Adds the execution of a statement to what will be sent, and before it the begin of the transaction.
    fn collect(&mut self, text: &'static str, parameters: &[Value]) -> Result<Arc<Statement>, Failure> {
        match self.begins.take() {
            Some(Access::Read) => self.add("BEGIN READ ONLY", &[]).map(drop)?,
            Some(Access::Write) => self.add("BEGIN", &[]).map(drop)?,
            None => {}
        }
        self.add(text, parameters)
    }

    fn add(&mut self, text: &'static str, parameters: &[Value]) -> Result<Arc<Statement>, Failure> {
        let statement = self.prepared(text)?;
        let out = &mut self.wire.out;
        let value = |value: &Value, out: &mut bytes::BytesMut| {
            match value {
                Value::Int(number) => out.put_i64(*number),
                Value::Text(text) => out.put_slice(text.as_bytes()),
            }
            Ok(IsNull::No)
        };
        frontend::bind("", &statement.name, [BINARY], parameters, value, [BINARY], out).map_err(|error| {
            match error {
                BindError::Conversion(error) => Failure::Refused(error.to_string()),
                BindError::Serialization(error) => unencodable(error),
            }
        })?;
        frontend::execute("", 0, out).map_err(unencodable)?;
        Ok(statement)
    }

    /// Sends what has been collected. Returns what the last statement was.
    fn flush(&mut self, row: &mut dyn FnMut(&[u8]) -> Result<(), Failure>) -> Result<String, Failure> {
        frontend::sync(&mut self.wire.out);
        self.wire.send()?;
        self.wire.each(row)
    }

    fn simple(&mut self, script: &str) -> Result<(), Failure> {
        frontend::query(script, &mut self.wire.out).map_err(unencodable)?;
        self.wire.send()
    }
}

impl Session for PostgresSession {
    fn begin(&mut self, access: Access) -> Result<(), Failure> {
        self.begins = Some(access);
        Ok(())
    }

    fn query(&mut self, statement: &'static str, parameters: &[Value]) -> Result<Vec<Row>, Failure> {
        let statement = self.collect(statement, parameters)?;
        let mut rows = Vec::new();
        self.flush(&mut |body| {
            rows.push(decoded(body, &statement.columns)?);
            Ok(())
        })?;
        Ok(rows)
    }

    fn execute(&mut self, statement: &'static str, parameters: &[Value]) -> Result<(), Failure> {
        self.collect(statement, parameters).map(drop)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        if self.begins.take().is_some() {
            return Ok(());
        }
        self.add("COMMIT", &[])?;
        match &self.flush(&mut |_| Ok(()))?[..] {
            "COMMIT" => Ok(()),
            other => Err(Failure::Wrong(format!("the answer to COMMIT is {other}"))),
        }
    }

    fn roll_back(&mut self) {
        self.wire.out.clear();
        if self.begins.take().is_none() {
            // If that fails, the connection is lost, and the next statement says so.
            let _ = self.run_script("ROLLBACK");
        }
    }

    fn run_script(&mut self, script: &str) -> Result<(), Failure> {
        self.simple(script)?;
        self.wire.finish()
    }

    fn load(&mut self, table: &Table, rows: &mut dyn Iterator<Item = Vec<Value>>) -> Result<(), Failure> {
        self.simple(&format!("COPY {} FROM STDIN", table.name))?;
        match self.wire.answer()? {
            Answer::Other(Message::CopyInResponse(_)) => {}
            Answer::Error(failure) => {
                self.wire.finish()?;
                return Err(failure);
            }
            _ => return Err(Failure::Wrong("the answer to COPY is another message".into())),
        }
        let mut lines = String::new();
        for row in rows {
            write_line(&mut lines, &row);
            if lines.len() >= COPIED {
                self.copy(&mut lines)?;
            }
        }
        self.copy(&mut lines)?;
        frontend::copy_done(&mut self.wire.out);
        self.wire.send()?;
        self.wire.finish()
    }
}

impl PostgresSession {
    fn copy(&mut self, lines: &mut String) -> Result<(), Failure> {
        CopyData::new(lines.as_bytes()).map_err(unencodable)?.write(&mut self.wire.out);
        lines.clear();
        self.wire.send()
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

/// The body of DataRow: the number of columns, and for each its length and its bytes.
fn decoded(body: &[u8], columns: &[ColumnType]) -> Result<Row, Failure> {
    let mut rest = body.get(2..).ok_or_else(malformed)?;
    let mut row = Vec::with_capacity(columns.len());
    for column in columns {
        let (length, tail) = rest.split_first_chunk::<4>().ok_or_else(malformed)?;
        // A length of -1 means NULL, which no column of ours has.
        let length = usize::try_from(i32::from_be_bytes(*length)).map_err(|_| malformed())?;
        let (bytes, tail) = tail.split_at_checked(length).ok_or_else(malformed)?;
        rest = tail;
        row.push(match column {
            ColumnType::Int => Value::Int(i64::from_be_bytes(bytes.try_into().map_err(|_| malformed())?)),
            ColumnType::Text => Value::Text(std::str::from_utf8(bytes).map_err(|_| malformed())?.to_owned()),
        });
    }
    Ok(Row(row))
}

fn malformed() -> Failure {
    Failure::Wrong("a row has another form than the statement".into())
}

#[expect(clippy::needless_pass_by_value, reason = "it is used in map_err")]
fn unencodable(error: io::Error) -> Failure {
    Failure::Refused(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_rows_are_wrong_answers() {
        let columns = [ColumnType::Int, ColumnType::Text];
        let mut body = vec![0, 2, 0, 0, 0, 8];
        body.extend(7i64.to_be_bytes());
        body.extend([0, 0, 0, 1, b'x']);
        assert_eq!(decoded(&body, &columns), Ok(Row(vec![Value::Int(7), Value::Text("x".into())])));
        for end in 0..body.len() {
            assert_eq!(decoded(&body[..end], &columns), Err(malformed()), "{end}");
        }
        body[2..6].copy_from_slice(&(-1i32).to_be_bytes());
        assert_eq!(decoded(&body, &columns), Err(malformed()), "NULL");
    }
}
