//! A connection to a PostgreSQL server: messages of the protocol, version 3, over a socket that blocks.
//!
//! A transaction needs few system calls: messages are collected, sent together, and their answers read together. Rows are decoded in
//! the buffer into which they were read.

use crate::database::Failure;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres::Config;
use postgres::config::Host;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{ErrorResponseBody, Message};
use postgres_protocol::message::frontend;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

/// A connection.
pub struct Wire {
    socket: Box<dyn Socket>,
    /// Messages that have not been sent.
    pub out: BytesMut,
    /// The bytes that were read and are not decoded yet are at `at..end`; the rest is room.
    input: Vec<u8>,
    at: usize,
    end: usize,
}

trait Socket: Read + Write + Send {}
impl<S: Read + Write + Send> Socket for S {}

/// A message of the server.
pub enum Answer<'a> {
    /// A row of a result: the body of DataRow.
    Row(&'a [u8]),
    /// A statement has been executed; the text says which, such as `COMMIT`.
    Complete(String),
    /// The server waits for the next statement.
    Ready,
    /// A statement failed. The server ignores the messages until the next Sync.
    Error(Failure),
    /// Another message.
    Other(Message),
}

/// Port if the URL names none.
const PORT: u16 = 5432;
/// Least number of bytes for which there is room at each read.
const CHUNK: usize = 32 << 10;
/// Tag and length of a message.
const HEADER: usize = 5;

impl Wire {
    /// Connects and authenticates. The session has the encoding UTF-8.
    pub fn connect(config: &Config) -> Result<Wire, Failure> {
        let mut wire =
            Wire { socket: socket(config)?, out: BytesMut::new(), input: Vec::new(), at: 0, end: 0 };
        let user = config.get_user().unwrap_or("postgres");
        let parameters =
            [("client_encoding", "UTF8"), ("user", user), ("database", config.get_dbname().unwrap_or(user))];
        frontend::startup_message(parameters, &mut wire.out).map_err(connection_lost)?;
        wire.send()?;
        wire.authenticate(user, config.get_password())?;
        wire.finish()?;
        Ok(wire)
    }

