//! One request of a client.

use super::response::{Response, Status};
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};

/// Bytes that request line and headers may have. Prometheus sends some 400.
const HEAD_MAX: usize = 8 << 10;
/// Headers that a request may have.
const HEADERS_MAX: usize = 64;
/// The time in which they must have come.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// Whether the answer has a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// GET.
    Get,
    /// HEAD: as GET, without the body.
    Head,
}

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query; empty without one.
    query: String,
    /// The header `Accept`; empty without one.
    pub accept: String,
}

/// Which names a client may use for this server. A page that a browser shows can have the name of its own server stand for
/// this machine (DNS rebinding), and would then read what is served here. It cannot have an address in `Host`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostNames {
    /// Addresses and `localhost`.
    OfThisMachine,
    /// All: other machines reach the server anyway.
    Any,
}

/// No request.
#[derive(Debug)]
pub enum NoRequest {
    /// The client has closed the connection, or was too slow.
    Silent,
    /// The answer to what is no request that is served.
    Refused(Response),
}

impl Request {
    /// Reads a request from a connection.
    pub fn read(stream: &mut TcpStream, names: HostNames) -> Result<Request, NoRequest> {
        let until = Instant::now() + HEAD_TIME;
        let (mut head, mut filled) = (vec![0; HEAD_MAX], 0);
        loop {
            if let Some(request) = Request::parse(&head[..filled], names)? {
                return Ok(request);
            }
            if filled == HEAD_MAX {
                return Err(refuse(Status::HeadTooLarge, "the request has more than 8 KiB"));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
                return Err(NoRequest::Silent);
            }
            match stream.read(&mut head[filled..]) {
                Ok(0) => return Err(NoRequest::Silent),
                Ok(n) => filled += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(NoRequest::Silent),
            }
        }
    }

    /// The request that these bytes are; none if it is not complete.
    fn parse(bytes: &[u8], names: HostNames) -> Result<Option<Request>, NoRequest> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut parsed = httparse::Request::new(&mut headers);
        match parsed.parse(bytes) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(refuse(Status::HeadTooLarge, "the request has more than 64 headers"));
            }
            Err(_) => return Err(refuse(Status::BadRequest, "this is no request of HTTP/1")),
        }
        let method = match parsed.method {
            Some("GET") => Method::Get,
            Some("HEAD") => Method::Head,
            _ => return Err(refuse(Status::MethodNotAllowed, "only GET and HEAD are answered")),
        };
        let header = |name: &str| {
            let found = parsed.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
            found.map(|header| String::from_utf8_lossy(header.value).trim().to_owned())
        };
        let target = parsed.path.unwrap_or_default();
        let refused = refuse(Status::Misdirected, "use an address, or localhost, as the name of this server");
        match header("host") {
            Some(host) if names == HostNames::OfThisMachine && !is_of_this_machine(&host) => {
                return Err(refused);
            }
            // Every client of HTTP/1.1 sends it.
            None if parsed.version == Some(1) => {
                return Err(refuse(Status::BadRequest, "the request has no header Host"));
            }
            _ => {}
        }
        // The form that is sent to a proxy names a host, too.
        if !target.starts_with('/') {
            return Err(refuse(Status::BadRequest, "the request has no path"));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let accept = header("accept").unwrap_or_default();
        Ok(Some(Request { method, path: path.into(), query: query.into(), accept }))
    }

    /// A request for this target.
    #[cfg(test)]
    pub fn get(target: &str) -> Request {
        let text = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        Request::parse(text.as_bytes(), HostNames::OfThisMachine).unwrap().unwrap()
    }

    /// The value of a parameter of the query; none if it is not there or empty. The parameters that are served need no
    /// escapes.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(key, _)| *key == name).map(|(_, value)| value).find(|value| !value.is_empty())
    }
}

fn refuse(status: Status, why: &str) -> NoRequest {
    NoRequest::Refused(Response::error(status, why))
}

/// Whether the header `Host` has an address or `localhost`, with or without a port.
fn is_of_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if port.is_empty() || port.starts_with(':') => name,
            _ => return false,
        },
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Request>, NoRequest> {
        Request::parse(text.as_bytes(), HostNames::OfThisMachine)
    }

    fn status(text: &str) -> Status {
        match parse(text) {
            Err(NoRequest::Refused(response)) => response.status,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn request_is_read_with_its_parameters() {
        let text = "GET /debug/pprof/mutex?seconds=5&debug=&x HTTP/1.1\r\nHost: 127.0.0.1:6060\r\naccept: */* \r\n\r\n";
        let request = parse(text).unwrap().unwrap();
        assert_eq!((request.method, request.path.as_str()), (Method::Get, "/debug/pprof/mutex"));
        assert_eq!((request.parameter("seconds"), request.parameter("debug")), (Some("5"), None));
        assert_eq!(request.accept, "*/*");
        for end in 0..text.len() - 1 {
            assert!(parse(&text[..end]).unwrap().is_none(), "{end}");
        }
        assert!(parse("HEAD / HTTP/1.0\r\n\r\n").unwrap().is_some(), "HTTP/1.0 has no header Host");
    }

    #[test]
    fn names_of_other_servers_are_refused() {
        let get = |host: &str| format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n");
        for host in ["localhost", "LOCALHOST:6060", "127.0.0.1", "10.1.2.3:6060", "[::1]:6060", "[::1]"] {
            assert!(parse(&get(host)).unwrap().is_some(), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:6060",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "",
            "[::1].x",
        ] {
            assert_eq!(status(&get(host)), Status::Misdirected, "{host}");
            assert!(Request::parse(get(host).as_bytes(), HostNames::Any).is_ok(), "{host}");
        }
    }

    #[test]
    fn what_is_no_get_is_refused() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get"] {
            let text = format!("{method} /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
            assert_eq!(status(&text), Status::MethodNotAllowed, "{method}");
        }
        assert_eq!(status("GET /metrics HTTP/1.1\r\n\r\n"), Status::BadRequest);
        assert_eq!(
            status("GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            Status::BadRequest
        );
        assert_eq!(status("GET / HTTP/2.0\r\n\r\n"), Status::BadRequest);
        assert_eq!(status("\0\x01\x16\r\n"), Status::BadRequest);
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1));
        assert_eq!(status(&many), Status::HeadTooLarge);
    }
}
