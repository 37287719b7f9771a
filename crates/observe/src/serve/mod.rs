//! Serves the recording of a running program over HTTP, in the form that Go programs made standard: `/debug/pprof/mutex` and
//! `/debug/pprof/block` for `go tool pprof` and servers of continuous profiles, `/metrics` for Prometheus.
//!
//! ```text
//! client ─► Listener: a thread ─► connection: a thread each, bounded ─► Question ─► RecordingReader: one thread
//!                                    ▲                                                     │ names, counts
//!                                    └──────────────────────── Response ◄──────────────────┘
//! ```
//!
//! The program is not asked: the reader maps the recording itself. It is the only thread that knows names, so one question is
//! answered after another. A connection has one request, of at most some kilobytes and seconds, so a slow client keeps nothing
//! but its own thread.

mod address;
mod connection;
mod endpoint;
mod go_text;
mod index;
mod listener;
mod metrics;
mod places;
mod profile_name;
mod reader;
mod request;
mod response;

pub use address::{ServeAddress, ServeFrom};

use crate::settings::ServeSettings;
use listener::Listener;
use reader::{Question, RecordingReader};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use unspin_launch::error::Error;

/// A socket that is bound, before the program is started.
pub struct BoundServer {
    listener: Listener,
    address: SocketAddr,
}

/// A server that answers until it is dropped.
pub struct Server {
    listener: Listener,
    /// Keeps the reader's thread until this is dropped.
    _questions: SyncSender<Question>,
}

/// Questions that wait for the reader: one for each connection.
const QUESTIONS_MAX: usize = connection::CONNECTIONS_MAX;

impl BoundServer {
    /// Binds the address. It is an error if that is not permitted, or if another program uses it.
    pub fn bind(settings: &ServeSettings) -> Result<BoundServer, Error> {
        let ServeSettings { address, from } = settings;
        if let Some(refusal) = address.refusal(*from) {
            return Err(Error::Usage(refusal));
        }
        let listener = Listener::bind(address)?;
        let address = listener.address();
        Ok(BoundServer { listener, address })
    }

    /// The address, with the port that the kernel has chosen if 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Begins to answer, from the recording in this file.
    pub fn start(self, recording: &Path, command: Vec<String>) -> Result<Server, Error> {
        let (questions, receiver) = sync_channel(QUESTIONS_MAX);
        RecordingReader::start(recording, command, receiver)?;
        self.listener.start(questions.clone())?;
        Ok(Server { listener: self.listener, _questions: questions })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listener.stop();
    }
}
