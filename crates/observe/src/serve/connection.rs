//! One connection: a request and its answer, in a thread of its own.

use super::endpoint::Endpoint;
use super::profile_name::ProfileName;
use super::reader::{Answer, Asked, Question};
use super::request::{HostNames, Method, NoRequest, Request};
use super::response::{BodySent, Response, Status};
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Connections that are served at a time. Prometheus and a server of profiles take three.
pub const CONNECTIONS_MAX: usize = 32;
/// A connection's thread has some kilobytes of texts on its stack.
const STACK: usize = 256 << 10;
/// While a profile's seconds pass: time between two looks at whether the client, or the program, has gone.
const LOOK: Duration = Duration::from_millis(100);

/// What all connections share.
pub struct Connections {
    names: HostNames,
    open: AtomicUsize,
    is_stopping: AtomicBool,
}

impl Connections {
    /// None yet.
    pub fn new(names: HostNames) -> Connections {
        Connections { names, open: AtomicUsize::new(0), is_stopping: AtomicBool::new(false) }
    }

    /// Whether no more requests shall be answered.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// No more requests are answered.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
    }
}

/// The place that a connection takes among those that are served.
struct Place(Arc<Connections>);

impl Place {
    fn take(connections: &Arc<Connections>) -> Option<Place> {
        let place = Place(Arc::clone(connections));
        (connections.open.fetch_add(1, Ordering::SeqCst) < CONNECTIONS_MAX).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Serves a connection in a thread of its own. If there are too many, the client is asked to come again.
pub fn start(connections: &Arc<Connections>, mut stream: TcpStream, questions: &SyncSender<Question>) {
    let Some(place) = Place::take(connections) else {
        // A few bytes, for which a new socket has room: this does not wait for the client.
        let busy = Response::error(Status::Unavailable, "too many connections");
        let _ = stream.set_nonblocking(true);
        let _ = std::io::Write::write(&mut stream, &busy.head());
        return;
    };
    let questions = questions.clone();
    let serve = move || {
        let connection = Connection { shared: &place.0, questions };
        let _ = connection.serve(stream);
    };
    // Without a thread the connection is closed.
    let _ = thread::Builder::new().name("serve connection".into()).stack_size(STACK).spawn(serve);
}

struct Connection<'c> {
    shared: &'c Connections,
    questions: SyncSender<Question>,
}

impl Connection<'_> {
    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let request = match Request::read(&mut stream, self.shared.names) {
            Ok(request) => request,
            Err(NoRequest::Refused(response)) => return response.send(&mut stream, BodySent::Yes),
            Err(NoRequest::Silent) => return Ok(()),
        };
        let body = if request.method == Method::Get { BodySent::Yes } else { BodySent::No };
        match Endpoint::of(&request) {
            Ok(endpoint) => match self.answer(endpoint, &mut stream) {
                Some(response) => response.send(&mut stream, body),
                None => Ok(()),
            },
            Err(response) => response.send(&mut stream, body),
        }
    }

    /// The answer; none if the client has gone.
    fn answer(&self, endpoint: Endpoint, stream: &mut TcpStream) -> Option<Response> {
        let asked = match endpoint {
            Endpoint::NextSeconds(name, seconds) => return self.next_seconds(name, seconds, stream),
            Endpoint::Home => Asked::Home,
            Endpoint::Index => Asked::Index,
            Endpoint::Profile(name, form) => Asked::Profile(name, form),
            Endpoint::Cmdline => Asked::Cmdline,
            Endpoint::Metrics(format) => Asked::Metrics(format),
        };
        Some(response(self.ask(asked)))
    }

    /// The profile of the next seconds.
    fn next_seconds(&self, name: ProfileName, seconds: Duration, stream: &mut TcpStream) -> Option<Response> {
        let before = match self.ask(Asked::Counts) {
            Answer::Counts(counts) => counts,
            other => return Some(response(other)),
        };
        match self.wait(seconds, stream) {
            Waited::Whole => Some(response(self.ask(Asked::Since(name, before)))),
            Waited::ProgramEnded => Some(ended()),
            Waited::ClientGone => None,
        }
    }

    fn wait(&self, time: Duration, stream: &mut TcpStream) -> Waited {
        let until = Instant::now() + time;
        let mut byte = [0];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Waited::Whole;
            }
            if self.shared.is_stopping() {
                return Waited::ProgramEnded;
            }
            if stream.set_read_timeout(Some(left.min(LOOK))).is_err() {
                return Waited::ClientGone;
            }
            match stream.read(&mut byte) {
                Err(e)
                    if [ErrorKind::WouldBlock, ErrorKind::TimedOut, ErrorKind::Interrupted]
                        .contains(&e.kind()) => {}
                // Another request, which is not answered: this connection has one.
                Ok(1..) => thread::sleep(LOOK.min(left)),
                Ok(0) | Err(_) => return Waited::ClientGone,
            }
        }
    }

    fn ask(&self, asked: Asked) -> Answer {
        let (reply, answer) = sync_channel(1);
        let sent = self.questions.send(Question { asked, reply });
        sent.ok().and_then(|()| answer.recv().ok()).unwrap_or(Answer::Response(ended()))
    }
}

/// How a time passed.
enum Waited {
    Whole,
    ProgramEnded,
    ClientGone,
}

fn response(answer: Answer) -> Response {
    match answer {
        Answer::Response(response) => response,
        // Only `Asked::Counts` is answered by counts.
        Answer::Counts(_) => ended(),
    }
}

fn ended() -> Response {
    Response::error(Status::Unavailable, "the program has ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_connections_have_a_place_and_leave_it() {
        let connections = Arc::new(Connections::new(HostNames::Any));
        let mut places: Vec<Place> = (0..CONNECTIONS_MAX).filter_map(|_| Place::take(&connections)).collect();
        assert_eq!(places.len(), CONNECTIONS_MAX);
        assert!(Place::take(&connections).is_none() && Place::take(&connections).is_none());
        places.pop();
        assert!(Place::take(&connections).is_some(), "a refused one has left, too");
    }
}
