//! The client: the users, and what their readers and writers do.

use crate::accounts::{Accounts, Count, Counter};
use crate::connection::{Reader, Writer};
use crate::end_report::{EndReport, ends, last};
use crate::entry::Entry;
use crate::message::{self, Header};
use crate::options::Options;
use crate::receipts::{Receipt, Receipts};
use crate::room::Outbox;
use crate::runner::Runner;
use crate::turns::{Turn, TurnQueue, Turns};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Lets all users enter their rooms, send and receive. Returns the time from the first message until the last
/// connection has ended. What was received is in the accounts.
pub fn chat(
    run: u32,
    options: &Options,
    server: SocketAddr,
    accounts: &Arc<Accounts>,
    runner: &mut Runner,
) -> Result<Duration, String> {
    let connections = options.connections();
    let (report, reports) = ends(2 * connections);
    let mut starts = Vec::with_capacity(connections);
    for (room, user) in (0..options.rooms as u32).flat_map(|r| (0..options.users as u32).map(move |u| (r, u)))
    {
        let stream = enter(Entry { run, room, user }, server)?;
        accounts.counter(room, user, Count::Entered).increment();
        let name = |role: &str| EndReport::new(&report, format!("the {role} of user {user} of room {room}"));
        let turns = Turns::new(user, options);
        let writer = ClientWriter::new(room, user, options, turns.queue(), accounts);
        starts.push(turns.start());
        let reader = ClientReader::new(room, user, options, turns, accounts);
        runner
            .start(stream, options.size, (reader, name("reader")), (writer, name("writer")))
            .map_err(|e| format!("cannot start user {user} of room {room} ({}): {e}", crate::LIMITS))?;
    }
    let began = Instant::now();
    starts.iter().for_each(|start| start.go());
    let ended = last(&reports, 2 * connections)?;
    runner.finish();
    Ok(ended - began)
}

fn enter(entry: Entry, server: SocketAddr) -> Result<TcpStream, String> {
    let connect = || {
        let stream = TcpStream::connect(server)?;
        // Without it a message may wait for the confirmation of the one before.
        stream.set_nodelay(true)?;
        entry.enter(&stream)?;
        Ok(stream)
    };
    connect().map_err(|e: io::Error| {
        let remedy = match e.kind() {
            io::ErrorKind::AddrNotAvailable => {
                " (fewer --rooms or --users, or more ports: net.ipv4.ip_local_port_range)"
            }
            _ => "",
        };
        format!("user {} cannot enter room {}{remedy}: {e}", entry.user, entry.room)
    })
}

/// Reads the messages for a user, checks them, and gives the user its turns.
struct ClientReader {
    receipts: Receipts,
    turns: Turns,
    received: Counter,
    out_of_order: Counter,
    repeated: Counter,
    altered: Counter,
}

impl ClientReader {
    fn new(room: u32, user: u32, options: &Options, turns: Turns, accounts: &Arc<Accounts>) -> ClientReader {
        let (users, messages) = (options.users as u32, options.messages as u32);
        let counter = |count| accounts.counter(room, user, count);
        ClientReader {
            receipts: Receipts::new(room, user, users, messages, options.pace),
            turns,
            received: counter(Count::Received),
            out_of_order: counter(Count::OutOfOrder),
            repeated: counter(Count::Repeated),
            altered: counter(Count::Altered),
        }
    }
}

impl Reader for ClientReader {
    fn message(&mut self, frame: &mut [u8]) -> Option<Outbox> {
        match self.receipts.note(frame) {
            Receipt::Repeated => {
                self.repeated.increment();
                return None;
            }
            Receipt::Altered => {
                self.altered.increment();
                return None;
            }
            Receipt::OutOfOrder => self.out_of_order.increment(),
            Receipt::InOrder => {}
        }
        self.received.increment();
        self.turns.note_received();
        None
    }

    fn end(&mut self, outcome: io::Result<()>) -> io::Result<()> {
        outcome
    }
}

/// Writes the messages of a user, one for each turn.
struct ClientWriter {
    turns: TurnQueue,
    /// The next message.
    header: Header,
    frame: Box<[u8]>,
    sent: Counter,
}

impl ClientWriter {
    fn new(
        room: u32,
        user: u32,
        options: &Options,
        turns: TurnQueue,
        accounts: &Arc<Accounts>,
    ) -> ClientWriter {
        let header = Header { room, user, ..Header::default() };
        let sent = accounts.counter(room, user, Count::Sent);
        ClientWriter { turns, header, frame: vec![0; options.size].into(), sent }
    }
}

impl Writer for ClientWriter {
    type Item = Turn;

    fn queue(&self) -> TurnQueue {
        Arc::clone(&self.turns)
    }

    fn frame<'a>(&'a mut self, _: &'a Turn) -> &'a [u8] {
        message::write(&mut self.frame, self.header);
        self.header.sequence += 1;
        &self.frame
    }

    fn note_written(&mut self) {
        self.sent.increment();
    }

    fn end(&mut self, outcome: io::Result<()>) -> io::Result<()> {
        outcome
    }
}
