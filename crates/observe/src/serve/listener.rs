//! The thread that accepts connections.

use super::ServeAddress;
use super::connection::{self, Connections};
use super::reader::Question;
use super::request::HostNames;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;
use unspin_launch::error::Error;

/// Time after which accept(2) is tried again if the process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(100);
/// The time for the connection that lets the thread see that it shall end. It is one to this machine.
const STOP_TIME: Duration = Duration::from_secs(1);

/// A bound socket, and the connections that it has accepted.
pub struct Listener {
    socket: Arc<TcpListener>,
    address: SocketAddr,
    connections: Arc<Connections>,
}

impl Listener {
    /// Binds the address.
    pub fn bind(address: &ServeAddress) -> Result<Listener, Error> {
        let failed = |e: &io::Error| {
            let remedy = match e.kind() {
                io::ErrorKind::AddrInUse => "; name another port, or port 0 for one that is free",
                io::ErrorKind::AddrNotAvailable => "; name an address of this machine",
                io::ErrorKind::PermissionDenied => "; name a port from 1024 on",
                _ => "",
            };
            Error::Environment(format!("--serve {address}: {e}{remedy}"))
        };
        let socket = TcpListener::bind(address.0).map_err(|e| failed(&e))?;
        let bound = socket.local_addr().map_err(|e| failed(&e))?;
        let names = if bound.ip().is_loopback() { HostNames::OfThisMachine } else { HostNames::Any };
        Ok(Listener {
            socket: Arc::new(socket),
            address: bound,
            connections: Arc::new(Connections::new(names)),
        })
    }

    /// The address, with its port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts the thread.
    pub fn start(&self, questions: SyncSender<Question>) -> Result<(), Error> {
        let (socket, connections) = (Arc::clone(&self.socket), Arc::clone(&self.connections));
        let accept = move || {
            while !connections.is_stopping() {
                match socket.accept() {
                    Ok((stream, _)) => connection::start(&connections, stream, &questions),
                    // The client has gone, or there is no descriptor or memory.
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        };
        thread::Builder::new().name("serve".into()).spawn(accept).map_err(|e| Error::no_thread(&e))?;
        Ok(())
    }

    /// Lets the thread end. Connections end by themselves.
    pub fn stop(&self) {
        self.connections.stop();
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address {
                SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
                SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
            });
        }
        let _ = TcpStream::connect_timeout(&address, STOP_TIME);
    }
}
