//! The answer to a request.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The time that a client has to take an answer.
const WRITE_TIME: Duration = Duration::from_secs(20);
/// After the answer: the time until the client has closed the connection, and the bytes that it may still send.
const CLOSE_TIME: Duration = Duration::from_secs(1);
const REST_MAX: usize = 64 << 10;

/// The status of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    Ok,
    MovedPermanently,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    Misdirected,
    HeadTooLarge,
    Unavailable,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::MovedPermanently => "301 Moved Permanently",
            Status::BadRequest => "400 Bad Request",
            Status::NotFound => "404 Not Found",
            Status::MethodNotAllowed => "405 Method Not Allowed",
            Status::Misdirected => "421 Misdirected Request",
            Status::HeadTooLarge => "431 Request Header Fields Too Large",
            Status::Unavailable => "503 Service Unavailable",
        }
    }
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    pub status: Status,
    content_type: &'static str,
    /// Further headers, each with the end of its line.
    headers: String,
    body: Vec<u8>,
}

/// The type of texts.
const TEXT: &str = "text/plain; charset=utf-8";

impl Response {
    /// An answer with a body of this type.
    pub fn new(content_type: &'static str, body: impl Into<Vec<u8>>) -> Response {
        Response { status: Status::Ok, content_type, headers: String::new(), body: body.into() }
    }

    /// A text.
    pub fn text(body: String) -> Response {
        Response::new(TEXT, body)
    }

    /// A profile as a file of this name, as Go serves it.
    pub fn attachment(name: &str, body: Vec<u8>) -> Response {
        let headers = format!("Content-Disposition: attachment; filename=\"{name}\"\r\n");
        Response { headers, ..Response::new("application/octet-stream", body) }
    }

    /// Where the page is instead.
    pub fn moved(to: &'static str) -> Response {
        let headers = format!("Location: {to}\r\n");
        Response { status: Status::MovedPermanently, headers, ..Response::text(format!("{to}\n")) }
    }

    /// What is wrong, and what to do.
    pub fn error(status: Status, why: &str) -> Response {
        let headers = match status {
            Status::MethodNotAllowed => "Allow: GET, HEAD\r\n".into(),
            Status::Unavailable => "Retry-After: 1\r\n".into(),
            _ => String::new(),
        };
        Response { status, headers, ..Response::text(format!("{why}\n")) }
    }

    /// The answer without its body, of which the length stays.
    pub fn head(&self) -> Vec<u8> {
        let Response { status, content_type, headers, body } = self;
        let (status, length) = (status.line(), body.len());
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\
             X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\n{headers}\r\n"
        )
        .into_bytes()
    }

    /// Sends the answer and closes the connection.
    pub fn send(self, stream: &mut TcpStream, with: BodySent) -> io::Result<()> {
        let mut all = self.head();
        if with == BodySent::Yes {
            all.extend_from_slice(&self.body);
        }
        write_all(stream, &all)?;
        close(stream)
    }
}

/// Whether the body is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodySent {
    Yes,
    No,
}

/// Writes everything within the time, however the client reads.
fn write_all(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let until = Instant::now() + WRITE_TIME;
    while !bytes.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_write_timeout(Some(left))?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => bytes = &bytes[n..],
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Waits until the client has closed its side. If the socket was closed with something unread, the kernel would send a reset,
/// and the client could lose the answer.
fn close(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let (until, mut rest) = (Instant::now() + CLOSE_TIME, 0);
    let mut bytes = [0; 1024];
    while rest < REST_MAX {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut bytes) {
            Ok(0) | Err(_) => break,
            Ok(n) => rest += n,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_tells_type_length_and_end() {
        let head = |response: Response| String::from_utf8(response.head()).unwrap();
        let text = head(Response::attachment("mutex", vec![1, 2, 3]));
        assert!(text.starts_with(
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 3\r\n"
        ));
        assert!(
            text.ends_with(
                "Connection: close\r\nContent-Disposition: attachment; filename=\"mutex\"\r\n\r\n"
            )
        );
        assert!(head(Response::error(Status::MethodNotAllowed, "no")).contains("\r\nAllow: GET, HEAD\r\n"));
        assert!(head(Response::moved("/debug/pprof/")).contains("\r\nLocation: /debug/pprof/\r\n"));
    }
}