    fn authenticate(&mut self, user: &str, password: Option<&[u8]>) -> Result<(), Failure> {
        let needed =
            || password.ok_or_else(|| Failure::Refused("it asks for a password: add it to the URL".into()));
        let mut scram = None;
        loop {
            match self.answer()? {
                Answer::Error(failure) => return Err(failure),
                Answer::Other(Message::AuthenticationOk) => return Ok(()),
                Answer::Other(Message::AuthenticationCleartextPassword) => {
                    frontend::password_message(needed()?, &mut self.out).map_err(connection_lost)?;
                }
                Answer::Other(Message::AuthenticationMd5Password(body)) => {
                    let hash = md5_hash(user.as_bytes(), needed()?, body.salt());
                    frontend::password_message(hash.as_bytes(), &mut self.out).map_err(connection_lost)?;
                }
                Answer::Other(Message::AuthenticationSasl(_)) => {
                    let begun = ScramSha256::new(needed()?, ChannelBinding::unsupported());
                    frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), &mut self.out)
                        .map_err(connection_lost)?;
                    scram = Some(begun);
                }
                Answer::Other(Message::AuthenticationSaslContinue(body)) => {
                    let begun = scram.as_mut().ok_or_else(unexpected_message)?;
                    begun.update(body.data()).map_err(connection_lost)?;
                    frontend::sasl_response(begun.message(), &mut self.out).map_err(connection_lost)?;
                }
                Answer::Other(Message::AuthenticationSaslFinal(body)) => {
                    scram.as_mut().ok_or_else(unexpected_message)?.finish(body.data()).map_err(connection_lost)?;
                }
                _ => {
                    return Err(Failure::Refused(
                        "it asks for an authentication other than by password".into(),
                    ));
                }
            }
            self.send()?;
        }
    }

    /// Sends the collected messages.
    pub fn send(&mut self) -> Result<(), Failure> {
        if self.out.is_empty() {
            return Ok(());
        }
        let sent = self.socket.write_all(&self.out);
        self.out.clear();
        // The server may have said why it has closed the connection.
        match sent {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(connection_lost(error)),
            _ => Ok(()),
        }
    }

    /// Reads up to the message ReadyForQuery. Returns the first failure.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.each(&mut |_| Ok(())).map(drop)
    }

    /// Reads up to the message ReadyForQuery, and passes on each row. Returns what the last statement was, or the first
    /// failure.
    pub fn each(&mut self, row: &mut dyn FnMut(&[u8]) -> Result<(), Failure>) -> Result<String, Failure> {
        let (mut outcome, mut last) = (Ok(()), String::new());
        loop {
            let answer = match self.answer() {
                Ok(answer) => answer,
                // The server's last message explains more than the closed connection.
                Err(closed) => return Err(outcome.err().unwrap_or(closed)),
            };
            match answer {
                Answer::Row(body) if outcome.is_ok() => outcome = row(body),
                Answer::Error(failure) if outcome.is_ok() => outcome = Err(failure),
                Answer::Complete(tag) => last = tag,
                Answer::Ready => return outcome.map(|()| last),
                _ => {}
            }
        }
    }

    /// The next message, without notices.
    pub fn answer(&mut self) -> Result<Answer<'_>, Failure> {
        loop {
            let (tag, body) = self.next()?;
            let bytes = &self.input[body.clone()];
            match tag {
                b'D' => return Ok(Answer::Row(&self.input[body])),
                b'C' => {
                    let text = bytes.strip_suffix(b"\0").unwrap_or(bytes);
                    return Ok(Answer::Complete(String::from_utf8_lossy(text).into_owned()));
                }
                b'Z' => return Ok(Answer::Ready),
                // BindComplete, and what the server says unasked: NoticeResponse, ParameterStatus, NotificationResponse.
                b'2' | b'N' | b'S' | b'A' => {}
                _ => {
                    let mut whole = BytesMut::from(&self.input[body.start - HEADER..body.end]);
                    let message = Message::parse(&mut whole).map_err(connection_lost)?.ok_or_else(unexpected_message)?;
                    return Ok(match message {
                        Message::ErrorResponse(body) => Answer::Error(refusal(&body)),
                        other => Answer::Other(other),
                    });
                }
            }
        }
    }

    /// Tag of the next message, and where its body is in `input`.
    fn next(&mut self) -> Result<(u8, std::ops::Range<usize>), Failure> {
        loop {
            let unread = &self.input[self.at..self.end];
            if let Some(header) = unread.first_chunk::<HEADER>() {
                let [tag, length @ ..] = *header;
                // The length includes itself.
                let end = 1 + u32::from_be_bytes(length) as usize;
                if end < HEADER {
                    return Err(unexpected_message());
                }
                if unread.len() >= end {
                    let body = self.at + HEADER..self.at + end;
                    self.at += end;
                    return Ok((tag, body));
                }
            }
            self.read()?;
        }
    }

    fn read(&mut self) -> Result<(), Failure> {
        self.input.copy_within(self.at..self.end, 0);
        (self.at, self.end) = (0, self.end - self.at);
        // Room is made and zeroed only for a message that is longer than all before.
        if self.input.len() - self.end < CHUNK {
            self.input.resize(self.end + 2 * CHUNK, 0);
        }
        let outcome = loop {
            match self.socket.read(&mut self.input[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        match outcome {
            Ok(0) => Err(Failure::Lost("connection closed".into())),
            Ok(count) => {
                self.end += count;
                Ok(())
            }
            Err(error) => Err(connection_lost(error)),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // A server that is gone needs no farewell.
        self.out.clear();
        frontend::terminate(&mut self.out);
        let _ = self.send();
    }
}

/// Connects to the first host of the list that can be reached.
fn socket(config: &Config) -> Result<Box<dyn Socket>, Failure> {
    let mut failure = Failure::Lost("the URL names no host".into());
    for (index, host) in config.get_hosts().iter().enumerate() {
        let ports = config.get_ports();
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(PORT);
        let reached: io::Result<Box<dyn Socket>> = match host {
            Host::Unix(folder) => UnixStream::connect(folder.join(format!(".s.PGSQL.{port}")))
                .map(|socket| Box::new(socket) as _),
            Host::Tcp(name) => TcpStream::connect((name.as_str(), port)).and_then(|socket| {
                socket.set_nodelay(true)?;
                Ok(Box::new(socket) as _)
            }),
        };
        match reached {
            Ok(socket) => return Ok(socket),
            Err(error) => failure = connection_lost(error),
        }
    }
    Err(failure)
}

#[expect(clippy::needless_pass_by_value, reason = "it is used in map_err")]
fn connection_lost(error: io::Error) -> Failure {
    Failure::Lost(error.to_string())
}

fn unexpected_message() -> Failure {
    Failure::Lost("the server sends a message that is not expected".into())
}

/// By the codes of Appendix A of PostgreSQL's manual.
fn refusal(body: &ErrorResponseBody) -> Failure {
    let (mut code, mut text) = (String::new(), String::new());
    let mut fields = body.fields();
    while let Ok(Some(field)) = fields.next() {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => code = value,
            b'M' => text = value,
            _ => {}
        }
    }
    match &code[..] {
        // serialization_failure, deadlock_detected
        "40001" | "40P01" => Failure::Conflict(text),
        // admin_shutdown, crash_shutdown, cannot_connect_now
        "57P01" | "57P02" | "57P03" => Failure::Lost(text),
        // disk_full
        "53100" => Failure::Full(text),
        _ => Failure::Refused(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that has said all it will say, and of which each read returns so many bytes at most.
    struct Script {
        said: Vec<u8>,
        each: usize,
    }

    impl Read for Script {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let count = self.each.min(to.len()).min(self.said.len());
            to[..count].copy_from_slice(&self.said[..count]);
            self.said.drain(..count);
            Ok(count)
        }
    }

    impl Write for Script {
        fn write(&mut self, from: &[u8]) -> io::Result<usize> {
            Ok(from.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn wire(messages: &[(u8, &[u8])], each: usize) -> Wire {
        let mut said = Vec::new();
        for (tag, body) in messages {
            said.push(*tag);
            said.extend((body.len() as u32 + 4).to_be_bytes());
            said.extend(*body);
        }
        let socket = Box::new(Script { said, each });
        Wire { socket, out: BytesMut::new(), input: Vec::new(), at: 0, end: 0 }
    }

    fn rows(wire: &mut Wire) -> Result<(Vec<Vec<u8>>, String), Failure> {
        let mut rows = Vec::new();
        let tag = wire.each(&mut |row| {
            rows.push(row.to_vec());
            Ok(())
        })?;
        Ok((rows, tag))
    }

    #[test]
    fn messages_are_read_whole_however_they_arrive() {
        let long = vec![b'x'; 3 * CHUNK];
        let messages: [(u8, &[u8]); 6] = [
            (b'2', b""),
            (b'D', b"one"),
            (b'N', b"SNOTICE\0\0"),
            (b'D', &long),
            (b'C', b"SELECT 2\0"),
            (b'Z', b"I"),
        ];
        for each in [1, 2, 7, CHUNK, usize::MAX] {
            let expected = (vec![b"one".to_vec(), long.clone()], "SELECT 2".to_owned());
            assert_eq!(rows(&mut wire(&messages, each)), Ok(expected), "{each}");
        }
    }

    #[test]
    fn first_failure_counts_and_the_connection_stays_in_step() {
        let error: &[u8] = b"C40P01\0Mdeadlock\0\0";
        let messages: [(u8, &[u8]); 5] =
            [(b'E', error), (b'Z', b"E"), (b'D', b"row"), (b'C', b"SELECT 1\0"), (b'Z', b"I")];
        let mut wire = wire(&messages, usize::MAX);
        assert_eq!(rows(&mut wire), Err(Failure::Conflict("deadlock".into())));
        assert_eq!(rows(&mut wire), Ok((vec![b"row".to_vec()], "SELECT 1".into())));
        assert_eq!(rows(&mut wire), Err(Failure::Lost("connection closed".into())));
    }

    /// A server that is shut down says so, and closes the connection.
    #[test]
    fn last_words_of_the_server_are_the_failure() {
        let error: &[u8] = b"C57P01\0Mterminating connection\0\0";
        let mut wire = wire(&[(b'E', error)], usize::MAX);
        assert_eq!(rows(&mut wire), Err(Failure::Lost("terminating connection".into())));
    }
}
