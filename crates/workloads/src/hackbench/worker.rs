//! The work of one sender or receiver.

use super::channel::{Sink, Source};
use super::gate::Gate;
use super::message::{Tally, buffer, mark};
use std::fmt;
use std::io::Result;
use std::sync::Arc;

/// Identifies a worker: group, role and index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkerId {
    pub role: Role,
    pub index: usize,
    pub group: usize,
}

/// The role of a worker in its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Sender,
    Receiver,
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = match self.role {
            Role::Sender => "sender",
            Role::Receiver => "receiver",
        };
        write!(f, "{role} {} of group {}", self.index, self.group)
    }
}

/// The amount of work.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Number of senders of a group.
    pub senders: usize,
    /// Messages from each sender to each receiver.
    pub loops: u32,
    /// Bytes per message.
    pub datasize: usize,
}

/// A worker that has not started.
#[derive(Debug)]
pub struct Worker {
    pub id: WorkerId,
    pub task: Task,
    pub gate: Arc<Gate>,
    pub load: Load,
}

/// The channels of a worker.
#[derive(Debug)]
pub enum Task {
    /// A sender sends messages to each of these in turn.
    Send(Arc<Vec<Sink>>),
    /// A receiver receives all messages from this.
    Receive(Source),
}

impl Worker {
    /// Runs the worker from start to end.
    pub fn run(self) -> Result<()> {
        let mut message = buffer(self.load.datasize)?;
        self.gate.pass()?;
        match &self.task {
            Task::Send(sinks) => {
                message.fill(mark(self.id.index));
                send(sinks, &message, self.load.loops)
            }
            Task::Receive(source) => receive(source, &mut message, self.load),
        }
    }
}

fn send(sinks: &[Sink], message: &[u8], loops: u32) -> Result<()> {
    for _ in 0..loops {
        for sink in sinks {
            sink.send(message)?;
        }
    }
    Ok(())
}

/// Receives the expected number of messages. The contents are checked only with queues. The kernel's transports are
/// trusted, and may split large messages that several senders write at the same time.
fn receive(source: &Source, message: &mut [u8], load: Load) -> Result<()> {
    let expected = load.senders as u64 * u64::from(load.loops);
    let Source::Queue(queue) = source else {
        return (0..expected).try_for_each(|_| source.receive(message));
    };
    let mut tally = Tally::new();
    for _ in 0..expected {
        queue.receive(message);
        tally.add(message);
    }
    tally.check(load.senders, u64::from(load.loops))?;
    match queue.left() {
        0 => Ok(()),
        left => Err(std::io::Error::other(format!("{left} more messages came than were sent"))),
    }
}
