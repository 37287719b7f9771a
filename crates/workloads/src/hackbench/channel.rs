//! Channels for messages: a pair of ends each. All senders of a group share the sending end.

use super::{Options, Transport, queue::Queues};
use std::fs::File;
use std::io::{Read, Result, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// Creates the channels of one group.
#[derive(Debug)]
pub enum Channels {
    /// A pair of sockets per channel.
    Socket,
    /// A pipe per channel.
    Pipe,
    /// A TCP connection per channel.
    Inet,
    /// One of these queues per channel.
    Queue(Arc<Queues>),
}

/// The sending end.
#[derive(Debug)]
pub enum Sink {
    /// A socket or a pipe.
    Stream(File),
    /// A receiver's queue.
    Queue(Queue),
}

/// The receiving end, used by one receiver.
#[derive(Debug)]
pub enum Source {
    /// A socket or a pipe.
    Stream(File),
    /// The receiver's queue.
    Queue(Queue),
}

/// One of the queues of a group.
#[derive(Clone, Debug)]
pub struct Queue {
    queues: Arc<Queues>,
    receiver: usize,
}

impl Channels {
    /// The channels of one group.
    pub fn new(options: &Options) -> Result<Channels> {
        Ok(match options.transport {
            Transport::Socket => Channels::Socket,
            Transport::Pipe => Channels::Pipe,
            Transport::Inet => Channels::Inet,
            Transport::Queue { capacity } => {
                Channels::Queue(Arc::new(Queues::new(options.fds, capacity, options.datasize)?))
            }
        })
    }

    /// Creates the channel of one receiver.
    pub fn pair(&self, receiver: usize) -> Result<(Sink, Source)> {
        match self {
            Channels::Socket => UnixStream::pair().map(|(receiver, sender)| streams(sender, receiver)),
            Channels::Pipe => std::io::pipe().map(|(receiver, sender)| streams(sender, receiver)),
            Channels::Inet => inet_pair().map(|(receiver, sender)| streams(sender, receiver)),
            Channels::Queue(queues) => {
                let queue = Queue { queues: Arc::clone(queues), receiver };
                Ok((Sink::Queue(queue.clone()), Source::Queue(queue)))
            }
        }
    }
}

fn streams(sender: impl Into<OwnedFd>, receiver: impl Into<OwnedFd>) -> (Sink, Source) {
    (Sink::Stream(File::from(sender.into())), Source::Stream(File::from(receiver.into())))
}

/// A TCP connection within this machine.
fn inet_pair() -> Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    // Connections of other clients to this port are rejected.
    loop {
        let (receiver, from) = listener.accept()?;
        if from == sender.local_addr()? {
            return Ok((receiver, sender));
        }
    }
}

impl Sink {
    /// Sends a whole message; waits while there is no room.
    pub fn send(&self, message: &[u8]) -> Result<()> {
        match self {
            Sink::Stream(file) => (&mut &*file).write_all(message),
            Sink::Queue(queue) => {
                queue.queues.send(queue.receiver, message);
                Ok(())
            }
        }
    }
}

impl Source {
    /// Receives a whole message; waits while there is none.
    pub fn receive(&self, message: &mut [u8]) -> Result<()> {
        match self {
            Source::Stream(file) => (&mut &*file).read_exact(message),
            Source::Queue(queue) => {
                queue.receive(message);
                Ok(())
            }
        }
    }
}

impl Queue {
    /// Receives a whole message; waits while there is none.
    pub fn receive(&self, message: &mut [u8]) {
        self.queues.receive(self.receiver, message);
    }

    /// Number of messages that were not received.
    pub fn left(&self) -> usize {
        self.queues.left(self.receiver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_goes_through_every_transport() {
        for transport in
            [Transport::Socket, Transport::Pipe, Transport::Inet, Transport::Queue { capacity: 1 }]
        {
            let options = Options { fds: 1, datasize: 5, transport, ..Options::default() };
            let (sink, source) = Channels::new(&options).unwrap().pair(0).unwrap();
            let mut got = [0; 5];
            for message in [b"hello", b"world"] {
                sink.send(message).unwrap();
                source.receive(&mut got).unwrap();
                assert_eq!(&got, message, "{transport:?}");
            }
        }
    }

    #[test]
    fn a_stream_that_ends_early_is_an_error() {
        let (sink, source) = Channels::Pipe.pair(0).unwrap();
        sink.send(b"hell").unwrap();
        drop(sink);
        assert_eq!(source.receive(&mut [0; 5]).unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
    }
}
