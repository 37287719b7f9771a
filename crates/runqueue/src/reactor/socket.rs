//! The sockets of the standard library, for tasks.

use crate::reactor::ShortRead;
use std::io;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

/// A socket of the standard library.
pub trait Socket: AsFd + sealed::Sealed {
    /// What a read shows that returns less than was asked for.
    #[doc(hidden)]
    const SHORT_READ: ShortRead;

    /// Sets or clears non-blocking mode, as `TcpStream::set_nonblocking`.
    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()>;
}

mod sealed {
    /// Only sockets that keep their descriptor for life.
    pub trait Sealed {}
}

macro_rules! sockets {
    ($($socket:ty: $short_read:ident;)*) => {$(
        impl sealed::Sealed for $socket {}

        impl Socket for $socket {
            const SHORT_READ: ShortRead = ShortRead::$short_read;

            fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
                <$socket>::set_nonblocking(self, nonblocking)
            }
        }
    )*};
}

sockets! {
    TcpListener: Nothing;
    // epoll(7): for a stream, a read of less than was asked for shows that it is drained.
    TcpStream: Drained;
    UdpSocket: Nothing;
    UnixListener: Nothing;
    // A read stops behind data that came with descriptors (unix(7), "ancillary data form a kind of barrier").
    UnixStream: Nothing;
    UnixDatagram: Nothing;
}
