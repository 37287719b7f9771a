//! How sockets are made and connected in tasks.

use crate::reactor::{Async, Socket};
use socket2::{Domain, Protocol, SockAddr, Type};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

impl Async<TcpListener> {
    /// A listener at an address.
    pub fn bind(address: impl Into<SocketAddr>) -> io::Result<Async<TcpListener>> {
        Async::new(TcpListener::bind(address.into())?)
    }

    /// Waits for the next connection.
    pub async fn accept(&self) -> io::Result<(Async<TcpStream>, SocketAddr)> {
        let (stream, address) = self.read_with(TcpListener::accept).await?;
        Ok((Async::new(stream)?, address))
    }
}

impl Async<TcpStream> {
    /// Connects to an address.
    pub async fn connect(address: impl Into<SocketAddr>) -> io::Result<Async<TcpStream>> {
        let address = address.into();
        let socket = begin_connect(Domain::for_address(address), Some(Protocol::TCP), &address.into())?;
        end_connect(Async::new(TcpStream::from(socket))?, TcpStream::take_error).await
    }
}

impl Async<UnixListener> {
    /// A listener at a path.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Async<UnixListener>> {
        Async::new(UnixListener::bind(path)?)
    }

    /// Waits for the next connection.
    pub async fn accept(&self) -> io::Result<Async<UnixStream>> {
        let (stream, _) = self.read_with(UnixListener::accept).await?;
        Async::new(stream)
    }
}

impl Async<UnixStream> {
    /// Connects to a path.
    pub async fn connect(path: impl AsRef<Path>) -> io::Result<Async<UnixStream>> {
        let socket = begin_connect(Domain::UNIX, None, &SockAddr::unix(path)?)?;
        end_connect(Async::new(UnixStream::from(socket))?, UnixStream::take_error).await
    }

    /// Two sockets that are connected to each other.
    pub fn pair() -> io::Result<(Async<UnixStream>, Async<UnixStream>)> {
        let (one, other) = UnixStream::pair()?;
        Ok((Async::new(one)?, Async::new(other)?))
    }
}

impl Async<UdpSocket> {
    /// A socket at an address.
    pub fn bind(address: impl Into<SocketAddr>) -> io::Result<Async<UdpSocket>> {
        Async::new(UdpSocket::bind(address.into())?)
    }

    /// Waits for the next datagram: its length and its sender.
    pub async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.read_with(|socket| socket.recv_from(buffer)).await
    }

    /// Sends a datagram.
    pub async fn send_to(&self, buffer: &[u8], to: impl Into<SocketAddr>) -> io::Result<usize> {
        let to = to.into();
        self.write_with(|socket| socket.send_to(buffer, to)).await
    }
}

/// A socket that connects, or has connected already.
fn begin_connect(domain: Domain, protocol: Option<Protocol>, to: &SockAddr) -> io::Result<socket2::Socket> {
    let socket = socket2::Socket::new(domain, Type::STREAM.nonblocking(), protocol)?;
    match socket.connect(to) {
        // connect(2): the connection is made in the background.
        Err(error) if error.raw_os_error() == Some(EINPROGRESS) => {}
        // A Unix socket whose listener has no room: the caller is to try again.
        result => result?,
    }
    Ok(socket)
}

/// connect(2): "The socket is nonblocking and the connection cannot be completed immediately."
const EINPROGRESS: i32 = 115;

/// Waits until the connection is made or has failed.
async fn end_connect<T: Socket>(
    stream: Async<T>,
    take_error: fn(&T) -> io::Result<Option<io::Error>>,
) -> io::Result<Async<T>> {
    stream.first_writable().await;
    match take_error(stream.get_ref())? {
        Some(error) => Err(error),
        None => Ok(stream),
    }
}
