//! Ports for servers that a test starts.

use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the ports that the kernel gives to sockets without one (`ip_local_port_range`, from 32768), so that no other
/// socket gets one of these between the moment it is chosen and the moment the server listens at it.
const PORTS: std::ops::Range<u32> = 20_000..32_000;

/// A TCP port of 127.0.0.1 at which no process listens, another one for each call. It is asked by a connection: a child that
/// another thread forks would keep a listener of this process open until it executes its program.
///
/// # Panics
/// If all are in use.
pub fn free_port() -> u16 {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    // Test programs that run at the same time begin at different places.
    let begin = std::process::id().wrapping_mul(37);
    (0..PORTS.len())
        // Relaxed: only the count matters.
        .map(|_| begin.wrapping_add(CALLS.fetch_add(1, Ordering::Relaxed)) % PORTS.len() as u32 + PORTS.start)
        .filter_map(|port| u16::try_from(port).ok())
        .find(|port| !is_listened_at(*port))
        .expect("there are free ports")
}

/// Whether a process listens at a TCP port of 127.0.0.1.
pub fn is_listened_at(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}
