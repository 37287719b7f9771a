//! Ports for servers that a test starts.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the ports that the kernel gives to sockets without one (`ip_local_port_range`, from 32768), so that no other
/// socket gets one of these between the moment it is chosen and the moment the server listens at it.
const PORTS: std::ops::Range<u32> = 20_000..32_000;

/// A TCP port of 127.0.0.1 at which no process listens, another one for each call.
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
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("there are free ports")
}
