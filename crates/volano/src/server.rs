//! The server: rooms, and what their readers and writers do.

use crate::accounts::{Accounts, Count, Counter};
use crate::connection::{Reader, Writer};
use crate::end_report::{EndReport, ends, last};
use crate::entry::Entry;
use crate::options::Options;
use crate::queue::Queue;
use crate::room::{Outbox, Room, Shared};
use crate::runner::Runner;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Serves all runs of the client, one after another.
pub fn serve(
    options: &Options,
    listener: &TcpListener,
    accounts: &Arc<Accounts>,
    runner: &mut Runner,
) -> Result<(), String> {
    (0..options.runs).try_for_each(|run| serve_run(run as u32, options, listener, accounts, runner))
}

/// Takes the users of a run into their rooms, and waits until all have ended.
pub fn serve_run(
    run: u32,
    options: &Options,
    listener: &TcpListener,
    accounts: &Arc<Accounts>,
    runner: &mut Runner,
) -> Result<(), String> {
    let rooms: Vec<Arc<Room>> = (0..options.rooms).map(|_| Arc::new(Room::new(options.users))).collect();
    let connections = options.connections();
    let (report, reports) = ends(2 * connections);
    for number in 1..=connections {
        let (stream, entry, outbox) = next_user(run, &rooms, listener)?;
        let Entry { room, user, .. } = entry;
        let name = |role: &str| {
            EndReport::new(&report, format!("the server's {role} for user {user} of room {room}"))
        };
        let counter = |count| accounts.counter(room, user, count);
        let reader =
            ServerReader { user, room: Arc::clone(&rooms[room as usize]), reached: counter(Count::Reached) };
        let writer = ServerWriter { outbox, left: counter(Count::Left) };
        let to_confirm = stream.try_clone().map_err(|e| cannot_serve(number, connections, &e))?;
        runner
            .start(stream, options.size, (reader, name("reader")), (writer, name("writer")))
            .map_err(|e| cannot_serve(number, connections, &e))?;
        // A client that is gone already is noticed by its reader.
        let _ = entry.confirm(&to_confirm);
    }
    last(&reports, 2 * connections)?;
    runner.finish();
    Ok(())
}

/// The next connection of a user that has a place in a room. Others are closed: another program has connected.
fn next_user(
    run: u32,
    rooms: &[Arc<Room>],
    listener: &TcpListener,
) -> Result<(TcpStream, Entry, Outbox), String> {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => continue,
            Err(e) => return Err(format!("the server cannot accept a connection: {e}")),
        };
        let entry = Entry::receive(&stream).filter(|entry| entry.run == run);
        let outbox = entry.and_then(|entry| rooms.get(entry.room as usize)?.enter(entry.user));
        if let (Some(entry), Some(outbox)) = (entry, outbox) {
            // Without it a message may wait for the confirmation of the one before.
            stream.set_nodelay(true).map_err(|e| format!("the server cannot set TCP_NODELAY: {e}"))?;
            return Ok((stream, entry, outbox));
        }
    }
}

fn cannot_serve(number: usize, connections: usize, error: &io::Error) -> String {
    format!("the server cannot serve connection {number} of {connections} ({}): {error}", crate::LIMITS)
}

/// Reads the messages of a user, and passes them on to the other users of its room.
struct ServerReader {
    user: u32,
    room: Arc<Room>,
    reached: Counter,
}

impl Reader for ServerReader {
    fn message(&mut self, frame: &mut [u8]) -> Option<Outbox> {
        self.reached.increment();
        self.room.pass_on(self.user, frame)
    }

    /// A connection that breaks is no failure of the server. What it costs is seen in the accounts.
    fn end(&mut self, _: io::Result<()>) -> io::Result<()> {
        self.room.note_user_end();
        Ok(())
    }
}

/// Writes the messages for a user.
struct ServerWriter {
    outbox: Outbox,
    left: Counter,
}

impl Writer for ServerWriter {
    type Item = Shared;

    fn queue(&self) -> Arc<Queue<Shared>> {
        Arc::clone(&self.outbox)
    }

    fn frame<'a>(&'a mut self, item: &'a Shared) -> &'a [u8] {
        item
    }

    fn note_written(&mut self) {
        self.left.increment();
    }

    fn end(&mut self, _: io::Result<()>) -> io::Result<()> {
        self.outbox.abandon();
        Ok(())
    }
}
