//! One connection: a request and its answer, in a thread of its own.

use super::endpoint::Endpoint;
use super::places::Places;
use super::profile_name::ProfileName;
use super::reader::{Answer, Asked, Question};
use super::request::{HostNames, Method, NoRequest, Request};
use super::response::{BodySent, Response, Status};
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Connections that are served at a time. Prometheus and a server of profiles take three.
pub const CONNECTIONS_MAX: usize = 32;
/// Connections beyond these whose requests are read and refused. Further ones are closed: an answer to what has not been read
/// would be lost with the connection.
const REFUSED_MAX: usize = 32;
/// Profiles of the next seconds that are waited for at a time. They take places for up to an hour, and memory.
const PENDING_MAX: usize = 4;
/// A connection's thread has some kilobytes of texts on its stack.
const STACK: usize = 256 << 10;
/// While a profile's seconds pass: time between two looks at whether the client, or the program, has gone.
const LOOK: Duration = Duration::from_millis(100);

/// What all connections share.
pub struct Connections {
    names: HostNames,
    served: Places,
    refused: Places,
    pending: Places,
    is_stopping: AtomicBool,
}

impl Connections {
    /// None yet.
    pub fn new(names: HostNames) -> Connections {
        let [served, refused, pending] = [CONNECTIONS_MAX, REFUSED_MAX, PENDING_MAX].map(Places::new);
        Connections { names, served, refused, pending, is_stopping: AtomicBool::new(false) }
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

/// Serves a connection in a thread of its own. If there are too many, the client is asked to come again.
pub fn start(connections: &Arc<Connections>, stream: TcpStream, questions: &SyncSender<Question>) {
    let served = connections.served.take();
    let is_refused = served.is_none();
    let Some(place) = served.or_else(|| connections.refused.take()) else { return };
    let (shared, questions) = (Arc::clone(connections), questions.clone());
    let serve = move || {
        let connection = Connection { shared: &shared, questions, is_refused };
        let _ = connection.serve(stream);
        drop(place);
    };
    // Without a thread the connection is closed.
    let _ = thread::Builder::new().name("serve connection".into()).stack_size(STACK).spawn(serve);
}

struct Connection<'c> {
    shared: &'c Connections,
    questions: SyncSender<Question>,
    /// There were too many when it came.
    is_refused: bool,
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
            _ if self.is_refused => busy("too many connections").send(&mut stream, body),
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
        let Some(_place) = self.shared.pending.take() else {
            return Some(busy("too many profiles of the next seconds are waited for"));
        };
        let before = match self.ask(Asked::Waits) {
            Answer::Waits(waits) => waits,
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
        // Only `Asked::Waits` is answered by them.
        Answer::Waits(_) => ended(),
    }
}

fn ended() -> Response {
    Response::error(Status::Unavailable, "the program has ended")
}

/// What there is at most is in use.
fn busy(why: &str) -> Response {
    Response::error(Status::Unavailable, why)
}
