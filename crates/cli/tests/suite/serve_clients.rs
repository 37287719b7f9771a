//! `unspin meter --serve`: clients that are slow, wrong, or too many.

use crate::common::served::Served;
use crate::common::wait_until;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A client that sends nothing, half a request, or too much keeps no other from its answer.
#[test]
fn slow_and_wrong_clients_do_not_keep_others() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut served) = Served::start(&[], folder.path()) else { return };
    served.tell("rounds 2");
    let silent: Vec<_> = (0..10).map(|_| served.connect()).collect();
    let mut half = served.connect();
    half.write_all(b"GET /debug/pprof/mutex HTTP/1.1\r\nHo").unwrap();
    // It asks for an hour, and does not wait.
    let mut hour = served.connect();
    hour.write_all(b"GET /debug/pprof/mutex?seconds=3600 HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert_eq!(served.get("/metrics").status, 200);
    for method in ["POST", "PUT", "DELETE"] {
        let reply = served.request(&format!(
            "{method} /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
        ));
        assert_eq!(reply.status, 405, "{method}");
        assert!(reply.head.contains("Allow: GET, HEAD"), "{}", reply.head);
    }
    let long = format!("GET /{} HTTP/1.1\r\n", "a".repeat(100_000));
    assert_eq!(served.request(&long).status, 431);
    let rebound = served.request("GET /metrics HTTP/1.1\r\nHost: evil.example:6060\r\n\r\n");
    assert_eq!(rebound.status, 421);
    drop(silent);
    // The half of a request comes to nothing after some seconds, with the connection's end.
    let mut nothing = Vec::new();
    half.read_to_end(&mut nothing).unwrap();
    assert!(nothing.is_empty());
    assert_eq!(served.get("/metrics").status, 200);
    assert_eq!(served.end().1, Some(7), "nobody waits for the hour");
}

/// Profiles of the next seconds keep no other request from its answer, and a request that is refused is answered in whole.
#[test]
fn refused_requests_are_answered_in_whole() {
    let folder = tempfile::tempdir().unwrap();
    let Some(served) = Served::start(&[], folder.path()) else { return };
    let next_hour =
        format!("GET /debug/pprof/mutex?seconds=3600 HTTP/1.1\r\nHost: {}\r\n\r\n", served.address);
    let mut pending: Vec<_> = (0..40).map(|_| served.connect()).collect();
    for stream in &mut pending {
        stream.write_all(next_hour.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    }
    let is_refused = |mut stream: &TcpStream| {
        let mut answer = String::new();
        let is_answered = stream.read_to_string(&mut answer).is_ok();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        let is_refusal = head.starts_with("HTTP/1.1 503 ") && head.contains("\r\nRetry-After: ");
        assert!(!is_answered || is_refusal && body.starts_with("too many "), "{answer}");
        is_answered
    };
    wait_until("all but four are refused", || {
        pending.retain(|stream| !is_refused(stream));
        pending.len() <= 4
    });
    assert_eq!(pending.len(), 4);
    wait_until("others are answered", || served.get("/metrics").status == 200);

    let mut silent = Vec::new();
    wait_until("all places are taken", || {
        silent.push(served.connect());
        let reply = served.get("/metrics");
        assert!(reply.status == 200 || reply.body == b"too many connections\n", "{}", reply.head);
        reply.status == 503
    });
    assert_eq!(served.end().1, Some(7));
}
